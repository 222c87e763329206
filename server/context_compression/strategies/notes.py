"""The notes that replace runs of messages: labelled quotes in their order, and marks of gaps.

A view is assembled here, too: chosen pieces stand in the messages of the view, other pieces are
quoted in notes such as this one:

[Compressed History] Excerpts of earlier messages, quoted as data:
[… 9 messages; first ref c3f91a20b77d]
[User] Keep the public API as it is.
[Bash; exit 1] pytest -q → 3 failed
"""

import re
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import accumulate
from operator import itemgetter

from context_compression.conversation.authors import (
    EXCERPTS,
    holds_excerpts,
    holds_user_words,
    is_note,
    is_our_note,
)
from context_compression.conversation.labels import (
    LEAST_ALIKE,
    NEWLINE,
    SEARCH,
    Span,
    gap,
    label_quotes,
    marked_with,
    render,
    without_labels,
)
from context_compression.conversation.messages import (
    COMPRESSED,
    Block,
    Message,
    Text,
    ToolCall,
    texts_of,
    user,
)
from context_compression.conversation.refs import REF
from context_compression.evidence.facts import commands_of
from context_compression.evidence.ledger.actions import only_looks
from context_compression.planning.edits import Edit
from context_compression.planning.measured import TEXT_WITH_REF_CHARS
from context_compression.planning.pieces import Place, Pool
from context_compression.planning.plan import Plan
from context_compression.planning.selection import own_ref
from context_compression.plurals import how_many
from context_compression.strategies import measured
from context_compression.strategies.competing import Competing, KeptMessages
from context_compression.strategies.forms import Form
from context_compression.strategies.keep import cost, shrinks, with_declarations
from context_compression.strategies.pictures import Showing, images_in, mark_of, units_in
from context_compression.strategies.quoting import (
    QuotedText,
    Quoting,
    call_of,
    end_of,
    label,
    ref_in_gaps,
    said_alike,
    said_in,
)
from context_compression.strategies.rules import tokens_owed
from context_compression.strategies.tool_results import NO_SLOTS, Slots


def gaps(run: range, shown: Iterable[int]) -> Iterator[range]:
    """The missing messages of a run before each shown message, then those after the last one."""
    start = run.start
    for index in (*shown, run.stop):
        yield range(start, index)
        start = index + 1


def gap_of_messages(count: int, ref: str = "", alike: int = 0) -> str:
    """The mark of a gap: `[… 1 message; ref c3f91a20b77d]`, `[… 9 messages; first ref …]`.

    With messages that are like quoted ones: `[… 9 messages, 4 of them like quoted ones but for
    numbers]`.
    """
    told = ""
    if alike:
        told = f"{f', {alike} of them' * (alike < count)} like quoted ones but for numbers"
    named = f"; {'first ' * (count > 1)}ref {ref}" if ref else ""
    return f"[… {how_many(count, 'message')}{told}{named}]"


def largest_with_ref(
    runs: Iterable[range],
    quoted: Container[int],
    tokens: Sequence[int],
    ref_of: Callable[[range], str],
    room: float,
    *,
    between: bool,
) -> set[int]:
    """The starts of the largest gaps, as many as can have a mark with a ref in `room`.

    A gap has a mark only if it has more than twice the tokens of the mark, and a ref.

    Args:
        runs: the runs of messages that are not in the view.
        quoted: the indices of messages that are quoted in part.
        tokens: the tokens of each message.
        ref_of: takes a gap and returns its ref, `""` if it has none.
        room: the tokens that the marks may take.
        between: whether gaps between quotes have marks with refs, too.
    """
    up_to = [0, *accumulate(tokens)]
    candidates: list[tuple[int, int, int, range]] = []
    for run in runs:
        indices = [index for index in run if index in quoted]
        if indices and not between:
            continue
        for missing in filter(None, gaps(run, indices)):
            size = up_to[missing.stop] - up_to[missing.start]
            price = measured.GAP_MARK_TOKENS if indices else measured.NOTE_TOKENS
            candidates.append((-size, missing.start, price, missing))
    with_ref = set[int]()
    for size, start, price, missing in sorted(candidates, key=itemgetter(0, 1)):
        if price <= room and -size > 2 * price and ref_of(missing):
            room -= price
            with_ref.add(start)
    return with_ref


def largest(
    runs: Iterable[range],
    quoted: Container[int],
    tokens: Sequence[int],
    ref_of: Callable[[range], str],
    stands_for_more: Callable[[int], bool],
) -> set[int]:
    """The start of the largest gap that can have a mark with a ref; empty if there is none.

    A gap between quotes comes before all others, because its mark needs no note of its own. The
    arguments are those of `largest_with_ref`. A gap of any size is large enough if one of its
    messages stands for more (`stands_for_more`), as an earlier note does.
    """
    candidates: list[tuple[bool, int, int, range]] = []
    for run in runs:
        indices = [index for index in run if index in quoted]
        price = measured.GAP_MARK_TOKENS if indices else measured.NOTE_TOKENS
        for missing in filter(None, gaps(run, indices)):
            size = sum(tokens[missing.start : missing.stop])
            if size > 2 * price or any(map(stands_for_more, missing)):
                candidates.append((not indices, -size, missing.start, missing))
    best_first = (missing for *_, missing in sorted(candidates, key=itemgetter(0, 1, 2)))
    one = next(filter(ref_of, best_first), None)
    return set() if one is None else {one.start}


def noted(
    runs: Sequence[range],
    quoted: Container[int],
    with_ref: Container[int],
    tokens: Sequence[int],
    room: float,
) -> Sequence[range]:
    """The runs that have a note: those with quotes, those with a ref, and the largest others.

    `room` is the tokens for notes of the others. A run of the others must have more than twice the
    tokens of its note.
    """
    chosen = {run for run in runs if run.start in with_ref or any(i in quoted for i in run)}
    others = ((sum(tokens[run.start : run.stop]), run) for run in runs if run not in chosen)
    price = measured.BARE_NOTE_TOKENS
    large = sorted((-size, run.start, run) for size, run in others if size > 2 * price)
    most = int(room // price)
    return sorted(chosen.union(run for *_, run in large[:most]), key=lambda run: run.start)


RESTORE = f"; context_restore(ref=…) brings one back whole, {SEARCH} finds others"
"""How an agent restores messages that are left out."""


def note(
    quoting: Quoting,
    run: range,
    quoted: dict[int, Slots],
    with_ref: Container[int] = (),
    *,
    said: Container[str] = (),
    first: bool = False,
) -> Message:
    """A message in place of a run of messages, with quotes of them.

    Only a gap whose mark has a ref is marked, because the first line says that the note holds
    excerpts; a note without quotes has a mark for all its messages. If a message is quoted, each of
    its long texts that is not quoted has a mark. Short texts of the user and a mark for its
    pictures are shown with its quotes.

    Args:
        quoting: the `Quoting` of the conversation.
        run: the messages that the note replaces.
        quoted: the spans to quote, by message; quoted messages are removed from it.
        with_ref: the starts of gaps whose mark has the ref of the first missing message.
        said: what `said_in` gives for the view.
        first: whether it is the first note of the view, which says how to restore messages if a
            store keeps them.
    """
    indices = [index for index in run if index in quoted]
    what = EXCERPTS if indices else f"{COMPRESSED} Not shown here"
    how = RESTORE if first and quoting.plan.archive.restorable else ""
    writer = _Writer(quoting, quoted, said, f"{what}{how}:")
    for missing, index in zip(gaps(run, indices), [*indices, None], strict=True):
        if missing:
            has_ref = missing.start in with_ref
            ref = quoting.ref_of_gap(missing) if has_ref else ""
            writer.pass_over(missing, ref, marked=has_ref or not indices)
        if index is not None:
            writer.quote(index, quoted.pop(index))
    return user(writer.text)


class _Writer:
    """Writes the lines of a note."""

    def __init__(
        self, quoting: Quoting, quoted: Mapping[int, Slots], said: Container[str], opening: str
    ) -> None:
        """Begin a note.

        Args:
            quoting: the `Quoting` of the conversation.
            quoted: the spans that are still to be quoted, by message.
            said: what `said_alike` gives for all messages that the view quotes in full.
            opening: the first line.
        """
        self._quoting, self._quoted, self._lines = quoting, quoted, [opening]
        self._said = said  # what the view quotes in full
        self._call_above: str | None = None  # the id of the call that the line above names
        self._last_ref = ""  # the ref in the last mark with the ref of a text

    @property
    def text(self) -> str:
        """The note so far."""
        return "\n".join(self._lines)

    def pass_over(self, missing: range, ref: str, *, marked: bool) -> None:
        """Continue after messages that are not quoted."""
        self._call_above = None
        if marked:
            self._lines.append(_mark_of_gap(self._quoting, missing, ref, self._said))

    def quote(self, index: int, slots: Slots) -> None:
        """Write the quotes of a message, and marks for its other long texts and its pictures."""
        message = self._quoting.plan.messages[index]
        for slot, block in enumerate(message.blocks):
            for part in self._quoting.parts(block):
                if spans := slots.get((slot, part.key)) or _besides_quotes(message, block):
                    self._quote_text(index, block, part, spans)
                elif isinstance(block, Text):
                    self._mark_text(message, block, part)
        if message.starts_turn and (pictures := images_in(message)):
            mark = mark_of(len(pictures), self._quoting.ref_of_message(index))
            self._lines.append(f"[{message.role.capitalize()}] {mark}")

    def _quote_text(
        self, index: int, block: Block, part: QuotedText, spans: Sequence[Span]
    ) -> None:
        quoting, message = self._quoting, self._quoting.plan.messages[index]
        begins = min(spans)[0] == 0
        ends = self._end_of(block)
        ref = ref_in_gaps(quoting, index, block, part.key)
        text = render(part.text, spans, "" if ref == self._last_ref else ref)
        who = label(
            quoting, message, block, part.key, self._call_above,
            begins=begins, whole=text == part.text, ended=ends,
        )  # fmt: skip
        if not _labels_are_real(message, block):
            text = without_labels(text, quoting.label_begins)
        if marked_with(text, ref):
            self._last_ref = ref
        if part.key == "line" and ends:
            text += f" → {ends}"
        self._lines.append(f"[{who}]{NEWLINE if NEWLINE in text else ' '}{text}")
        self._call_above = call_of(block)

    def _mark_text(self, message: Message, block: Text, part: QuotedText) -> None:
        """Write the mark of a text without quotes, if it has a ref of its own."""
        if ref := own_ref(part.text, self._quoting.plan.archive):
            who = label(self._quoting, message, block, part.key, self._call_above)
            self._lines.append(f"[{who}] {gap(part.text, ref)}")
            self._call_above = None

    def _end_of(self, block: Block) -> str:
        """How a quoted call ended, if its result is not quoted."""
        if not isinstance(block, ToolCall):
            return ""
        result = self._quoting.results.get(block.id)
        if result is None or (result.slot, "") in self._quoted.get(result.message, NO_SLOTS):
            return ""
        known = self._quoting.outcomes.get(block.id)
        runs = next(commands_of(block), "")
        if not known and (not runs or only_looks(runs)):
            return ""
        plan = self._quoting.plan
        small = plan.room is not None and plan.room < measured.SUCCESS_SHARE * plan.total
        return end_of(result.block, known, success=not small)


def _mark_of_gap(quoting: Quoting, missing: range, ref: str, said: Container[str]) -> str:
    """The mark of a gap of messages; messages that a repair added do not count."""
    messages = [quoting.plan.messages[index] for index in missing]
    given = [message for message in messages if message.source is not None]
    alike = sum(said_alike(message) in said for message in given)
    return gap_of_messages(len(given) or len(missing), ref, alike if alike >= LEAST_ALIKE else 0)


def _labels_are_real(message: Message, block: Block) -> bool:
    """Whether labels in a text need no escaping: in the user's own words and in our own quotes."""
    if message.role != "user" or not isinstance(block, Text):
        return False
    return not is_note(block.text) or holds_excerpts(block.text)


def _besides_quotes(message: Message, block: Block) -> Sequence[Span]:
    """The spans to show of a text without chosen spans, in a message that is quoted.

    A short text of the user is shown completely, because it may be the request about a long text
    that the user pasted.
    """
    if message.role != "user" or not isinstance(block, Text):
        return ()
    text = block.text
    return [(0, len(text))] if len(text) <= TEXT_WITH_REF_CHARS and holds_user_words(text) else ()


NAMED_REF = re.compile(rf"\bref {REF}\b")
"""A ref in a note."""


def names_a_ref(messages: Iterable[Message]) -> bool:
    """Whether one of some messages names a ref."""
    return any(
        NAMED_REF.search(text)
        for message in messages
        for block in message.blocks
        for text in texts_of(block)
    )


def stands_for_more(plan: Plan, index: int) -> bool:
    """Whether a message is a note of ours with a ref: more leaves with it than its own tokens."""
    message = plan.messages[index]
    return is_our_note(message.text) and names_a_ref((message,))


def ref_of_first(plan: Plan, indices: Iterable[int]) -> str:
    """The ref of the first of some messages that was part of the input; `""` if none was."""
    sources = (plan.messages[index].source for index in indices)
    first = next((source for source in sources if source is not None), None)
    return "" if first is None else plan.archive.ref_of(first)


def lacks_a_ref(plan: Plan, edits: Sequence[Edit]) -> bool:
    """Whether more than a little left with some edits, and nothing that they write names a ref."""
    made = [edit for edit in edits if edit.needed or shrinks(plan, edit)]
    written = (message for edit in made for message in edit.becomes)
    return any(_place_of(plan, edit) for edit in made) and not names_a_ref(written)


def with_a_ref(plan: Plan, edits: Sequence[Edit]) -> Sequence[Edit]:
    """The edits with a mark that names a ref: in a note that they write, else in one of its own."""
    places = [
        (note is None, -tokens, at)
        for at, edit in enumerate(edits)
        if edit.needed or shrinks(plan, edit)
        if (tokens := _place_of(plan, edit))
        for note in (_note_in(edit),)
        if note is not None or not edit.becomes
    ]
    if not places:
        return edits
    *_, at = min(places)
    edit = edits[at]
    gone = _gone(plan, edit)
    mark = gap_of_messages(len(gone), ref_of_first(plan, gone))
    note, becomes = _note_in(edit), [*edit.becomes]
    if note is None:
        becomes, origins = [user(f"{COMPRESSED} Not shown here:\n{mark}")], (None,)
    else:
        *before, last = becomes[note].blocks
        assert isinstance(last, Text)
        becomes[note] = becomes[note].with_blocks((*before, Text(f"{last.text}\n{mark}")))
        origins = tuple(edit.origins_in(plan.messages))
    marked = replace(edit, becomes=tuple(becomes), origins=origins)
    return [*edits[:at], marked, *edits[at + 1 :]]


def _gone(plan: Plan, edit: Edit) -> list[int]:
    """The messages that an edit leaves out."""
    shown = {*edit.origins_in(plan.messages)}
    return [index for index in range(edit.start, edit.stop) if index not in shown]


def _place_of(plan: Plan, edit: Edit) -> int:
    """The tokens that leave with an edit, if they are worth a note and have a ref; else 0."""
    gone = _gone(plan, edit)
    tokens = sum(plan.tokens[index] for index in gone)
    is_worth_it = tokens > 2 * measured.NOTE_TOKENS or any(stands_for_more(plan, i) for i in gone)
    return tokens if is_worth_it and ref_of_first(plan, gone) else 0


def _note_in(edit: Edit) -> int | None:
    """Which message of an edit is a note of ours that ends with a text."""
    for at, message in enumerate(edit.becomes):
        last = message.blocks[-1] if message.blocks else None  # roles that alternate join messages
        if isinstance(last, Text) and is_our_note(last.text):
            return at
    return None


def without_others(
    base: KeptMessages, view: dict[int, Message], showing: Showing
) -> dict[int, Message]:
    """The messages of a view without the pictures that are not shown."""
    pictures = base.forms.pictures
    left_out = pictures.left_out(view, base.may_lose_pictures, showing.ids)
    return {**view, **left_out} if left_out else view


def room_left(base: KeptMessages, showing: Showing) -> int:
    """The tokens of the room that the kept messages leave; negative if they take more."""
    return base.room - cost(base.plan, without_others(base, {**base.shown}, showing), {})


def with_pictures(base: KeptMessages, left: int) -> tuple[KeptMessages, Showing]:
    """The kept messages, with further messages whose pictures have room, and the shown pictures.

    The newest pictures of kept messages get a share of the room, whatever texts compete for it.

    Args:
        base: the kept messages; the conversation has pictures.
        left: the tokens of the room that they leave without pictures.
    """
    count, sources = base.plan.counter.text, Competing(base).sources()
    texts = sum(count(source.text) + source.opening for source in sources)
    lines = measured.FILES_SHARE + measured.NAMES_SHARE
    room = left - tokens_owed(base, left) - (lines * base.room if base.lacks_much else 0)
    showing = Showing(
        picture
        for picture in base.forms.pictures.in_order
        if picture.message in base.kept and base.may_lose_pictures(picture.message)
    )
    share = max(measured.PICTURES_SHARE * room, room - texts)
    half = min(room, left - measured.NEWEST_PICTURES_SHARE * base.room)
    showing.take(max(share, half), recent=True)
    showing.take(share - showing.tokens)
    if not showing.shown:
        showing.take(measured.SINGLE_PICTURE_SHARE * room, most=1)
    return _with_brought_back(base, showing, room - texts - showing.tokens), showing


def _with_brought_back(base: KeptMessages, showing: Showing, room: float) -> KeptMessages:
    """The kept messages, with further messages whose pictures have room.

    The added unit is a tool step as a skeleton, or a message with its long texts clipped. Without
    its picture it takes no more tokens than the picture, so that it has room if the picture is
    given back.
    """
    plan, forms = base.plan, base.forms
    added: dict[int, Form] = {}
    for picture in forms.pictures.in_order:
        if picture.message in base.kept:
            continue
        step = plan.step_of(picture.message)
        form = Form.SKELETON if step else Form.CLIPPED
        unit = [i for i in step or (picture.message,) if i not in added]
        bare = without_others(base, {i: forms.plain(i, form) for i in unit}, showing)
        bare_tokens, note = sum(map(plan.counter.message, bare.values())), measured.NOTE_TOKENS
        if bare_tokens + note <= picture.tokens <= room - bare_tokens - note:
            room -= picture.tokens + bare_tokens + note
            added |= dict.fromkeys(unit, form)
            showing.shown.append(picture)
    return base.with_added(added) if added else base


def assembled(
    base: KeptMessages, showing: Showing, pool: Pool, chosen: Iterable[Place], mark_tokens: float
) -> tuple[dict[int, Message], dict[int, Message]]:
    """The view with the chosen pieces in their places, and the notes for runs of other messages.

    Messages are keyed by their index, notes by the first index of their run. `mark_tokens` are the
    tokens that marks of gaps with refs may take.
    """
    slots_of: dict[int, dict[tuple[int, str], list[Span]]] = {}
    for number, start, stop in chosen:
        source = pool.sources[number]
        slots = slots_of.setdefault(source.message, {})
        slots.setdefault((source.slot, source.key), []).append((start, stop))
    view, quoted = dict(base.shown), dict[int, Slots]()
    for index in [*slots_of]:
        # spans are released once they are shown, because there may be many pieces
        slots = with_labels_of_notes(base.quoting, index, slots_of.pop(index))
        if index in base.kept:
            view[index] = base.forms.shaped(index, base.kept[index], slots)
        elif index >= base.first and _stands_alone(base, index):
            view[index] = base.forms.shaped(index, Form.SKELETON, slots)
        else:
            quoted[index] = slots
    view = {**with_declarations(base.plan, without_others(base, view, showing))}
    return view, notes_of(base.quoting, view, quoted, mark_tokens, base.room)


def with_labels_of_notes(quoting: Quoting, index: int, slots: Slots) -> Slots:
    """The spans of a message; in a note of this package with the labels of the quotes."""
    blocks = quoting.plan.messages[index].blocks
    return {
        (slot, key): label_quotes(block.text, spans, quoting.label_begins)
        if isinstance(block := blocks[slot], Text) and holds_excerpts(block.text)
        else spans
        for (slot, key), spans in slots.items()
    }


def _stands_alone(base: KeptMessages, index: int) -> bool:
    """Whether part of a message may be a message of the view: a text of the model without calls."""
    message = base.plan.messages[index]
    alone = message.role == "assistant" and base.plan.step_of(index) is None
    return alone and (base.plan.drops_thinking or not message.has_bound_thinking)


def notes_of(
    quoting: Quoting,
    view: Mapping[int, Message],
    quoted: dict[int, Slots],
    mark_tokens: float,
    room: int = 0,
) -> dict[int, Message]:
    """For each run of dropped messages a note that quotes the chosen pieces and marks gaps.

    A run without chosen pieces has a note only if its gap is among the largest. Notes with a ref
    and notes without one have the same room each. One note has a ref in any room.

    Args:
        quoting: the `Quoting` of the conversation.
        view: the messages of the view, by index.
        quoted: the spans to quote, by message.
        mark_tokens: the tokens that marks of gaps with refs may take.
        room: the tokens that the view may take.
    """
    plan = quoting.plan
    behind_head = range(plan.head, len(plan.messages))
    runs = [*filter(None, gaps(behind_head, sorted({*behind_head}.intersection(view))))]
    with_ref = largest_with_ref(
        runs, quoted, plan.tokens, quoting.ref_of_gap, mark_tokens,
        between=room >= measured.LEAST_FOR_REFS_TOKENS,
    )  # fmt: skip
    notes = _written(quoting, runs, quoted, with_ref, mark_tokens)
    if with_ref or names_a_ref(notes.values()):
        return notes
    stands = partial(stands_for_more, plan)
    one = largest(runs, quoted, plan.tokens, quoting.ref_of_gap, stands)
    return _written(quoting, runs, quoted, one, mark_tokens) if one else notes


def _written(
    quoting: Quoting,
    runs: Sequence[range],
    quoted: Mapping[int, Slots],
    with_ref: Container[int],
    mark_tokens: float,
) -> dict[int, Message]:
    with_note = noted(runs, quoted, with_ref, quoting.plan.tokens, mark_tokens)
    left, said = {**quoted}, said_in(quoting.plan, quoted)
    return {
        run.start: note(quoting, run, left, with_ref, said=said, first=run is with_note[0])
        for run in with_note
    }


def with_payloads(
    base: KeptMessages, view: dict[int, Message], notes: Mapping[int, Message]
) -> dict[int, Message]:
    """The view with the results of the provider's own tools, as far as full messages have room.

    The newest messages come first.
    """
    plan, count = base.plan, base.plan.counter.message
    changed = [i for i in sorted(view, reverse=True) if view[i] is not plan.messages[i]]
    with_units = [index for index in changed if units_in(plan.messages[index])]
    left = base.room - cost(plan, view, notes) if with_units else 0
    filled = view
    for index in with_units:
        more = count(plan.messages[index]) - count(view[index])
        if more <= left:
            left -= more
            filled = {**filled, index: plan.messages[index]}
    fits = filled is view or cost(plan, filled, notes) <= base.room
    return filled if fits else view

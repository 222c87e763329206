"""Assembles a view: chosen pieces in the messages of the view, other pieces quoted in notes."""

from collections.abc import Container, Iterable, Mapping, Sequence
from functools import partial

from context_compression.conversation.authors import holds_excerpts
from context_compression.conversation.labels import Span, label_quotes
from context_compression.conversation.messages import Message, Text
from context_compression.planning.pieces import Place, Pool
from context_compression.strategies import measured
from context_compression.strategies.competing import Competing, KeptMessages
from context_compression.strategies.forms import Form
from context_compression.strategies.keep import cost, with_declarations
from context_compression.strategies.notes import (
    gaps,
    largest,
    largest_with_ref,
    names_a_ref,
    note,
    noted,
    stands_for_more,
)
from context_compression.strategies.pictures import Showing, units_in
from context_compression.strategies.quoting import Quoting
from context_compression.strategies.rules import tokens_owed
from context_compression.strategies.tool_results import Slots


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
    left = {**quoted}
    return {
        run.start: note(quoting, run, left, with_ref, first=run is with_note[0])
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

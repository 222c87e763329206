"""`extract`: a must-keep set, and the remaining room filled with pieces chosen by evidence.

In a session with tools the set holds the user's messages of the last turns, records, summaries, the
newest messages, and every tool step as a skeleton, which is its call and one line for each result.
A set that takes more than its share of the room shrinks in these steps: the newest results become
previews, long texts are clipped, old tool steps are only quoted, fewer of the newest messages stay,
the open step becomes as small as possible, fewer of the last turns stay, and finally only the
smallest view. In a chat all texts compete, what earlier notes quote among them, and the newest
messages have a small share of the room. The words of the user's finished requests compete, and
yield the more, the less of them has room.

The must-keep set (`must_keep`) has levels. The first level that leaves its share of the room is
taken. The newest pictures and pieces fill the remaining room (`filling`). If only few of the newest
messages fit into a small room, two views are made, and the one with more evidence is taken.

The smallest view, whose tokens are the minimum size ("floor"): head, pins and the last user message
are unshortened. The calls of the open tool step stay; long arguments of answered calls are
shortened. A result of this step that is larger than a preview becomes one line. What must always
stay is in it, too: items of unknown types, and what a provider compacted; the user's sure rules, up
to a share (`rules`); and one note with a ref. Nothing else stays. Results that the model has not
read have a share of the room above it.
"""

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

from context_compression.conversation.authors import holds_excerpts, is_bare_command, is_skill
from context_compression.conversation.authors.speech import repeated_reminders
from context_compression.conversation.messages import Message, Text
from context_compression.conversation.validity import NO_START
from context_compression.planning.edits import Edit
from context_compression.planning.plan import Plan, stays_apart
from context_compression.planning.selection import SUMMARY_MARKS, tokens_of_text
from context_compression.settings import Settings
from context_compression.strategies import measured
from context_compression.strategies.base import Proposal, without_model
from context_compression.strategies.filling import Filling
from context_compression.strategies.forms import Form, Forms, is_users, repeated_texts, unread_in
from context_compression.strategies.keep import cost, keep_only, with_declarations
from context_compression.strategies.notes import notes_of, with_labels_of_notes
from context_compression.strategies.pictures import images_in, is_mark
from context_compression.strategies.rules import standing_rules, with_rules_shown


@dataclass(frozen=True)
class Unread:
    """The open tool step in a view.

    Attributes:
        forms: the forms of the plan, in which its unread results have their room.
        kept: the form of each message of the step that the room is for, by index; empty if there
            is no room.
        tokens: the tokens of these messages, without pictures that a view may leave out.
    """

    forms: Forms
    kept: Mapping[int, Form]
    tokens: int = 0

    @property
    def shown(self) -> dict[int, Message]:
        """These messages in their forms, by index."""
        return {index: self.forms.plain(index, form) for index, form in self.kept.items()}


def with_room(forms: Forms, most: int, spare: int) -> Unread:
    """The unread results in as many tokens as they may take: whole, or their ends and errors.

    Args:
        forms: the forms of the plan.
        most: the tokens that they may take.
        spare: the tokens that the smallest view leaves, without those of notes that it owes.
    """
    plan, count = forms.plan, forms.plan.counter.message
    indices = unread_in(plan)
    if not indices or spare <= 0:
        return Unread(forms, {})
    step = [index for index in plan.open_step or () if index not in plan.pins]
    least = {index: count(forms.plain(index, Form.LEAST)) for index in step}
    whole = sum(plan.tokens[index] for index in step)
    if whole <= min(most, spare + sum(least.values())):
        return Unread(forms, dict.fromkeys(step, Form.FULL), whole)
    pictures, texts = _tokens_of_results(plan, indices)
    beside = sum(plan.tokens[index] for index in indices) - pictures - texts
    most = min(most, spare + sum(least[index] for index in indices) - pictures)
    tokens = most - beside
    for _ in range(measured.UNREAD_ROUNDS):
        given = forms.with_unread(tokens)
        taken = sum(count(given.plain(i, Form.UNREAD)) for i in indices) - pictures
        if taken <= most:
            kept = {
                i: Form.FULL if given.plain(i, Form.UNREAD) is plan.messages[i] and not pictures
                else Form.UNREAD
                for i in indices
            }  # fmt: skip
            return Unread(given, kept, taken)
        tokens -= taken - most
    return Unread(forms, {})


def _tokens_of_results(plan: Plan, indices: Sequence[int]) -> tuple[int, int]:
    """The tokens of the pictures in the results of some messages, and those of the rest of them."""
    results = [result for index in indices for result in plan.messages[index].results]
    texts = sum(tokens_of_text(result, plan.counter) for result in results)
    return sum(map(plan.counter.block, results)) - texts, texts


RULES, A_REF = "the user's rules", "a note with a ref"
"""The names of parts of the minimum size."""


@dataclass(frozen=True)
class Floor:
    """The edits that lead to the smallest view, its tokens, and the tokens of each of its parts."""

    edits: Sequence[Edit]
    tokens: int
    parts: dict[str, int]


def floor(plan: Plan) -> Floor:
    """The smallest view of a plan; its tokens are without system prompt and tool schemas."""
    forms = Forms(plan)
    bare = _shaped(forms, Form.LEAST)
    kept, rules = with_rules_shown(forms, anchored_forms(plan, Form.LEAST))
    quoted = {i: with_labels_of_notes(forms.quoting, i, slots) for i, slots in rules.items()}
    view = {**with_declarations(plan, kept)}
    notes = notes_of(forms.quoting, view, quoted, 0)
    total = cost(plan, kept, notes)
    if total >= plan.total:
        return Floor((), plan.total, _parts(plan, dict(enumerate(plan.messages))))
    parts, least = _parts(plan, bare), cost(plan, bare, {})
    added = least - sum(parts.values())
    if added > 0:
        parts[_what_notes_do(plan, bare)] = added
    elif added < 0:  # thinking that must go with what changed
        parts[max(parts, key=lambda part: parts[part])] += added
    if total > least:
        parts[RULES if standing_rules(plan) else A_REF] = total - least
    return Floor(keep_only(plan, kept, notes, "floor"), total, parts)


def _parts(plan: Plan, kept: Mapping[int, Message]) -> dict[str, int]:
    parts: dict[str, int] = {}
    for index, message in kept.items():
        part = _part(plan, index)
        parts[part] = parts.get(part, 0) + plan.counter.message(message)
    return parts


def anchored(plan: Plan, room: int, owed: int = 0) -> dict[int, Message]:
    """The anchored messages: unshortened if that leaves half of the room, else with previews.

    Results that the model has not read have their share of the room. If not all previews fit, the
    newest messages have them as far as they fit. The other messages are as small as possible.

    Args:
        plan: the plan of the conversation.
        room: the tokens that the view may take.
        owed: the tokens of it that unread results must leave, in addition to the smallest view.
    """
    forms = Forms(plan)
    if leaves_half(plan, room):
        return _shaped(forms, Form.FULL)
    kept = _shaped(forms, Form.LEAST)
    spare = room - owed - cost(plan, kept, {})
    unread = with_room(forms, int(measured.UNREAD_SHARE * room), spare).shown
    room -= owed if unread else 0
    previews = {**_shaped(forms, Form.PREVIEW), **unread}
    if cost(plan, previews, {}) <= room:
        return previews
    kept |= unread
    for index in reversed(kept):
        larger = {**kept, index: previews[index]}
        if larger != kept and cost(plan, larger, {}) <= room:
            kept = larger
    return kept


def anchored_forms(plan: Plan, form: Form) -> dict[int, Form]:
    """The form of each anchored message, by index: head and pins in full, the others in `form`.

    The other messages of a pin's tool step are not smaller than with previews. The user's words
    are clipped if the plan says so.
    """
    partners = {index for pin in plan.pins for index in plan.step_of(pin) or ()}

    def form_of(index: int) -> Form:
        if index < plan.head or index in plan.pins:
            return Form.FULL
        if plan.clip_chars and index not in (plan.open_step or ()):
            return Form.CLIPPED
        return Form.PREVIEW if form in (Form.LEAST, Form.ENDING) and index in partners else form

    return {index: form_of(index) for index in sorted(plan.anchored)}


def leaves_half(plan: Plan, room: int) -> bool:
    """Whether the anchored messages, unshortened, leave half of the room free."""
    return cost(plan, {index: plan.messages[index] for index in plan.anchored}, {}) <= room // 2


def _shaped(forms: Forms, form: Form) -> dict[int, Message]:
    each = anchored_forms(forms.plan, form)
    return {index: forms.plain(index, form) for index, form in each.items()}


def _part(plan: Plan, index: int) -> str:
    if index < plan.head:
        return "system messages"
    if plan.open_step and index in plan.open_step and index not in plan.pins:
        return "open tool step"
    if not plan.pins.isdisjoint(plan.step_of(index) or (index,)):
        return "pinned messages"  # or other messages of their tool steps
    if any(plan.messages[i].stays for i in plan.step_of(index) or (index,)):
        return "what always stays"
    of_user = index in (plan.last_user, *plan.shown_since) or plan.messages[index].starts_turn
    return "last user message" if of_user else "last message"


def _what_notes_do(plan: Plan, kept: dict[int, Message]) -> str:
    """The purpose of the notes in the smallest view, which may begin with one."""
    first = next((message for index, message in kept.items() if index >= plan.head), None)
    if plan.rules.user_first and first is not None and first.role == "assistant":
        return "a note of ours before it, for the user has to speak first"
    return "notes that keep it valid"


@dataclass(frozen=True)
class Level:
    """One form of the must-keep set.

    Attributes:
        first: messages before this index are dropped, unless they are anchored.
        recent: messages from this index on stay, in the form `newest`.
        users: messages of the user from this index on stay; of earlier ones those with pictures.
        newest: the form of the newest messages.
        skeletons: whether older tool steps stay as skeletons.
        spare: the share of the room that the level must leave free. It must also leave room for the
            user's constraints in dropped messages. A negative value means that the level is always
            accepted.
        left_out: the newest messages that it leaves out, unless they are the user's.
        rival: another level, which may show more if this level leaves out any of the newest
            messages.
    """

    first: int
    recent: int
    users: int
    newest: Form = Form.FULL
    skeletons: bool = False
    spare: float = 0
    left_out: range = range(0)
    rival: "Level | None" = None


def levels(plan: Plan) -> tuple[Sequence[Level], Sequence[Level]]:
    """The levels of the must-keep set, the most generous first; the last level fits any room.

    The first tuple holds the levels with the most messages. Each of these hardly ever takes less
    room than the next one.
    """
    return levels_of_chat(plan) if plan.is_chat else levels_of_work(plan)


def levels_of_chat(plan: Plan) -> tuple[Sequence[Level], Sequence[Level]]:
    """The levels of a chat or a talk, in which old facts are worth as much as new ones.

    All texts compete, and the newest messages have a small share of the room. While the user's
    messages take hardly any of it, they stay whole: they would be chosen anyway.
    """
    end, clipped = len(plan.messages), Form.CLIPPED
    recent, fewest, last = (
        _newest(plan, n) for n in (plan.settings.min_recent_messages, measured.FEWEST_RECENT, 1)
    )
    fewest, spare = max(recent, fewest), 1 - measured.PROSE_NEWEST_SHARE
    whole = Level(plan.head, recent, plan.head, clipped, spare=1 - measured.MUST_KEEP_SHARE)
    compete = plan.is_talk_of_two or plan.quotes_users
    return (*(() if compete else (whole,)), Level(end, recent, end, spare=spare)), (
        Level(end, fewest, end, clipped, spare=spare),
        Level(end, last, end, clipped, spare=1 - measured.QUOTED_SHARE),
        Level(end, end, end, clipped),
        Level(end, end, end, Form.ENDING),
        Level(end, end, end, Form.LEAST, spare=float("-inf")),
    )


def levels_of_work(plan: Plan) -> tuple[Sequence[Level], Sequence[Level]]:
    """The levels of a session with tools; most keep the user's messages of the last turns."""
    end, clipped, head = len(plan.messages), Form.CLIPPED, plan.head
    # fewer and fewer of the newest, so that a larger number never keeps less than the usual one
    starts = [*dict.fromkeys(_newest(plan, n) for n in _numbers_tried(plan.settings))]
    recent = starts[-1]
    longer = (min(start, plan.tail) for start in starts)
    fewest = max(recent, _newest(plan, measured.FEWEST_RECENT))
    turns = [turn.start for turn in plan.turns[-plan.settings.fallback_turns :]]
    users, spare = (turns or [end])[0], 1 - measured.MUST_KEEP_SHARE
    smallest = Level(head, end, users, Form.ENDING)
    few = Level(
        head, fewest, users, clipped, spare=measured.FEWEST_SPARE,
        left_out=range(recent, fewest), rival=smallest,
    )  # fmt: skip
    return (
        # fewer of the newest messages unshortened, then their results with previews, then clipped
        *(
            Level(head, start, users, skeletons=True, spare=spare)
            for start in dict.fromkeys((*longer, *starts))
        ),
        Level(head, recent, users, Form.PREVIEW, skeletons=True, spare=spare),
        Level(head, recent, users, clipped, skeletons=True, spare=spare),
    ), (
        *(Level(head, n, users, clipped, spare=1 - measured.QUOTED_SHARE) for n in starts),
        few,
        # the newest messages compete with all others: the open step with previews, then smaller
        Level(head, end, users, clipped, spare=measured.PREVIEWS_SPARE),
        smallest,
        # the last turns only, fewer and fewer
        *(Level(turn, max(turn, fewest), turn, clipped) for turn in turns),
        # the anchored messages with previews, then the smallest view
        Level(end, end, end, clipped, spare=measured.FEWEST_SPARE),
        Level(end, end, end, Form.ENDING),
        Level(end, end, end, Form.LEAST, spare=float("-inf")),
    )


def _numbers_tried(settings: Settings) -> Iterator[int]:
    """How many of the newest messages may stay: the number that is set, then fewer, down to ten."""
    number = settings.min_recent_messages
    yield number
    while number > measured.USUAL_RECENT:
        number = max(measured.USUAL_RECENT, int(measured.FEWER_RECENT * number))
        yield number


def _newest(plan: Plan, count: int) -> int:
    """The index from which on the newest `count` messages begin, where one may cut."""
    return plan.cut_before(max(plan.head, len(plan.messages) - count))


def must_keep(
    plan: Plan,
    level: Level,
    room: int,
    records: Container[int],
    again: Container[int],
    unread: Mapping[int, Form],
) -> dict[int, Form]:
    """The form of each message that stays at a level, by index.

    Args:
        plan: the plan of the conversation.
        level: the level of the must-keep set.
        room: the tokens that the view may take.
        records: the indices of records.
        again: the indices of messages that a later message repeats.
        unread: the forms of the messages with results that the model has not read.
    """
    fits = level.newest is Form.FULL and leaves_half(plan, room)
    least = level.newest in (Form.LEAST, Form.ENDING)
    kept = anchored_forms(plan, level.newest if fits or least else Form.PREVIEW)
    kept |= unread
    first_turn = plan.turns[0].stop if plan.turns else plan.head
    older = Form.CLIPPED if least or level.newest is Form.CLIPPED else Form.PREVIEW
    for index in range(max(min(level.first, level.recent), plan.head), len(plan.messages)):
        message = plan.messages[index]
        if index in kept or (index in again and index < level.recent):
            continue
        by_user = is_users(message) or (level.skeletons and message.starts_turn)
        if index >= level.recent:
            kept[index] = level.newest
        elif (
            index in records
            or (by_user and (index >= level.users or images_in(message)))
            or (message.is_system and index < first_turn)
        ):
            kept[index] = older
        elif level.skeletons and plan.step_of(index):
            kept[index] = Form.SKELETON
    if plan.goal is not None and level.spare >= 0:
        kept.setdefault(plan.goal, Form.CLIPPED)
    for index in list(kept):  # a record may be in a tool step, which is never split
        if not stays_apart(plan.messages, index):
            for partner in plan.step_of(index) or ():
                kept.setdefault(partner, kept[index])
    return kept


def loaded_again(plan: Plan) -> set[int]:
    """The indices of skills and reminders whose texts are all repeated by later user messages.

    A note that the host ran one of its own commands may be lost.
    """
    alone = {
        index: [block.text for block in message.blocks if isinstance(block, Text)]
        for index, message in enumerate(plan.messages)
        if message.role == "user" and all(isinstance(block, Text) for block in message.blocks)
    }
    again = repeated_texts(plan.messages, alone.__contains__)
    return repeated_reminders(plan.messages) | {
        index
        for index, texts in alone.items()
        if any(map(is_skill, texts))
        and all((index, n) in again or is_bare_command(text) for n, text in enumerate(texts))
    }


def is_record(message: Message, plan: Plan) -> bool:
    """Whether a message is a summary or holds a record marker.

    A note with excerpts is no summary, because each of its quotes competes as what it was. In a
    long text, a line must begin with the marker, because a file that defines a marker holds it,
    too.
    """
    if message.text.startswith(SUMMARY_MARKS):
        texts = (block for block in message.blocks if isinstance(block, Text))
        if message.text == NO_START or holds_excerpts(message.text):
            return False
        return not all(map(is_mark, texts))
    texts = [message.text, *(result.text for result in message.results)]
    short = measured.SHORT_RECORD_CHARS
    return any(
        marker in text and (len(text) <= short or f"\n{marker}" in text or text.startswith(marker))
        for marker in plan.settings.record_markers
        for text in texts
    )


def propose(plan: Plan) -> Proposal:
    """Edits that leave the must-keep set and the pieces with the most evidence."""
    return without_model(extraction(plan))


def extraction(plan: Plan) -> Sequence[Edit]:
    """The edits that leave at most the plan's room, if the smallest view is not larger."""
    target = int(plan.total * plan.settings.target_usage)
    room = target if plan.room is None else plan.room
    least = floor(plan)
    if least.tokens >= room:  # a system prompt may take more than the target
        return least.edits
    views = Views(plan, room)
    edits: Sequence[Edit] = ()
    for level, view in views.in_order():
        rival = views.rival_of(level, view)
        edits = view.edits("extract", compared=rival is not None)
        if view.lacks_sure_rule:
            continue
        if rival and not view.showing.shown:
            better = views.better(rival, view)
            edits = edits if better is None else better
        break
    return edits


class Views:
    """The views of the levels of the must-keep set."""

    def __init__(self, plan: Plan, room: int) -> None:
        self._plan, self._room = plan, room
        self._unread = Unread(Forms(plan), {})
        self._records = {i for i, message in enumerate(plan.messages) if is_record(message, plan)}
        self._again = loaded_again(plan)
        self._unread = self._with_unread()

    def in_order(self) -> Iterator[tuple[Level, Filling]]:
        """The levels whose must-keep set leaves enough room, with their views.

        The level that keeps most comes first. Each view is made only when it is reached, and is not
        filled yet.
        """
        (*generous, least), tight = levels(self._plan)
        last = self._of(least)  # if it does not fit, the levels before it hardly ever do
        with_skeletons = chain(self._of_all(generous), [(least, last)]) if last else ()
        return chain(with_skeletons, self._of_all(tight), self._without_unread(tight[-1]))

    def _with_unread(self) -> Unread:
        """The room of the results that the model has not read; the smallest view must fit, too."""
        if not unread_in(self._plan):
            return self._unread
        smallest = self._of(levels(self._plan)[1][-1])
        assert smallest is not None  # it fits any room
        share = 0.5 if leaves_half(self._plan, self._room) else measured.UNREAD_SHARE
        return with_room(self._unread.forms, int(share * self._room), smallest.left - smallest.owed)

    def _without_unread(self, smallest: Level) -> Iterator[tuple[Level, Filling]]:
        """The smallest view, if results that the model has not read took the room of rules."""
        if self._unread.kept:
            self._unread = Unread(self._unread.forms, {})
            yield from self._of_all([smallest])

    def _of_all(self, some: Iterable[Level]) -> Iterator[tuple[Level, Filling]]:
        return ((level, view) for level in some if (view := self._of(level)))

    def _of(self, level: Level) -> Filling | None:
        """The view of a level; `None` if its must-keep set takes too much of the room."""
        unread = self._unread
        kept = must_keep(self._plan, level, self._room, self._records, self._again, unread.kept)
        view = Filling(unread.forms, kept, self._room, level.first)
        if view.left < level.spare * (self._room - unread.tokens):
            return None
        return view if level.spare < 0 or view.left >= view.owed else None

    def rival_of(self, level: Level, view: Filling) -> Level | None:
        """Another level that may show more, if a small view keeps fewer of the newest messages.

        `None` if the view keeps the message that the user's last words reply to, because that is
        worth more.
        """
        small = (
            self._room <= measured.RIVAL_ROOM_TOKENS
            and self._plan.total <= measured.RIVAL_TOTAL_TOKENS
        )
        fewer = small and not view.kept.keys() >= {*level.left_out}
        return level.rival if fewer and self._plan.replied_to not in view.kept else None

    def better(self, rival: Level, view: Filling) -> Sequence[Edit] | None:
        """The edits of a rival's view if it shows clearly more evidence than `view`, or `None`."""
        other = self._of(rival)
        if other is None:
            return None
        edits = other.edits("extract", compared=True)
        if other.lacks_sure_rule:
            return None
        gain = measured.RIVAL_GAIN * other.worth_of(view)
        return edits if other.worth_of(other) > gain else None

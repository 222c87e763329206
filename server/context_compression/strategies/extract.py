"""`extract`: a must-keep set, and the remaining room filled with pieces chosen by evidence.

The must-keep set (`MustKeep`) begins as the smallest view. Its messages grow one by one in stages,
the newest first, as far as each stage has a share of the room. In a session with tools these are:
the newest messages, clipped; the goal, records, summaries, and the user's messages of the last
turns; more of the newest messages, clipped and then unshortened; and old tool steps as skeletons,
which are a call and one line for each result. In a chat all texts compete, what earlier notes quote
among them, and the newest messages have a small share. The words of the user's finished requests
compete, and yield the more, the less of them has room. The newest pictures and pieces fill the
remaining room (`filling`).

The smallest view, whose tokens are the minimum size ("floor"): head, pins and the last user message
are unshortened. The calls of the open tool step stay; long arguments of answered calls are
shortened. A result of this step that is larger than a preview becomes one line. What must always
stay is in it, too: items of unknown types, and what a provider compacted; the user's sure rules, up
to a share (`rules`); and one note with a ref. Nothing else stays. Results that the model has not
read have a share of the room above it.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial

from context_compression.conversation.authors import holds_excerpts, is_bare_command, is_skill
from context_compression.conversation.authors.speech import repeated_reminders, user_words
from context_compression.conversation.messages import Message, Text
from context_compression.conversation.validity import NO_START
from context_compression.planning.edits import Edit
from context_compression.planning.plan import Plan, stays_apart
from context_compression.planning.selection import SUMMARY_MARKS, tokens_of_text
from context_compression.strategies import measured
from context_compression.strategies.base import Proposal, without_model
from context_compression.strategies.filling import Filling
from context_compression.strategies.forms import Form, Forms, is_users, unread_in
from context_compression.strategies.keep import cost, keep_only, with_declarations
from context_compression.strategies.notes import notes_of, with_labels_of_notes
from context_compression.strategies.pictures import images_in, is_mark
from context_compression.strategies.repeated import fullness, repeated_texts
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
        kept = " and those of keep_tools" * bool(plan.settings.keep_tools)
        return f"pinned messages{kept}"  # or other messages of their tool steps
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


GROWING = (
    Form.LEAST, Form.ENDING, Form.SKELETON, Form.UNREAD, Form.CLIPPED, Form.PREVIEW, Form.FULL,
)  # fmt: skip
"""The forms in which messages of the must-keep set grow."""


class MustKeep:
    """The messages that stay whatever competes, each in the largest form that has room.

    It begins with the smallest view. Then messages grow in stages, the newest first. A stage ends
    where the next message would take the set above the stage's share of the room.

    Attributes:
        kept: the form of each message that stays, by index.
        first: from this index on, texts of the model may be messages of the view; earlier ones are
            only quoted.
    """

    def __init__(self, plan: Plan, room: int, unread: Unread, part: float) -> None:
        """The set for a plan.

        Args:
            plan: the plan of the conversation.
            room: the tokens that the view may take.
            unread: the results that the model has not read; their tokens do not count.
            part: the part of each stage's share that the set may take.
        """
        self._plan, self._forms, self._unread = plan, unread.forms, unread.kept.keys()
        self._anchored_forms = cache(partial(anchored_forms, plan))
        self.kept = {**anchored_forms(plan, Form.LEAST), **unread.kept}
        self._pictures = dict[int, int]()
        for picture in self._forms.pictures.in_order:  # at first a mark takes the place of each
            freed = self._pictures.get(picture.message, 0) + picture.tokens
            self._pictures[picture.message] = freed - measured.GAP_MARK_TOKENS
        tokens = {index: self._tokens(index, form) for index, form in self.kept.items()}
        self._taken = sum(tokens.values())
        held, asked = {*range(plan.head), *plan.pins}, plan.last_user
        if asked is not None and tokens[asked] > measured.LONG_REQUEST_SHARE * room:
            held.add(asked)
        self._beside = unread.tokens + sum(tokens[index] for index in held)
        self._room = part * (room - self._beside)
        self.first = len(plan.messages)
        self._anchored = sorted(plan.anchored, reverse=True)
        again = loaded_again(plan)
        indices = range(len(plan.messages) - 1, plan.head - 1, -1)
        self._indices = [index for index in indices if index not in again]
        if not part:
            return
        self._grow(self._anchored, Form.ENDING, 1)
        (self._grow_chat if plan.is_chat else self._grow_work)()
        if leaves_half(plan, room):
            self._grow(self._anchored, Form.FULL, measured.MUST_KEEP_SHARE)

    def _grow_chat(self) -> None:
        """Old facts are worth as much as new ones: the newest messages have a small share.

        While the user's messages take hardly any of the room, they stay: they would be chosen
        anyway.
        """
        plan, newest = self._plan, measured.PROSE_NEWEST_SHARE
        recent = self._newest(plan.settings.min_recent_messages)
        if not (plan.is_talk_of_two or plan.quotes_users):
            last = self._newest(measured.CHAT_RECENT).stop
            theirs = [i for i in self._indices if i > last or is_users(plan.messages[i])]
            if self._grow_all(theirs, Form.CLIPPED, measured.MUST_KEEP_SHARE):
                self.first = plan.head
                self._grow(recent, Form.CLIPPED, measured.MUST_KEEP_SHARE)
        self._grow(self._anchored, Form.PREVIEW, 1)
        self._grow(self._newest(measured.FEWEST_RECENT), Form.CLIPPED, newest)
        self._grow(self._newest(1), Form.CLIPPED, measured.QUOTED_SHARE)
        self._grow_always(len(plan.messages))
        self._grow(recent, Form.FULL, newest)

    def _grow_work(self) -> None:
        """The newest messages, the requests of the last turns, and then old tool steps."""
        plan = self._plan
        recent = self._newest(plan.settings.min_recent_messages)
        turns = [turn.start for turn in plan.turns[-plan.settings.fallback_turns :]]
        self._grow(self._anchored, Form.PREVIEW, measured.ANCHORED_SHARE)
        said = "" if plan.last_user is None else user_words(plan.messages[plan.last_user])
        if fullness(said) < 1:  # it says little without what it replies to
            replied_to = () if plan.replied_to is None else (plan.replied_to,)
            self._grow(replied_to, Form.FULL, measured.MUST_KEEP_SHARE)
        self._grow(self._newest(measured.FEWEST_RECENT), Form.CLIPPED, measured.FEWEST_SHARE)
        since = (turns or [len(plan.messages)])[0]
        if self._grow_always(since):
            self.first = plan.head
        alone = self._taken
        are_all = recent.stop < plan.head  # nothing older competes
        share = measured.ALL_RECENT_SHARE if are_all else measured.RECENT_SHARE
        self._grow(recent, Form.CLIPPED, share)
        steps = [
            i for i in self._indices
            if plan.step_of(i) or (i >= since and plan.messages[i].starts_turn)
        ]  # fmt: skip
        # a few of them are worth less than pieces
        all_shown = self._grow_all(steps, Form.SKELETON, measured.SKELETONS_SHARE)
        # what they take alone, so that a larger number of them leaves as many unshortened; what the
        # model has not read counts twice, because pieces are worth more beside a long result
        counted = set[int]()
        for index in recent:
            step = {*self._step(index)} - counted
            counted |= step
            alone += sum(self._tokens(i, Form.FULL) for i in step)
            if index not in self.kept or alone > self._limit(measured.MUST_KEEP_SHARE):
                break
            self._grow([index], Form.FULL, 1)
        if all_shown:
            longer = range(len(plan.messages) - 1, plan.tail - 1, -1)
            self._grow(longer, Form.FULL, measured.MUST_KEEP_SHARE)

    def _newest(self, count: int) -> range:
        """The newest `count` messages, the newest first; more where one may not cut."""
        end, head = len(self._plan.messages), self._plan.head
        return range(end - 1, self._plan.cut_before(max(head, end - count)) - 1, -1)

    def _grow_always(self, since: int) -> bool:
        """Add the goal, the open request, records, pictures of the user, and finished requests.

        Finished requests are added from the index `since` on. Returns whether all have room.
        """
        plan, messages = self._plan, self._plan.messages
        first_turn = plan.turns[0].stop if plan.turns else plan.head

        def stays(index: int) -> bool:
            message = messages[index]
            by_user = is_users(message) and (index >= plan.request or bool(images_in(message)))
            of_system = message.is_system and index < first_turn
            return by_user or of_system or is_record(message, plan)

        if plan.goal is not None and plan.goal not in self.kept:
            self._grow([plan.goal], Form.CLIPPED, 1)
        fit = self._grow(filter(stays, self._indices), Form.CLIPPED, measured.ALWAYS_SHARE)
        done = [i for i in self._indices if since <= i < plan.request and is_users(messages[i])]
        return self._grow(done, Form.CLIPPED, measured.DONE_SHARE) and fit

    def _grow_all(self, indices: Iterable[int], form: Form, share: float) -> bool:
        """Give messages a larger form, all or none; returns whether they have it."""
        before = {**self.kept}, self._taken
        if self._grow(indices, form, share):
            return True
        self.kept, self._taken = before
        return False

    def _grow(self, indices: Iterable[int], form: Form, share: float) -> bool:
        """Give messages a larger form as long as the set takes no more than a share of the room.

        A tool step grows as one. Returns whether all messages have the form, or a larger one.
        """
        seen = set[int]()
        for index in indices:
            if index in seen:
                continue
            seen.update(step := self._step(index))
            changed = {i: to for i in step if (to := self._larger(i, form))}
            more = sum(
                self._tokens(i, to) - (self._tokens(i, self.kept[i]) if i in self.kept else 0)
                for i, to in changed.items()
            )
            if changed and self._taken + more > self._limit(share):
                return False
            self._taken += more
            self.kept.update(changed)
        return True

    def _step(self, index: int) -> Sequence[int]:
        """The messages that grow with one: those of its tool step."""
        apart = stays_apart(self._plan.messages, index)
        return (index,) if apart else self._plan.step_of(index) or (index,)

    def _larger(self, index: int, form: Form) -> Form | None:
        """The form that a message has if it grows to `form`; `None` if it stays as it is.

        An anchored message is never clipped; it grows from its smallest form to its full text.
        """
        plan, now = self._plan, self.kept.get(index)
        if index in plan.anchored:
            form = self._anchored_forms(Form.PREVIEW if form is Form.CLIPPED else form)[index]
        is_set = index < plan.head or index in self._unread or form is Form.SKELETON
        if now is not None and (is_set or GROWING.index(now) >= GROWING.index(form)):
            return None
        return form

    def _limit(self, share: float) -> float:
        return share * self._room + self._beside

    def _tokens(self, index: int, form: Form) -> int:
        plan = self._plan
        if form is Form.FULL:
            return plan.tokens[index] - self._pictures.get(index, 0)
        return plan.counter.message(self._forms.plain(index, form)) - self._pictures.get(index, 0)


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
    edits: Sequence[Edit] = ()
    for view in _views(plan, room):
        edits = view.edits("extract")
        if not view.lacks_sure_rule:
            break
    return edits


def _views(plan: Plan, room: int) -> Iterator[Filling]:
    """The views of a plan, the one that keeps most first; each is made when it is reached.

    The smallest view is the last one, because results that the model has not read may have taken
    the room of rules.
    """
    forms, end = Forms(plan), len(plan.messages)
    smallest = Filling(forms, anchored_forms(plan, Form.LEAST), room, end)
    share = 0.5 if leaves_half(plan, room) else measured.UNREAD_SHARE
    unread = with_room(forms, int(share * room), smallest.left - smallest.owed)
    for part in measured.PARTS_TRIED:
        must = MustKeep(plan, room, unread, part)
        view = Filling(unread.forms, must.kept, room, must.first)
        if view.left >= view.owed:
            yield view
    yield Filling(forms, anchored_forms(plan, Form.LEAST), room, end)

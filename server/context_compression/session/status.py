"""How full a session is, what it held before each compression, and which one a conversation has."""

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from context_compression.compression.prepared import SMALLEST_TARGET
from context_compression.conversation.authors import first_words
from context_compression.conversation.formats import Conversation, parse
from context_compression.conversation.messages import COMPRESSED, Text, strings_in
from context_compression.conversation.refs import REF, canonical, ref_of
from context_compression.conversation.system_prompt import summary_in
from context_compression.conversation.validity import repair
from context_compression.errors import InvalidConversation, StoreError, UnknownRef
from context_compression.plurals import how_many
from context_compression.session.compressing import preview
from context_compression.session.events import origin_of
from context_compression.session.following import begin_with_view, first_messages, new_events
from context_compression.session.outgoing import told
from context_compression.session.pacing import Due, due
from context_compression.session.state import Savings, State, state_of
from context_compression.store import Store
from context_compression.strings import SHOWN_VALUE, one_line
from context_compression.tokens import UNDERSTATED, Anchor, Counter, anchored, is_understated
from context_compression.tokens.usage import (
    AnyMessages,
    Item,
    Usage,
    adding_up_to,
    breakdown,
    largest,
)
from context_compression.transcripts.reading import answers_among
from context_compression.transcripts.sessions import seconds
from context_compression.transcripts.transcript import OURS, PROXY, Compaction, History, Stage

if TYPE_CHECKING:
    from context_compression.session.session import Session
LONGEST_REASON = 1_000
"""How many characters of a stored reason are told."""


@dataclass(frozen=True)
class Status:
    """The status of a conversation.

    Attributes:
        usage: how full its context is, in tokens.
        due: whether an automatic compression is due, and what decides it.
        messages: how many messages the view has.
        messages_recorded: how many messages were recorded.
        messages_compressed: how many of those are not in the view as they came.
        compressions: how many compressions count; undone ones do not.
        tokens_saved: freed by compressions and kept out by hooks, less what was restored. A
            compression that the host of a conversation did not take over freed nothing.
        not_taken_over: tokens by which the compacted context in our record is smaller than the
            conversation of the host, which did not take it over.
        savings: the same over all requests, with its cost. A compression that the host of a
            conversation did not take over saved nothing.
        breakdown: tokens by kind of content.
        largest: the largest blocks.
        could_free: tokens that `offload` alone would free.
        refs: a description of each original in a few words, by ref, the newest last.
        warnings: for the user, for example about damaged lines of the log.
        host_compactions: those that led to the conversation of a host, the oldest first.
    """

    usage: Usage
    due: Due
    messages: int
    messages_recorded: int
    messages_compressed: int
    compressions: int
    tokens_saved: int
    not_taken_over: int
    savings: Savings
    breakdown: Mapping[str, int]
    largest: Sequence[Item]
    could_free: int
    refs: Mapping[str, str]
    warnings: Sequence[str]
    host_compactions: Sequence[Compaction] = ()

    def __repr__(self) -> str:
        parts = [self.usage.in_words, "due" if self.due.now else "not due"]
        parts += [how_many(self.messages, "message")]
        if self.compressions:
            compressions = how_many(self.compressions, "compression")
            parts += [f"{compressions} saved {self.tokens_saved:,}"]
        parts += [how_many(len(self.refs), "ref")] if self.refs else []
        parts += [how_many(len(self.warnings), "warning")] if self.warnings else []
        return one_line(f"<Status: {', '.join(parts)}>", SHOWN_VALUE - 1)

    @property
    def by_kind(self) -> dict[str, int]:
        """The used tokens by kind of content.

        If a provider charged more tokens than we counted, the difference is a kind of its own. If
        it charged fewer, each kind is reduced in proportion.
        """
        return adding_up_to(int(self.usage.used_tokens), self.breakdown)


def could_free(session: "Session", conversation: Conversation) -> int:
    """Tokens that `offload` would free, measured by a preview.

    The answer is 0 without a preview if the conversation has only texts and needs no repair.
    """
    messages, rules = conversation.messages, conversation.format.rules
    texts = all(isinstance(block, Text) for message in messages for block in message.blocks)
    # a named model may have stricter rules than the dialect
    dialect_rules = not session.settings.alternate_roles and session.model is None
    simple = texts and dialect_rules and not summary_in(session.system)
    if simple and not repair(messages, rules, conversation.without_halves).repairs:
        return 0
    return preview(
        session, conversation, strategy="offload", target_tokens=SMALLEST_TARGET
    ).tokens_freed


def status_of(session: "Session", messages: AnyMessages | None, anchor: Anchor | None) -> Status:
    """The status of a conversation; see `Session.status` for the arguments."""
    state = session.state()
    shown = state.view if messages is None else messages
    counter = Counter(session.model, session.counter)
    conversation = parse(shown)
    parsed = conversation.messages
    usage = session.usage(conversation)
    if anchor:
        tokens = anchored(counter, parsed, anchor)
        usage = replace(usage, used_tokens=tokens)
    recorded, compressions, freed = state.recorded, len(state.compressions), state.freed
    as_they_came = {*map(id, state.view)}
    changed = sum(id(message) not in as_they_came for message in recorded)
    for event in [] if messages is None else new_events(state, conversation, from_start=True):
        state.replay(event)
    repairs = repair(parsed, conversation.format.rules, conversation.without_halves).repairs
    understated = [UNDERSTATED] if is_understated(conversation) else []
    kept_out = state.freed + sum(state.tally.outside.values())
    return Status(
        usage=usage,
        due=due(session, usage, conversation),
        messages=len(shown),
        messages_recorded=len(recorded),
        messages_compressed=changed,
        compressions=compressions,
        tokens_saved=kept_out - sum(state.restored.values()) if kept_out else 0,
        not_taken_over=freed - state.freed,
        savings=state.tally.savings(state.freed, counter.text, session.model),
        breakdown=breakdown(parsed, counter),
        largest=largest(parsed, counter),
        could_free=could_free(session, conversation),
        refs={ref: about["what"] for ref, about in state.refs.items()},
        warnings=[
            *session.store.doubts(),
            *state.warnings,
            *understated,
            *told(repairs),
            *no_summary_in(state),
        ],
    )


def no_summary_in(state: State) -> Iterator[str]:
    """That the last compression has no summary although one was asked for, and why."""
    why = state.compressions[-1].get("no_summary") if state.compressions else None
    if isinstance(why, str):
        yield one_line(why, LONGEST_REASON)


# The history of a recorded session: its view before each compression, and now.
#
# A compression that was undone, and messages that a rewind removed, are not part of it.


FIRST = 200  # messages that are searched for the user's first words


def history_of(session: "Session") -> History:
    """The whole conversation of a session.

    The requests are the answers that were recorded; what they cost is not in the log.
    """
    state = session.state()
    origin = state.origin
    return History(
        path=session.log.place,
        host=origin.get("host", OURS),
        session_id=session.id,
        stages=list(_stages(state)),
        title=_title(state.recorded[:FIRST]),
        model=session.model or origin.get("model"),
        window=origin.get("window"),
        warnings=state.warnings,
    )


def _stages(state: State) -> list[Stage]:
    written = [seconds(time) for time in state.recorded_at]
    views = [*(view for view, _, _ in state.before), state.view]
    origins = [*state.origins_before, state.origins]
    stages: list[Stage] = []
    began: Compaction | None = None
    carried = 0
    for number, (view, of_view) in enumerate(zip(views, origins, strict=True)):
        carried = min(carried, len(view))  # a rewind may have removed some
        times = [None if index is None else written[index] for index in of_view]
        stages.append(Stage(view, carried, times, answers_among(view, carried, times), began))
        if number < len(state.compressions):
            event = state.compressions[number]
            began = _compaction(event)
            carried = state.before[number][1] + len(view) - event["messages_in"]
    return stages


def _compaction(event: Mapping[str, Any]) -> Compaction:
    origin = origin_of(event)
    handed_in = origin.get("host") in ("messages", PROXY)  # then both sizes include what is beside
    beside = 0 if handed_in else origin.get("beside", 0)
    return Compaction(
        time=seconds(event.get("created_at")),
        by=OURS,
        tokens_before=event["tokens_before"] + beside,
        tokens_after=event["tokens_after"] + beside,
    )


def _title(messages: Sequence[dict[str, Any]]) -> str:
    try:
        return first_words(parse(messages).messages)
    except InvalidConversation:
        return ""


# The session of a conversation that comes without an id.


PREFIX = "messages-"
REFS_TRIED = 3
"""How many refs of a view tell which session it may belong to, before all sessions are read."""


def session_id_for(messages: AnyMessages, store: Store) -> str:
    """The session id for a conversation, derived from its messages up to the user's first message.

    The first message alone is not enough: programs begin all their conversations with the same
    system message. A view begins with one of our notes, and belongs to the session it was made in.

    Raises:
        InvalidConversation: the messages are not in a format we know.
    """
    conversation = parse(messages)
    begins = first_messages(conversation.raw)
    name = PREFIX + ref_of(begins[0] if len(begins) == 1 else begins)
    note = next((text for text in strings_in(begins) if text.startswith(COMPRESSED)), None)
    if note is None or store.session(name).exists():
        return name
    line = max(note.splitlines(), key=len)  # programs that join texts leave lines as they are
    for id in _likely_first(store, conversation.raw):
        with suppress(StoreError):  # a damaged session must not hide the others
            if id.startswith(PREFIX) and store.session(id).holds(line):
                view = parse(state_of(store.session(id)).view).messages
                if view and begin_with_view(conversation.messages, view):
                    return id
    return name


def _likely_first(store: Store, view: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """The ids of all sessions, but first those that archived what a view names.

    A store of a team has too many sessions to read them all for one view.
    """
    tried: list[str] = []
    for ref in list(dict.fromkeys(re.findall(REF, canonical(view))))[:REFS_TRIED]:
        with suppress(UnknownRef):
            if (log := store.locate(ref)) and log.id not in tried:
                tried.append(log.id)
                yield log.id
    yield from (id for id in store.sessions() if id not in tried)

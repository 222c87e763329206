"""`Status`: how full the context of a conversation is, and what compressions saved so far."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from context_compression.compression.request import SMALLEST_TARGET
from context_compression.conversation.formats import Conversation, parse
from context_compression.conversation.messages import Text
from context_compression.conversation.system_prompt import summary_in
from context_compression.conversation.validity import repair
from context_compression.display.strings import one_line
from context_compression.session.following import new_events
from context_compression.session.outgoing import told
from context_compression.session.recorded import RecordedConversation
from context_compression.session.requests import Due, due, preview
from context_compression.session.savings import Savings
from context_compression.session.state import State
from context_compression.tokens import UNDERSTATED, Anchor, Counter, anchored, is_understated
from context_compression.tokens.usage import Item, Usage, adding_up_to, breakdown, largest
from context_compression.transcripts.history import Compaction

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

    @property
    def by_kind(self) -> dict[str, int]:
        """The used tokens by kind of content.

        If a provider charged more tokens than we counted, the difference is a kind of its own. If
        it charged fewer, each kind is reduced in proportion.
        """
        return adding_up_to(int(self.usage.used_tokens), self.breakdown)


def could_free(session: RecordedConversation, conversation: Conversation) -> int:
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


def status_of(
    session: RecordedConversation,
    messages: Sequence[Mapping[str, Any]] | None,
    anchor: Anchor | None,
) -> Status:
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
            *session.store.doubts,
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

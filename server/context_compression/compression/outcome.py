"""What came of a compression: the result, made of the edits that strategies proposed."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, cast

from context_compression.compression.accounting import Accounting, first_difference, layout
from context_compression.compression.result import Ref, Result, Step, loss_report
from context_compression.compression.subject import PreparedConversation
from context_compression.conversation.formats import Conversation
from context_compression.conversation.messages import Message, Thinking
from context_compression.conversation.system_prompt import summary_in
from context_compression.display.plurals import how_many
from context_compression.planning.edits import Edit, View
from context_compression.strategies.floor import Floor


@dataclass(frozen=True)
class Outcome:
    """Edits over the mended messages, and how they came about.

    Attributes:
        edits: what is to be done.
        strategy: the one that proposed them.
        steps: every strategy that ran, in order.
        target: what was aimed at; `None`: nothing.
        floor: where the target was not met.
        notes: what the caller should know.
    """

    edits: Sequence[Edit]
    strategy: str
    steps: tuple[Step, ...]
    target: int | None = None
    floor: Floor | None = None
    notes: tuple[str, ...] = ()


def unchanged(subject: PreparedConversation, *notes: str, floor: Floor | None = None) -> Result:
    """The conversation as it is, mended where it was broken; `floor` where a target is missed."""
    outcome = Outcome((), "none", (), subject.ask.target_tokens, floor, notes)
    return (applied if subject.mended.repairs else _as_it_came)(subject, outcome)


def applied(subject: PreparedConversation, outcome: Outcome) -> Result:
    """What comes of it when what was proposed is done; a store keeps the originals first."""
    view, tokens = subject.view(outcome.edits)
    after = subject.fixed + tokens
    if not subject.mended.repairs and (not view.edits or after >= subject.before):
        notes = ("nothing could be removed", *outcome.notes)
        return _as_it_came(subject, replace(outcome, notes=notes))
    result = _changed(subject, outcome, view, after)
    store = subject.ask.store
    if store is None:
        return result
    kept = store.keep(subject.conversation.raw, result)
    return replace(result, files_removed=kept.files_removed, notes=(*result.notes, *kept.warnings))


def _as_it_came(subject: PreparedConversation, outcome: Outcome) -> Result:
    ask, floor = subject.ask, outcome.floor
    return Result(
        messages=cast("list[dict[str, Any]]", [*ask.messages]),
        tokens_before=subject.before,
        tokens_after=subject.before,
        messages_in=len(ask.messages),
        fixed_tokens=subject.fixed,
        target_tokens=outcome.target,
        target_met=outcome.target is None or subject.before <= outcome.target,
        floor_tokens=subject.fixed + floor.tokens if floor else 0,
        floor=subject.parts(floor.parts) if floor else {},
        steps=outcome.steps,
        system=ask.system,
        notes=outcome.notes,
        method=subject.counter.method,
    )


def _changed(subject: PreparedConversation, outcome: Outcome, view: View, after: int) -> Result:
    ask, mended, raw = subject.ask, subject.mended, subject.conversation.raw
    sent, system = subject.placed(view)
    archive = subject.plan.archive
    accounting = Accounting(raw, subject.conversation.messages, mended, view, archive.ref_of)
    accounting.archive(subject.repaired, sent)
    notes = outcome.notes
    if system is not ask.system:
        notes = ("the system prompt changed, too: send `system` with the messages", *notes)
        if earlier := summary_in(ask.system):
            accounting.add(earlier, Ref("earlier summary", ()))
    summary = next((edit.record for edit in view.edits if edit.record), None)
    if summary:
        summary = replace(summary, first_kept=accounting.index_at(summary.first_kept))
        if summary.whole_ledger:
            accounting.add(summary.whole_ledger, Ref("ledger", ()))
    unbound = _bound_thinking(subject.conversation.messages) - _bound_thinking(sent)
    if unbound > 0:
        what = how_many(unbound, "signed thinking block")
        notes = (*notes, f"{what} left with what came before: a provider refuses them behind it")
    messages = subject.conversation.render(sent)
    return replace(
        _as_it_came(subject, outcome),
        messages=_as_given(messages, raw, ask.messages),
        changed=True,
        tokens_after=after,
        target_met=outcome.target is None or after <= outcome.target,
        strategy=outcome.strategy,
        system=system,
        dropped=accounting.dropped,
        compressed=tuple(accounting.gone),
        first_changed=first_difference(raw, messages) if system is ask.system else 0,
        thinking_dropped=max(0, unbound),
        reasons=accounting.reasons(),
        refs=accounting.refs,
        originals=accounting.originals,
        previews=accounting.previews(archive),
        layout=layout(raw, messages),
        repairs=mended.repairs,
        notes=notes,
        summary=summary,
        evidence=partial(loss_report, mended.messages, view, accounting.gone_of_mended),
    )


def _bound_thinking(messages: Sequence[Message]) -> int:
    """How many blocks of thinking are bound to what stands before them."""
    return sum(isinstance(block, Thinking) and block.bound for m in messages for block in m.blocks)


def _as_given(
    messages: list[dict[str, Any]], raw: Sequence[Any], given: Sequence[Any]
) -> list[dict[str, Any]]:
    """The messages, with the very objects of a provider's library that came where no edit was."""
    if raw is given or isinstance(given, Conversation):
        return messages
    objects = {id(plain): whole for plain, whole in zip(raw, given, strict=True)}
    return [objects.get(id(message), message) for message in messages]

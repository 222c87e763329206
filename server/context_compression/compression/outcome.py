"""`Outcome`, and the `Result` made of the edits that strategies proposed."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, cast

from context_compression.compression.accounting import Accounting, first_difference, layout
from context_compression.compression.explaining import Compressed, Explainer, lighter
from context_compression.compression.loss import loss_report, missing_rules, user_sentences
from context_compression.compression.prepared import PreparedConversation
from context_compression.compression.result import Ref, Result, Step
from context_compression.conversation.formats import Conversation
from context_compression.conversation.messages import Message, Thinking
from context_compression.conversation.system_prompt import summary_in
from context_compression.display.plurals import how_many
from context_compression.display.strings import one_line
from context_compression.evidence.host_cuts import results_cut_by_hosts
from context_compression.planning.edits import Edit, View
from context_compression.strategies.floor import Floor

NAMED_TYPES = 5
"""How many types of unknown items a note names."""


@dataclass(frozen=True)
class Outcome:
    """Edits of a prepared conversation, with the strategies that proposed them.

    Attributes:
        edits: edits of the planned messages.
        strategy: the strategy that proposed them.
        steps: every strategy that ran, in order.
        target: the target in tokens; `None` if there was none.
        floor: the smallest view, if the target was missed; else `None`.
        missed: why the target was missed, in plain words; "" if it was met.
        notes: sentences for the caller, in plain words.
    """

    edits: Sequence[Edit]
    strategy: str
    steps: tuple[Step, ...]
    target: int | None = None
    floor: Floor | None = None
    missed: str = ""
    notes: tuple[str, ...] = ()


def unchanged(
    prepared: PreparedConversation, *notes: str, floor: Floor | None = None, repair: bool = True
) -> Result:
    """The result without a compression.

    Args:
        prepared: the conversation.
        notes: the reasons why nothing was compressed.
        floor: the smallest view, if a target is missed.
        repair: whether a broken conversation is repaired.
    """
    outcome = Outcome((), "none", (), prepared.request.target_tokens, floor, notes=notes)
    repaired = repair and prepared.planned.repairs
    return (applied if repaired else _as_it_came)(prepared, outcome)


def applied(prepared: PreparedConversation, outcome: Outcome) -> Result:
    """The result with the edits applied; a store keeps the originals before it is returned.

    Edits that free nothing are not applied.

    Raises:
        StoreError: the store could not keep the originals.
    """
    view, tokens = prepared.view(outcome.edits)
    after = prepared.fixed_tokens + tokens
    if not prepared.planned.repairs and (not view.edits or after >= prepared.tokens_before):
        notes = (f"nothing could be removed{_why(prepared)}", *outcome.notes)
        return _as_it_came(prepared, replace(outcome, notes=notes))
    result = changed(prepared, outcome, view, after)
    store = prepared.request.store
    if store is None:
        return result
    kept = store.keep(prepared.conversation.raw, result)
    at = result.first_kept_index if kept.first_kept_index is None else kept.first_kept_index
    notes = (*result.notes, *kept.warnings)
    return replace(
        result,
        files_removed=kept.files_removed,
        first_kept_index=at,
        repeated=kept.repeated,
        notes=notes,
    )


def _why(prepared: PreparedConversation) -> str:
    """What the strategy leaves alone, as the end of a sentence; "" for most strategies."""
    settings = prepared.settings
    match prepared.strategy:
        case "offload":
            least = f"{settings.offload_min_tokens:,} tokens or more"
        case "truncate":
            least = f"more than {settings.max_tool_output:,} characters"
        case "window":
            return f": the last {how_many(settings.keep_recent, 'turn')} are kept in full"
        case _:
            return ""
    return f": no tool result that may be shortened has {least}"


def _as_it_came(prepared: PreparedConversation, outcome: Outcome) -> Result:
    request, floor = prepared.request, outcome.floor
    return Result(
        messages=cast("list[dict[str, Any]]", [*request.messages]),
        tokens_before=prepared.tokens_before,
        tokens_after=prepared.tokens_before,
        messages_in=len(request.messages),
        fixed_tokens=prepared.fixed_tokens,
        target_tokens=outcome.target,
        target_met=outcome.target is None or prepared.tokens_before <= outcome.target,
        floor_tokens=prepared.fixed_tokens + floor.tokens if floor else 0,
        floor=prepared.with_overhead(floor.parts) if floor else {},
        missed=outcome.missed,
        steps=outcome.steps,
        system=request.system,
        notes=outcome.notes,
        method=prepared.counter.method,
    )


def changed(prepared: PreparedConversation, outcome: Outcome, view: View, after: int) -> Result:
    """The result of a view that takes `after` tokens; nothing is kept in a store."""
    request, planned, raw = prepared.request, prepared.planned, prepared.conversation.raw
    sent, system = prepared.placed(view)
    archive = prepared.plan.archive
    accounting = Accounting(raw, prepared.conversation.messages, planned, view, archive.ref_of)
    accounting.archive(prepared.repaired, sent)
    notes = outcome.notes
    if system is not request.system:
        notes = ("the system prompt changed, too: send `system` with the messages", *notes)
        if earlier := summary_in(request.system):
            accounting.add(earlier, Ref("earlier summary", ()))
    summary = next((edit.record for edit in view.edits if edit.record), None)
    if summary:
        summary = replace(summary, first_kept=accounting.index_at(summary.first_kept))
        if summary.whole_ledger:
            accounting.add(summary.whole_ledger, Ref("ledger", ()))
    unbound = _bound_thinking(prepared.conversation.messages) - _bound_thinking(sent)
    if unbound > 0:
        blocks = how_many(unbound, "signed thinking block")
        notes = (
            *notes,
            f"{blocks} dropped: a provider refuses thinking when the messages before it changed",
        )
    notes = (*notes, *_notes_on_input(prepared.conversation))
    messages, reasons = prepared.conversation.render(sent), accounting.reasons()
    return replace(
        _as_it_came(prepared, outcome),
        messages=as_given(messages, raw, request.messages),
        changed=True,
        tokens_after=after,
        target_met=outcome.target is None or after <= outcome.target,
        strategy=outcome.strategy,
        system=system,
        dropped=accounting.dropped,
        compressed=tuple(accounting.gone),
        first_changed=first_difference(raw, messages) if system is request.system else 0,
        thinking_dropped=max(0, unbound),
        reasons=reasons,
        refs=accounting.refs,
        originals=accounting.originals,
        previews=accounting.previews(archive),
        layout=layout(raw, messages),
        first_kept_index=summary.first_kept if summary else None,
        repairs=planned.repairs,
        notes=notes,
        summary=summary,
        evidence=partial(loss_report, planned.messages, view, accounting.gone_of_planned),
        explaining=partial(
            Explainer,
            Compressed(
                lighter(prepared.plan), view, outcome.strategy, planned.origins,
                frozenset(accounting.gone), reasons, accounting.refs,
            ),
        ),
        said=partial(user_sentences, planned.messages, view, accounting.gone_of_planned),
        unshown=partial(missing_rules, planned.messages, view, accounting.refs_of_planned),
    )  # fmt: skip


def _notes_on_input(conversation: Conversation) -> Iterator[str]:
    """Sentences on what the input holds or lacks, whatever became of it."""
    if types := conversation.unknown_types:
        named = ", ".join(one_line(kind) for kind in types[:NAMED_TYPES])
        more = ", …" if len(types) > NAMED_TYPES else ""
        yield f"items of types that are not known stay as they came: {named}{more}"
    if count := results_cut_by_hosts(conversation.messages):
        results = how_many(count, "tool result")
        yield f"{results} had been cut by the host: what it left out is not archived"


def _bound_thinking(messages: Sequence[Message]) -> int:
    """The number of thinking blocks that are bound to everything before them."""
    return sum(isinstance(block, Thinking) and block.bound for m in messages for block in m.blocks)


def as_given(
    messages: list[dict[str, Any]], raw: Sequence[Any], given: Sequence[Any]
) -> list[dict[str, Any]]:
    """The messages, with each unedited message as the caller's own object."""
    if raw is given or isinstance(given, Conversation):
        return messages
    objects = {id(as_dict): as_given for as_dict, as_given in zip(raw, given, strict=True)}
    return [objects.get(id(message), message) for message in messages]

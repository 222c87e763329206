"""`Outcome`, and the `Result` of the edits that strategies proposed or of a view that goes on."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any, cast

from context_compression.compression.explaining import Explainer
from context_compression.compression.loss import loss_report, missing_rules, user_sentences
from context_compression.compression.prepared import (
    PreparedConversation,
    Target,
    as_a_harness_wrote,
)
from context_compression.compression.result import Ref, Result, StrategyStep
from context_compression.conversation import arguments
from context_compression.conversation.authors import title_of
from context_compression.conversation.formats import Conversation, parse
from context_compression.conversation.messages import (
    Block,
    Edited,
    Message,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    strings_in,
)
from context_compression.conversation.refs import REF, Refs
from context_compression.conversation.system_prompt import summary_in
from context_compression.conversation.text_protocol import written
from context_compression.conversation.validity import Repaired
from context_compression.evidence.files import cut_by_host, results_cut_by_hosts
from context_compression.planning.edits import Edit, View
from context_compression.planning.measured import TEXT_WITH_REF_CHARS
from context_compression.planning.pieces import Cutter
from context_compression.planning.plan import Archive
from context_compression.planning.selection import previews_in
from context_compression.plurals import how_many
from context_compression.strategies.extract import Floor
from context_compression.strings import one_line
from context_compression.tokens.usage import Messages

NAMED_REF = re.compile(rf"\bref ({REF})\b")


@dataclass(frozen=True)
class Accounting:
    """Follows messages from the input into a view.

    Attributes:
        raw: the input messages.
        messages: the same messages as values.
        planned: the same messages after their repair, as in the plan.
        view: the planned messages after edits.
        ref_of: gives refs to originals.
        refs: the meaning of each ref that `archive` and `add` gave to an original.
        originals: the originals by their ref.
    """

    raw: Messages
    messages: Sequence[Message]
    planned: Repaired
    view: View
    ref_of: Refs
    refs: dict[str, Ref] = field(default_factory=dict[str, Ref])
    originals: dict[str, Any] = field(default_factory=dict[str, Any])

    @cached_property
    def gone(self) -> list[int]:
        """The indices of the input messages that are not in the view unchanged."""
        unedited = {
            index
            for message, origin in zip(self.view.messages, self.view.origins, strict=True)
            if origin is not None and not isinstance(message, Edited)
            if (index := self.planned.origins[origin]) is not None
            if message is self.messages[index]
        }
        return [index for index in range(len(self.raw)) if index not in unedited]

    @property
    def dropped(self) -> tuple[int, ...]:
        """The indices of the `gone` messages that are not in the view in any form."""
        origins = self.view.origins
        shown = {self.planned.origins[origin] for origin in origins if origin is not None}
        return tuple(index for index in self.gone if index not in shown)

    @cached_property
    def gone_of_planned(self) -> set[int]:
        """Indices of the planned messages whose input message is `gone`."""
        gone = {*self.gone}
        return {place for place, origin in enumerate(self.planned.origins) if origin in gone}

    @property
    def refs_of_planned(self) -> dict[int, str]:
        """The ref of each planned message that was archived, by its place."""
        whole = {
            ref.indices[0]: name
            for name, ref in self.refs.items()
            if ref.block is None and len(ref.indices) == 1
        }
        places = enumerate(self.planned.origins)
        return {place: whole[index] for place, index in places if index in whole}

    def index_at(self, place: int) -> int:
        """The index of the first input message at or after a position in the planned messages."""
        following = (index for index in self.planned.origins[place:] if index is not None)
        return next(following, len(self.raw))

    def previews(self, archive: Archive) -> tuple[str, ...]:
        """The hashes of the previews to which this compression shortened results."""
        before = self.planned.messages
        return tuple(
            ref
            for message, origin in zip(self.view.messages, self.view.origins, strict=True)
            if origin is not None and message is not before[origin]
            for ref in previews_in(before[origin], message, archive)
        )

    def reasons(self) -> dict[int, str]:
        """The reason why each `gone` input message changed, by index."""
        reasons: dict[int, str] = {}
        for edit in self.view.edits:
            for place in range(edit.start, edit.stop):
                index = self.planned.origins[place]
                if index is not None:
                    why = edit.why.get(place)
                    reasons[index] = f"{edit.reason}: {why}" if why else edit.reason
        return {index: reasons.get(index, "repaired") for index in self.gone}

    def archive(self, repaired: Repaired, sent: Sequence[Message]) -> None:
        """Give refs to each message that is gone from the view, and to each long text in it.

        A short text gets one if the view names it all the same. A long argument of a call gets a
        ref if a call of the view names it; a store keeps it beside the messages, because it is only
        a part of a block.
        In a text protocol, a part of a text of the input belongs to no message, so that a store
        keeps it beside them. A text that a repair wrote gets a ref too if its block is not in the
        view, because the view may quote it.

        Args:
            repaired: the conversation after its repair, without the system prompt's summary.
            sent: the messages of the view as they are sent.
        """
        repaired_names = {call.id: call.name for m in repaired.messages for call in m.calls}
        named = self._named(sent)
        gone, names = {*self.gone}, dict(repaired_names)
        for index, message in enumerate(self.messages):
            names |= {call.id: call.name for call in message.calls}  # an id may occur twice
            if index not in gone:
                continue
            self.add(self.raw[index], Ref(f"message {index} ({message.role})", (index,)))
            self._add_arguments(message, named)
            came = written(message)
            for slot, text, what in self._with_ref(message, names, named):
                is_block = came is message or text_of_block(came, slot) == text
                self.add(text, Ref(what, (index,), slot) if is_block else Ref(what, ()))
        shown = {id(block) for message in sent for block in message.blocks}
        for message, origin in zip(repaired.messages, repaired.origins, strict=True):
            if origin is None or isinstance(message, Edited):
                self._add_arguments(message, named, ", repaired")
                for slot, text, what in self._with_ref(message, repaired_names, named):
                    if id(message.blocks[slot]) not in shown:
                        self.add(text, Ref(f"{what}, repaired", ()))

    def _add_arguments(self, message: Message, named: Set[str], how: str = "") -> None:
        """Give refs to the long arguments of a message's calls that the view names."""
        for call in message.calls if named else ():
            for name, text in arguments.named_texts_in(call):
                if self.ref_of(text) in named:
                    self.add(text, Ref(f"{name} of {call.name}{how}", ()))

    def _named(self, sent: Sequence[Message]) -> frozenset[str]:
        """The refs that messages of the view name and those of the input do not have to."""
        came = {*map(id, self.messages)}
        texts = (
            text
            for message in sent
            if id(message) not in came
            for block in message.blocks
            for text in _texts_of(block)
        )
        return frozenset(ref for text in texts for ref in NAMED_REF.findall(text))

    def _with_ref(
        self, message: Message, names: Mapping[str, str], named: Set[str]
    ) -> Iterator[tuple[int, str, str]]:
        """The texts of a message that get a ref: tool results, long texts, and those named.

        Args:
            message: the message.
            names: the names of the tools, by call id.
            named: the refs that the view names.

        Yields:
            The index of the block, its text, and a description: `(1, "…", "Bash result")`.
        """
        for slot, block in enumerate(message.blocks):
            if isinstance(block, ToolResult) and block.text:
                cut = cut_by_host(block.text)
                what = f"{names.get(block.call_id, 'tool')} result{f', {cut}' if cut else ''}"
                yield slot, block.text, what
            elif isinstance(block, Text) and (
                len(block.text) > TEXT_WITH_REF_CHARS
                or (named and self.ref_of(block.text) in named)
            ):
                yield slot, block.text, title_of(message, block.text)

    def add(self, original: Any, meaning: Ref) -> None:
        """Give a ref to an original; an original that already has a ref keeps its meaning."""
        ref = self.ref_of(original)
        self.refs.setdefault(ref, replace(meaning, sha256=self.ref_of.digest(ref)))
        self.originals.setdefault(ref, original)


def _texts_of(block: Block) -> Iterator[str]:
    """The texts in a block that a note or an edit may have written."""
    match block:
        case Text() | ToolResult():
            yield block.text
        case ToolCall():
            yield from strings_in(block.arguments)
        case _:
            pass


def text_of_block(message: Message, slot: int) -> str:
    """The text of a block of a message; `""` without such a block, or for one without a text."""
    block = message.blocks[slot] if slot < len(message.blocks) else None
    return block.text if isinstance(block, Text | ToolResult) else ""


def first_difference(before: Messages, after: Messages) -> int | None:
    """The index of the first message that is not the same object in both; `None` if all are."""
    for index, message in enumerate(after):
        if index >= len(before) or message is not before[index]:
            return index
    return len(after) if len(after) < len(before) else None


def layout(before: Messages, after: Messages) -> tuple[tuple[int, int] | dict[str, Any], ...]:
    """The view as ranges of input messages and new messages.

    `layout([a, b, c, d], [a, b, note, d])` -> `((0, 2), note, (3, 4))`. Messages are compared by
    identity.
    """
    position = {id(message): index for index, message in enumerate(before)}
    parts: list[tuple[int, int] | dict[str, Any]] = []
    for message in after:
        index = position.get(id(message))
        if index is None:
            parts.append(dict(message))
        elif parts and isinstance(parts[-1], tuple) and parts[-1][1] == index:
            parts[-1] = (parts[-1][0], index + 1)
        else:
            parts.append((index, index + 1))
    return tuple(parts)


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
        again: proposes the same edits once more, to record what competed; nothing for strategies
            that weigh no parts.
    """

    edits: Sequence[Edit]
    strategy: str
    steps: tuple[StrategyStep, ...]
    target: int | None = None
    floor: Floor | None = None
    missed: str = ""
    notes: tuple[str, ...] = ()
    again: Callable[[], Sequence[Edit]] = tuple


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
    lighter = replace(prepared.plan, archive=Archive(), cutter=Cutter(), previews={})
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
            Explainer, lighter, view, outcome.strategy, planned.origins,
            frozenset(accounting.gone), reasons, accounting.refs, outcome.again,
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


REASON = "compressed for an earlier request"


def continued(
    prepared: PreparedConversation,
    history: Sequence[Any],
    messages: Sequence[Any],
    origins: Sequence[int | None],
    strategy: str,
) -> Result:
    """The result of a view, compared with the conversation.

    Args:
        prepared: the conversation.
        history: the same messages after their repair, as the session got them.
        messages: the view.
        origins: for each message of the view the index in the history of the message that it is or
            stands for; `None` for one that a compression wrote.
        strategy: the strategy that made the view.
    """
    view = _view(prepared.planned.messages, history, messages, origins)
    if not view.edits:
        return unchanged(prepared, Target(prepared).nothing_to_do() or "")
    after = prepared.fixed_tokens + prepared.tokens_of(view)
    return changed(prepared, Outcome(view.edits, strategy, ()), view, after)


def _view(
    planned: Sequence[Message],
    history: Sequence[Any],
    messages: Sequence[Any],
    origins: Sequence[int | None],
) -> View:
    shown, edits = list[Message](), list[Edit]()
    new, stand_for = list[Message](), list[int | None]()
    at = 0

    def until(place: int) -> None:
        """End a span of messages that are not in the view as they came."""
        if place > at or new:
            edits.append(Edit(at, place, tuple(new), REASON, origins=tuple(stand_for)))
        new.clear()
        stand_for.clear()

    read = as_a_harness_wrote(parse(messages)).messages
    for message, value, origin in zip(messages, read, origins, strict=True):
        if origin is not None and message is history[origin]:
            until(origin)
            at = origin + 1
            shown.append(planned[origin])
        else:
            new.append(value)
            stand_for.append(origin)
            shown.append(value)
    until(len(planned))
    return View(tuple(shown), tuple(origins), tuple(edits))

"""`Accounting`: which messages a view keeps, edits or drops, and the refs of their originals."""

import re
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import replace
from typing import Any

from context_compression.compression.result import Ref
from context_compression.conversation import arguments
from context_compression.conversation.authors import title_of
from context_compression.conversation.messages import (
    Block,
    Edited,
    Message,
    Text,
    ToolCall,
    ToolResult,
    strings_in,
)
from context_compression.conversation.refs import REF, Refs
from context_compression.conversation.text_protocol import written
from context_compression.conversation.validity import Repaired
from context_compression.evidence.host_cuts import cut_by_host
from context_compression.planning.archive import Archive
from context_compression.planning.edits import View
from context_compression.planning.measured import TEXT_WITH_REF_CHARS
from context_compression.planning.selection import previews_in
from context_compression.tokens.usage import Messages

NAMED_REF = re.compile(rf"\bref ({REF})\b")


class Accounting:
    """Follows messages from the input into a view.

    Attributes:
        gone: the indices of the input messages that are not in the view unchanged.
        dropped: the indices of the `gone` messages that are not in the view in any form.
        refs: the meaning of each ref that `archive` and `add` gave to an original.
        originals: the originals by their ref.
    """

    def __init__(
        self,
        raw: Messages,
        messages: Sequence[Message],
        planned: Repaired,
        view: View,
        ref_of: Refs,
    ) -> None:
        """Compare the stages of a conversation.

        Args:
            raw: the input messages.
            messages: the same messages as values.
            planned: the same messages after their repair, as in the plan.
            view: the planned messages after edits.
            ref_of: gives refs to originals.
        """
        self._raw, self._messages, self._planned, self._view = raw, messages, planned, view
        self._ref_of = ref_of
        origins = planned.origins
        unedited = {*self._unedited()}
        shown = {origins[origin] for origin in view.origins if origin is not None}
        self.gone = [index for index in range(len(raw)) if index not in unedited]
        self.dropped = tuple(index for index in self.gone if index not in shown)
        self.refs: dict[str, Ref] = {}
        self.originals: dict[str, Any] = {}

    def _unedited(self) -> Iterator[int]:
        for message, origin in zip(self._view.messages, self._view.origins, strict=True):
            if origin is not None and not isinstance(message, Edited):
                index = self._planned.origins[origin]
                if index is not None and message is self._messages[index]:
                    yield index

    @property
    def gone_of_planned(self) -> set[int]:
        """Indices of the planned messages whose input message is `gone`."""
        gone = {*self.gone}
        return {place for place, origin in enumerate(self._planned.origins) if origin in gone}

    @property
    def refs_of_planned(self) -> dict[int, str]:
        """The ref of each planned message that was archived, by its place."""
        whole = {
            ref.indices[0]: name
            for name, ref in self.refs.items()
            if ref.block is None and len(ref.indices) == 1
        }
        places = enumerate(self._planned.origins)
        return {place: whole[index] for place, index in places if index in whole}

    def index_at(self, place: int) -> int:
        """The index of the first input message at or after a position in the planned messages."""
        following = (index for index in self._planned.origins[place:] if index is not None)
        return next(following, len(self._raw))

    def previews(self, archive: Archive) -> tuple[str, ...]:
        """The hashes of the previews to which this compression shortened results."""
        before = self._planned.messages
        return tuple(
            ref
            for message, origin in zip(self._view.messages, self._view.origins, strict=True)
            if origin is not None and message is not before[origin]
            for ref in previews_in(before[origin], message, archive)
        )

    def reasons(self) -> dict[int, str]:
        """The reason why each `gone` input message changed, by index."""
        reasons: dict[int, str] = {}
        for edit in self._view.edits:
            for place in range(edit.start, edit.stop):
                index = self._planned.origins[place]
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
        for index, message in enumerate(self._messages):
            names |= {call.id: call.name for call in message.calls}  # an id may occur twice
            if index not in gone:
                continue
            self.add(self._raw[index], Ref(f"message {index} ({message.role})", (index,)))
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
                if self._ref_of(text) in named:
                    self.add(text, Ref(f"{name} of {call.name}{how}", ()))

    def _named(self, sent: Sequence[Message]) -> frozenset[str]:
        """The refs that messages of the view name and those of the input do not have to."""
        came = {*map(id, self._messages)}
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
                or (named and self._ref_of(block.text) in named)
            ):
                yield slot, block.text, title_of(message, block.text)

    def add(self, original: Any, meaning: Ref) -> None:
        """Give a ref to an original; an original that already has a ref keeps its meaning."""
        ref = self._ref_of(original)
        self.refs.setdefault(ref, replace(meaning, sha256=self._ref_of.digest(ref)))
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

"""The pictures that stay in a view, and the payloads of tools that the provider ran itself.

A picture is shown unchanged or not at all. Pictures of anchored messages always stay. Pictures of
the user come before older pictures of tools, because a tool can make its picture again.

Results of tools that the provider ran itself: the payload is removed, the answer's text stays. A
call and its result in one message are removed together and replaced by one text. If they are in
several messages, with other calls between them, they are a tool step and stay unchanged.
"""

import re
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from math import inf
from typing import Any, NamedTuple

from context_compression.conversation.authors import is_our_note
from context_compression.conversation.messages import (
    COMPRESSED,
    Block,
    Image,
    Message,
    Opaque,
    Text,
    ToolCall,
    ToolResult,
    is_object,
    strings_in,
)
from context_compression.conversation.refs import REF
from context_compression.planning.plan import Plan
from context_compression.strategies import measured

MARK = re.compile(
    rf"(?:{re.escape(COMPRESSED)} )?"
    rf"\[(?:picture|[\d,]+ pictures|[^\n\]]{{1,200}}) left out(?:; ref {REF})?\]"
)
"""A text of this package in place of pictures, or of the result of a provider's tool. Next to texts
of the user or the model it begins with `COMPRESSED`."""


class Picture(NamedTuple):
    """A picture of a conversation.

    Attributes:
        message: the index of its message.
        block: the picture itself.
        tokens: its tokens.
        recent: whether its message is one of the newest.
    """

    message: int
    block: Image
    tokens: int
    recent: bool


class Pictures:
    """The pictures of a plan that a view may leave out.

    Attributes:
        in_order: all these pictures: those of the newest messages, then the user's, then the
            others; within each group the newest come first.
    """

    def __init__(self, plan: Plan, ref_of: Callable[[int], str]) -> None:
        """The pictures of a plan, except those of anchored messages.

        Args:
            plan: the plan of the conversation.
            ref_of: takes the index of a message and returns its ref, `""` if it has none.
        """
        self._ref_of, self._count = ref_of, plan.counter.text
        self._one_text = plan.rules.one_text
        self._images = {
            index: images
            for index, message in enumerate(plan.messages)
            if (images := images_in(message)) and index not in plan.anchored
        }
        recent = len(plan.messages) - plan.settings.min_recent_messages
        newest_first = [
            Picture(index, image, plan.counter.block(image), index >= recent)
            for index in reversed(self._images)
            for image in reversed(self._images[index])
        ]
        self._tokens = {id(picture.block): picture.tokens for picture in newest_first}
        of_user = {i for i in self._images if plan.messages[i].starts_turn}
        self.in_order = sorted(
            newest_first, key=lambda picture: (not picture.recent, picture.message not in of_user)
        )

    def missing(self, index: int, shown: Message) -> int:
        """How many pictures of a message are missing where it is shown."""
        return len(self._images[index]) - len(images_in(shown)) if index in self._images else 0

    def left_out(
        self, view: Mapping[int, Message], may: Callable[[int], bool], stay: Container[int]
    ) -> dict[int, Message]:
        """The messages of a view that may lose pictures, by index, without those not in `stay`.

        Args:
            view: messages in any form, with all of their pictures.
            may: takes the index of a message and returns whether its pictures may be left out.
            stay: the Python ids of the picture blocks that are shown.
        """
        return {
            index: self._marked_message(view[index], index, stay)
            for index in self._images
            if index in view and may(index)
        }

    def _marked_message(self, message: Message, index: int, stay: Container[int]) -> Message:
        """A message with marks for pictures, none of which is before the first spoken text.

        The first text of a message shows whether it is a note of this package.
        """
        ref = self._ref_of(index)
        blocks = [
            self._marked_result(block, ref, stay) if isinstance(block, ToolResult) else block
            for block in self._marked(message.blocks, own_mark_of, ref, stay)
        ]
        spoken = (isinstance(block, Text) and not is_our_note(block.text) for block in blocks)
        first = next((at for at, is_spoken in enumerate(spoken) if is_spoken), 0)
        blocks[: first + 1] = sorted(blocks[: first + 1], key=is_mark)
        kept = tuple(blocks)
        return message if kept == message.blocks else message.with_blocks(kept)

    def _marked_result(self, result: ToolResult, ref: str, stay: Container[int]) -> ToolResult:
        """A result with marks for pictures; one text if the provider takes only one."""
        made = replace(result, content=tuple(self._marked(result.content, mark_of, ref, stay)))
        texts = sum(isinstance(block, Text) for block in made.content)
        return made.with_text(made.text) if self._one_text and texts > 1 else made

    def _marked(
        self,
        blocks: Sequence[Block],
        mark_of: Callable[[int, str], str],
        ref: str,
        stay: Container[int],
    ) -> Iterator[Block]:
        """The blocks, with one mark for neighbouring pictures not in `stay` if it costs less."""
        for leaves, group in groupby(
            blocks, lambda block: isinstance(block, Image) and id(block) not in stay
        ):
            run = [*group]
            mark = mark_of(len(run), ref)
            if leaves and self._count(mark) < sum(self._tokens[id(block)] for block in run):
                yield Text(mark)
            else:
                yield from run


class Showing:
    """The pictures that a view shows, of those that it may show."""

    def __init__(self, pictures: Iterable[Picture] = ()) -> None:
        """No picture is shown yet.

        Args:
            pictures: the pictures that may be shown, in the order in which they are taken.
        """
        self._others = [*pictures]
        self.shown: list[Picture] = []

    @property
    def tokens(self) -> int:
        """The tokens of the shown pictures."""
        return sum(picture.tokens for picture in self.shown)

    @property
    def ids(self) -> Container[int]:
        """The Python ids of the shown pictures' blocks."""
        return {id(picture.block) for picture in self.shown}

    def take(self, room: float, *, recent: bool = False, most: float = inf) -> bool:
        """Show more pictures as far as there is room; returns whether any was added.

        Args:
            room: the tokens that they may take.
            recent: whether only pictures of the newest messages are added.
            most: how many pictures are added at most.
        """
        before = len(self.shown)
        others: list[Picture] = []
        for picture in self._others:
            # it may be between two pictures that shared a mark
            price = picture.tokens + measured.GAP_MARK_TOKENS
            fits = price <= room and len(self.shown) - before < most
            if fits and (picture.recent or not recent):
                room -= picture.tokens
                self.shown.append(picture)
            else:
                others.append(picture)
        self._others = others
        return len(self.shown) > before

    def give_back(self) -> None:
        """Remove the last picture; no other picture can be added afterwards, to avoid a loop."""
        self.shown.pop()
        self._others = []


def images_in(message: Message) -> Sequence[Image]:
    """The pictures of a message, in order, including those in tool results."""
    images: list[Image] = []
    for block in message.blocks:
        if isinstance(block, Image):
            images.append(block)
        elif isinstance(block, ToolResult):
            images += (part for part in block.content if isinstance(part, Image))
    return images


def mark_of(count: int, ref: str) -> str:
    """The mark in place of pictures.

    `[picture left out; ref c3f91a20b77d]`, `[3 pictures left out]`
    """
    what = "picture" if count == 1 else f"{count:,} pictures"
    return f"[{what} left out{f'; ref {ref}' if ref else ''}]"


def own_mark_of(count: int, ref: str) -> str:
    """The mark next to texts of the user or the model, which shows that neither wrote it."""
    return f"{COMPRESSED} {mark_of(count, ref)}"


def is_mark(block: Block) -> bool:
    """Whether a text, or every part of a tool result, is a mark in place of removed content."""
    if isinstance(block, ToolResult):
        return bool(block.content) and all(map(is_mark, block.content))
    return isinstance(block, Text) and MARK.fullmatch(block.text) is not None


def without_payloads(message: Message, ref: str, count: Callable[[Block], int]) -> Message:
    """A message without the payload of the provider's own tools; the same object if it has none.

    Args:
        message: an assistant message.
        ref: the ref of the message; `""` if it has none.
        count: returns the tokens of a block.
    """
    marks: list[Text] = []
    gone: set[str] = set()
    for unit, blocks in units_in(message).items():
        mark = Text(mark_of_call(blocks[0], ref))
        if count(mark) < sum(map(count, blocks)):
            gone.add(unit)
            marks.append(mark)
    if not gone:
        return message
    left = [b for b in message.blocks if not (isinstance(b, Opaque) and b.unit and b.unit in gone)]
    return message.with_blocks((*left, *marks))


def units_in(message: Message) -> Mapping[str, Sequence[Opaque]]:
    """The blocks of each unit that is complete in one message and that no other block needs."""
    if message.role != "assistant":
        return {}
    units: dict[str, list[Opaque]] = {}
    for block in message.blocks:
        if isinstance(block, Opaque) and block.unit:
            units.setdefault(block.unit, []).append(block)
    needed = {block.unit for block in message.blocks if isinstance(block, ToolCall)}
    return {
        unit: blocks
        for unit, blocks in units.items()
        if len(blocks) > 1
        and blocks[0].opens
        and unit not in needed
        and not any(block.declares for block in blocks)
    }


def mark_of_call(call: Opaque, ref: str) -> str:
    """The mark in place of a call and its result.

    `[Compressed History] [web_search: lexer release left out; ref c3f9…]`
    """
    source: Any = call.source if is_object(call.source) else {}
    name = str(source.get("name") or source.get("toolName") or "a tool of the provider's")
    query = " ".join(" ".join(strings_in(source.get("input"))).split()).replace("]", ")")
    shown = f": {query[: measured.PAYLOAD_QUERY_CHARS]}" if query else ""
    return f"{COMPRESSED} [{name}{shown} left out{f'; ref {ref}' if ref else ''}]"

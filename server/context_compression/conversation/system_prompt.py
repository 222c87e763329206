"""Summaries in the system prompt, for dialects whose system prompt is outside the messages.

A summary is between two marks, at the end of the prompt or in place of an earlier summary. The rest
of the prompt is unchanged, including the `cache_control` of a block.
"""

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any

from context_compression.conversation.messages import COMPRESSED, Message, is_array, is_object, user
from context_compression.conversation.validity import Repaired

MARK = f"{COMPRESSED} Summary"
"""The beginning of every summary in a system prompt."""
END = f"[End of {COMPRESSED[1:]}"
SUMMARY = re.compile(
    rf"(?:\A|\n\n){re.escape(MARK)}(?:(?!\n\n{re.escape(MARK)}).)*{re.escape(END)}", re.S
)
"""A summary from its mark to its end; a mark that is mentioned before it is not part of it."""
NOTE = user(f"{COMPRESSED} What came before is summarised in the system prompt.")
"""Replaces a summary that moved to the system prompt, if messages around it must stay separate."""
ROOM = user(f"{NOTE.text}\n\n\n\n{END}")
"""Takes at least the tokens that a summary needs in a system prompt in addition to those it needs
as a message."""


@dataclass(frozen=True)
class SystemPrompt:
    """A system prompt, and the position of its summary among the messages of a plan.

    In a plan the summary is a user message, so that every strategy treats it alike: as the earlier
    summary, which is updated, kept or dropped.

    Attributes:
        given: the prompt that the caller passed.
        at: the index of the summary among the messages of the plan; `None` if there is none.
    """

    given: Any = None
    at: int | None = None

    @property
    def bare(self) -> Any:
        """The prompt without a summary."""
        return with_summary(self.given, "")

    def placed(
        self, messages: Sequence[Message], origins: Sequence[int | None], new: Message | None
    ) -> tuple[list[Message], Any]:
        """The messages of a view and its system prompt, as they are sent.

        Args:
            messages: the messages of the view.
            origins: for each message its index in the plan; `None` for a new message.
            new: a new summary, which moves to the system prompt; `None` if there is none.
        """
        moved = [
            index
            for index, message in enumerate(messages)
            if message is new
            or (self.at is not None and origins[index] == self.at and message.text.startswith(MARK))
        ]
        if not moved and self.at is None:
            return list(messages), self.given
        summary = "\n\n".join(messages[index].text for index in moved)
        return without(messages, moved), with_summary(self.given, summary)


def carried(repaired: Repaired, system: Any) -> tuple[Repaired, SystemPrompt]:
    """A conversation with the summary of its system prompt as a user message, and the prompt.

    The message comes after the leading system messages. Its origin is `None`.
    """
    summary = summary_in(system)
    if not summary:
        return repaired, SystemPrompt(system)
    messages, origins = repaired.messages, repaired.origins
    leading = (i for i, m in enumerate(messages) if m.role not in ("system", "developer"))
    at = next(leading, len(messages))
    together = replace(
        repaired,
        messages=(*messages[:at], user(summary), *messages[at:]),
        origins=(*origins[:at], None, *origins[at:]),
    )
    return together, SystemPrompt(system, at)


def summary_in(system: Any) -> str:
    """The summary in a system prompt, `""` if there is none."""
    if isinstance(system, str):
        match = SUMMARY.search(system)
        return _bare(match[0]) if match else ""
    at = _place(system)
    return "" if at is None else _bare(system[at]["text"])


def with_summary(system: Any, summary: str) -> Any:
    """The system prompt with this summary in place of any earlier one.

    `with_summary("Be brief.", "")` -> `"Be brief."`, the same object. A text that would be empty
    becomes `None`; text blocks stay a list, even if it is empty.

    Args:
        system: a text, text blocks, or nothing.
        summary: a text that begins with `MARK`, or `""` to remove the earlier summary.
    """
    if summary_in(system) == summary:
        return system
    text = f"{summary}\n\n{END}" if summary else ""
    if system and not isinstance(system, str):
        return _among(system, text)
    before, after = system or "", ""
    if match := SUMMARY.search(before):
        before, after = before[: match.start()], before[match.end() :]
    parts = [part for part in (before, text) if part]
    return "\n\n".join(parts) + after or None


def _among(blocks: Sequence[Any], text: str) -> list[Any]:
    """The text blocks with the block of the summary changed, added or removed."""
    at = _place(blocks)
    start, stop = (len(blocks), len(blocks)) if at is None else (at, at + 1)
    pattern = {"type": "text"} if at is None else blocks[at]
    return [*blocks[:start], *([{**pattern, "text": text}] if text else []), *blocks[stop:]]


def _place(system: Any) -> int | None:
    """The index of the block with the summary; `None` if there is none."""
    for at, block in enumerate(system if is_array(system) else ()):
        if is_object(block) and str(block.get("text", "")).startswith(MARK):
            return at
    return None


def _bare(text: str) -> str:
    return text.strip().removesuffix(END).rstrip()


def without(messages: Sequence[Message], moved: Collection[int]) -> list[Message]:
    """The messages without those that moved to the system prompt, still valid.

    A note replaces a message that moved if the assistant comes next and no message of the user is
    directly before it. The first message must be the user's, and turns must stay separate.
    """
    kept: list[Message] = []
    for index, message in enumerate(messages):
        if index not in moved:
            kept.append(message)
            continue
        goes_on = index + 1 < len(messages) and messages[index + 1].role == "assistant"
        if goes_on and not (kept and kept[-1].starts_turn):
            kept.append(NOTE)
    return kept

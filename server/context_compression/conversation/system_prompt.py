"""A summary in the system prompt, for dialects that have no system message among the others.

It stands at the end of the prompt, or where an earlier one stood, between two marks of its own. All
else in the prompt, a block's `cache_control` too, stays as it is.
"""

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any

from context_compression.conversation.messages import COMPRESSED, Message, is_array, is_object, user
from context_compression.conversation.validity import Repaired

MARK = f"{COMPRESSED} Summary"
"""How every summary of ours begins."""
END = f"[End of {COMPRESSED[1:]}"
OURS = re.compile(
    rf"(?:\A|\n\n){re.escape(MARK)}(?:(?!\n\n{re.escape(MARK)}).)*{re.escape(END)}", re.S
)
"""From its mark to its end; what only speaks of the mark before it is not ours."""
NOTE = user(f"{COMPRESSED} What came before is summarised in the system prompt.")
"""Stands where a summary that left the messages kept roles, or tool loops, apart."""
ROOM = user(f"{NOTE.text}\n\n\n\n{END}")
"""Costs at least as much as a summary costs more in a system prompt than as a message."""


@dataclass(frozen=True)
class SystemPrompt:
    """A system prompt, and the part that a summary in it has in a plan.

    While it is planned, a summary stands among the messages as one of the user's, so that every
    strategy treats it alike: as the earlier one that is updated, kept or dropped.

    Attributes:
        given: as it came.
        at: where the summary in it stands among the messages; `None` where there is none.
    """

    given: Any = None
    at: int | None = None

    @property
    def bare(self) -> Any:
        """Without a summary of ours."""
        return with_summary(self.given, "")

    def placed(
        self, messages: Sequence[Message], origins: Sequence[int | None], new: Message | None
    ) -> tuple[list[Message], Any]:
        """A view's messages and its system prompt, as they are sent.

        Args:
            messages: of the view.
            origins: which message of the plan each of them was.
            new: a summary that goes to the system prompt.
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


def carried(mended: Repaired, system: Any) -> tuple[Repaired, SystemPrompt]:
    """The messages of a plan: with a summary in the system prompt as the first after the head."""
    summary = summary_in(system)
    if not summary:
        return mended, SystemPrompt(system)
    messages, origins = mended.messages, mended.origins
    leading = (i for i, m in enumerate(messages) if m.role not in ("system", "developer"))
    at = next(leading, len(messages))
    together = replace(
        mended,
        messages=(*messages[:at], user(summary), *messages[at:]),
        origins=(*origins[:at], None, *origins[at:]),
    )
    return together, SystemPrompt(system, at)


def summary_in(system: Any) -> str:
    """The summary of ours in a system prompt, `""` where there is none."""
    if isinstance(system, str):
        found = OURS.search(system)
        return _bare(found[0]) if found else ""
    at = _place(system)
    return "" if at is None else _bare(system[at]["text"])


def with_summary(system: Any, summary: str) -> Any:
    """The system prompt with this summary in the place of any earlier one; `""` takes it out.

    `with_summary("Be brief.", "")` -> `"Be brief."`, the very object.

    Args:
        system: a text, text blocks, or nothing.
        summary: begins with `MARK`.
    """
    if summary_in(system) == summary:
        return system
    text = f"{summary}\n\n{END}" if summary else ""
    if system and not isinstance(system, str):
        return _among(system, text)
    before, after = system or "", ""
    if found := OURS.search(before):
        before, after = before[: found.start()], before[found.end() :]
    parts = [part for part in (before, text) if part]
    return "\n\n".join(parts) + after or None


def _among(blocks: Sequence[Any], text: str) -> list[Any]:
    """Text blocks with ours changed, added or taken out."""
    at = _place(blocks)
    start, stop = (len(blocks), len(blocks)) if at is None else (at, at + 1)
    pattern = {"type": "text"} if at is None else blocks[at]
    return [*blocks[:start], *([{**pattern, "text": text}] if text else []), *blocks[stop:]]


def _place(system: Any) -> int | None:
    """Which of the blocks is ours."""
    for at, block in enumerate(system if is_array(system) else ()):
        if is_object(block) and str(block.get("text", "")).startswith(MARK):
            return at
    return None


def _bare(text: str) -> str:
    return text.strip().removesuffix(END).rstrip()


def without(messages: Sequence[Message], moved: Collection[int]) -> list[Message]:
    """The messages but those that moved to the system prompt, valid as they were before.

    Where the model goes on after one that moved, a note takes its place: the first message has to
    be the user's, and a turn must not run into the next one.
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

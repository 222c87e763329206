"""What later work refers back to, found by code: paths, symbols, commands, errors, ids, decisions.

Which words are evidence, `words` tells.
"""

import re
from collections.abc import Iterable, Iterator
from typing import Literal, TypeAlias

from context_compression.messages import (
    COMPRESSED,
    STRANGER,
    Message,
    Text,
    ToolCall,
    is_object,
    strings_in,
    texts_of,
)
from context_compression.words import Lexicon

Class: TypeAlias = Literal[
    "paths", "commands", "numbers", "errors", "decisions", "constraints", "user requests"
]

CLASSES: tuple[Class, ...] = (
    "paths", "commands", "numbers", "errors", "decisions", "constraints", "user requests",
)  # fmt: skip
"""What the loss report counts."""

ERROR_WORDS = (
    "error", "exception", "traceback", "failed", "failure", "fatal", "panic", "denied", "not found",
    "cannot ", "no such", "undefined", "unexpected", "错误", "失败", "异常",
)  # fmt: skip
DECISION = re.compile(
    r"\b(?:decided?|decision|because|instead of|rather than|chose|going with|root cause|turns out"
    r"|the (?:fix|reason|problem|issue) (?:is|was))\b|决定|因为|选择|改用|原因",
    re.IGNORECASE,
)
CONSTRAINT = re.compile(
    r"\b(?:must(?:n't)?|never|always|do not|don't|only|should(?:n't)?|make sure|ensure|avoid"
    r"|prefer|no longer|require[sd]?|at (?:most|least))\b"
    r"|不要|必须|禁止|务必|只能|不能|始终|不得|避免|确保",
    re.IGNORECASE,
)
SENTENCE = re.compile(r"(?<=[.!?。！？])\s+|(?<=[。！？])|\n+")
HOST_NOTES = (
    "<system-reminder", "<command-", "<local-command", "Caveat:", "[Request interrupted",
    "<task-notification",  # Claude Code
    "<permissions instructions", "# AGENTS.md instructions for", "<environment_context",
    "<user_instructions", "<model_switch", "<turn_aborted", "<subagent_notification",  # Codex
    "<system_notification",  # Copilot CLI
    "<hook_context", "<session_context",  # Gemini CLI
)  # fmt: skip
"""How hosts begin what they put into the user's role themselves (seen in their transcripts)."""
SKILLS = ("Base directory for this skill:", "<skill>")
"""How hosts begin the text of a skill they load into the user's role."""
ARGUMENTS = re.compile(r"<command-args>(.+?)</command-args>", re.DOTALL)
"""What the user typed behind a slash command, inside the host's note of it."""
EXIT_STATUS = re.compile(
    r"""(?:exit(?:ed with)?[ _]?(?:code|status)|returncode)["'\s:=]{1,3}(-?\d+)|\bexit: (\d+)"""
)
"""Looked for in lower-case text."""
COMMAND_KEYS = ("command", "cmd", "script")
LONGEST_LINE = 400
PART_CHARS = 16_384


def lines_with(text: str, needles: Iterable[str]) -> Iterator[tuple[int, int]]:
    """`(start, stop)` of every line that holds one of the lower-case needles, in order."""
    start = 0
    while start < len(text):  # part by part: a lowered copy of a long text would fill the memory
        stop = text.find("\n", start + PART_CHARS)
        stop = len(text) if stop < 0 else stop
        yield from sorted(_lines_with(text, needles, start, stop))
        start = stop + 1


def _lines_with(text: str, needles: Iterable[str], start: int, stop: int) -> set[tuple[int, int]]:
    part = text[start:stop].lower()
    if len(part) != stop - start:  # a few letters grow when lowered, and offsets would be off
        part = text[start:stop]
    spans: set[tuple[int, int]] = set()
    for needle in needles:
        at = part.find(needle)
        while at >= 0:
            end = part.find("\n", at)
            end = len(part) if end < 0 else end
            spans.add((start + part.rfind("\n", 0, at) + 1, start + end))
            at = part.find(needle, end)
    return spans


def error_lines(text: str) -> list[str]:
    """The lines that tell of a failure, stripped, those too long to be a message clipped."""
    return [text[a:b].strip()[:LONGEST_LINE] for a, b in lines_with(text, ERROR_WORDS)]


def sentences(text: str) -> list[str]:
    """The sentences and lines of a text, stripped, empty ones left out."""
    return [part for raw in SENTENCE.split(text) if (part := raw.strip())]


def exit_status(text: str) -> str | None:
    """The exit status a tool output tells in its first or last 300 characters."""
    for end in (text[:300].lower(), text[-300:].lower()):
        if ("exit" in end or "returncode" in end) and (found := EXIT_STATUS.search(end)):
            return found[1] or found[2]
    return None


def is_note(text: str) -> bool:
    """Whether a text in the user's role was put there by the host, or by us."""
    return text.lstrip().startswith((COMPRESSED, STRANGER)) or is_host_note(text)


def is_host_note(text: str) -> bool:
    """Whether a text in the user's role was put there by the host."""
    return text.lstrip().startswith((*HOST_NOTES, *SKILLS))


def is_skill(text: str) -> bool:
    """Whether a text in the user's role is a skill that the host loaded: it goes on to apply."""
    return text.lstrip().startswith(SKILLS)


def user_words(message: Message) -> str:
    """What the user said in a message, without what the host or we put there."""
    if message.role != "user":
        return ""
    return "\n".join(
        said
        for block in message.blocks
        if isinstance(block, Text)
        for said in (ARGUMENTS.findall(block.text) if is_note(block.text) else [block.text])
    )


def constraints(text: str) -> list[str]:
    """The sentences in which the user says what must, must not or should always be."""
    return [s for s in sentences(text) if CONSTRAINT.search(s) and len(s) <= LONGEST_LINE]


def decisions(text: str) -> list[str]:
    """The sentences that say what was decided or why."""
    return [s for s in sentences(text) if DECISION.search(s) and len(s) <= LONGEST_LINE]


def commands(message: Message) -> Iterator[str]:
    """The shell commands a message runs: the command arguments of its tool calls."""
    for call in message.calls:
        yield from commands_of(call)


def commands_of(call: ToolCall) -> Iterator[str]:
    """The shell commands of one call, whatever the tool is called."""
    if not is_object(call.arguments):
        return
    for key in COMMAND_KEYS:
        value = call.arguments.get(key)
        if isinstance(value, str):
            yield value
        elif value:
            yield " ".join(strings_in(value))


Facts: TypeAlias = dict[Class, set[str]]


def facts(message: Message, lexicon: Lexicon) -> Facts:
    """The evidence of a message by the classes of the loss report."""
    found: Facts = {name: set() for name in CLASSES}
    for block in message.blocks:
        for text in texts_of(block):
            for word, kind in lexicon.words(text):
                if kind in ("path", "url"):
                    found["paths"].add(word)
                elif kind == "number":
                    found["numbers"].add(word)
    for result in message.results:
        found["errors"].update(error_lines(result.text))
    found["commands"].update(commands(message))
    said = user_words(message)
    if said.strip():
        found["user requests"].add(said.strip())
        found["constraints"].update(constraints(said))
    if message.role in ("user", "assistant"):
        found["decisions"].update(decisions(message.text))
    return found

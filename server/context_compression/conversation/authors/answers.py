"""The user's words in tool results: answers to questions, and remarks on stopped calls."""

import re
from collections.abc import Container, Iterable

from context_compression.conversation.messages import Message, ToolResult

ANSWER = re.compile(
    r"\s*(?:The user (?:doesn't want to proceed with this tool use\.[^\n]{,400}?the user said"
    r"|rejected permission to use this specific tool call with the following feedback"
    r"|(?:denied|approved) this operation and provided the following (?:feedback|context)):\s+"
    r"|(?=(?:User has answered your questions|Your questions have been answered"
    r"|The user answered):))"
)
"""The beginning of a result with words of the user (Claude Code, opencode, Cline). After it, the
user says what to do instead of a stopped call, or answers questions."""
FEEDBACK = ("<feedback>", "</feedback>")
"""These tags enclose the user's words where a tool's output may follow them (Cline)."""
QUESTION_TOOL = re.compile(
    r"(?<![a-z])ask_?(?:user|human|follow)|\Aquestion\Z|user_?input", re.IGNORECASE
)
"""Names of tools with which the model asks the user."""


def answer_in(text: str) -> tuple[int, int] | None:
    """`(start, stop)` of the user's words in the text of a result; `None` if there are none.

    They are recognised by the wording before them.
    """
    beginning = ANSWER.match(text)
    if not beginning:
        return None
    start, (opening, closing) = beginning.end(), FEEDBACK
    if text.startswith(opening, start):
        start += len(opening)
        stop = text.find(closing, start)
        return start, len(text) if stop < 0 else stop
    return start, len(text)


def all_of_answer(text: str) -> int | None:
    """The start of the user's words in a result if nothing follows them, else `None`."""
    answer = answer_in(text)
    if not answer or text[answer[1] :].removeprefix(FEEDBACK[1]).strip():
        return None
    return answer[0]


def answer_of(result: ToolResult) -> str:
    """The user's words in a result, recognised by its wording, which any tool can print."""
    span = answer_in(result.text)
    return result.text[slice(*span)] if span else ""


def question_calls(messages: Iterable[Message]) -> frozenset[str]:
    """The ids of the calls with which the model asks the user."""
    return frozenset(
        c.id for message in messages for c in message.calls if QUESTION_TOOL.search(c.name)
    )


def is_answer(result: ToolResult, question_ids: Container[str]) -> bool:
    """Whether a result certainly holds words of the user.

    Hosts report a call that the user stopped as an error, and only the user answers a question. Any
    other tool may print a text of the same wording, even that of an approval with a remark.

    Args:
        result: a tool result.
        question_ids: the ids of the calls that ask the user, from `question_calls`.
    """
    return (result.is_error or result.call_id in question_ids) and bool(answer_of(result).strip())

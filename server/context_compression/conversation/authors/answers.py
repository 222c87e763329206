"""The user's words in the results of tools: answers to questions, and remarks on stopped calls."""

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
"""The beginning of a result in which the user speaks (Claude Code, opencode, Cline): a user who
stopped a call says what to do instead, behind these words; or questions are answered."""
FEEDBACK = ("<feedback>", "</feedback>")
"""The user's words are between these where a tool's output may follow them (Cline)."""
QUESTION_TOOL = re.compile(
    r"(?<![a-z])ask_?(?:user|human|follow)|\Aquestion\Z|user_?input", re.IGNORECASE
)
"""Names of tools by which the model asks the user."""


def answer_in(text: str) -> tuple[int, int] | None:
    """`(start, stop)` of the user's words in the text of a result, judged by its wording.

    `None` if there are none.
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
    """The start of the user's words in a result that holds nothing behind them; else `None`."""
    answer = answer_in(text)
    if not answer or text[answer[1] :].removeprefix(FEEDBACK[1]).strip():
        return None
    return answer[0]


def answer_of(result: ToolResult) -> str:
    """The user's words in a result, judged by its wording: any tool can print such a text."""
    span = answer_in(result.text)
    return result.text[slice(*span)] if span else ""


def question_calls(messages: Iterable[Message]) -> frozenset[str]:
    """The ids of the calls by which the model asks the user."""
    return frozenset(
        c.id for message in messages for c in message.calls if QUESTION_TOOL.search(c.name)
    )


def is_answer(result: ToolResult, question_ids: Container[str]) -> bool:
    """Whether the user certainly speaks in a result.

    Hosts report a call that the user stopped as an error, and only the user answers a question. Any
    other tool may print a text of the same wording, even that of an approval with a remark.

    Args:
        result: of a tool.
        question_ids: the ids of the calls that ask the user, as `question_calls` gives them.
    """
    return (result.is_error or result.call_id in question_ids) and bool(answer_of(result).strip())

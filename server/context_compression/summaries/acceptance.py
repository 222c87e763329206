"""Whether an answer is a summary: a refusal, an error text, a call or an echo is none.

An answer is measured by what its instructions ask for. Where they have sections, it has headings,
too, of whatever names and in whatever language: weak models translate and rename them.
"""

import re

HEADING = re.compile(
    r"^[ \t]{0,3}(?:#{1,6}[ \t]*\S|(?:\d{1,2}[.)][ \t]+)?\*\*[^*\n]{1,80}\*\*:?[ \t]*$"
    r"|\*\*[^*\n]{1,80}(?::\*\*|\*\*:)|(?:\d{1,2}[.)][ \t]+)?[^\W\d_][^\n:：#`{}]{0,40}[:：][ \t]*$"
    r"|[^\n]{1,80}\n(?:={3,}|-{3,})[ \t]*$)",
    re.MULTILINE,
)
"""A heading: `## Goal`, `**Goal**`, `Goal:` alone on its line, or an underlined line."""
ERROR = re.compile(
    r"\W{0,4}(?:(?:api |http |internal |server )?error\b|traceback\b|exception\b|rate.?limit"
    r"|too many requests|(?:http )?[45]\d\d\b|service unavailable|\{\"error\")",
    re.IGNORECASE,
)
"""The beginning of the text of an error."""
CALL = re.compile(
    r"\s*(?:```(?:json|xml)?\s*)?(?:<(?:tool_call|function_call|function|invoke|tool_use)\b"
    r"|<\|?(?:tool|python)|\[TOOL_CALLS?\]|\{\s*\"(?:tool_calls?|name|function|action|tool)\")",
    re.IGNORECASE,
)
"""The beginning of a call that was written as a text."""
ECHO = 0.5
"""The share of an answer's text from which on it counts as an echo of the instructions."""
LEAST_LINE = 12
"""A line of fewer characters may stand in any text."""
FEWEST_LETTERS = 6
"""The fewest letters beneath the headings of a summary."""


def why_no_summary(text: str, instructions: str) -> str | None:
    """Why an answer is not a summary; `None` if it is one.

    Args:
        text: the answer, stripped.
        instructions: what the prompt asks for, without the record.
    """
    begins = f'it begins "{" ".join(text[:80].split())}"'
    if CALL.match(text):
        return f"it is a tool call as text; {begins}"
    if HEADING.search(instructions) and not HEADING.search(text):
        what = "the text of an error" if ERROR.match(text) else "without any section"
        return f"it is {what}; {begins}"
    if ERROR.match(text) and "\n" not in text:
        return f"it is the text of an error; {begins}"
    if _is_echo(text, instructions):
        return f"it repeats the instructions; {begins}"
    body = HEADING.sub("", text)
    if sum(map(str.isalpha, body)) < FEWEST_LETTERS and sum(map(str.isalpha, text)) < LEAST_LINE:
        return f"it says nothing; {begins}"
    return None


def _is_echo(text: str, instructions: str) -> bool:
    """Whether most of a text, without its headings, is lines of the instructions."""
    asked = {" ".join(line.split()) for line in instructions.split("\n")}
    lines = [" ".join(line.split()) for line in text.split("\n")]
    lines = [line for line in lines if len(line) >= LEAST_LINE and not HEADING.match(line)]
    total = sum(map(len, lines))
    return total > 0 and sum(len(line) for line in lines if line in asked) >= ECHO * total

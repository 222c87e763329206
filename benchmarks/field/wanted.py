"""What must still be in a view: the task, how the last test run ended, what was reverted."""

import re
from collections.abc import Iterator

from estimate import block_text
from recordings import Message, Messages

from field.words import sentences, spaced

LONG_SENTENCE = 25  # characters, from which a sentence of a task is worth keeping
OUTCOME_START, NEWEST_START = 120, 110  # characters by which a line is known again

_TASK = re.compile(r"<pr_description>(.*?)</pr_description>", re.DOTALL)
_OUTCOME = re.compile(
    r"^.*(?:\b\d+ (?:passed|failed)\b|FAILED \((?:failures|errors)|Ran \d+ tests).*$"
    r"|^.*tests finished:.*$"
    r"|^OK\b.*$",
    re.MULTILINE,
)
_REVERT = re.compile(r"git (?:checkout|restore|stash|reset|revert)\b[^\n&]*")


def task_sentences(messages: Messages) -> list[str]:
    """The sentences of the task in the first message, between its tags if it has some."""
    text = block_text(messages[0]["content"][0])
    tagged = _TASK.search(text)
    found = sentences(tagged.group(1)) if tagged else []
    return [spaced(each) for each in found if len(each.strip()) > LONG_SENTENCE]


def last_outcome(messages: Messages) -> str | None:
    """The beginning of the line in which the last test run says how it ended."""
    ends = [end for message in messages for end in outcomes(message)]
    return spaced(ends[-1])[:OUTCOME_START] if ends else None


def outcomes(message: Message) -> Iterator[str]:
    """The last line with an outcome of each result in a message."""
    for block in message["content"]:
        if block["type"] == "tool_result":
            lines = [match.group() for match in _OUTCOME.finditer(block_text(block))]
            yield from lines[-1:]


def last_revert(messages: Messages) -> str | None:
    """The last command that took changes back, up to the end of its part of the command line."""
    commands = [
        str(block["input"].get("command", ""))
        for message in messages
        for block in message["content"]
        if block["type"] == "tool_use"
    ]
    found = [revert for command in commands for revert in _REVERT.findall(command)]
    return spaced(found[-1]) if found else None

"""Facts in texts and messages: commands, error lines, exit statuses, test counts, decisions.

`facts` sorts the evidence of a message by the classes that the loss report counts.
"""

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from importlib.resources import files
from itertools import chain
from typing import Literal, TypeAlias, get_args

from context_compression.conversation.authors import words_of_user
from context_compression.conversation.messages import (
    Message,
    Text,
    ToolCall,
    ToolResult,
    is_object,
    strings_in,
    texts_of,
)
from context_compression.evidence.constraints import constraints_in
from context_compression.evidence.outcome_words import (
    FAILING,
    OutcomeWords,
    begins_with_error,
    counted,
    english_decisions,
    exit_status_named,
    hints,
    lines_beyond_ascii,
    may_tell,
    names_words,
    outcomes,
)
from context_compression.evidence.redaction import beginning
from context_compression.evidence.rule_words import folded, scripts_in
from context_compression.evidence.sentences import LONGEST_LINE, sentence_spans
from context_compression.evidence.words import Lexicon, is_prose

Class: TypeAlias = Literal[
    "paths", "commands", "numbers", "errors", "decisions", "constraints", "user requests"
]
CLASSES: tuple[Class, ...] = get_args(Class)
"""The classes of evidence that the loss report counts."""
ERROR_WORDS = (
    "error", "exception", "traceback", "failed", "failure", "fatal", "panic", "denied", "not found",
    "cannot ", "no such", "undefined", "unexpected", "refused", "timed out", "out of memory",
    "no space left", "segmentation fault", "could not ", "reset by peer", "not responding",
    "does not respond", "has expired", "insufficient ", "is not defined",
)  # fmt: skip
"""Parts of lower-case lines that tell errors in English; `outcome_words` has other languages."""
ENDS_BADLY = ("exit code", "exit-code", "exit status", "exited with")
"""Words before an exit status, which is an error if it is not 0."""
ONLY_STATUS = re.compile(
    r"\W*(?:(?:process|command) )?(?:exit(?:ed with)?|return)[ _-]?(?:code|status)\W*\d+\W*"
)
"""A lower-case line with which hosts begin or end an output; `exit_status` reads it."""
IN_CODE = re.compile(
    r"\s*+(?:\d++[ \t]*+(?:[→|:][ \t]*+)?)?(?:except\b[^\n]*:|raise [\w.]"
    r"|from [\w.]+ import |import |class \w|@\w|(?:\} ?)?catch ?\(|throw new )"
)
"""The beginning of a line of source code that handles errors, and tells none."""
EXIT_STATUS = re.compile(
    r"""(?:exit(?:ed with)?[ _-]?(?:code|status)|returncode)["' \t:=>]{1,3}(-?\d+)|\bexit: (\d+)"""
)
"""An exit status in lower-case text."""
STATUS_CHARS = 300
"""How many characters at each end of an output are searched for its exit status."""
FAILED = re.compile(r"\s*error: .{,400}\Z", re.IGNORECASE | re.DOTALL)
LONGEST_ERROR = 410
"""A short result that is only an error, from a tool that sets no error flag, and its length in
languages other than English."""
PASS_OR_FAIL = (" pass", " fail")
"""The words before or after a number of tests."""
COUNT_OF_TESTS = re.compile(
    r"(?<=\d) (?:pass|fail)(?:ed|ing|ures?)?\b"
    r"(?! (?!in |of |and |tests?\b|specs?\b|suites?\b|assert)[a-z])|(?<=#) (?:pass|fail) \d"
)
"""A number of tests: ` 1216 pass`, `3 failed, 12 passed in 0.4s`, `# fail 0`; not
`404 failed logins`."""
ENDING_CHARS, COUNT_CHARS = 4_000, 80
"""How many characters at the end of an output are searched for a number of tests, and how many
characters on each side of that number are shown."""
COMMAND_KEYS = ("command", "cmd", "script")
PART_CHARS = 16_384
"""About how many characters are lowered at a time; a lowered copy of a long text would fill the
memory."""


def lines_with(text: str, needles: Iterable[str]) -> Iterator[tuple[int, int]]:
    """`(start, stop)` of every line that contains one of the lower-case needles, in order."""
    for start, stop in _parts(text):
        yield from sorted(_lines_with(text, needles, start, stop))


def _parts(text: str) -> Iterator[tuple[int, int]]:
    """`(start, stop)` of the parts of a text that are searched at a time: whole lines."""
    start = 0
    while start < len(text):
        stop = text.find("\n", start + PART_CHARS)
        stop = len(text) if stop < 0 else stop
        yield start, stop
        start = stop + 1


def _lines_with(text: str, needles: Iterable[str], start: int, stop: int) -> set[tuple[int, int]]:
    part = text[start:stop].lower()
    if len(part) != stop - start:  # a few letters grow when lowered, which would shift offsets
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


def _nothing_wrong() -> re.Pattern[str]:
    """The pattern of all statements in `nothing_wrong.txt`, whose head says how it is written."""
    parts: dict[str, str] = {}
    statements: list[str] = []
    text = (files("context_compression.evidence") / "nothing_wrong.txt").read_text("utf-8")
    for line in text.splitlines():
        name, is_pattern, pattern = line.partition(" := ")
        if is_pattern and not line.startswith("#"):
            for known, part in parts.items():
                pattern = pattern.replace(f"<{known}>", part)
            if name:
                parts[name] = pattern
            else:
                statements.append(pattern)
    return re.compile("|".join(statements))


NONE = _nothing_wrong()
"""Words in a lowered line that say that nothing went wrong; see `tells_failure`."""
LONGEST_NONE_CHARS = 4_000
"""In a longer line nobody searches for `0 errors`, which would take time."""


def tells_failure(line: str, words: Iterable[str] = ERROR_WORDS, *, told: bool = False) -> bool:
    """Whether a line with one of the words says more than that nothing went wrong.

    The same words of other languages count, too. `0 errors`, `No new exceptions` and `没有错误`
    tell no failure; `0 errors, 2 failures` does.

    Args:
        line: a line of any length.
        words: the lower-case words.
        told: whether words of other languages are known to tell a failure in it.
    """
    if IN_CODE.match(line):
        return False
    lowered = line.lower()
    rest = NONE.sub(" ", lowered) if len(line) <= LONGEST_NONE_CHARS else lowered
    if (told and rest == lowered) or any(word in rest for word in words) or _ends_badly(rest):
        return True
    return fails_elsewhere(rest)


def _ends_badly(line: str) -> bool:
    if not any(word in line for word in ENDS_BADLY) or ONLY_STATUS.fullmatch(line):
        return False
    named = EXIT_STATUS.search(line)
    return named is not None and (named[1] or named[2]) != "0"


def fails_elsewhere(line: str) -> bool:
    """Whether a line tells a failure in a language other than English."""
    return may_tell(line, FAILING) and bool(OutcomeWords(line).failures(0, len(line)))


def failures_in(text: str, words: Sequence[str] = ERROR_WORDS) -> Iterator[tuple[int, int]]:
    """`(start, stop)` of every line that says that something went wrong, in order.

    Args:
        text: a text, such as the output of a tool.
        words: the lower-case words of which such a line contains one, if it is in English.
    """
    for start, stop in _parts(text):
        part = text[start:stop]
        needles = (*words, *ENDS_BADLY, *hints(FAILING).in_text(part))
        spans = _lines_with(text, needles, start, stop)
        told: set[tuple[int, int]] = set()
        if names_words(part):
            for at in OutcomeWords(part).failures(0, len(part)):
                end = part.find("\n", at) % (len(part) + 1)
                told.add((start + part.rfind("\n", 0, at) + 1, start + end))
        else:
            spans |= {(start + a, start + b) for a, b in lines_beyond_ascii(part)}
        for span in sorted(spans | told):
            line = text[slice(*span)]
            if tells_failure(line, words, told=span in told):
                yield span


def count_of_tests(text: str) -> tuple[int, int] | None:
    """`(start, stop)` of the last number of tests near the end of an output.

    The span includes up to `COUNT_CHARS` characters of the line on each side. `None` if there is no
    number of tests.
    """
    begin, at = max(0, len(text) - ENDING_CHARS), len(text)
    while (at := max(text.rfind(word, begin, at) for word in PASS_OR_FAIL)) >= 0:
        if COUNT_OF_TESTS.match(text, at):
            start, stop = text.rfind("\n", 0, at) + 1, text.find("\n", at) % (len(text) + 1)
            return max(start, at - COUNT_CHARS), min(stop, at + COUNT_CHARS)
    counts = [span for span in outcomes(text, begin) if counted(text[slice(*span)])]
    return counts[-1] if counts else None


ENDED = re.compile(
    r"^[^\n]*(?:\b\d+ (?:tests? )?(?:passed|failed|passing|failing|failures?|errors?)\b"
    r"|\bRan \d+ tests?\b|\bFAILED\b|\bBUILD (?:SUCC|FAIL)|tests finished:|test result:"
    r"|(?:tests|suites):? +\d)[^\n]*"
    r"|^(?:OK|PASS|PASSED|FAIL|SUCCESS)\b[^\n]*"
    r"|^ok[ \t]+\S+[ \t]+(?:[\d.]+s|\(cached\))[^\n]*",
    re.MULTILINE,
)
"""A line that tells how a run of tests or a build ended."""
WITHOUT_CONTENT = re.compile(r"\s*+(?:</[\w-]+>|```)?\s*+")
"""A line that is blank or closes a tag or a fenced block."""


def outcome_lines(text: str) -> list[tuple[int, int]]:
    """`(start, stop)` of the last lines of an output that tell how a run of tests or a build ended.

    There are at most two lines, because a run may end with a count and a verdict.
    """
    begin = max(0, len(text) - ENDING_CHARS)
    english = (match.span() for match in ENDED.finditer(text, begin))
    return sorted({*english, *outcomes(text, begin)})[-2:]


def last_line(text: str, end: int) -> tuple[int, int]:
    """`(start, stop)` of the last line with content before `end`; `(0, 0)` if there is none."""
    stop = end
    while stop > 0:
        start = text.rfind("\n", 0, stop) + 1
        if not WITHOUT_CONTENT.fullmatch(text, start, stop):
            return start, stop
        stop = start - 1
    return 0, 0


def error_lines(text: str) -> list[str]:
    """The lines that tell a failure, stripped and cut to `LONGEST_LINE` characters."""
    return [beginning(text[a:b].strip(), LONGEST_LINE) for a, b in failures_in(text)]


def exit_status(text: str) -> str | None:
    """The exit status in a tool output, as digits: `"1"`; `None` if there is none."""
    for end in (text[:STATUS_CHARS].lower(), text[-STATUS_CHARS:].lower()):
        if ("exit" in end or "returncode" in end) and (status := EXIT_STATUS.search(end)):
            return status[1] or status[2]
        if not end.isascii() and names_words(end) and (named := exit_status_named(end)):
            return named
    return None


def has_failed(result: ToolResult) -> bool:
    """Whether a tool reports that it failed; a failed command may lack such a report."""
    text = result.text
    return result.is_error or FAILED.match(text) is not None or _is_error_elsewhere(text)


def _is_error_elsewhere(text: str) -> bool:
    return len(text) <= LONGEST_ERROR and begins_with_error(text)


def is_talk(messages: Iterable[Message]) -> bool:
    """Whether a conversation is talk: mostly texts in prose, and hardly any tools."""
    texts, others = list[str](), 0
    for block in chain.from_iterable(message.blocks for message in messages):
        if isinstance(block, Text):
            texts.append(block.text)
        else:
            others += sum(map(len, texts_of(block)))
    return others <= sum(map(len, texts)) and is_prose(texts)


def decision_words(text: str) -> Sequence[int]:
    """Where the words of a text begin that tell a decision or its reason, in order."""
    lowered = folded(text)
    english = {found.start() for found in english_decisions().finditer(lowered)}
    if not (scripts_in(text) or hints(("decided",)).in_text(text)):
        return sorted(english)
    return sorted(english | {start for start, _ in OutcomeWords(text).decided()})


def decisions(text: str) -> list[str]:
    """The sentences that state a decision or its reason."""
    words = decision_words(text)
    spans = sentence_spans(text) if words else ()
    return [
        text[start:stop]
        for start, stop in spans
        if bisect_left(words, start) < bisect_left(words, stop) and stop - start <= LONGEST_LINE
    ]


def commands(message: Message) -> Iterator[str]:
    """The shell commands in the arguments of a message's tool calls."""
    for call in message.calls:
        yield from commands_of(call)


def commands_of(call: ToolCall) -> Iterator[str]:
    """The shell commands of one call to any tool, from its `COMMAND_KEYS`."""
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
    """The evidence of a message, by the classes of the loss report.

    Args:
        message: a message of any role.
        lexicon: finds the evidence words; sharing one for all messages saves time.
    """
    by_class: Facts = {name: set() for name in CLASSES}
    for block in message.blocks:
        for text in texts_of(block):
            for word, kind in lexicon.words(text):
                if kind in ("path", "url"):
                    by_class["paths"].add(word)
                elif kind == "number":
                    by_class["numbers"].add(word)
    for result in message.results:
        by_class["errors"].update(error_lines(result.text))
    by_class["commands"].update(commands(message))
    if request := words_of_user(message).strip():
        by_class["user requests"].add(request)
    by_class["constraints"].update(constraints_said(message))
    if message.role in ("user", "assistant"):
        by_class["decisions"].update(decisions(message.text))
    return by_class


def constraints_said(message: Message) -> Iterator[str]:
    """The constraints of the user in a message: in what was typed, and in answers to questions."""
    unlikely = any(result.claim == "unlikely" for result in message.results)
    texts = [message.said] if message.said and not unlikely else []
    if message.role == "user":
        typed = (b for b in message.blocks if isinstance(b, Text) and not b.by_harness)
        texts += (block.text for block in typed)
    for text in texts:
        yield from (text[start:stop] for start, stop in constraints_in(text))

"""Text protocols: calls in the assistant's text, and their results in the user's role.

A harness whose model has no tool blocks asks for a command in the text, and returns the output as
the user's next message. `read` makes calls and results of them, so that all code for tool steps
applies; `written` makes the same texts again, character by character.

A message is a result if it begins like the results of widely used harnesses (`<returncode>`,
`Observation:`, `[tool output]`), or if its beginning is repeated after commands in this
conversation. A reminder of the harness after a command is the result of a command that did not run.
A conversation with tool blocks has no text protocol.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from context_compression.conversation.messages import (
    COMPRESSED,
    Block,
    Message,
    Text,
    ToolCall,
    ToolResult,
)

KIND = "text protocol"
"""The `kind` of calls and results that are texts."""
LEARNT_FROM = 3
"""How many results must have the same beginning before it marks results."""
TAGGED = re.compile(
    r"\s*</?(?:return_?code|output|stdout|stderr|result|observation|exit_?code"
    r"|tool_(?:result|response|output)|function_(?:results?|response)|execut\w+_(?:result|output)"
    r"|command_output|terminal|console)s?\b",
    re.IGNORECASE,
)
LABELS = (
    r"(?:observation|(?:tool|function|command|execution|terminal|console|shell|action|code|bash"
    r"|python|api) (?:results?|outputs?|response)|execution result of|stdout|return ?code"
    r"|exit code)\b"
)
BRACKETED = re.compile(
    rf"\s*(?:[(*#]{{0,4}} ?\[ ?{LABELS}"
    r"|\[\w+(?: for [^\]\n]*)?\] Result:"
    r"|\[\d[\d,]* lines?(?:, [^\]\n]*)?; ref \w+\]"
    r"|\[[^\n]{1,200}: [\d,]+ tokens?, [^\n]{1,700}; ref \w+[\];])",
    re.IGNORECASE,
)
LABELLED_RESULT = re.compile(
    rf"\s*[(*#]{{0,4}} ?{LABELS}[^\n.,;:?!]{{0,40}}(?:[:)]|\n|\Z)", re.IGNORECASE
)
"""How results begin in widely used harnesses, and those that this package shortened: with a tag, in
brackets, and with a label. A person may quote an output between tags, or begin with a label."""
CLOSED = re.compile(r"</[A-Za-z][\w-]*>\s*\Z")
LEARNABLE = re.compile(
    r"\s*(<[A-Za-z][\w-]*|\[[^\]\n]{1,60}\]|[A-Z][\w -]{0,30}:|[#*=<>|+~-]+ *\w[^\n]{0,40})"
)
"""A beginning that may mark results: a tag, a text in brackets, a label, a heading."""
TYPED_CHARS = 600
"""The most characters of a text that reads as typed by a person."""
FENCE = re.compile(r"^[ \t]*(`{3,}|~{3,})[ \t]*([\w+-]*)[^\n]*$", re.MULTILINE)
CLOSING_TAG = re.compile(r"</([A-Za-z][\w-]*)>")
LAST_TAGS = 3
"""How many closing tags at the end of a text are searched for one that was opened."""
LABELLED = re.compile(r"^(Action|Tool|Command|Call|Function)(?: Input)?:[ \t]*(?=\S)", re.MULTILINE)


class Command(NamedTuple):
    """The last command in a text: its tool, and the characters of the command and of its body."""

    name: str
    start: int
    body: int
    body_stop: int
    stop: int


class Around(NamedTuple):
    """What stands around a command in its text.

    Attributes:
        opening: the characters directly before the command.
        closing: the characters directly after it.
        follows: whether the text begins before the call.
        goes_on: whether the text goes on after the call.
    """

    opening: str
    closing: str
    follows: bool
    goes_on: bool


def begins_as_result(text: str) -> bool:
    """Whether a text begins as the results of many harnesses do; a person may write so, too."""
    return any(pattern.match(text) for pattern in (TAGGED, BRACKETED, LABELLED_RESULT))


def read(messages: Sequence[Message]) -> tuple[Message, ...]:
    """The messages, in which the calls and results of a text protocol are blocks.

    Without a text protocol the messages are unchanged.
    """
    if any(message.calls or message.results for message in messages):
        return tuple(messages)
    pairs = [*_exchanges(messages)]
    results = _results(
        [(messages[asked].text, messages[answered].text) for asked, answered in pairs]
    )
    changed: dict[int, Message] = {}
    for (asked, answered), is_result in zip(pairs, results, strict=True):
        message = messages[answered]
        if is_result or message.is_reminder:
            call_id = f"{KIND} {answered}"
            changed[asked] = _with_call(messages[asked], call_id)
            name = changed[asked].calls[-1].name
            result = ToolResult(
                call_id, message.blocks, is_error=not is_result, name=name, kind=KIND
            )
            changed[answered] = replace(message, blocks=(result,))
    if all(_has_only_reminders(message) for message in changed.values()):
        return tuple(messages)
    return tuple(changed.get(index, message) for index, message in enumerate(messages))


def _has_only_reminders(message: Message) -> bool:
    """Whether all results in a message are reminders, after which no command ran."""
    return all(result.is_error for result in message.results)


def written(message: Message) -> Message:
    """The message with texts instead of the calls and results of a text protocol."""
    if not any(
        isinstance(block, ToolCall | ToolResult) and block.kind == KIND for block in message.blocks
    ):
        return message
    blocks: list[Block] = []
    joins = False  # whether the next text belongs to the same text as the last block
    for block in message.blocks:
        match block:
            case ToolCall(kind=kind) if kind == KIND:
                _append(blocks, _text_of(block), joins=block.source.follows)
                joins = block.source.goes_on
            case ToolResult(kind=kind) if kind == KIND:
                blocks += block.content
            case Text():
                _append(blocks, block.text, joins=joins)
                joins = False
            case _:
                blocks.append(block)
    return replace(message, blocks=tuple(blocks))


def last_command(text: str) -> Command | None:
    """The last command in a text of the assistant, or `None`.

    A command is a fenced block, a tag with content, or a line such as `Action: …` and all text
    after it.
    """
    found = max(filter(None, (_fenced(text), _tagged(text))), key=lambda c: c.stop, default=None)
    label = LABELLED.search(text, 0, found.start if found else len(text))
    if label is None:
        return found
    return Command(label[1].lower(), label.start(), label.end(), len(text), len(text))


def _exchanges(messages: Sequence[Message]) -> Iterator[tuple[int, int]]:
    """The indices of each text of the assistant and of the user's text directly after it."""
    for index in range(1, len(messages)):
        before, message = messages[index - 1], messages[index]
        if (
            before.role == "assistant"
            and message.role == "user"
            and before.text.strip()
            and message.blocks
            and isinstance(message.blocks[0], Text)
            and not message.text.startswith(COMPRESSED)
        ):
            yield index - 1, index


def _results(exchanges: Sequence[tuple[str, str]]) -> list[bool]:
    """For each text of the assistant, and the user's text after it: whether that is a result.

    A text between tags or in brackets is one. A text that only begins like a result is one if at
    least half of the user's texts do, and it follows a command or is not the only one.
    """
    learnt = _learnt(exchanges)
    sure = [
        _beginning(text) in learnt
        or BRACKETED.match(text) is not None
        or (TAGGED.match(text) is not None and CLOSED.search(text, len(text) - 100) is not None)
        for _, text in exchanges
    ]
    like = [
        each or TAGGED.match(text) is not None or LABELLED_RESULT.match(text) is not None
        for each, (_, text) in zip(sure, exchanges, strict=True)
    ]
    if 2 * sum(like) < len(exchanges):
        return sure
    often = sum(like) >= LEARNT_FROM
    return [
        is_sure
        or (begins and (often or (not TAGGED.match(text) and last_command(asked) is not None)))
        for is_sure, begins, (asked, text) in zip(sure, like, exchanges, strict=True)
    ]


def _beginning(text: str) -> str:
    """What the results of a harness may begin with: the first tag, label or heading."""
    match = LEARNABLE.match(text)
    return re.sub(r"\d+", "0", match[1]) if match else ""


def _learnt(exchanges: Sequence[tuple[str, str]]) -> set[str]:
    """The beginnings that mark results in this conversation.

    At least `LEARNT_FROM` texts have such a beginning, two thirds of them after a command, and most
    of them do not read as typed. The names of speakers in a chat are labels, too, but do not follow
    commands.
    """
    times, commanded, typed = Counter[str](), Counter[str](), Counter[str]()
    for asked, answered in exchanges:
        if beginning := _beginning(answered):
            times[beginning] += 1
            commanded[beginning] += last_command(asked) is not None
            typed[beginning] += _reads_as_typed(answered, beginning)
    return {
        beginning
        for beginning, count in times.items()
        if count >= LEARNT_FROM
        and 3 * commanded[beginning] >= 2 * count
        and 2 * typed[beginning] < count
    }


def _reads_as_typed(text: str, beginning: str) -> bool:
    """Whether a person may have typed a text: it is short, and most of its words are only letters.

    Its beginning, which all results share, does not count.
    """
    words = text.lstrip()[len(beginning) :].split() if len(text) <= TYPED_CHARS else []
    letters = sum(word.strip(".,;:!?()\"'").replace("'", "").isalpha() for word in words)
    return 4 * letters >= 3 * len(words) > 0


def _fenced(text: str) -> Command | None:
    """The last fenced block of a text."""
    found: Command | None = None
    opened: re.Match[str] | None = None
    for fence in FENCE.finditer(text):
        if opened is None:
            opened = fence
        elif fence[1] == opened[1] and not fence[2]:
            name, body = opened[2].lower() or "command", min(opened.end() + 1, fence.start())
            found = Command(name, opened.start(), body, fence.start(), fence.end())
            opened = None
    return found


def _tagged(text: str) -> Command | None:
    """The last tag with content in a text."""
    for closing in reversed([*CLOSING_TAG.finditer(text)][-LAST_TAGS:]):
        start = text.rfind(f"<{closing[1]}", 0, closing.start())
        body = text.find(">", start, closing.start()) + 1
        if start >= 0 and body:
            return Command(closing[1].lower(), start, body, closing.start(), closing.end())
    return None


def _with_call(message: Message, call_id: str) -> Message:
    """A message of the assistant with its last command, or its last paragraph, as a call."""
    slot, text = next(
        (slot, block.text)
        for slot, block in reversed([*enumerate(message.blocks)])
        if isinstance(block, Text) and block.text.strip()
    )
    command = last_command(text)
    if command is None:
        start = text.rstrip().rfind("\n\n") + 1
        command = Command("command", start, start, len(text), len(text))
    _, start, body, body_stop, stop = command
    inner = text[body:body_stop]
    if inner.strip():  # line breaks around a command are no part of it
        body += len(inner) - len(inner.lstrip("\n"))
        body_stop -= len(inner) - len(inner.rstrip("\n"))
    call = ToolCall(
        call_id,
        command.name,
        {"command": text[body:body_stop]},
        source=Around(text[start:body], text[body_stop:stop], start > 0, stop < len(text)),
        kind=KIND,
    )
    before, after = text[:start], text[stop:]
    blocks = (*([Text(before)] if before else ()), call, *([Text(after)] if after else ()))
    return replace(message, blocks=(*message.blocks[:slot], *blocks, *message.blocks[slot + 1 :]))


def _text_of(call: ToolCall) -> str:
    """The text of a call with what stands around its command."""
    arguments = call.arguments
    command = arguments if isinstance(arguments, str) else arguments.get("command", "")
    return f"{call.source.opening}{command}{call.source.closing}"


def _append(blocks: list[Block], text: str, *, joins: bool) -> None:
    """Append a text, or extend the text before it if both are parts of one."""
    last = blocks[-1] if blocks else None
    if joins and isinstance(last, Text) and last.source is None:
        blocks[-1] = Text(last.text + text)
    else:
        blocks.append(Text(text))

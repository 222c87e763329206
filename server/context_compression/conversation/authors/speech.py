"""The user's words in messages, notes of this package, and the author of a text."""

import re
from collections.abc import Iterator, Sequence

from context_compression.conversation.authors.host_notes import (
    LOCAL_COMMAND,
    SLASH_COMMAND,
    is_host_note,
)
from context_compression.conversation.digest_notes import is_digest
from context_compression.conversation.labels import quotes_of
from context_compression.conversation.messages import (
    COMPRESSED,
    STRANGER,
    Block,
    Message,
    Opaque,
    Text,
    ToolResult,
)

ARGUMENTS = ("<command-args>", "</command-args>")
"""In the note of a slash command, these enclose the text that the user typed after the command."""
MEANWHILE = re.compile(
    r"\s*<system-reminder>\s*The user sent (?:the following message"
    r"|a new message while you were working):\n(.+?)"
    r"(?:\n\n(?:Please address this|IMPORTANT: After|This is how)|\n?</system-reminder>)",
    re.DOTALL,
)
"""A note with a message that the user typed while the agent worked (Claude Code, opencode)."""
EXCERPTS = f"{COMPRESSED} Excerpts of earlier messages, quoted as data"
"""The beginning of a note of this package with quotes."""


def is_note(text: str) -> bool:
    """Whether a text of role user comes from the host or from this package."""
    return text.lstrip().startswith((COMPRESSED, STRANGER)) or is_host_note(text)


def is_our_note(text: str) -> bool:
    """Whether a text is a note that this package put in place of compressed content."""
    return text.startswith(COMPRESSED)


def holds_excerpts(text: str) -> bool:
    """Whether a text is a note of this package with quotes, each after a label."""
    return text.startswith(EXCERPTS) or is_digest(text)


def is_bare_command(text: str) -> bool:
    """Whether a text only reports a command of the host, without words of the user."""
    return text.lstrip().startswith((SLASH_COMMAND, LOCAL_COMMAND)) and not holds_user_words(text)


def user_words(message: Message) -> str:
    """The user's words in a message, without texts of the host or this package; `""` if none."""
    if message.role != "user":
        return ""
    return "\n".join(
        block.text[start:stop]
        for block in message.blocks
        if isinstance(block, Text) and not block.by_harness
        for start, stop in user_spans(block.text)
    )


def words_of_user(message: Message) -> str:
    """The user's words in a message of any role, including those in tool results.

    Words that only claim to be the user's are not included.
    """
    said = (
        block.said
        for block in message.blocks
        if isinstance(block, Opaque) or (isinstance(block, ToolResult) and not block.claim)
    )
    return "\n".join(filter(None, [user_words(message), *said]))


def user_spans(text: str) -> Iterator[tuple[int, int]]:
    """`(start, stop)` of each part of a text of role user that the user wrote.

    In a host's note about a slash command, the user wrote the text after the command. In its note
    about a message, the user wrote that message. Other notes hold no words of the user, whatever
    they quote.
    """
    if not is_note(text):
        yield 0, len(text)
    elif message := MEANWHILE.match(text):
        yield message.span(1)
    elif text.lstrip().startswith(SLASH_COMMAND):
        opening, closing = ARGUMENTS
        stop = 0
        while (at := text.find(opening, stop)) >= 0:
            start = at + len(opening)
            stop = text.find(closing, start)
            if stop < 0:
                return
            if start < stop:
                yield start, stop


def holds_user_words(text: str) -> bool:
    """Whether a text of role user, which may be a note, holds words of the user."""
    return next(user_spans(text), None) is not None


def speech_spans(block: Block, *, spoken: bool) -> Sequence[tuple[int, int]]:
    """`(start, stop)` of the speech of user and assistant in a block.

    In a note with excerpts, speech is the quotes of user and assistant.

    Args:
        block: any block.
        spoken: whether a text without excerpts is speech.
    """
    if not isinstance(block, Text):
        return ()
    if holds_excerpts(block.text):
        return [*quotes_of("User", block.text), *quotes_of("Assistant", block.text)]
    return [(0, len(block.text))] if spoken else ()


def author_of(message: Message, text: str) -> str:
    """The author of a text: the message's role, or `"host"` for a host's note of role user."""
    by_host = message.role == "user" and is_host_note(text) and not holds_user_words(text)
    return "host" if by_host else message.role


def title_of(message: Message, text: str) -> str:
    """The title of a text in a list: `"our note"` or `"text of the user"`, by its author."""
    return "our note" if is_our_note(text) else f"text of the {author_of(message, text)}"

"""What a conversation without a title is called: the user's first words."""

import re
from collections.abc import Iterable

from context_compression.conversation.authors.host_notes import is_host_note, is_host_summary
from context_compression.conversation.authors.speech import is_our_note, user_words
from context_compression.conversation.messages import Message, Text

TAGGED = re.compile(r"\A(?:\s*+<([\w-]++)[^>]*+>(?>.*?</\1>))++", re.DOTALL)
"""Texts in tags that a host puts before the user's words: `<current_datetime>…`."""
TAG = re.compile(r"</?[A-Za-z][^<>]{0,200}>")
OF_HOSTS = (
    "<", "# AGENTS.md",
    "This is the Gemini CLI. We are setting up the context",
    "What did we do so far?", "The following tool was executed by the user",  # opencode
)  # fmt: skip
"""The beginnings of other texts that hosts put into the user's role."""
COMMAND = re.compile(r"(?:![\w./~$(]|/[A-Za-z][\w:-]*+(?![/.\w-])|Ran `)[^\n]*+")
"""A command of a shell or of the host, as the user types it or a host repeats it."""
PICTURE = re.compile(r"(?:\[Image[^\]\n]{0,40}\]\s*+)++")
IN_NOTE = re.compile(r"<(bash-input|command-name|command)>\s*+([^<]*[^<\s])\s*</")
"""The command in a host's note about one."""
TYPED = {"bash-input": "!", "command": "!", "command-name": ""}
OWN_COMMANDS = re.compile(
    r"<command-name>/(?:add-dir|clear|compact|config|context|cost|effort|export|fast|login|model"
    r"|output-style|permissions|plan|rename|resume|rewind|status|theme)</"
)
"""Commands of Claude Code whose arguments ask the model for nothing."""
SUMMED_UP = re.compile(
    r"(?:Summary:\s*+)?+(?:1\.\s*+)?+Primary Request and Intent:\s*+|Summary:\s*+", re.IGNORECASE
)


def first_words(messages: Iterable[Message]) -> str:
    """The first words of the user, behind what a host puts before them.

    Without any: the first command or picture of the user, or what a host's summary begins with.
    """
    less: list[str] = []
    for message in messages:
        words = _said(message)
        if words and not is_no_request(words):
            return words
        less += filter(None, [words or _instead(message)])
    return min(less, key=lambda text: text.startswith(("!", "/")), default="")


def is_no_request(words: str) -> bool:
    """Whether words of the user are only a command of the host or a shell, or a picture."""
    return bool(COMMAND.fullmatch(words) or PICTURE.fullmatch(words) or words.startswith("Ran `"))


def _said(message: Message) -> str:
    """The words of the user in a message, without the tags before them."""
    if any(OWN_COMMANDS.search(text) for text in _texts(message)):
        return ""
    words = TAGGED.sub("", user_words(message)).strip()
    if not words:  # a host may put them behind a note in the same text
        rest = (TAGGED.sub("", text).strip() for text in _texts(message))
        words = "\n".join(text for text in rest if not (is_host_note(text) or is_our_note(text)))
    return "" if words.startswith(OF_HOSTS) else words.strip()


def _instead(message: Message) -> str:
    """What else a message may be called after: a command in a note, a summary, a text in tags."""
    if message.role != "user":
        return ""
    for text in _texts(message):
        if found := IN_NOTE.search(text):
            return f"{TYPED[found[1]]}{found[2]}"
        if is_host_summary(text):
            summary = SUMMED_UP.search(text)
            return TAG.sub("", text[summary.end() :] if summary else "").strip()
    words = user_words(message)
    return " ".join(TAG.sub(" ", words).split()) if words.lstrip().startswith("<") else ""


def _texts(message: Message) -> list[str]:
    if message.role != "user":
        return []
    return [b.text for b in message.blocks if isinstance(b, Text) and not b.by_harness]

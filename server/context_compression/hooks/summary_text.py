"""A history compressed to one text, for hosts that only accept a summary."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from context_compression.conversation.authors import holds_user_words
from context_compression.conversation.formats import parse
from context_compression.conversation.labels import SEARCH, without_labels
from context_compression.conversation.messages import (
    COMPRESSED,
    Message,
    Text,
    ToolCall,
    ToolResult,
)
from context_compression.hooks.host_compaction import archive_messages
from context_compression.session import Session

HEAD = f"""{COMPRESSED} What was said before, shortened. context_restore(ref=…) brings back whole \
what is marked with a ref; {SEARCH} searches all of it."""


def compressed_text(
    session: Session, messages: Sequence[Mapping[str, Any]], focus: str | None = None
) -> str:
    """The messages as one text of about `summary_target_tokens` tokens.

    Every original is archived when this returns, also of what stays whole, because a text holds no
    images. The newest messages are compressed as well, so the
    caller passes only messages that leave the context.
    """
    arguments: dict[str, Any] = {
        "messages": messages,
        "focus": focus,
        "settings": {"keep_recent_tokens": 0, "min_recent_messages": 0, "preserve_messages": 0},
    }
    archive_messages(session, messages)
    result = session.compress(
        target_tokens=session.settings.summary_tokens, must_answer=True, **arguments
    )
    lines = [line for message in parse(result.messages).messages for line in _lines(message)]
    return "\n\n".join([HEAD, *lines])


def _lines(message: Message) -> Iterator[str]:
    """Each block as text with a label; our own compressed texts already have one."""
    for block in message.blocks:
        match block:
            case Text(text=text) if text.startswith(COMPRESSED):
                yield text
            case Text(text=text):
                by_user = message.role == "user" and holds_user_words(text)
                yield f"[{message.role.title()}]: {text if by_user else without_labels(text)}"
            case ToolCall():
                call = without_labels(f"{block.name} {block.arguments_text}")
                yield f"[Assistant tool call]: {call}"
            case ToolResult():
                yield f"[Tool result]: {without_labels(block.text)}"
            case _:
                pass

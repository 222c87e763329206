"""What a ref of a log stands for: a text, a message, or the text of one of its blocks."""

from collections.abc import Callable, Mapping
from typing import Any

from context_compression.conversation.formats import parse
from context_compression.conversation.messages import Text, ToolResult
from context_compression.display.strings import one_line
from context_compression.errors import InvalidConversation, StoreDamaged


def original_of(about: Mapping[str, Any], read: Callable[[str, int], Any]) -> Any:
    """What the log says a ref stands for: a text, or a message as it came.

    `read` gives a message of a file of originals, by its position.

    Raises:
        StoreDamaged: the log tells of an original that is not there.
    """
    if about.get("text") is not None:
        return about["text"]
    try:
        message = read(about["file"], about["message"])
        return message if about["block"] is None else text_in(message, about["block"])
    except (InvalidConversation, IndexError, KeyError, TypeError) as error:
        raise StoreDamaged(
            f"The log tells of an original that is not there: {one_line(error)}."
        ) from error


def text_in(message: Mapping[str, Any], block: int) -> str:
    """The text of one block of a message."""
    found = parse([message]).messages[0].blocks[block]
    return found.text if isinstance(found, Text | ToolResult) else ""

"""The shapes of what the parts of opencode's messages hold."""

from collections import Counter
from collections.abc import Iterable

from context_compression.conversation.messages import as_object
from context_compression.hosts.opencode.about import SEEN, TITLE
from context_compression.hosts.opencode.live import StoredMessage
from context_compression.transcripts.lines import string
from context_compression.transcripts.shapes import Known, Maybe, Seen, Shape, Shapes, looking_for

READ = {"tool", "reasoning"}
"""The types of parts whose inner values are read; others are carried along as they are."""
STATUS: Shape = Known(frozenset({"pending", "running", "streaming", "completed", "error"}))
SEALED: Shape = Maybe({"anthropic": {"signature": str}})
PART: Shape = {
    "type": str,
    "callID": str,
    "tool": str,
    "metadata": SEALED,
    "state": {"status": STATUS, "attachments": [{"url": str, "mime": str}]},
}
"""Of a part of a message, as far as it is no part of an unknown type."""
LOOKS = {kind: looking_for(PART, kind) for kind in READ}
WORDS = """
command data description error files input output prompt source summary system
text title todos
"""
"""Fields with words that were seen beside those that are read."""
SHAPES = Shapes(
    TITLE,
    {"": Maybe({"messages": [{"info": Maybe({}), "type": str, "parts": [PART]}]})},
    Seen(
        WORDS,
        SEEN,
        lambda row: string(as_object(row.get("info")), "version"),
    ),
)


def strange_parts(messages: Iterable[StoredMessage]) -> list[str]:
    """The warning about parts of messages whose shape is not known."""
    places: list[str] = []
    for part in (part for message in messages for part in message.parts):
        if look := LOOKS.get(string(part, "type")):
            look(part, places)
    return SHAPES.warnings(Counter(places))

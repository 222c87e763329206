"""The shapes of what Gemini CLI's rows hold."""

from context_compression.hosts.gemini_cli.about import TITLE
from context_compression.transcripts.shapes import Known, Maybe, Shape, Shapes

NAMED: Shape = {"id": str, "name": str}
PART: Shape = Maybe({"functionCall": NAMED, "functionResponse": NAMED})
PARTS: Shape = (str, [(str, PART)], PART)
MESSAGE: Shape = {
    "id": str,
    "type": Known(frozenset({"user", "gemini", "info", "error", "warning"})),
    "content": PARTS,
    "toolCalls": [{**NAMED, "result": PARTS}],
}
SET: Shape = {
    **dict.fromkeys(("directories", "kind", "lastUpdated", "sessionId", "startTime", "summary")),
    "messages": [MESSAGE],
}
SHAPES = Shapes(
    TITLE,
    {
        "user": MESSAGE,
        "gemini": MESSAGE,
        "": Maybe({"$set": SET, "$rewindTo": str, "messages": [MESSAGE]}),
    },
)

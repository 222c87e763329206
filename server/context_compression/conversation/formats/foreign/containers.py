"""Objects around a list of messages: requests, pages of a list, saved conversations."""

from collections.abc import Sequence

from context_compression.conversation.formats.foreign.foreign_format import (
    ONE_AT_A_TIME,
    ForeignFormat,
)

CONTAINERS: Sequence[ForeignFormat] = (
    ForeignFormat(
        "This is a page of a list, as OpenAI's API answers",
        "Pass its data, the oldest first.",
        [{"data": list, "object": ("list",)}],
        holds_messages=True,
    ),
    ForeignFormat(
        "This is a whole request or conversation, not its messages",
        "Pass its messages; what it says of system prompt and tools goes beside them.",
        [{"messages": list, "role": None}],
        holds_messages=True,
    ),
    ForeignFormat(
        "This is a whole request of Gemini, not its contents",
        "Pass its contents; its system instruction and tools go beside them.",
        [{"contents": list, "role": None}],
        holds_messages=True,
    ),
    ForeignFormat(
        "This is a whole request of OpenAI Responses, not its input",
        "Pass its input; its instructions and tools go beside it.",
        [{"input": list, "role": None, "type": None}],
        holds_messages=True,
    ),
    ForeignFormat(
        "This holds a conversation, but is none",
        f"Pass its list of messages, {ONE_AT_A_TIME}.",
        [
            {"conversation": list, "role": None},
            {"conversations": list, "role": None},
            {"history": list, "role": None},
        ],
        holds_messages=True,
    ),
)

"""Responses of APIs, complete or streamed."""

from collections.abc import Sequence

from context_compression.conversation.formats.foreign.foreign_format import ForeignFormat

STREAM_EVENTS = (
    "message_start", "message_delta", "message_stop", "content_block_start",
    "content_block_delta", "content_block_stop", "response.created", "response.in_progress",
    "response.output_item.added", "response.output_item.done", "response.output_text.delta",
    "response.completed",
)  # fmt: skip

ANSWERS: Sequence[ForeignFormat] = (
    ForeignFormat(
        "These are pieces of a streamed answer",
        "Pass the finished message instead of the pieces it came in.",
        [
            {"object": ("chat.completion.chunk",)},
            {"choices": [{"delta": dict}]},
            {"type": STREAM_EVENTS, "role": None},
        ],
    ),
    ForeignFormat(
        "This is a whole answer of Chat Completions",
        "Pass its choices[0].message as the last message, behind those of the request.",
        [{"choices": [{"message": dict}]}],
    ),
    ForeignFormat(
        "This is a whole answer of OpenAI Responses",
        "Pass its output, behind the input of the request.",
        [{"output": list, "object": ("response",)}],
    ),
    ForeignFormat(
        "This is a whole answer of Gemini",
        "Pass its candidates[0].content, behind the contents of the request.",
        [{"candidates": [{"content": dict}]}],
    ),
    ForeignFormat(
        "This is a whole answer of Bedrock Converse",
        "Pass its output.message as the last message, behind those of the request.",
        [{"output": {"message": dict}}],
    ),
)

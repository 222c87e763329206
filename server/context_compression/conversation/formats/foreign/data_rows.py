"""Rows of batch files and of training data."""

from collections.abc import Sequence

from context_compression.conversation.formats.foreign.foreign_format import (
    ONE_AT_A_TIME,
    ForeignFormat,
)

DATA_ROWS: Sequence[ForeignFormat] = (
    ForeignFormat(
        "This is a row of an OpenAI batch",
        f"Pass its body.messages or body.input, {ONE_AT_A_TIME}.",
        [{"custom_id": object, "body": dict}],
    ),
    ForeignFormat(
        "This is a row of an Anthropic batch",
        f"Pass its params.messages, {ONE_AT_A_TIME}.",
        [{"custom_id": object, "params": dict}],
    ),
    ForeignFormat(
        "This is a result of a batch",
        "Pass its message (result.message, or response.body.choices[0].message) behind those of "
        f"the request, {ONE_AT_A_TIME}.",
        [{"custom_id": object, "result": dict}, {"custom_id": object, "response": object}],
    ),
    ForeignFormat(
        "This is a row of a Gemini batch",
        f"Pass its request.contents, {ONE_AT_A_TIME}.",
        [{"request": {"contents": list}}],
    ),
    ForeignFormat(
        "This is a row of a Bedrock batch",
        f"Pass its modelInput.messages, {ONE_AT_A_TIME}.",
        [{"modelInput": {"messages": list}}],
    ),
    ForeignFormat(
        "This is a conversation of ShareGPT",
        'Convert each turn to {"role": …, "content": …}: from human is user, gpt assistant, its '
        "value the content.",
        [
            {"conversations": [{"from": str, "value": object}]},
            {"conversation": [{"from": str, "value": object}]},
            {"from": str, "value": object, "role": None},
        ],
    ),
    ForeignFormat(
        "This is training data, not a conversation",
        "Convert a row to the messages it stands for: what is asked has role user, what shall be "
        "answered role assistant.",
        [
            {"prompt": object, "completion": object},
            {"prompt": object, "chosen": object},
            {"preferred_output": object, "non_preferred_output": object},
            {"instruction": str, "output": str},
        ],
    ),
)

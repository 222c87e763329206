"""Sessions that the tests of `extract` compress, and the call that does it."""

from typing import Any

from context_compression import Result, compress, count_tokens
from context_compression.testing import Run, tool_step

Messages = list[dict[str, Any]]


LONG = "\n".join(
    f"{n} routine line about nothing in particular, nothing at all" for n in range(300)
)


FILLER = "nothing that anybody would need to know"


def step(number: int, output: str, **arguments: str) -> Messages:
    return tool_step(
        [Run(f"call{number}", "Bash", arguments or {"command": "ls"}, output)], "anthropic"
    )


def text_message(role: str, text: str) -> Messages:
    return [{"role": role, "content": text}]


def session(*parts: Messages) -> Messages:
    return [message for part in parts for message in part]


def extract(messages: Messages, share: float, **settings: Any) -> Result:
    target = int(count_tokens(messages) * share)
    return compress(messages, target_tokens=target, strategy="extract", settings=settings)


def texts(messages: Messages) -> str:
    return str([message["content"] for message in messages])

"""A step of the model, as values, and helpers for the writers of dialects.

A step is the model's next move: it may think, write text and make calls, of which the first ones
are answered.
"""

from base64 import b64encode
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol, TypeAlias

Dialect: TypeAlias = Literal[
    "anthropic", "openai", "openai-legacy", "ollama", "responses", "gemini", "bedrock", "vercel"
]
"""Anthropic Messages; OpenAI Chat, the same with `function_call`, and Ollama's form of it without
ids; OpenAI Responses items; Gemini contents; Bedrock Converse; the AI SDK's ModelMessage.
"""
Json: TypeAlias = dict[str, Any]

PIXEL = "R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7"
"""A picture of one pixel, GIF in base64."""
DOCUMENT_TEXT = "The old config format stays.\n"
"""A text file."""
DOCUMENT = b64encode(DOCUMENT_TEXT.encode()).decode()
"""The text file in base64."""


@dataclass(frozen=True)
class Run:
    """One tool call and its result."""

    id: str
    name: str
    arguments: dict[str, Any]
    output: str
    failed: bool = False
    picture: bool = False


@dataclass(frozen=True)
class Step:
    """One step of the model; without runs it only writes text, as at the end of a turn.

    Attributes:
        runs: its tool calls.
        text: its text.
        thought: its thinking, or `None`.
        redacted: whether only the provider can read the thought.
        answered: how many runs have a result; `None` for all of them.
        id: names a step that has no runs.
    """

    runs: Sequence[Run] = ()
    text: str = ""
    thought: str | None = None
    redacted: bool = False
    answered: int | None = None
    id: str = ""

    @property
    def done(self) -> Sequence[Run]:
        """The runs that have a result."""
        return self.runs if self.answered is None else self.runs[: self.answered]

    @property
    def mark(self) -> str:
        """The ending of the ids and signatures of the step."""
        return self.id or (self.runs[0].id if self.runs else "")


class Writer(Protocol):
    """Writes one dialect; `system_roles` are the roles its system messages may have, if any."""

    system_roles: Sequence[str] = ()

    def user(self, text: str, picture: bool, document: bool) -> Json:
        """A user message, with a picture or a text file if the flags are set."""
        ...

    def step(self, step: Step) -> list[Json]:
        """The model's messages of a step, and the messages with the results."""
        ...


def message_of(role: str, text: str, part: Json, more: Sequence[Json]) -> Json:
    """A message whose content is the text, or a list of parts if there are more."""
    return {"role": role, "content": [part, *more] if more else text}


def sealed(step: Step) -> str:
    """A base64 text that only the provider can read or check; each step has its own."""
    return b64encode(f"sealed {step.mark}".encode()).decode()


def text_of(run: Run) -> list[Json]:
    """The output as a part with a type; none if it is empty, because providers refuse that."""
    return [{"type": "text", "text": run.output}] if run.output else []


def data_url(media_type: str, data: str) -> str:
    """`data:image/gif;base64,…`."""
    return f"data:{media_type};base64,{data}"

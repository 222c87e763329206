"""What is asked in plain HTTP, and what is answered: the models of the OpenAPI document.

A request is read as the arguments of a tool are: names in camelCase are understood, and an answer
to a wrong one says what is allowed.
"""

from typing import Annotated, Any

from pydantic import Field, WithJsonSchema

from context_compression.mcp_server.arguments import STRATEGIES, Arguments, Messages
from context_compression.mcp_server.tools import REPORT_FACTS, STATUS_FACTS, output_schema
from context_compression.plurals import WHOLE
from context_compression.session.restoring import Asked
from context_compression.settings import StrategyName, Value

System = Annotated[
    str | list[Any] | dict[str, Any] | None,
    WithJsonSchema({"anyOf": [{"type": each} for each in ("string", "array", "object", "null")]}),
]
Tools = Annotated[
    list[Any] | dict[str, Any] | None,
    WithJsonSchema({"anyOf": [{"type": each} for each in ("array", "object", "null")]}),
]


class RequestBody(Arguments):
    """What a program would send to its model."""

    messages: Messages
    """the messages, in the format of Anthropic, OpenAI, Gemini, Bedrock or the AI SDK"""
    system: System = None
    """the system prompt, if it is not among the messages; counts"""
    tools: Tools = None
    """the tool definitions, as the model gets them; count"""
    model: str | None = None
    """the model that is asked: its window, and how its tokens are counted"""


class CompressBody(RequestBody):
    """Compresses a conversation now."""

    target_tokens: Annotated[int, WHOLE] | None = None
    """size to reach, with system prompt and tools; without it that of the settings"""
    strategy: Annotated[StrategyName | None, Field(description=STRATEGIES)] = None
    settings: dict[str, Any] = Field(default_factory=dict[str, Any])
    """settings for this request, by name"""
    session: str | None = None
    """keeps the originals; without it one that is named after the first messages"""


class FitBody(RequestBody):
    """Keeps a conversation within its window: compresses only if that is due.

    Pass all of the history before each request to the model, and send what comes back.
    """

    session: str
    """id of the conversation: 1 to 128 letters, digits, `.`, `_` and `-`; made if it is new"""


class RestoreBody(Arguments, Asked):
    """Brings back an original by its ref, whole or in part; or searches the archive."""

    session: str | None = None
    """the only session to look in; without it all of them"""

    @classmethod
    def known(cls) -> dict[str, dict[str, Any]]:
        """All but what is for models, who read in pages."""
        hidden = {"conversation", "start"}
        return {name: about for name, about in super().known().items() if name not in hidden}


class StatusQuery(Arguments):
    """How full a session is and what was saved; without a session, what the store holds."""

    session: str | None = None
    """id of a session"""


class MeaningOfRef(Value):
    """What a ref stands for."""

    what: str
    """in a few words"""
    messages: list[int]
    """indices of the messages that came in"""
    sha256: str
    """of the original: of a text, or of the JSON of a message"""


class Compacted(Value):
    """What to send instead of the messages that came in."""

    messages: list[dict[str, Any]]
    """in the format in which they came; those that did not change are as they came"""
    system: Any = None
    """the system prompt to send, if there is one outside the messages"""
    tokens_before: int
    """of what came in, with system prompt and tools"""
    tokens_after: int
    """of what to send, likewise"""
    target_met: bool
    """whether it is as small as was asked for; of fit: whether it is within the window"""
    changed: bool
    """whether it differs from what came in"""
    session: str | None = None
    """which session keeps the originals"""
    refs: dict[str, MeaningOfRef]
    """what this request archived"""
    report: Annotated[dict[str, Any], WithJsonSchema(output_schema(REPORT_FACTS) or {})] | None = (
        None
    )
    """the report of the compression, if there was one"""
    warnings: list[str]
    """sentences for whoever runs the program"""


class FoundText(Value):
    """An archived text or message that a search found."""

    ref: str
    what: str
    """in a few words"""
    session: str
    """which session archived it"""
    lines: list[str]
    """those that show best why it was found"""


class Restored(Value):
    """An original, or a part of it; or what a search found."""

    text: str
    """the original, byte for byte: a text as it was, a message as JSON; or the part of it that was
    asked for. Of a search: its hits in words for a model, quoted"""
    ref: str | None = None
    """with all its digits"""
    what: str | None = None
    """the original in a few words"""
    session: str | None = None
    """which session archived it"""
    values: dict[str, Any] | None = None
    """of each field that was asked for"""
    counts: dict[str, int] | None = None
    """how many values each field has, or how many lines there are"""
    hits: list[FoundText] | None = None
    """of a search, the best first"""
    total: int | None = None
    """how many there are, as far as that is known"""
    cursor: str | None = None
    """of the next page"""


class StoreStatus(Value):
    """What the store holds."""

    store: str
    """its name"""
    sessions_total: int
    bytes: int
    newest_sessions: list[str]
    """the ids of those that were written last"""
    settings: dict[str, Any]
    """those that differ from the defaults"""
    warnings: list[str]


class Problem(Value):
    """What is wrong with a request."""

    type: str
    """in one word, for programs"""
    message: str
    """what was wrong, what is allowed, what to do next"""
    floor_tokens: int | None = None
    """of `BudgetTooSmall`: the smallest target that can be met"""
    retry_after: int | None = None
    """seconds after which to ask again"""


class ErrorAnswer(Value):
    """Every answer that is not 200."""

    error: Problem


SESSION_STATUS = output_schema({**STATUS_FACTS, "compressions": int, "warnings": list}) or {}
"""The schema of the status of a session: the facts of `context_status`."""

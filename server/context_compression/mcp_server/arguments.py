"""The arguments of the tools: their schemas, the answers to wrong ones, and those of each tool.

The docstring of a tool's arguments is the tool's description for the model, and the sentence under
an argument describes the argument. Clients load all of them into every conversation, so the schemas
are compact. They have no titles, no unions with null and no bounds; the answer to a value out of
bounds states the bounds.

The server needs no more than this to list its tools. What answers a call is imported beside.
"""

import difflib
import json
import re
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from typing import Annotated, Any, ClassVar, Literal, TypeVar, cast

from mcp.server.mcpserver.exceptions import ToolError
from pydantic import BeforeValidator, ConfigDict, Field, ValidationError, WithJsonSchema
from pydantic_core import ErrorDetails

from context_compression.conversation.formats.reading import refusal
from context_compression.conversation.messages import is_array, is_object
from context_compression.errors import ContextCompressionError
from context_compression.guard import in_our_words
from context_compression.plurals import NO_BOOL, WHOLE, divided, with_half_a_list
from context_compression.session.restoring import Asked
from context_compression.setting_names import own_value, snake_case, with_own_names
from context_compression.settings import (
    GUARDED,
    NAMES,
    SHOWN,
    Settings,
    StrategyName,
    Value,
    setting_name,
)
from context_compression.strings import harmless

LISTED = 3  # wrong arguments named in one answer
KEPT = ("type", "description", "enum", "items")  # of a JSON schema
NOT_GIVEN: tuple[Any, ...] = ("", [], {})

TYPES = {
    "string": "a text",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
    "array": "a list",
    "object": "an object",
}

Messages = list[dict[str, Any]]
Positive = Annotated[int, Field(ge=1), WHOLE]


class Arguments(Value):
    """The arguments of one tool."""

    unlisted: ClassVar[frozenset[str]] = frozenset()
    """Arguments that are recognized but not in the schema."""
    tolerated: ClassVar[frozenset[str]] = frozenset()
    """Of these, the ones that no answer names: they are there for calls that guess."""

    @classmethod
    def known(cls) -> dict[str, dict[str, Any]]:
        """The schema of every recognized argument, by name, without its union with null."""
        return {n: merged(about) for n, about in cls.model_json_schema()["properties"].items()}

    @classmethod
    def required(cls) -> list[str]:
        """The arguments that every call passes; no tool has any."""
        return [name for name, field in cls.model_fields.items() if field.is_required()]

    @classmethod
    def in_our_words(cls, given: Mapping[str, Any]) -> Mapping[str, Any]:
        """The arguments of a call by the names that they have here."""
        return given


ArgumentsT = TypeVar("ArgumentsT", bound=Arguments)


def input_schema(model: type[Arguments]) -> dict[str, Any]:
    """The schema that clients get."""
    known, unlisted = model.known(), model.unlisted
    listed = {name: compact(about) for name, about in known.items() if name not in unlisted}
    return {"type": "object", "properties": listed}


def validated(model: type[ArgumentsT], given: Mapping[str, Any]) -> ArgumentsT:
    """The arguments of a call. CamelCase names are accepted; an empty value means not given.

    Raises:
        ToolError: an argument is unknown, or its value is not allowed; the message says what is.
    """
    known = model.known()
    named: dict[str, Any] = {}
    for name, value in model.in_our_words(given).items():
        snake = snake_case(name)
        if snake in named:
            raise ToolError(f"{snake} is given twice, in two spellings. Pass it once.")
        about = known.get(snake, {})
        of_setting = snake not in model.model_fields  # which reads a list in one text by itself
        meant = value if of_setting and isinstance(value, str) else _unpacked(value, about)
        if not is_empty(meant, about) or (meant == [] and snake in model.required()):
            named[snake] = meant
    if unknown := [name for name in named if name not in known]:
        unnamed = {*GUARDED, *model.tolerated}
        accepted = [name for name in known if name not in unnamed]
        raise ToolError(_unknown({name: named[name] for name in unknown}, accepted))
    try:
        return model.model_validate(named)
    except ValidationError as problem:
        first = {error["loc"][:2]: error for error in reversed(problem.errors())}
        errors = list(first.values())[::-1][:LISTED]
        said = dict.fromkeys(_explained(error, named, known) for error in errors)
        raise ToolError(" ".join(said)) from None


def is_empty(value: Any, about: Mapping[str, Any]) -> bool:
    """Whether a value means that an argument is not given.

    Strict clients send every argument, and models fill those that they do not mean: with null, an
    empty text, list or object, or with 0 where a number must be larger.

    Args:
        value: of the argument.
        about: the schema of the argument.
    """
    if type(value) in (int, float) and value == 0:
        return about.get("minimum", 0) > 0 or "exclusiveMinimum" in about
    if isinstance(value, str) and (about.get("type") != "string" or "enum" in about):
        return value.strip() in ("", "null")
    return value is None or value in NOT_GIVEN


def zeros_not_taken(model: type[Arguments], given: Mapping[str, Any]) -> list[str]:
    """A warning for each argument of a call that is 0 where a number must be larger."""
    known = model.known()
    return [
        f"{name} = 0 is too small, so it was taken as not given"
        for name, value in given.items()
        if type(value) in (int, float) and is_empty(value, known.get(snake_case(name), {}))
    ]


def merged(about: Mapping[str, Any]) -> dict[str, Any]:
    """The schema of one argument that may be left out, without its union with null.

    `{"anyOf": [{"type": "string"}, {"type": "null"}], "title": …}` -> `{"type": "string", …}`
    """
    union = [part for part in about.get("anyOf", ()) if part["type"] != "null"]
    return {**(union[0] if union else {}), **about}


def compact(about: Mapping[str, Any]) -> dict[str, Any]:
    """The schema of one argument without the parts that cost more tokens than they help."""
    short = {key: about[key] for key in KEPT if key in about}
    if "items" in short:
        short["items"] = compact(merged(about["items"]))
    return short


def _unpacked(value: Any, about: Mapping[str, Any]) -> Any:
    """The intended value, for JSON in a string, one text for a list, or a number for a text.

    An object in place of a list of objects stays an object, because its kind may be recognized.
    Nulls and empty texts in a list of texts are left out.
    """
    if about.get("type") == "array" and is_array(value) and not _is_of_objects(about):
        return [part for part in value if part not in (None, "")]
    if value == "":
        return value
    if about.get("type") == "string" and "enum" not in about:
        if isinstance(value, float) and value.is_integer():  # some clients send 7 as 7.0
            return str(int(value))
        return str(value) if type(value) is int else value
    if isinstance(value, str) and about.get("type") in ("array", "object"):
        try:
            unpacked: Any = json.loads(value)
        except (ValueError, RecursionError):
            unpacked = value
        if about["type"] == "object" or is_array(unpacked) or unpacked is None:
            return unpacked
        if _is_of_objects(about):
            return unpacked if is_object(unpacked) else [value]
        parts = divided(value)
        return value if with_half_a_list(parts) else list(parts)
    return value


def _unknown(given: Mapping[str, Any], accepted: Sequence[str]) -> str:
    """Unknown arguments, each with what may be meant; all accepted ones if that is not known."""
    hints = {name: _meant(name, value, accepted) for name, value in [*given.items()][:LISTED]}
    named = [f"{name[:SHOWN]!r}" + (f" ({hint})" if hint else "") for name, hint in hints.items()]
    every = "" if all(hints.values()) else f" Accepted: {', '.join(accepted)}."
    return f"Unknown argument {', '.join(named)}.{every}"


def _meant(name: str, value: Any, accepted: Sequence[str]) -> str:
    """What may be meant by an unknown argument; "" if nothing is near."""
    if is_object(value) and (inside := [n for n in value if snake_case(n) in accepted]):
        return f"pass {', '.join(inside[:LISTED])} without it"
    if name in NAMES and name not in GUARDED and "settings" in accepted:
        written = json.dumps({name: value}, ensure_ascii=False, default=str)
        return f"pass settings={written}" if len(written) <= SHOWN else f"pass {name} in settings"
    near = difflib.get_close_matches(name, accepted, 1)
    return f"did you mean {near[0]}?" if near else ""


def _explained(error: ErrorDetails, given: Mapping[str, Any], known: Mapping[str, Any]) -> str:
    """One wrong value, and what is allowed."""
    name, *inside = error["loc"]
    if error["type"] == "missing" and not inside:
        return f"{name} is missing: {known[str(name)]['description']}."
    about, value, shown = known[str(name)], given[str(name)], str(name)
    if _is_of_objects(about) and (reason := refusal(value)):
        return f"{name} cannot be read. {reason}"
    if inside and isinstance(inside[0], int):
        about, value, shown = about["items"], value[inside[0]], f"{name}[{inside[0]}]"
    text = json.dumps(value, ensure_ascii=False, default=str)
    text = text if len(text) <= SHOWN else f"{text[:SHOWN]}…"
    bounds = error.get("ctx", {})
    how = f": {bounds['written']}" if "written" in bounds else ""
    return f"{shown} must be {_allowed(about, value, bounds)}, not {text}{how}."


def _is_of_objects(about: Mapping[str, Any]) -> bool:
    """Whether an argument is a list of objects: messages."""
    return about.get("items", {}).get("type") == "object"


def _allowed(about: Mapping[str, Any], value: Any, bounds: Mapping[str, Any]) -> str:
    if choices := cast("list[str]", about.get("enum", [])):
        near = difflib.get_close_matches(str(value), choices, 1, 0.5)
        return f"one of {', '.join(choices)}" + (f" (nearest: {near[0]})" if near else "")
    if "ge" in bounds:
        return f"{bounds['ge']} or more"
    if "le" in bounds:
        return f"{bounds['le']} or less"
    return TYPES[about["type"]]


def without_empty(values: Mapping[str, Any]) -> dict[str, Any]:
    """The settings that a call gives as an object, without those that are null or a blank text.

    An empty list is a value there, because clients do not fill the parts of an object. Names of
    other tools become our own, as in `config.json`: `{"compaction": {"enabled": false}}`.
    """
    given = {name: value for name, value in with_own_names(values).items() if value is not None}
    return {n: v for n, v in given.items() if not isinstance(v, str) or v.strip()}


LONGEST_ERROR = 1_900  # characters; hosts cut longer errors anywhere


@contextmanager
def errors_for_the_model() -> Generator[None]:
    """Turns every exception into a `ToolError`, whose message the model reads."""
    try:
        with in_our_words(ToolError):
            yield
    except (ContextCompressionError, ToolError) as error:
        text = harmless(str(error))  # a path that is not UTF-8 would end the server
        if len(text) > LONGEST_ERROR:
            text = f"{text[:LONGEST_ERROR]}…"
        raise ToolError(text) from error


def _index(pin: Any) -> Any:
    return int(pin) if isinstance(pin, str) and re.fullmatch(r"-?\d{1,9}", pin) else pin


# Some clients accept only one type per item, so the schema says text; "12" is an index.
Pin = Annotated[int | str, NO_BOOL, BeforeValidator(_index), WithJsonSchema({"type": "string"})]

STRATEGIES = (
    "auto: cheapest first; offload: large results to files; truncate: long outputs cut; "
    "window: digest of old turns; extract: quotes of evidence; summarize: by a model or you"
)
NAMED_BY = ("key", "name", "setting")
"""Arguments that name one setting, for models that do not pass it by its own name."""
ONCE = "Pass it once, by its own name. Nothing was changed."
IN_SCHEMA = ("token_budget", "strategy")
"""The settings in the schema, which every client loads; the others are accepted as well."""


class StatusArguments(Arguments):
    """How full the context window is and what fills it; or what is archived, and which calls help.

    Use in a long chat.
    """

    conversation: str | None = None
    """session id, transcript path, or current (default)"""
    messages: Messages | None = None
    """the history, if a program holds it"""
    model: str | None = None
    """its model: window, counting"""
    response_format: Literal["concise", "detailed"] = "concise"
    """detailed shows more"""


class CompressArguments(Arguments):
    """Compacts a conversation and archives the originals. Use when it is due.

    At the end of a long chat, with summary alone: keeps a checkpoint for a new chat.
    """

    unlisted = frozenset({"model", "explain", "settings"})

    conversation: str | None = None
    """as in context_status"""
    messages: Messages | None = None
    """as there; come back compacted"""
    strategy: Annotated[StrategyName | None, Field(description=STRATEGIES)] = None
    target_tokens: Positive | None = None
    """size to reach"""
    focus: str | None = None
    """of the remaining work"""
    pins: tuple[Pin, ...] = ()
    """kept whole: index, or text in a message"""
    model: str | None = None
    """the conversation's model"""
    dry_run: bool = False
    """only report"""
    summary: str | None = None
    """text of a checkpoint; with plan_id: the requested summary"""
    title: str | None = None
    """of a checkpoint"""
    plan_id: str | None = None
    """from the request"""
    explain: bool = False
    """why messages stay or go"""
    undo: bool = False
    """the last compression"""
    settings: dict[str, Any] = Field(default_factory=dict[str, Any])
    """settings for this call, by name"""


class ConfigArguments(Arguments):
    """Lists settings, or changes them permanently, and says which act in this client.

    Use when the user asks.
    """

    model_config = ConfigDict(extra="allow")
    tolerated = frozenset({*NAMED_BY, "value", "response_format"})
    unlisted = tolerated.union(NAMES).difference(IN_SCHEMA)

    settings: dict[str, Any] = Field(default_factory=dict[str, Any])
    """any by name: {"keep_recent":15}"""
    reset: tuple[str, ...] = ()
    """names, or all"""
    response_format: Literal["concise", "detailed"] = "concise"
    """detailed: every setting"""
    key: str | None = None
    """the name of one setting; without value, it is shown"""
    name: str | None = None
    """another word for key"""
    setting: str | None = None
    """another word for key"""
    value: Any = None
    """the value of that setting"""

    @classmethod
    def known(cls) -> dict[str, dict[str, Any]]:
        """`reset` and all settings; guarded ones too, so that the refusal gives the reason."""
        settings = Settings.model_json_schema()["properties"]
        return super().known() | {name: merged(about) for name, about in settings.items()}

    @classmethod
    def in_our_words(cls, given: Mapping[str, Any]) -> Mapping[str, Any]:
        """Names of other tools become our own, as in `config.json`."""
        return with_own_names(given)

    @property
    def named(self) -> str | None:
        """The setting that the call names with a word of its own; `None` if there is none.

        Raises:
            ToolError: the words name different settings.
        """
        names = {setting_name(name) for name in (self.key, self.name, self.setting) if name}
        if len(names) > 1:
            raise ToolError(f"{', '.join(NAMED_BY)} name more than one setting. {ONCE}")
        return next(iter(names), None)

    @property
    def values(self) -> dict[str, Any]:
        """The new values by name, however the call gives them.

        Raises:
            ToolError: the call gives one setting two values.
        """
        pairs = [*(self.model_extra or {}).items(), *without_empty(self.settings).items()]
        if self.value is not None and self.named:
            given = self.key or self.name or self.setting or ""
            pairs.append((self.named, own_value(given, self.value)))
        values: dict[str, Any] = {}
        for name, value in pairs:
            if values.setdefault(setting_name(name), value) != value:
                raise ToolError(f"{setting_name(name)} is given twice. {ONCE}")
        return values


class OffloadArguments(Arguments):
    """Archives a text file and shows a preview. Use before reading a large file.

    Also archives a text, or large tool results.
    """

    content: str | None = None
    """a text; does not shorten this chat"""
    path: str | None = None
    """of a text file"""
    conversation: str | None = None
    """as in context_status"""
    min_tokens: Positive | None = None
    """of a large result; default 1000"""


class RestoreArguments(Arguments, Asked):
    """Brings back an original by ref, or parts; or searches the archive and earlier sessions.

    Use for what a note, summary or preview leaves out, or for past work.
    """

    unlisted: ClassVar = frozenset({"start"})


class SummaryArguments(Arguments):
    """Brings summaries and checkpoints, newest first.

    Use at the start of a chat that refers to earlier work.
    """

    limit: Annotated[int, Field(ge=1, le=50), WHOLE] = 3
    """default 3"""
    conversation: str | None = None
    """a session (or s1), or checkpoint"""

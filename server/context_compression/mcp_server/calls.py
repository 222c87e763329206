"""One tool call: its arguments, its settings, its worker thread, and the form of its answer.

A host shows its model one of the two. So the text is made from the facts and cannot differ.

The arguments of a tool: their schema, and the answer to wrong ones. The sentence under an argument
is its description for the model. Clients load all descriptions into every conversation, so the
schemas are compact. They have no titles, no unions with null and no bounds; the answer to a value
out of bounds states the bounds.
"""

import difflib
import json
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from typing import Annotated, Any, ClassVar, TypeVar, cast

from mcp import MCPError
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ToolError
from mcp.types import INTERNAL_ERROR, CallToolResult, TextContent
from pydantic import Field, ValidationError
from pydantic_core import ErrorDetails

from context_compression.conversation.formats.foreign import refusal
from context_compression.conversation.messages import is_array, is_object
from context_compression.errors import ContextCompressionError, InvalidSettings, UnknownRef
from context_compression.guard import in_our_words
from context_compression.hosts.conversations import Conversations
from context_compression.plurals import WHOLE
from context_compression.report.facts import Facts, inline, label
from context_compression.setting_names import with_own_names
from context_compression.settings import (
    GUARDED,
    NAMES,
    SHOWN,
    Settings,
    Value,
    setting_name,
    snake_case,
)
from context_compression.strings import harmless, one_line, with_halves_spelled
from context_compression.threads import ask, before_writing, in_thread
from context_compression.transcripts.sessions import ToolRequest
from context_compression.workspace import Workspace
from context_compression.workspace.doubts import CREDENTIALS
from context_compression.workspace.loading import NAMING

LONGEST = 8_000  # characters of an answer's text
ONE_LINE = 90  # the most characters of a list or an object on one line
MULTILINE = {"note": "", "instructions": "instructions: ", "preview": "preview:\n"}
"""Labels of texts with line breaks: those of this package, and quoted ones in their fences."""
JSON_TYPES: Mapping[type, str] = {
    str: "string", int: "integer", float: "number", bool: "boolean", list: "array", dict: "object",
}  # fmt: skip


def answer(
    headline: str, stated: Mapping[str, Any], more: Mapping[str, Any], **for_programs: Any
) -> CallToolResult:
    """A tool's answer: the parts of `Facts`, as text and as structured content.

    Args:
        headline: begins the text; its first line is also in the structured content.
        stated: the facts in the headline, which the text does not repeat.
        more: all other facts.
        for_programs: values for the structured content only, unchanged.
    """
    facts = Facts(headline.partition("\n")[0], stated, more)
    text = "\n".join([headline, *_lines(facts.shown)])
    if len(text) > LONGEST:
        text = f"{text[:LONGEST]}… (cut here)"
    return CallToolResult(
        content=[TextContent(type="text", text=harmless(text))],
        structured_content={**facts.record, **for_programs},
    )


def output_schema(facts: Mapping[str, type]) -> dict[str, Any] | None:
    """The schema of an answer's structured content, for programs; `None` without facts.

    It lists what a program reads. An answer may leave each of them out, and may have more.
    """
    if not facts:
        return None
    listed = {name: {"type": JSON_TYPES[kind]} for name, kind in {"headline": str, **facts}.items()}
    return {"type": "object", "properties": listed, "required": ["headline"]}


def with_warnings(result: CallToolResult, warnings: Sequence[str]) -> CallToolResult:
    """An answer made by `answer`, with more warnings at its end; other answers stay as they are."""
    facts, block = result.structured_content, result.content[-1]
    if not warnings or facts is None or not isinstance(block, TextContent):
        return result
    text = "\n".join([block.text, *(f"warning: {warning}" for warning in warnings)])
    return CallToolResult(
        content=[*result.content[:-1], TextContent(type="text", text=text)],
        structured_content={**facts, "warnings": [*facts.get("warnings", ()), *warnings]},
    )


def text_answer(text: str) -> CallToolResult:
    """An answer that is only text, such as quoted archived text."""
    return CallToolResult(content=[TextContent(type="text", text=with_halves_spelled(text))])


def _lines(facts: Mapping[str, Any]) -> Iterator[str]:
    for name, value in facts.items():
        plain = f"{label(name)}: {inline(value)}"
        line = f"{MULTILINE[name]}{value}" if name in MULTILINE else plain
        if len(line) <= ONE_LINE or not (is_object(value) or is_array(value)):
            yield line
            continue
        yield f"{label(name)}:"
        if is_object(value):
            yield from (f"- {one_line(part)}: {inline(inside)}" for part, inside in value.items())
        else:
            yield from (f"- {inline(part)}" for part in value)


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
    for name, value in given.items():
        snake = snake_case(name)
        if snake in named:
            raise ToolError(f"{snake} is given twice, in two spellings. Pass it once.")
        about = known.get(snake, {})
        if not is_empty(meant := _unpacked(value, about), about):
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
        raise ToolError(" ".join(_explained(error, named, known) for error in errors)) from None


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
        return not value.strip()
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
        if about["type"] == "object" or is_array(unpacked):
            return unpacked
        return unpacked if is_object(unpacked) and _is_of_objects(about) else [value]
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


def settings_for(workspace: Workspace, values: Mapping[str, Any]) -> Settings:
    """The settings of the workspace, with the values that a call passes.

    Raises:
        InvalidSettings: a name is unknown, a value is not allowed, or a tool may not set it.
    """
    values = without_empty(values)
    refuse_guarded(values)
    refuse_model_of_operator(workspace, values)
    settings = workspace.settings(values)
    _refuse_a_model(workspace, {setting_name(name): value for name, value in values.items()})
    return settings


def without_empty(values: Mapping[str, Any]) -> dict[str, Any]:
    """The settings that a call gives as an object, without those that are null or a blank text.

    An empty list is a value there, because clients do not fill the parts of an object. Names of
    other tools become our own, as in `config.json`: `{"compaction": {"enabled": false}}`.
    """
    given = {name: value for name, value in with_own_names(values).items() if value is not None}
    return {n: v for n, v in given.items() if not isinstance(v, str) or v.strip()}


def refuse_model_of_operator(workspace: Workspace, values: Mapping[str, Any]) -> None:
    """Raises `InvalidSettings` if a tenant chooses the model that the server's operator pays."""
    if workspace.tenant is None:
        return
    for name, value in values.items():
        named = setting_name(name)
        if named == "summary_model" or (named == "summarizer" and value in CREDENTIALS):
            raise InvalidSettings(
                f"{named} is chosen by the operator of this server, whose key pays the model. You "
                'can choose who else writes summaries: summarizer="caller" is you, "none" nobody, '
                'and "auto" whom the operator chose. Nothing was changed.'
            )


def refuse_guarded(values: Mapping[str, Any]) -> None:
    """Raises `InvalidSettings` if a call sets a setting that decides which files may be read."""
    for name in values:
        if (guarded := setting_name(name)) in GUARDED:
            raise InvalidSettings(
                f"{guarded} decides what may be read, so no tool can set it. The user can, with "
                f"the environment variable CONTEXT_COMPRESSION_{guarded.upper()} or on the command "
                "line. Nothing was changed."
            )


def _refuse_a_model(workspace: Workspace, values: Mapping[str, Any]) -> None:
    """Raises `InvalidSettings` if a call names a model or an API and the user has not."""
    provider = Settings.checked({n: v for n, v in values.items() if n in NAMING}).provider
    named = workspace.provider()
    if provider and not named:
        raise InvalidSettings(
            "summary_model and summarizer send the conversation to a model, so a tool can name one "
            "only after the user has: with the environment variable "
            "CONTEXT_COMPRESSION_SUMMARY_MODEL or on the command line. You can write the summary "
            'yourself: settings={"summarizer": "caller"}. Nothing was changed.'
        )
    if (api := values.get("summarizer")) in CREDENTIALS and api != named:
        raise InvalidSettings(
            f"summarizer={api} sends the conversation to another API than {named}, which the user "
            "named. Only the user can change that, with the environment variable "
            "CONTEXT_COMPRESSION_SUMMARIZER or on the command line. Nothing was changed."
        )


LONGEST_ERROR = 1_900  # characters; hosts cut longer errors anywhere

T = TypeVar("T")


@dataclass(frozen=True)
class Call:
    """A tool call: the conversations it may be about, and the client that made it."""

    conversations: Conversations
    context: Context[Any, Any]
    hooks: bool = False
    """Whether a host's hooks use this server."""
    _steps: Iterator[int] = field(default_factory=lambda: count(1), repr=False)

    @property
    def workspace(self) -> Workspace:
        """The workspace that the call works in."""
        return self.conversations.workspace

    @property
    def request(self) -> ToolRequest:
        """The call as the client sent it; it helps to find the current conversation."""
        request = self.context.request_context
        introduced, params = request.session.client_params, request.params or {}
        return ToolRequest(
            client=introduced.client_info.name if introduced else "",
            meta=cast("Mapping[str, Any]", request.meta or {}),
            tool=str(params.get("name", "")),
            arguments=params.get("arguments") or {},
        )

    async def in_thread(self, activity: str, work: Callable[[], T]) -> T:
        """Runs `work` in a worker thread and returns its result; reports `activity` first."""
        await self.report_progress(activity)

        def announced() -> T:
            with before_writing(self.before_writing):
                return work()

        return await in_thread(announced)

    def before_writing(self) -> None:
        """Called by a worker thread before it changes anything; a cancelled call ended already.

        The thread itself cannot be stopped. So a cancelled compression is computed to the end, and
        then its result is dropped.
        """
        ask(partial(self.report_progress, "writing"))

    async def report_progress(self, activity: str) -> None:
        """Sends the client a progress message."""
        await self.context.report_progress(next(self._steps), message=activity)


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


@contextmanager
def errors_of_the_protocol() -> Generator[None]:
    """Turns every exception into an `MCPError`, for prompts and resources.

    `UnknownRef` is raised as it is: its code depends on the revision of the protocol.
    """
    try:
        with in_our_words(MCPError):
            yield
    except UnknownRef:
        raise
    except ContextCompressionError as error:
        raise MCPError(INTERNAL_ERROR, harmless(str(error))) from error

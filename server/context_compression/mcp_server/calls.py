"""One tool call: its settings, its worker thread, and the form of its answer.

A host shows its model one of the two. So the text is made from the facts and cannot differ.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from typing import Any, TypeVar, cast

from mcp.server.mcpserver import Context
from mcp.types import CallToolResult, TextContent

from context_compression.conversation.messages import is_array, is_object
from context_compression.errors import InvalidSettings
from context_compression.hosts.conversations import Conversations
from context_compression.mcp_server.arguments import without_empty
from context_compression.plurals import how_many
from context_compression.report.facts import Facts, inline, label
from context_compression.session.pages import beginning
from context_compression.settings import GUARDED, Settings, setting_name
from context_compression.strings import harmless, one_line, with_halves_spelled
from context_compression.threads import ask, before_writing, in_thread
from context_compression.tokens import base_count
from context_compression.transcripts.sessions import ToolRequest
from context_compression.workspace import Workspace
from context_compression.workspace.doubts import CREDENTIALS
from context_compression.workspace.loading import NAMING

LONGEST = 8_000  # characters of an answer's text
ONE_LINE = 90  # the most characters of a list or an object on one line
MULTILINE = {"note": "", "instructions": "instructions: ", "preview": "preview:\n"}
"""Labels of texts with line breaks: those of this package, and quoted ones in their fences."""


def answer(
    headline: str,
    stated: Mapping[str, Any],
    more: Mapping[str, Any],
    told: Sequence[str] | None = None,
    most_tokens: int | None = None,
    **for_programs: Any,
) -> CallToolResult:
    """A tool's answer: the parts of `Facts`, as text and as structured content.

    Args:
        headline: begins the text; its first line is also in the structured content.
        stated: the facts in the headline, which the text does not repeat.
        more: all other facts.
        told: the names of those that the text tells; `None` for all.
        most_tokens: of the text; what does not fit is left to a detailed answer.
        for_programs: values for the structured content only, unchanged.
    """
    facts = Facts(headline.partition("\n")[0], stated, more, told)
    lines = [headline, *_lines(facts.text)]
    text = "\n".join(lines if most_tokens is None else _within(lines, most_tokens))
    if len(text) > LONGEST:
        shown = beginning(text, LONGEST)
        left = how_many(text.count("\n", shown.stop) + 1, "line")
        text = f"{shown.text.rstrip()}\n… (cut here, before {left} more)"
    return CallToolResult(
        content=[TextContent(type="text", text=harmless(text))],
        structured_content={**facts.record, **for_programs},
    )


MORE = 'more: context_status(response_format="detailed")'
NEXT = "next call: "


def _within(lines: Sequence[str], most_tokens: int) -> list[str]:
    """The first line, the next call, and those between them that fit, in their order.

    A line that only names its list goes with the items of the list.
    """
    if sum(map(_tokens, lines)) <= most_tokens:
        return [*lines]
    first, *between = lines
    ends = [MORE, *(line for line in lines[-1:] if line.startswith(NEXT))]
    between = between[: len(between) - len(ends) + 1]
    room = most_tokens - sum(map(_tokens, (first, *ends)))
    kept: list[str] = []
    head = ""
    for line in between:
        item = line.startswith("- ")
        head = head if item else line if line.endswith(":") else ""
        unit = [head, line] if item and head not in ("", *kept) else [line] * (line != head)
        if (tokens := sum(map(_tokens, unit))) <= room:
            kept += unit
            room -= tokens
    return [first, *kept, *ends]


def _tokens(line: str) -> int:
    return base_count(f"{line}\n")


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

"""Tools, resources and prompts with the names and answers that the conformance suite knows.

The suite (`@modelcontextprotocol/conformance`) describes each in the text of its scenario.
"""

import json
from base64 import b64decode
from typing import Any, Literal

from mcp.server import MCPServer
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ToolError
from mcp.server.mcpserver.prompts.base import UserMessage
from mcp.types import (
    AudioContent,
    Completion,
    EmbeddedResource,
    EmptyResult,
    ImageContent,
    SamplingMessage,
    SetLevelRequestParams,
    SubscribeRequestParams,
    TextContent,
    TextResourceContents,
    UnsubscribeRequestParams,
)
from pydantic import BaseModel, Field

from conformance import asking

PIXEL = (  # a png
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADU"
    "lEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg=="
)
SOUND = "UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAA="
IMAGE = ImageContent(type="image", data=PIXEL, mime_type="image/png")


def add_fixtures(server: MCPServer) -> MCPServer:
    """The same server, which now also has what the suite calls."""
    for tool in (*CONTENTS, *NOTIFYING, *ASKING_2025, *asking.TOOLS):
        server.add_tool(tool)
    for prompt in (*PROMPTS, asking.test_input_required_result_prompt):
        server.prompt()(prompt)
    _add_resources(server)
    _add_old_methods(server)

    @server.completion()
    async def complete(*about: Any) -> Completion:
        return Completion(values=["paris", "park"], total=2, has_more=False)

    return server


def embedded(uri: str, text: str, mime_type: str = "text/plain") -> EmbeddedResource:
    """A resource inside a message."""
    resource = TextResourceContents(uri=uri, mime_type=mime_type, text=text)
    return EmbeddedResource(type="resource", resource=resource)


def test_simple_text() -> str:
    """A text."""
    return "This is a simple text response for testing."


def test_image_content() -> list[ImageContent]:
    """An image."""
    return [IMAGE]


def test_audio_content() -> list[AudioContent]:
    """A sound."""
    return [AudioContent(type="audio", data=SOUND, mime_type="audio/wav")]


def test_embedded_resource() -> list[EmbeddedResource]:
    """A resource."""
    return [embedded("test://embedded-resource", "This is an embedded resource content.")]


def test_multiple_content_types() -> list[TextContent | ImageContent | EmbeddedResource]:
    """A text, an image and a resource."""
    text = TextContent(type="text", text="Multiple content types test:")
    data = '{"test":"data","value":123}'
    return [text, IMAGE, embedded("test://mixed-content-resource", data, "application/json")]


def test_error_handling() -> str:
    """Fails."""
    raise ToolError("This tool intentionally returns an error for testing")


CONTENTS = (
    test_simple_text, test_image_content, test_audio_content, test_embedded_resource,
    test_multiple_content_types, test_error_handling,
)  # fmt: skip


async def test_tool_with_progress(context: Context) -> str:
    """Reports progress three times."""
    for done in (0, 50, 100):
        await context.report_progress(done, 100)
    return "done"


async def test_tool_with_logging(context: Context) -> str:
    """Logs three lines."""
    for line in ("Tool execution started", "Tool processing data", "Tool execution completed"):
        await context.session.send_log_message(  # pyright: ignore[reportDeprecated]  # of 2025
            "info", line, related_request_id=context.request_id
        )
    return "done"


async def test_logging_tool(context: Context) -> str:
    """Logs nothing, because the client has set no level."""
    return "done"


async def test_trigger_tool_change(context: Context) -> str:
    """Says that the list of tools has changed."""
    await context.notify_tools_changed()
    return "done"


async def test_trigger_prompt_change(context: Context) -> str:
    """Says that the list of prompts has changed."""
    await context.notify_prompts_changed()
    return "done"


NOTIFYING = (
    test_tool_with_progress, test_tool_with_logging, test_logging_tool, test_trigger_tool_change,
    test_trigger_prompt_change,
)  # fmt: skip


class Person(BaseModel):
    """What a form asks for."""

    username: str = Field(description="User's response")
    email: str = Field(description="User's email address")


class Defaults(BaseModel):
    """A default of every primitive type."""

    name: str = "John Doe"
    age: int = 30
    score: float = 95.5
    status: Literal["active", "inactive", "pending"] = "active"
    verified: bool = True


def _titled(kind: str, *names: str) -> dict[str, Any]:
    return {kind: [{"const": name, "title": f"Option {name}"} for name in names]}


NAMES = ("option1", "option2", "option3")


class Enums(BaseModel):
    """The five ways to write a choice."""

    untitledSingle: str = Field(json_schema_extra={"enum": [*NAMES]})
    titledSingle: str = Field(json_schema_extra=_titled("oneOf", *NAMES))
    legacyEnum: str = Field(json_schema_extra={"enum": [*NAMES], "enumNames": ["One", "Two", "3"]})
    untitledMulti: list[str] = Field(
        json_schema_extra={"items": {"type": "string", "enum": [*NAMES]}}
    )
    titledMulti: list[str] = Field(json_schema_extra={"items": _titled("anyOf", *NAMES)})


async def _form(context: Context, message: str, schema: type[BaseModel]) -> str:
    given = await context.elicit(message, schema)
    content = given.data.model_dump_json() if given.action == "accept" else "{}"
    return f"Elicitation completed: action={given.action}, content={content}"


async def test_elicitation(message: str, context: Context) -> str:
    """Asks for two texts."""
    return await _form(context, message, Person)


async def test_elicitation_sep1034_defaults(context: Context) -> str:
    """Asks with defaults."""
    return await _form(context, "Check these.", Defaults)


async def test_elicitation_sep1330_enums(context: Context) -> str:
    """Asks for choices."""
    return await _form(context, "Choose.", Enums)


async def test_sampling(prompt: str, context: Context) -> str:
    """Asks the client's model."""
    asked = SamplingMessage(role="user", content=TextContent(type="text", text=prompt))
    said = await context.session.create_message([asked], max_tokens=100)  # pyright: ignore[reportDeprecated]  # of 2025
    return f"LLM response: {said.content.text if isinstance(said.content, TextContent) else ''}"


ASKING_2025 = (
    test_elicitation,
    test_elicitation_sep1034_defaults,
    test_elicitation_sep1330_enums,
    test_sampling,
)


def test_simple_prompt() -> str:
    """A text."""
    return "This is a simple prompt for testing."


def test_prompt_with_arguments(arg1: str, arg2: str) -> str:
    """A text with its arguments."""
    return f"Prompt with arguments: arg1='{arg1}', arg2='{arg2}'"


def test_prompt_with_embedded_resource(resourceUri: str) -> list[UserMessage]:
    """A resource and a text."""
    resource = embedded(resourceUri, "Embedded resource content for testing.")
    return [UserMessage(resource), UserMessage("Please process the embedded resource above.")]


def test_prompt_with_image() -> list[UserMessage]:
    """An image and a text."""
    return [UserMessage(IMAGE), UserMessage("Please analyze the image above.")]


PROMPTS = (
    test_simple_prompt,
    test_prompt_with_arguments,
    test_prompt_with_embedded_resource,
    test_prompt_with_image,
)


def _add_resources(server: MCPServer) -> None:
    @server.resource("test://static-text", description="A text.")
    def text() -> str:
        return "This is the content of the static text resource."

    @server.resource("test://static-binary", mime_type="image/png", description="An image.")
    def binary() -> bytes:
        return b64decode(PIXEL)

    @server.resource("test://watched-resource", description="A text that may change.")
    def watched() -> str:
        return "Watched."

    @server.resource("test://template/{id}/data", mime_type="application/json")
    def template(id: str) -> str:
        return json.dumps({"id": id, "templateTest": True, "data": f"Data for ID: {id}"})

    del text, binary, watched, template  # the decorator keeps them


def _add_old_methods(server: MCPServer) -> None:
    """Methods of 2025 that the SDK leaves to the server."""

    async def accepted(*request: Any) -> EmptyResult:
        return EmptyResult()

    low = server._lowlevel_server  # pyright: ignore[reportPrivateUsage]  # no public way, mcp 2.3
    low.add_request_handler("logging/setLevel", SetLevelRequestParams, accepted)
    low.add_request_handler("resources/subscribe", SubscribeRequestParams, accepted)
    low.add_request_handler("resources/unsubscribe", UnsubscribeRequestParams, accepted)

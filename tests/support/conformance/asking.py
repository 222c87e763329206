"""Tools and a prompt that ask the client back, in the protocol of 2026.

They answer a first call with requests; the client calls again with the responses.
"""

from typing import Any

from mcp import MCPError
from mcp.server.mcpserver import Context
from mcp.types import (
    MISSING_REQUIRED_CLIENT_CAPABILITY,
    CreateMessageRequest,
    CreateMessageRequestParams,
    ElicitRequest,
    ElicitRequestFormParams,
    InputRequest,
    InputRequiredResult,
    ListRootsRequest,
    SamplingMessage,
    TextContent,
)


def form(message: str, name: str, type: str = "string") -> InputRequest:
    """Asks the user for one value."""
    schema = {"type": "object", "properties": {name: {"type": type}}, "required": [name]}
    return ElicitRequest(params=ElicitRequestFormParams(message=message, requested_schema=schema))


def question(text: str, max_tokens: int = 100) -> InputRequest:
    """Asks the client's model."""
    asked = SamplingMessage(role="user", content=TextContent(type="text", text=text))
    params = CreateMessageRequestParams(messages=[asked], max_tokens=max_tokens)
    return CreateMessageRequest(params=params)


NAME = {"user_name": form("What is your name?", "name")}
CAPITAL = {"capital_question": question("What is the capital of France?")}
ROOTS: dict[str, InputRequest] = {"client_roots": ListRootsRequest()}
CONFIRM = {"confirm": form("Please confirm", "ok", "boolean")}

Answer = str | InputRequiredResult


def _asked(context: Context, requests: dict[str, InputRequest], state: str | None = None) -> Answer:
    """The responses as text; the requests if one has no response."""
    given = context.input_responses or {}
    if requests.keys() - given.keys():
        return InputRequiredResult(input_requests=requests, request_state=state)
    return " ".join(given[key].model_dump_json() for key in requests)


async def test_input_required_result_elicitation(context: Context) -> Answer:
    """Asks the user."""
    return _asked(context, NAME)


async def test_input_required_result_sampling(context: Context) -> Answer:
    """Asks the model."""
    return _asked(context, CAPITAL)


async def test_input_required_result_list_roots(context: Context) -> Answer:
    """Asks for the roots."""
    return _asked(context, ROOTS)


async def test_input_required_result_multiple_inputs(context: Context) -> Answer:
    """Asks all of them at once."""
    greeting = {"greeting": question("Generate a greeting", 50)}
    return _asked(context, NAME | greeting | ROOTS, "several")


async def test_input_required_result_request_state(context: Context) -> Answer:
    """Asks, with a state that the client must send back."""
    answer = _asked(context, CONFIRM, "confirming")
    return "state-ok" if context.request_state == "confirming" else answer


async def test_input_required_result_tampered_state(context: Context) -> Answer:
    """Asks, with a state that the SDK has signed."""
    return _asked(context, CONFIRM, "signed")


async def test_input_required_result_multi_round(context: Context) -> Answer:
    """Asks twice."""
    if context.request_state is None:
        first = {"step1": form("Step 1: What is your name?", "name")}
        return _asked(context, first, "first")
    second = {"step2": form("Step 2: What is your favorite color?", "color")}
    return _asked(context, second, "second")


async def test_input_required_result_capabilities(context: Context) -> Answer:
    """Asks only what the client can answer."""
    can = context.client_capabilities
    requests: dict[str, InputRequest] = {}
    if can and can.elicitation is not None:
        requests |= NAME
    if can and can.sampling is not None:
        requests |= CAPITAL
    return _asked(context, requests)


async def test_streaming_elicitation(context: Context) -> Answer:
    """Asks the user, on a stream."""
    return _asked(context, NAME)


async def test_missing_capability(context: Context) -> str:
    """Refuses a client that has no model."""
    can = context.client_capabilities
    if can is None or can.sampling is None:
        required: dict[str, Any] = {"requiredCapabilities": {"sampling": {}}}
        raise MCPError(MISSING_REQUIRED_CLIENT_CAPABILITY, "This tool asks a model.", required)
    return "done"


async def test_input_required_result_prompt(context: Context) -> Answer:
    """A prompt that asks the user."""
    return _asked(context, {"user_context": form("What context should the prompt use?", "context")})


TOOLS = (
    test_input_required_result_elicitation,
    test_input_required_result_sampling,
    test_input_required_result_list_roots,
    test_input_required_result_multiple_inputs,
    test_input_required_result_request_state,
    test_input_required_result_tampered_state,
    test_input_required_result_multi_round,
    test_input_required_result_capabilities,
    test_streaming_elicitation,
    test_missing_capability,
)

"""Shapes that only Anthropic has: tools that run on its servers, tools found by a search.

As in the guides "Server tools", "Programmatic tool calling", "Tool search" and "MCP connector".
"""

from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

from context_compression.testing import Run, tool_step
from generated.talk import Messages, new, one_run, outputs, runs, words

FOUND = "mcp__calendar__list"
"""A tool that only a search declares."""


def web_search(number: int, text: str) -> list[dict[str, Any]]:
    """A search of the web and what it found, as they stand in one message."""
    found = {"type": "web_search_result", "url": "https://example.org/a", "title": text}
    return [
        server_call(number, "web_search", {"query": "release date"}),
        {
            "type": "web_search_tool_result",
            "tool_use_id": f"srvtoolu_{number}",
            "content": [found | {"encrypted_content": "c2VhbGVk"}],
        },
    ]


def mcp_call(number: int, text: str) -> list[dict[str, Any]]:
    """A call that Anthropic makes to an MCP server, and its result."""
    call = {"type": "mcp_tool_use", "id": f"mcptoolu_{number}", "name": "list"}
    result = {"type": "mcp_tool_result", "tool_use_id": f"mcptoolu_{number}", "is_error": False}
    content = [{"type": "text", "text": text}]
    return [call | {"server_name": "calendar", "input": {"day": 1}}, result | {"content": content}]


def server_call(number: int, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """A call of a tool that runs on Anthropic's servers."""
    call = {"type": "server_tool_use", "id": f"srvtoolu_{number}", "name": name}
    return call | {"input": arguments}


@st.composite
def spread_steps(draw: DrawFn, taken: list[int], thought: str | None) -> Messages:
    """A program that makes calls, or a tool that is searched for and then called."""
    steps = (_programs, _client_searches, _server_searches)
    return draw(draw(st.sampled_from(steps))(taken, thought))


@st.composite
def _programs(draw: DrawFn, taken: list[int], thought: str | None) -> Messages:
    """Code whose calls are answered one step after the other; then comes what it printed."""
    number = new(taken)
    begins: list[dict[str, Any]] = []
    if thought:
        begins.append({"type": "thinking", "thinking": thought, "signature": f"sig-{number}"})
    begins.append(server_call(number, "code_execution", {"code": "print(await fetch())"}))
    messages: Messages = []
    for _ in range(draw(st.integers(1, 2))):
        spoken, *results = tool_step(draw(runs(taken)), "anthropic")
        content = [*begins, *(_by_program(call, number) for call in spoken["content"])]
        messages += [{"role": "assistant", "content": content}, *results]
        begins = []
    printed: dict[str, Any] = {"type": "code_execution_result", "stdout": draw(outputs())}
    printed |= {"stderr": "", "return_code": 0, "content": []}
    result = {"type": "code_execution_tool_result", "tool_use_id": f"srvtoolu_{number}"}
    text = {"type": "text", "text": draw(words)}
    return [*messages, {"role": "assistant", "content": [result | {"content": printed}, text]}]


def _by_program(call: dict[str, Any], number: int) -> dict[str, Any]:
    caller = {"type": "code_execution_20250825", "tool_id": f"srvtoolu_{number}"}
    return call | {"caller": caller}


@st.composite
def _client_searches(draw: DrawFn, taken: list[int], thought: str | None) -> Messages:
    """A search among the caller's tools, answered by references; then the tool is called."""
    search = Run(f"id{new(taken)}", "ToolSearch", {"query": "calendar"}, "")
    spoken, answer = tool_step([search], "anthropic", thought=thought)
    references = [{"type": "tool_reference", "tool_name": name} for name in (FOUND, "mcp__c__add")]
    answer["content"][0]["content"] = references
    return [spoken, answer, *tool_step([draw(one_run(taken, FOUND))], "anthropic", thought=thought)]


@st.composite
def _server_searches(draw: DrawFn, taken: list[int], thought: str | None) -> Messages:
    """A search that Anthropic runs, and in the same message a call of the tool it found."""
    number = new(taken)
    found = {"type": "tool_reference", "tool_name": FOUND}
    result = {"type": "tool_search_tool_search_result", "tool_references": [found]}
    search = [
        server_call(number, "tool_search_tool_regex", {"pattern": "calendar"}),
        {"type": "tool_search_tool_result", "tool_use_id": f"srvtoolu_{number}", "content": result},
    ]
    spoken, *results = tool_step([draw(one_run(taken, FOUND))], "anthropic", thought=thought)
    thinks, call = spoken["content"][:-1], spoken["content"][-1]
    return [{"role": "assistant", "content": [*thinks, *search, call]}, *results]


@st.composite
def open_steps(draw: DrawFn, taken: list[int]) -> Messages:
    """A turn that was paused in a server's call, or a program that waits for results."""
    if draw(st.booleans()):
        search = server_call(new(taken), "web_search", {"query": draw(words)})
        return [{"role": "assistant", "content": [search]}]
    steps = draw(_programs(taken, None))
    return steps[: draw(st.integers(1, len(steps) - 1))]

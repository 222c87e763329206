"""Shapes that only one of the other dialects has, and answers one rarely sees."""

from collections.abc import Callable, Mapping
from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from context_compression.testing import Dialect, said_by_model, tool_step
from generated.of_anthropic import mcp_call, web_search
from generated.talk import Messages, new, one_run, outputs, words


@st.composite
def _custom_calls(draw: DrawFn, taken: list[int], thought: str | None) -> Messages:
    """Responses: a call whose argument is free text."""
    call_id, name = f"id{new(taken)}", "apply_patch"
    call = {"type": "custom_tool_call", "id": f"ctc_{call_id}", "call_id": call_id, "name": name}
    output = {"type": "custom_tool_call_output", "call_id": call_id, "output": draw(outputs())}
    return [*_reasoning(call_id, thought), call | {"input": draw(words)}, output]


@st.composite
def _hosted_searches(draw: DrawFn, taken: list[int], thought: str | None) -> Messages:
    """Responses: a search that OpenAI runs, and what the model says to it."""
    number = new(taken)
    action = {"type": "search", "query": draw(words)}
    search = {"type": "web_search_call", "id": f"ws_{number}", "status": "completed"}
    spoken = said_by_model(draw(words), "responses")
    return [*_reasoning(str(number), thought), search | {"action": action}, *spoken]


@st.composite
def _lasting_items(draw: DrawFn, taken: list[int], thought: str | None) -> Messages:
    """Responses: what OpenAI compacted, an item that only OpenAI has, or one of a new type."""
    number = new(taken)
    item = draw(
        st.sampled_from((
            {"type": "compaction", "id": f"cmp_{number}", "encrypted_content": "c2VhbGVk"},
            {"type": "item_reference", "id": f"msg_only_theirs_{number}"},
            {"type": "hologram", "id": f"hg_{number}", "waves": [1, 2, 3]},
        ))
    )  # fmt: skip
    if draw(st.booleans()):
        return [item, *said_by_model(draw(words), "responses")]
    call, *results = tool_step([draw(one_run(taken))], "responses")
    return [call, item, *results]


@st.composite
def _mcp_approvals(draw: DrawFn, taken: list[int], thought: str | None) -> Messages:
    """Responses: the question whether to run a tool of an MCP server, the reply, and the call."""
    number = new(taken)
    about = {"server_label": "files", "name": "remove", "arguments": '{"path": "a"}'}
    request = {"type": "mcp_approval_request", "id": f"mcpr_{number}"} | about
    reply = {"type": "mcp_approval_response", "approval_request_id": f"mcpr_{number}"}
    approved = draw(st.booleans())
    called = {"type": "mcp_call", "id": f"mcp_{number}", "output": draw(outputs())} | about
    ran = [called] if approved else said_by_model(draw(words), "responses")
    return [*_reasoning(str(number), thought), request, reply | {"approve": approved}, *ran]


def _reasoning(mark: str, thought: str | None) -> Messages:
    item = {"type": "reasoning", "id": f"rs_{mark}", "encrypted_content": f"sealed-{mark}"}
    return [item | {"summary": [{"type": "summary_text", "text": thought}]}] if thought else []


@st.composite
def _responses(draw: DrawFn, taken: list[int], thought: str | None) -> Messages:
    steps = (_custom_calls, _hosted_searches, _lasting_items, _mcp_approvals)
    return draw(draw(st.sampled_from(steps))(taken, thought))


@st.composite
def _gemini(draw: DrawFn, taken: list[int], thought: str | None) -> Messages:
    """Code that Gemini ran itself, between two texts."""
    code = {"executableCode": {"language": "PYTHON", "code": "print(6 * 7)"}}
    printed = {"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": draw(outputs())}}
    return [{"role": "model", "parts": [code, printed, {"text": draw(words)}]}]


@st.composite
def _bedrock(draw: DrawFn, taken: list[int], thought: str | None) -> Messages:
    """A result that is JSON, and a mark up to which the prompt is cached."""
    messages = tool_step([draw(one_run(taken))], "bedrock", thought=thought)
    result = messages[-1]["content"][0]["toolResult"]
    result["content"] = [{"json": {"rows": [1, 2], "said": draw(words)}}]
    messages[-1]["content"].append({"cachePoint": {"type": "default"}})
    return messages


@st.composite
def _vercel(draw: DrawFn, taken: list[int], thought: str | None) -> Messages:
    """A call that the user approved or denied, or one that the provider ran."""
    run = draw(one_run(taken))
    spoken, answer = tool_step([run], "vercel", thought=thought)
    if draw(st.booleans()):
        spoken["content"][-1]["providerExecuted"] = True
        spoken["content"] += [*answer["content"], {"type": "text", "text": draw(words)}]
        return [spoken]
    approved = draw(st.booleans())
    if not approved:
        answer["content"][0]["output"] = {"type": "execution-denied", "reason": "too risky"}
    return [*_asked(spoken, run.id, approved), answer]


def _asked(spoken: dict[str, Any], call_id: str, approved: bool) -> Messages:
    """The call with the question whether to run it, and the user's reply."""
    request = {"type": "tool-approval-request", "approvalId": f"ask-{call_id}"}
    spoken["content"].append(request | {"toolCallId": call_id})
    reply = {"type": "tool-approval-response", "approvalId": f"ask-{call_id}"}
    return [spoken, {"role": "tool", "content": [reply | {"approved": approved}]}]


@st.composite
def open_approvals(draw: DrawFn, taken: list[int]) -> Messages:
    """Vercel: a call that waits for the user's approval, or that was approved and has not run."""
    run = draw(one_run(taken))
    asked = _asked(tool_step([run], "vercel", answered=0)[0], run.id, True)
    return asked[: draw(st.integers(1, 2))]


STEPS: Mapping[Dialect, Callable[[list[int], str | None], SearchStrategy[Messages]]] = {
    "responses": _responses,
    "gemini": _gemini,
    "bedrock": _bedrock,
    "vercel": _vercel,
}
"""Steps in a shape of their own, by dialect."""


def answers(kind: Dialect, text: str, taken: list[int]) -> SearchStrategy[dict[str, Any]]:
    """What an answer may hold beside or instead of its text; nothing in most dialects."""
    found: list[dict[str, Any]] = [{}]
    if kind == "openai":
        found = [{"refusal": "I can't."}, {"name": "helper"}]
    elif kind == "anthropic":
        block = {"type": "text", "text": text, "cache_control": {"type": "ephemeral"}}
        number = new(taken)
        found = [
            {"content": [block]},
            {"content": [*web_search(number, text), block]},
            {"content": [*mcp_call(number, text), {"type": "text", "text": text}]},
            {"content": [{"type": "compaction", "content": f"Earlier: {text}"}, block]},
            {"id": "msg_1"},
        ]
    elif kind == "vercel":
        part = {"type": "text", "text": f"Earlier: {text}"}
        compacted = part | {"providerOptions": {"anthropic": {"type": "compaction"}}}
        found.append({"content": [compacted, {"type": "text", "text": text}]})
    return st.sampled_from(found)

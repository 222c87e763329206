"""Each rule of the providers can fail: a sample that breaks it, and what is said then."""

from typing import Any, TypeAlias

import pytest
from generated import DIALECTS, Messages
from provider import refused

from context_compression.testing import Dialect, Run, said_by_model, said_by_user, tool_step

LS = Run("a", "ls", {"path": "."}, "main.py")
CAT = Run("b", "cat", {"path": "main.py"}, "print(1)")
Json: TypeAlias = dict[str, Any]

HALF = "half a smile \ud83d"


def asked(dialect: Dialect) -> Messages:
    return [said_by_user("Have a look.", dialect)]


def stepped(dialect: Dialect, *runs: Run, answered: int | None = None) -> Messages:
    """A question and one step, `a` called unless told otherwise."""
    return asked(dialect) + tool_step(runs or [LS], dialect, answered=answered)


def told(dialect: Dialect) -> Messages:
    return said_by_model("One file.", dialect)


def without(messages: Messages, number: int) -> Messages:
    return messages[:number] + messages[number + 1 :]


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_call_whose_result_is_gone_is_refused_once_something_follows(dialect: Dialect) -> None:
    messages = stepped(dialect, answered=0)

    assert refused(messages, dialect) == []
    assert refused(messages + asked(dialect), dialect) != []


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_result_whose_call_is_gone_is_refused(dialect: Dialect) -> None:
    question, _, result = stepped(dialect)

    assert refused([question, result], dialect) != []


@pytest.mark.parametrize("dialect", DIALECTS)
def test_half_a_character_is_refused_wherever_it_stands(dialect: Dialect) -> None:
    halved = stepped(dialect, Run("a", "ls", {}, HALF))

    assert refused([said_by_user(HALF, dialect)], dialect) == ["message 0 holds half a character"]
    assert refused(halved, dialect) == ["message 2 holds half a character"]
    assert refused([said_by_user("whole 🙂", dialect)], dialect) == []


@pytest.mark.parametrize("dialect", ["anthropic", "openai", "responses", "bedrock", "vercel"])
def test_an_id_that_is_used_twice_is_refused(dialect: Dialect) -> None:
    messages = stepped(dialect) + tool_step([LS], dialect) + told(dialect)

    assert any("twice" in fault for fault in refused(messages, dialect))


@pytest.mark.parametrize("dialect", ["openai", "bedrock"])
def test_an_id_longer_than_64_characters_is_refused(dialect: Dialect) -> None:
    for length, faults in ((64, []), (65, [f"no call id: {'x' * 65!r}"])):
        run = Run("x" * length, "ls", {}, "fine")

        assert refused(stepped(dialect, run), dialect) == faults


def use(call_id: str, **more: Any) -> Json:
    call: Json = {"type": "tool_use", "id": call_id, "name": "ls", "input": {}}
    return call | more


def served(name: str = "web_search", call_id: str = "srvtoolu_1") -> Json:
    call: Json = {"type": "server_tool_use", "id": call_id, "name": name, "input": {}}
    return call


def found(kind: str = "web_search_tool_result", call_id: str = "srvtoolu_1") -> Json:
    return {"type": kind, "tool_use_id": call_id, "content": []}


def answer(call_id: str = "a", content: Any = "fine") -> Json:
    return {"type": "tool_result", "tool_use_id": call_id, "content": content}


def model(*blocks: Json) -> Messages:
    return [{"role": "assistant", "content": list(blocks)}]


def user(*blocks: Json) -> Messages:
    return [{"role": "user", "content": list(blocks)}]


ASK = asked("anthropic")
TEXT: Json = {"type": "text", "text": "fine"}
BLANK = {"type": "text", "text": " \n"}
THOUGHT = {"type": "thinking", "thinking": "hm", "signature": "s"}
BY_PROGRAM: Json = {"caller": {"type": "code_execution_20250825", "tool_id": "srvtoolu_1"}}
PROGRAM = served("code_execution")
MARKED = TEXT | {"cache_control": {"type": "ephemeral"}}

ANTHROPIC: list[tuple[str, Messages, str]] = [
    ("the model first", told("anthropic"), "the first message is not the user's"),
    ("an empty message", [*ASK, {"role": "assistant", "content": []}], "message 1 is empty"),
    ("a blank text", [*ASK, *model(BLANK)], "message 1 has an empty text"),
    (
        "a blank text in a result",
        [*ASK, *model(use("a")), *user(answer("a", [BLANK]))],
        "message 2 has an empty text",
    ),
    ("a user who thinks", user(THOUGHT), "message 0 of role user thinks"),
    ("a user who calls", user(use("a")), "message 0 of role user holds calls or results"),
    ("a strange id", [*ASK, *model(use("a.b")), *user(answer("a.b"))], "no call id: 'a.b'"),
    (
        "a server's call with another's id",
        [*ASK, *model(served(call_id="toolu_1"), found(call_id="toolu_1"))],
        "no id of a server's call: 'toolu_1'",
    ),
    (
        "words before results",
        [*ASK, *model(use("a")), *user(TEXT, answer("a"))],
        "results do not stand first",
    ),
    (
        "two results for one call",
        [*ASK, *model(use("a")), *user(answer("a"), answer("a"))],
        "results ['a', 'a'] for calls ['a']",
    ),
    (
        "words beside what a program waits for",
        [*ASK, *model(PROGRAM, use("a", **BY_PROGRAM)), *user(answer("a")), *user(TEXT)],
        "a program waits for results, and more than results is sent",
    ),
    (
        "one of two calls without result",
        [*ASK, *model(use("a")), *model(use("b")), *user(answer("b")), *model(TEXT)],
        "calls without result: ['a']",
    ),
    (
        "a call that the model went on from",
        [*ASK, *model(use("a")), *model(TEXT)],
        "calls without result: ['a']",
    ),
    (
        "a server's call that never ended",
        [*ASK, *model(served(), TEXT), *ASK],
        "server tool srvtoolu_1 has no result",
    ),
    (
        "a server's result without its call",
        [*ASK, *model(found(), TEXT)],
        "web_search_tool_result srvtoolu_1 without its call",
    ),
    (
        "a result before its call",
        [*ASK, *model(found(), served())],
        "web_search_tool_result srvtoolu_1 without its call",
    ),
    (
        "an MCP result for another tool's call",
        [*ASK, *model(served(), found("mcp_tool_result"))],
        "mcp_tool_result srvtoolu_1 without its call",
    ),
    (
        "a program that is gone",
        [*ASK, *model(use("a", **BY_PROGRAM)), *user(answer("a"))],
        "source tool srvtoolu_1 not found for tool use a",
    ),
    (
        "a program that ended before",
        [
            *ASK,
            *model(PROGRAM, found("code_execution_tool_result"), use("a", **BY_PROGRAM)),
            *user(answer("a")),
        ],
        "source tool srvtoolu_1 not found for tool use a",
    ),
    ("five marks", user(*[MARKED] * 5), "5 cache_control marks"),
]

OPENAI: list[tuple[str, Messages, str]] = [
    ("no id", without(stepped("openai", Run("", "ls", {}, "")), 2), "no call id: ''"),
    (
        "a tool_call_id of the user's",
        [said_by_user("hi", "openai") | {"tool_call_id": "a"}],
        "message 0 of role user has a tool_call_id",
    ),
    (
        "a user who calls",
        [{"role": "user", "content": "hi", "function_call": {"name": "ls", "arguments": ""}}],
        "message 0 of role user makes calls",
    ),
    (
        "an empty text",
        [{"role": "user", "content": [{"type": "text", "text": ""}]}],
        "message 0 has an empty text",
    ),
    ("nothing said", [{"role": "assistant", "content": None}], "message 0 is empty"),
    (
        "a result behind other words",
        [*stepped("openai", answered=0), *told("openai")],
        "calls without result: ['a']",
    ),
    (
        "two results",
        [*stepped("openai"), stepped("openai")[-1]],
        "message 3 answers a, not just called",
    ),
]

LEGACY: list[tuple[str, Messages, str]] = [
    (
        "words before the result",
        [*stepped("openai-legacy", answered=0), *told("openai-legacy")],
        "function call without result: ls",
    ),
    (
        "a result of another name",
        [*stepped("openai-legacy", answered=0), stepped("openai-legacy", CAT)[-1]],
        "function message 2 answers cat, not just called",
    ),
    (
        "two results",
        [*stepped("openai-legacy"), stepped("openai-legacy")[-1]],
        "function message 3 answers ls, not just called",
    ),
]

OLLAMA: list[tuple[str, Messages, str]] = [
    ("an id", [said_by_user("hi", "ollama") | {"tool_call_id": "a"}], "message 0 has an id"),
    (
        "results in another order",
        [
            *stepped("ollama", LS, CAT, answered=0),
            *stepped("ollama", CAT)[2:],
            *stepped("ollama")[2:],
        ],
        "tool message 2 answers cat, not just called",
    ),
    (
        "a user who calls",
        [{"role": "user", "tool_calls": stepped("ollama")[1]["tool_calls"]}],
        "message 0 of role user makes calls",
    ),
    (
        "arguments as text",
        [{"role": "assistant", "tool_calls": [{"function": {"name": "ls", "arguments": "{}"}}]}],
        "message 0 has arguments that are no object",
    ),
    ("nothing said", [{"role": "assistant", "content": ""}], "message 0 is empty"),
    (
        "parts",
        [{"role": "user", "content": [{"type": "text", "text": "hi"}]}],
        "the content of message 0 is no string",
    ),
    (
        "one result of two",
        [*stepped("ollama", LS, CAT, answered=1), *told("ollama")],
        "calls without result: ['cat']",
    ),
]

REASONING: Json = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "x"}
ITEMS = stepped("responses")

RESPONSES: list[tuple[str, Messages, str]] = [
    ("one item twice", [*ITEMS, ITEMS[1] | {"call_id": "b"}], "duplicate item fc_a"),
    ("two outputs", [*ITEMS, {**ITEMS[2], "call_id": "a"}], "two outputs for call a"),
    ("a role of none", [{"role": "tool", "content": "hi"}], "item 0 has role 'tool'"),
    ("nothing said", [{"role": "user", "content": ""}], "item 0 is empty"),
    (
        "what the model says as input",
        [{"role": "assistant", "content": [{"type": "input_text", "text": "hi"}]}],
        "item 0: input_text in a message of role assistant",
    ),
    (
        "what the user says as output",
        [{"role": "user", "content": [{"type": "output_text", "text": "hi"}]}],
        "item 0: output_text in a message of role user",
    ),
    (
        "an output of another kind",
        [*ITEMS[:2], ITEMS[2] | {"type": "custom_tool_call_output"}],
        "no tool call found for output a",
    ),
    ("a call without output", [*ITEMS[:2], *asked("responses")], "no tool output for call a"),
    (
        "a call that the model went on from",
        [*ITEMS[:2], *told("responses")],
        "no tool output for call a",
    ),
    (
        "reasoning before the user",
        [*asked("responses"), REASONING, *asked("responses")],
        "reasoning rs_1 without its following item",
    ),
    (
        "reasoning at the end",
        [*asked("responses"), REASONING],
        "reasoning rs_1 without its following item",
    ),
]


def content(role: str, *parts: Json) -> Messages:
    return [{"role": role, "parts": list(parts)}]


CALL: Json = {"functionCall": {"name": "ls", "args": {}}}
OTHER_CALL: Json = {"functionCall": {"name": "cat", "args": {}}}
RESPONSE: Json = {"functionResponse": {"name": "ls", "response": {}}}
OTHER_RESPONSE: Json = {"functionResponse": {"name": "cat", "response": {}}}

GEMINI: list[tuple[str, Messages, str]] = [
    ("the model first", told("gemini"), "the first content is not the user's"),
    (
        "a role of another API",
        [*asked("gemini"), *content("tool", {"text": "hi"})],
        "content 1 has role 'tool'",
    ),
    ("no parts", content("user"), "content 0 has no parts"),
    ("an empty text", content("user", {"text": ""}), "content 0 has an empty part"),
    ("an empty part", content("user", {}), "content 0 has an empty part"),
    ("a user who calls", content("user", CALL), "content 0 of role user makes calls"),
    (
        "an answer of the model's",
        [*asked("gemini"), *content("model", CALL), *content("model", RESPONSE)],
        "content 2 of role model answers",
    ),
    (
        "a call without response",
        [*asked("gemini"), *content("model", CALL), *told("gemini")],
        "content 1: function calls without responses",
    ),
    (
        "responses in two contents",
        [
            *asked("gemini"),
            *content("model", CALL, OTHER_CALL),
            *content("user", RESPONSE),
            *content("user", OTHER_RESPONSE),
        ],
        "content 2: 1 responses for 2 calls",
    ),
    (
        "responses in another order, spelled in snake_case",
        [
            *asked("gemini"),
            *content("model", CALL, OTHER_CALL),
            *content("user", {"function_response": OTHER_RESPONSE["functionResponse"]}, RESPONSE),
        ],
        "content 2: 2 responses for 2 calls",
    ),
    (
        "a response with another id",
        [
            *stepped("gemini")[:2],
            *content("user", {"functionResponse": {"id": "b", "name": "ls", "response": {}}}),
        ],
        "content 2: 1 responses for 1 calls",
    ),
    (
        "a call behind the model's own words",
        [*asked("gemini"), *told("gemini"), *content("model", CALL)],
        "content 2: function calls do not follow the user's content",
    ),
]

BEDROCK: list[tuple[str, Messages, str]] = [
    ("the model first", told("bedrock"), "the first message is not the user's"),
    ("two of one role", asked("bedrock") * 2, "user and assistant do not take turns"),
    (
        "another role",
        [*asked("bedrock"), {"role": "tool", "content": [{"text": "hi"}]}],
        "no role: 'tool'",
    ),
    ("a string", [{"role": "user", "content": "hi"}], "message 0 has no list of blocks"),
    ("no blocks", [{"role": "user", "content": []}], "message 0 has no list of blocks"),
    ("a block with a type", user({"type": "image"}), "message 0 has a block of another API"),
    ("a blank text", user({"text": "\n"}), "message 0 has a blank text"),
    (
        "a document alone",
        user({"document": {"name": "notes"}}),
        "message 0 has a document without a text",
    ),
    (
        "a user who thinks",
        user({"reasoningContent": {"redactedContent": "x"}}),
        "message 0 of role user holds what is the other's",
    ),
    ("a strange id", stepped("bedrock", Run("a/b", "ls", {}, "fine")), "no call id: 'a/b'"),
    (
        "a result twice",
        [*stepped("bedrock")[:2], *user(*stepped("bedrock")[2]["content"] * 2)],
        "toolResults ['a', 'a'] for ['a']",
    ),
    (
        "one result of two",
        [*stepped("bedrock", LS, CAT, answered=1), *told("bedrock")],
        "toolUse without toolResult: ['b']",
    ),
]

CALLED: Json = {"type": "tool-call", "toolCallId": "a", "toolName": "ls", "input": {}}
ANSWERED: Json = {"type": "tool-result", "toolCallId": "a", "toolName": "ls", "output": {}}
REPLY: Json = {"type": "tool-approval-response", "approvalId": "ask", "approved": True}

VERCEL: list[tuple[str, Messages, str]] = [
    ("a role of none", [{"role": "function", "content": "hi"}], "message 0 has role function"),
    (
        "a system of parts",
        [{"role": "system", "content": [TEXT]}],
        "the content of message 0 is list",
    ),
    ("a tool's string", [{"role": "tool", "content": "hi"}], "the content of message 0 is str"),
    ("nothing said", [{"role": "user", "content": ""}], "message 0 is empty"),
    (
        "a user who reasons",
        user({"type": "reasoning", "text": "hm"}),
        "message 0 of role user holds a reasoning",
    ),
    (
        "a provider's call that never ended",
        [*model(CALLED | {"providerExecuted": True}), *ASK],
        "no result of a, run by the provider",
    ),
    ("a result in the model's mouth", model(ANSWERED), "tool-result a without its call"),
    ("a call without result", [*model(CALLED), *ASK], "tool-calls without tool-result: ['a']"),
    (
        "two results",
        [*model(CALLED), {"role": "tool", "content": [ANSWERED, ANSWERED]}],
        "message 1 answers a, not just called",
    ),
    (
        "a question about no call",
        model({"type": "tool-approval-request", "approvalId": "ask", "toolCallId": "a"}),
        "approval ask is asked for no call",
    ),
    (
        "a reply to no question",
        [*model(CALLED), {"role": "tool", "content": [REPLY, ANSWERED]}],
        "approval ask is answered without a request",
    ),
]

BROKEN = {
    "anthropic": ANTHROPIC, "openai": OPENAI, "openai-legacy": LEGACY, "ollama": OLLAMA,
    "responses": RESPONSES, "gemini": GEMINI, "bedrock": BEDROCK, "vercel": VERCEL,
}  # fmt: skip


@pytest.mark.parametrize(
    ("dialect", "messages", "fault"),
    [
        pytest.param(dialect, messages, fault, id=f"{dialect}: {what}")
        for dialect, samples in BROKEN.items()
        for what, messages, fault in samples
    ],
)
def test_each_rule_can_fail(dialect: str, messages: Messages, fault: str) -> None:
    assert fault in refused(messages, dialect)

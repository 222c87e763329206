"""What is special to a dialect: what a compression may not part, drop or rename there."""

import json
import re
from typing import Any

import pytest
from provider import alternates, refused, separated, signatures, unbound, undeclared

from context_compression import Result, Session, compress, count_tokens
from context_compression.conversation import is_by_model, parse
from context_compression.settings import StrategyName
from context_compression.testing import Dialect, conversation

LOG = "\n".join(f"src/part_{n % 7}.c:{n}: warning: unused variable v{n}" for n in range(400))
ALL: tuple[Dialect, ...] = (
    "anthropic", "openai", "openai-legacy", "ollama", "responses", "gemini", "bedrock", "vercel",
)  # fmt: skip
NAMES = {
    "openai-legacy": "openai", "ollama": "openai", "vercel": "ai-sdk",
}  # fmt: skip


@pytest.mark.parametrize("dialect", ALL)
def test_each_dialect_is_known_by_its_shape_and_comes_out_as_it_came_in(dialect: Dialect) -> None:
    messages = conversation(8, seed=3, dialect=dialect)

    read = parse(messages)

    assert read.format.name == NAMES.get(dialect, dialect)
    assert all(a is b for a, b in zip(read.render(read.messages), messages, strict=True))


@pytest.mark.slow
@pytest.mark.parametrize("share", [0.5, 0.2, 0.08])
@pytest.mark.parametrize("dialect", ALL)
def test_a_long_session_of_each_dialect_meets_its_target_and_is_accepted(
    dialect: Dialect, share: float
) -> None:
    messages = conversation(30, seed=5, dialect=dialect)

    result = compress(messages, target_tokens=int(count_tokens(messages) * share))

    assert result.target_met
    assert result.tokens_after == count_tokens(result.messages)
    assert refused(result.messages, dialect) == []


@pytest.mark.slow
@pytest.mark.parametrize("dialect", ALL)
def test_a_session_grows_and_is_compressed_again_in_each_dialect(
    dialect: Dialect, tmp_path: Any
) -> None:
    messages = conversation(24, seed=7, dialect=dialect)
    session = Session(tmp_path, "s", settings={"token_budget": 12_000})
    for message in messages:
        if is_by_model(message):
            session.prepare()  # the request that it answers
        session.record(message)

    assert session.status().compressions > 1
    assert refused(session.view(), dialect) == []
    assert session.store.verify() == []
    originals = {json.dumps(original) for _, _, original in session.archived()}
    reopened = Session(tmp_path, "s")
    assert reopened.view() == session.view()
    shown = {json.dumps(message) for message in session.view()}
    gone = [message for message in messages if json.dumps(message) not in shown]
    assert all(json.dumps(message) in originals for message in gone)


def in_steps(dialect: str, steps: int = 8) -> list[dict[str, Any]]:
    """One request, tool steps with reasoning, and another request."""
    writers = {"responses": _responses_step, "gemini": _gemini_step, "anthropic": _anthropic_step}
    ask, go_on = (
        {"role": "user", "parts": [{"text": text}]}
        if dialect == "gemini"
        else {"role": "user", "content": text}
        for text in ("Fix the build. Never touch src/vendor.", "Go on.")
    )
    return [ask, *(each for n in range(steps) for each in writers[dialect](n)), go_on]


def _responses_step(n: int) -> list[dict[str, Any]]:
    return [
        {"type": "reasoning", "id": f"rs_{n}", "summary": [], "encrypted_content": "c2VhbA==" * 99},
        {"type": "function_call", "id": f"fc_{n}", "call_id": f"c{n}", "name": "make",
         "arguments": "{}"},
        {"type": "function_call_output", "call_id": f"c{n}", "output": LOG},
    ]  # fmt: skip


def _gemini_step(n: int) -> list[dict[str, Any]]:
    call = {"name": "make", "args": {"script": f"step {n}; " * 200}}
    response = {"name": "make", "response": {"output": LOG}}
    return [
        {"role": "model", "parts": [{"functionCall": call, "thoughtSignature": f"c2ln{n}"}]},
        {"role": "user", "parts": [{"functionResponse": response}]},
    ]


def _anthropic_step(n: int) -> list[dict[str, Any]]:
    thought = {"type": "thinking", "thinking": f"Step {n} needs the header.", "signature": f"s{n}"}
    call = {"type": "tool_use", "id": f"toolu_{n}", "name": "make", "input": {"n": n}}
    result = {"type": "tool_result", "tool_use_id": f"toolu_{n}", "content": LOG}
    return [
        {"role": "assistant", "content": [thought, call]},
        {"role": "user", "content": [result]},
    ]


@pytest.mark.parametrize("target", [20_000, 8_000, 3_000])
def test_an_item_of_responses_that_lost_its_reasoning_does_not_name_it_any_more(
    target: int,
) -> None:
    items = in_steps("responses")

    view = compress(items, target_tokens=target).messages

    assert refused(view, "responses") == []
    assert separated(items, view) == []


@pytest.mark.parametrize("target", [20_000, 8_000])
def test_a_signed_call_of_geminis_current_turn_goes_back_as_it_came(target: int) -> None:
    contents = in_steps("gemini")[:-1]

    view = compress(contents, target_tokens=target).messages

    assert refused(view, "gemini") == []
    assert signatures(contents, view) == []


def test_signed_thinking_goes_with_what_stood_before_it_and_the_report_says_how_much() -> None:
    messages = in_steps("anthropic")

    result = compress(messages, target_tokens=10_000)

    assert unbound(messages, result.messages) == []
    assert result.thinking_dropped == 8
    assert "8 signed thinking blocks dropped" in "; ".join(result.notes)


def test_thinking_in_front_of_the_first_change_stays_as_it_was() -> None:
    done = [*in_steps("anthropic", 1)[:-1], {"role": "assistant", "content": "Done."}]
    small = json.loads(json.dumps(done).replace(json.dumps(LOG)[1:-1], "ok"))
    messages = [*small, *in_steps("anthropic", 6)]

    result = compress(messages, target_tokens=int(count_tokens(messages) * 0.8), strategy="offload")

    assert result.first_changed is not None
    assert result.first_changed > 1
    assert result.messages[1] is messages[1]
    assert unbound(messages, result.messages) == []


@pytest.mark.parametrize(
    ("settings", "model", "kept"),
    [
        ({"thinking": "keep"}, None, True),
        ({}, "claude-sonnet-4-5", True),
        ({"thinking": "bound"}, "claude-sonnet-4-5", False),
        ({}, "claude-fable-5-1", False),
        ({}, None, False),
    ],
)
def test_thinking_stays_behind_a_change_only_where_the_provider_does_not_check(
    settings: dict[str, Any], model: str | None, kept: bool
) -> None:
    messages = in_steps("anthropic")

    result = compress(
        messages, target_tokens=20_000, strategy="offload", settings=settings, model=model
    )

    assert result.changed
    assert ('"signature"' in json.dumps(result.messages)) == kept


def strict_chat() -> list[dict[str, Any]]:
    messages: list[dict[str, Any]] = [{"role": "system", "content": "Be terse."}]
    for n in range(9):
        messages.append({"role": "user", "content": f"Port part {n}. Never edit vendor/."})
        call = {"id": f"call{n:05}", "type": "function",
                "function": {"name": "sh", "arguments": "{}"}}  # fmt: skip
        messages.append({"role": "assistant", "content": None, "tool_calls": [call]})
        messages.append({"role": "tool", "tool_call_id": f"call{n:05}", "content": LOG})
        messages.append({"role": "assistant", "content": f"Part {n} is ported. " * 9})
    return [*messages, {"role": "user", "content": "Now the release note."}]


@pytest.mark.parametrize("target", [9_000, 3_000, 1_500])
@pytest.mark.parametrize("strategy", ["auto", "window", "extract"])
def test_roles_alternate_where_they_did_and_the_model_may_want_it(
    strategy: StrategyName, target: int
) -> None:
    messages = strict_chat()

    by_model = compress(messages, target_tokens=target, strategy=strategy, model="devstral-2")
    by_setting = compress(
        messages, target_tokens=target, strategy=strategy, settings={"alternate_roles": True}
    )

    for result in (by_model, by_setting):
        assert alternates(result.messages) == []
        assert refused(result.messages, "openai") == []
        assert result.target_met


def searched(n: int) -> list[dict[str, Any]]:
    found = {"type": "web_search_result", "title": f"Notes {n}", "url": f"https://example.org/{n}",
             "encrypted_content": "QUJD" * 500}  # fmt: skip
    cited = {"type": "web_search_result_location", "url": f"https://example.org/{n}",
             "encrypted_index": "QQ==", "cited_text": "repaired"}  # fmt: skip
    answer = {"type": "text", "text": f"Release {n} repaired src/lex_{n}.rs.", "citations": [cited]}
    call = {"type": "server_tool_use", "id": f"srvtoolu_{n}", "name": "web_search",
            "input": {"query": f"release {n}"}}  # fmt: skip
    result = {"type": "web_search_tool_result", "tool_use_id": call["id"], "content": [found]}
    return [
        {"role": "user", "content": f"And release {n}?"},
        {"role": "assistant", "content": [call, result, answer]},
    ]


def test_the_words_of_an_answer_stay_when_what_a_search_found_leaves() -> None:
    messages = [m for n in range(9) for m in searched(n)] + [{"role": "user", "content": "Sum up."}]

    result = compress(messages, target_tokens=2_500)

    view = json.dumps(result.messages)
    assert result.target_met
    assert refused(result.messages, "anthropic") == []
    assert all(f"Release {n} repaired src/lex_{n}.rs." in view for n in range(9))
    calls = re.findall(r'"server_tool_use"', view)
    assert len(calls) == len(re.findall(r'"web_search_tool_result"', view)) < 9
    assert "web_search: release 0 left out" in view


def test_a_tool_that_a_search_found_stays_declared_while_it_is_called() -> None:
    found = [{"type": "tool_reference", "tool_name": "mcp__calendar__list"}]
    messages: list[dict[str, Any]] = [{"role": "user", "content": "What is on this week?"}]
    call = {"type": "tool_use", "id": "t", "name": "ToolSearch", "input": {"query": "calendar"}}
    messages.append({"role": "assistant", "content": [call]})
    result = {"type": "tool_result", "tool_use_id": "t", "content": found}
    messages.append({"role": "user", "content": [result]})
    for n in range(8):
        day = {
            "type": "tool_use",
            "id": f"d{n}",
            "name": "mcp__calendar__list",
            "input": {"day": n},
        }
        messages.append({"role": "assistant", "content": [day]})
        said = {"type": "tool_result", "tool_use_id": f"d{n}", "content": LOG}
        messages.append({"role": "user", "content": [said]})

    for target in (12_000, 6_000, 2_000):
        view = compress(messages, target_tokens=target).messages
        assert refused(view, "anthropic") == []
        assert undeclared(view, messages) == []


def test_a_call_id_that_is_used_again_gets_another_of_its_length_and_form() -> None:
    long = "call_" + "b7Q" * 19 + "xy"
    step = [
        {"role": "assistant", "content": None, "tool_calls": [
            {"id": long, "type": "function", "function": {"name": "sh", "arguments": "{}"}}]},
        {"role": "tool", "tool_call_id": long, "content": "ok"},
    ]  # fmt: skip
    messages: list[Any] = [{"role": "user", "content": "Go."}, *step, *step, *step]

    result = compress(messages, target_tokens=10_000, force=True)

    ids = [m["tool_call_id"] for m in result.messages if m["role"] == "tool"]
    assert len(set(ids)) == 3
    assert {len(each) for each in ids} == {len(long)}
    assert all(re.fullmatch(r"call_[A-Za-z0-9]{59}", each) for each in ids)


def test_what_was_pasted_at_the_end_does_not_push_out_all_else_while_the_window_has_room() -> None:
    dump = "\n".join(f"row {n}: column {n} moved to slot {n * 7}" for n in range(6_500))
    messages = [*in_steps("anthropic", 40)[:-1], {"role": "assistant", "content": "Understood."},
                {"role": "user", "content": f"Find the row that is wrong:\n{dump}"}]  # fmt: skip

    result: Result = compress(messages, settings={"token_budget": 200_000})

    assert result.changed
    assert "Never touch src/vendor." in json.dumps(result.messages)
    assert 100_000 < result.tokens_after < 160_000
    assert any("is below the minimum size of" in note for note in result.notes)

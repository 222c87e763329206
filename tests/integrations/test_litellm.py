"""The callback runs in the real proxy of LiteLLM, before fake providers on loopback."""

from typing import Any

import pytest
from agent_runs import assert_kept
from frameworks import Framework

pytestmark = pytest.mark.slow

LITELLM = Framework("litellm")


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What agents behind one proxy saw, and what its providers were sent."""
    return LITELLM.run("litellm_proxy.py", "ours", folder=tmp_path_factory.mktemp("proxy"))


@pytest.fixture(scope="module")
def facts(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What the callback does without a running proxy."""
    return LITELLM.run("litellm_kinds.py", folder=tmp_path_factory.mktemp("kinds"))


@pytest.fixture
def special(seen: dict[str, Any]) -> dict[str, Any]:
    """What happened in requests of other kinds."""
    return seen["special"]


def test_an_agent_keeps_its_prompt_cache_over_100_steps_and_loses_nothing(seen: dict[str, Any]):
    chat = seen["Chat"]

    assert_kept(chat)
    assert chat["answers"]["ref"].count("unused variable v0_") == 120
    assert chat["history"] == 1 + 2 * 98 + 1  # the two calls of our tool never reached the agent


@pytest.mark.parametrize("api", ["Messages", "Responses"])
def test_the_other_apis_are_fitted_and_restored_too(seen: dict[str, Any], api: str):
    run = seen[api]

    assert (run["requests"], run["unpaired"], run["without_rule"]) == (28, [], 0)
    assert run["answers"]["ref"].count("unused variable v") == 120
    assert run["history"] == 1 + 2 * 26 + 1


def test_a_stream_of_anthropic_continues_with_the_answer(special: dict[str, Any]):
    assert "unused variable v0_" in special["answer_streamed"]
    assert special["streamed"].count('"message_start"') == 1
    assert "Done." in special["streamed"]
    assert "context_restore" not in special["streamed"]


def test_a_chat_stream_goes_on_with_the_answer(special: dict[str, Any]):
    assert "unused variable v0_" in special["answer_chat_streamed"]
    assert special["chat_streamed"].count("Let me ") == 2  # before the call, and after the answer
    assert special["chat_streamed"].count('"finish_reason":"stop"') == 1
    assert "context_restore" not in special["chat_streamed"]
    assert special["chat_streamed"].endswith("data: [DONE]\n\n")


def test_a_call_of_the_client_is_streamed_to_it(special: dict[str, Any]):
    assert '"name":"logs"' in special["client_call_streamed"]
    assert '"finish_reason":"tool_calls"' in special["client_call_streamed"]


def test_a_model_that_never_stops_to_restore_loses_the_tool(special: dict[str, Any]):
    assert special["rounds"] == [2] * 8 + [1]


def test_a_tool_of_the_clients_own_with_our_name_stays_its_own(special: dict[str, Any]):
    assert '"name": "context_restore"' in special["own_tool_streamed"]
    assert "event: error" not in special["own_tool_streamed"]
    lines = special["result_beside_own_tool"].count("\\n")
    assert lines >= 120  # that tool could not restore what we left out


def test_malformed_tools_are_refused_by_the_proxy_and_not_by_us(special: dict[str, Any]):
    assert "tools.0: Input should be a valid dictionary" in special["malformed"]


@pytest.mark.parametrize("who", ["other_key", "other_session"])
def test_nothing_of_another_key_or_session_is_restored(special: dict[str, Any], who: str):
    assert "Error: Nothing is archived" in special[f"answer_{who}"]
    assert "unused variable" not in special[f"answer_{who}"]


def test_the_tool_is_offered_only_where_it_can_be_answered(special: dict[str, Any]):
    assert special["tools_of_a_responses_stream"] == 1
    assert special["tools_when_translated"] == 1
    assert special["tools_of_no_tools"] is None


def test_a_message_of_an_unknown_kind_is_passed(special: dict[str, Any]):
    assert special["unknown"] == ["user", "assistant", "critic", "user"]


def test_the_session_of_a_request_can_be_had_by_who_sent_it(facts: dict[str, Any]):
    assert facts["fitted"] == facts["session_of"]
    assert facts["of_another_key"] != facts["session_of"]


@pytest.mark.parametrize("tools", ["no tools", "tools", "its own"])
def test_a_fitted_request_without_an_id_still_has_its_session(
    facts: dict[str, Any], tools: str
) -> None:
    assert facts["without_id"][tools] == {
        "same": True, "recorded": 61, "changed": True, "other_key": False,
        "answered": tools == "tools",
    }  # fmt: skip


def test_without_the_packages_of_the_proxy_the_adapter_names_its_extra(facts: dict[str, Any]):
    assert 'pip install ".[litellm]" "litellm[proxy]"' in facts["without_proxy"]

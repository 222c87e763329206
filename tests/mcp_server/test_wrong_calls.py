import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp import Client
from mcp_door import answer_of, ask, connected, refusal, workspace_in

from context_compression.mcp_server.arguments import ConfigArguments, validated
from context_compression.mcp_server.tools import OFFERS, Offer
from context_compression.settings import GUARDED, NAMES, Settings
from context_compression.testing import conversation

pytestmark = pytest.mark.anyio

NUMBERS = [name for name, value in Settings() if type(value) in (int, float)]

scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text()
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
)


async def test_a_misspelled_argument_is_answered_with_the_nearest(client: Client) -> None:
    said = await refusal(client, "context_compress", conversaton="a", stratgy="auto")

    assert "'conversaton' (did you mean conversation?), 'stratgy' (did you mean strategy?)" in said
    assert "Accepted" not in said


async def test_an_argument_like_no_other_is_answered_with_all_there_are(client: Client) -> None:
    compress = await refusal(client, "context_compress", xyzzy=1, stratgy="auto")
    config = await refusal(client, "context_config", xyzzy=1)

    assert "'xyzzy', 'stratgy' (did you mean strategy?). Accepted: conversation, " in compress
    accepted = config.partition("Accepted: ")[2].rstrip(".").split(", ")
    assert {*accepted} == {*NAMES, "reset", "settings"}.difference(GUARDED)


async def test_a_setting_that_is_no_argument_is_answered_with_where_it_goes(client: Client) -> None:
    said = await refusal(client, "context_compress", maxTurns=3)

    assert said.endswith("""'max_turns' (pass settings={"max_turns": 3}).""")


async def test_a_wrong_value_is_answered_with_what_it_may_be(client: Client) -> None:
    said = await refusal(
        client, "context_compress", target_tokens="many", strategy="windw", messages=[1]
    )

    assert 'target_tokens must be a whole number, not "many": write 50000, 50,000, 50k' in said
    assert "strategy must be one of auto, " in said
    assert "(nearest: window)" in said
    assert "messages[0] must be an object, not 1." in said


@pytest.mark.parametrize(
    ("tool", "arguments", "wanted"),
    [
        ("context_compress", {"target_tokens": -1}, "target_tokens must be 1 or more, not -1."),
        ("context_summary", {"limit": 51}, "limit must be 50 or less, not 51."),
        ("context_compress", {"pins": [1.5]}, "pins[0] must be a text, not 1.5."),
        ("context_status", {"response_format": 5}, "must be one of concise, detailed, not 5."),
    ],
)
async def test_bounds_and_choices_are_told(
    client: Client, tool: str, arguments: dict[str, Any], wanted: str
) -> None:
    assert wanted in await refusal(client, tool, **arguments)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("tool", "arguments", "wanted"),
    [
        ("context_compress", {"target_tokens": True}, "target_tokens must be a whole number"),
        ("context_compress", {"pins": [True]}, "pins[0] must be a text, not true."),
        ("context_compress", {"settings": {"keepRecent": True}}, "keep_recent = true"),
        ("context_offload", {"content": "x", "min_tokens": True}, "must be a whole number"),
        ("context_summary", {"limit": True}, "limit must be a whole number, not true."),
        *(("context_config", {name: True}, f"{name} = true") for name in NUMBERS),
    ],
)
async def test_true_is_no_number(
    client: Client, tool: str, arguments: dict[str, Any], wanted: str
) -> None:
    assert wanted in await refusal(client, tool, **arguments)


async def test_a_long_wrong_value_is_not_repeated_at_length(client: Client) -> None:
    said = await refusal(client, "context_compress", target_tokens="x" * 100_000)

    assert len(said) < 200


async def test_an_argument_in_two_spellings_is_refused(client: Client) -> None:
    said = await refusal(client, "context_compress", target_tokens=5, targetTokens=6)

    assert said.startswith("target_tokens is given twice")


async def test_camel_case_is_understood(client: Client) -> None:
    answer = await ask(
        client, "context_compress", messages=conversation(4), targetTokens=5_000, dryRun=True
    )

    assert answer.facts["target_tokens"] == 5_000
    assert answer.text.startswith("dry run")


@pytest.mark.parametrize("offer", OFFERS, ids=lambda offer: offer.name)
@pytest.mark.parametrize("empty", [None, "", [], {}], ids=repr)
def test_an_empty_value_means_not_given(offer: Offer, empty: Any) -> None:
    arguments = validated(offer.arguments, dict.fromkeys(offer.arguments.known(), empty))

    assert arguments.model_fields_set == set()
    assert arguments == offer.arguments()


@pytest.mark.parametrize(
    ("tool", "name"),
    [("context_compress", "target_tokens"), ("context_offload", "min_tokens"),
     ("context_summary", "limit"), ("context_config", "token_budget"),
     ("context_config", "trigger_threshold")],
)  # fmt: skip
def test_zero_means_not_given_where_a_number_must_be_larger(tool: str, name: str) -> None:
    offer = next(offer for offer in OFFERS if offer.name == tool)

    assert validated(offer.arguments, {name: 0}) == offer.arguments()
    assert validated(offer.arguments, {name: 0.0}) == offer.arguments()


def test_zero_and_false_are_values_where_they_are_allowed() -> None:
    given = {"reserve_tokens": 0, "importance_threshold": 0, "auto_compress": False}

    assert validated(ConfigArguments, given).model_extra == given


@pytest.mark.parametrize("name", ["context_status", "context_compress"])
async def test_an_empty_list_of_messages_is_answered_as_none(client: Client, name: str) -> None:
    filled = await ask(client, name, messages=[], conversation="", model="")

    assert filled.text == (await ask(client, name)).text


async def test_empty_texts_in_a_list_of_texts_are_left_out(client: Client) -> None:
    asked = {"messages": conversation(6), "target_tokens": 9_000}

    filled = await ask(client, "context_compress", pins=["", None], **asked)

    assert filled.facts["target_met"]
    assert "pin" not in filled.text


async def test_an_argument_that_a_call_needs_is_missing_where_it_is_empty(client: Client) -> None:
    for tool, arguments in (
        ("context_offload", {"content": "", "path": "", "conversation": "", "min_tokens": 0}),
        ("context_restore", {"ref": "", "query": "", "pattern": "", "lines": "", "cursor": ""}),
        ("context_compress", {"plan_id": "p-1", "summary": ""}),
    ):
        needed = {name: value for name, value in arguments.items() if value}
        said = await refusal(client, tool, **arguments)
        assert said == await refusal(client, tool, **needed)


@pytest.mark.parametrize("written", ["50k", "50K", "50,000", "50_000", "0.05m", " 50 k ", "50000"])
async def test_a_number_may_come_as_people_write_it(client: Client, written: str) -> None:
    asked = {"messages": conversation(4), "dry_run": True}

    answer = await ask(client, "context_compress", target_tokens=written, **asked)

    assert answer.facts["target_tokens"] == 50_000


@pytest.mark.parametrize("written", ["50.000", "1,5k", "1.2345k", "fifty", "50 %", "5e4", 50.5])
async def test_a_text_that_is_no_whole_number_is_refused_with_examples(
    client: Client, written: Any
) -> None:
    said = await refusal(client, "context_compress", target_tokens=written)

    assert "target_tokens must be a whole number" in said
    assert "50,000, 50k" in said or written == 50.5


async def test_lists_and_objects_may_come_as_json_in_a_string(client: Client) -> None:
    answer = await ask(
        client,
        "context_compress",
        messages=json.dumps(conversation(6)),
        settings='{"keep_recent_tokens": 100}',
        pins="[0]",
        target_tokens="9000",
    )

    assert answer.facts["target_met"]


async def test_text_that_looks_like_json_stays_text(client: Client) -> None:
    archived = await ask(client, "context_offload", content='{"a": [1, 2]}')

    restored = await ask(client, "context_restore", ref=archived.facts["ref"])

    assert restored.pages == ['{"a": [1, 2]}']


@pytest.mark.parametrize(
    ("messages", "wanted"),
    [
        (
            {"messages": [{"type": "human", "content": "hi"}]},
            "messages cannot be read. This is a L",
        ),
        ([{"type": "human", "content": "hi"}], "These are LangChain messages. Convert them with "),
        ({"contents": [{"parts": [{"text": "hi"}]}]}, "Pass its contents; "),
        ([{"role": "user", "parts": [{"type": "text"}]}], "These are UIMessages of the AI SDK"),
        ({"custom_id": "r1", "params": {"messages": []}}, "This is a row of an Anthropic batch."),
        ({"role": "user", "content": "hi"}, 'messages must be a list, not {"role": "user", '),
    ],
)
async def test_messages_of_a_foreign_format_are_refused_by_name_also_as_json_in_a_string(
    client: Client, messages: Any, wanted: str
) -> None:
    for given_as in (messages, json.dumps(messages)):
        for tool in ("context_status", "context_compress"):
            assert wanted in await refusal(client, tool, messages=given_as)


async def test_messages_that_are_none_are_refused(client: Client) -> None:
    for role, content in (("robot", "x"), (None, "x"), ("user", 5)):
        messages = [{"role": role, "content": content}]
        for tool in ("context_status", "context_compress"):
            assert "message 0" in (await refusal(client, tool, messages=messages)).lower()


@pytest.mark.slow
@given(st.data())
def test_no_garbage_brings_a_tool_down(data: st.DataObject) -> None:
    offer = data.draw(st.sampled_from(OFFERS))
    names = st.sampled_from(sorted(offer.arguments.known())) | st.text(max_size=10)
    arguments = data.draw(st.dictionaries(names, values, max_size=4))

    with TemporaryDirectory() as folder:
        answer = anyio.run(_answered, Path(folder), offer.name, arguments)

    assert answer.text
    assert answer.text != f"Error executing tool {offer.name}"
    assert "Traceback" not in answer.text
    assert "pydantic" not in answer.text
    json.dumps([answer.text, answer.facts], ensure_ascii=False).encode()


async def _answered(folder: Path, tool: str, arguments: dict[str, Any]) -> Any:
    async with connected(workspace_in(folder), "legacy") as client:
        return answer_of(await client.call_tool(tool, arguments))

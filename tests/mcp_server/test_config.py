import json
import re
from pathlib import Path
from typing import Any

import pytest
from mcp import Client
from mcp_door import agrees, ask, connected, refusal, workspace_in

from context_compression.mcp_server import create_server
from context_compression.settings import GUARDED, NAMES, USUAL, Settings
from context_compression.testing import conversation
from context_compression.tokens import base_count
from context_compression.workspace import Workspace

pytestmark = pytest.mark.anyio


async def test_without_arguments_it_shows_every_setting_with_origin_and_meaning(
    tmp_path: Path,
) -> None:
    workspace = workspace_in(tmp_path, {"CONTEXT_COMPRESSION_MAX_TURNS": "30"})
    workspace.store.update_config(lambda _: {"keepRecent": 4})

    async with connected(workspace) as client:
        answer = await ask(client, "context_config", response_format="detailed")

    shown = answer.facts["settings"]
    assert tuple(shown) == NAMES
    assert shown["keep_recent"] | {"meaning": ""} == {
        "value": 4, "from": "config.json", "meaning": "",
    }  # fmt: skip
    assert (shown["max_turns"]["value"], shown["max_turns"]["from"]) == (30, "environment")
    assert shown["strategy"]["from"] == "default"
    assert "token_budget: 200,000 (default; tokens of the model's context window)" in answer.text
    assert len(answer.text) < 8_000
    assert agrees(answer)


async def test_the_list_names_what_people_change_and_what_was_set_and_how_to_see_the_others(
    client: Client,
) -> None:
    await ask(client, "context_config", settings={"summary_role": "system"})

    answer = await ask(client, "context_config")
    everything = await ask(client, "context_config", response_format="detailed")

    told = re.findall(r"^(\w+): .*\((?:default|config\.json); ", answer.text, re.M)
    assert told == [name for name in NAMES if name in {*USUAL, "summary_role"}]
    more = len(NAMES) - len(told)
    assert f'{more} more: context_config(response_format="detailed")' in answer.text
    assert tuple(answer.facts["settings"]) == NAMES
    assert "alternate_roles: unset" in everything.text
    assert "summary_role: system (config.json; " in answer.text
    assert base_count(answer.text) < 450


@pytest.mark.parametrize(
    ("values", "said"),
    [
        (
            {"keepRecent": 15},
            "keep_recent changes nothing in this chat: this client does not share",
        ),
        (
            {"settings": {"keep_recent": 15, "max_turns": 60}},
            "max_turns and keep_recent change nothing in this chat",
        ),
        ({"summaryTargetTokens": 4_000}, "summary_target_tokens changes nothing in this chat"),
        ({"trigger_threshold": 0.7}, "trigger_threshold changes nothing in this chat"),
        ({"offload_at_source": "bash=500"}, "offload_at_source changes nothing in this client"),
        ({"manual_target_usage": 0.3}, "A host's hooks (context-compression install) and programs"),
    ],
)
async def test_a_value_that_acts_on_nothing_in_this_client_is_said_to(
    tmp_path: Path, values: dict[str, Any], said: str
) -> None:
    async with connected(workspace_in(tmp_path), name="claude-ai") as client:
        answer = await ask(client, "context_config", **values)
        preview = await ask(client, "context_config", offload_preview_tokens=300)

    assert said in answer.facts["note"]
    assert said in answer.text
    assert "note" not in preview.facts
    assert agrees(answer)


async def test_where_the_chat_is_shared_only_what_another_strategy_reads_acts_on_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shares = "context_compression.hosts.conversations.Conversations.shares_current"

    def shared(_: object, request: object) -> bool:
        return request is not None

    monkeypatch.setattr(shares, shared)

    async with connected(workspace_in(tmp_path)) as client:
        of_window = await ask(client, "context_config", keep_recent=5)
        of_all = await ask(client, "context_config", keep_recent_tokens=9_000)
        window = await ask(client, "context_config", strategy="window", keep_recent=4)

    note = "Only the strategy window reads keep_recent, and the strategy is another one."
    assert of_window.facts["note"] == note
    assert "note" not in of_all.facts
    assert "note" not in window.facts


async def test_a_change_is_written_and_said(client: Client, workspace: Workspace) -> None:
    answer = await ask(client, "context_config", keepRecent=5, trigger_threshold=0.7)

    assert answer.text.splitlines()[0] == "trigger_threshold: 0.8 → 0.7; keep_recent: 10 → 5"
    assert workspace.store.read_config() == {"keep_recent": 5, "trigger_threshold": 0.7}
    assert workspace.settings().keep_recent == 5
    assert agrees(answer)


async def test_only_what_differs_from_the_defaults_is_written(
    client: Client, workspace: Workspace
) -> None:
    await ask(client, "context_config", keep_recent=5, max_turns=50)

    back = await ask(client, "context_config", keep_recent=10)

    assert back.text.startswith("keep_recent: 5 → 10")
    assert workspace.store.read_config() == {}


async def test_nothing_to_change_is_said(client: Client) -> None:
    answer = await ask(client, "context_config", keep_recent=10)

    assert answer.text.startswith("nothing was changed")


async def test_every_setting_can_be_set_by_its_name(client: Client, workspace: Workspace) -> None:
    values = Settings(
        keep_recent=3, tail_retention_ratio=0.2, important_keywords=("x",), summary_model="m"
    ).model_dump(mode="json")
    given = {name: value for name, value in values.items() if name not in GUARDED}

    answer = await ask(client, "context_config", **given)

    assert not answer.failed
    assert workspace.store.read_config() == {
        "keep_recent": 3, "tail_retention_ratio": 0.2, "important_keywords": ["x"],
        "summary_model": "m",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("written", "words"),
    [
        ("contract,invoice", ["contract", "invoice"]),
        ("合同，发票", ["合同", "发票"]),
        ("合同；“发票、已付”", ["合同", "发票、已付"]),
        ('["合同，已签"]', ["合同，已签"]),
        (["合同，已签"], ["合同，已签"]),
    ],
)
@pytest.mark.parametrize("way", ["name", "settings", "key"])
async def test_a_list_in_one_text_is_divided_at_the_commas_of_any_script(
    client: Client, workspace: Workspace, written: Any, words: list[str], way: str
) -> None:
    given = {
        "name": {"importantKeywords": written},
        "settings": {"settings": {"important_keywords": written}},
        "key": {"key": "important_keywords", "value": written},
    }[way]

    await ask(client, "context_config", **given, keep_recent=5)
    assert workspace.store.read_config() == {"important_keywords": words, "keep_recent": 5}

    await ask(client, "context_config", reset="important_keywords，keepRecent")
    assert workspace.store.read_config() == {}


@pytest.mark.parametrize("way", ["name", "reset"])
async def test_half_a_list_in_a_list_is_refused_and_null_is_not_given(
    client: Client, workspace: Workspace, way: str
) -> None:
    argument = {"name": "importantKeywords", "reset": "reset"}[way]
    said = await refusal(client, "context_config", **{argument: '["keep_recent", "b"], c'})
    await ask(client, "context_config", **{argument: "null"}, keep_recent=5)

    assert ["important_keywords", "reset"][way == "reset"] in said
    assert workspace.store.read_config() == {"keep_recent": 5}


async def test_reset_sets_back_some_or_all(client: Client, workspace: Workspace) -> None:
    await ask(client, "context_config", keep_recent=5, max_turns=7, max_tool_output=900)

    some = await ask(client, "context_config", reset=["keepRecent"])
    all_of_them = await ask(client, "context_config", reset="all")

    assert some.facts["changed"] == {"keep_recent": {"from": 5, "to": 10}}
    assert set(all_of_them.facts["changed"]) == {"max_turns", "max_tool_output"}
    assert workspace.store.read_config() == {}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "wanted"),
    [
        ({"keep_recent": -1}, "nearest valid: 1"),
        ({"settings": {"keep_recent": 0}}, "nearest valid: 1"),
        ({"key": "keep_recent", "value": 0.5}, "default: 10"),
        ({"key": "token_bugdet", "value": 5}, "did you mean token_budget"),
        ({"value": 5}, "value needs key"),
        ({"strategy": "trunkate"}, "nearest valid: truncate"),
        ({"trigger_threshold": 2}, "nearest valid: 1"),
        ({"keep_recnt": 5}, "did you mean keep_recent?"),
        ({"set": {"keepRecent": 5}}, "'set' (pass keepRecent without it)"),
        ({"reset": ["keep_recnt"]}, "did you mean"),
    ],
)
async def test_what_cannot_be_is_refused_with_the_nearest_that_can(
    client: Client, workspace: Workspace, arguments: dict[str, object], wanted: str
) -> None:
    await ask(client, "context_config", max_turns=7)

    said = await refusal(client, "context_config", **{"max_tool_output": 700, **arguments})

    assert wanted in said
    assert workspace.store.read_config() == {"max_turns": 7}


@pytest.mark.parametrize(
    "given",
    [
        {"key": "token_budget", "value": 100_000},
        {"name": "tokenBudget", "value": "100k"},
        {"setting": "token_budget", "value": "100,000", "reset": []},
        {"settings": {"token_budget": "0.1M"}},
        {"settings": '{"tokenBudget": 100000}'},
        {"token_budget": "100_000", "key": "", "value": "", "settings": {}},
    ],
)
async def test_a_setting_may_be_named_in_the_ways_that_models_try(
    client: Client, workspace: Workspace, given: dict[str, object]
) -> None:
    answer = await ask(client, "context_config", **given)

    assert answer.text.startswith("token_budget: 200,000 → 100,000")
    assert workspace.store.read_config() == {"token_budget": 100_000}


async def test_a_name_alone_shows_one_setting(client: Client) -> None:
    answer = await ask(client, "context_config", key="maxTurns", value="")

    assert answer.text.splitlines()[1].startswith("max_turns: 50 (default; ")
    assert list(answer.facts["settings"]) == ["max_turns"]
    assert "max turns" in (await refusal(client, "context_config", key="max turns"))


async def test_empty_values_change_nothing_and_a_list_can_be_emptied_in_settings(
    client: Client, workspace: Workspace
) -> None:
    await ask(client, "context_config", important_keywords=["x"], summary_model="m")
    kept = workspace.store.read_config()

    filled = await ask(
        client, "context_config", important_keywords=[], summary_model="", strategy=" ", reset=[],
        settings={"summary_model": None, "strategy": " "}, max_turns=" ",
    )  # fmt: skip
    unchanged = workspace.store.read_config()
    emptied = await ask(client, "context_config", settings={"important_keywords": []})

    assert not filled.failed
    assert unchanged == kept
    assert emptied.facts["changed"] == {"important_keywords": {"from": ["x"], "to": []}}


async def test_a_zero_that_cannot_be_is_not_taken_silently(
    client: Client, workspace: Workspace
) -> None:
    zeros = {"keep_recent": 0, "tokenBudget": 0}
    changed = await ask(client, "context_config", **zeros, max_turns=70)
    shown = await ask(client, "context_config", **zeros, response_format="detailed")

    assert workspace.store.read_config() == {"max_turns": 70}
    for answer in (changed, shown):
        assert agrees(answer)
        assert answer.facts["warnings"] == [
            "keep_recent = 0 is too small, so it was taken as not given",
            "tokenBudget = 0 is too small, so it was taken as not given",
        ]


async def test_it_says_from_when_on_a_compression_is_due_and_what_decides_that(
    client: Client,
) -> None:
    default = await ask(client, "context_config")
    share = await ask(client, "context_config", token_budget=100_000)
    reserved = await ask(client, "context_config", trigger_threshold=0.95)

    assert (
        "is due: from 160,000 tokens on (80 % of 200,000), down to 100,000; where the model's "
        "window is known, it counts instead of 200,000" in default.text
    )
    assert "from 80,000 tokens on (80 % of 100,000), down to 50,000" in share.text
    assert "from 83,617 tokens on (more than 100,000 minus 16,384 of reserve" in reserved.text
    assert "trigger_threshold = 0.95 would be 95,000 tokens, but" in reserved.text


async def test_it_says_where_nothing_compresses_by_itself(workspace: Workspace) -> None:
    async with connected(workspace) as client:
        alone = await ask(client, "context_config", auto_compress=False)
        other = await ask(client, "context_config", max_turns=7)
    async with Client(create_server(workspace, hooks="claude-code")) as client:
        with_hooks = await ask(client, "context_config", auto_compress=True)

    assert "auto_compress changes nothing" in alone.text
    assert "auto_compress changes nothing" not in other.text + with_hooks.text


@pytest.mark.parametrize(
    ("environ", "values", "said"),
    [
        ({}, {"summary_model": "m"}, "it is named in the store's settings alone"),
        (
            {},
            {"summarizer": "anthropic"},
            "asked: none is named; summarizer is set in the store's s",
        ),
        ({}, {"summary_model": "m", "summarizer": "none"}, "because summarizer = none"),
        ({"CONTEXT_COMPRESSION_SUMMARY_MODEL": "m"}, {"max_turns": 7}, "neither ANTHROPIC_API_KEY"),
        ({"CONTEXT_COMPRESSION_SUMMARIZER": "anthropic"}, {"max_turns": 7}, "neither ANTHROPIC_"),
        ({"CONTEXT_COMPRESSION_SUMMARIZER": "openai"}, {"max_turns": 7}, "neither OPENAI_API_KEY"),
        (
            {"CONTEXT_COMPRESSION_SUMMARY_MODEL": "m", "ANTHROPIC_API_KEY": "k"},
            {"summarizer": "openai"},
            "may not choose who gets the conversation; you named anthropic",
        ),
        (
            {"CONTEXT_COMPRESSION_SUMMARY_MODEL": "m", "OPENAI_API_KEY": "k"},
            {"max_turns": 7},
            "set CONTEXT_COMPRESSION_SUMMARIZER=openai",
        ),
    ],
)
async def test_a_named_model_that_will_not_be_asked_is_said_at_once(
    tmp_path: Path, environ: dict[str, str], values: dict[str, object], said: str
) -> None:
    async with connected(workspace_in(tmp_path, environ)) as client:
        answer = await ask(client, "context_config", **values)

    assert said in "".join(answer.facts["warnings"])
    assert "will" in answer.text


@pytest.mark.parametrize("name", ["allowed_paths", "allowedPaths", "read_host_transcripts"])
async def test_no_tool_opens_a_door(client: Client, workspace: Workspace, name: str) -> None:
    said = await refusal(client, "context_config", **{name: True, "keep_recent": 5})

    assert "no tool can set it" in said
    assert "CONTEXT_COMPRESSION_" in said
    assert workspace.store.read_config() == {}


async def test_the_environment_wins_and_the_answer_says_so(tmp_path: Path) -> None:
    workspace = workspace_in(tmp_path, {"CONTEXT_COMPRESSION_TOKEN_BUDGET": "50k"})

    async with connected(workspace) as client:
        answer = await ask(client, "context_config", token_budget="70k", keep_recent=5)
        again = await ask(client, "context_config", token_budget="70k")

    said = (
        "token_budget is 70,000 in config.json now, but CONTEXT_COMPRESSION_TOKEN_BUDGET "
        "overrides it"
    )
    assert answer.facts["headline"] == f"keep_recent: 10 → 5; {said}"
    assert answer.facts["changed"] == {"keep_recent": {"from": 10, "to": 5}}
    assert again.facts["headline"] == said
    assert agrees(answer) and agrees(again)
    assert workspace.store.read_config() == {"token_budget": 70_000, "keep_recent": 5}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"setting": "token_budget", "value": "100k", "token_budget": "90k"}, "given twice"),
        ({"settings": {"tokenBudget": "100k"}, "token_budget": "90k"}, "given twice"),
        ({"key": "max_turns", "name": "keep_recent", "value": 8}, "more than one setting"),
        ({"token_budget": "150k", "reset": ["tokenBudget"]}, "Set or reset token_budget, not both"),
    ],
)
async def test_arguments_that_contradict_each_other_change_nothing(
    client: Client, workspace: Workspace, arguments: dict[str, Any], said: str
) -> None:
    refused = await refusal(client, "context_config", **arguments)

    assert said in refused
    assert refused.endswith("Nothing was changed.")
    assert workspace.store.read_config() == {}


@pytest.mark.parametrize(
    "variable",
    [
        "CONTEXT_COMPRESSION_KEEP_RECENT",
        "SYNAPSE_COMPACT_PRESERVE_COUNT",
        "CONTEXT_COMPRESSION_READ_HOST_TRANSCRIPTS",
    ],
)
async def test_a_broken_environment_is_told_by_each_call_that_needs_settings_and_by_no_other(
    tmp_path: Path, variable: str
) -> None:
    workspace = workspace_in(tmp_path, {variable: "banana"})
    calls: tuple[tuple[str, dict[str, Any]], ...] = (
        ("context_status", {"messages": conversation(2)}),
        ("context_compress", {"conversation": "current"}),
        ("context_config", {}),
        ("context_config", {"max_turns": 7}),
    )

    async with connected(workspace) as client:
        told = [await refusal(client, tool, **arguments) for tool, arguments in calls]
        kept = await ask(client, "context_offload", content="a text")
        back = await ask(client, "context_restore", ref=kept.facts["ref"])

    assert all(f'= "banana" (from the environment variable {variable})' in said for said in told)
    assert back.pages == ["a text"]
    assert workspace.store.read_config() == {}
    assert workspace.access.read_host_transcripts is ("READ_HOST" not in variable)


async def test_a_config_broken_by_hand_can_be_mended(client: Client, workspace: Workspace) -> None:
    await ask(client, "context_config", max_turns=7)
    path = workspace.store.folder / "config.json"
    path.write_text(json.dumps({"version": 1, "keep_recent": -4, "no_such": 1}), encoding="utf-8")

    broken = await refusal(client, "context_config", max_turns=9)
    mended = await ask(client, "context_config", reset=["all"], max_turns=9)

    assert "no_such" in broken
    assert not mended.failed
    assert workspace.store.read_config() == {"max_turns": 9}


async def test_a_name_that_is_no_setting_can_be_reset_by_itself(
    client: Client, workspace: Workspace
) -> None:
    await ask(client, "context_config", max_turns=7)
    path = workspace.store.folder / "config.json"
    path.write_text(json.dumps({"version": 1, "maxTurns": 7, "no_such": 1}), encoding="utf-8")

    mended = await ask(client, "context_config", reset=["no_such"])

    assert not mended.failed
    assert workspace.store.read_config() == {"max_turns": 7}


async def test_settings_that_hardly_go_together_are_set_with_a_warning(
    client: Client, workspace: Workspace
) -> None:
    changed = await ask(client, "context_config", trigger_threshold=0.4)
    shown = await ask(client, "context_config")
    mended = await ask(client, "context_config", target_usage=0.3)

    for answer in (changed, shown):
        assert "trigger_threshold = 0.4 is below target_usage = 0.5" in answer.text
    assert "is below" not in mended.text
    assert workspace.store.read_config() == {"trigger_threshold": 0.4, "target_usage": 0.3}


async def test_a_very_long_value_is_taken_and_not_said_again_at_length(
    client: Client, workspace: Workspace
) -> None:
    keyword = "x" * 5_000

    changed = await ask(client, "context_config", important_keywords=[keyword])
    shown = await ask(client, "context_config", response_format="detailed")
    refused = await refusal(client, "context_config", strategy=keyword, reset=[keyword])

    assert workspace.store.read_config() == {"important_keywords": [keyword]}
    assert "… (5,000 characters)" in changed.text
    assert len(changed.text) < 1_500
    assert len(json.dumps(changed.facts)) < 1_800
    assert keyword not in json.dumps(shown.facts)
    assert "record_markers: ARTIFACT_SAVED; NODE_COMPLETE (default; " in shown.text
    assert agrees(changed) and agrees(shown)
    assert len(refused) < 1_000


async def test_a_wrong_long_value_is_shortened_where_it_is_refused(client: Client) -> None:
    for wrong in ({"keep_recent": "x" * 5_000}, {"strategy": "y" * 5_000}):
        assert len(await refusal(client, "context_config", **wrong)) < 300


async def test_folders_allowed_on_the_command_line_are_shown(tmp_path: Path) -> None:
    home, cwd, one, two = (tmp_path / name for name in ("home", "project", "one", "two"))
    cwd.mkdir()
    environ = {"CONTEXT_COMPRESSION_ALLOWED_PATHS": str(one)}
    workspace = Workspace.here(environ=environ, cwd=cwd, home=home, allow=[str(two)])

    async with connected(workspace) as client:
        answer = await ask(client, "context_config", response_format="detailed")
        changed = await ask(client, "context_config", keep_recent=3)

    shown = answer.facts["settings"]["allowed_paths"]
    assert (shown["value"], shown["from"]) == ([str(one), str(two)], "command line")
    assert f"allowed_paths: {one}; {two} (command line; " in answer.text
    assert agrees(answer)
    assert changed.text.startswith("keep_recent: 10 → 3")
    assert workspace.store.read_config() == {"keep_recent": 3}


async def test_nested_names_of_another_tool_are_understood_as_in_the_file(
    client: Client, workspace: Workspace
) -> None:
    nested = {"compaction": {"enabled": False, "keepRecentTokens": 9_000}}

    await ask(client, "context_config", settings=nested)
    refused = await refusal(client, "context_config", settings={"compaction": {"strategy": "x"}})

    assert workspace.store.read_config() == {"auto_compress": False, "keep_recent_tokens": 9_000}
    assert "compaction.strategy" in refused


@pytest.mark.parametrize(
    "arguments",
    [
        {"settings": {"compaction": {"maxRetries": 4, "maxSummaryTokens": "4k"}}},
        {"compaction": {"compactMaxRetries": 4, "maxSummaryTokens": 4_000}},
        {"COMPACT_MAX_RETRIES": 4, "compaction.maxSummaryTokens": 4_000},
    ],
)
async def test_names_of_other_tools_are_taken_however_they_are_passed(
    client: Client, workspace: Workspace, arguments: dict[str, Any]
) -> None:
    await ask(client, "context_config", **arguments)

    assert workspace.store.read_config() == {"summary_attempts": 5, "max_summary_tokens": 4_000}


async def test_such_a_name_may_be_the_key_of_one_value(
    client: Client, workspace: Workspace
) -> None:
    await ask(client, "context_config", key="compactMaxRetries", value=2)
    await ask(client, "context_config", key="COMPACT_THRESHOLD_RATIO", value="92 %")

    assert workspace.store.read_config() == {"trigger_threshold": 0.92}  # 3 attempts are default


async def test_a_variable_that_sets_nothing_is_told(tmp_path: Path) -> None:
    async with connected(workspace_in(tmp_path, {"COMPACT_FOO": "1"})) as client:
        shown = await ask(client, "context_config")

    [told] = shown.facts["warnings"]
    assert (
        told
        == "COMPACT_FOO is not understood. The nearest name that is understood is COMPACT_MODEL."
    )

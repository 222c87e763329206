"""Every setting's default, the layers they come from, and what is said about wrong ones."""

import copy
import json
import os
import pickle
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from context_compression import Session, Settings, Store, compress, should_compress, usage
from context_compression.cli import main
from context_compression.errors import InvalidSettings
from context_compression.settings import ALIASES, GUARDED, NAMES, changed_config, setting_name
from context_compression.workspace import Workspace, unknown_variables

DEFAULTS: dict[str, Any] = {
    "token_budget": 200_000,
    "trigger_threshold": 0.8,
    "target_usage": 0.5,
    "manual_target_usage": 0.2,
    "reserve_tokens": 16_384,
    "auto_compress": True,
    "strategy": "auto",
    "summary_template": "goal",
    "max_turns": 50,
    "keep_recent": 10,
    "max_tool_output": 3_000,
    "summary_max_chars": 500,
    "importance_threshold": 0.3,
    "min_recent_messages": 10,
    "preserve_messages": 5,
    "fallback_turns": 4,
    "keep_recent_tokens": 20_000,
    "tail_retention_ratio": None,
    "compact_trigger_tokens": 15_000,
    "summary_target_tokens": 8_000,
    "max_summary_tokens": None,
    "summary_attempts": 3,
    "summary_seconds": None,
    "on_summary_failure": "extract",
    "summarizer": "auto",
    "summary_model": None,
    "summary_role": "user",
    "offload_min_tokens": 1_000,
    "offload_preview_tokens": 200,
    "offload_at_source": (),
    "keep_tools": (),
    "thinking": "auto",
    "alternate_roles": None,
    "allowed_paths": (),
    "read_host_transcripts": True,
    "recall_projects": (),
    "recall_at_start": True,
}
"""The design's table, written down once more on purpose."""


def test_every_default_is_that_of_the_designs_table() -> None:
    settings = Settings().model_dump()

    lists = {name: settings.pop(name) for name in ("important_keywords", "record_markers")}
    assert settings == DEFAULTS
    assert lists["record_markers"] == ("ARTIFACT_SAVED", "NODE_COMPLETE")


def test_important_keywords_are_english_and_chinese() -> None:
    keywords = Settings().important_keywords

    assert {"important", "must", "decided", "重要", "必须", "决定"} <= set(keywords)


def test_every_setting_says_what_it_means() -> None:
    assert all(field.description for field in Settings.model_fields.values())


def test_compression_is_due_at_the_threshold_or_when_the_reserve_is_touched() -> None:
    assert Settings().threshold_tokens == 160_000  # 0.8 x 200,000; the reserve begins at 183,617
    assert Settings(trigger_threshold=0.57).threshold_tokens == 114_000
    assert Settings(token_budget=99_999).threshold_tokens == 80_000  # no less than 79,999.2
    assert Settings(trigger_threshold=0.95).threshold_tokens == 200_000 - 16_384 + 1
    assert Settings(token_budget=10_000).threshold_tokens == 8_000
    assert Settings(token_budget=10_000, trigger_threshold=1).threshold_tokens == 8_001


def test_the_target_is_a_share_of_the_budget() -> None:
    assert Settings().target_tokens == 100_000
    assert Settings(token_budget=5_000, target_usage=0.3).target_tokens == 1_500


def test_in_small_windows_what_is_kept_free_shrinks() -> None:
    small = Settings(token_budget=8_000)

    assert small.reserve == 1_600
    assert small.recent_tokens == 2_000
    assert small.summary_tokens == 800


def test_in_large_windows_it_does_not() -> None:
    large = Settings(token_budget=1_000_000)

    assert (large.reserve, large.recent_tokens, large.summary_tokens) == (16_384, 20_000, 8_000)


def test_tail_retention_ratio_replaces_keep_recent_tokens_when_set() -> None:
    assert Settings(tail_retention_ratio=0.4).recent_tokens == 80_000
    assert Settings(tail_retention_ratio=0.4, token_budget=1_000).recent_tokens == 400


def test_the_summary_calls_limit_is_a_share_of_the_reserve_but_lets_a_summary_end() -> None:
    assert Settings().summary_limit == 13_107
    assert Settings(reserve_tokens=5_000).summary_limit == 9_600
    assert Settings(max_summary_tokens=20_000).summary_limit == 20_000
    assert Settings(max_summary_tokens=100).summary_limit == 9_600


def test_the_budget_is_the_models_window_unless_one_is_set() -> None:
    messages = [{"role": "user", "content": "hello"}]

    assert usage(messages).total_budget == 200_000
    assert usage(messages, model="gpt-5").total_budget == 400_000
    assert usage(messages, model="gpt-5", settings={"token_budget": 9_000}).total_budget == 9_000
    assert usage(messages, model="gpt-5", settings={"keep_recent": 3}).total_budget == 400_000
    assert usage(messages, model="nobody-knows-it").total_budget == 200_000


def test_a_setting_may_be_given_its_default_on_purpose() -> None:
    given = Settings(token_budget=200_000).changed({"keep_recent": 3})

    assert usage([], model="gpt-5", settings=given).total_budget == 200_000


def test_later_layers_win_one_setting_at_a_time() -> None:
    settings = Settings.layered(
        config={"keep_recent": 1, "max_turns": 1, "fallback_turns": 1},
        environ={"CONTEXT_COMPRESSION_MAX_TURNS": "2", "CONTEXT_COMPRESSION_FALLBACK_TURNS": "2"},
        arguments={"fallback_turns": 3},
    )

    assert settings.preserve_messages == 5
    assert settings.keep_recent == 1
    assert settings.max_turns == 2
    assert settings.fallback_turns == 3


@pytest.mark.parametrize("config", ["keepRecent", "keep_recent"])
@pytest.mark.parametrize("argument", ["keepRecent", "keep_recent"])
def test_later_layers_win_in_whichever_spelling(config: str, argument: str) -> None:
    environ = {"CONTEXT_COMPRESSION_KEEP_RECENT": "2"}

    assert Settings.layered({config: 1}, environ, {argument: 3}).keep_recent == 3
    assert Settings.layered({config: 1}, environ).keep_recent == 2


def test_no_layer_at_all_gives_the_defaults() -> None:
    assert Settings.layered() == Settings()


@pytest.mark.parametrize("name", NAMES)
def test_every_setting_can_come_from_the_environment(name: str) -> None:
    texts = {
        "auto_compress": "false",
        "strategy": "window",
        "summary_template": "technical",
        "on_summary_failure": "skip",
        "summarizer": "none",
        "summary_model": "claude-x",
        "summary_role": "system",
        "thinking": "keep",
        "alternate_roles": "true",
        "important_keywords": "alpha, beta",
        "record_markers": "MARK",
        "offload_at_source": "Read=0、ci*=20k",
        "keep_tools": "get_plan; mcp__ci__*",
        "allowed_paths": os.pathsep.join(["/a", "/b"]),
        "read_host_transcripts": "false",
        "recall_projects": os.pathsep.join(["/a", "/b"]),
        "recall_at_start": "false",
        "importance_threshold": "0.7",
        "target_usage": "0.7",
        "manual_target_usage": "0.7",
        "trigger_threshold": "0.7",
        "tail_retention_ratio": "0.7",
        "summary_attempts": "7",
    }
    values = {
        "auto_compress": False,
        "alternate_roles": True,
        "read_host_transcripts": False,
        "recall_projects": ("/a", "/b"),
        "recall_at_start": False,
        "important_keywords": ("alpha", "beta"),
        "record_markers": ("MARK",),
        "offload_at_source": ("Read=0", "ci*=20000"),
        "keep_tools": ("get_plan", "mcp__ci__*"),
        "allowed_paths": ("/a", "/b"),
    }
    text = texts.get(name, "777")

    settings = Settings.layered(environ={f"CONTEXT_COMPRESSION_{name.upper()}": text})

    value = getattr(settings, name)
    assert value == values.get(name, type(value)(text))
    assert settings.model_fields_set == {name}


@pytest.mark.parametrize("prefix", ["SYNAPSE_COMPACT_", "COMPACT_"])
def test_the_names_of_another_tool_are_understood(prefix: str) -> None:
    environ = {
        f"{prefix}TRIGGER_THRESHOLD": "1",
        f"{prefix}TARGET_TOKENS": "2",
        f"{prefix}PRESERVE_COUNT": "3",
        f"{prefix}MODEL": "four",
        f"{prefix}RETRY_COUNT": "5",
        "CONTEXT_TOKEN_LIMIT": "60000",
    }

    settings = Settings.layered({"summary_attempts": 9}, environ)

    assert environ.keys() <= ALIASES.keys()
    assert settings.compact_trigger_tokens == 1
    assert settings.summary_target_tokens == 2
    assert settings.preserve_messages == 3
    assert settings.summary_model == "four"
    assert settings.summary_attempts == 5
    assert settings.token_budget == 60_000


def test_of_two_names_of_another_tool_the_longer_one_counts() -> None:
    environ = {"SYNAPSE_COMPACT_PRESERVE_COUNT": "3", "COMPACT_PRESERVE_COUNT": "4"}

    assert Settings.layered(environ=environ).preserve_messages == 3


def test_our_own_name_beats_an_alias() -> None:
    environ = {"CONTEXT_COMPRESSION_PRESERVE_MESSAGES": "7", "SYNAPSE_COMPACT_PRESERVE_COUNT": "3"}

    assert Settings.layered(environ=environ).preserve_messages == 7


@pytest.mark.parametrize(
    "values",
    [
        {"compaction": {"enabled": False, "reserveTokens": 7, "keepRecentTokens": 8}},
        {
            "compaction.enabled": False,
            "compaction.reserveTokens": 7,
            "compaction.keep_recent_tokens": 8,
        },
    ],
)
def test_settings_of_another_agent_are_understood_nested_and_dotted(
    values: dict[str, Any], tmp_path: Path
) -> None:
    (tmp_path / "config.json").write_text(json.dumps(values), encoding="utf-8")

    in_the_file = Settings.load(tmp_path, {})

    for settings in (Settings.checked(values), Settings.layered(values), in_the_file):
        assert (settings.auto_compress, settings.reserve_tokens) == (False, 7)
        assert settings.keep_recent_tokens == 8


def test_our_own_name_beats_one_of_another_agent_in_whichever_order() -> None:
    nested = {"compaction": {"enabled": False, "reserveTokens": 7}}

    assert Settings.checked({"autoCompress": True, **nested}).auto_compress is True
    assert Settings.checked({**nested, "auto_compress": True}).auto_compress is True
    assert Settings.checked({**nested, "auto_compress": True}).reserve_tokens == 7


def test_an_unknown_name_among_them_is_refused_with_the_nearest_one() -> None:
    with pytest.raises(InvalidSettings, match=r"'compaction.keepRecent'; did you mean keep_recent"):
        Settings.checked({"compaction": {"keepRecent": 3}})
    with pytest.raises(InvalidSettings, match=r"Unknown setting 'compaction'"):
        Settings.checked({"compaction": True})


SAME: list[tuple[str, str, Any, str, Any]] = [
    ("CONTEXT_TOKEN_LIMIT", "contextTokenLimit", "90k", "token_budget", 90_000),
    ("SYNAPSE_MAX_CONTEXT_WINDOW", "synapseMaxContextWindow", 90, "token_budget", 90),
    ("COMPACT_THRESHOLD_RATIO", "compactThresholdRatio", "92 %", "trigger_threshold", 0.92),
    ("SYNAPSE_COMPACT_THRESHOLD_RATIO", "thresholdRatio", 0.7, "trigger_threshold", 0.7),
    ("TAIL_RETENTION_RATIO", "tailRetentionRatio", 0.15, "tail_retention_ratio", 0.15),
    ("COMPACT_MAX_RETRIES", "compactMaxRetries", "2", "summary_attempts", 3),
    ("SYNAPSE_COMPACT_MAX_RETRIES", "maxRetries", 0, "summary_attempts", 1),
    ("COMPACT_RETRY_COUNT", "compactRetryCount", 2, "summary_attempts", 2),
    ("COMPACTION_MAX_SUMMARY_TOKENS", "maxSummaryTokens", "4,000", "max_summary_tokens", 4_000),
    ("COMPACTION_RESERVE_TOKENS", "reserveTokens", 7, "reserve_tokens", 7),
    ("COMPACTION_ENABLED", "enabled", "false", "auto_compress", False),
]
"""A variable of another tool, the same as a key in `compaction`, a value, and what it means."""


@pytest.mark.parametrize(("variable", "key", "given", "name", "meant"), SAME)
def test_a_name_of_another_tool_is_understood_wherever_a_setting_can_be_given(
    variable: str, key: str, given: Any, name: str, meant: Any, tmp_path: Path
) -> None:
    dotted, nested = {f"compaction.{key}": given}, {"compaction": {key: given}}
    (tmp_path / "config.json").write_text(json.dumps(nested), encoding="utf-8")
    typed = tmp_path / "typed"
    command = ["--store", str(typed), "config", f"compaction.{key}={given}"]
    CliRunner().invoke(main, command, env={"HOME": str(tmp_path)})

    for settings in (
        Settings.layered(environ={variable: str(given)}),
        Settings.load(tmp_path, {}),
        Settings.checked(dotted),
        Settings.checked(nested),
        Settings.load(typed, {}),
        Settings.checked(changed_config({}, nested)),
    ):
        assert getattr(settings, name) == meant


@pytest.mark.parametrize("name", ["COMPACT_MAX_RETRIES", "compactMaxRetries", "maxRetries"])
def test_such_a_name_may_stand_alone_as_a_key_too(name: str) -> None:
    assert Settings.checked({name: 4}).summary_attempts == 5
    assert compress([], settings={name: 4}).changed is False


@pytest.mark.parametrize(
    ("environ", "near"),
    [
        ({"COMPACT_THRESHOLD_RATIOS": "0.9"}, "COMPACT_THRESHOLD_RATIO"),
        ({"COMPACT_FOO": "1"}, "COMPACT_MODEL"),
        ({"SYNAPSE_COMPACT_TARGET": "1"}, "SYNAPSE_COMPACT_TARGET_TOKENS"),
        ({"TAIL_RETENTION": "0.1"}, "TAIL_RETENTION_RATIO"),
        ({"CONTEXT_TOKEN_LIMITS": "1"}, "CONTEXT_TOKEN_LIMIT"),
        ({"COMPACTION_RESERVE_TOKEN": "1"}, "COMPACTION_RESERVE_TOKENS"),
        ({"COMPACT_OUTPUT_DIR": "x"}, "CONTEXT_COMPRESSION_DIR"),
        ({"SYNAPSE_OFFLOAD_THRESHOLD": "150000"}, "trigger_threshold"),
        ({"CONTEXT_COMPRESSION_KEEP_RECNT": "1"}, "CONTEXT_COMPRESSION_KEEP_RECENT"),
    ],
)
def test_a_variable_that_seems_meant_and_sets_nothing_is_told_with_the_nearest_name(
    environ: dict[str, str], near: str, tmp_path: Path
) -> None:
    there = {"HOME": str(tmp_path), "CONTEXT_COMPRESSION_DIR": str(tmp_path / "store"), **environ}

    told = CliRunner().invoke(main, ["config"], env=there)

    warned = [line for line in told.output.splitlines() if line.startswith("warning: ")]
    [line] = [line for line in warned if next(iter(environ)) in line]
    assert near in line
    assert told.exit_code == 0
    assert near in unknown_variables(environ)[next(iter(environ))]


def test_a_variable_of_another_program_is_nobodys_fault() -> None:
    others = (
        "SYNAPSE_SERVER_NAME", "CLAUDE_CODE_AUTO_COMPACT_WINDOW", "DISABLE_COMPACT",
        "CONTEXT_TOKEN", "COMPACTION_THREADS", "MAX_RETRIES", "SUMMARY_MODEL",
        "GOOSE_CONTEXT_LIMIT", "COMPACT", "ETCD_AUTO_COMPACTION_RETENTION", "TAIL",
    )  # fmt: skip
    environ: dict[str, str] = dict.fromkeys(others, "1")

    assert unknown_variables({**environ, "COMPACT_EMPTY": ""}) == {}
    assert Settings.layered(environ=environ) == Settings()


def test_a_value_that_cannot_be_is_told_with_the_variable_as_it_is_set() -> None:
    with pytest.raises(InvalidSettings, match=r"COMPACT_MAX_RETRIES = 20\): .* valid: 10"):
        Settings.layered(environ={"COMPACT_MAX_RETRIES": "20"})
    with pytest.raises(InvalidSettings, match=r"COMPACT_THRESHOLD_RATIO\): .*write 0\.8"):
        Settings.layered(environ={"COMPACT_THRESHOLD_RATIO": "80"})


@pytest.mark.parametrize(
    ("there", "due"),
    [
        ({"trigger_threshold": 0.92, "reserve_tokens": 16_000}, 184_000),
        ({"trigger_threshold": 1, "reserve_tokens": 16_384}, 183_617),
        ({"trigger_threshold": 1, "reserve_tokens": 20_001}, 180_000),
        ({"COMPACT_THRESHOLD_RATIO": 0.92}, 183_617),
    ],
)
def test_another_tools_point_is_had_as_the_page_says(there: dict[str, Any], due: int) -> None:
    """`docs/coming-from.md`"""
    assert Settings.checked(there).threshold_tokens == due


def test_a_file_with_such_names_is_changed_and_reset_by_our_own(tmp_path: Path) -> None:
    store = Store(tmp_path)
    (tmp_path / "config.json").write_text('{"compaction": {"enabled": false}}', encoding="utf-8")

    store.update_config(lambda config: changed_config(config, {"compaction.reserveTokens": 9}))
    assert store.read_config() == {"auto_compress": False, "reserve_tokens": 9}
    store.update_config(lambda config: changed_config(config, {}, ["compaction.enabled"]))
    assert store.read_config() == {"reserve_tokens": 9}


@pytest.mark.parametrize(
    ("config", "name"),
    [
        ({"compaction": {"enabled": False}}, "auto_compress"),
        ({"compaction": {"enabled": False}}, "compaction.auto"),
        ({"compaction.enabled": False}, "autoCompress"),
        ({"contextTokenLimit": 9_000}, "token_budget"),
        ({"contextTokenLimit": 9_000, "token_budget": 8_000}, "contextTokenLimit"),
        ({"tokenBudget": 9_000}, "contextTokenLimit"),
        ({"compaction": []}, "compaction"),
        ({"nonsense": 1, "compaction": {"x": 1}}, "all"),
    ],
)
def test_a_reset_setting_is_gone_under_every_name_that_it_has_in_the_file(
    config: dict[str, Any], name: str
) -> None:
    assert changed_config(config, {}, [name]) == {}
    assert changed_config({**config, "keepRecent": 3}, {}, [name, "keep_recent"]) == {}


def test_the_command_takes_such_names_too(tmp_path: Path) -> None:
    run = CliRunner()
    command = ["--store", str(tmp_path / "store"), "config"]

    changed = run.invoke(main, [*command, "compaction.enabled=false"], env={"HOME": str(tmp_path)})
    reset = run.invoke(
        main, [*command, "--reset", "compaction.enabled"], env={"HOME": str(tmp_path)}
    )

    assert "auto_compress  false  config.json" in changed.output
    assert "auto_compress  true" in reset.output
    assert Store(tmp_path / "store").read_config() == {}


def test_a_program_loads_the_layers_that_the_server_has(tmp_path: Path) -> None:
    store = Store(tmp_path / ".compression")
    store.update_config(lambda _: {"keep_recent": 1, "max_turns": 1, "fallback_turns": 1})
    environ = {"CONTEXT_COMPRESSION_MAX_TURNS": "2", "CONTEXT_COMPRESSION_FALLBACK_TURNS": "2"}
    there = Workspace.here(environ=environ, cwd=tmp_path, home=tmp_path, fallback_turns=3)

    for place in (store, store.folder, str(store.folder)):
        loaded = Settings.load(place, environ, fallback_turns=3)
        assert (loaded.keep_recent, loaded.max_turns, loaded.fallback_turns) == (1, 2, 3)
        assert loaded == there.settings()


def test_without_a_place_it_loads_those_of_the_working_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("CONTEXT_COMPRESSION_MAX_TURNS", "2")
    here = Store.find(tmp_path, home=tmp_path / "home", environ={})
    here.update_config(lambda _: {"keep_recent": 1})

    assert (Settings.load().keep_recent, Settings.load().max_turns) == (1, 2)


def test_a_folder_that_came_with_a_clone_sets_nothing_and_that_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Store(tmp_path / ".compression").update_config(lambda _: {"keep_recent": 1})
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))

    with pytest.warns(UserWarning, match=r"are not applied"):
        assert Settings.load(environ={}).keep_recent == 10


def test_a_file_alone_names_no_model_and_that_is_said(tmp_path: Path) -> None:
    store = Store(tmp_path)
    store.update_config(lambda _: {"summary_model": "claude-x", "keep_recent": 1})
    named = {"CONTEXT_COMPRESSION_SUMMARIZER": "anthropic"}

    with pytest.warns(UserWarning, match=r"asks for summaries by a model.* Pass summary_model"):
        loaded = Settings.load(store, {})

    assert (loaded.summary_model, loaded.keep_recent) == (None, 1)
    assert Settings.load(store, {}, summary_model="mine").summary_model == "mine"
    assert Settings.load(store, named).summary_model == "claude-x"


def test_a_file_cannot_choose_another_api_than_the_user(tmp_path: Path) -> None:
    store = Store(tmp_path)
    store.update_config(lambda _: {"summarizer": "openai", "keep_recent": 1})
    named = {"CONTEXT_COMPRESSION_SUMMARY_MODEL": "claude-x"}

    with pytest.warns(UserWarning, match=r"through openai, not anthropic.* Pass summarizer"):
        loaded = Settings.load(store, named)

    assert (loaded.provider, loaded.keep_recent) == ("anthropic", 1)
    assert Settings.load(store, named, summarizer="openai").provider == "openai"
    assert "openai" in Settings.load(store, {"CONTEXT_COMPRESSION_SUMMARIZER": "openai"}).summarizer


@pytest.mark.parametrize("name", [*GUARDED, "allowedPaths", "readHostTranscripts"])
def test_a_project_file_cannot_open_doors(name: str) -> None:
    with pytest.raises(
        InvalidSettings, match=r"cannot be set in the settings of a store.*CONTEXT_COMPRESSION"
    ):
        Settings.layered({name: ["/"]})


def test_the_environment_and_the_command_line_can() -> None:
    environ = {"CONTEXT_COMPRESSION_ALLOWED_PATHS": "/data"}

    assert Settings.layered(environ=environ).allowed_paths == ("/data",)
    assert (
        Settings.layered(arguments={"read_host_transcripts": False}).read_host_transcripts is False
    )


@pytest.mark.parametrize("name", NAMES)
def test_every_name_is_understood_in_snake_case_and_in_camel_case(name: str) -> None:
    first, *rest = name.split("_")

    assert setting_name(name) == name
    assert setting_name(first + "".join(map(str.title, rest))) == name
    assert setting_name("maxToolOutput") == "max_tool_output"


@pytest.mark.parametrize(
    ("name", "near"),
    [("keep_recnt", "keep_recent"), ("maxTurn", "max_turns"), ("sumary_model", "summary_model")],
)
def test_an_unknown_name_is_refused_with_the_nearest_one(name: str, near: str) -> None:
    with pytest.raises(InvalidSettings) as refused:
        Settings.checked({name: 3})

    said = str(refused.value)
    assert said.startswith(f"Unknown setting '{name}'; did you mean ") and near in said
    assert "token_budget" not in said


def test_a_name_like_no_other_is_refused_with_all_there_are() -> None:
    with pytest.raises(InvalidSettings) as refused:
        Settings.checked({"xyzzy": 3})

    assert "did you mean" not in str(refused.value)
    assert all(name in str(refused.value) for name in NAMES)


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"keep_recent": 0}, r"keep_recent = 0: .*nearest valid: 1\b"),
        ({"keep_recent": "many"}, r'keep_recent = "many": .*default: 10\b'),
        ({"keep_recent": True}, r"keep_recent = true: .*not true or false; default: 10\b"),
        ({"target_usage": True}, r"target_usage = true: .*not true or false; default: 0\.5"),
        ({"max_summary_tokens": False}, r"max_summary_tokens = false: .*not true or false"),
        ({"keep_recent": [1]}, r"keep_recent = \[1\]: input should be a whole number; default: 10"),
        ({"keep_tools": 3}, r"keep_tools = 3: input should be a list of texts; default: \[\]"),
        ({"auto_compress": "x"}, r"input should be true or false; default: true"),
        ({"offload_at_source": {"Bash": "x"}}, r"'Bash=x' is no limit"),
        ({"keep_recent": 2.5}, r"keep_recent = 2.5: .*default: 10\b"),
        ({"target_usage": 1.5}, r"target_usage = 1.5: .*nearest valid: 1\.0"),
        (
            {"trigger_threshold": 80},
            r'trigger_threshold = 80: .*equal to 1; write 0\.8 or "80 %"\.',
        ),
        ({"target_usage": "33.5"}, r'; write 0\.335 or "33\.5 %"\.'),
        ({"strategy": "fancy"}, r"strategy = .*'offload', .* or 'summarize'\. Nothing"),
        ({"target_usage": 0}, r"target_usage = 0: .*for example 0\.5"),
        ({"max_tool_output": 7}, r"max_tool_output = 7: .*nearest valid: 100\b"),
        ({"summary_attempts": 50}, r"summary_attempts = 50: .*nearest valid: 10\b"),
        ({"strategy": "extrct"}, r'strategy = "extrct": .*nearest valid: extract\b'),
        ({"summary_template": "goals"}, r"nearest valid: goal\b"),
        ({"summaryRole": "usr"}, r'summary_role = "usr": .*nearest valid: user\b'),
        ({"auto_compress": "perhaps"}, r"auto_compress .*default: true"),
        ({"tail_retention_ratio": 2}, r"tail_retention_ratio .*nearest valid: 1"),
        ({"important_keywords": [1]}, r"important_keywords"),
    ],
)
def test_an_impossible_value_is_refused_with_the_nearest_valid_one(
    values: dict[str, Any], said: str
) -> None:
    with pytest.raises(InvalidSettings, match=said) as refused:
        Settings.checked(values)

    assert str(refused.value).endswith("Nothing was changed.")


def test_several_wrong_values_are_all_named() -> None:
    with pytest.raises(InvalidSettings, match=r"max_turns = -1.*; keep_recent = 0"):
        Settings.checked({"keep_recent": 0, "max_turns": -1})


def test_settings_can_be_changed_and_know_what_was_set() -> None:
    before = Settings.checked({"keepRecent": 3})

    after = before.changed({"maxTurns": 9})

    assert before.model_fields_set == {"keep_recent"}
    assert after.model_fields_set == {"keep_recent", "max_turns"}
    assert (after.keep_recent, after.max_turns, before.max_turns) == (3, 9, 50)


@pytest.mark.parametrize("name", ["token_budget", "reserve_tokens", "max_turns"])
def test_a_number_beyond_all_reason_is_refused_with_the_nearest_valid_one(name: str) -> None:
    with pytest.raises(InvalidSettings, match="nearest valid: 1000000000000"):
        Settings.checked({name: 10**400})


@pytest.mark.parametrize(
    ("config", "environ", "origin"),
    [
        ({"keep_recent": "some"}, {}, "config.json"),
        ({}, {"CONTEXT_COMPRESSION_KEEP_RECENT": "some"}, "CONTEXT_COMPRESSION_KEEP_RECENT"),
        ({}, {"SYNAPSE_COMPACT_PRESERVE_COUNT": "some"}, "SYNAPSE_COMPACT_PRESERVE_COUNT"),
    ],
)
def test_what_is_wrong_before_anybody_changes_anything_is_said_with_where_it_stands(
    config: dict[str, Any], environ: dict[str, str], origin: str
) -> None:
    with pytest.raises(InvalidSettings) as refusal:
        Settings.layered(config, environ)

    assert origin in str(refusal.value)
    assert "Nothing was changed" not in str(refusal.value)


@pytest.mark.parametrize("blank", ["", " "])
def test_a_blank_variable_sets_nothing(blank: str) -> None:
    assert Settings.layered(environ={"CONTEXT_COMPRESSION_STRATEGY": blank}) == Settings()


@pytest.mark.parametrize(
    ("text", "number"),
    [("50k", 50_000), ("50K", 50_000), ("1.5m", 1_500_000), ("50,000", 50_000), ("50_000", 50_000),
     ("1,234.5k", 1_234_500), (" 200 k ", 200_000)],
)  # fmt: skip
def test_the_environment_may_give_a_number_as_people_write_it(text: str, number: int) -> None:
    environ = {"CONTEXT_COMPRESSION_TOKEN_BUDGET": text}

    assert Settings.layered(environ=environ).token_budget == number


@pytest.mark.parametrize("text", ["50.000", "1,5k", "50,00", "1.0001k", "k", "50 q", "80 %", "٥٠"])
def test_a_text_that_is_no_whole_number_is_refused_with_examples(text: str) -> None:
    with pytest.raises(InvalidSettings, match="write 50000, 50,000, 50k or"):
        Settings.checked({"token_budget": text})


def test_a_share_may_be_given_in_percent() -> None:
    assert Settings.checked({"trigger_threshold": "80 %"}).trigger_threshold == 0.8
    assert Settings.checked({"target_usage": "33.5%"}).target_usage == 0.335
    with pytest.raises(InvalidSettings, match="nearest valid: 1"):
        Settings.checked({"target_usage": "120 %"})


@pytest.mark.parametrize(
    "written",
    [
        "read_*=0, Bash=20,000; ci=2k",
        "read_*=0，Bash=20k、ci=2000",
        {"read_*": 0, "Bash": 20_000, "ci": "2k"},
        ["read_*=0", "Bash=20000", "ci=2_000"],
    ],
)
def test_limits_at_the_source_are_written_as_people_write_lists(written: Any) -> None:
    given = Settings.layered(config={"offload_at_source": written})

    assert given.offload_at_source == ("read_*=0", "Bash=20000", "ci=2000")


@pytest.mark.parametrize("wrong", ["Bash", "Bash=", "=3", "Bash=-1", "Bash=many", {"a": "b"}])
def test_a_limit_that_is_none_is_refused_with_what_to_write(wrong: Any) -> None:
    with pytest.raises(InvalidSettings, match=r"is no limit: write name=tokens"):
        Settings.layered(arguments={"offload_at_source": wrong})


LISTS = [
    ("contract, invoice", ("contract", "invoice")),
    ("合同，发票", ("合同", "发票")),
    ("合同、发票；清单;账单,票据", ("合同", "发票", "清单", "账单", "票据")),
    ('"contract, signed"; invoice', ("contract, signed", "invoice")),
    ("“合同，已签”、「发票；已付」", ("合同，已签", "发票；已付")),
    ('3" disk, 5" disk', ('3" disk', '5" disk')),
    ('["contract, signed", "发票"]', ("contract, signed", "发票")),
    (["合同，已签"], ("合同，已签",)),
]
"""Lists as people write them, and their parts: a list in JSON or of a program is not divided."""


@pytest.mark.parametrize(("written", "parts"), LISTS)
def test_a_list_is_read_alike_from_every_layer(written: Any, parts: tuple[str, ...]) -> None:
    layers: list[dict[str, Any]] = [{"config": {"important_keywords": written}}]
    layers.append({"arguments": {"importantKeywords": written}})
    if isinstance(written, str):
        layers.append({"environ": {"CONTEXT_COMPRESSION_IMPORTANT_KEYWORDS": written}})

    assert {Settings.layered(**layer).important_keywords for layer in layers} == {parts}


@pytest.mark.parametrize(
    "half", ["[a, b]", '["a", "b"], c', "a, [b, c]", "{a, b", "[" * 5_000], ids=range(5)
)
def test_a_list_with_half_a_list_in_it_is_refused(half: str) -> None:
    with pytest.raises(InvalidSettings, match=r"important_keywords.*has an open bracket"):
        Settings.layered(config={"important_keywords": half})


def test_a_word_may_have_brackets() -> None:
    given = Settings.checked({"important_keywords": "[WIP], never {x}、[1] last"})

    assert given.important_keywords == ("[WIP]", "never {x}", "[1] last")


@pytest.mark.parametrize("name", ["important_keywords", "allowed_paths", "offload_at_source"])
@pytest.mark.parametrize("null", ["null", " null "])
def test_null_is_no_list(name: str, null: str) -> None:
    with pytest.raises(InvalidSettings, match=name):
        Settings.checked({name: null})


@pytest.mark.parametrize(
    ("written", "folders"),
    [
        ("/a,/b", ("/a", "/b")),
        ("/a、/b；~/c;./d，../e", ("/a", "/b", "~/c", "./d", "../e")),
        ("/a, ,/b，", ("/a", "/b")),
        ("/data/Smith, John，/资料/合同、发票", ("/data/Smith, John", "/资料/合同、发票")),
        (f"“/a，/b”{os.pathsep}/c,「/d，/e」", ("/a，/b", "/c", "/d，/e")),
        ('"/a,/b"', ("/a,/b",)),
        ('["/a,/b"]', ("/a,/b",)),
    ],
)
def test_a_list_of_folders_is_divided_where_a_path_begins(
    written: str, folders: tuple[str, ...]
) -> None:
    assert Settings.checked({"allowed_paths": written}).allowed_paths == folders


def test_a_list_of_folders_is_divided_as_path_is() -> None:
    folders = os.pathsep.join(("/a,b", "/合同，发票"))

    assert Settings.checked({"allowed_paths": folders}).allowed_paths == ("/a,b", "/合同，发票")


def by_environment(values: dict[str, Any]) -> Settings:
    named = {f"CONTEXT_COMPRESSION_{name.upper()}": str(v) for name, v in values.items()}
    return Settings.layered(environ=named)


WAYS: dict[str, Callable[[dict[str, Any]], object]] = {
    "Settings(…)": lambda values: Settings(**values),
    "checked": Settings.checked,
    "changed": lambda values: Settings().changed(values),
    "config.json": lambda values: Settings.layered(config=values),
    "environment": by_environment,
    "compress": lambda values: compress([], settings=values),
    "should_compress": lambda values: should_compress([], settings=values),
    "usage": lambda values: usage([], settings=values),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    ("values", "told"),
    [
        ({"strategy": "extrakt"}, "nearest valid: extract"),
        ({"token_budget": 0}, "nearest valid: 1"),
        ({"target_usage": 40}, "write 0.4"),
        ({"summary_attempts": 11}, "nearest valid: 10"),
    ],
    ids=str,
)
def test_an_impossible_value_is_refused_however_settings_are_made(
    way: str, values: dict[str, Any], told: str
) -> None:
    with pytest.raises(InvalidSettings, match=re.escape(told)):
        WAYS[way](values)


@pytest.mark.parametrize("way", [way for way in WAYS if way != "environment"])
def test_an_unknown_name_is_refused_with_the_nearest_however_settings_are_made(way: str) -> None:
    with pytest.raises(InvalidSettings, match="did you mean keep_recent or keep_recent_tokens"):
        WAYS[way]({"keepRecnt": 5})


@pytest.mark.parametrize("given", [{1: 2}, {None: 1}, [1], "x", 5], ids=str)
def test_what_is_no_dict_of_names_is_refused(given: Any, tmp_path: Path) -> None:
    for way in ("checked", "changed", "compress", "usage"):
        with pytest.raises(InvalidSettings):
            WAYS[way](given)
    with pytest.raises(InvalidSettings):
        Session(tmp_path, "s", settings=given)
    with pytest.raises(InvalidSettings):
        Session(tmp_path, "s").compress(settings=given)


def test_settings_made_in_any_way_are_the_same() -> None:
    as_in_json: dict[str, Any] = {"keepRecent": 7, "token_budget": 60_000}
    made = Settings(**as_in_json)

    assert made == Settings.checked({"keep_recent": 7, "token_budget": 60_000})
    assert made.model_fields_set == {"keep_recent", "token_budget"}
    assert pickle.loads(pickle.dumps(made)) == made == copy.deepcopy(made)


def test_settings_print_what_differs_from_the_defaults() -> None:
    assert repr(Settings()) == str(Settings()) == "Settings()"
    assert repr(Settings(token_budget=60_000)) == "Settings(token_budget=60000)"
    assert len(repr(Settings(important_keywords=("a long word",) * 99))) <= 120


@pytest.mark.parametrize(
    ("tool", "kept"),
    [("get_plan", True), ("Get_Plan", True), ("mcp__ci__log", True), ("ci", False), ("", False)],
)
def test_tools_are_named_with_any_letters_for_a_star(tool: str, kept: bool) -> None:
    assert Settings(keep_tools=("get_plan", "mcp__ci__*")).keeps(tool) is kept

"""What the README shows is so."""

import json
import re
import tomllib
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from pytest_examples import CodeExample, EvalExample, find_examples

from context_compression import Session
from context_compression.cli import main
from context_compression.settings import Settings

TARGETS = (40_000, 20_000, 10_000)
ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
PYTHON = [
    example for example in find_examples(str(ROOT / "README.md")) if example.prefix == "python"
]


@pytest.mark.parametrize("example", PYTHON, ids=str)
def test_its_python_prints_what_it_says(example: CodeExample, eval_example: EvalExample):
    if eval_example.update_examples:
        eval_example.run_print_update(example)
    else:
        eval_example.run_print_check(example)


def test_its_commands_exist():
    shown = set(re.findall(r"\bcontext-compression ([a-z]+)\b", README))

    assert {"status", "compress", "restore", "config", "serve", "demo"} <= shown
    assert shown <= set(main.commands)


def test_its_configuration_can_be_read():
    [as_json] = re.findall(r"```json\n(.*?)```", README, re.DOTALL)
    [as_toml] = re.findall(r"```toml\n(.*?)```", README, re.DOTALL)

    assert json.loads(as_json)["mcpServers"] == {
        name: {"command": about["command"]}
        for name, about in tomllib.loads(as_toml)["mcp_servers"].items()
    }


def test_every_strategy_is_on_the_menu():
    names = Settings.model_json_schema()["properties"]["strategy"]["enum"]

    assert [name for name in names if f"| `{name}` |" not in README] == []


def test_what_was_measured_is_measured_again(tmp_path: Path):
    recorded = files("context_compression.demo").joinpath("conversation.jsonl").read_bytes()
    messages = [json.loads(line) for line in recorded.splitlines()]

    rows = [measured(messages, target, tmp_path / str(target)) for target in TARGETS]

    missing = [row for row in rows if row not in README.splitlines()]
    assert not missing, "\n".join(["measured now:", *missing])


def measured(messages: list[dict[str, Any]], target: int, folder: Path) -> str:
    """A row of the README's table."""
    session = Session(folder / ".compression", "session")
    result = session.compress(messages=messages, target_tokens=target)
    archived = {ref: original for ref, _, original in session.archived()}
    losses = result.loss.values()
    in_view, total = sum(loss.retained for loss in losses), sum(loss.total for loss in losses)
    restorable = sum(loss.recoverable for loss in losses)
    assert archived == result.originals
    assert in_view + restorable == total
    return (
        f"| {target:,} | {result.messages_in} → {result.messages_out} "
        f"| {result.tokens_before:,} → {result.tokens_after:,} | {in_view:,} of {total:,} "
        f"| {restorable:,} of {restorable:,} |"
    )


def test_continuous_integration_runs_the_very_commands_it_shows():
    """`.ci/run` takes them from here, as the lines that begin so."""
    lines = README.splitlines()

    for beginning in (
        "python3 -m venv .venv && .venv/bin/pip install . ",
        'python3 -m venv .venv && .venv/bin/pip install ".[test]" ',
    ):
        assert len([line for line in lines if line.startswith(beginning)]) == 1

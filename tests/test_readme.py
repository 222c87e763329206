"""What the README shows is so. `pytest tests/test_readme.py --update-examples` writes it anew."""

import json
import re
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from pytest_examples import CodeExample, EvalExample, find_examples

from context_compression import Session, compress
from context_compression.cli import main
from context_compression.settings import Settings

TARGETS = (40_000, 20_000, 10_000)
README = Path(__file__).parents[1] / "README.md"
TEXT = README.read_text(encoding="utf-8")
PYTHON = [example for example in find_examples(str(README)) if example.prefix == "python"]


@pytest.mark.parametrize("example", PYTHON, ids=str)
def test_its_python_prints_what_it_says(example: CodeExample, eval_example: EvalExample):
    if eval_example.update_examples:
        eval_example.run_print_update(example)
    else:
        eval_example.run_print_check(example)


def test_its_commands_exist():
    shown = set(re.findall(r"\bcontext-compression ([a-z]+)\b", TEXT))

    assert {"status", "compress", "restore", "config", "serve", "demo"} <= shown
    assert shown <= set(main.commands)


def test_its_configuration_can_be_read():
    [as_json] = re.findall(r"```json\n(.*?)```", TEXT, re.DOTALL)

    servers = json.loads(as_json)["mcpServers"]
    assert servers.keys() == {"context-compression"}
    server = servers["context-compression"]
    assert server["command"].endswith("/context-compression")
    example = json.loads((README.parent / "mcp.json.example").read_text("utf-8"))["mcpServers"]
    assert example == {"context-compression": {**server, "command": "context-compression"}}


def test_every_strategy_is_on_the_menu():
    names = Settings.model_json_schema()["properties"]["strategy"]["enum"]

    assert [name for name in names if f"| `{name}` |" not in TEXT] == []


def test_what_was_measured_is_measured_again(tmp_path: Path, pytestconfig: pytest.Config):
    messages = recorded()
    now = said = README.read_text(encoding="utf-8")

    for target in TARGETS:
        row = measured(messages, target, tmp_path / str(target))
        now, found = re.subn(rf"(?m)^\| {target:,} \|.*$", row, now)
        assert found == 1

    hold_to(said, now, pytestconfig)


def test_what_the_agent_sees_is_seen_again(pytestconfig: pytest.Config):
    said = README.read_text(encoding="utf-8")
    run = (
        r"\[Result of bash: python -m pytest -q tests/test_collapse\.py;.*?\[… \d+ messages?;.*?\]"
    )

    view = compress(recorded(), target_tokens=TARGETS[-1]).messages
    seen, *_ = re.findall(run, "\n".join(str(message["content"]) for message in view), re.DOTALL)

    now, found = re.subn(r"(?s)(?<=```text\n).*?(?=```)", lambda _: f"{seen}\n", said)
    assert found == 1
    hold_to(said, now, pytestconfig)


def recorded() -> list[dict[str, Any]]:
    """The conversation of the demo."""
    lines = files("context_compression.demo").joinpath("conversation.jsonl").read_bytes()
    return [json.loads(line) for line in lines.splitlines()]


def hold_to(said: str, now: str, pytestconfig: pytest.Config) -> None:
    """What the README says is what is so now, or is made so."""
    if pytestconfig.getoption("update_examples"):
        README.write_text(now, encoding="utf-8")
    else:
        assert said == now


def measured(messages: list[dict[str, Any]], target: int, folder: Path) -> str:
    """A row of the README's table."""
    session = Session(folder / ".compression", "session")
    result = session.compress(messages=messages, target_tokens=target)
    archived = {ref: original for ref, _, original in session.archived()}
    losses = result.loss.values()
    in_view, total = sum(loss.retained for loss in losses), sum(loss.total for loss in losses)
    restorable = sum(loss.recoverable for loss in losses)
    assert archived == result.originals
    return (
        f"| {target:,} | {result.messages_in} → {result.messages_out} "
        f"| {result.tokens_before:,} → {result.tokens_after:,} | {in_view:,} of {total:,} "
        f"| {restorable:,} of {total - in_view:,} |"
    )


def test_continuous_integration_runs_the_very_commands_it_shows():
    """`.ci/run` takes them from here, as the lines that begin so."""
    lines = TEXT.splitlines()

    for beginning in (
        "python3 -m venv .venv && .venv/bin/pip install . ",
        'python3 -m venv .venv && .venv/bin/pip install ".[test]" ',
    ):
        assert len([line for line in lines if line.startswith(beginning)]) == 1

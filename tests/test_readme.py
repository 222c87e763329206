"""What the README shows is so. `pytest tests/test_readme.py --update-examples` writes it anew."""

import json
import re
import shlex
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner
from pytest_examples import CodeExample, EvalExample, find_examples

from context_compression.cli import main
from context_compression.hosts import INSTALLABLE
from context_compression.settings import Settings

LONGEST = 1_200  # words, with all code and tables
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
    shown = set(re.findall(r"(?m)(?:^|`|/)context-compression ([a-z]+)\b", TEXT))

    assert {"status", "compress", "restore", "serve", "demo", "install", "doctor"} <= shown
    assert shown <= set(main.commands)


def test_its_commands_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """One after the other, with the conversation of the demo."""
    section = TEXT.partition("## Use the command")[2].partition("\n## ")[0]
    [copied] = re.findall(r"(?m)^cp (\S+) chat.jsonl$", section)
    shutil.copy(README.parent / copied, tmp_path / "chat.jsonl")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))

    for line in re.findall(r"(?m)^context-compression (.*)$", section):
        done = CliRunner().invoke(main, shlex.split(line, comments=True))
        assert (done.exit_code, line) == (0, line), done.output
        assert done.output


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

    for page in (README, README.parent / "docs" / "strategies.md"):
        text = page.read_text(encoding="utf-8")
        assert [name for name in names if f"| `{name}` |" not in text] == []


def test_continuous_integration_runs_the_very_commands_it_shows():
    """`.ci/run` takes them from here, as the lines that begin so."""
    lines = TEXT.splitlines()

    for beginning in (
        "python3 -m venv .venv && .venv/bin/pip install . ",
        'python3 -m venv .venv && .venv/bin/pip install ".[test]" ',
    ):
        assert len([line for line in lines if line.startswith(beginning)]) == 1


def test_every_host_has_its_line():
    assert [host.name for host in INSTALLABLE if f"install {host.name}" not in TEXT] == []


def test_it_can_be_read_in_a_few_minutes():
    assert len(TEXT.split()) <= LONGEST

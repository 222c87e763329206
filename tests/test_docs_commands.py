"""Each command in `docs/command.md` prints what the page says.

`pytest tests/test_docs_commands.py --update-examples` writes the page anew.
"""

import os
import re
import shlex
import shutil
from importlib.resources import files
from pathlib import Path

import pytest
from click.testing import CliRunner

from context_compression.cli import main

PAGE = Path(__file__).parents[1] / "docs" / "command.md"
BLOCK = re.compile(r"(?ms)^```console\n(.*?)^```$")
PROMPT = "$ context-compression "
COMMAND = re.compile(rf"(?ms)^{re.escape(PROMPT)}(.*?)\n(.*?)(?=^{re.escape(PROMPT)}|\Z)")
CHANGES = {  # from one run to the next, and from one machine to the next
    r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ": "2026-11-26T12:00:00Z",
    r"\d{4}-\d\d-\d\d \d\d:\d\d\b": "2026-11-26 12:00",
    r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b": (
        "11316592-82ab-447e-b41f-4be60cc8e39b"
    ),
    r"\b\d{3}\.\d KB": "316.3 KB",
}


def test_each_command_prints_what_the_page_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pytestconfig: pytest.Config
) -> None:
    """They run one after the other, in one folder."""
    home, project = tmp_path / "home" / "you", tmp_path / "home" / "you" / "project"
    project.mkdir(parents=True)
    recording = files("context_compression.cli").joinpath("conversation.jsonl")
    with recording.open("rb") as source, (project / "chat.jsonl").open("wb") as copy:
        shutil.copyfileobj(source, copy)
    monkeypatch.chdir(project)
    for name in [*os.environ]:  # of whoever runs the tests
        monkeypatch.delenv(name)
    for name, value in {"HOME": str(home), "PATH": "/usr/bin:/bin", "COLUMNS": "100"}.items():
        monkeypatch.setenv(name, value)
    said = PAGE.read_text(encoding="utf-8")

    def run_again(block: re.Match[str]) -> str:
        shown = (again(*each.groups(), folder=tmp_path) for each in COMMAND.finditer(block[1]))
        return "```console\n" + "\n".join(shown) + "```"

    now = BLOCK.sub(run_again, said)

    if pytestconfig.getoption("update_examples"):
        PAGE.write_text(now, encoding="utf-8")
    else:
        assert said == now


def again(command: str, said: str, *, folder: Path) -> str:
    """A command with what it prints; as much of it as the page shows if that ends with an ellipsis.

    What differs between runs and machines is replaced.
    """
    asked = shlex.split(command)
    output = CliRunner().invoke(main, asked, prog_name="context-compression").output
    output = output.replace(str(folder), "").replace(re.sub(r"[^a-zA-Z0-9]", "-", str(folder)), "")
    for pattern, replacement in CHANGES.items():
        output = re.sub(pattern, replacement, output)
    lines = [line.rstrip() for line in output.strip("\n").splitlines()]
    shown = said.strip("\n").splitlines()
    if shown[-1:] == ["…"]:
        lines[len(shown) - 1 :] = ["…"]
    return "".join(f"{line}\n" for line in (f"{PROMPT}{command}", *lines))


def test_every_command_is_on_the_page() -> None:
    text = PAGE.read_text(encoding="utf-8")
    named = {*re.findall(r"`(?:context-compression )?([a-z]+)\b", text)}
    named |= {command.split()[0] for command, _ in COMMAND.findall(text)}

    assert [name for name in main.commands if name not in named] == ["hook"]

"""What the README shows is so, in English and in Chinese.

`pytest tests/test_readme.py --update-examples` writes it anew.
"""

import json
import re
import shlex
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner
from counting_words import words_in
from pytest_examples import CodeExample, EvalExample, find_examples

from context_compression import compress
from context_compression.cli import main
from context_compression.hosts import INSTALLABLE
from context_compression.session import Session
from context_compression.settings import Settings

LONGEST = 1_200  # words, with all code and tables
ROOT = Path(__file__).parents[1]
ENGLISH, CHINESE = READMES = [ROOT / "README.md", ROOT / "README.zh-CN.md"]
PYTHON = [example for example in find_examples(*map(str, READMES)) if example.prefix == "python"]
BLOCK = re.compile(r"(?ms)^```(\w+)\n(.*?)^```$")
COMMENT = re.compile(r"(?m) +# .*$")
HITS = "The count is wrong|A run must only be collapsed where that is shorter"

in_both = pytest.mark.parametrize(
    "text", [path.read_text("utf-8") for path in READMES], ids=["English", "Chinese"]
)


@pytest.mark.parametrize("example", PYTHON, ids=str)
def test_its_python_prints_what_it_says(example: CodeExample, eval_example: EvalExample):
    if eval_example.update_examples:
        eval_example.run_print_update(example)
    else:
        eval_example.run_print_check(example)


def test_both_have_the_same_blocks_links_and_code() -> None:
    """But for the comments, and links within the page."""
    english, chinese = (path.read_text("utf-8") for path in READMES)

    def blocks(text: str) -> list[tuple[str, str]]:
        return [(kind, COMMENT.sub("", block)) for kind, block in BLOCK.findall(text)]

    def pages(text: str) -> set[str]:
        return {*re.findall(r"\]\(([^#)][^)]*)\)", text)} - {ENGLISH.name, CHINESE.name}

    def code(text: str) -> set[str]:
        return {*re.findall(r"`([^`\n]+)`", BLOCK.sub("", text))}

    assert blocks(english) == blocks(chinese)
    assert pages(english) == pages(chinese)
    assert code(english) == code(chinese)
    assert english.count("\n## ") == chinese.count("\n## ")


def test_each_leads_to_the_other_at_its_top() -> None:
    for path, other in (READMES, READMES[::-1]):
        assert f"]({other.name})" in path.read_text("utf-8").partition("**")[0]


@in_both
def test_its_commands_exist(text: str):
    shown = set(re.findall(r"(?m)(?:^|`|/)context-compression ([a-z]+)\b", text))

    assert {"status", "compress", "restore", "serve", "demo", "install", "doctor"} <= shown
    assert shown <= set(main.commands)


@in_both
def test_its_commands_work(text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """One after the other, with the conversation of the demo; the search finds what was learned."""
    [section] = [block for _, block in BLOCK.findall(text) if " chat.jsonl\n" in block]
    [copied] = re.findall(r"(?m)^cp (\S+) chat.jsonl$", section)
    shutil.copy(ROOT / copied, tmp_path / "chat.jsonl")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    printed: dict[str, str] = {}

    for line in re.findall(r"(?m)^context-compression (.*)$", section):
        done = CliRunner().invoke(main, shlex.split(line, comments=True))
        assert (done.exit_code, line) == (0, line), done.output
        assert done.output
        printed[line.partition("#")[0].strip()] = done.output

    [(search, found)] = [each for each in printed.items() if "--query" in each[0]]
    first, rest = found.split("\n\n")[1:3]
    assert all(re.search(HITS, hit) for hit in (first, rest)), search
    [restored] = re.findall(r"(?m)^restore ([0-9a-f]+)$", "\n".join(printed))
    assert first.startswith(restored), "the example restores the first hit"


@in_both
def test_who_pastes_its_lines_has_it_installed(text: str) -> None:
    [section] = [block for _, block in BLOCK.findall(text) if "doctor" in block]

    assert "uninstall" not in section
    assert section.index("install claude-code") < section.index("doctor claude-code")


@in_both
def test_its_configuration_can_be_read(text: str):
    [as_json] = re.findall(r"```json\n(.*?)```", text, re.DOTALL)

    servers = json.loads(as_json)["mcpServers"]
    assert servers.keys() == {"context-compression"}
    server = servers["context-compression"]
    assert server["command"].endswith("/context-compression")
    example = json.loads((ROOT / "mcp.json.example").read_text("utf-8"))["mcpServers"]
    assert example == {"context-compression": {**server, "command": "context-compression"}}


def test_every_strategy_is_on_the_menu():
    names = Settings.model_json_schema()["properties"]["strategy"]["enum"]

    for page in (*READMES, ROOT / "docs" / "strategies.md"):
        text = page.read_text(encoding="utf-8")
        assert [name for name in names if f"| `{name}` |" not in text] == []


@pytest.mark.parametrize(
    "page", [*READMES, ROOT / "docs" / "strategies.md"], ids=lambda page: page.name
)
def test_a_page_says_what_extract_won_in_the_demo(page: Path, tmp_path: Path) -> None:
    text = page.read_text("utf-8")
    recorded = (ROOT / "server/context_compression/cli/conversation.jsonl").read_bytes()
    messages = [json.loads(line) for line in recorded.splitlines()]
    session = Session(tmp_path / ".compression", "demo", model="claude-sonnet-4-5")
    alone = compress(messages, target_tokens=20_000, strategy="offload").loss["paths"]
    result = compress(messages, target_tokens=20_000, store=session)
    paths = alone.retained, alone.total, result.loss["paths"].retained

    told = {*(f"{step.tokens_after:,}" for step in result.steps), *map(str, paths)}
    assert [each for each in text.split("\n\n") if told <= {*re.findall(r"\d[\d,]*\d", each)}]


def test_continuous_integration_runs_the_very_commands_it_shows():
    """`.ci/run` takes them from here, as the lines that begin so."""
    lines = ENGLISH.read_text("utf-8").splitlines()

    for beginning in (
        "python3 -m venv .venv && .venv/bin/pip install . ",
        'python3 -m venv .venv && .venv/bin/pip install ".[test]" ',
    ):
        assert len([line for line in lines if line.startswith(beginning)]) == 1


@in_both
def test_every_host_has_its_line(text: str):
    assert [host.name for host in INSTALLABLE if f"install {host.name}" not in text] == []


@in_both
def test_it_can_be_read_in_a_few_minutes(text: str):
    """The Chinese one too, whose words are counted by its characters."""
    assert words_in(text) <= LONGEST

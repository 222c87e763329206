"""What a person sees: commands in a pseudo terminal of 80 and 120 columns, and in a pipe."""

import json
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from inline_snapshot import external_file

from context_compression.strings import cells

from .conftest import Commands, conversation

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no pseudo terminals")
SGR = re.compile(r"\x1b\[[0-9;]*m")
COMPRESS = ("compress", "chat.json", "--target-tokens", "6000")
COMMANDS: dict[str, tuple[str, ...]] = {
    "compress": COMPRESS,
    "status": ("status", "chat.json"),
    "sessions-of-store": ("status",),
    "sessions": ("sessions",),
    "archive": ("archive",),
    "restore": ("restore", "REF"),
    "config": ("config",),
    "doctor": ("doctor",),
    "install": ("install",),
    "help": ("--help",),
}
PLACES = {"80": 80, "120": 120, "piped": None}
ALL_PIPED = ["stdin", "stdout", "stderr"]


class Screens:
    """A project with a conversation, and the screens of commands there."""

    def __init__(self, folder: Path, commands: Commands) -> None:
        self.folder, self.commands = folder, commands
        (folder / "home" / ".codex").mkdir(parents=True)
        (folder / "chat.json").write_text(json.dumps(conversation()), "utf-8")
        # one process writes into a store first, so that a ref is known
        done = self.of([{"arguments": [*COMPRESS, "--json"], "columns": 80, "pipes": ALL_PIPED}])
        refs = json.loads(done[0]["out"])["refs"]
        self.ref = next(ref for ref, about in refs.items() if about.startswith("read result"))

    def of(
        self, screens: list[dict[str, Any]], commands: Commands | None = None
    ) -> list[dict[str, Any]]:
        environ = {"PATH": os.environ["PATH"], "HOME": str(self.folder / "home"), "TZ": "UTC"}
        for screen in screens:
            screen["environ"] = {**environ, "TERM": "xterm-256color", **screen.get("environ", {})}
            screen["arguments"] = [self.ref if a == "REF" else a for a in screen["arguments"]]
            screen["cwd"] = str(self.folder)
        return (commands or self.commands).of(screens)

    def one(self, *arguments: str, columns: int = 80, **more: Any) -> dict[str, Any]:
        return self.of([{"arguments": [*arguments], "columns": columns, **more}])[0]


@pytest.fixture(scope="module")
def screens(commands: Commands) -> Iterator[Screens]:
    folder = Path(tempfile.mkdtemp(prefix="cc-", dir="/tmp"))  # of a length that is always the same
    try:
        yield Screens(folder.resolve(), commands)
    finally:
        shutil.rmtree(folder)


@pytest.fixture(scope="module")
def seen(screens: Screens) -> dict[tuple[str, str], dict[str, Any]]:
    """Every command in every place."""
    asked, anew = [*product(COMMANDS, PLACES)], Commands(anew=True)
    found = screens.of(
        [
            {
                "arguments": [*COMMANDS[name]],
                "columns": PLACES[place] or 80,
                "pipes": [] if PLACES[place] else ALL_PIPED,
                "environ": {} if PLACES[place] else {"COLUMNS": "40"},
            }
            for name, place in asked
        ],
        anew,
    )
    anew.end()
    return dict(zip(asked, found, strict=True))


def steady(screen: dict[str, Any], folder: Path) -> str:
    """A screen without colours, and with nothing in it that differs from run to run."""
    text = SGR.sub("", f"{screen['out']}── stderr\n{screen['err']}").replace("\r", "")
    text = text.replace(str(folder), "/tmp/cc-project1")
    text = re.sub(r"(?<=/tmp…)\w{5}\b", "ject1", text)  # the end of its random name
    text = re.sub(r"\b[0-9a-f]{12}\b", "0123456789ab", text)
    text = re.sub(r"\d{4}-\d\d-\d\d \d\d:\d\d", "2026-11-26 10:20", text)
    text = re.sub(r"(SQLite|version|protocol) [\d.-]+", r"\1 N", text)
    text = re.sub(r"\d(?=[\d.]* KB)", "0", text)
    return re.sub(r"[\d.]+ s to start", "N s to start", text)


@pytest.mark.slow
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_looks_as_it_did(
    name: str, place: str, screens: Screens, seen: dict[tuple[str, str], dict[str, Any]]
):
    text = steady(seen[name, place], screens.folder)
    if name == "compress" and place == "piped":
        text = text.partition("── stderr")[2]  # before it stands the conversation

    assert text == external_file(f"screens/{name}-{place}.txt")


@pytest.mark.slow
@pytest.mark.parametrize("columns", [80, 120])
@pytest.mark.parametrize("name", COMMANDS)
def test_no_line_is_wider_than_the_terminal(
    name: str, columns: int, seen: dict[tuple[str, str], dict[str, Any]]
):
    screen = seen[name, str(columns)]

    lines = SGR.sub("", screen["out"] + screen["err"]).splitlines()

    copied = ("    context-compression ",)  # an example, to be copied in one piece
    assert [line for line in lines if cells(line) > columns and not line.startswith(copied)] == []


@pytest.mark.slow
@pytest.mark.parametrize("name", COMMANDS)
def test_a_pipe_gets_no_escape_codes(name: str, seen: dict[tuple[str, str], dict[str, Any]]):
    screen = seen[name, "piped"]

    assert "\x1b" not in screen["out"] + screen["err"]
    assert screen["code"] == 0


@pytest.mark.slow
def test_on_a_terminal_compress_prints_its_report_and_not_the_conversation(
    seen: dict[tuple[str, str], dict[str, Any]],
):
    screen, piped = seen["compress", "80"], seen["compress", "piped"]

    assert screen["out"] == ""
    assert "--output FILE" in screen["err"]
    assert "--output FILE" not in piped["err"]
    assert json.loads(piped["out"])[0]["role"] == "user"


def test_json_on_a_terminal_is_what_a_pipe_gets(screens: Screens):
    on_terminal = screens.one(*COMPRESS, "--json")
    piped = screens.one(*COMPRESS, "--json", pipes=ALL_PIPED)

    assert on_terminal["out"] == piped["out"]


def test_an_original_is_shown_to_the_end_of_the_screen_and_says_how_to_get_the_rest(
    screens: Screens,
):
    short = screens.one("restore", "REF", lines=20)
    asked = screens.one("restore", "REF", "--lines", "1-100", lines=20)
    piped = screens.one("restore", "REF", lines=20, pipes=ALL_PIPED)

    assert short["out"].count("\n") == 16
    assert "… of 100 lines" in short["err"]
    assert "--lines 17-37" in short["err"]
    assert asked["out"].replace("\r", "").strip() == piped["out"].strip()
    assert piped["out"].count("\n") == 99
    assert asked["err"] == piped["err"] == ""


def test_on_a_terminal_the_prompt_never_stands_behind_an_original(screens: Screens):
    ways: list[list[str]] = [[], ["--lines", "3"], ["--pattern", "value_0_7 "]]

    shown = [screens.one("restore", "REF", *way, lines=400) for way in ways]
    piped = [screens.one("restore", "REF", *way, pipes=ALL_PIPED) for way in ways]

    assert [screen["out"].endswith("\n") for screen in shown] == [True, True, True]
    assert [screen["out"].endswith("\n") for screen in piped] == [False, True, True]
    assert [screen["out"].rstrip("\n") for screen in shown] == [
        screen["out"].rstrip("\n") for screen in piped
    ]


@pytest.mark.parametrize("variable", ["NO_COLOR", "TERM"])
def test_colours_can_be_switched_off(variable: str, screens: Screens):
    value = {"NO_COLOR": "1", "TERM": "dumb"}[variable]

    shown = screens.one("status", "chat.json", environ={variable: value}, quiet_seconds=0)

    assert not re.search(r"\x1b\[[0-9;]*3\d", shown["out"])
    assert ("\x1b" in shown["out"] + shown["err"]) == (variable == "NO_COLOR")


def test_colours_and_width_can_be_asked_for(screens: Screens):
    forced = screens.one("status", environ={"FORCE_COLOR": "1"}, pipes=ALL_PIPED)
    narrow = screens.one("status", "chat.json", environ={"COLUMNS": "40"})

    assert "\x1b[1m" in forced["out"]
    *said, command = SGR.sub("", narrow["out"]).splitlines()
    assert max(map(cells, said)) <= 40
    assert command == "context-compression compress chat.json --dry-run"  # to be copied


def test_started_bare_on_a_terminal_it_prints_its_help(screens: Screens):
    bare, asked = screens.of([{"arguments": [*a], "columns": 90} for a in ((), ("--help",))])

    assert bare == asked
    assert bare["code"] == 0


def test_serve_on_a_terminal_says_that_it_waits_for_a_client(screens: Screens):
    served = screens.one("serve", pipes=["stdout"], closes_stdin=True)

    assert "Waiting for an MCP client" in served["err"]


def test_a_bar_shows_percent_and_is_gone_at_the_end(screens: Screens):
    shown = screens.one(*COMPRESS, "--dry-run", quiet_seconds=0)
    piped = screens.one(*COMPRESS, "--dry-run", quiet_seconds=0, pipes=["stderr"])

    assert re.search(r"\r.*…\x1b\[K", shown["err"])
    assert as_left_on_the_screen(shown["err"]) == SGR.sub("", as_left_on_the_screen(shown["err"]))
    assert as_left_on_the_screen(shown["err"]).startswith("dry run, nothing was changed: 32 → ")
    assert piped["err"].startswith("dry run, nothing was changed: 32 → ")


def as_left_on_the_screen(text: str) -> str:
    r"""What remains where `\r` and `\x1b[K` have overwritten and removed lines."""
    lines = [line.rpartition("\r")[2].replace("\x1b[K", "") for line in text.split("\n")]
    return SGR.sub("", "\n".join(lines))

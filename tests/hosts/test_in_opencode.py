"""Inside the real opencode, with our plugin: on demand."""

import re
import shutil
from importlib.resources import as_file, files
from pathlib import Path

import pytest
from other_hosts import OPENCODE, OpenCode, on_demand
from real_hosts import Desk, calling
from scripted_model import ScriptedModel

from context_compression.session import Session
from context_compression.store import Store
from context_compression.testing.messages_api import Answer


def counting(to: int, what: object) -> Answer:
    """A call that prints so many lines."""
    command = f"for i in $(seq 1 {to}); do echo line $i of {what}; done"
    return calling("bash", command=command, description="count")


@pytest.fixture(scope="session")
def opencode_command() -> Path:
    return on_demand(OPENCODE)


@pytest.fixture
def opencode(opencode_command: Path, tmp_path: Path) -> OpenCode:
    """opencode with our plugin, in a project of its own."""
    opencode = OpenCode(opencode_command, Desk(tmp_path))
    (opencode.desk.project / ".git").mkdir()
    folder = opencode.config / "plugin"
    folder.mkdir(parents=True)
    with as_file(
        files("context_compression") / "plugins/opencode/context-compression.js"
    ) as plugin:
        shutil.copy(plugin, folder)
    return opencode


def recorded(opencode: OpenCode) -> Session:
    """Our record of its one session."""
    store = Store(opencode.desk.store)
    [id] = store.sessions()
    return Session(store, id)


def test_a_large_output_becomes_a_preview_and_its_ref_restores_all_of_it(opencode: OpenCode):
    with ScriptedModel([counting(9_000, "it"), "done"]) as model:
        opencode.ask(model, "count")

    [shown] = model.turns[-1].results
    found = re.match(r"\[bash: [\d,]+ tokens, 9,001 lines; ref (\w+);", shown)
    assert found and len(shown) < 2_000, shown[:300]
    whole = recorded(opencode).restore(found[1])
    assert whole == "".join(f"line {n} of it\n" for n in range(1, 9_001))


def test_requests_stay_within_the_window_however_long_the_session_gets(opencode: OpenCode):
    opencode.window = 20_000
    script = [counting(110, n) for n in range(24)]

    with ScriptedModel([*script, "done"]) as model:
        opencode.ask(model, "Count twenty-four times. Never stop early.")

    lengths = [len(str(turn.body["messages"][1:])) for turn in model.turns]
    assert max(lengths) < 40_000 < 24 * 1_700, lengths
    assert all("Never stop early." in str(turn) for turn in model.turns)
    assert len(recorded(opencode).state().compressions) > 0
    assert model.turns[-1].results[-1].startswith("line 1 of 23")


def test_opencode_goes_on_when_our_command_is_missing_or_breaks(opencode: OpenCode):
    opencode.desk.environ["CONTEXT_COMPRESSION_COMMAND"] = "/nowhere/context-compression"

    with ScriptedModel([counting(500, "it"), "done"]) as model:
        opencode.ask(model, "count")

    assert model.turns[-1].results[-1].startswith("line 1 of it\nline 2 of it")
    assert not opencode.desk.store.exists()

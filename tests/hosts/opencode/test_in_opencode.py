"""Inside the real opencode, with our plugin: on demand."""

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
from other_hosts import OPENCODE, SERVER, OpenCode, noting_starts, on_demand
from real_hosts import Desk, calling
from scripted_model import ScriptedModel

from context_compression.hosts import BY_NAME
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
    [plugin] = BY_NAME["opencode"].hooks
    (folder / plugin.template.name).write_text(plugin.content(), encoding="utf-8")
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
    starts = noting_starts(opencode.desk)
    opencode.window = 20_000
    script = [counting(110, n) for n in range(24)]

    with ScriptedModel([*script, "done"]) as model:
        opencode.ask(model, "Count twenty-four times. Never stop early.")

    lengths = [len(str(turn.body["messages"][1:])) for turn in model.turns]
    assert max(lengths) < 40_000 < 24 * 1_700, lengths
    assert all("Never stop early." in str(turn) for turn in model.turns)
    assert len(recorded(opencode).state().compressions) > 0
    assert model.turns[-1].results[-1].startswith("line 1 of 23")
    assert starts.read_text(encoding="utf-8") == "hook opencode --serve\n"


def test_opencode_goes_on_when_our_command_is_missing_or_breaks(opencode: OpenCode):
    opencode.desk.environ["CONTEXT_COMPRESSION_COMMAND"] = "/nowhere/context-compression"

    with ScriptedModel([counting(500, "it"), "done"]) as model:
        opencode.ask(model, "count")

    assert model.turns[-1].results[-1].startswith("line 1 of it\nline 2 of it")
    assert not opencode.desk.store.exists()


def test_a_compaction_is_told_what_to_keep_and_everything_is_archived_before(opencode: OpenCode):
    opencode.window = 40_000
    script = [counting(40, "first"), replace(counting(2, "last"), usage={"input_tokens": 39_000})]

    with ScriptedModel([*script, "done"], aside="A SUMMARY") as model:
        opencode.ask(model, "count")

    assert any("Name each ref that later work may need" in str(turn) for turn in model.asides)
    archived = [original for _, _, original in recorded(opencode).archived()]
    assert any("line 40 of first" in str(original) for original in archived)


def test_what_the_agent_compressed_itself_goes_into_the_next_request(opencode: OpenCode):
    command, *given = (*SERVER, "serve")
    server = {"type": "local", "command": [command, *given], "enabled": True, "timeout": 60_000}
    config = {"mcp": {"context-compression": server}}
    (opencode.config / "opencode.json").write_text(json.dumps(config), encoding="utf-8")
    asks = calling("context-compression_context_compress", target_tokens=2_000)

    with ScriptedModel([*(counting(110, n) for n in range(4)), asks, "done"]) as model:
        opencode.ask(model, "Count. Never stop early.")

    before, after = (turn.body["messages"][1:] for turn in model.turns[-2:])
    compressed = after[:-2]  # the last two are the call of the tool and its answer
    assert len(str(compressed)) < 0.7 * len(str(before))
    assert "Never stop early." in str(model.turns[-1])

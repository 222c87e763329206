"""Inside the real Pi, with our extension: on demand."""

import re
from pathlib import Path

import pytest
from other_hosts import PI, Pi, noting_starts, on_demand
from real_hosts import Desk, calling, saying
from scripted_model import ScriptedModel

from context_compression.hosts import BY_NAME
from context_compression.session import Session
from context_compression.store import Store

LINES = "for i in $(seq 1 {}); do echo line $i of {}; done"


@pytest.fixture(scope="session")
def pi_command() -> Path:
    return on_demand(PI)


@pytest.fixture
def pi(pi_command: Path, tmp_path: Path) -> Pi:
    """Pi with our extension, in a project of its own."""
    pi = Pi(pi_command, Desk(tmp_path))
    (pi.desk.project / ".git").mkdir()
    folder = pi.agent / "extensions"
    folder.mkdir(parents=True)
    [plugin] = BY_NAME["pi"].hooks
    (folder / plugin.template.name).write_text(plugin.content(), encoding="utf-8")
    return pi


def recorded(pi: Pi) -> Session:
    """Our record of its one session."""
    store = Store(pi.desk.store)
    [id] = store.sessions()
    return Session(store, id)


def test_a_large_output_becomes_a_preview_and_its_ref_restores_it(pi: Pi):
    with ScriptedModel([calling("bash", command=LINES.format(1500, "it")), "done"]) as model:
        pi.ask(model, "count")

    [shown] = model.turns[-1].results
    found = re.match(r"\[bash: [\d,]+ tokens, 1,501 lines; ref (\w+); file (\S+);", shown)
    assert found and len(shown) < 2_000
    whole = recorded(pi).restore(found[1])
    assert whole.startswith("line 1 of it\nline 2 of it\n") and "line 1500 of it" in whole
    assert Path(found[2]).read_text(encoding="utf-8") == whole


def test_requests_stay_within_the_window_however_long_the_session_gets(pi: Pi):
    starts = noting_starts(pi.desk)
    pi.window = 12_000
    script = [calling("bash", command=LINES.format(110, n)) for n in range(24)]

    with ScriptedModel([*script, "done"]) as model:
        pi.ask(model, "Count twenty-four times. Never stop early.")

    lengths = [len(str(turn.body["messages"])) for turn in model.turns]
    assert max(lengths) < 30_000 < 24 * 1_700
    assert all("Never stop early." in str(turn) for turn in model.turns)
    assert len(recorded(pi).state().compressions) > 1
    assert model.turns[-1].results[-1].startswith("line 1 of 23")
    assert starts.read_text(encoding="utf-8") == "hook pi --serve\n"


def test_a_view_stays_the_same_until_it_is_compressed_again(pi: Pi):
    pi.window = 12_000
    script = [calling("bash", command=LINES.format(110, n)) for n in range(16)]

    with ScriptedModel([*script, "done"]) as model:
        pi.ask(model, "count")

    sent = [turn.body["messages"] for turn in model.turns]
    anew = [n for n in range(1, len(sent)) if sent[n][: len(sent[n - 1])] != sent[n - 1]]
    assert 0 < len(anew) == len(recorded(pi).state().compressions)


def test_a_compaction_is_answered_with_our_text_and_without_a_model(pi: Pi):
    pi.window = 40_000
    pi.settings = {"compaction": {"reserveTokens": 8_000, "keepRecentTokens": 10}}
    script = [
        calling("bash", command=LINES.format(100, "first")),
        calling("bash", command="echo second", tokens=39_000),
        saying("done"),
    ]

    with ScriptedModel(script) as model:
        pi.ask(model, "count")

    assert not model.asides
    [summary] = [said for said in model.turns[-1].said if "[Compressed History]" in said]
    assert "[User]: count" in summary
    assert "context_restore(ref=…)" in summary


def test_pi_goes_on_when_our_command_is_missing_or_breaks(pi: Pi):
    script = [calling("bash", command=LINES.format(500, "it")), "done"]
    broken = pi.desk.folder / "broken"
    broken.write_text("#!/bin/sh\necho not JSON\nexit 1\n", encoding="utf-8")
    broken.chmod(0o700)

    for command in ("/nowhere/context-compression", str(broken)):
        pi.desk.environ["CONTEXT_COMPRESSION_COMMAND"] = command
        with ScriptedModel(script) as model:
            pi.ask(model, "count")

        assert model.turns[-1].results[-1].startswith("line 1 of it\nline 2 of it")
    assert not pi.desk.store.exists()

"""Inside the real Gemini CLI, with our extension: on demand."""

import re
import shutil
from importlib.resources import as_file, files
from pathlib import Path

import pytest
from other_hosts import GEMINI, GeminiCLI, on_demand
from real_hosts import Desk, calling
from scripted_model import ScriptedModel

from context_compression.session import Session
from context_compression.store import Store
from context_compression.testing.messages_api import Answer


def counting(to: int) -> Answer:
    """A call that prints so many lines."""
    command = f"seq -f 'line %g of it' 1 {to}"
    return calling("run_shell_command", command=command, description="count")


@pytest.fixture(scope="session")
def gemini_command() -> Path:
    return on_demand(GEMINI)


@pytest.fixture
def gemini(gemini_command: Path, tmp_path: Path) -> GeminiCLI:
    """Gemini CLI with our extension, in a project of its own."""
    gemini = GeminiCLI(gemini_command, Desk(tmp_path))
    (gemini.desk.project / ".git").mkdir()
    with as_file(files("context_compression") / "hosts/gemini_cli/plugin") as extension:
        shutil.copytree(extension, gemini.config / "extensions/context-compression")
    return gemini


def test_a_large_output_becomes_a_preview_and_its_ref_restores_all_of_it(gemini: GeminiCLI):
    with ScriptedModel([counting(9_000), "done"]) as model:
        ended = gemini.ask(model, "count")

    [shown] = model.turns[-1].results
    found = re.search(r"\[run_shell_command: [\d,]+ tokens, [\d,]+ lines; ref (\w+);", shown)
    assert found and len(shown) < 2_000, shown[:300]
    assert "functionResponse" in str(model.turns[-1]) and '{"output": ' in str(model.turns[-1])
    assert '{"error": ' not in str(model.turns[-1])
    [result] = [event for event in ended.events if event["type"] == "tool_result"]
    assert result["status"] == "success"
    assert "Archived run_shell_command: " in ended.stderr
    store = Store(gemini.desk.store)
    whole = Session(store, store.sessions()[0]).restore(found[1])
    assert "".join(f"line {n} of it\n" for n in range(1, 9_001)) in whole


def test_texts_of_a_request_that_is_too_long_are_shortened_in_their_places(gemini: GeminiCLI):
    gemini.desk.environ["CONTEXT_COMPRESSION_TOKEN_BUDGET"] = "60000"
    pasted = "".join(f"line {n} of what somebody pasted\n" for n in range(10_000))
    with ScriptedModel(["I read it."]) as model:
        gemini.ask(model, "Keep that in mind.", stdin=pasted)
    [first] = model.turns
    [ref] = re.findall(r"ref (\w+)", first.said[-1])
    store = Store(gemini.desk.store)
    assert pasted in Session(store, store.sessions()[0]).restore(ref)

    with ScriptedModel([calling("list_directory", dir_path="."), "done"]) as model:
        gemini.ask(model, "Now what?", "-r", "latest")

    for turn in model.turns:
        assert len(str(turn.body["contents"])) < 150_000
        assert turn.said[0].startswith("user: <session_context>")
        assert turn.said[0].endswith("Keep that in mind.")
        assert any(said.endswith("Now what?") for said in turn.said)
    assert model.turns[0].said == model.turns[1].said[: len(model.turns[0].said)]


def test_gemini_cli_goes_on_when_our_command_is_missing_or_breaks(gemini: GeminiCLI):
    gemini.desk.environ["CONTEXT_COMPRESSION_COMMAND"] = "/nowhere/context-compression"

    with ScriptedModel([counting(500), "done"]) as model:
        gemini.ask(model, "count")

    assert "line 1 of it\\nline 2 of it" in model.turns[-1].results[-1]
    assert not gemini.desk.store.exists()

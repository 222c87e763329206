"""Inside the real Codex, with our server and our hooks."""

import json
import re
import shutil
from collections.abc import Sequence
from importlib.resources import as_file, files
from pathlib import Path

import pytest
import talkative_server
from codex_app import AppServer
from other_hosts import CODEX, SERVER, Codex
from real_hosts import Desk, calling, saying
from scripted_model import ScriptedModel, Turn
from transcripts import shown

from context_compression import hosts
from context_compression.hosts.codex import sessions
from context_compression.session import Session
from context_compression.store import Store
from context_compression.testing.messages_api import Answer

pytestmark = pytest.mark.slow

OURS = "mcp__context_compression__context_"
LONG = "for i in $(seq 1 900); do echo line $i of it; done"


@pytest.fixture(scope="session")
def codex_command() -> Path:
    return CODEX.installed()


@pytest.fixture
def codex(codex_command: Path, tmp_path: Path) -> Codex:
    """Codex with our server and our hooks, in a project of its own."""
    codex = Codex(codex_command, Desk(tmp_path), ("--dangerously-bypass-hook-trust",))
    (codex.desk.project / ".git").mkdir()
    command, *given = (*SERVER, "serve", "--hooks", "codex")
    codex.config.parent.mkdir()
    codex.config.write_text(
        "tool_output_token_limit = 50000\n"  # our hooks are given what Codex would cut
        "[mcp_servers.context-compression]\n"
        f"command = {json.dumps(command)}\nargs = {json.dumps(given)}\n"
        'env_vars = ["CODEX_HOME"]\nrequired = true\nstartup_timeout_sec = 60\n',
        encoding="utf-8",
    )
    with as_file(files("context_compression") / "hosts/codex/plugin/hooks.json") as hooks:
        shutil.copy(hooks, codex.config.parent)
    return codex


def recorded(codex: Codex) -> Session:
    """Our record of its one session."""
    store = Store(codex.desk.store)
    [id] = store.sessions()
    return Session(store, id)


def test_codex_offers_our_tools_and_status_says_what_its_model_charged(codex: Codex):
    script = [calling(f"{OURS}status", tokens=4_321), "done"]

    with ScriptedModel(script) as model:
        codex.ask(model, "How full is it?")

    names = ("status", "compress", "config", "summary", "offload", "restore")
    assert {f"{OURS}{name}" for name in names} <= set(model.turns[0].tools)
    assert "4,331 of 258,400 tokens used" in model.turns[-1].results[0]  # the answer had 10


def test_a_large_output_becomes_a_preview_that_the_model_restores(codex: Codex):
    with ScriptedModel([calling("exec_command", cmd=LONG), "done"]) as model:
        codex.ask(model, "count")
    [shown] = model.turns[-1].results
    found = re.match(r"\[Bash: [\d,]+ tokens, [\d,]+ lines; ref (\w+);", shown)
    assert found and len(shown) < 2_000, shown[:300]

    again = [calling(f"{OURS}restore", ref=found[1], lines="100-101"), "done"]
    with ScriptedModel(again) as model:
        codex.ask(model, "look", session=recorded(codex).id)

    assert "line 100 of it\nline 101 of it" in model.turns[-1].results[-1]
    whole = "".join(f"line {n} of it\n" for n in range(1, 901))
    assert recorded(codex).restore(found[1], note=False) == whole


def test_what_is_read_back_from_the_store_is_left_alone(codex: Codex):
    with ScriptedModel([calling("exec_command", cmd=LONG), "done"]) as model:
        codex.ask(model, "count")
    found = re.search(r"file (\S+);", model.turns[-1].results[0])
    assert found

    with ScriptedModel([calling("exec_command", cmd=f"cat {found[1]}"), "done"]) as model:
        codex.ask(model, "look", session=recorded(codex).id)

    assert "line 500 of it" in model.turns[-1].results[-1]


def test_a_large_answer_of_another_server_becomes_a_preview(codex: Codex):
    command, *given = (SERVER[0], str(Path(talkative_server.__file__)))
    with codex.config.open("a", encoding="utf-8") as config:
        config.write(
            f"[mcp_servers.other]\ncommand = {json.dumps(command)}\nargs = {json.dumps(given)}\n"
            'required = true\ndefault_tools_approval_mode = "approve"\n'
        )

    with ScriptedModel([calling("mcp__other__talk", words=5_000), "done"]) as model:
        codex.ask(model, "listen")

    [shown] = model.turns[-1].results
    assert shown.startswith("[mcp__other__talk: ")
    assert "context_restore" in shown


def test_after_a_compaction_codex_is_told_what_was_archived(codex: Codex):
    script = [
        calling("exec_command", cmd="echo KEY=41 > settings.ini; cat settings.ini"),
        calling("exec_command", cmd="echo second", tokens=39_000),
        saying("done"),
    ]
    limits = ("model_context_window=60000", "model_auto_compact_token_limit=30000")
    told = [part for limit in limits for part in ("-c", limit)]

    with ScriptedModel(script, aside="A SUMMARY") as model:
        codex.ask(model, "Set the key.", *told)

    last = model.turns[-1]
    [archived] = [said for said in last.said if "All that this compaction removed" in said]
    assert archived.startswith("developer: ")
    assert "settings.ini" in archived
    assert len(recorded(codex).state().refs) > 0


def test_a_new_thread_is_told_of_the_earlier_ones_of_its_project(codex: Codex):
    for number in (0, 1):
        with ScriptedModel(["done"]) as model:
            codex.ask(model, "Decide on the queue")

        told = str(model.turns[0]).replace('\\"', '"')
        assert ('1 earlier session of this project, the newest: "Decide on' in told) == number


def test_codex_goes_on_when_our_server_is_gone(codex: Codex):
    pid, wrapped = codex.desk.folder / "pid", codex.desk.folder / "server.sh"
    serve = f"exec {' '.join(SERVER)} serve --hooks codex"
    wrapped.write_text(f"#!/bin/sh\necho $$ > {pid}\n{serve}\n", encoding="utf-8")
    wrapped.chmod(0o700)
    codex.config.write_text(
        f'[mcp_servers.context-compression]\ncommand = "{wrapped}"\nrequired = true\n',
        encoding="utf-8",
    )

    with ScriptedModel(
        [
            calling("exec_command", cmd=f"kill $(cat {pid})"),
            calling("exec_command", cmd=LONG),
            "done",
        ]
    ) as model:
        codex.ask(model, "count")

    assert "line 1 of it\nline 2 of it" in model.turns[-1].results[-1]


def said_in(model: ScriptedModel) -> list[str]:
    """The prompts and answers in the newest request, without what Codex adds."""
    return [said for said in model.turns[-1].said if said.startswith(("user: ask", "assistant: "))]


def restoring(turns: Sequence[Turn]) -> Answer:
    """A call that restores the output whose preview the thread shows."""
    [ref] = re.findall(r"\[Bash: [^\]]*?; ref (\w+);", "".join(turns[-1].results))
    return calling(f"{OURS}restore", ref=ref, lines="490-510")


def test_forks_and_edited_prompts_are_read_as_the_model_was_sent_them(codex: Codex):
    told = calling(f"{OURS}status", tokens=4_321)
    script = ["one", calling("exec_command", cmd=LONG), "two", "wrong", "right",
              "forked", told, "told", restoring, "read", "again", "last"]  # fmt: skip

    with ScriptedModel(script, aside="A SUMMARY") as model, AppServer(codex, model) as app:
        thread = app.start()
        app.turn(thread, "ask one")
        app.turn(thread, "ask two")
        wrong = app.turn(thread, "ask wrongly")
        app.revert(thread, wrong)
        app.turn(thread, "ask rightly")
        edited = said_in(model)
        fork = app.fork(thread)
        app.turn(fork, "ask in the fork")
        forked = said_in(model)
        app.turn(fork, "ask how full it is")
        status = model.turns[-1].results[-1]
        app.turn(fork, "ask for the whole output")
        whole = model.turns[-1].results[-1]
        app.compact(fork)
        app.turn(fork, "ask after the compaction")
        notices = [said for said in model.turns[-1].said if "context_restore(ref=" in said]
        app.archive(thread)

    assert edited == ["user: ask one", "assistant: one", "user: ask two", "assistant: two",
                      "user: ask rightly"]  # fmt: skip
    ours = [line.replace(" | ", ": ") for line in read_thread(codex, thread)]
    assert [line for line in ours if line in edited] == edited
    assert not any("wrongly" in line for line in ours)
    assert [*edited, "assistant: right", "user: ask in the fork"] == forked
    assert "4,331 of 258,400 tokens used" in status
    assert "line 500 of it\nline 501 of it" in whole
    archived = Session(Store(codex.desk.store), fork)
    [notice] = notices
    named = re.findall(r"(?:\bref |^- )([0-9a-f]{6,})\b", notice, re.MULTILINE)
    assert named  # a ref of the thread it was forked from may be among them
    assert all(codex.desk.run(*SERVER, "restore", ref).code == 0 for ref in named)
    assert "Newest tool result: " in notice and not notice.endswith("The newest texts:")
    kept = "".join(archived.restore(ref, note=False) for ref in archived.state().refs)
    assert "in the fork" in kept
    found = re.search(r"\[Bash: [^\]]*?; ref (\w+);", kept)  # of the thread it was forked from
    assert found
    assert "line 500 of it" in codex.desk.run(*SERVER, "restore", found[1]).stdout
    assert {each.id for each in sessions({}, codex.desk.home)} == {thread, fork}


def test_codex_shows_the_user_that_not_all_of_a_thread_was_archived(codex: Codex):
    odd = {"type": "message", "role": ["user"], "content": "Words in a form of a newer Codex."}
    row = {"timestamp": "2026-11-28T00:00:00.000Z", "type": "response_item", "payload": odd}

    with ScriptedModel(["one", "two"], aside="A SUMMARY") as model, AppServer(codex, model) as app:
        thread = app.start()
        app.turn(thread, "ask one")
        app.compact(thread)
        before = [*app.shown]
        [rollout] = codex.rollouts()
        with rollout.open("a", encoding="utf-8") as file:
            file.write(json.dumps(row) + "\n")
        app.turn(thread, "ask two")
        app.compact(thread)

    assert not any("not all of it" in said for said in before)
    [said] = [said for said in app.shown if "not all of it" in said]
    assert said.startswith("archived, but not all of it: Codex wrote parts in a form")


def read_thread(codex: Codex, thread: str) -> list[str]:
    """A thread as we read it, by its id."""
    [found] = [each for each in sessions({}, codex.desk.home) if each.id == thread]
    return shown(hosts.read(found.path))

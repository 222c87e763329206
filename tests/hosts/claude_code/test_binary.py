"""Our plugin in the real Claude Code, its model a script. Seen in version 2.1.329."""

import json
import re
import shutil
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from real_hosts import ClaudeCode, Desk, calling, results_in, saying, texts_in, tools_in
from transcripts import shown

import context_compression
from context_compression import Session, hosts
from context_compression.testing.messages_api import Answer, Body, MessagesAPI

pytestmark = pytest.mark.slow

PLUGIN = Path(context_compression.__file__).parent / "hosts" / "claude_code" / "plugin"
SERVER = "mcp__plugin_context-compression_context"
SESSION = "11111111-2222-4333-8444-555555555555"
FULL = 990_000
"""Tokens at which the host compacts: its window is a million here."""
SHORT_TAIL = {"CONTEXT_COMPRESSION_KEEP_RECENT_TOKENS": "500"}
"""Else nothing in a short conversation is old enough to be compressed."""
STATUS = (sys.executable, "-m", "context_compression", "status")
NUMBERS = "\n".join(map(str, range(1, 5_001)))
BEGUN = "Step 1. " + " ".join(f"word{number}" for number in range(200))
"""Two thirds of the first step of `working`; a shortened text shows less of it."""


@pytest.fixture
def hooked(claude: ClaudeCode) -> ClaudeCode:
    """Claude Code with our plugin."""
    allowed = ("--allowedTools", f"Bash Read {SERVER}")
    return replace(claude, options=("--plugin-dir", PLUGIN, *allowed))


@pytest.fixture
def older(claude: ClaudeCode, tmp_path: Path) -> ClaudeCode:
    """Claude Code with our plugin, and without function hooks, as older versions are."""
    plugin = shutil.copytree(PLUGIN, tmp_path / "plugin")
    hooks = json.loads((plugin / "hooks" / "hooks.json").read_bytes())
    del hooks["modules"]
    (plugin / "hooks" / "hooks.json").write_text(json.dumps(hooks), encoding="utf-8")
    return replace(claude, options=("--plugin-dir", plugin, "--allowedTools", "Bash"))


def shell(command: str, *, tokens: int = 100) -> Answer:
    return calling("Bash", command=command, description="as told", tokens=tokens)


def refs_in(body: Body) -> list[str]:
    """The refs that receipts in a request name, in order."""
    return re.findall(r"; ref ([0-9a-f]{12})", json.dumps(body["messages"]))


def restoring(body: Body) -> Answer:
    """The model brings back a line of what was archived last."""
    return calling(f"{SERVER}__context_restore", ref=refs_in(body)[-1], lines="4321")


def test_the_plugin_is_sound_and_is_installed_from_its_folder(claude: ClaudeCode) -> None:
    checked = claude.run("plugin", "validate", PLUGIN)
    added = claude.run("plugin", "marketplace", "add", PLUGIN)
    installed = claude.run("plugin", "install", "context-compression@context-compression")
    with MessagesAPI([saying("done")]) as api:
        claude.ask(api, "Hello.", ENABLE_TOOL_SEARCH="true")

    assert "Validation passed" in checked.stdout
    assert (checked.code, added.code, installed.code) == (0, 0, 0)
    offered = [name for name in tools_in(api.requests[0]) if name.startswith(SERVER)]
    assert offered == [f"{SERVER}__context_restore"]  # previews name it; the others are searched
    shown = "\n".join(texts_in(api.requests[0]))
    assert f"\n{SERVER}__context_status\n" in shown
    assert "context_hook" not in str(api.requests[0].body)


def test_status_says_what_the_model_was_charged(hooked: ClaudeCode) -> None:
    with MessagesAPI([calling(f"{SERVER}__context_status", tokens=54_321), saying("done")]) as api:
        hooked.ask(api, "How full is it?")

    [status] = map(json.loads, results_in(api.requests[-1]))
    assert status["total_budget"] == 1_000_000
    assert 54_321 <= status["used_tokens"] <= 54_321 + 100  # and the very call, which came after
    assert status["transcript"].startswith(str(hooked.transcripts()[0]))


def test_a_large_result_is_replaced_and_the_model_brings_it_back(hooked: ClaudeCode) -> None:
    with MessagesAPI([shell("seq 1 5000"), restoring, saying("done")]) as api:
        hooked.ask(api, "Count.", "--session-id", SESSION)

    preview, restored = results_in(api.requests[-1])
    [ref] = dict.fromkeys(refs_in(api.requests[1].body))
    session = Session(hooked.desk.store, SESSION)
    assert preview.startswith("[Bash: ")
    assert preview.endswith("\n5000")
    assert len(preview) < 1_000
    assert "\n4321\n" in restored
    assert session.restore(ref, note=False) == NUMBERS
    assert session.status().tokens_saved > 15_000


def test_an_output_that_the_host_has_cut_is_archived_whole(hooked: ClaudeCode) -> None:
    with MessagesAPI([shell("seq 1 20000"), saying("done")]) as api:
        hooked.ask(api, "Count.", "--session-id", SESSION)

    [preview] = results_in(api.requests[-1])
    [ref] = dict.fromkeys(refs_in(api.requests[-1].body))
    whole = Session(hooked.desk.store, SESSION).restore(ref)
    assert "\n19999\n20000" in preview
    assert whole == "".join(f"{number}\n" for number in range(1, 20_001))


def working(count: int) -> list[Answer]:
    """Steps of the model that are worth compressing."""
    words = " ".join(f"word{number}" for number in range(300))
    steps = [shell(f"seq {number}00 {number}60") for number in range(1, count + 1)]
    return [replace(step, text=f"Step {n}. {words}") for n, step in enumerate(steps, 1)]


def restorable(claude: ClaudeCode, *bodies: Body) -> list[str]:
    """All that our record archived; every ref that the requests name is among it."""
    session = Session(claude.desk.store, SESSION)
    named = {ref for body in bodies for ref in refs_in(body)}
    assert named or not bodies
    assert all(session.restore(ref) for ref in named)
    return [session.restore(ref) for ref in session.state().refs]


def test_a_compaction_is_answered_with_our_view_and_holds_when_resumed(hooked: ClaudeCode) -> None:
    begun = [*working(8), saying("That is the first half.")]
    status = calling(f"{SERVER}__context_status", tokens=3_000)
    with MessagesAPI(begun) as first:
        hooked.ask(first, "Never touch src/db. Look at it.", "--session-id", SESSION)
    with MessagesAPI([shell("echo full", tokens=FULL), status, saying("done")]) as second:
        hooked.ask(second, "Go on.", "--resume", SESSION, **SHORT_TAIL)
    with MessagesAPI([saying("I know.")]) as third:
        hooked.ask(third, "And now?", "--resume", SESSION, **SHORT_TAIL)

    assert len(second.requests) == 3  # no request for a summary
    before, after, _ = ("\n".join(texts_in(request)) for request in second.requests)
    resumed = "\n".join(texts_in(third.requests[0]))
    assert len(after) < 0.7 * len(before)
    said = json.loads(results_in(second.requests[2])[-1])
    assert (said["compressions"], said["messages_compressed"] > 5) == (1, True)
    assert said["tokens_saved"] > 2_000
    for text in (after, resumed):
        assert "Never touch src/db. Look at it." in text
        assert BEGUN not in text
        assert "That is the first half." in text
    assert results_in(third.requests[0])[: len(results_in(second.requests[1]))] == results_in(
        second.requests[1]
    )
    originals = restorable(hooked, second.requests[1].body, third.requests[0].body)
    assert all(originals)
    assert any("Step 1. word0 word1" in original for original in originals)


def test_a_second_compaction_goes_on_from_the_first(hooked: ClaudeCode) -> None:
    with MessagesAPI([*working(8), saying("Half.")]) as api:
        hooked.ask(api, "Look at it.", "--session-id", SESSION)
    full = [shell("echo full", tokens=FULL), *working(6), shell("echo full", tokens=FULL)]
    with MessagesAPI([*full, saying("done")]) as api:
        hooked.ask(api, "Go on.", "--resume", SESSION, **SHORT_TAIL)

    assert len(api.requests) == len(full) + 1
    session = Session(hooked.desk.store, SESSION)
    assert [event["n"] for event in session.state().compressions] == [1, 2]


def test_three_automatic_compactions_and_two_restarts_keep_goal_rule_and_every_ref(
    hooked: ClaudeCode,
) -> None:
    goal = "Port the scheduler of project Birch. Never touch deploy/keys.ini."
    begun = [*working(8), saying("RESULT-ONE: the first half is done.")]
    with MessagesAPI(begun) as api:
        hooked.ask(api, goal, "--session-id", SESSION)
    for number in (1, 2, 3):  # each time in a new process
        newest = f"RESULT: part {number} of 3, 41 tests pass"
        steps = [*working(6), shell(f"echo {newest}", tokens=FULL)]
        with MessagesAPI([*steps, saying(f"Part {number} is done.")]) as api:
            hooked.ask(api, f"Now part {number}.", "--resume", SESSION, **SHORT_TAIL)

        assert len(api.requests) == len(steps) + 1  # no request for a summary
        last = api.requests[-1]
        after = "\n".join(texts_in(last))
        for kept in (goal, f"Now part {number}."):
            assert kept in after
        assert results_in(last)[-1] == newest
        session = Session(hooked.desk.store, SESSION)
        assert [event["n"] for event in session.state().compressions] == [*range(1, number + 1)]
        originals = restorable(hooked, last.body)
    assert any("Step 1. word0 word1" in original for original in originals)
    listed = hooked.desk.run(*STATUS, str(hooked.transcripts()[-1]))
    assert "3 times" in listed.stdout, listed.stdout + listed.stderr


@pytest.mark.parametrize("size", ["30k", "2k"])
def test_a_size_that_cannot_be_reached_leaves_goal_rule_newest_result_and_refs(
    size: str, hooked: ClaudeCode
) -> None:
    goal = "Port the scheduler of project Birch. Never touch deploy/keys.ini."
    begun = [*working(6), saying("RESULT-ONE: the first half is done.")]
    with MessagesAPI(begun) as api:
        hooked.ask(api, goal, "--session-id", SESSION)
    with MessagesAPI([*working(6), saying("RESULT-TWO: 41 tests pass.", tokens=75_000)]) as api:
        hooked.ask(api, "Now the writer, too.", "--resume", SESSION)
    with MessagesAPI([saying("no model is asked")]) as none:
        compacted = hooked.ask(none, f"/compact keep {size}", "--resume", SESSION)
    with MessagesAPI([saying("I know.")]) as api:
        hooked.ask(api, "And now?", "--resume", SESSION)

    assert not none.requests
    after = "\n".join(texts_in(api.requests[0]))
    for kept in (goal, "RESULT-TWO: 41 tests pass.", "And now?"):
        assert kept in after
    assert BEGUN not in after
    originals = restorable(hooked, api.requests[0].body)
    assert any("Step 1. word0 word1" in original for original in originals)
    told = compacted.stdout
    missed = rf"{size.upper()} could not be reached: Claude Code itself adds \d"
    assert re.search(missed, told), told[-3000:]


def test_a_long_session_of_one_prompt_keeps_its_goal_rule_and_newest_result(
    hooked: ClaudeCode,
) -> None:
    goal = "Let the importer of project Larch read Latin-1 files. Never touch deploy/keys.ini."
    steps = [*working(25), shell("echo RESULT: decode.py line 88", tokens=FULL)]
    with MessagesAPI([*steps, saying("done")]) as api:
        hooked.ask(api, goal, "--session-id", SESSION, **SHORT_TAIL)

    assert len(api.requests) == len(steps) + 1  # no request for a summary
    after = "\n".join(texts_in(api.requests[-1]))
    assert goal in after
    assert results_in(api.requests[-1])[-1] == "RESULT: decode.py line 88"
    assert BEGUN not in after
    restorable(hooked, api.requests[-1].body)


def test_a_summary_of_the_host_after_one_prompt_comes_with_goal_rule_and_newest_result(
    older: ClaudeCode,
) -> None:
    goal = "Let the importer of project Larch read Latin-1 files. Never touch deploy/keys.ini."
    summary = saying("<summary>They looked at it.</summary>")
    full = shell("echo RESULT: decode.py line 88", tokens=FULL)
    with MessagesAPI([*working(8), full, summary, saying("done")]) as api:
        older.ask(api, goal, "--session-id", SESSION)

    after = "\n".join(texts_in(api.requests[-1]))
    for kept in ("They looked at it.", goal, "RESULT: decode.py line 88"):
        assert kept in after
    assert "All that this compaction removed is archived" in after
    originals = restorable(older)
    for said in (goal, "Step 1. word0 word1", "RESULT: decode.py line 88"):
        assert any(said in original for original in originals)


def test_without_function_hooks_the_hosts_summary_is_accompanied(older: ClaudeCode) -> None:
    with MessagesAPI([*working(4), saying("Half.")]) as api:
        older.ask(api, "Never touch src/db. Look at it.", "--session-id", SESSION)
    summary = saying("<summary>They looked at it.</summary>")
    with MessagesAPI([shell("echo full", tokens=FULL), summary, saying("done")]) as api:
        older.ask(api, "Go on.", "--resume", SESSION, **SHORT_TAIL)

    after = "\n".join(texts_in(api.requests[-1]))
    assert "They looked at it." in after
    assert "- Never touch src/db." in after
    assert "context_restore(query=… | …)" in after
    session = Session(older.desk.store, SESSION)
    assert session.status().compressions == 0
    assert any("Step 1. word0 word1" in session.restore(ref) for ref in session.state().refs)


def test_the_log_of_a_run_says_what_its_transcript_says(claude: ClaudeCode, tmp_path: Path) -> None:
    both = replace(shell("seq 1 3"), text="Two calls.")
    both = replace(both, content=[*both.content, *shell("seq 4 6").content])
    claude = replace(claude, options=("--allowedTools", "Bash"))
    log = tmp_path / "run.jsonl"
    with MessagesAPI([both, shell("seq 7 9"), saying("done")]) as api:
        ended = claude.ask(api, "Count.", "--include-partial-messages")
    log.write_text(ended.stdout, encoding="utf-8")

    logged, [transcript] = hosts.read(log), claude.transcripts()

    written = hosts.read(transcript)
    assert shown(logged) == shown(written)[1:]
    assert logged.session_id == f"{written.session_id}-log"
    assert (logged.model, logged.window) == (written.model, 1_000_000)
    assert logged.warnings == ["The log does not hold the prompt that it begins with."]


def test_the_host_goes_on_when_our_server_is_killed_and_cannot_be_started_again(
    hooked: ClaudeCode,
) -> None:
    pid, command = hooked.desk.folder / "pid", hooked.desk.folder / "server"
    once = f'[ -e {pid} ] && exit 1\necho $$ >{pid}\nexec context-compression "$@"\n'
    command.write_text(f"#!/bin/sh\n{once}", "utf-8")
    command.chmod(0o755)
    work = [shell(f"kill -9 $(cat {pid})"), shell("seq 1 5000"), *working(4)]
    full = [shell("echo full", tokens=FULL), saying("<summary>So far.</summary>")]
    with MessagesAPI([*work, *full, saying("done")]) as api:
        ended = hooked.ask(api, "Go on.", CONTEXT_COMPRESSION_COMMAND=str(command))

    assert "done" in ended.stdout
    assert NUMBERS in results_in(api.requests[2])  # as the tool gave it
    assert "So far." in "\n".join(texts_in(api.requests[-1]))


def test_what_a_subagent_prints_is_kept_short_as_well(hooked: ClaudeCode) -> None:
    delegating = calling(
        "Agent",
        description="count",
        prompt="Count.",
        subagent_type="general-purpose",
        run_in_background=False,
    )
    script = [delegating, shell("seq 1 5000"), saying("I counted."), saying("done")]
    with MessagesAPI(script) as api:
        hooked.ask(api, "Let somebody count.")

    assert results_in(api.requests[2])[-1].startswith("[Bash: ")


def test_a_desk_is_a_world_of_its_own(tmp_path: Path) -> None:
    ended = Desk(tmp_path).run("env")

    assert "ANTHROPIC" not in ended.stdout
    assert f"HOME={tmp_path}/home" in ended.stdout

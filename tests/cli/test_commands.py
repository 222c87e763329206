"""What the command gives to those who ask for something it can do."""

import importlib
import json
import re
import signal
import subprocess
import sys
from collections.abc import Sequence
from typing import Any

import pytest
from click.testing import CliRunner
from transcripts import FIXTURES

from context_compression import Session, count_tokens
from context_compression.cli import main
from context_compression.settings import NAMES, USUAL

from .conftest import COMMAND, Desk, Snapshot

Messages = list[dict[str, Any]]
TARGET = 6_000


def compressed(desk: Desk, *options: str) -> Any:
    return desk.json("compress", "chat.json", "--target-tokens", str(TARGET), *options)


def test_compress_prints_a_shorter_conversation_and_its_account_beside_it(
    desk: Desk, messages: Messages
):
    before = (desk.folder / "chat.json").read_bytes()

    done = desk.does("compress", "chat.json", "--target-tokens", str(TARGET))

    view = json.loads(done.stdout)
    assert count_tokens(view) <= TARGET < count_tokens(messages)
    headline = done.stderr.decode().splitlines()[0]
    numbers = r"32 → \d+ messages, [\d,]+ → [\d,]+ tokens, [\d,]+ freed, 0 files removed"
    assert re.fullmatch(numbers, headline), headline
    assert "restorable" in done.stderr.decode()
    assert (desk.folder / "chat.json").read_bytes() == before


def test_compress_alone_makes_room_in_a_chat_that_is_not_long(desk: Desk):
    pairs = [("user", "Which step is next, if I may ask?"), ("assistant", "The next one. " * 20)]
    chat = [{"role": role, "content": f"{n}: {text}"} for n in range(22) for role, text in pairs]
    (desk.folder / "45.json").write_text(json.dumps([*chat, chat[0]]))

    view = json.loads(desk.does("compress", "45.json").stdout)

    assert count_tokens(view) <= 0.55 * count_tokens([*chat, chat[0]])


@pytest.mark.slow
def test_every_ref_restores_the_exact_bytes(used: Desk, refs: dict[str, int], messages: Messages):
    for ref, index in list(refs.items())[:3]:
        original = messages[index]["content"][0]["content"]

        assert used.does("restore", ref).stdout == original.encode()
        assert used.json("restore", ref[:6], "--session", "chat")["text"] == original


def test_quiet_prints_nothing_and_writes_what_was_asked_for(desk: Desk):
    ask = ("compress", "chat.json", "--target-tokens", "6000")
    told = desk.does(*ask, "--output", "told.json")

    for arguments in ((), ("--output", "quiet.json"), ("--undo",)):
        done = desk.does(*ask, *arguments, "--quiet")
        assert (done.stdout, done.stderr) == (b"", b"")
    refused = desk.run(*ask[:2], "-q", "--target-tokens", "20")
    unjudged = desk.does("compress", "chat.json", "-q", "--strategy", "truncate", "--pin", "Look")

    assert told.stderr
    assert (desk.folder / "quiet.json").read_bytes() == (desk.folder / "told.json").read_bytes()
    assert refused.returncode == 2 and refused.stderr.startswith(b"Error: ")
    assert all(line.startswith(b"warning: ") for line in unjudged.stderr.splitlines())


def test_a_compression_says_first_what_became_of_the_messages_and_what_one_can_do(desk: Desk):
    done = desk.does("compress", "chat.json", "--target-tokens", "6000", "--output", "small.json")

    _, target, kept, written, _, *calls = done.stderr.decode().splitlines()
    assert target == "Target of 6,000 tokens: met."
    assert kept == f"The compacted context is kept in session chat of {desk.store}."
    assert written == "small.json holds its messages; chat.json is unchanged."
    assert [call.split("  ")[0].split()[1] for call in calls[:4]] == [
        "restore", "status", "export", "compress",
    ]  # fmt: skip


def test_restore_shows_a_range_of_lines_or_those_with_a_pattern(used: Desk, refs: dict[str, int]):
    ref = next(iter(refs))

    lines = used.does("restore", ref, "--lines", "10-12").stdout.decode().splitlines()
    line = used.does("restore", ref, "--lines", "10").stdout.decode()
    found = used.does("restore", ref, "--pattern", r"file_4\d\.py").stdout.decode().splitlines()

    assert (len(lines), f"{lines[0]}\n") == (3, line)
    assert [row.partition(":")[0] for row in found] == [str(n) for n in range(41, 51)]


@pytest.mark.slow
def test_to_look_writes_nothing(used: Desk, refs: dict[str, int], snapshot: Snapshot):
    before = snapshot(used.folder)

    used.does("restore", next(iter(refs)))
    used.does("status", "chat.json")
    used.does("status")
    used.does("summaries")
    used.does("config")
    used.does("archive")
    used.run("archive", "prune", "--older-than", "1h")

    assert snapshot(used.folder) == before


@pytest.mark.slow
def test_the_same_file_gives_the_same_view_however_often(desk: Desk):
    arguments = ("compress", "chat.json", "--target-tokens", str(TARGET))
    first = desk.does(*arguments)
    desk.does("compress", "chat.json", "--target-tokens", "4000")

    again = desk.does(*arguments)

    assert again.stdout == first.stdout


def replaced_by_its_view(desk: Desk) -> None:
    desk.does("compress", "chat.json", "--target-tokens", str(TARGET), "--output", "view.json")
    (desk.folder / "view.json").replace(desk.folder / "chat.json")


@pytest.mark.slow
def test_a_view_put_in_place_of_the_transcript_is_compressed_further(desk: Desk):
    replaced_by_its_view(desk)

    account = desk.json("compress", "chat.json", "--target-tokens", "4000")

    assert account["tokens_before"] <= TARGET
    assert account["tokens_after"] <= 4_000
    assert desk.json("status", "chat")["compressions"] == 2
    replaced_by_its_view(desk)
    assert [each.name for each in (desk.store / "sessions").iterdir()] == ["chat"]


def test_with_an_output_file_the_messages_go_there(desk: Desk):
    done = desk.does("compress", "chat.json", "--target-tokens", str(TARGET), "--output", "new")

    assert done.stdout == b""
    assert count_tokens(json.loads((desk.folder / "new").read_bytes())) <= TARGET


@pytest.mark.slow
def test_a_dry_run_gives_the_account_alone_and_keeps_nothing(desk: Desk):
    asked = ("compress", "chat.json", "--target-tokens", str(TARGET), "--output", "new")

    done = desk.does(*asked, "--dry-run")
    account = desk.json(*asked, "--dry-run")

    assert done.stdout == b""
    assert b"dry run, nothing was changed: " in done.stderr
    assert account["changed"] is False
    assert "messages" not in account
    assert sorted(path.name for path in desk.folder.iterdir()) == ["chat.json", "home"]


def test_undo_gives_the_conversation_back(used: Desk, messages: Messages):
    done = used.does("compress", "chat", "--undo")

    assert json.loads(done.stdout) == messages
    assert b"no compression to undo" in used.run("compress", "chat", "--undo").stderr


def test_an_account_without_a_target_names_none(desk: Desk):
    broken = [{"role": "user", "content": "Hi."}, {"role": "user", "content": ""}]
    desk.write("short.json", broken)

    page = desk.does("compress", "short.json").stderr.decode()

    assert "\nwarning: " in page
    assert "\ntarget" not in page


def test_the_account_says_when_constraints_of_the_user_left_the_view(desk: Desk):
    rules = [{"role": "user", "content": f"Never touch file_{n}.c, please."} for n in range(40)]
    desk.write("rules.json", json.dumps([*rules, {"role": "user", "content": "Go on."}]).encode())

    told = desk.does("compress", "rules.json", "--target-tokens", "200").stderr.decode()

    assert re.search(
        r"\nwarning: \d+ of 40 sentences of the user that may be rules are not in the compacted",
        told,
    )


def test_the_account_says_what_of_the_target_is_the_system_prompt(desk: Desk, messages: Messages):
    system = "Be brief, and say what you did. " * 20
    desk.write("asked.json", {"system": system, "messages": messages})

    told = desk.does("compress", "asked.json", "--target-tokens", str(TARGET)).stderr.decode()

    fixed = count_tokens([], system=system)
    assert f"tokens of system prompt, tools and the like, which stay: {fixed:,}\n" in told


@pytest.mark.slow
@pytest.mark.parametrize("begins", ["user", "system"])
def test_two_files_of_one_name_are_two_conversations(desk: Desk, messages: Messages, begins: str):
    (desk.folder / "other").mkdir()
    head = [{"role": "system", "content": "Be brief."}] * (begins == "system")
    other = [*head, {"role": "user", "content": "Something else."}, *messages[1:]]
    mine = [*head, *messages]
    for name, content in (("chat.json", mine), ("other/chat.json", other)):
        desk.write(name, content)
        desk.does("compress", name, "--target-tokens", str(TARGET))

    assert json.loads(desk.does("compress", "chat.json", "--undo").stdout) == mine
    assert json.loads(desk.does("compress", "other/chat.json", "--undo").stdout) == other


@pytest.mark.slow
def test_pins_and_settings_of_one_run_count(desk: Desk, messages: Messages):
    account = compressed(desk, "--pin", "2", "--strategy", "window", "--set", "keepRecent=3")

    assert account["strategy"] == "window"
    assert messages[2] in account["messages"]
    assert desk.json("config")["keep_recent"] == 10


@pytest.mark.parametrize(
    "written", ["contract,invoice", "contract，invoice", '["contract", "invoice"]']
)
def test_a_list_of_one_run_is_json_or_a_divided_text(desk: Desk, written: str):
    desk.does("config", f"important_keywords={written}")

    assert desk.json("config")["important_keywords"] == ["contract", "invoice"]


@pytest.mark.slow
def test_auto_goes_before_another_strategy_of_the_settings(desk: Desk):
    desk.does("config", "strategy=truncate")

    assert compressed(desk, "--strategy", "auto")["target_met"] is True
    assert compressed(desk)["strategy"] == "truncate"


@pytest.mark.slow
def test_status_shows_how_full_a_conversation_is(desk: Desk, messages: Messages):
    page = desk.does("status", "chat.json").stdout.decode()
    values = desk.json("status", "chat.json")

    assert "tool results" in page
    assert f"{values['used_tokens']:,} of 200,000 tokens" in page
    assert values["used_tokens"] == count_tokens(messages)
    assert values["messages"] == 32


@pytest.mark.slow
def test_status_tells_how_often_the_host_compacted_a_transcript(desk: Desk):
    (desk.folder / "s.jsonl").write_bytes((FIXTURES / "pi" / "compacted.jsonl").read_bytes())

    page = desk.does("status", "s.jsonl").stdout.decode()
    told = desk.json("status", "s.jsonl")["host_compactions"]

    assert re.fullmatch(r"compacted once by Pi, last 9\.0K → 300 tokens, .+ ago", told), told
    assert f"\nhost compactions: {told[:45]}" in page


def test_status_tells_doubtful_settings(desk: Desk):
    doubtful = {"CONTEXT_COMPRESSION_TRIGGER_THRESHOLD": "0.3"}

    of_file = desk.does("status", "chat.json", env=doubtful).stdout.decode()
    of_all = desk.does("status", env=doubtful).stderr.decode()

    for told in (of_file, of_all):
        assert "warning: trigger_threshold = 0.3 is below target_usage = 0.5" in told


def test_status_of_a_session_without_a_conversation_shows_what_is_kept_in_it(desk: Desk):
    ref = Session(desk.store, "offloaded").offload("a text", what="a text")

    page = desk.does("status", "offloaded").stdout.decode()

    assert page.startswith("offloaded is no conversation: offloaded texts are kept in it\n")
    assert ref in page
    assert desk.json("status", "offloaded")["newest_refs"] == {ref: "a text"}


@pytest.mark.slow
def test_a_target_is_of_the_conversation_and_the_share_of_the_host_stands_beside_it(desk: Desk):
    usage = {"input_tokens": 50_000, "output_tokens": 40}
    rows: list[dict[str, Any]] = []
    for n in range(20):
        said = {"role": "user", "content": f"Question {n}. " * 40}
        told = {"role": "assistant", "id": f"m{n}", "usage": usage}
        told |= {"content": [{"type": "text", "text": f"Answer {n}. " * 40}]}
        before = {"parentUuid": f"b{n - 1}"} if n else {}
        rows += [
            {"type": "user", "message": said, "uuid": f"a{n}", **before},
            {"type": "assistant", "message": told, "uuid": f"b{n}", "parentUuid": f"a{n}"},
        ]
    desk.write("live.jsonl", "\n".join(json.dumps(r | {"sessionId": "s"}) for r in rows).encode())

    before = desk.json("status", "live.jsonl")
    done = desk.does("compress", "live.jsonl", "--target-tokens", "4k", "--json")

    account = json.loads(done.stdout)
    assert before["used_tokens"] == sum(before["tokens_by_kind"].values()) >= 50_000
    assert 40_000 < account["host_tokens"] == before["host_tokens"] < 50_000
    assert account["tokens_before"] + account["host_tokens"] == before["used_tokens"]
    assert account["tokens_after"] <= account["target_tokens"] == 4_000
    assert count_tokens(account["messages"], model=None) <= 4_000
    after = desk.json("status", account["session"])
    assert after["used_tokens"] == account["tokens_after"] + account["host_tokens"]
    told = desk.does("compress", "live.jsonl", "--target-tokens", "4k").stderr.decode()
    assert re.search(
        r"next request: [\d.]+K conversation \+ 4\dK of Claude Code = 4\dK next request\n", told
    )
    page = desk.does("status", "live.jsonl").stdout.decode()
    request = r"\nnext request: [\d.]+K conversation \+ 4\dK of Claude Code = 50K next request\n"
    assert re.search(request, page)
    assert "system prompt, tools and the like" in page


def test_what_the_host_adds_makes_no_target_too_small(desk: Desk):
    usage = {"input_tokens": 50_000, "output_tokens": 40}
    told = {"role": "assistant", "id": "m", "usage": usage, "content": "Yes."}
    row = {"type": "assistant", "message": told, "uuid": "b", "sessionId": "s"}
    desk.write("live.jsonl", json.dumps(row).encode())

    done = desk.run("compress", "live.jsonl", "--target-tokens", "1500")

    assert done.returncode == 0, done.stderr
    assert "already within the target" in done.stderr.decode()


def test_settings_of_the_budget_are_shown_with_the_threshold_that_they_amount_to(desk: Desk):
    changed = desk.does("config", "token_budget=100k").stdout.decode()

    assert changed.splitlines()[-1] == "compression is due from 80,000 tokens on: 80 % of 100,000"


def test_the_account_for_programs_holds_all_facts(desk: Desk):
    account = compressed(desk, "--explain")

    details = account["details"]
    assert sorted(map(int, details["reasons"])) == details["compressed"]
    assert len(details["refs"]) == account["refs_of_this_call"] >= len(account["refs"]) > 0
    assert account["files_removed"] == []


def test_status_without_a_conversation_lists_the_sessions(used: Desk):
    [session] = used.json("status")["sessions"]

    assert session["session"] == "chat"
    assert (session["messages_recorded"], session["compressions"]) == (32, 1)
    assert b"chat" in used.does("status").stdout


def test_the_beginning_of_a_sessions_id_names_it(desk: Desk):
    session = Session(desk.store, "c35cf82b-01c4-4f0e")
    session.record({"role": "user", "content": "Hi."})
    ref = session.offload("an okapi")

    assert desk.json("status", "c35c")["session"] == session.id
    assert desk.does("restore", ref, "--session", "c35cf82b").stdout == b"an okapi"
    assert b"no summaries" in desk.does("summaries", "--session", "c35cf82b").stdout


@pytest.mark.slow
def test_status_says_why_nothing_is_saved_before_the_view_was_sent(used: Desk):
    compressed_now = used.does("status", "chat").stdout.decode()
    sessions = used.does("status").stdout.decode()

    Session(used.store, "chat").record({"role": "assistant", "content": "Go on."})

    assert "compacted context: not sent yet" in compressed_now
    assert sessions.rstrip().splitlines()[-2].endswith("not sent yet")
    assert "not sent yet" not in used.does("status", "chat").stdout.decode()
    assert used.json("status")["sessions"][0]["tokens_saved_net"] > 0


def test_status_of_an_empty_store_says_what_one_can_do(desk: Desk):
    assert b"Nothing is recorded" in desk.does("status").stdout
    assert b"Nothing is archived" in desk.does("archive").stdout
    assert not desk.store.exists()


@pytest.mark.slow
def test_config_sets_shows_and_resets(desk: Desk):
    desk.does("config", "keep_recent=5", "importantKeywords=alpha, beta")

    assert desk.json("config")["keep_recent"] == 5
    assert desk.json("config")["important_keywords"] == ["alpha", "beta"]
    assert "config.json" in desk.does("config", "keep_recent").stdout.decode()
    page = desk.does("config", "keep_recent", env={"CONTEXT_COMPRESSION_KEEP_RECENT": "7"})
    assert "CONTEXT_COMPRESSION_KEEP_RECENT" in page.stdout.decode()

    desk.does("config", "--reset", "keep_recent")

    assert desk.json("config")["keep_recent"] == 10
    assert desk.json("config")["important_keywords"] == ["alpha", "beta"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("change", "kept"), [(["keep_recent=7"], "7"), (["--reset", "keep_recent"], "10")]
)
def test_config_says_where_the_environment_goes_before_what_was_stored(
    desk: Desk, change: list[str], kept: str
):
    done = desk.does("config", *change, env={"CONTEXT_COMPRESSION_KEEP_RECENT": "3"})

    assert done.stderr.decode() == (
        f"warning: keep_recent is {kept} in config.json now, but CONTEXT_COMPRESSION_KEEP_RECENT "
        "overrides it\n"
    )
    assert desk.json("config")["keep_recent"] == int(kept)


def test_config_lists_what_people_change_and_what_is_set_and_says_how_to_see_the_rest(desk: Desk):
    desk.does("config", "max_turns=7", "summary_role=system")
    environ = {"CONTEXT_COMPRESSION_THINKING": "auto"}  # set, to its default

    rows = desk.does("config", env=environ).stdout.decode().splitlines()
    every = desk.does("config", "--all").stdout.decode().splitlines()

    names = [row.split()[0] for row in rows[1:-3]]
    assert {*names} == {*USUAL, "max_turns", "summary_role", "thinking"}
    more = f"{len(NAMES) - len(names)} more settings: `context-compression config --all`"
    assert rows[-1] == more
    assert [row.split()[0] for row in every[1:-2]] == [*NAMES]
    assert [*desk.json("config")] == [*NAMES]


def test_config_says_which_variable_sets_nothing(desk: Desk):
    done = desk.does("config", env={"CONTEXT_COMPRESSION_KEEP_RECNT": "3"})

    assert done.stderr.decode() == (
        "warning: CONTEXT_COMPRESSION_KEEP_RECNT is no setting of ours. "
        "Did you mean CONTEXT_COMPRESSION_KEEP_RECENT?\n"
    )


def test_a_folder_that_is_allowed_and_not_there_is_told(desk: Desk):
    done = desk.does("--allow", "home", "--allow", "/nonexist", "config")

    assert done.stderr == b"warning: there is no folder /nonexist, which --allow names\n"


def test_config_writes_only_what_differs_from_the_defaults(desk: Desk):
    desk.does("config", "keep_recent=5", "max_turns=7")
    desk.does("config", "keepRecent=10")

    there = json.loads((desk.store / "config.json").read_bytes())
    assert there == {"version": 1, "max_turns": 7}


@pytest.mark.slow
@pytest.mark.parametrize("name", ["nosuch", "all"])
def test_config_resets_what_somebody_wrote_there_that_is_no_setting(desk: Desk, name: str):
    desk.does("config", "keep_recent=5")
    desk.write(".compression/config.json", {"version": 1, "keepRecent": 5, "nosuch": 3})

    desk.does("config", "--reset", name)

    assert desk.json("config")["keep_recent"] == (10 if name == "all" else 5)


def test_config_resets_a_setting_in_whichever_spelling_it_stands_there(desk: Desk):
    desk.does("config", "keep_recent=5")
    desk.write(".compression/config.json", {"version": 1, "keepRecent": 5})

    desk.does("config", "--reset", "keep_recent")

    assert desk.json("config")["keep_recent"] == 10


@pytest.mark.slow
def test_summaries_lists_the_digests(desk: Desk):
    assert b"no summaries" in desk.does("summaries").stdout
    compressed(desk, "--strategy", "window", "--set", "keep_recent=3")

    [summary] = desk.json("summaries", "--limit", "3")["summaries"]

    assert summary["session"] == "chat"
    assert summary["content"].encode() in desk.does("summaries").stdout


@pytest.mark.parametrize("content", [b"", b"[]", b'{"messages": []}'])
def test_there_is_nothing_to_compress_in_an_empty_conversation(desk: Desk, content: bytes):
    desk.write("empty.json", content)

    done = desk.does("compress", "empty.json", "--target-tokens", "1000")

    assert json.loads(done.stdout) == []
    assert b"nothing to compress" in done.stderr


def test_a_file_named_by_the_user_is_read_wherever_it_lies(
    desk: Desk, messages: Messages, tmp_path_factory: pytest.TempPathFactory
):
    elsewhere = tmp_path_factory.mktemp("elsewhere") / "chat.json"
    elsewhere.write_text(json.dumps(messages), encoding="utf-8")

    assert desk.json("status", str(elsewhere))["messages"] == 32


@pytest.mark.slow
@pytest.mark.parametrize(
    "environ",
    [
        {"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"},
        {"PYTHONIOENCODING": "latin-1"},
    ],
    ids=["C", "latin-1"],
)
def test_what_is_written_is_utf_8_in_every_locale(desk: Desk, environ: dict[str, str]):
    chat = [{"role": "user", "content": "日志"}, {"role": "assistant", "content": "half: \ud83d"}]
    desk.write("chat.json", chat)

    done = desk.does("compress", "chat.json", "--target-tokens", "1000", env=environ)
    page = desk.does("status", "chat.json", env=environ)

    assert json.loads(done.stdout) == [chat[0], {**chat[1], "content": "half: \ufffd"}]
    assert "█" in page.stdout.decode() or "·" in page.stdout.decode()


def test_a_closed_pipe_is_no_trouble(desk: Desk):
    arguments = [*COMMAND, "compress", "chat.json", "--target-tokens", "14000"]
    with subprocess.Popen(
        arguments,
        cwd=desk.folder,
        env=desk.environ(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdout and process.stderr
        process.stdout.close()
        told = process.stderr.read()

    assert b"Traceback" not in told
    assert b"rror" not in told


@pytest.mark.slow
@pytest.mark.parametrize("arguments", [(), ("serve",)], ids=["nothing", "serve"])
def test_without_a_command_it_serves_until_the_client_leaves(desk: Desk, arguments: Sequence[str]):
    done = desk.run(*arguments)

    assert (done.returncode, done.stdout) == (0, b"")


@pytest.mark.slow
def test_the_demo_passes_all_its_checks_and_leaves_nothing_behind(desk: Desk, snapshot: Snapshot):
    before = snapshot(desk.folder)

    page = desk.does("demo", env={"TMPDIR": str(desk.folder)}).stdout.decode()

    assert "checks passed" in page
    assert "✗" not in page
    assert snapshot(desk.folder) == before


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGINT for other processes")
def test_ctrl_c_ends_it_with_130(desk: Desk):
    # what a shell runs in the background ignores SIGINT, and so would the command started here
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        process = subprocess.Popen(
            [*COMMAND, "demo"],
            cwd=desk.folder,
            env=desk.environ(TMPDIR=str(desk.folder), PYTHONUNBUFFERED="1"),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
    finally:
        signal.signal(signal.SIGINT, before)
    with process:
        assert process.stdout
        assert process.stderr
        process.stdout.readline()

        process.send_signal(signal.SIGINT)
        told = process.stderr.read()

    assert process.returncode == 130
    assert b"Traceback" not in told
    assert sorted(path.name for path in desk.folder.iterdir()) == ["chat.json", "home"]


def test_the_version_is_that_of_the_package(desk: Desk):
    assert re.fullmatch(rb"context-compression \d+\.\d+\.\d+\n", desk.does("--version").stdout)


def test_what_could_not_be_read_is_said(desk: Desk, messages: Messages):
    lines = [json.dumps(message).encode() for message in messages]
    desk.write("torn.jsonl", b"\n".join([*lines, lines[0][:20]]))

    done = desk.does("status", "torn.jsonl")

    assert b"warning: The last line is cut off" in done.stdout


@pytest.mark.slow
def test_explain_says_on_stderr_why_messages_stayed_or_went(desk: Desk):
    asked = ("compress", "chat.json", "--target-tokens", str(TARGET), "--explain", "--dry-run")

    done = desk.does(*asked)
    record = desk.json(*asked)
    explained = record["details"]["explanations"]

    lines = record["explanations"]
    assert 0 < len(lines) == len(explained) <= 20
    for line, each in zip(lines, explained, strict=True):
        assert line.startswith(f"{each['index']} {each['author']}, ")
        assert f": {each['kept']}" in line
        assert len(line) <= 240
        assert f"\n- {line}\n" in done.stderr.decode()
    assert b"explanations" not in desk.does(*asked[:-2], "--dry-run").stderr


def test_explain_tells_of_the_one_choice_that_was_made(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(desk.folder)
    monkeypatch.setenv("HOME", str(desk.folder / "home"))
    importlib.import_module("context_compression.compression.run")
    monkeypatch.delattr("context_compression.compression.run.recorded")  # makes another choice
    asked = ("compress", "chat.json", "--target-tokens", str(TARGET), "--explain", "--dry-run")

    done = CliRunner().invoke(main, asked)

    assert done.exit_code == 0
    assert "paid for by" in done.stderr


def test_explain_where_nothing_changed_says_so(desk: Desk):
    done = desk.does(
        "compress", "chat.json", "--target-tokens", "1000000", "--explain", "--dry-run"
    )

    assert b"every message is shown in full" in done.stderr

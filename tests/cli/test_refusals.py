"""What cannot be done ends with 2, says what to do, and leaves everything as it was."""

import json
import os
import subprocess
from collections.abc import Sequence

import pytest

from context_compression import Session
from context_compression.cli.arguments import pin

from .conftest import COMMAND, Desk, Done, Snapshot


def refused(done: Done) -> str:
    told = done.stderr.decode()
    assert done.returncode == 2, told
    assert done.stdout == b""
    assert "Traceback" not in told
    return told


FILES = {
    "broken.json": (b'[{"role": "user", "content": "hel', "not JSON"),
    "words.txt": (b"Dear diary,\ntoday I wrote no JSON.\n", "messages"),
    "other.json": (b'{"name": "left-pad", "version": "1.0.0"}', '"name", "version"'),
    "numbers.json": (b"[1, 2, 3]", "no message with a role"),
    "picture.png": (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "binary"),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", FILES)
def test_a_file_that_is_no_conversation(desk: Desk, name: str, snapshot: Snapshot):
    content, said = FILES[name]
    desk.write(name, content)
    before = snapshot(desk.folder)

    told = refused(desk.run("compress", name))

    assert said in told
    assert "Pass a transcript" in told
    assert snapshot(desk.folder) == before


@pytest.mark.parametrize("command", ["compress", "status"])
def test_a_file_of_a_foreign_format_is_refused_by_name(desk: Desk, command: str):
    desk.write("ui.json", [{"role": "user", "parts": [{"type": "text", "text": "hi"}]}])

    told = refused(desk.run(command, "ui.json"))

    assert "ui.json cannot be read. These are UIMessages of the AI SDK (role and parts)." in told
    assert "Convert them with `await convertToModelMessages(messages)`" in told


def test_a_file_of_3_gb_is_not_read(desk: Desk):
    with (desk.folder / "huge.jsonl").open("wb") as file:
        file.truncate(3 * 1024 * 1024 * 1024)

    told = refused(desk.run("compress", "huge.jsonl", "--target-tokens", "1000"))

    assert "too large" in told
    assert "2,147,483,648" in told


def test_the_beginning_of_several_sessions_ids_is_none(used: Desk):
    Session(used.store, "chat-2").record({"role": "user", "content": "Hi."})
    Session(used.store, "chat-3").record({"role": "user", "content": "Hi."})

    told = refused(used.run("status", "chat-"))

    assert "the beginning of several sessions' ids" in told
    assert {"- chat-2", "- chat-3"} < {*told.splitlines()}
    refused(used.run("status", "cha"))


@pytest.mark.parametrize("undo", [[], ["--undo"]])
def test_a_session_that_holds_offloaded_texts_is_no_conversation(
    used: Desk, undo: list[str], snapshot: Snapshot
):
    Session(used.store, "offloaded").offload("an okapi")
    before = snapshot(used.folder)

    told = refused(used.run("compress", "offloaded", *undo))

    assert "The session 'offloaded' is reserved: offloaded texts are kept in it" in told
    assert snapshot(used.folder) == before


@pytest.mark.slow
@pytest.mark.parametrize(
    ("conversation", "output", "more"),
    [
        ("chat.json", "chat.json", []),
        ("chat.json", "home/../chat.json", ["--dry-run"]),
        ("chat.json", "symlink.json", ["--undo"]),
        ("chat.json", "hardlink.json", ["--summarizer", "caller"]),
        ("chat", "chat.json", []),
        ("chat", "home/../chat.json", ["--undo"]),
    ],
    ids=str,
)
def test_the_conversation_itself_is_no_place_for_the_output(
    used: Desk, conversation: str, output: str, more: list[str], snapshot: Snapshot
):
    (used.folder / "symlink.json").symlink_to("chat.json")
    (used.folder / "hardlink.json").hardlink_to(used.folder / "chat.json")
    before = snapshot(used.folder)

    told = refused(used.run("compress", conversation, "--output", output, *more))

    assert f"{output} is the conversation itself, which is never changed" in told
    assert snapshot(used.folder) == before


@pytest.mark.slow
@pytest.mark.parametrize("conversation", ["chat", "chat.json"])
@pytest.mark.parametrize("output", ["sessions/chat/events.jsonl", "config.json", "new.json"])
def test_the_store_is_no_place_for_the_output(
    used: Desk, conversation: str, output: str, snapshot: Snapshot
):
    before = snapshot(used.folder)

    told = refused(used.run("compress", conversation, "--output", f".compression/{output}"))

    assert "where the originals are kept. Name another file" in told
    assert snapshot(used.folder) == before


NONE = "No session '{}' is recorded"
TOGETHER = "--plan-id and --summary go together"
ANSWER = ("--plan-id", "abc", "--summary", "chat.json")
COMPRESS, RESTORE = ("compress", "chat.json"), ("restore", "abcdef123456")
ASKED = [
    (("compress", "home"), "is a folder"),
    (("compress", "missing.jsonl"), "There is no file"),
    (("compress", "/nowhere/at/all.json"), "There is no file"),
    (("compress", "chats"), NONE.format("chats")),
    (("compress", "~nobody-of-this-name/chat.json"), "There is no file"),
    (("compress", "chat", "--undo", "--dry-run"), "--undo has no dry run"),
    ((*COMPRESS, "--target-tokens", "20"), "The minimum size is"),
    ((*COMPRESS, "--target-tokens", "-5"), "must be at least 1"),
    ((*COMPRESS, "--target-tokens", "many"), "write 50000, 50,000, 50k or 1.5m"),
    ((*COMPRESS, "--target-tokens", "5.000"), "write 50000, 50,000, 50k or 1.5m"),
    ((*COMPRESS, "--target-tokens", "50 %"), "write 50000, 50,000, 50k or 1.5m"),
    ((*COMPRESS, "--strategy", "extrakt"), "nearest valid: extract"),
    ((*COMPRESS, "--set", "keep_recnt=5"), "did you mean keep_recent"),
    ((*COMPRESS, "--set", "keep_recent=0"), "nearest valid: 1"),
    ((*COMPRESS, "--set", "keep_recent"), "Write keep_recent=VALUE"),
    ((*COMPRESS, "--set", "max_turns=" + "9" * 5_000), "max_turns"),
    ((*COMPRESS, "--output", "no/such/folder/new.json"), "not a folder that can be written"),
    ((*COMPRESS, "--plan-id", "abc"), TOGETHER),
    ((*COMPRESS, "--summary", "-"), TOGETHER),
    ((*COMPRESS, *ANSWER, "--undo"), TOGETHER),
    ((*COMPRESS, *ANSWER, "--dry-run"), TOGETHER),
    ((*COMPRESS, *ANSWER), "There is no plan 'abc'"),
    (RESTORE, "Nothing is archived under 'abcdef123456'"),
    (("restore", "zz"), "(at least 4 digits name a ref)"),
    (("restore", "6da", "--session", "chat"), "(at least 4 digits name a ref)"),
    ((*RESTORE, "--session", "chat"), "The newest refs"),
    ((*RESTORE, "--session", "nosuch"), NONE.format("nosuch")),
    ((*RESTORE, "--session", "../../etc"), NONE.format("../../etc")),
    (("restore", "REF", "--lines", "ten"), "Write 10-40"),
    (("restore", "REF", "--lines", "9" * 5_000), "--lines"),
    (("restore", "REF", "--lines", "1-²"), "--lines"),
    (("restore", "REF", "--lines", "900-1000"), "this has lines 1-"),
    (("restore", "REF", "--pattern", "("), "not a regular expression"),
    (("restore",), "Pass a REF, or search for one with --query"),
    (("restore", "--query", ""), "The --query has no words to search for"),
    (("restore", "--query", '"'), "a regular expression with --pattern"),
    (("restore", "c3f9", "--query", "x"), "not both"),
    (("restore", "c3f9", "--limit", "5"), "--limit goes only with a search"),
    (("restore", "--query", "x", "--lines", "1-2"), "--lines goes only with a REF"),
    (("restore", "--query", "x", "--fields", "id"), "--fields goes only with a REF"),
    (("restore", "--query", "x", "--count"), "--count goes only with a REF"),
    (("restore", "REF", "--fields", "id", "--pattern", "x"), "Pass fields or pattern, not both."),
    (("restore", "REF", "--fields", "items["), "it ends too early"),
    (("restore", "--query", "x", "--session", "nobody"), NONE.format("nobody")),
    (("restore", "--pattern", "("), "is not a regular expression"),
    (("summaries", "--session", "nosuch"), NONE.format("nosuch")),
    (("summaries", "--limit", "9" * 400), "--limit"),
    (("sessions", "--limit", "9" * 400), "--limit"),
    (("report", "--input-price", "nan"), "is not a number"),
    (("report", "--output-price", "inf"), "--output-price"),
    (("config", "keep_recnt=5"), "did you mean keep_recent"),
    (("config", "trigger_threshold=80"), 'write 0.8 or "80 %"'),
    (("config", "allowed_paths=/"), "cannot be set in the settings of a store"),
    (("config", "--reset", "keep_recnt"), "did you mean keep_recent"),
    (("config", "keep_recnt"), "did you mean keep_recent"),
    (("config", "token_budget=" + "[" * 50_000), "token_budget"),
    (("archive", "delete", "nobody", "--yes"), NONE.format("nobody")),
    (("archive", "prune", "--older-than", "90 days", "--yes"), "12h, 90d or 8w"),
    (("comprss",), "No such command 'comprss'"),
]
"""What is asked for, and what of the answer says why that cannot be."""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "said"), ASKED, ids=[" ".join(each)[:60] for each, _ in ASKED]
)
def test_what_cannot_be_is_refused_and_changes_nothing(
    used: Desk, refs: dict[str, int], arguments: Sequence[str], said: str, snapshot: Snapshot
):
    before = snapshot(used.folder)

    told = refused(used.run(*(next(iter(refs)) if word == "REF" else word for word in arguments)))

    assert said in " ".join(told.split())
    assert snapshot(used.folder) == before


@pytest.mark.parametrize(
    "variable", ["SYNAPSE_COMPACT_RETRY_COUNT", "CONTEXT_COMPRESSION_KEEP_RECENT"]
)
@pytest.mark.parametrize("arguments", ["config", "config keep_recent=5", "status chat.json"])
def test_a_variable_that_cannot_be_is_told_once(desk: Desk, arguments: str, variable: str):
    told = refused(desk.run(*arguments.split(), env={variable: "many"}))

    assert told.count(variable) == 1
    assert not desk.store.exists()


COMMANDS = (
    ("compress", "chat.json", "--target-tokens", "6000"),
    ("status", "chat.json"),
    ("config", "keep_recent=5"),
    ("config",),
)


@pytest.mark.parametrize("arguments", COMMANDS, ids=" ".join)
@pytest.mark.parametrize(
    ("config", "said"),
    [
        ('{"version": 99}', ("newer context-compression", "upgrade")),
        ('{"keep_recent": ', ("config.json is not JSON", "Correct it by hand")),
    ],
    ids=["newer", "damaged"],
)
def test_a_store_of_a_newer_version_or_with_a_damaged_config_is_left_alone(
    used: Desk, config: str, said: Sequence[str], arguments: Sequence[str], snapshot: Snapshot
):
    (used.store / "config.json").write_text(config, encoding="utf-8")
    before = snapshot(used.store)

    told = refused(used.run(*arguments))

    assert all(part in told for part in said)
    assert snapshot(used.store) == before


@pytest.mark.slow
@pytest.mark.parametrize("arguments", COMMANDS, ids=" ".join)
def test_a_store_that_cannot_be_written(desk: Desk, arguments: Sequence[str], snapshot: Snapshot):
    desk.write("file", b"in the way")
    before = snapshot(desk.folder)

    done = desk.run("--store", "file/store", *arguments)

    told = refused(done)
    assert "file" in told
    assert snapshot(desk.folder) == before


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no device that is always full")
@pytest.mark.parametrize("more", [(), ("--json",)])
def test_an_answer_that_finds_no_room_says_so(desk: Desk, more: Sequence[str]):
    desk.write("chat.json", [{"role": "user", "content": "hello"}])

    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            [*COMMAND, "status", "chat.json", *more],
            cwd=desk.folder, env=desk.environ(), stdout=full, stderr=subprocess.PIPE, check=False,
        )  # fmt: skip

    assert done.returncode == 2
    assert done.stderr.startswith(b"Error: The answer cannot be written: No space left")


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="there a program always has a place to write to")
@pytest.mark.parametrize("closed", [1, 2])
def test_where_nobody_listens_it_ends_with_words_or_the_answer(desk: Desk, closed: int):
    command = ["sh", "-c", f'exec "$@" {closed}>&-', "sh", *COMMAND]

    done = subprocess.run(
        [*command, "compress", "chat.json", "--target-tokens", "6000"],
        cwd=desk.folder, env=desk.environ(), capture_output=True, check=False,
    )  # fmt: skip

    assert b"Traceback" not in done.stderr
    if closed == 1:
        assert done.returncode == 2
        assert b"The answer cannot be written: stdout is closed." in done.stderr
    else:
        assert done.returncode == 0
        assert json.loads(done.stdout)


@pytest.mark.parametrize("text", ["--1", "9" * 5000, "²"])
def test_a_pin_that_is_no_index_is_a_text(text: str):
    assert pin(text) == text


@pytest.mark.slow
@pytest.mark.parametrize("command", ["status", "doctor", "install claude-code", "sessions"])
def test_a_url_as_the_store_is_refused_before_anything_is_written(
    desk: Desk, command: str, snapshot: Snapshot
):
    url = "mysql://someone:a-password@host/db"
    before = snapshot(desk.folder)

    told = refused(desk.run("--store", url, *command.split()))

    assert "this is a URL: mysql://…" in told
    assert "a-password" not in told
    assert snapshot(desk.folder) == before

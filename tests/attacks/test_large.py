"""What is small on disk and large in memory, and what is no file: refused in words, early."""

import gzip
import json
import os
import random
import re
import sqlite3
import subprocess
import sys
import tracemalloc
import zlib
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp_door import connected, refusal, workspace_in

from context_compression import hosts
from context_compression.conversation import ROLES, parse
from context_compression.conversation import refusal as refusal_of_foreign
from context_compression.errors import TranscriptError
from context_compression.session import Session
from context_compression.transcripts import ALWAYS_READ, CHUNK, parsed_json

pytestmark = [pytest.mark.anyio, pytest.mark.slow]
SAID = b'{"role": "user", "content": "a"}\n'
MEGABYTE = 1024 * 1024
ANYWHERE = {"CONTEXT_COMPRESSION_ALLOWED_PATHS": "/"}


def bomb(path: Path, content: bytes = SAID, size: int = 3_000 * MEGABYTE) -> Path:
    """A packed file that repeats some content up to a size."""
    packing = zlib.compressobj(1, zlib.DEFLATED, 31)
    chunk = content * (MEGABYTE // len(content))
    with path.open("wb") as file:
        for _ in range(size // len(chunk)):
            file.write(packing.compress(chunk))
        file.write(packing.flush())
    return path


@contextmanager
def in_little_memory(most: int) -> Generator[None]:
    tracemalloc.start()
    try:
        yield
        assert tracemalloc.get_traced_memory()[1] < most
    finally:
        tracemalloc.stop()


def unpacked_before(refused: str) -> int:
    found = re.search(r"([\d,]+) bytes came out", refused)
    assert found, refused
    return int(found[1].replace(",", ""))


@pytest.mark.parametrize("content", [SAID, b"\0", b" ", b"[", b'{"a":'], ids=repr)
def test_a_bomb_is_refused_before_much_of_it_is_unpacked_and_none_of_it_read(
    content: bytes, tmp_path: Path
):
    path = bomb(tmp_path / "bomb.jsonl.gz", content, 64 * MEGABYTE)

    with in_little_memory(8 * MEGABYTE), pytest.raises(TranscriptError) as refused:
        hosts.read(path)

    assert unpacked_before(str(refused.value)) <= ALWAYS_READ + CHUNK
    assert "gunzip -k" in str(refused.value)


def test_a_bomb_with_noise_in_it_is_refused_by_what_it_holds_in_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("context_compression.transcripts.opening.MAX_UNPACKED", 40 * MEGABYTE)
    noise = random.Random(1).randbytes(15_000).hex().encode()
    path = bomb(tmp_path / "bomb.gz", b'{"role": "user", "content": "%s"}\n' % noise, 48 * MEGABYTE)

    with in_little_memory(8 * MEGABYTE), pytest.raises(TranscriptError, match="at most 41,943,040"):
        hosts.read(path)


def test_a_bomb_in_a_later_member_is_found(tmp_path: Path):
    path = tmp_path / "two.jsonl.gz"
    honest = gzip.compress(
        b"".join(b"%d\n" % n for n in random.Random(2).choices(range(9**9), k=99))
    )
    second = bomb(tmp_path / "second.gz", SAID, 64 * MEGABYTE)
    path.write_bytes(honest + second.read_bytes())

    with in_little_memory(8 * MEGABYTE), pytest.raises(TranscriptError, match="came out"):
        hosts.read(path)


def test_what_repeats_itself_is_read_as_long_as_it_is_small(tmp_path: Path):
    path = bomb(tmp_path / "small.jsonl.gz", SAID, MEGABYTE)

    assert len(hosts.read(path).messages) == MEGABYTE // len(SAID)


def test_a_packed_file_that_is_cut_off_is_read_up_to_there(tmp_path: Path):
    path = tmp_path / "cut.jsonl.gz"
    lines = b"".join(b'{"role": "user", "content": "%d"}\n' % n for n in range(2_000))
    path.write_bytes(gzip.compress(lines)[:-100])

    transcript = hosts.read(path)

    assert 0 < len(transcript.messages) < 2_000
    assert any("cut off" in warning for warning in transcript.warnings)


async def test_every_tool_refuses_a_bomb(tmp_path: Path):
    path = bomb(tmp_path / "bomb.jsonl.gz", SAID, 64 * MEGABYTE)

    async with connected(workspace_in(tmp_path, ANYWHERE)) as client:
        for tool in ("context_status", "context_compress", "context_offload"):
            said = await refusal(client, tool, conversation=str(path))
            assert unpacked_before(said) <= ALWAYS_READ + CHUNK
        assert "not UTF-8" in await refusal(client, "context_offload", path=str(path))


@pytest.mark.parametrize("command", ["status", "compress", "export"])
def test_every_command_refuses_a_bomb(command: str, tmp_path: Path):
    path = bomb(tmp_path / "bomb.jsonl.gz", SAID, 64 * MEGABYTE)
    more = ["--host", "codex"] if command == "export" else []

    done = commanded(tmp_path, command, str(path), *more)

    assert done.returncode == 2
    assert unpacked_before(done.stderr) <= ALWAYS_READ + CHUNK


def commanded(folder: Path, *arguments: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "context_compression", "--store", str(folder / "s"), *arguments],
        cwd=folder, input=stdin, capture_output=True, encoding="utf-8", timeout=120, check=False,
    )  # fmt: skip


@pytest.mark.skipif(sys.platform == "win32", reason="pipes and devices are Unix's")
@pytest.mark.parametrize("path", ["folder", "pipe", "/dev/zero", "link-to-zero"])
async def test_what_is_no_file_is_refused_at_once(path: str, tmp_path: Path):
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link-to-zero").symlink_to("/dev/zero")
    there = tmp_path / path

    done = commanded(tmp_path, "status", str(there), stdin="[]")
    async with connected(workspace_in(tmp_path, ANYWHERE)) as client:
        said = await refusal(client, "context_status", conversation=str(there))
        archived = await refusal(client, "context_offload", path=str(there))

    assert done.returncode == 2
    for text in (done.stderr, said, archived):
        assert re.search(r"folder|device or a pipe|not a regular file", text), text


def test_a_view_that_makes_up_rows_without_end_is_not_read(tmp_path: Path):
    path = tmp_path / "opencode.db"
    with sqlite3.connect(path) as db:
        db.executescript(
            "CREATE TABLE session (id, parent_id, title, revert, time_updated);"
            "INSERT INTO session VALUES ('ses', NULL, 'Much', NULL, 1);"
            "CREATE VIEW message AS WITH RECURSIVE n(id) AS (SELECT 1 UNION ALL SELECT id + 1 "
            "FROM n) SELECT id, 'ses' AS session_id, id AS time_created, 1 AS time_updated, '{}' "
            "AS data FROM n;"
        )
    db.close()

    with in_little_memory(8 * MEGABYTE), pytest.raises(TranscriptError, match=r"'message'.*a view"):
        hosts.read(path)


def test_a_hook_lets_the_host_go_on_whatever_it_is_told(tmp_path: Path):
    done = commanded(tmp_path, "hook", "claude-code", stdin="[" * 100_000)

    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr.startswith("context-compression: no answer to a hook of claude-code: ")
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize("text", ["", "garbage{", "[1, 2]", '"a"', "7", "\0"])
def test_a_hook_says_in_our_words_that_it_was_told_no_event(text: str, tmp_path: Path):
    done = commanded(tmp_path, "hook", "claude-code", stdin=text)

    assert (done.returncode, done.stdout) == (0, "")
    assert "no JSON object, so it is no event of claude-code" in done.stderr


@pytest.mark.parametrize("text", ["[" * 3_000_000, '{"a":' * 600_000, "[" * 900 + "]" * 900])
def test_what_is_nested_very_deep_is_refused_in_words(text: str, tmp_path: Path):
    path = tmp_path / "deep.json"
    path.write_text(text, encoding="utf-8")

    with pytest.raises(TranscriptError, match=r"deep\.json"):
        hosts.read(path)


async def test_messages_of_a_call_are_refused_where_they_are_too_deep(tmp_path: Path):
    deep: list[object] = []
    for _ in range(230):
        deep = [deep]

    async with connected(workspace_in(tmp_path, ANYWHERE)) as client:
        messages = [{"role": "user", "content": [{"type": "x", "of": deep}]}]
        said = await refusal(client, "context_status", messages=messages)

    assert "nested deeper than 200 levels" in said


@pytest.mark.parametrize("role", sorted(ROLES))
def test_a_role_and_a_text_is_no_message_of_a_foreign_format(role: str):
    assert refusal_of_foreign({"role": role, "content": "a"}) is None


def test_a_conversation_that_was_read_is_not_read_again():
    conversation = parse([{"role": "user", "content": "Go on."}])

    assert parse(conversation) is conversation
    assert [*conversation] == [{"role": "user", "content": "Go on."}]


SAYING = st.sampled_from(["a", "", " ", "Go on. " * 900, "\ud83d", "ümlaut"])
SPEAKING = st.sampled_from(["user", "assistant", "system"])
TALK = st.lists(st.fixed_dictionaries({"role": SPEAKING, "content": SAYING}), min_size=1)


@given(messages=TALK)
def test_what_could_be_freed_is_what_offload_frees(
    messages: list[dict[str, str]], tmp_path_factory: pytest.TempPathFactory
):
    session = Session(tmp_path_factory.mktemp("store"), "talk")
    offloaded = session.preview(messages, strategy="offload", target_tokens=1)

    assert session.status(messages).could_free == offloaded.tokens_freed


@given(
    st.one_of(st.binary(), st.text().map(str.encode)),
    st.sampled_from(["utf-8", "utf-16", "utf-16-le", "utf-32-le"]),
)
def test_a_line_is_read_as_json_reads_it(data: bytes, encoding: str):
    for line in (data, b"{" + data, f'{{"a": "{data.hex()}"}}'.encode(encoding)):
        try:
            wanted = json.loads(line)
        except (ValueError, RecursionError):
            wanted = None
        assert repr(parsed_json(line)) == repr(wanted)


@pytest.mark.parametrize(
    "line",
    [
        '{"a": 1, "a": 2}', '{"a": NaN, "b": -Infinity}', '{"a": %s}' % ("9" * 4_000),
        '{"a": 1e999}', '{"a": "\\ud83d"}', '{"a": "\ud83d"}', '{"a": 01}', '{"a": 1} x',
        '\ufeff{"a": 1}', '{"a": %s}' % ("[" * 5_000), '{"a": %s}' % ("9" * 5_000),
        '{"a": "\t"}', '{"a": -0.0}', " {}", "{} \n", "{", "[1]", "1",
    ],
)  # fmt: skip
def test_odd_json_is_read_as_json_reads_it(line: str):
    try:
        wanted = json.loads(line.encode("utf-8", "surrogatepass"))
    except (ValueError, RecursionError):
        wanted = None

    assert repr(parsed_json(line.encode("utf-8", "surrogatepass"))) == repr(wanted)

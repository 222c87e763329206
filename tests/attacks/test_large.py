"""What is small on disk and large in memory, and what is no file at all: refused in words, early."""

import gzip
import io
import json
import os
import random
import re
import sqlite3
import subprocess
import sys
import tracemalloc
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from mcp_door import ask, connected, refusal, workspace_in

from context_compression import hosts
from context_compression.errors import TranscriptError
from context_compression.hosts import packed

SAID = b'{"role": "user", "content": "a"}\n'
MEGABYTE = 1024 * 1024


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
def in_little_memory(most: int) -> Iterator[None]:
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

    assert unpacked_before(str(refused.value)) <= packed.FREE + packed.CHUNK
    assert "gunzip -k" in str(refused.value)


def test_a_bomb_with_noise_in_it_is_refused_by_what_it_holds_in_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(packed, "MOST", 40 * MEGABYTE)
    noise = random.Random(1).randbytes(15_000).hex().encode()
    path = bomb(tmp_path / "bomb.gz", b'{"role": "user", "content": "%s"}\n' % noise, 48 * MEGABYTE)

    with in_little_memory(8 * MEGABYTE), pytest.raises(TranscriptError, match="at most 41,943,040"):
        hosts.read(path)


def test_a_bomb_in_a_later_member_is_found(tmp_path: Path):
    path = tmp_path / "two.jsonl.gz"
    honest = gzip.compress(b"".join(b"%d\n" % n for n in random.Random(2).choices(range(9**9), k=99)))
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


@pytest.mark.anyio
async def test_every_tool_refuses_a_bomb(tmp_path: Path):
    path = bomb(tmp_path / "bomb.jsonl.gz", SAID, 64 * MEGABYTE)

    async with connected(workspace_in(tmp_path)) as client:
        for tool in ("context_status", "context_compress", "context_offload"):
            said = await refusal(client, tool, conversation=str(path))
            assert unpacked_before(said) <= packed.FREE + packed.CHUNK
        assert "not UTF-8" in await refusal(client, "context_offload", path=str(path))


@pytest.mark.parametrize("command", ["status", "compress", "export"])
def test_every_command_refuses_a_bomb(command: str, tmp_path: Path):
    path = bomb(tmp_path / "bomb.jsonl.gz", SAID, 64 * MEGABYTE)
    more = ["--host", "codex"] if command == "export" else []

    done = commanded(tmp_path, command, str(path), *more)

    assert done.returncode == 2
    assert unpacked_before(done.stderr) <= packed.FREE + packed.CHUNK


def commanded(
    folder: Path, *arguments: str, stdin: str = ""
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "context_compression", "--store", str(folder / "s"), *arguments],
        cwd=folder, input=stdin, capture_output=True, encoding="utf-8", timeout=120, check=False,
    )  # fmt: skip

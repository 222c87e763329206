"""Helpers for transcripts in tests: fixtures, how to write one, how to show what was read."""

import gzip
import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from context_compression import hosts
from context_compression.conversation import Message, Opaque, Thinking, parse

FIXTURES = Path(__file__).parents[1] / "fixtures"
Row = dict[str, Any]


def fixtures(pattern: str = "*.json*") -> list[Path]:
    """Our own transcripts of all hosts; the folder of each host has a README."""
    folders = (about.parent for about in FIXTURES.glob("*/README.md"))
    return sorted(path for folder in folders for path in folder.glob(pattern))


def rows_of(path: Path) -> list[Row]:
    """The rows of a file, compressed or not."""
    data = path.read_bytes()
    data = gzip.decompress(data) if path.suffix == ".gz" else data
    return [json.loads(line) for line in data.split(b"\n") if line]


def written(path: Path, rows: Iterable[Row]) -> Path:
    """A file with these rows."""
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def shown(transcript: hosts.Transcript) -> list[str]:
    """Each message as one line: role, then its texts, calls, results and other blocks."""
    return [line(message) for message in parse(transcript.messages).messages]


def line(message: Message) -> str:
    """`user | hello`, `assistant | ls(call_1)`."""
    calls = [f"{call.name}({call.id})" for call in message.calls]
    results = [f"{result.call_id}: {result.text}" for result in message.results]
    others = [f"<{b.source['type']}>" for b in message.blocks if isinstance(b, Opaque)]
    thoughts = ["<thinking>"] * any(isinstance(block, Thinking) for block in message.blocks)
    said = filter(None, [message.text])
    return " | ".join([message.role, *thoughts, *said, *calls, *results, *others])


def recordings(kind: str = "native") -> list[Path]:
    """The shared recordings of real sessions, as their hosts wrote them; empty if absent."""
    folder = data_folder() / "conversations" / kind
    return sorted(path for path in folder.rglob("*.gz"))


def data_folder() -> Path:
    """The folder of the shared recordings, whether it exists or not."""
    beside = Path(__file__).parents[3] / "shared" / "data"
    return Path(os.environ.get("CONTEXT_COMPRESSION_DATA", beside))

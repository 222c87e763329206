"""Whoever edits a store by hand, or has a disk that fails, may leave any value in any place.

Every JSON value of a real store is replaced by values of other types, one at a time, and all that
is done with a store is done with that one: it works, or is refused in words of ours.
"""

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

import context_compression
from context_compression import Session
from context_compression.hosts import read
from context_compression.messages import is_array
from context_compression.session.by_caller import Asked
from context_compression.store import Store
from context_compression.testing import ScriptedSummarizer

RECORDING = Path(context_compression.__file__).parent / "demo" / "conversation.jsonl"
ID = "recording"
LOG = Path("sessions") / ID / "events.jsonl"
PROMPTS = Path("prompts")
ANSWER = "## Goal\nMend the parser in src/reader.py.\n"
SPEAKERS = ("user", "assistant", "user", "assistant", "user")
OTHERS: tuple[Any, ...] = (None, True, -1, float("inf"), "no such thing", [None], {"a": []})
"""One of each type that JSON has."""

Place = tuple[str | int, ...]


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store in which a recording was compressed, in all the ways that leave something behind."""
    folder = tmp_path_factory.mktemp("sound") / ".compression"
    store = Store(folder)
    store.write_config({"keep_recent": 5, "important_keywords": ["wichtig"], "strategy": "auto"})
    session = Session(store, ID, summarizer=ScriptedSummarizer(ANSWER))
    session.origin = {"host": "claude-code", "model": "claude-opus-4-5", "window": 200_000}
    session.follow([*map(shortened, read(RECORDING).messages[:9])])
    session.compress(strategy="extract", target_tokens=1_500)
    session.undo()
    done = session.compress(strategy="summarize", force=True, target_tokens=1_000)
    assert done.changed
    session.restore(next(iter(done.refs)))
    session.offload("a long text that belongs to nobody")
    session.record(*({"role": role, "content": "So it went on. " * 99} for role in SPEAKERS))
    asked = session.ask(strategy="summarize", target_tokens=900, focus="the parser", pins=[-1])
    assert isinstance(asked, Asked)
    shutil.rmtree(folder / ".locks")
    return folder


def shortened(message: Mapping[str, Any]) -> dict[str, Any]:
    """A message whose tool results are no longer than a page."""
    blocks: Any = message["content"] if is_array(message["content"]) else ()
    content = [
        {**block, "content": block["content"][:600]} if block["type"] == "tool_result" else block
        for block in blocks
    ]
    return {**message, "content": content or message["content"]}

"""Recorded sessions, and the places in them where a history may be cut and compressed.

The recordings are in ../shared/data/conversations/uniform, or in the data folder that
CONTEXT_COMPRESSION_DATA names.
"""

import copy
import gzip
import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from itertools import pairwise
from pathlib import Path
from typing import Any, TypeAlias

from estimate import message_tokens

Block: TypeAlias = dict[str, Any]
Message: TypeAlias = dict[str, Any]
Messages: TypeAlias = list[Message]

BESIDE = Path(__file__).parents[2] / "shared" / "data"
FOLDER = Path(os.environ.get("CONTEXT_COMPRESSION_DATA", BESIDE)) / "conversations" / "uniform"

CUT_AT_TOKENS = (20_000, 40_000, 60_000, 90_000, 120_000, 160_000, 220_000, 300_000)
STEPS_AHEAD = 10  # of the assistant, by which a view is judged
CLOSE = 3  # messages: no cut so shortly before the host compacted the session itself


@dataclass(frozen=True)
class Compaction:
    """A compaction of the session by the host; `at` is the first message after it."""

    at: int
    summary: str | None


@dataclass(frozen=True)
class Recording:
    """One session.

    Attributes:
        source: the repository or data set it is from.
        folder: the working directory, which is removed from paths.
    """

    id: str
    source: str
    messages: Messages
    folder: str | None
    compactions: tuple[Compaction, ...]

    @property
    def uses_tools(self) -> bool:
        return any(block["type"] == "tool_use" for m in self.messages for block in m["content"])


@dataclass(frozen=True)
class Cut:
    """A history, with the range of the messages that follow it.

    Attributes:
        history: valid messages; begins with the summary if the host had compacted before.
        at: index in the recording of the first message after it.
        stop: where the host compacted next, if that matters.
        summary: the summary with which the host replaced this history, at a real compaction.
    """

    history: Messages
    at: int
    stop: int | None = None
    summary: str | None = None


def paths() -> list[Path]:
    """The recordings on disk; if there are none, the program ends with the reason."""
    found = sorted(FOLDER.glob("*.json.gz"))
    if not found:
        raise SystemExit(f"no recordings in {FOLDER}; set CONTEXT_COMPRESSION_DATA")
    return found


def mixed(path: Path) -> bytes:
    """A sort key that does not depend on the alphabetical order of names."""
    return sha256(path.name.encode()).digest()


def load(path: Path) -> Recording:
    with gzip.open(path, "rt", encoding="utf-8") as file:
        data: dict[str, Any] = json.load(file)
    compactions: list[dict[str, Any]] = data["meta"].get("compactions") or []
    return Recording(
        data["id"],
        data["source"].split("@")[0],
        data["messages"],
        data["meta"].get("cwd"),
        tuple(Compaction(each["at"], each.get("summary")) for each in compactions),
    )


def cuts(recording: Recording, at_most: int) -> list[Cut]:
    """At most `at_most` cuts before answers of the assistant, evenly spread over growing sizes."""
    indices = _cut_indices(recording)
    return [
        Cut(_history(recording, at), at) for at in indices[:: max(1, -(-len(indices) // at_most))]
    ]


def points(recording: Recording) -> list[Cut]:
    """The places where the host compacted the session and the summary is known."""
    found: list[Cut] = []
    ends = [*(each.at for each in recording.compactions), None]
    for each, stop in zip(recording.compactions, ends[1:], strict=True):
        if each.summary and each.at:
            history = _closed(_history(recording, each.at, before=True))
            found.append(Cut(history, each.at, stop, each.summary))
    return found


def _cut_indices(recording: Recording) -> list[int]:
    messages = recording.messages
    sizes = [message_tokens(message) for message in messages]
    if sum(sizes) >= 1.3 * CUT_AT_TOKENS[0]:
        thresholds = list(CUT_AT_TOKENS)
    else:
        thresholds = [int(0.6 * sum(sizes))]
    answers = [at for at, message in enumerate(messages) if message["role"] == "assistant"]
    found: list[int] = []
    before = 0.0
    for at, size in enumerate(sizes):
        if thresholds and before >= thresholds[0] and messages[at]["role"] == "assistant":
            thresholds = [each for each in thresholds if each > before]
            ahead = [answer for answer in answers if answer >= at][:STEPS_AHEAD]
            if len(ahead) == STEPS_AHEAD and not any(
                at - CLOSE <= each.at <= ahead[-1] for each in recording.compactions
            ):
                found.append(at)
        before += size
    return found


def _history(recording: Recording, at: int, *, before: bool = False) -> Messages:
    """The content of the context before message `at`; `before` the compaction there, if any."""
    past = [each for each in recording.compactions if each.at < at + (not before)]
    history = copy.deepcopy(recording.messages[past[-1].at if past else 0 : at])
    if past and past[-1].summary:
        block = {"type": "text", "text": past[-1].summary}
        if history and history[0]["role"] == "user":
            history[0]["content"].insert(0, block)
        else:
            history.insert(0, {"role": "user", "content": [block]})
    while history and not _may_begin(history[0]):
        del history[0]
    return history


def _may_begin(message: Message) -> bool:
    return message["role"] == "user" and message["content"][0]["type"] != "tool_result"


def _closed(history: Messages) -> Messages:
    """The history without a last message whose calls have no results."""
    if history and any(block["type"] == "tool_use" for block in history[-1]["content"]):
        return history[:-1]
    return history


def plain(messages: Sequence[Message]) -> Messages:
    """A view with only blocks as contents and texts as results."""
    return [
        {"role": message["role"], "content": [*map(_plain, _blocks(message["content"]))]}
        for message in messages
    ]


def _blocks(content: str | list[Block]) -> list[Block]:
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
    return [block for block in blocks if block["type"] in ("text", "tool_use", "tool_result")]


def _plain(block: Block) -> Block:
    content = block.get("content") or ""
    if block["type"] != "tool_result" or isinstance(content, str):
        return block
    return {**block, "content": "\n".join(part.get("text", "") for part in content)}


def problems(messages: Sequence[Message]) -> list[str]:
    """The reasons for which the Messages API would refuse a view."""
    if not messages:
        return ["empty"]
    found: list[str] = []
    if messages[0]["role"] != "user":
        found.append("the first message is not the user's")
    if any(a["role"] == b["role"] == "assistant" for a, b in pairwise(messages)):
        found.append("two assistant messages in a row")
    seen: list[str] = []
    asked: list[str] = []
    for at, message in enumerate(messages):
        if not message["content"]:
            found.append(f"message {at} is empty")
        answered = [b["tool_use_id"] for b in message["content"] if b["type"] == "tool_result"]
        if sorted(answered) != sorted(asked):
            found.append(f"message {at} does not answer the calls before it")
        asked = [block["id"] for block in message["content"] if block["type"] == "tool_use"]
        seen += asked
    if asked:
        found.append("the last calls have no results")
    if len(seen) != len(set(seen)):
        found.append("a call's id occurs twice")
    return found

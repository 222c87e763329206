"""Codex's rollouts in tests, as version 0.169 writes them: threads, forks and edited prompts."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

Row = dict[str, Any]
WINDOW = 258_400


def id_of(number: int) -> str:
    """An id that begins with the time it was made: a larger number was made later."""
    return f"01a2{number:04x}-0000-7000-8000-{number:012x}"


def said(role: str, text: str) -> Row:
    """A message of the user or the model."""
    kind = "output_text" if role == "assistant" else "input_text"
    item = {"type": "message", "role": role, "content": [{"type": kind, "text": text}]}
    return {"type": "response_item", "payload": item}


def called(id: str, output: str) -> list[Row]:
    """A call of the shell, and its output."""
    call = {"type": "function_call", "name": "exec_command", "arguments": '{"cmd": "make"}'}
    made = {"type": "function_call_output", "output": output}
    return [{"type": "response_item", "payload": {**item, "call_id": id}} for item in (call, made)]


def charged(tokens: int) -> Row:
    """What a request cost."""
    usage = {"input_tokens": tokens, "cached_input_tokens": 0, "output_tokens": 10}
    info = {"last_token_usage": usage, "total_token_usage": usage, "model_context_window": WINDOW}
    return {"type": "event_msg", "payload": {"type": "token_count", "info": info}}


def compacted(*kept: Row) -> Row:
    """A compaction, and what it left."""
    history = [row["payload"] for row in kept]
    return {"type": "compacted", "payload": {"message": "", "replacement_history": history}}


@dataclass(frozen=True)
class Written:
    """A file of a thread, and the number of its rows, those of other files before it included."""

    path: Path
    id: str
    thread: str
    first: int
    last: int

    def base(self, rows: int | None = None) -> Row:
        """The `history_base` of a file that goes on after some rows; after all by default."""
        count = self.last if rows is None else rows
        lines = self.path.read_bytes().splitlines(keepends=True)[: max(0, count - self.first)]
        return {
            "thread_id": self.id,
            "end_ordinal_exclusive": count,
            "end_byte_offset": sum(map(len, lines)),
        }


@dataclass
class CodexFolder:
    """A `.codex` folder, and the threads in it."""

    folder: Path
    project: Path
    made: list[Written] = field(default_factory=list[Written])

    def write(
        self,
        id: str,
        rows: Iterable[Row],
        *,
        base: Row | None = None,
        thread: str | None = None,
        archived: bool = False,
        begun: int | None = None,
    ) -> Written:
        """A rollout; one of another id than its thread's goes on after an edited prompt."""
        first = base["end_ordinal_exclusive"] if base and "end_ordinal_exclusive" in base else 0
        number = len(self.made) if begun is None else begun
        time = f"2026-11-20T10:{number // 60:02d}:{number % 60:02d}.000Z"
        about: Row = {"id": thread or id, "timestamp": time, "cwd": str(self.project)}
        about |= {"base_instructions": {"text": "You are an agent."}, "history_mode": "paginated"}
        if base is not None:
            about["history_base"] = base
        whole = [{"type": "session_meta", "payload": about}, *rows]
        name = id if thread in (None, id) else f"{thread}_{id}"
        day = self.folder / ("archived_sessions" if archived else "sessions/2026/11/20")
        day.mkdir(parents=True, exist_ok=True)
        path = day / f"rollout-2026-11-20T10-00-00-{name}.jsonl"
        path.write_text("".join(_lines(whole, first, time)), encoding="utf-8")
        made = Written(path, id, thread or id, first, first + len(whole))
        self.made.append(made)
        return made


def _lines(rows: Sequence[Row], first: int, time: str) -> Iterable[str]:
    for number, row in enumerate(rows, first):
        yield json.dumps({"timestamp": time, "ordinal": number} | row) + "\n"

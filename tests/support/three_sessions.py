"""Three small sessions, the same to the byte each time: `python three_sessions.py FOLDER`.

Clock and chance stand still (`benchmarks/still.py`), so this runs in a process of its own.
"""

import sys
from importlib import import_module
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
still: Any = import_module("still")  # first: what is imported later takes the time from it

from context_compression import Session, compress  # noqa: E402  # after `still`
from context_compression.testing import Run, tool_step  # noqa: E402  # after `still`

SETTINGS = {"offload_min_tokens": 100, "keep_recent_tokens": 200}


def talk(topic: str) -> list[dict[str, Any]]:
    """A user, five tool calls with results of 24 lines, and an answer to each."""
    messages: list[dict[str, Any]] = [
        {"role": "user", "content": f"Read the parts of {topic}. Never change src/{topic}.py."}
    ]
    for number in range(5):
        lines = (f"{topic}/part_{number}.py:{line}: value_{line} = {line}" for line in range(24))
        path = {"path": f"{topic}/part_{number}.py"}
        run = Run(f"call_{number}", "read", path, "\n".join(lines))
        messages += tool_step([run], "anthropic", says="I read it.")
        messages.append({"role": "assistant", "content": f"Part {number} sets 24 values."})
        messages.append({"role": "user", "content": f"Go on behind part {number}. 继续。"})
    return messages


def write(store: Path) -> None:
    """A session with a text put aside, one that was compressed and undone, one of `compress`."""
    recorded, compressed = talk("alpha"), talk("beta")
    still.again("recorded")
    session = Session(store, "recorded", settings=SETTINGS)
    session.record(*recorded)
    session.offload("a line put aside\n" * 60, what="a note")
    still.again("compressed")
    session = Session(store, "compressed", settings=SETTINGS, system="Be brief.")
    session.record(*compressed[:12])
    session.compress(strategy="offload", target_tokens=1)
    session.record(*compressed[12:])
    session.compress(strategy="window", target_tokens=900)
    session.undo()
    session.compress(strategy="truncate", target_tokens=1)
    still.again("kept")
    compress(talk("gamma"), strategy="offload", target_tokens=1, settings=SETTINGS, store=store)


if __name__ == "__main__":
    write(Path(sys.argv[1]))

"""Behind every door: a paused turn goes on, and a message with nothing but reasoning leaves."""

from typing import Any

import pytest
from every_door import DOORS, Ask, Door

LOG = "\n".join(f"src/{n}.c:{n}: warning: unused v{n}" for n in range(300))
ANSWERED_BY_TEXT = {"hooks that take a summary", "a host's own compaction"}
"""Doors whose answer is a text in place of the conversation."""
TAKING = {
    name: door
    for name, door in DOORS.items()
    if "anthropic" in door.dialects and not name.startswith("adapter")
}
"""The doors that take such a conversation; the table makes texts of such blocks for adapters."""


def history() -> list[dict[str, Any]]:
    """A conversation with reasoning alone in its middle, and a search that goes on at its end."""
    messages: list[dict[str, Any]] = [{"role": "user", "content": "Fix it."}]
    for n in range(6):
        call = {
            "type": "tool_use",
            "id": f"t{n}",
            "name": "bash",
            "input": {"command": f"make {n}"},
        }
        result = {"type": "tool_result", "tool_use_id": f"t{n}", "content": LOG}
        messages.append({"role": "assistant", "content": [call]})
        messages.append({"role": "user", "content": [result]})
    alone = {"type": "thinking", "thinking": "Only thinking.", "signature": "c2ln"}
    search = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": "q"}
    return [
        *messages,
        {"role": "assistant", "content": [alone]},
        {"role": "user", "content": "Go on."},
        {"role": "assistant", "content": [{"type": "text", "text": "I search."}, search]},
    ]


@pytest.mark.parametrize("door", TAKING.values(), ids=TAKING)
def test_reasoning_alone_leaves_and_a_paused_turn_goes_on(door: Door) -> None:
    asked = Ask(share=0.3, settings={"token_budget": 12_000})

    view = door.requests(("anthropic", history()), asked)[-1].view

    assert "Only thinking." not in str(view)
    assert door.name in ANSWERED_BY_TEXT or "srvtoolu_1" in str(view[-1])

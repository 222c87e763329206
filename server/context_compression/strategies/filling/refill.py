"""Longer previews, which fill the room that shortened tool results leave."""

from collections.abc import Sequence
from dataclasses import replace

from context_compression.planning.edits import Edit
from context_compression.planning.plan import Plan
from context_compression.strategies import measured
from context_compression.strategies.filling.filling import Filling
from context_compression.strategies.forms import Form, Forms
from context_compression.strategies.tool_results import answered_steps


def refilled(plan: Plan, edits: Sequence[Edit]) -> Sequence[Edit] | None:
    """Edits of single results, with longer previews that fill the remaining room.

    All large results compete for the room, so that not only the oldest are shortened. `None` if no
    edit is of `truncate` and the previews of all results leave little room, and too little to show
    a large part of them again. `extract`, which chooses from the full conversation, keeps more
    then.

    Args:
        plan: the plan of the conversation before the edits; it has a room.
        edits: edits that each shorten one message; those of `truncate` are kept.
    """
    assert plan.room is not None
    truncated = {edit.start: edit.becomes[0] for edit in edits if edit.reason == "truncate"}
    kept = dict.fromkeys(range(len(plan.messages)), Form.FULL)
    kept |= {index: Form.RESULTS for index in answered_steps(plan) if index not in truncated}
    filling = Filling(Forms(plan), kept, plan.room, 0, truncated)
    left_out = plan.total - (plan.room - filling.left)
    least = min(measured.LEAST_ROOM_SHARE * plan.room, measured.LEAST_SHOWN_SHARE * left_out)
    if not truncated and filling.left < least:
        return None
    return [
        replace(edit, reason="truncate", why={}) if edit.start in truncated else edit
        for edit in filling.edits("offload")
    ]

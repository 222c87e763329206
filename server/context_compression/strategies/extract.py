"""`extract`: a must-keep set, and the remaining room filled with pieces chosen by evidence.

Must-keep are the user's messages, records, summaries, the newest messages, and every tool step as a
skeleton: its call, one line for each result. The contents compete. A must-keep set that takes more
than its share of the room shrinks: previews for the newest results, long texts clipped, old tool
steps only quoted, fewer of the newest messages, only the last turns, the floor; whatever room is
left after that, pieces fill.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from context_compression.edits import Edit
from context_compression.messages import Message, Text
from context_compression.plan import Plan
from context_compression.selection import SUMMARY_MARKS
from context_compression.strategies.base import Proposal, without_model
from context_compression.strategies.filling import Filling, is_instruction
from context_compression.strategies.floor import anchored_forms
from context_compression.strategies.forms import Form, Forms

SHORT_RECORD = 2_000
"""Characters up to which a marker anywhere makes a record."""
MUST_KEEP_SHARE = 0.4
"""Share of the room that the must-keep set may take before it shrinks; pieces are worth more."""
QUOTED_SHARE = 0.25
"""The same where old tool steps are only quoted: the newest messages alone are in the set then."""
FEWEST_RECENT = 4
"""Messages to which the newest shrink before old turns go."""


def propose(plan: Plan) -> Proposal:
    """Edits that leave the must-keep set and the pieces that carry most evidence."""
    target = int(plan.total * plan.settings.target_usage)
    return without_model(extraction(plan, target if plan.room is None else plan.room))


def extraction(plan: Plan, room: int) -> Sequence[Edit]:
    """The edits that leave `room` tokens or less, where the floor allows."""
    room = max(room, 1)  # a system prompt may have taken more than all
    forms = Forms(plan)
    fillings = (
        (level, Filling(forms, must_keep(plan, level, room), room, level.first))
        for level in levels(plan)
    )
    return next(f for level, f in fillings if f.left >= level.spare * room).edits("extract")


@dataclass(frozen=True)
class Level:
    """One form of the must-keep set.

    Attributes:
        first: messages before this one are dropped, but for what is anchored.
        recent: messages from this one on stay, in the form `newest`.
        newest: that form.
        skeletons: whether older tool steps stay as skeletons.
        spare: share of the room it must leave free to be taken.
    """

    first: int
    recent: int
    newest: Form = Form.WHOLE
    skeletons: bool = True
    spare: float = 1 - MUST_KEEP_SHARE


def levels(plan: Plan) -> Iterator[Level]:
    """The forms of the must-keep set, the most generous first; the last one takes any room."""
    end = len(plan.messages)
    recent = plan.cut_before(max(plan.head, end - plan.settings.min_recent_messages))
    fewest = max(recent, plan.cut_before(max(plan.head, end - FEWEST_RECENT)))
    yield Level(plan.head, min(recent, plan.tail))
    yield Level(plan.head, recent)
    yield Level(plan.head, recent, Form.PREVIEW)
    yield Level(plan.head, recent, Form.CLIPPED)
    yield Level(plan.head, recent, Form.CLIPPED, skeletons=False, spare=1 - QUOTED_SHARE)
    yield Level(plan.head, fewest, Form.CLIPPED, skeletons=False, spare=0)
    yield Level(plan.head, end, Form.CLIPPED, skeletons=False, spare=0)
    for count in range(min(plan.settings.fallback_turns, len(plan.turns)), 0, -1):
        first = plan.turns[-count].start
        yield Level(first, max(first, fewest), Form.CLIPPED, skeletons=False, spare=0)
    yield Level(end, end, Form.CLIPPED, spare=float("-inf"))


def must_keep(plan: Plan, level: Level, room: int) -> dict[int, Form]:
    """What stays at a level and in which form, by index."""
    kept = anchored_forms(plan, room if level.newest is Form.WHOLE else None)
    first_turn = plan.turns[0].stop if plan.turns else plan.head
    older = Form.CLIPPED if level.newest is Form.CLIPPED else Form.PREVIEW
    for index in range(max(level.first, plan.head), len(plan.messages)):
        message = plan.messages[index]
        if index in kept:
            continue
        if index >= level.recent:
            kept[index] = level.newest
        elif (
            is_record(message, plan)
            or is_users(message)
            or (level.skeletons and message.starts_turn)
            or (message.role in ("system", "developer") and index < first_turn)
        ):
            kept[index] = older
        elif level.skeletons and plan.step_of(index):
            kept[index] = Form.SKELETON
    for index in list(kept):  # a record may stand in a tool step, which is never split
        for partner in plan.step_of(index) or ():
            kept.setdefault(partner, kept[index])
    return kept


def is_users(message: Message) -> bool:
    """Whether a turn begins here that is the user's own, not just a note of the host."""
    return message.starts_turn and any(
        not isinstance(block, Text) or is_instruction(block) for block in message.blocks
    )


def is_record(message: Message, plan: Plan) -> bool:
    """Whether it is a summary, or holds a marker of records.

    In a long output only a line that begins with the marker is a record: the file that
    defines a marker holds it, too.
    """
    if message.text.startswith(SUMMARY_MARKS):
        return True
    texts = [message.text, *(result.text for result in message.results)]
    return any(
        marker in text
        and (len(text) <= SHORT_RECORD or f"\n{marker}" in text or text.startswith(marker))
        for marker in plan.settings.record_markers
        for text in texts
    )

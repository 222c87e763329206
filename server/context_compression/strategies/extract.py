"""`extract`: a must-keep set, and the remaining room filled with pieces chosen by evidence.

Must-keep are the user's messages, records, summaries, the newest messages, and every tool step as a
skeleton: its call, one line for each result. The contents compete. A must-keep set that takes more
than its share of the room shrinks: previews for the newest results, long texts clipped, old tool
steps only quoted, fewer of the newest messages, the open step as small as it gets, only the last
turns, the floor; whatever room is left after that, the newest pictures and pieces fill. In a small
room two views are made where few of the newest messages fit, and that is taken which shows more
evidence.
"""

from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

from context_compression.conversation.authors import is_bare_command, is_skill
from context_compression.conversation.messages import Message, Text
from context_compression.conversation.validity import NO_START
from context_compression.planning.edits import Edit
from context_compression.planning.plan import Plan
from context_compression.planning.selection import SUMMARY_MARKS
from context_compression.strategies.base import Proposal, without_model
from context_compression.strategies.filling import Filling
from context_compression.strategies.floor import anchored_forms, leaves_half
from context_compression.strategies.forms import Form, Forms, is_users
from context_compression.strategies.pictures import is_mark
from context_compression.strategies.repeats import said_again

SHORT_RECORD = 2_000
"""Characters up to which a marker anywhere makes a record."""
MUST_KEEP_SHARE = 0.5
"""Share of the room that the must-keep set may take before it shrinks: pieces are worth more."""
QUOTED_SHARE = 0.25
"""The same where old tool steps are only quoted: the newest messages alone are in the set then."""
FEWEST_RECENT = 4
"""Messages to which the newest shrink before old turns go."""
FEWEST_SPARE = 0.1
"""Share of the room they must leave free: one long result shall not take the place of all else."""
UNSEEN_SHARE = 0.2
"""Share of the room up to which the open tool step stays whole however the rest is shortened, but
for the floor: what the model just asked for, and has not seen, it needs next."""
RIVAL_ROOM, RIVAL_TOTAL, RIVAL_GAIN = 8_000, 190_000, 1.05
"""Tokens of room, and of a conversation, up to which two views are made where only few of the
newest messages fit: one with them, and one for which they compete with all others. That is taken
if it shows so many times the evidence (measured on recorded sessions: 1 to 1.1 do equally well). It
takes a third of the time once more. What the user's last words reply to is worth more than
evidence, and so is a picture: where one stays, there is one view."""
PREVIEWS_SPARE = 0.4
"""The same of an open tool step with previews beside all that the user said: from all there is may
be chosen what tells more (measured on recorded sessions: 0.3 to 0.5 do equally well)."""


def propose(plan: Plan) -> Proposal:
    """Edits that leave the must-keep set and the pieces that carry most evidence."""
    target = int(plan.total * plan.settings.target_usage)
    return without_model(extraction(plan, target if plan.room is None else plan.room))


def extraction(plan: Plan, room: int) -> Sequence[Edit]:
    """The edits that leave `room` tokens or less, where the floor allows."""
    room = max(room, 1)  # a system prompt may have taken more than all
    forms = Forms(plan)
    records = {i for i, message in enumerate(plan.messages) if is_record(message, plan)}
    users = {i for i, message in enumerate(plan.messages) if is_users(message)}
    again = loaded_again(plan)

    def filling(level: Level) -> Filling | None:
        """The view of a level; `None` when its must-keep set takes too much of the room."""
        kept = must_keep(plan, level, room, records | users, again)
        found = Filling(forms, kept, room, level.first)
        if found.left < level.spare * room:
            return None
        return found if level.spare < 0 or found.left >= found.owed else None

    def fillings(of: Iterable[Level]) -> Iterator[tuple[Level, Filling]]:
        return ((level, found) for level in of if (found := filling(level)))

    (*generous, least), tight = levels(plan)
    last = filling(least)  # where it does not fit, those before it hardly ever do
    with_skeletons = chain(fillings(generous), [(least, last)]) if last else ()
    edits: Sequence[Edit] = ()
    small = room <= RIVAL_ROOM and plan.total <= RIVAL_TOTAL
    for level, found in chain(with_skeletons, fillings(tight)):
        fewer = small and not found.kept.keys() >= {*level.left_out}
        rival = level.rival if fewer and plan.replied_to not in found.kept else None
        edits = found.edits("extract", measured=rival is not None)
        if found.evicted:
            continue
        if rival and not found.showing.shown and (other := filling(rival)):
            its_edits = other.edits("extract", measured=True)
            if not other.evicted and other.worth_of(other) > RIVAL_GAIN * other.worth_of(found):
                edits = its_edits
        break
    return edits


@dataclass(frozen=True)
class Level:
    """One form of the must-keep set.

    Attributes:
        first: messages before this one are dropped, but for what is anchored.
        recent: messages from this one on stay, in the form `newest`.
        newest: that form.
        skeletons: whether older tool steps stay as skeletons.
        spare: share of the room it must leave free to be taken, and at least what the user's rules
            in dropped messages cost; negative for one that is taken in any case.
        left_out: of the newest messages those that it leaves out, but for the user's.
        rival: another form, which may show more where it leaves out any.
    """

    first: int
    recent: int
    newest: Form = Form.WHOLE
    skeletons: bool = True
    spare: float = 0
    left_out: range = range(0)
    rival: "Level | None" = None


def levels(plan: Plan) -> tuple[Sequence[Level], Sequence[Level]]:
    """The forms of the must-keep set, the most generous first; the last one takes any room.

    Those with skeletons of old tool steps come apart: each hardly ever takes less than the next.
    """
    end = len(plan.messages)
    recent = plan.cut_before(max(plan.head, end - plan.settings.min_recent_messages))
    fewest = max(recent, plan.cut_before(max(plan.head, end - FEWEST_RECENT)))
    clipped, head = Form.CLIPPED, plan.head
    spare = 1 - MUST_KEEP_SHARE
    with_skeletons = (
        Level(head, min(recent, plan.tail), spare=spare),
        Level(head, recent, spare=spare),
        Level(head, recent, Form.PREVIEW, spare=spare),
        Level(head, recent, clipped, spare=spare),
    )
    smallest = Level(head, end, Form.LEAST, skeletons=False)
    few = Level(
        head, fewest, clipped, skeletons=False, spare=FEWEST_SPARE,
        left_out=range(recent, fewest), rival=smallest,
    )  # fmt: skip
    turns = [turn.start for turn in plan.turns[-plan.settings.fallback_turns :]]
    return with_skeletons, (
        Level(head, recent, clipped, skeletons=False, spare=1 - QUOTED_SHARE),
        few,
        Level(head, end, clipped, skeletons=False, spare=PREVIEWS_SPARE),
        smallest,
        *(Level(turn, max(turn, fewest), clipped, skeletons=False) for turn in turns),
        Level(end, end, clipped, spare=FEWEST_SPARE),
        Level(end, end, Form.LEAST, spare=float("-inf")),
    )


def must_keep(
    plan: Plan, level: Level, room: int, always: Container[int], again: Container[int]
) -> dict[int, Form]:
    """What stays at a level and in which form, by index.

    Args:
        plan: of the conversation.
        level: how much stays.
        room: tokens the view may take.
        always: indices of records and of what the user said.
        again: of messages that hold nothing but what a later one holds, too.
    """
    whole = level.newest is Form.WHOLE and leaves_half(plan, room)
    least = level.newest is Form.LEAST
    kept = anchored_forms(plan, level.newest if whole or least else Form.PREVIEW)
    unseen = plan.open_step or ()
    if level.spare >= 0 and sum(plan.tokens[index] for index in unseen) <= UNSEEN_SHARE * room:
        kept |= dict.fromkeys(unseen, Form.WHOLE)
    first_turn = plan.turns[0].stop if plan.turns else plan.head
    older = Form.CLIPPED if level.newest in (Form.CLIPPED, Form.LEAST) else Form.PREVIEW
    for index in range(max(level.first, plan.head), len(plan.messages)):
        message = plan.messages[index]
        if index in kept or (index in again and index < level.recent):
            continue
        if index >= level.recent:
            kept[index] = level.newest
        elif (
            index in always
            or (level.skeletons and message.starts_turn)
            or (message.is_system and index < first_turn)
        ):
            kept[index] = older
        elif level.skeletons and plan.step_of(index):
            kept[index] = Form.SKELETON
    for index in list(kept):  # a record may stand in a tool step, which is never split
        for partner in plan.step_of(index) or ():
            kept.setdefault(partner, kept[index])
    return kept


def loaded_again(plan: Plan) -> set[int]:
    """The messages with skills that hold nothing but what later ones of the user's hold, too.

    That the host ran a command of its own is no loss.
    """
    alone = {
        index: [block.text for block in message.blocks if isinstance(block, Text)]
        for index, message in enumerate(plan.messages)
        if message.role == "user" and all(isinstance(block, Text) for block in message.blocks)
    }
    again = said_again(plan.messages, alone.__contains__)
    return {
        index
        for index, told in alone.items()
        if any(map(is_skill, told))
        and all((index, n) in again or is_bare_command(text) for n, text in enumerate(told))
    }


def is_record(message: Message, plan: Plan) -> bool:
    """Whether it is a summary, or holds a marker of records.

    In a long output only a line that begins with the marker is a record: the file that
    defines a marker holds it, too.
    """
    if message.text.startswith(SUMMARY_MARKS):
        texts = (block for block in message.blocks if isinstance(block, Text))
        return message.text != NO_START and not all(map(is_mark, texts))
    texts = [message.text, *(result.text for result in message.results)]
    return any(
        marker in text
        and (len(text) <= SHORT_RECORD or f"\n{marker}" in text or text.startswith(marker))
        for marker in plan.settings.record_markers
        for text in texts
    )

"""The must-keep set: the messages that `extract` keeps at each level.

The set holds the user's messages, records, summaries, the newest messages, and every tool step as a
skeleton, which is its call and one line for each result. A set that takes more than its share of
the room shrinks in these steps: the newest results become previews, long texts are clipped, old
tool steps are only quoted, fewer of the newest messages stay, the open step becomes as small as
possible, only the last turns stay, and finally only the smallest view.
"""

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass

from context_compression.conversation.authors import is_bare_command, is_skill
from context_compression.conversation.authors.reminders import repeated_reminders
from context_compression.conversation.messages import Message, Text
from context_compression.conversation.validity import NO_START
from context_compression.planning.plan import Plan
from context_compression.planning.selection import SUMMARY_MARKS
from context_compression.planning.staying import stays_apart
from context_compression.strategies import measured
from context_compression.strategies.floor import anchored_forms, leaves_half
from context_compression.strategies.forms import Form
from context_compression.strategies.pictures import is_mark
from context_compression.strategies.repeats import repeated_texts


@dataclass(frozen=True)
class Level:
    """One form of the must-keep set.

    Attributes:
        first: messages before this index are dropped, unless they are anchored.
        recent: messages from this index on stay, in the form `newest`.
        newest: the form of the newest messages.
        skeletons: whether older tool steps stay as skeletons.
        spare: the share of the room that the level must leave free. It must also leave room for the
            user's constraints in dropped messages. A negative value means that the level is always
            accepted.
        left_out: the newest messages that it leaves out, unless they are the user's.
        rival: another level, which may show more if this level leaves out any of the newest
            messages.
    """

    first: int
    recent: int
    newest: Form = Form.FULL
    skeletons: bool = True
    spare: float = 0
    left_out: range = range(0)
    rival: "Level | None" = None


def levels(plan: Plan) -> tuple[Sequence[Level], Sequence[Level]]:
    """The levels of the must-keep set, the most generous first; the last level fits any room.

    The first tuple holds the levels with skeletons of old tool steps. Each of these hardly ever
    takes less room than the next one.
    """
    end = len(plan.messages)
    recent = plan.cut_before(max(plan.head, end - plan.settings.min_recent_messages))
    fewest = max(recent, plan.cut_before(max(plan.head, end - measured.FEWEST_RECENT)))
    clipped, head = Form.CLIPPED, plan.head
    spare = 1 - measured.MUST_KEEP_SHARE
    with_skeletons = (
        Level(head, min(recent, plan.tail), spare=spare),
        Level(head, recent, spare=spare),  # fewer of the newest messages unshortened
        Level(head, recent, Form.PREVIEW, spare=spare),  # their results with previews
        Level(head, recent, clipped, spare=spare),  # their long texts clipped, too
    )
    smallest = Level(head, end, Form.ENDING, skeletons=False)
    few = Level(
        head, fewest, clipped, skeletons=False, spare=measured.FEWEST_SPARE,
        left_out=range(recent, fewest), rival=smallest,
    )  # fmt: skip
    if plan.is_talk_of_two:
        last = plan.cut_before(max(plan.head, end - 1))
        spare = 1 - measured.TALK_NEWEST_SHARE
        return (Level(end, min(recent, fewest), spare=spare),), (
            Level(end, last, clipped, spare=spare),
            Level(end, end, clipped, skeletons=False),
            Level(end, end, Form.LEAST, spare=float("-inf")),
        )
    turns = [turn.start for turn in plan.turns[-plan.settings.fallback_turns :]]
    return with_skeletons, (
        Level(head, recent, clipped, skeletons=False, spare=1 - measured.QUOTED_SHARE),
        few,
        # the newest messages compete with all others: the open step with previews, then smaller
        Level(head, end, clipped, skeletons=False, spare=measured.PREVIEWS_SPARE),
        smallest,
        # the last turns only, fewer and fewer
        *(Level(turn, max(turn, fewest), clipped, skeletons=False) for turn in turns),
        # the anchored messages with previews, then the smallest view
        Level(end, end, clipped, spare=measured.FEWEST_SPARE),
        Level(end, end, Form.ENDING),
        Level(end, end, Form.LEAST, spare=float("-inf")),
    )


def must_keep(
    plan: Plan,
    level: Level,
    room: int,
    always: Container[int],
    again: Container[int],
    unread: Mapping[int, Form],
) -> dict[int, Form]:
    """The form of each message that stays at a level, by index.

    Args:
        plan: the plan of the conversation.
        level: the level of the must-keep set.
        room: the tokens that the view may take.
        always: the indices of records and of the user's messages.
        again: the indices of messages that a later message repeats.
        unread: the forms of the messages with results that the model has not read.
    """
    fits = level.newest is Form.FULL and leaves_half(plan, room)
    least = level.newest in (Form.LEAST, Form.ENDING)
    kept = anchored_forms(plan, level.newest if fits or least else Form.PREVIEW)
    kept |= unread
    first_turn = plan.turns[0].stop if plan.turns else plan.head
    older = Form.CLIPPED if least or level.newest is Form.CLIPPED else Form.PREVIEW
    for index in range(max(min(level.first, level.recent), plan.head), len(plan.messages)):
        message = plan.messages[index]
        if index in kept or (index in again and index < level.recent):
            continue
        if index >= level.recent:
            kept[index] = level.newest
        elif (
            index in always
            or (level.skeletons and message.starts_turn and not plan.users_compete)
            or (message.is_system and index < first_turn)
        ):
            kept[index] = older
        elif level.skeletons and plan.step_of(index):
            kept[index] = Form.SKELETON
    if plan.goal is not None and level.spare >= 0:
        kept.setdefault(plan.goal, Form.CLIPPED)
    for index in list(kept):  # a record may be in a tool step, which is never split
        if not stays_apart(plan.messages, index):
            for partner in plan.step_of(index) or ():
                kept.setdefault(partner, kept[index])
    return kept


def loaded_again(plan: Plan) -> set[int]:
    """The indices of skills and reminders whose texts are all repeated by later user messages.

    A note that the host ran one of its own commands may be lost.
    """
    alone = {
        index: [block.text for block in message.blocks if isinstance(block, Text)]
        for index, message in enumerate(plan.messages)
        if message.role == "user" and all(isinstance(block, Text) for block in message.blocks)
    }
    again = repeated_texts(plan.messages, alone.__contains__)
    return repeated_reminders(plan.messages) | {
        index
        for index, texts in alone.items()
        if any(map(is_skill, texts))
        and all((index, n) in again or is_bare_command(text) for n, text in enumerate(texts))
    }


def is_record(message: Message, plan: Plan) -> bool:
    """Whether a message is a summary or holds a record marker.

    In a long text, a line must begin with the marker, because a file that defines a marker holds
    it, too.
    """
    if message.text.startswith(SUMMARY_MARKS):
        texts = (block for block in message.blocks if isinstance(block, Text))
        return message.text != NO_START and not all(map(is_mark, texts))
    texts = [message.text, *(result.text for result in message.results)]
    short = measured.SHORT_RECORD_CHARS
    return any(
        marker in text and (len(text) <= short or f"\n{marker}" in text or text.startswith(marker))
        for marker in plan.settings.record_markers
        for text in texts
    )

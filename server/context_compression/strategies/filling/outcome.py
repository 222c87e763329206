"""The newest outcome of a run, which a view tells before all other pieces."""

from collections.abc import Sequence

from context_compression.conversation.messages import ToolResult, texts_of
from context_compression.evidence.facts import outcome_lines
from context_compression.planning.pieces import Place, Pool
from context_compression.strategies import measured
from context_compression.strategies.filling.kept import KeptMessages


def newest_outcome(base: KeptMessages, pool: Pool, left: int) -> tuple[Sequence[Place], int]:
    """The place of the line that tells how the last run ended, and the tokens to quote it.

    There is none in a large room, if the kept messages show it, or if it would take much of the
    room.

    Args:
        base: the kept messages.
        pool: the texts that compete.
        left: the tokens of the room that the kept messages leave.
    """
    plan = base.plan
    at = plan.last_outcome
    if at is None or base.room > measured.OUTCOME_ROOM_TOKENS:
        return (), 0
    for number in range(len(pool.sources) - 1, -1, -1):
        source = pool.sources[number]
        block = plan.messages[at].blocks[source.slot] if source.message == at else None
        if not isinstance(block, ToolResult) or block.text != source.text:
            continue
        for start, stop in outcome_lines(source.text)[-1:]:
            words = source.text[start:stop]
            tokens = plan.counter.text(words) + source.opening
            if not _shows(base, at, words) and tokens <= measured.OUTCOME_SHARE * left:
                return [(number, start, stop)], tokens
        break
    return (), 0


def _shows(base: KeptMessages, index: int, words: str) -> bool:
    message = base.shown.get(index)
    texts = (text for block in message.blocks for text in texts_of(block)) if message else ()
    return any(words in text for text in texts)

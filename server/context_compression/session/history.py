"""The history of a recorded session: its view before each compression, and now.

A compression that was undone, and messages that a rewind removed, are not part of it.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from context_compression.conversation.authors import first_words
from context_compression.conversation.formats import parse
from context_compression.errors import InvalidConversation
from context_compression.session.log_events import origin_of
from context_compression.session.session import Session
from context_compression.session.state import State
from context_compression.transcripts.history import OURS, Compaction, History, Stage
from context_compression.transcripts.stages import answers_among
from context_compression.transcripts.times import seconds

FIRST = 200  # messages that are searched for the user's first words


def history_of(session: Session) -> History:
    """The whole conversation of a session.

    The requests are the answers that were recorded; what they cost is not in the log.
    """
    state = session.state()
    origin = state.origin
    return History(
        path=session.log.place,
        host=origin.get("host", OURS),
        session_id=session.id,
        stages=list(_stages(state)),
        title=_title(state.recorded[:FIRST]),
        model=session.model or origin.get("model"),
        window=origin.get("window"),
        warnings=state.warnings,
    )


def _stages(state: State) -> list[Stage]:
    written = [seconds(time) for time in state.recorded_at]
    views = [*(view for view, _, _ in state.before), state.view]
    origins = [*state.origins_before, state.origins]
    stages: list[Stage] = []
    began: Compaction | None = None
    carried = 0
    for number, (view, of_view) in enumerate(zip(views, origins, strict=True)):
        carried = min(carried, len(view))  # a rewind may have removed some
        times = [None if index is None else written[index] for index in of_view]
        stages.append(Stage(view, carried, times, answers_among(view, carried, times), began))
        if number < len(state.compressions):
            event = state.compressions[number]
            began = _compaction(event)
            carried = state.before[number][1] + len(view) - event["messages_in"]
    return stages


def _compaction(event: Mapping[str, Any]) -> Compaction:
    origin = origin_of(event)
    handed_in = origin.get("host") == "messages"  # then both sizes include what is beside
    beside = 0 if handed_in else origin.get("beside", 0)
    return Compaction(
        time=seconds(event.get("created_at")),
        by=OURS,
        tokens_before=event["tokens_before"] + beside,
        tokens_after=event["tokens_after"] + beside,
    )


def _title(messages: Sequence[dict[str, Any]]) -> str:
    try:
        return first_words(parse(messages).messages)
    except InvalidConversation:
        return ""

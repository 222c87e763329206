"""The history of a session that was recorded with this package, from the events of its log."""

from collections.abc import Mapping
from contextlib import suppress
from datetime import datetime
from typing import Any

from context_compression.conversation.authors import user_words
from context_compression.conversation.formats import parse
from context_compression.display.strings import in_words
from context_compression.session import Session
from context_compression.session.event_checks import makes_sense
from context_compression.session.state import State
from context_compression.transcripts.history import OURS, Compaction, History, Stage


def history_of_session(session: Session) -> History:
    """The history of a session; its view is the live context.

    A stage ends with each compression or undo in its log.
    """
    past = _Past()
    events = session.log.events()
    for event in events.items:
        if makes_sense(event, past.state):
            past.replay(event)
    past.close()
    origin = past.state.origin
    return History(
        path=session.log.folder,
        host=origin.get("host") or "messages",
        session_id=session.id,
        stages=past.stages,
        title=_first_words(past.stages),
        model=session.model,
        warnings=session.state().warnings,
    )


class _Past:
    """The stages of a log, as it is replayed event by event."""

    def __init__(self) -> None:
        self.state = State()
        self.stages: list[Stage] = []
        self._times: list[float | None] = []
        self._carried = 0
        self._began: Compaction | None = None

    def replay(self, event: Mapping[str, Any]) -> None:
        """The next event. A compression or an undo begins a new stage.

        Messages that were rewound are no part of the history.
        """
        kind, compressions = event["type"], len(self.state.compressions)
        if kind in ("compression", "undo"):
            self.close()
        self.state.replay(event)
        if kind == "message":
            self._times.append(time_of(event))
        elif kind == "rewind":
            del self._times[len(self.state.recorded) :]
            if len(self.state.compressions) < compressions:  # the messages before are back
                self.stages, self._carried, self._began = [], 0, None
            self._carried = min(self._carried, len(self.state.view))
        elif kind in ("compression", "undo"):
            self._carried = len(self.state.view)
            self._began = _compaction(event) if kind == "compression" else None

    def close(self) -> None:
        """End the stage."""
        times = (None if at is None else self._times[at] for at in self.state.origins)
        stage = Stage(
            messages=list(self.state.view),
            carried=self._carried,
            times=[*times],
            began=self._began,
        )
        self.stages.append(stage)


def _compaction(event: Mapping[str, Any]) -> Compaction:
    before, after = event["tokens_before"], event["tokens_after"]
    return Compaction(time_of(event), by=OURS, tokens_before=before, tokens_after=after)


def time_of(event: Mapping[str, Any]) -> float | None:
    """When an event was written, in seconds since 1970; `None` if it has no valid time."""
    with suppress(KeyError, TypeError, ValueError, OverflowError):
        return datetime.fromisoformat(event["created_at"]).timestamp()
    return None


def _first_words(stages: list[Stage]) -> str:
    texts = (user_words(message).strip() for message in parse(stages[0].messages).messages)
    return in_words(next(filter(None, texts), ""))

"""Makes requests small while a session's store cannot be used: an agent's request must go out.

Nothing is lost, because the program keeps its history. What is compressed here can be restored
from memory while the session lives. As soon as the store can be used again, the record follows the
history.
"""

import logging
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from context_compression.compression.prepared import CompressionRequest
from context_compression.compression.run import compress, without_thinking
from context_compression.conversation.labels import without_marks
from context_compression.errors import ContextCompressionError, StoreError
from context_compression.session.following import (
    Followed,
    Shared,
    readable,
    shared_messages,
    with_unread,
)
from context_compression.session.outgoing import Outgoing, told
from context_compression.session.pacing import is_much_larger, room_of, target_after
from context_compression.session.status import Status, status_of
from context_compression.store import Store
from context_compression.store.file_backend import FileBackend
from context_compression.strings import one_line
from context_compression.summaries.errors import Error, is_foreign_thinking
from context_compression.tokens import Anchor
from context_compression.tokens.usage import AnyMessages, usage

if TYPE_CHECKING:
    from context_compression.session.session import Session

logger = logging.getLogger(__name__)


class InMemory:
    """The last request of a conversation, and what goes on from it.

    Attributes:
        warnings: why requests were made here, each once.
        active: whether the last request was made here.
        originals: what left the requests that were made here, by ref.
    """

    def __init__(self, conversation: "Session") -> None:
        self.warnings: list[str] = []
        self.active = False
        self.originals: dict[str, Any] = {}
        self._room = 0
        self._conversation = conversation
        self._history: Sequence[Any] = ()
        self._view: Sequence[Any] = ()
        self._outgoing = Outgoing()

    def sent(self, history: Sequence[Any], view: Sequence[Any]) -> None:
        """Note a request that was made with the store."""
        self._history, self._view, self.active = [*history], [*view], False

    def instead(self, history: Sequence[Any], error: Exception) -> list[Any]:
        """What is sent after an error: `fit`, with a warning."""
        by_store = isinstance(error, StoreError | OSError)
        where = "without the store" if by_store else "in memory, because something else failed"
        self.warn(f"a request was made {where}", error)
        return self.fit(history)

    def fit(self, history: Sequence[Any]) -> list[Any]:
        """The view of the last request with what is new, compressed if that is due."""
        view: Sequence[Any] = [*history]
        try:
            room = room_of(self._conversation, self._conversation.given_system)
            gave_up = self._room and is_much_larger(room, self._room)
            shared = Shared() if gave_up else shared_messages(self._history, history)
            if 0 < shared.known == len(self._history):  # the history only grew
                placed = enumerate(zip(map(id, self._history), shared.places, strict=True))
                places = {of: at for n, (of, at) in placed if n not in shared.regrouped}
                known = ((message, places.get(id(message))) for message in self._view)
                view = [
                    *(without_marks(m) if place is None else history[place] for m, place in known),
                    *shared.new(history),
                ]
            view = self._compressed(view)
        except Exception as error:
            self.warn("a request was made without a compression", error)
        self._history, self._view, self.active = [*history], view, True
        return self._repaired(view)

    def recovered(self, refusal: Error, error: StoreError) -> list[Any] | None:
        """`Session.recover` for the last request; `None` if it cannot be made smaller.

        The error of the store is raised where no history was fitted.
        """
        if not (self._view or self.active):
            raise error
        self.warn("a refused request was made smaller without the store", error)
        about = self._about
        request = CompressionRequest(messages=self._view, must_answer=True, **about)
        if is_foreign_thinking(refusal):
            result = without_thinking(request)
        else:
            used = usage(self._view, **about).used_tokens
            target = target_after(self._conversation.settings, used)
            result = compress(replace(request, target_tokens=target))
        if not result.changed:
            return None
        self.originals |= result.originals
        self._view, self.active = result.messages, True
        return self._repaired(self._view)

    def _repaired(self, view: Sequence[Any]) -> list[Any]:
        """What goes out for a view; messages that we cannot read stay as they are."""
        try:
            places, read, _ = readable(view)
            sendable = self._conversation.sendable(read.raw, self._outgoing)
        except Exception as error:
            self.warn("a request was made without a repair", error)
            return [*view]
        self.warnings += (each for each in told(sendable.repairs) if each not in self.warnings)
        of = sendable.indices_of(places)
        shown = [
            message if place is None or is_new else view[place]
            for message, place, is_new in zip(sendable.messages, of, sendable.repaired, strict=True)
        ]
        return with_unread(shown, sendable.messages, of, Followed(view, places))

    def warn(self, what: str, error: Exception | str) -> None:
        """Tell once what happened instead, and why."""
        why = one_line(str(error) or type(error).__name__)
        if isinstance(error, Exception) and not isinstance(
            error, ContextCompressionError | OSError
        ):
            why = f"{type(error).__name__}: {why}"
        warning = f"{what}: {why}"
        if warning not in self.warnings:
            self.warnings.append(warning)
            logger.warning("session %s: %s", self._conversation.id, warning)

    def status(self, messages: AnyMessages | None, anchor: Anchor | None) -> Status:
        """The status of the last request, or of `messages`, as if nothing had been recorded."""
        from context_compression.session.session import Session

        with TemporaryDirectory() as folder:
            store = Store(FileBackend(Path(folder) / "store"))
            empty = Session(store, self._conversation.id, summarizer=None, **self._about)
            return status_of(empty, self._view if messages is None else messages, anchor)

    @property
    def _about(self) -> dict[str, Any]:
        """The options of the conversation that also a compression takes."""
        conversation = self._conversation
        return {
            "system": conversation.given_system, "tools": conversation.tools,
            "model": conversation.model, "counter": conversation.counter,
            "settings": conversation.settings,
        }  # fmt: skip

    def _compressed(self, view: Sequence[Any]) -> Sequence[Any]:
        about, settings = self._about, self._conversation.settings
        if not (settings.auto_compress and usage(view, **about).over_threshold):
            return view
        result = compress(CompressionRequest(messages=view, must_answer=True, **about))
        self.originals |= result.originals
        self._room = max(1, room_of(self._conversation, self._conversation.given_system))
        return result.messages

"""`PassedOn`: the messages of a history that stay as they came, told kind by kind."""

import logging
from collections.abc import Iterable
from typing import Any

from context_compression.conversation.messages import is_object
from context_compression.display.strings import in_words, one_line
from context_compression.errors import InvalidConversation

logger = logging.getLogger(__name__)
MOST_TOLD = 8
"""How many kinds are told at most; a program may name each event anew."""
KIND_CHARS = 60


class PassedOn:
    """Tells each kind of message that we do not know once.

    Attributes:
        warnings: a sentence for each kind.
    """

    def __init__(self, session_id: str) -> None:
        self.warnings: list[str] = []
        self._session_id = session_id
        self._kinds: set[str] = set()

    def unread(self, message: Any, error: InvalidConversation, place: int, *, alone: bool) -> None:
        """Tell that a message is passed through.

        Args:
            message: the message, as the program passed it.
            error: why it cannot be read.
            place: its index in the history.
            alone: whether no message can be read. Then the error says what to pass instead; among
                messages that can be read, an object of a library is just named.
        """
        kind = _kind_of(message)
        why = str(error.at(place))
        if not (alone or is_object(message)):
            why = f"Message {place} is {kind}."
        self._tell(
            kind,
            "a message is passed through as it came; it is not counted, and not compressed: "
            f"{one_line(why)}",
        )

    def unknown_items(self, types: Iterable[str]) -> None:
        """Tell the types of items that are not known: they are counted, and stay as they came."""
        for kind in types:
            named = in_words(kind, KIND_CHARS)
            self._tell(
                f"item {kind}",
                f"items of the type {named!r} are not known here: they count, and always stay",
            )

    def _tell(self, kind: str, warning: str) -> None:
        if kind in self._kinds or len(self.warnings) > MOST_TOLD:
            return
        self._kinds.add(kind)
        if len(self.warnings) == MOST_TOLD:
            warning = "messages of more kinds are not known here; they stay as they came, too"
        self.warnings.append(warning)
        logger.warning("session %s: %s", self._session_id, warning)


def _kind_of(message: Any) -> str:
    """What a message is, in words: by its role and its type, or as an object of a library."""
    if not is_object(message):
        return f"{type(message).__name__} of {type(message).__module__.partition('.')[0]}"
    named = (f"{key} {in_words(str(message[key]), KIND_CHARS)}" for key in ("role", "type")
             if isinstance(message.get(key), str))  # fmt: skip
    return "a message with " + (" and ".join(named) or "neither role nor type")

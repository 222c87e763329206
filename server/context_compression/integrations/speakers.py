"""What persons said in the results of calls, as far as a framework has told it.

A framework often knows who speaks only for a moment: when a call was rejected, or an interrupt was
answered. `Spoken` keeps that by the call. A message is marked with it when it is read, and loses
the mark when it is written, because no provider knows it.
"""

from collections import OrderedDict
from collections.abc import Mapping
from threading import Lock
from typing import Any

from context_compression.conversation.authors import BY_USER

MOST = 10_000
"""How many calls are remembered; a session of ours keeps what is said in each with its message."""


class Spoken:
    """The words of persons in the results of calls, by the ids of the calls."""

    def __init__(self) -> None:
        self._words: OrderedDict[str, str] = OrderedDict()
        self._lock = Lock()

    def __contains__(self, call_id: str) -> bool:
        return call_id in self._words

    def note(self, call_id: str, words: str) -> None:
        """Remember what a person said; only what then stands in the result is believed."""
        with self._lock:
            self._words[call_id] = words
            if len(self._words) > MOST:
                self._words.popitem(last=False)

    def marked(self, part: Mapping[str, Any], call_id: object) -> dict[str, Any]:
        """The dict of a result, with the words if there are some."""
        words = self._words.get(str(call_id))
        return {**part, BY_USER: words} if words else dict(part)

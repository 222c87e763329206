"""The refs of a session: their originals, and texts archived under new refs."""

from functools import partial
from typing import Any

from context_compression.conversation.refs import Refs, digest_of
from context_compression.errors import StoreError
from context_compression.session.log_events import timestamp
from context_compression.session.state import State
from context_compression.store import SessionLog


def digest_under(log: SessionLog, state: State, ref: str) -> str | None:
    """The SHA-256 of the original under a ref; `None` for an unknown ref; "" if it is damaged.

    Older versions did not record the digest. For them it is computed from the original.
    """
    about = state.refs.get(ref)
    if about is None:
        return None
    if isinstance(digest := about.get("sha256"), str):
        return digest
    try:
        return digest_of(log.original(ref, [about]))
    except StoreError:
        return ""


def refs_of_session(log: SessionLog, state: State) -> Refs:
    """Creates refs that no other original of the session has."""
    return Refs(partial(digest_under, log, state))


class ArchivedTexts:
    """Archives texts in a session. The caller must hold `SessionLog.archiving`."""

    def __init__(self, log: SessionLog, state: State) -> None:
        """Prepare to archive texts in a log whose current state is `state`."""
        self._log, self._state = log, state
        self.ref_of = refs_of_session(log, state)

    def add(self, text: str, what: str, **more: Any) -> str:
        """Archive a text, unless it can be restored already; returns its ref.

        Args:
            text: the text to archive.
            what: a description of the text in a few words.
            more: further keys of the event. If there are any, the event is always written.
        """
        ref = self.ref_of(text)
        known = self._can_be_restored(ref)
        if known and not more:
            return ref
        about = {"what": what, "text": text, "message": None, "block": None}
        refs = {} if known else {ref: {**about, "sha256": self.ref_of.digest(ref)}}
        self._log.write_offloaded(ref, text)
        event: dict[str, Any] = {"type": "offload", "created_at": timestamp(), "refs": refs}
        self._log.append({**event, "previews": [], **more})
        return ref

    def _can_be_restored(self, ref: str) -> bool:
        """Whether an original is archived under a ref and can be read."""
        if ref not in self._state.refs:
            return False
        try:
            self._log.original(ref, [self._state.refs[ref]])
        except StoreError:
            return False
        return True

"""The refs of a session: what each stands for, and texts archived under new ones."""

from functools import partial
from typing import Any

from context_compression.conversation.refs import Refs, digest_of
from context_compression.errors import StoreError
from context_compression.session.log_events import timestamp
from context_compression.session.state import State
from context_compression.store import SessionLog


def digest_under(log: SessionLog, state: State, ref: str) -> str | None:
    """The SHA-256 of what is archived under a ref; `None` where nothing is; "" if it is damaged.

    Older versions did not write it down: then it is worked out from the original.
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
    """Gives refs that stand for nothing else in the session."""
    return Refs(partial(digest_under, log, state))


class ArchivedTexts:
    """Archives texts in a session; the caller holds `SessionLog.archiving` meanwhile."""

    def __init__(self, log: SessionLog, state: State) -> None:
        """Prepare to archive texts in a log; `state` is what it says now."""
        self._log, self._state = log, state
        self.ref_of = refs_of_session(log, state)

    def add(self, text: str, what: str, **more: Any) -> str:
        """Archive a text, unless it can be restored already; returns its ref.

        Args:
            text: to archive.
            what: the text in a few words.
            more: further keys of the event, which is then written in any case.
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
        """Whether something is archived under a ref, and can be read."""
        if ref not in self._state.refs:
            return False
        try:
            self._log.original(ref, [self._state.refs[ref]])
        except StoreError:
            return False
        return True

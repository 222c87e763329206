"""The refs of a session: to what each was given, and texts that are archived under a new one."""

from functools import partial
from typing import Any

from context_compression.conversation.refs import Refs, digest_of
from context_compression.errors import StoreError
from context_compression.session.state import State, timestamp
from context_compression.store import SessionLog


def digest_under(log: SessionLog, state: State, ref: str) -> str | None:
    """The SHA-256 of what is archived under a ref; `None` where nothing is; "" if it is damaged.

    Older versions did not write it down: then the original tells it.
    """
    about = state.refs.get(ref)
    if about is None:
        return None
    if isinstance(told := about.get("sha256"), str):
        return told
    try:
        return digest_of(log.original(ref, [about]))
    except StoreError:
        return ""


def refs_beside(log: SessionLog, state: State) -> Refs:
    """Gives refs that are those of no other content in a session."""
    return Refs(partial(digest_under, log, state))


class ArchivedTexts:
    """Archives texts in a session; `SessionLog.archiving` is held meanwhile."""

    def __init__(self, log: SessionLog, state: State) -> None:
        """Those of a log, which says what the state is."""
        self._log, self._state = log, state
        self.ref_of = refs_beside(log, state)

    def add(self, text: str, what: str, **more: Any) -> str:
        """Archive a text, unless it can be brought back already; returns its ref.

        Args:
            text: the text.
            what: it is, in a few words.
            more: what else the event says; one that says more is written in any case.
        """
        ref = self.ref_of(text)
        known = self._comes_back(ref)
        if known and not more:
            return ref
        about = {"what": what, "text": text, "message": None, "block": None}
        refs = {} if known else {ref: {**about, "sha256": self.ref_of.digest(ref)}}
        self._log.write_offloaded(ref, text)
        event: dict[str, Any] = {"type": "offload", "created_at": timestamp(), "refs": refs}
        self._log.append({**event, "previews": [], **more})
        return ref

    def _comes_back(self, ref: str) -> bool:
        """Whether the very text is archived under its ref, and can be read."""
        if ref not in self._state.refs:
            return False
        try:
            self._log.original(ref, [self._state.refs[ref]])
        except StoreError:
            return False
        return True

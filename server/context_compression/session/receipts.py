"""What the notes in a view may promise: refs that can be restored, and files to read."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import Any

from context_compression.compression.result import Kept, Result
from context_compression.conversation.messages import COMPRESSED, named_strings
from context_compression.errors import StoreError
from context_compression.evidence.ledger import from_json, merge
from context_compression.planning.archive import Archive
from context_compression.session.keeping import refs_of_session
from context_compression.session.state import State
from context_compression.store import SessionLog, Store
from context_compression.store.originals import original_of

BROUGHT_BACK = 0.25
"""Share of an original from which it counts as restored: a reader of that much may need all of it.
"""


def archive_of(store: Store, log: SessionLog, state: State) -> Archive:
    """What the notes of this session may promise, and what a strategy can look up."""

    def original(ref: str) -> str | None:
        try:
            value = original_of(state.refs[ref], log.read_original)
        except (KeyError, StoreError):
            return None
        return value if isinstance(value, str) else None

    folder = store.backend.folder

    def counts(entry: Mapping[str, Any]) -> bool:  # entries of a killed compression do not count
        number = entry.get("n", 0)
        return isinstance(number, int) and number in state.numbers

    return Archive(
        restorable=True,
        path=partial(offloaded_path, folder.name, log.id) if folder else None,
        restored=restored_refs(state),
        refs=state.refs,
        previews=state.previews,
        wholes=state.wholes,
        original=original,
        ref_of=refs_of_session(log, state),
        ledger=merge([], [from_json(entry) for entry in log.ledger() if counts(entry)]),
        prompt=store.prompt,
        settled=settled_in(state),
        missing=missing_from(state),
    )


def settled_in(state: State) -> int:
    """How many messages at the beginning of the view an earlier compression left there."""
    return len(state.view) - state.behind if state.compressions else 0


def missing_from(state: State) -> int:
    """How many recorded messages are in no form in the view; our own notes do not count."""
    recorded, shown = (
        sum(not _is_our_note(message) for message in messages)
        for messages in (state.recorded, state.view)
    )
    return max(0, recorded - shown)


def _is_our_note(message: Mapping[str, Any]) -> bool:
    """Whether a message, in any dialect, begins with a note of this package."""
    if message.get("role") not in ("user", "system", "developer"):
        return False
    contents = (message.get(name) for name in ("content", "parts"))
    strings = chain.from_iterable(named_strings(content, "text") for content in contents)
    texts = (text for name, text in strings if name == "text")
    return next(texts, "").startswith(COMPRESSED)


@dataclass(frozen=True)
class Rehearsal:
    """A `Keeper` for a preview, or for a compression that is written later.

    It makes the promises of a real archive, and writes nothing.
    """

    archive: Archive
    store: Store

    def keep(self, messages: Sequence[Mapping[str, Any]], result: Result) -> Kept:
        """Writes nothing; returns the warnings of the store."""
        return Kept(warnings=self.store.doubts)


def restored_refs(state: State) -> frozenset[str]:
    """Refs whose original was largely restored; for a message, also the refs of its texts."""
    restored = frozenset(ref for ref, share in state.shares.items() if share >= BROUGHT_BACK)
    messages = {
        (about.get("file"), about["message"])
        for ref in restored
        if (about := state.refs.get(ref)) and about["block"] is None
    }
    inside = {ref for ref, a in state.refs.items() if (a.get("file"), a["message"]) in messages}
    return restored | inside


def offloaded_path(folder: str, session: str, ref: str) -> str:
    """The path of an offloaded text, from the folder that contains the store.

    `offloaded_path(".compression", "a1", "c3f9…")` ->
    `".compression/sessions/a1/offloaded/c3f9….txt"`
    """
    return f"{folder}/sessions/{session}/offloaded/{ref}.txt"

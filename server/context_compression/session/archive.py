"""Writes originals to disk before a view changes, and says what the notes in a view may promise."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import Any

from context_compression.compression.result import Kept, Result
from context_compression.conversation.formats import parse
from context_compression.conversation.labels import is_digest, points_of
from context_compression.conversation.messages import COMPRESSED, Text, named_strings
from context_compression.conversation.refs import REF, Refs, canonical
from context_compression.conversation.system_prompt import summary_in
from context_compression.errors import StoreBusy, StoreError
from context_compression.evidence.ledger import entries, from_json, merge, to_json
from context_compression.listening import ARCHIVING, advance
from context_compression.planning.plan import Archive
from context_compression.session.events import base_of, encode_layout, timestamp
from context_compression.session.state import State, state_of
from context_compression.store import SessionLog, Store
from context_compression.store.session_files import original_of
from context_compression.threads import about_to_write
from context_compression.tokens import Counter

OFFLOADED = re.compile(rf"/offloaded/({REF})\.txt")
REPEATED = "already compressed; nothing was archived again"
MOST_KEY_POINTS = 10
"""How many constraints and decisions are listed with a summary."""


@dataclass(frozen=True)
class Archiver:
    """The `Keeper` of one compression in a session.

    Attributes:
        log: of the session.
        store: the store that holds the log.
        state: the state in which the compression is made.
        pending: events that lead to this state, and are written with the compression.
        system: the system prompt before the compression.
        origin: where the conversation comes from.
        room: for an automatic compression, the tokens that the settings' target leaves for the
            messages; if there is much more later, the originals come back.
    """

    log: SessionLog
    store: Store
    state: State
    pending: Sequence[dict[str, Any]]
    system: Any = None
    origin: Mapping[str, Any] | None = None
    room: int | None = None

    @property
    def archive(self) -> Archive:
        """Notes may name `context_restore` and the file of an offloaded text."""
        return archive_of(self.store, self.log, self.state)

    def keep(self, messages: Sequence[Mapping[str, Any]], result: Result) -> Kept:
        """Write the originals, then the pending events, then the event that makes the view count.

        Nothing is written if the session has this view already.

        Raises:
            StoreError: a file cannot be written, or another process changed the session meanwhile.
        """
        if same := self._same_compression(result):
            warnings = (REPEATED, *self.store.doubts())
            return Kept((), same.get("first_kept_index"), warnings, repeated=True)
        about_to_write()
        with self.log.archiving():
            return self._keep(messages, result)

    def _keep(self, messages: Sequence[Mapping[str, Any]], result: Result) -> Kept:
        replaced = self._replaced(result)
        now, n = timestamp(), self._next_number()
        file = self.log.write_originals(n, now, [messages[i] for i in result.compressed])
        if self.pending:
            self.log.append(*self._without_copies(messages, result.compressed, file))
        state = self._checked_state(messages, result)
        refs = self._write_refs(result)
        facts = summary_facts(result, state)
        self._remember(messages, result, n, now, state)
        self.log.append(
            {
                "type": "compression",
                "created_at": now,
                "n": n,
                "strategy": result.strategy,
                "messages_in": len(messages),
                **base_of(state),
                "tokens_before": result.tokens_before,
                "tokens_after": result.tokens_after,
                **({"missed": result.missed} if result.missed else {}),
                **({"no_summary": result.no_summary} if result.no_summary else {}),
                **({} if self.room is None else {"room": self.room}),
                "compressed": result.compressed,
                "layout": encode_layout(result.layout, state.view[: len(messages)]),
                "originals": file,
                "refs": refs,
                "previews": result.previews,
                **facts,
                **self._system_summaries(result),
                **({"origin": self.origin} if self.origin else {}),
            }
        )
        removed, warnings = self.log.remove_offloaded(covered_previews(messages, result))
        files = map(self.log.offloaded_path, removed)
        notes = (*replaced, *warnings, *state.warnings, *self.store.doubts())
        return Kept((*files,), facts.get("first_kept_index"), notes)

    def _checked_state(self, messages: Sequence[Mapping[str, Any]], result: Result) -> State:
        """The current state, if the messages are still its view and the refs are still free.

        Raises:
            StoreError: another process changed the session since.
        """
        state = state_of(self.log)
        view = state.view[: len(messages)]
        same = view == list(messages) or view == json.loads(json.dumps(messages))
        known = ((digest_under(state, ref), r.sha256) for ref, r in result.refs.items())
        if not same or any(digest not in (None, sha256) for digest, sha256 in known):
            raise StoreBusy(
                f"Something else was recorded in {self.log.id} meanwhile, so the context was "
                "not compacted. Compress again."
            )
        return state

    def _write_refs(self, result: Result) -> dict[str, dict[str, Any]]:
        """The event's entry for each ref; writes the texts for which the view names a file."""
        position = {index: at for at, index in enumerate(result.compressed)}
        new_messages = [part for part in result.layout if isinstance(part, dict)]
        in_files = {*OFFLOADED.findall(canonical(new_messages))}
        refs: dict[str, dict[str, Any]] = {}
        for number, (ref, about) in enumerate(result.refs.items()):
            advance(ARCHIVING, number, len(result.refs))
            index = about.indices[0] if about.indices else None
            refs[ref] = {
                "what": about.what,
                "message": None if index is None else position[index],
                "block": about.block,
                "sha256": about.sha256,
            }
            if index is None:  # no message contains it, so the log does
                refs[ref]["text"] = result.originals[ref]
            if (index is None or about.block is not None) and ref in in_files:
                self.log.write_offloaded(ref, result.originals[ref])
        return refs

    def _without_copies(
        self, messages: Sequence[Mapping[str, Any]], compressed: Sequence[int], file: str
    ) -> list[dict[str, Any]]:
        """The pending events; messages in the file of originals are given by position.

        The messages among the events are the last of the messages in the compression.
        """
        position = {index: at for at, index in enumerate(compressed)}
        index = len(messages) - sum(event["type"] == "message" for event in self.pending)
        events: list[dict[str, Any]] = []
        for event in self.pending:
            at = position.get(index) if event["type"] == "message" else None
            index += event["type"] == "message"
            if at is None or messages[index - 1] != event["message"]:
                events.append(event)
            elif events and events[-1]["type"] == "messages" and events[-1]["to"] == at:
                events[-1]["to"] = at + 1
            else:
                about = {"type": "messages", "created_at": event["created_at"]}
                events.append({**about, "file": file, "from": at, "to": at + 1})
        return events

    def _same_compression(self, result: Result) -> Mapping[str, Any] | None:
        """The event of the last compression, if it made this view from the same conversation.

        `None` as well if a file of the session is damaged: then the originals are archived again.
        """
        if not self.pending or any(event["type"] != "undo" for event in self.pending):
            return None
        state = state_of(self.log)
        last = state.compressions[-1]
        now = {
            "tokens_before": result.tokens_before,
            "tokens_after": result.tokens_after,
            **self._system_summaries(result),
            **({"origin": self.origin} if self.origin else {}),
        }
        same = all(last.get(name) == value for name, value in now.items())
        is_there = same and list(result.messages) == state.view and not self.log.problems()
        return last if is_there else None

    def _replaced(self, result: Result) -> tuple[str, ...]:
        """A warning if this view replaces another view of the same conversation."""
        undoes = any(event["type"] == "undo" for event in self.pending)
        earlier = state_of(self.log).compressions if undoes else ()
        if not earlier or earlier[-1]["tokens_after"] == result.tokens_after:
            return ()
        size = f"{earlier[-1]['tokens_after']:,} tokens"
        return (
            f"this replaces an earlier compacted context of {size}, which an undo won't bring back",
        )

    def _system_summaries(self, result: Result) -> dict[str, Any]:
        """Our summary in the system prompt, before and after; the caller keeps the rest of it."""
        summaries = {"before": summary_in(self.system), "after": summary_in(result.system)}
        return {"system": summaries} if any(summaries.values()) else {}

    def _next_number(self) -> int:
        """One more than the number of any compression, including killed ones.

        Entries of a killed compression, in the ledger and among the summaries, never count.
        """
        return max(*self.state.numbers, self.log.last_archived()) + 1

    def _remember(
        self, messages: Sequence[Mapping[str, Any]], result: Result, n: int, now: str, state: State
    ) -> None:
        """Add entries to the ledger, and the summary, or the digest of a window, to the store."""
        compressed = [messages[i] for i in result.compressed]
        if result.summary:
            ledger, text = result.summary.ledger, result.summary.text
            points = [entry.text for entry in ledger if entry.kind in ("constraint", "decision")]
        else:
            ledger, text = entries(parse(compressed).messages), _digest_of(result)
            points = points_of(text)
        self.log.append_ledger({**to_json(entry), "n": n, "created_at": now} for entry in ledger)
        if not text:
            return
        covered = result.compressed or (0,)  # only a summary in the system prompt was renewed
        first, last = state.recorded_span(min(covered), max(covered))
        starts = [message.starts_turn for message in parse(state.recorded).messages]
        self.store.add_summary(
            {
                "created_at": now,
                "session": self.log.id,
                "n": n,
                "strategy": result.strategy,
                "turns": [sum(starts[: first + 1]), sum(starts[: last + 1])],
                "messages": [first, last],
                "content": text,
                "key_points": list(dict.fromkeys(points))[:MOST_KEY_POINTS],
                "tokens": Counter().text(text),
            }
        )


def _digest_of(result: Result) -> str:
    """The digest in a view that `window` made; "" for other strategies."""
    if result.strategy != "window" or not result.dropped:
        return ""
    new_messages = parse([part for part in result.layout if isinstance(part, dict)]).messages
    blocks = (block for message in new_messages for block in message.blocks)
    texts = (block.text for block in blocks if isinstance(block, Text))
    return next(filter(is_digest, texts), "")


def summary_facts(result: Result, state: State) -> dict[str, Any]:
    """The fields about its summary in the event of a compression, made in this state."""
    summary = result.summary
    if summary is None:
        return {}
    files = {"read_files": summary.read_files, "modified_files": summary.modified_files}
    return {
        "summary": summary.text,
        "first_kept_index": state.recorded_index(summary.first_kept),
        "details": files,
        "unverified": summary.unverified,
        **summary.usage,
    }


def covered_previews(messages: Sequence[Mapping[str, Any]], result: Result) -> list[str]:
    """Refs of offloaded files that a summary covers and the view names no longer, in order."""
    if result.summary is None:
        return []
    compressed = canonical([messages[i] for i in result.compressed])
    shown = canonical([result.system, result.messages])
    named = dict.fromkeys(OFFLOADED.findall(compressed))
    return [ref for ref in named if f"{ref}.txt" not in shown]


# What the notes in a view may promise: refs that can be restored, and files to read.


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
        original=original,
        ref_of=refs_of_session(state),
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
        return Kept(warnings=self.store.doubts())


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


# The refs of a session: their originals, and texts archived under new refs.


def digest_under(state: State, ref: str) -> str | None:
    """The SHA-256 of the original under a ref; `None` for an unknown ref."""
    about = state.refs.get(ref)
    return None if about is None else str(about.get("sha256", ""))


def refs_of_session(state: State) -> Refs:
    """Creates refs that no other original of the session has."""
    return Refs(partial(digest_under, state))


class ArchivedTexts:
    """Archives texts in a session. The caller must hold `SessionLog.archiving`."""

    def __init__(self, log: SessionLog, state: State) -> None:
        """Prepare to archive texts in a log whose current state is `state`."""
        self._log, self._state = log, state
        self.ref_of = refs_of_session(state)

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

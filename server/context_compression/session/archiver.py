"""`Archiver`: writes the originals of a compression to the session's log before its view counts."""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from context_compression.compression.result import Kept, Result
from context_compression.conversation.formats import parse
from context_compression.conversation.messages import COMPRESSED, Text
from context_compression.conversation.refs import REF, canonical
from context_compression.conversation.system_prompt import summary_in
from context_compression.errors import StoreError
from context_compression.evidence.ledger import entries, to_json
from context_compression.planning.archive import Archive
from context_compression.progress import ARCHIVING, advance
from context_compression.session.event_checks import base_of
from context_compression.session.keeping import digest_under
from context_compression.session.layouts import encode_layout
from context_compression.session.log_events import timestamp
from context_compression.session.receipts import archive_of
from context_compression.session.replaying import state_of
from context_compression.session.state import State
from context_compression.store import SessionLog, Store
from context_compression.threads import about_to_write
from context_compression.tokens import Counter

OFFLOADED = re.compile(rf"/offloaded/({REF})\.txt")
REPEATED = "already compressed; nothing was archived again"
MOST_KEY_POINTS = 10
"""How many constraints and decisions are listed with a summary."""


class Archiver:
    """The `Keeper` of one compression in a session."""

    def __init__(
        self,
        log: SessionLog,
        store: Store,
        state: State,
        pending: Sequence[dict[str, Any]],
        system: Any = None,
        origin: Mapping[str, Any] | None = None,
        room: int | None = None,
    ) -> None:
        """Prepare to keep originals; nothing is written yet.

        Args:
            log: of the session.
            store: the store that holds the log.
            state: the state in which the compression is made.
            pending: events that lead to this state and are not written yet; they are written with
                the compression.
            system: the system prompt before the compression.
            origin: where the conversation comes from.
            room: for an automatic compression, the tokens that the settings' target leaves for the
                messages; if there is much more later, the originals come back.
        """
        self._room = room
        self._log, self._store, self._state = log, store, state
        self._system, self._origin = system, origin
        self._pending = pending

    @property
    def archive(self) -> Archive:
        """Notes may name `context_restore` and the file of an offloaded text."""
        return archive_of(self._store, self._log, self._state)

    def keep(self, messages: Sequence[Mapping[str, Any]], result: Result) -> Kept:
        """Write the originals, then the pending events, then the event that makes the view count.

        Nothing is written if the session has this view already.

        Raises:
            StoreError: a file cannot be written, or another process changed the session meanwhile.
        """
        if same := self._same_compression(result):
            warnings = (REPEATED, *self._store.doubts)
            return Kept((), same.get("first_kept_index"), warnings, repeated=True)
        about_to_write()
        with self._log.archiving():
            return self._keep(messages, result)

    def _keep(self, messages: Sequence[Mapping[str, Any]], result: Result) -> Kept:
        replaced = self._replaced(result)
        now, n = timestamp(), self._next_number()
        file = self._log.write_originals(n, now, [messages[i] for i in result.compressed])
        if self._pending:
            self._log.append(*self._without_copies(messages, result.compressed, file))
        state = self._checked_state(messages, result)
        refs = self._write_refs(result)
        facts = summary_facts(result, state)
        self._remember(messages, result, n, now, state)
        self._log.append(
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
                **({} if self._room is None else {"room": self._room}),
                "compressed": result.compressed,
                "layout": encode_layout(result.layout, state.view[: len(messages)]),
                "originals": file,
                "refs": refs,
                "previews": result.previews,
                **facts,
                **self._system_summaries(result),
                **({"origin": self._origin} if self._origin else {}),
            }
        )
        removed, warnings = self._log.remove_offloaded(covered_previews(messages, result))
        files = map(self._log.offloaded_path, removed)
        notes = (*replaced, *warnings, *state.warnings, *self._store.doubts)
        return Kept((*files,), facts.get("first_kept_index"), notes)

    def _checked_state(self, messages: Sequence[Mapping[str, Any]], result: Result) -> State:
        """The current state, if the messages are still its view and the refs are still free.

        Raises:
            StoreError: another process changed the session since.
        """
        state = state_of(self._log)
        view = state.view[: len(messages)]
        same = view == list(messages) or view == json.loads(json.dumps(messages))
        known = ((digest_under(self._log, state, ref), r.sha256) for ref, r in result.refs.items())
        if not same or any(digest not in (None, sha256) for digest, sha256 in known):
            raise StoreError(
                f"Something else was recorded in {self._log.id} meanwhile, so the context was "
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
                self._log.write_offloaded(ref, result.originals[ref])
        return refs

    def _without_copies(
        self, messages: Sequence[Mapping[str, Any]], compressed: Sequence[int], file: str
    ) -> list[dict[str, Any]]:
        """The pending events; messages in the file of originals are given by position.

        The messages among the events are the last of the messages in the compression.
        """
        position = {index: at for at, index in enumerate(compressed)}
        index = len(messages) - sum(event["type"] == "message" for event in self._pending)
        events: list[dict[str, Any]] = []
        for event in self._pending:
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
        if not self._pending or any(event["type"] != "undo" for event in self._pending):
            return None
        state = state_of(self._log)
        last = state.compressions[-1]
        now = {
            "tokens_before": result.tokens_before,
            "tokens_after": result.tokens_after,
            **self._system_summaries(result),
            **({"origin": self._origin} if self._origin else {}),
        }
        same = all(last.get(name) == value for name, value in now.items())
        is_there = same and list(result.messages) == state.view and not self._log.problems()
        return last if is_there else None

    def _replaced(self, result: Result) -> tuple[str, ...]:
        """A warning if this view replaces another view of the same conversation."""
        undoes = any(event["type"] == "undo" for event in self._pending)
        earlier = state_of(self._log).compressions if undoes else ()
        if not earlier or earlier[-1]["tokens_after"] == result.tokens_after:
            return ()
        size = f"{earlier[-1]['tokens_after']:,} tokens"
        return (
            f"this replaces an earlier compacted context of {size}, which an undo won't bring back",
        )

    def _system_summaries(self, result: Result) -> dict[str, Any]:
        """Our summary in the system prompt, before and after; the caller keeps the rest of it."""
        summaries = {"before": summary_in(self._system), "after": summary_in(result.system)}
        return {"system": summaries} if any(summaries.values()) else {}

    def _next_number(self) -> int:
        """One more than the number of any compression, including killed ones.

        Entries of a killed compression, in the ledger and among the summaries, never count.
        """
        return max(*self._state.numbers, self._log.last_archived()) + 1

    def _remember(
        self,
        messages: Sequence[Mapping[str, Any]],
        result: Result,
        n: int,
        now: str,
        state: State,
    ) -> None:
        """Add entries to the ledger, and the summary, or the digest of a window, to the store."""
        compressed = [messages[i] for i in result.compressed]
        if result.summary:
            ledger, text = result.summary.ledger, result.summary.text
            points = [entry.text for entry in ledger if entry.kind in ("constraint", "decision")]
        else:
            ledger, text = entries(parse(compressed).messages), _digest_of(result)
            points = text.split("\n")[1:]
        self._log.append_ledger({**to_json(entry), "n": n, "created_at": now} for entry in ledger)
        if not text:
            return
        covered = result.compressed or (0,)  # only a summary in the system prompt was renewed
        first, last = state.recorded_span(min(covered), max(covered))
        starts = [message.starts_turn for message in parse(state.recorded).messages]
        self._store.add_summary(
            {
                "created_at": now,
                "session": self._log.id,
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
    return next((text for text in texts if text.startswith(COMPRESSED)), "")


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

"""Keeping the originals of a compression, and what receipts may promise because of it."""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from context_compression.compression.result import Kept, Result
from context_compression.conversation.formats import parse
from context_compression.conversation.messages import COMPRESSED, Text
from context_compression.conversation.refs import REF, canonical
from context_compression.conversation.system_prompt import summary_in
from context_compression.errors import StoreError
from context_compression.evidence.ledger import entries, from_json, merge, to_json
from context_compression.planning.archive import Archive
from context_compression.session.keeping import digest_under, refs_beside
from context_compression.session.quoting import told
from context_compression.session.state import State, made_in, state_of, timestamp
from context_compression.store import SessionLog, Store
from context_compression.store.originals import original_of
from context_compression.tokens import Counter

OFFLOADED = re.compile(rf"/offloaded/({REF})\.txt")
BROUGHT_BACK = 0.25
"""Share of an original; who restored that much may want all of it."""


class Archiver:
    """Keeps the originals of one compression in the session's log, before its view counts."""

    def __init__(
        self,
        log: SessionLog,
        store: Store,
        state: State,
        news: Sequence[dict[str, Any]],
        before_writing: Callable[[], object],
        system: Any = None,
        origin: Mapping[str, Any] | None = None,
    ) -> None:
        self._log, self._store, self._state = log, store, state
        self._system, self._origin = system, origin
        self._news, self._before_writing = news, before_writing

    @property
    def archive(self) -> Archive:
        """Receipts may name `context_restore` and the file of an offloaded text."""
        return archive_of(self._store, self._log, self._state)

    def keep(self, messages: Sequence[Mapping[str, Any]], result: Result) -> Kept:
        """Originals first, then all there is to read, then the line that makes the view count."""
        self._before_writing()
        with self._log.archiving():
            return self._keep(messages, result)

    def _check(self, messages: Sequence[Mapping[str, Any]], result: Result) -> State:
        """The state of now, in which the messages are still those, and the refs still free."""
        state = state_of(self._log)
        view = state.view[: len(messages)]
        same = view == list(messages) or view == json.loads(json.dumps(messages))
        taken = ((digest_under(self._log, state, ref), r.sha256) for ref, r in result.refs.items())
        if not same or any(there not in (None, digest) for there, digest in taken):
            raise StoreError(
                f"Something else was recorded in {self._log.id} meanwhile, so the view was "
                "not changed. Compress again."
            )
        return state

    def _keep(self, messages: Sequence[Mapping[str, Any]], result: Result) -> Kept:
        replaced = self._replaced(result)
        now, n = timestamp(), self._next_number()
        name = self._log.write_originals(n, now, [messages[i] for i in result.compressed])
        if self._news:
            self._log.append(*self._recorded(messages, result.compressed, name))
        state = self._check(messages, result)
        position = {index: at for at, index in enumerate(result.compressed)}
        refs: dict[str, dict[str, Any]] = {}
        made = [each for each in result.layout if isinstance(each, dict)]
        in_files = {*OFFLOADED.findall(canonical(made))}
        for ref, about in result.refs.items():
            index = about.indices[0] if about.indices else None
            place = None if index is None else position[index]
            refs[ref] = {
                "what": about.what, "message": place, "block": about.block, "sha256": about.sha256,
            }  # fmt: skip
            if index is None:  # no message holds it: the log itself does
                refs[ref]["text"] = result.originals[ref]
            elif about.block is not None and ref in in_files:  # the view tells where it is
                self._log.write_offloaded(ref, result.originals[ref])
        self._remember(messages, result, n, now)
        self._log.append(
            {
                "type": "compression",
                "created_at": now,
                "n": n,
                "strategy": result.strategy,
                "messages_in": len(messages),
                **made_in(state),
                "tokens_before": result.tokens_before,
                "tokens_after": result.tokens_after,
                "compressed": result.compressed,
                "layout": told(result.layout, state.view[: len(messages)]),
                "originals": name,
                "refs": refs,
                "previews": result.previews,
                **facts_of(result),
                **self._of_system(result),
                **({"origin": self._origin} if self._origin else {}),
            }
        )
        removed, warnings = self._log.remove_offloaded(taken_in(messages, result))
        said = (*replaced, *warnings, *state.warnings, *self._store.doubts)
        return Kept(len(removed), said)

    def _recorded(
        self, messages: Sequence[Mapping[str, Any]], compressed: Sequence[int], file: str
    ) -> list[dict[str, Any]]:
        """The news as they go into the log: what stands in the file of originals is not repeated.

        The messages among them are the last of those that are compressed.
        """
        position = {index: at for at, index in enumerate(compressed)}
        index = len(messages) - sum(event["type"] == "message" for event in self._news)
        events: list[dict[str, Any]] = []
        for event in self._news:
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

    def _replaced(self, result: Result) -> tuple[str, ...]:
        """That a smaller view goes, which a compression of the same conversation left before."""
        undone = any(event["type"] == "undo" for event in self._news)
        before = state_of(self._log).compressions if undone else ()
        if not before or before[-1]["tokens_after"] >= result.tokens_after:
            return ()
        size = f"{before[-1]['tokens_after']:,} tokens"
        return (
            f"this takes the place of an earlier view of {size}, which an undo won't bring back",
        )

    def _of_system(self, result: Result) -> dict[str, Any]:
        """Our part of the system prompt, where there is or was one; the caller keeps the rest."""
        said = {"before": summary_in(self._system), "after": summary_in(result.system)}
        return {"system": said} if any(said.values()) else {}

    def _next_number(self) -> int:
        """One more than any compression has, even one that was killed before it counted.

        What it left behind under its number, in the ledger and among the summaries, never counts.
        """
        names = (path.stem for path in self._log.folder.glob("compact-*.json"))
        taken = (name.rpartition("-")[2] for name in names)
        return max(*self._state.numbers, *map(int, filter(str.isdecimal, taken)), 0) + 1

    def _remember(
        self, messages: Sequence[Mapping[str, Any]], result: Result, n: int, now: str
    ) -> None:
        """A summary, or the digest in a window's view, is there to look up later."""
        points: list[str] = []
        text = ""
        gone = [messages[i] for i in result.compressed]
        ledger = result.summary.ledger if result.summary else entries(parse(gone).messages)
        self._log.append_ledger({**to_json(entry), "n": n, "created_at": now} for entry in ledger)
        if result.summary:
            text = result.summary.text
            points = [e.text for e in result.summary.ledger if e.kind in ("constraint", "decision")]
        elif result.strategy == "window" and result.dropped:
            made = parse([part for part in result.layout if isinstance(part, dict)]).messages
            texts = (block.text for m in made for block in m.blocks if isinstance(block, Text))
            text = next((digest for digest in texts if digest.startswith(COMPRESSED)), "")
            points = text.split("\n")[1:]
        if not text:
            return
        covered = result.compressed or (0,)  # only a summary in the system prompt was renewed
        first, last = min(covered), max(covered)
        starts = [message.starts_turn for message in parse(messages).messages]
        self._store.add_summary(
            {
                "created_at": now,
                "session": self._log.id,
                "n": n,
                "strategy": result.strategy,
                "turns": [sum(starts[: first + 1]), sum(starts[: last + 1])],
                "messages": [first, last],
                "content": text,
                "key_points": list(dict.fromkeys(points))[:10],
                "tokens": Counter().text(text),
            }
        )


@dataclass(frozen=True)
class Rehearsal:
    """Promises what the archive would hold, and keeps nothing."""

    archive: Archive
    store: Store

    def keep(self, messages: Sequence[Mapping[str, Any]], result: Result) -> Kept:
        """Nothing is written."""
        return Kept(warnings=self.store.doubts)


def facts_of(result: Result) -> dict[str, Any]:
    """What the log says of a summary."""
    summary = result.summary
    if summary is None:
        return {}
    files = {"read_files": summary.read_files, "modified_files": summary.modified_files}
    return {
        "summary": summary.text,
        "first_kept_index": summary.first_kept,
        "details": files,
        "unverified": summary.unverified,
        **summary.usage,
    }


def taken_in(messages: Sequence[Mapping[str, Any]], result: Result) -> set[str]:
    """Refs whose previews a summary covers and nothing in the view shows any more."""
    if result.summary is None:
        return set()
    gone = canonical([messages[i] for i in result.compressed])
    shown = canonical([result.system, result.messages])
    return {ref for ref in OFFLOADED.findall(gone) if f"{ref}.txt" not in shown}


def restored_refs(state: State) -> frozenset[str]:
    """Refs of which much was restored, and with a whole message the refs of what is in it."""
    back = frozenset(ref for ref, share in state.shares.items() if share >= BROUGHT_BACK)
    whole = {
        (about.get("file"), about["message"])
        for ref in back
        if (about := state.refs.get(ref)) and about["block"] is None
    }
    inside = {ref for ref, a in state.refs.items() if (a.get("file"), a["message"]) in whole}
    return back | inside


def archive_of(store: Store, log: SessionLog, state: State) -> Archive:
    """What receipts may promise in this session, and what a strategy may look up."""

    def original(ref: str) -> str | None:
        try:
            found = original_of(state.refs[ref], log.read_original)
        except (KeyError, StoreError):
            return None
        return found if isinstance(found, str) else None

    def counts(entry: Mapping[str, Any]) -> bool:  # not that of a compression that was killed
        number = entry.get("n", 0)
        return isinstance(number, int) and number in state.numbers

    return Archive(
        restorable=True,
        path=partial(offloaded_path, log.root.name, log.id),
        restored=restored_refs(state),
        refs=state.refs,
        previews=state.previews,
        wholes=state.wholes,
        original=original,
        ref_of=refs_beside(log, state),
        ledger=merge([], [from_json(entry) for entry in log.ledger() if counts(entry)]),
        prompt=store.prompt,
        settled=len(state.view) - state.behind if state.compressions else 0,
    )


def offloaded_path(folder: str, session: str, ref: str) -> str:
    """Where a person finds an offloaded text, from the folder that holds the store."""
    return f"{folder}/sessions/{session}/offloaded/{ref}.txt"

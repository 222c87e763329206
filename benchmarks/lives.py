"""Sessions from their first message to their last undo, and every byte they leave on disk."""

import shutil
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import still
from digests import Parts, Runs, caught, of_files, of_result, of_usage, parts
from recordings import Messages, load, paths
from views import DIALECTS, SYSTEM, Scribe

from context_compression import Session, Store, compress, count_tokens
from context_compression.testing import conversation


def sessions(each: int) -> Runs:
    for path in paths()[:: 12 * each]:
        recording = load(path)
        yield from lived(recording.id, recording.messages[:300])
    for dialect in DIALECTS[:: min(each, 3)]:
        yield from lived(dialect, conversation(12, 5, dialect))


def lived(name: str, messages: Messages) -> Runs:
    """A session from its first message to its last undo, in a store of its own."""
    still.again(name)
    folder = Path("store")
    settings = {"offload_min_tokens": 200, "keep_recent_tokens": 2_000}
    scribe = Scribe()
    session = Session(folder, "lived", settings=settings, system=SYSTEM, summarizer=scribe)
    for step, run in life(session, messages, scribe):
        yield f"{name} {step}", caught(run)
        yield f"{name} {step}, on disk", of_files(folder)
    shutil.rmtree(folder, ignore_errors=True)
    yield from kept(name, messages)


def life(
    session: Session, messages: Messages, scribe: Scribe
) -> Iterator[tuple[str, Callable[[], Parts]]]:
    """The steps of it, each to be taken before the next is asked for."""
    half = len(messages) // 2
    total = count_tokens(messages)

    def record(part: Messages) -> Parts:
        session.record(*part)
        return parts(view=session.view(), counts=of_usage(session.usage()))

    def compressed(**how: Any) -> Parts:
        before = session.view()
        result = session.compress(**how)
        return of_result(result, before) | parts(after=session.view(), sent=session.system)

    def restored(**how: Any) -> Parts:
        refs = [ref for ref, _, _ in session.archived()]
        return parts(refs=[[ref, session.restore(ref, **how)] for ref in refs])

    def answered() -> Parts:
        asked: Any = session.ask(target_tokens=max(1, total // 8), strategy="summarize")
        first = parts(summary=asked) if hasattr(asked, "plan_id") else {}
        while hasattr(asked, "plan_id"):
            asked = session.answer(asked.plan_id, "## Goal\nShip it.\n\n## Next Steps\nThe rest.")
        return first | of_result(asked, ())

    def status() -> Parts:
        found = session.status()
        facts = (found.messages, found.messages_recorded, found.messages_compressed)
        sums = (found.compressions, found.tokens_saved, found.savings, found.by_kind)
        most = (found.largest, found.could_free, dict(found.refs))
        return parts(counts=[facts, sums, most, of_usage(found.usage)], words=found.warnings)

    yield "record", partial(record, messages[:half])
    yield "prepare", lambda: parts(view=session.prepare())
    yield "preview", lambda: of_result(session.preview(target_tokens=max(1, total // 6)), ())
    yield "offload strategy", partial(compressed, strategy="offload", target_tokens=1)
    yield "compress", partial(compressed, target_tokens=max(1, total // 6))
    yield "status", status
    yield "record on", partial(record, messages[half:])
    yield "restore some", partial(restored, lines=(1, 3))
    yield "compress again", partial(compressed, target_tokens=max(1, total // 5))
    yield "offload", lambda: parts(refs=session.offload("kept aside\n" * 300, what="a note"))
    yield "search", lambda: searched(session.store)
    yield "summarize", partial(compressed, strategy="summarize", target_tokens=max(1, total // 8))
    yield "asked", lambda: parts(summary=scribe.requests)
    yield "restore all", restored
    yield "restore lines with", partial(restored, pattern="[Ee]rror|test", note=False)
    yield "no such ref", lambda: parts(refs=session.restore("ffffffffffff"))
    yield "status again", status
    yield "recover", lambda: parts(view=session.recover("prompt is too long: 9 tokens > 8 maximum"))
    yield "undo", lambda: parts(view=session.undo(), sent=session.system)
    yield "summary by the caller", answered
    yield "loop", lambda: of_result(session.compress_loop(-3, target_tokens=max(1, total // 9)), ())
    yield "undo again", lambda: parts(view=session.undo())
    yield "summaries", lambda: parts(summary=session.store.summaries())
    yield "opened anew", lambda: opened_anew(session)
    yield "verify", lambda: parts(words=session.store.verify())
    yield "delete", lambda: parts(counts=session.delete())


def searched(store: Store) -> Parts:
    queries = ("error test", '"def " path:src', "tool:bash", "config reader 登录", "error:")
    return parts(refs=[store.search(query, limit=8) for query in queries])


def opened_anew(session: Session) -> Parts:
    again = Session(Store(session.store.folder), session.id)
    return parts(view=again.view(), refs=list(again.archived()), counts=of_usage(again.usage()))


def kept(name: str, messages: Messages) -> Runs:
    """The library's way to a store: a session that it names itself, and once more on its view."""
    folder = Path("store")
    target = max(1, count_tokens(messages) // 6)
    again: list[Any] = []

    def first() -> Parts:
        result = compress(messages, target_tokens=target, store=folder)
        again.extend(result.messages)
        return of_result(result, messages)

    def second() -> Parts:
        result = compress(again, target_tokens=target // 2, store=str(folder), force=True)
        return of_result(result, again)

    for step, run in (("kept", first), ("kept again", second)):
        yield f"{name} {step}", caught(run)
        yield f"{name} {step}, on disk", of_files(folder)
    shutil.rmtree(folder, ignore_errors=True)

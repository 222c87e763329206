"""The originals that left the context, and the state of the store that keeps them."""

import re
from collections import Counter as Tally
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

from context_compression.conversation.formats import parse
from context_compression.conversation.messages import texts_of
from context_compression.conversation.refs import REF, is_proven
from context_compression.display.plurals import how_many
from context_compression.errors import ContextCompressionError
from context_compression.report.model import LONGEST_TEXT, Archived, StoreHealth
from context_compression.report.own_history import time_of
from context_compression.session import Session
from context_compression.session.reading import in_lines
from context_compression.session.state import State
from context_compression.store.events import refs_in

WRITTEN_REF = re.compile(rf"\b{REF}\b")


def originals_of(session: Session, state: State) -> dict[str, Any]:
    """The originals of a session by ref, without those that cannot be read or are changed."""
    read = _reader(session)
    originals: dict[str, Any] = {}
    for ref, about in state.refs.items():
        with suppress(ContextCompressionError):
            original = read(ref, about)
            if is_proven(ref, about, original):
                originals[ref] = original
    return originals


def _reader(session: Session) -> Callable[[str, Mapping[str, Any]], Any]:
    """Reads originals; a file is read once for all its refs, which follow each other."""
    from functools import lru_cache

    from context_compression.store.originals import original_of

    messages = lru_cache(2)(session.log.read_originals)
    return lambda ref, about: original_of(about, lambda file, at: messages(file)[at])


def archived(
    session: Session,
    state: State,
    originals: Mapping[str, Any],
    count: Callable[[str], int],
    view: Sequence[Mapping[str, Any]],
) -> list[Archived]:
    """What left the context and can be restored, the largest first.

    Args:
        session: whose originals they are.
        state: of its log.
        originals: by ref.
        count: counts the tokens of a text.
        view: the messages that the model sees.
    """
    times: dict[str, float | None] = {}
    restored: Tally[str] = Tally()
    for event in session.log.events().items:
        times |= dict.fromkeys(refs_in(event), time_of(event))
        if event["type"] == "restore" and isinstance(event.get("ref"), str):
            restored[event["ref"]] += 1
    shown = _stand_ins([*view, *state.view], {*originals})
    entries: list[Archived] = []
    for ref, original in originals.items():
        text = in_lines(original)
        entries.append(
            Archived(
                ref=ref,
                what=str(state.refs[ref]["what"]),
                tokens=count(text),
                time=times.get(ref),
                restored=restored[ref],
                original=text[:LONGEST_TEXT],
                shown=shown.get(ref, "")[:LONGEST_TEXT],
                cut=max(0, len(text) - LONGEST_TEXT),
            )
        )
    return sorted(entries, key=lambda entry: -entry.tokens)


def _stand_ins(view: Iterable[Mapping[str, Any]], refs: set[str]) -> dict[str, str]:
    """The first text that names each ref."""
    found: dict[str, str] = {}
    for text in _texts(view):
        for ref in WRITTEN_REF.findall(text):
            if ref in refs:
                found.setdefault(ref, text)
    return found


def _texts(messages: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    for message in messages:
        with suppress(ContextCompressionError):
            for block in parse([message]).messages[0].blocks:
                yield from texts_of(block)


def health_of(session: Session, state: State, proven: int) -> StoreHealth:
    """The state of the store; nothing is written.

    Args:
        session: whose originals it keeps.
        state: of its log.
        proven: how many of the originals were read and match their hashes.
    """
    problems = [*session.store.doubts]
    if session.log.exists:
        problems += session.log.problems()
    if missing := len(state.refs) - proven:
        problems.append(f"{how_many(missing, 'original')} cannot be read back")
    return StoreHealth(
        folder=str(session.store.folder),
        bytes=session.store.size_of(session.id),
        refs=len(state.refs),
        proven=proven,
        problems=problems,
    )

"""The originals that left the context and can be restored, and the store that keeps them."""

import re
from bisect import bisect_right
from collections import Counter as Tally
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from context_compression.conversation.formats import parse
from context_compression.conversation.labels import LABELS
from context_compression.conversation.messages import Message, Text, ToolResult, texts_of
from context_compression.conversation.refs import REF, is_proven
from context_compression.display.plurals import how_many
from context_compression.display.strings import in_words
from context_compression.errors import ContextCompressionError
from context_compression.report.model import LONGEST_TEXT, Archived, StoreHealth
from context_compression.session import Session
from context_compression.session.restoring import in_lines
from context_compression.session.state import State
from context_compression.store.events import refs_in
from context_compression.store.originals import original_of
from context_compression.transcripts.times import seconds

WRITTEN_REF = re.compile(rf"\b{REF}\b")
LONGEST_WHAT = 160
LONG = 2_000
MOST_OF_IT = 0.8
"""The share of a message from which on its archived texts are listed instead of the message."""


@dataclass(frozen=True)
class Originals:
    """The originals of a session that were read back.

    Attributes:
        by_ref: each original, a text or a message as it was recorded.
        messages: the messages that hold them, by file and place; a text that no message holds is
            one itself.
        total: how many refs there are, with those that cannot be read.
    """

    by_ref: Mapping[str, Any]
    messages: Mapping[object, Sequence[Message]] = field(repr=False)
    total: int = 0


def originals_of(session: Session, state: State) -> Originals:
    """The originals of a session, without those that cannot be read or were changed."""
    read = lru_cache(2)(session.log.read_originals)  # refs of one file follow each other
    by_ref: dict[str, Any] = {}
    messages: dict[object, Sequence[Message]] = {}
    for ref, about in state.refs.items():
        with suppress(ContextCompressionError):
            original = original_of(about, lambda file, at: read(file)[at])
            if not is_proven(ref, about, original):
                continue
            by_ref[ref] = original
            place = _place(about)
            if place is None:
                messages[ref] = [*_as_messages(original)]
            elif place not in messages:
                messages[place] = parse([read(about["file"])[about["message"]]]).messages
    return Originals(by_ref, messages, len(state.refs))


def _place(about: Mapping[str, Any]) -> tuple[str, int] | None:
    """The file and the place of the message that holds an original; `None` if no message does."""
    if about.get("text") is not None:
        return None
    return about["file"], about["message"]


def _as_messages(text: str) -> Iterator[Message]:
    """A text as messages; it is unknown who wrote it, so it is taken for a tool's and a user's."""
    yield Message("tool", (ToolResult("", (Text(text),)),))
    yield Message("user", (Text(text),))


def archived(
    session: Session,
    state: State,
    originals: Originals,
    count: Callable[[str], int],
    view: Sequence[Mapping[str, Any]],
    titles: Mapping[str, str],
) -> list[Archived]:
    """What left the context and can be restored, the largest first.

    A message is not listed if texts of it are that are most of it.

    Args:
        session: whose originals they are.
        state: of its log.
        originals: of the session.
        count: counts the tokens of a text.
        view: the messages that the model sees.
        titles: what tool results are about, by the id of the call.
    """
    times: dict[str, float | None] = {}
    calls: dict[str, Any] = {}
    restored: Tally[str] = Tally()
    for event in session.log.events().items:
        times |= dict.fromkeys(refs_in(event), seconds(event.get("created_at")))
        if "call" in event:  # a hook archived the result of this call
            calls |= dict.fromkeys(refs_in(event), event["call"])
        if event["type"] == "restore" and isinstance(event.get("ref"), str):
            restored[event["ref"]] += 1
    shown = _stand_ins([*view, *state.view], originals.by_ref.keys())
    texts = {ref: in_lines(original) for ref, original in originals.by_ref.items()}
    entries: list[Archived] = []
    for ref, same in _without_doubles(state, texts).items():
        text, about = texts[ref], state.refs[ref]
        what = in_words(about["what"], LONGEST_WHAT)
        messages = originals.messages.get(_place(about), ())
        if more := titles.get(calls.get(ref, "")) or _title(messages, about, titles):
            what = in_words(f"{what}: {more}", LONGEST_WHAT)
        entries.append(
            Archived(
                ref=ref,
                what=what,
                tokens=count(text),
                time=times.get(ref),
                restored=sum(restored[each] for each in same),
                original=text[:LONGEST_TEXT],
                shown=next(filter(None, (shown.get(each) for each in same)), "")[:LONGEST_TEXT],
                cut=max(0, len(text) - LONGEST_TEXT),
            )
        )
    return sorted(entries, key=lambda entry: -entry.tokens)


def _without_doubles(state: State, texts: Mapping[str, str]) -> dict[str, list[str]]:
    """The refs to list, each with all refs of the same content: its own, and its message's."""
    inside: dict[tuple[str, int], list[str]] = {}
    whole: dict[tuple[str, int], str] = {}
    for ref in texts:
        about = state.refs[ref]
        if place := _place(about):
            if about["block"] is None:
                whole[place] = ref
            else:
                inside.setdefault(place, []).append(ref)
    listed = {ref: [ref] for ref in texts}
    for place, ref in whole.items():
        parts = inside.get(place, [])
        if sum(len(texts[part]) for part in parts) >= MOST_OF_IT * len(texts[ref]) and parts:
            del listed[ref]
            for part in parts:
                listed[part].append(ref)
    return listed


def _title(messages: Sequence[Message], about: Mapping[str, Any], titles: Mapping[str, str]) -> str:
    """What an original is about: the file or command of its tool call, or its first words."""
    if not messages:
        return ""
    blocks, place = messages[0].blocks, about["block"]
    if place is not None:
        blocks = blocks[place : place + 1]
    for block in blocks:
        if isinstance(block, ToolResult) and (title := titles.get(block.call_id)):
            return title
    return next((text for block in blocks for text in texts_of(block) if text.strip()), "")[:400]


def _stand_ins(view: Iterable[Mapping[str, Any]], refs: Iterable[str]) -> dict[str, str]:
    """The first text that names each ref; of a long note, the quote in which it does."""
    known, found = {*refs}, dict[str, str]()
    for text in _texts(view) if known else ():
        starts = [match.start() for match in LABELS.finditer(text)] if len(text) > LONG else []
        for match in WRITTEN_REF.finditer(text):
            if match[0] in known and match[0] not in found:
                at = bisect_right(starts, match.start())
                start, stop = starts[at - 1] if at else 0, (starts[at:] or [None])[0]
                found[match[0]] = text[start:stop].strip()
    return found


def _texts(messages: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    for message in messages:
        with suppress(ContextCompressionError):
            for block in parse([message]).messages[0].blocks:
                yield from texts_of(block)


def health_of(session: Session, originals: Originals) -> StoreHealth:
    """The state of the store; nothing is written."""
    problems = [*session.store.doubts]
    if session.log.exists:
        problems += session.log.problems()
    proven = len(originals.by_ref)
    if (missing := originals.total - proven) and not problems:
        problems.append(f"{how_many(missing, 'original')} cannot be read back")
    return StoreHealth(
        folder=session.store.name,
        bytes=session.store.size_of(session.id),
        refs=originals.total,
        proven=proven,
        problems=problems,
    )

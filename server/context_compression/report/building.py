"""`build_report`: the facts of one session's report, from its history and our records."""

import re
from bisect import bisect_right
from collections import Counter as Tally
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import chain
from pathlib import Path
from typing import Any, TypeVar

from context_compression import hosts
from context_compression.compression.loss import Quotations, add_facts, no_facts, sorted_out
from context_compression.conversation.formats import Conversation, anthropic, parse
from context_compression.conversation.formats.reading import detect
from context_compression.conversation.labels import LABELS
from context_compression.conversation.messages import Message, Text, ToolResult, texts_of
from context_compression.conversation.refs import REF, is_proven
from context_compression.errors import ContextCompressionError
from context_compression.evidence.facts import facts
from context_compression.evidence.ledger.entries import names_in_calls
from context_compression.evidence.words import Lexicon
from context_compression.listening import COMPARING, counted
from context_compression.plurals import how_many
from context_compression.report.consumers import (
    asked_in,
    by_file,
    by_tool,
    in_proportion,
    repeated,
    uses_of,
)
from context_compression.report.course import (
    Course,
    MeasuredStage,
    cost_of,
    course_of,
    measured,
    measured_roughly,
    summed,
)
from context_compression.report.model import (
    LISTED,
    LONGEST_TEXT,
    Archived,
    EvidenceClass,
    Report,
    StoreHealth,
)
from context_compression.report.rough import Rough, roughly
from context_compression.session import Session
from context_compression.session.parts import in_lines
from context_compression.session.state import State
from context_compression.session.status import history_of
from context_compression.store.session_files import original_of, refs_in
from context_compression.strings import in_words
from context_compression.tokens import Anchor, Counter, anchor_in, anchored
from context_compression.tokens.usage import BESIDE, Usage, adding_up_to
from context_compression.transcripts.sessions import seconds
from context_compression.transcripts.transcript import History
from context_compression.workspace.opened import Opened

T = TypeVar("T")
WHOLE = 10_000_000
"""Characters up to which all texts are counted: some 2.5 million tokens, in seconds."""
SAMPLE = 600_000
"""About how many characters are counted of more."""
SAMPLE_OF_MANY = 60_000
"""About how many are counted of each session, where many are read."""
CALLS = 6_000
"""About how many calls of tools are looked into of a long session."""


def size_of(message: Message) -> int:
    """Characters of the texts of a message."""
    return sum(len(text) for block in message.blocks for text in texts_of(block))


def share_of(chars: int) -> float:
    """The share of a session's characters that are counted; 1 for all."""
    return 1.0 if chars <= WHOLE else SAMPLE / chars


def sample(things: Sequence[T], sizes: Sequence[int], share: float) -> Iterator[T]:
    """Things that are spread evenly over all of them and have about a share of their sizes."""
    due = 0.0
    for place, size in enumerate(sizes):
        due += size * share
        if share == 1 or due > 0:
            due -= size
            yield things[place]


def warnings(share: float, calls: float = 1) -> list[str]:
    """What is said of a report in which this share of the texts, and of the calls, was counted."""
    if share == 1:
        return []
    said = (
        f"The session is long: tokens and evidence are counted in a sample of {share:.1%} of its "
        "texts, spread over all of it. Tokens are given for all texts, in proportion; pieces of "
        "evidence are those of the sample."
    )
    if calls < 1:
        said += f" Files and what came again are those of {calls:.0%} of the calls, in proportion."
    return [said]


def evidence_of(
    stages: Sequence[MeasuredStage], archived: Iterable[Message], share: float = 1
) -> list[EvidenceClass]:
    """The evidence of all messages of a session and of its archived originals, by class.

    Of long sessions only a share of the texts is searched: see `sample`.
    """
    lexicon = Lexicon(known=names_in_calls(stages[-1].messages))
    total, shown, kept = no_facts(), no_facts(), no_facts()
    live = {id(raw): place for place, raw in enumerate(stages[-1].stage.messages)}
    added = [pick for stage in stages for pick in _picked(stage, share)]
    for stage, place in counted(COMPARING, added):
        evidence = facts(stage.messages[place], lexicon)
        add_facts(total, evidence)
        if live.pop(id(stage.stage.messages[place]), None) is not None:
            add_facts(shown, evidence)  # what a compaction left is the same object
    left = [*live.values()]
    for place in sample(left, [stages[-1].sizes[place] for place in left], share):
        add_facts(shown, facts(stages[-1].messages[place], lexicon))
    originals = [*archived]
    for message in sample(originals, [*map(size_of, originals)], share):
        add_facts(kept, facts(message, lexicon))
    add_facts(total, kept)  # a hook may have archived a result before it came into the context
    report = sorted_out(total, shown, kept, Quotations(stages[-1].messages))
    return [
        EvidenceClass(name, loss.total, loss.retained, loss.recoverable, loss.lost)
        for name, loss in report.items()
    ]


def _picked(stage: MeasuredStage, share: float) -> Iterator[tuple[MeasuredStage, int]]:
    """The messages that came in a stage and are searched, each with its place in the stage."""
    places = range(stage.stage.carried, len(stage.messages))
    for place in sample(places, stage.sizes[stage.stage.carried :], share):
        yield stage, place


WRITTEN_REF = re.compile(rf"\b{REF}\b")
LONGEST_WHAT = 160
LONG = 2_000
MOST_OF_IT = 0.8
"""The share of a message from which on its archived texts are listed instead of the message."""


@dataclass(frozen=True)
class RestoredOriginals:
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


def originals_of(session: Session, state: State) -> RestoredOriginals:
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
    return RestoredOriginals(by_ref, messages, len(state.refs))


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
    originals: RestoredOriginals,
    count: Callable[[str], int],
    view: Sequence[Mapping[str, Any]],
    titles: Mapping[str, str],
) -> list[Archived]:
    """What left the context and can be restored, the largest first.

    A message is not listed if texts of it are that are most of it. `count` counts the tokens of a
    text, `view` are the messages that the model sees, and `titles` say what tool results are about,
    by the id of the call.
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


def health_of(session: Session, originals: RestoredOriginals) -> StoreHealth:
    """The state of the store; nothing is written."""
    problems = [*session.store.doubts()]
    if session.log.exists():
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


def report_of(opened: Opened, history: Callable[[Path], History] = hosts.history) -> Report:
    """The report of a conversation that a caller named. Nothing is written.

    `history` reads the whole conversation in the file of a host. A file of messages does not say
    that it was compressed; our record of it does.
    """
    transcript = opened.transcript
    if transcript is None or (transcript.host == "messages" and _is_compressed(opened)):
        whole = history_of(opened.session)
    else:
        whole = history(transcript.path)
    return build_report(whole, opened.session, anchor=opened.anchor)


def _is_compressed(opened: Opened) -> bool:
    """Whether the messages in a file are those of our record, which was compressed."""
    state, transcript = opened.session.state(), opened.transcript
    return bool(state.compressions and transcript and state.recorded == transcript.messages)


def build_report(history: History, session: Session, *, anchor: Anchor | None = None) -> Report:
    """The report of a session, whose record with us may be empty. Nothing is written.

    `anchor` has the tokens that the host's provider charged for the last request, if known.
    """
    state, counter = session.state(), Counter(session.model, session.counter)
    stages, rough, share = _measured(history, counter)
    usage = _usage(stages[-1], session, counter, anchor)
    by_kind = adding_up_to(int(usage.used_tokens), summed(stages[-1].by_kind))
    course = course_of(stages, by_kind.get(BESIDE, 0), state.tally.outside)
    originals = originals_of(session, state)
    asked = [*asked_in(history.stages, rough)]
    most = CALLS if share < 1 and not originals.total else None
    uses, times = uses_of(asked, history.project, most)
    titles = {use.call_id: use.again or ", ".join(use.files) for use in uses}
    live = stages[-1].stage.messages
    left = archived(session, state, originals, counter.text, live, titles)
    model = history.model or session.model or ""
    moments = [time for stage in history.stages for time in stage.times if time is not None]
    return Report(
        session=history.session_id,
        host=history.host,
        project=history.project,
        title=history.title,
        model=model,
        began=min(moments, default=None),
        ended=max(moments, default=None),
        messages=sum(len(stage.messages) - stage.carried for stage in history.stages),
        window=usage.total_budget,
        threshold=usage.threshold_tokens,
        used=int(usage.used_tokens),
        by_kind=by_kind,
        points=course.points,
        compactions=course.marks,
        by_tool=by_tool(asked),
        by_file=in_proportion(by_file(uses), times),
        repeated=in_proportion(repeated(uses), times),
        archived=left[:LISTED],
        archived_total=originals.total,
        archived_tokens=sum(entry.tokens for entry in left),
        archived_restored=sum(entry.restored > 0 for entry in left),
        cost=cost_of(course.sent, usage.total_budget, model),
        evidence=evidence_of(stages, chain.from_iterable(originals.messages.values()), share),
        store=health_of(session, originals),
        warnings=[
            *dict.fromkeys((*warnings(share, 1 / times), *history.warnings, *state.warnings))
        ],
        sampled=share,
        cleared=len(history.cleared),
        cleared_tokens=_cleared(history, counter, share),
    )


def _cleared(history: History, counter: Counter, share: float) -> int:
    """Tokens of the results that the host cleared; of a share of them in a long session."""
    texts = [result.text for result in history.cleared]
    counted = [*sample(texts, [*map(len, texts)], share)]
    chars = sum(map(len, counted))
    tokens = sum(map(counter.text, counted))
    return round(tokens * sum(map(len, texts)) / chars) if chars else 0


def course_in(history: History, session: Session) -> Course:
    """The course of a session alone, with sizes by a small sample of its texts."""
    counter = Counter(session.model, session.counter)
    values, rough = _rough(history, counter)
    rough = rough.sampled(min(1, SAMPLE_OF_MANY / max(1, rough.chars)))
    return course_of(measured_roughly(history.stages, values, counter, rough))


def _rough(history: History, counter: Counter) -> tuple[list[Conversation] | None, Rough]:
    """The messages of the stages as values, unless they are read one by one, and their parts."""
    stages = history.stages
    by_raw = all(detect(stage.messages) is anthropic.FORMAT for stage in stages)
    values = None if by_raw else [parse(stage.messages) for stage in stages]
    return values, roughly(stages, values, counter)


def _measured(history: History, counter: Counter) -> tuple[list[MeasuredStage], Rough, float]:
    """The stages with their sizes, their parts, and the share of all texts that was counted."""
    stages = history.stages
    values, rough = _rough(history, counter)
    share = share_of(rough.chars)
    if share < 1:
        rough = rough.sampled(share)
        return measured_roughly(stages, values, counter, rough), rough, share
    values = values or [parse(stage.messages) for stage in stages]
    return measured(stages, values, counter), rough, share


def _usage(live: MeasuredStage, session: Session, counter: Counter, anchor: Anchor | None) -> Usage:
    """How full the context is now, as `Session.status` counts it; what is counted already, once."""
    raw = live.stage.messages
    if anchor is None and any("usage" in message for message in raw):
        anchor = anchor_in(parse(raw))
    usage = session.usage([])
    if anchor is None or anchor.messages > len(live.messages):
        used = counter.count(int(usage.used_tokens) + sum(live.sizes))
    else:
        used = anchored(counter, live.messages, anchor)
    return replace(usage, used_tokens=used)

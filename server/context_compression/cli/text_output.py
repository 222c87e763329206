"""The output for people, as pages. `json_output` has the same facts for programs."""

import time
from collections.abc import Container, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from context_compression.cli.json_output import Record
from context_compression.cli.page import Block, Fact, Gauge, Page, Style, StyledLine, Table
from context_compression.compression.forecast import Forecast, cache_sentence
from context_compression.compression.result import Result
from context_compression.hosts.compaction_words import due_words, in_words, next_request
from context_compression.plurals import how_many
from context_compression.session import Status
from context_compression.settings import Settings
from context_compression.strings import fenced, one_line
from context_compression.workspace import Opened
from context_compression.workspace.opened import KEPT_IN

LISTED = 8  # refs
MAKES_ROOM = "`context-compression compress` makes room; the archive keeps the originals"
UNSENT = "not sent yet"
SHOWN = 2_000  # characters of a summary
LONGEST_EXPLANATION = 240  # characters
FIXED = "; {:,} of them are system prompt, tools and the like, which stay unchanged"


def report(
    result: Result, forecast: Forecast | None = None, *, restorable: bool, opened: Opened
) -> Page:
    """The report of a compression: its effect, and how to restore what it removed.

    Args:
        result: of the compression.
        forecast: the calls and tokens that a summary would take, in a dry run.
        restorable: whether the originals were archived.
        opened: the conversation.
    """
    if not result.changed:
        notes = "; ".join(map(one_line, result.notes)) or "nothing was changed"
        tokens = how_many(result.tokens_before, "token")
        counts = f"{how_many(result.messages_in, 'message')}, {tokens}"
        return [f"{counts}: {notes}."]
    steps = " → ".join(f"{step.strategy} {step.tokens_after:,}" for step in result.steps)
    cached = f"the first {result.first_changed}" if result.first_changed else "none of them"
    kept = f"{result.messages_kept} of {how_many(result.messages_in, 'message')} unchanged"
    with_host = next_request(result.tokens_after, opened.tokens_beside, opened.host)
    notes = [*result.notes]
    if gone := result.constraints_gone:
        notes.append(f"{gone}; a larger target keeps more")
    if unjudged := result.unjudged:
        notes.append(unjudged)
    return [
        StyledLine(headline(result), "strong"),
        "",
        Fact("steps", steps or "repair"),
        *_target(result),
        Fact("kept", f"{kept}; a prompt cache stays valid for {cached}"),
        *_summary(result, forecast),
        *([Fact("request", with_host)] if with_host else []),
        *(Fact("repaired", one_line(repair)) for repair in result.repairs),
        *(Fact("note", one_line(note)) for note in notes),
        "",
        loss(result),
        "",
        *_archived(result, restorable),
    ]


def explanations(result: Result) -> Page:
    """Why the most telling messages stayed or went, a line each."""
    lines = [one_line(each.line, LONGEST_EXPLANATION) for each in result.most_telling()]
    return ["", StyledLine("messages", "strong"), *(lines or ["every message is shown in full"])]


def _target(result: Result) -> list[Fact]:
    """The target, and whether it was met."""
    if not result.target_tokens:
        return []
    met = "met" if result.target_met else f"not met; the minimum size is {result.floor_tokens:,}"
    fixed = FIXED.format(result.fixed_tokens) if result.fixed_tokens else ""
    return [Fact("target", f"{how_many(result.target_tokens, 'token')}, {met}{fixed}")]


def _summary(result: Result, forecast: Forecast | None) -> list[Fact]:
    """Lines on the summary: its tokens and cost, or in a dry run the forecast."""
    if forecast:
        messages = how_many(forecast.messages, "message")
        tokens = how_many(forecast.tokens, "token")
        calls = how_many(forecast.calls, "call")
        input_tokens = how_many(forecast.input_tokens, "token")
        would = (
            f"would replace {messages} of {tokens}; {calls} with {input_tokens} in, at "
            f"most {forecast.max_output_tokens:,} out; its assumed size is "
            f"{how_many(forecast.summary_tokens, 'token')}"
        )
        return [Fact("summary", would), Fact("cache", cache_sentence(forecast))]
    if result.summary is None:
        return []
    usage, replies = result.summary.usage, result.summary.replies
    cached = ""
    if usage["cache_read_tokens"] or usage["cache_write_tokens"]:
        cached = (
            f" ({usage['cache_read_tokens']:,} read from a cache, "
            f"{usage['cache_write_tokens']:,} written into it)"
        )
    models = ", ".join(sorted({reply.model for reply in replies if reply.model}))
    cost = f", ${usage['cost']:.4f}" if usage["cost"] else ""
    unverified = len(result.summary.unverified)
    input_tokens = how_many(int(usage["input_tokens"] or 0), "token")
    removed = f"; {how_many(unverified, 'unverified claim')} removed" if unverified else ""
    by = f"by {models or 'the summarizer'}: {input_tokens} in{cached}"
    return [Fact("summary", f"{by}, {usage['output_tokens']:,} out{cost}{removed}")]


def headline(result: Result) -> str:
    """`45 → 25 messages, 120,000 → 60,000 tokens, 60,000 freed`."""
    return (
        f"{result.messages_in:,} → {how_many(result.messages_out, 'message')}, "
        f"{result.tokens_before:,} → {how_many(result.tokens_after, 'token')}, "
        f"{result.tokens_freed:,} freed"
    )


def loss(result: Result) -> Table:
    """Where the evidence is now, as a table; empty classes are left out."""
    rows = [
        (name, *(f"{n:,}" for n in (of.total, of.retained, of.recoverable, of.lost)))
        for name, of in (*result.loss.items(), ("user sentences", result.user_sentences))
        if of.total
    ]
    return Table([("evidence", "total", "in context", "restorable", "lost"), *rows])


def _archived(result: Result, restorable: bool) -> list[Block]:
    refs = result.refs
    if not restorable:
        return [f"This was a dry run. It would archive {how_many(len(refs), 'ref')}."]
    texts = {ref: len(result.originals[ref]) for ref in refs if refs[ref].block is not None}
    rows = [
        (ref, refs[ref].what, f"message {refs[ref].indices[0]}", how_many(texts[ref], "character"))
        for ref in sorted(texts, key=lambda ref: -texts[ref])[:LISTED]
    ]
    kept, listed = how_many(len(refs), "ref"), "; the longest texts:" if rows else ""
    return [
        f"`context-compression restore REF` prints an original, byte for byte; {kept}{listed}",
        Table(rows, left=3, flexible=(1,), head=False),
    ]


def status(opened: Opened, status: Status) -> Page:
    """How full the context of a conversation is, and what fills it."""
    usage, beside = status.usage, opened.tokens_beside
    due = f"compression is {'due' if status.due.now else 'not due'}"
    kinds = [
        (kind, f"{tokens:,}", f"{tokens / max(1, usage.used_tokens):.0%}")
        for kind, tokens in status.by_kind.items()
        if tokens
    ]
    items = [(f"message {i.message}", i.what, f"{i.tokens:,}") for i in status.largest]
    page: list[Block] = [
        StyledLine(f"{opened.session.id}: {how_many(status.messages, 'message')}", "strong"),
        Gauge(usage.usage_percent, _fullness(status)),
        f"{usage.used_tokens:,} of {usage.total_budget:,} tokens, {usage.remaining:,} left; {due}",
        *filter(None, [next_request(usage.used_tokens - beside, beside, opened.host)]),
        *([MAKES_ROOM] if status.due.now else []),
        due_words(status.due.reason, usage.threshold_tokens, opened.host, opened.compacts_at),
        "",
        Table([("kind", "tokens", ""), *kinds]),
        "",
        Table([("largest", "", "tokens"), *items], left=2),
        "",
        f"{how_many(status.could_free, 'token')} could be freed by offload alone",
        f"counted by {usage.used_tokens.method}; at most {usage.used_tokens.upper:,}",
    ]
    if told := in_words(status.host_compactions, time.time()):
        page.append(told)
    if status.compressions:
        saved = f"{how_many(status.tokens_saved, 'token')} saved"
        page.append(
            f"compressions: {status.compressions}; {status.messages_compressed} of "
            f"{how_many(status.messages_recorded, 'message')} compressed, {saved}"
        )
    if (savings := status.savings.as_answer()) != {"net": 0}:
        listed = ", ".join(f"{name.replace('_', ' ')} {n:,}" for name, n in savings.items())
        reason = f"; the compacted context was {UNSENT}" if status.savings.unsent else ""
        requests = how_many(status.savings.requests, "request")
        page.append(f"over {requests}, in tokens: {listed}{reason}")
    if status.refs:
        page += ["", _newest(status.refs)]
    page += [f"warning: {one_line(warning)}" for warning in status.warnings]
    return page


def _fullness(status: Status) -> Style:
    """The colour of the gauge: red if a compression is due, yellow if half of the way is gone."""
    usage = status.usage
    if status.due.now:
        return "bad"
    return "warning" if usage.used_tokens * 2 > usage.threshold_tokens else "good"


def own_session(id: str, refs: Mapping[str, str]) -> Page:
    """What is kept in a session of this package, which is no conversation."""
    return [f"{id} is no conversation: {KEPT_IN[id]} are kept in it", "", _newest(refs)]


def _newest(refs: Mapping[str, str]) -> Table:
    head = ("newest refs", f"of {len(refs)}")
    return Table([head, *list(refs.items())[-LISTED:]], left=2)


def sessions(store: str, records: Sequence[Record]) -> Page:
    """The recorded sessions, as a table."""
    if not records:
        return [
            f"Nothing is recorded in {store} yet.",
            "`context-compression status FILE` shows how full a transcript is; "
            "`context-compression compress FILE` compacts it.",
        ]
    rows = [
        (
            str(about["session"]),
            when(about["last_written"]),
            f"{about['messages']:,} of {about['messages_recorded']:,}",
            f"{about['compressions']:,}",
            UNSENT if about["unsent"] else f"{about['tokens_saved_net']:,}",
        )
        for about in records
    ]
    head = ("session", "last written", "messages", "compressions", "tokens saved")
    return [store, "", Table([head, *rows], left=2, flexible=(0,), long=True)]


def when(time: str | None) -> str:
    """A time in UTC, as a log has it, in the time of this machine: `2026-11-26 10:20`."""
    try:
        return f"{datetime.fromisoformat(str(time)).astimezone():%Y-%m-%d %H:%M}"
    except ValueError:
        return "?"


def summaries(entries: Iterable[Mapping[str, Any]], most: int = SHOWN) -> Page:
    """Past summaries, each quoted under its time, session and strategy; long ones are cut."""
    parts: list[Block] = []
    for entry in entries:
        text = str(entry.get("content", ""))
        more = len(text) - most
        rest = f"\n… {how_many(more, 'more character')}; --json shows them" if more > 0 else ""
        about = (("created_at", "?"), ("session", "?"), ("strategy", "summary"))
        heading = "  ".join(one_line(entry.get(name, unknown)) for name, unknown in about)
        tokens = entry.get("tokens")
        size = how_many(tokens if isinstance(tokens, int) else 0, "token")
        parts += [*([""] if parts else []), StyledLine(f"── {heading}  {size}", "strong")]
        parts.append(f"{fenced(text[:most])}{rest}")
    return parts or ["There are no summaries yet."]


def config(settings: Settings, origins: Mapping[str, str], shown: Container[str]) -> Page:
    """Settings as a table, and for those of the budget the threshold that they amount to."""
    rows = [
        (name, _value(getattr(settings, name)), origins.get(name, ""), field.description or "")
        for name, field in Settings.model_fields.items()
        if name in shown
    ]
    tokens, reason = settings.threshold
    due = f"compression is due from {tokens:,} tokens on: {reason}"
    table = Table([("setting", "value", "from", "meaning"), *rows], left=4, prose=True)
    return [table, *(["", due] if "token_budget" in shown else [])]


def _value(value: Any) -> str:
    if value is None:
        return "unset"
    if isinstance(value, tuple):
        words = ", ".join(map(str, value))  # pyright: ignore[reportUnknownArgumentType]  # strings
        return words if len(words) <= 24 else f"{words[:23]}…"
    return str(value).lower() if isinstance(value, bool) else str(value)

"""A report as a short plain text with a chart, for a terminal or a pipe."""

import time
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import chain
from math import ceil
from pathlib import Path

from context_compression.hosts.listing import below_home
from context_compression.hosts.table import TITLES
from context_compression.plurals import how_many, short_number, times
from context_compression.report.model import (
    Archived,
    CompactionMark,
    Consumer,
    Cost,
    Point,
    Repeated,
    Report,
)
from context_compression.report.totals import AllSessions, Total
from context_compression.strings import cells, in_words, without_middle, wrapped
from context_compression.tokens.prices import in_dollars
from context_compression.transcripts.transcript import OURS, PROXY, Compaction

ROWS = 5
EIGHTHS = " ▁▂▃▄▅▆▇█"
LABEL = 11
SMALL = 0.4
"""Below this share of the window, the scale ends with the largest context instead."""


def chart(
    points: Sequence[Point],
    marks: Sequence[CompactionMark],
    window: int,
    threshold: int,
    width: int,
    now: int | None = None,
) -> Iterator[str]:
    """Lines with bars for the context, each for some requests, and a mark for each compaction.

    `now` is the context now, if it is to be shown beside the requests.
    """
    if len(points) < 2:
        return
    last = [] if now is None else [now]
    columns = max(1, min(width - LABEL, max(len(points), 40)) - len(last))
    heights = [*_heights(points, columns), *last]
    largest = max(heights)
    top = window if largest >= SMALL * window else largest
    for row in reversed(range(ROWS)):
        low, high = top * row / ROWS, top * (row + 1) / ROWS
        cells = (EIGHTHS[_eighths(height, low, high)] for height in heights)
        due = low < threshold <= high
        yield f"{_label(row, top, window, due):>{LABEL - 1}} {''.join(cells)}".rstrip()
    if marks:
        yield f"{'':{LABEL}}{_marks(points, marks, columns + len(last))}".rstrip()
    many = f"request {points[0].number} to {points[-1].number:,}{' and now' if last else ''}"
    yield f"{'':{LABEL}}{many}{', ▲ compaction' if marks else ''}"


def _heights(points: Sequence[Point], columns: int) -> Iterator[int]:
    """The largest context of each column."""
    for column in range(columns):
        start = column * len(points) // columns
        stop = max(start + 1, (column + 1) * len(points) // columns)
        yield max(point.tokens for point in points[start:stop])


def _eighths(height: int, low: float, high: float) -> int:
    """How many eighths of a cell are filled; a context is never without a mark."""
    if high <= low:
        return 0
    filled = round(8 * (height - low) / (high - low))
    return max(1 if low == 0 and height else 0, min(8, filled))


def _label(row: int, top: int, window: int, due: bool) -> str:
    if row == ROWS - 1:
        return f"{short_number(top)}" if top == window else f"max {short_number(top)}"
    return "due " if due else ""


def _marks(points: Sequence[Point], marks: Sequence[CompactionMark], columns: int) -> str:
    """A line with a mark below the column of the first request after each compaction."""
    cells = [" "] * columns
    numbers = [point.number for point in points]
    for mark in marks:
        place = bisect_right(numbers, mark.after)
        cells[min(columns - 1, place * columns // len(points))] = "▲"
    return "".join(cells)


LISTED = 5
LONGEST_WARNING = 2_000  # characters; it may name a file and a command
SOURCES = {
    **TITLES,
    "messages": "a file of messages",
    OURS: "a recorded session",
    PROXY: "the proxy",
}
ADVICE = {
    "command": "let it print only what is new or fails",
    "file": "read only the lines that changed",
    "search": "narrow it, or keep its hits",
}
"""What would have avoided a repetition, by its kind."""


def text(report: Report, width: int = 80) -> str:
    """The report in about 40 lines of at most `width` columns."""
    sections = (
        _head(report, width),
        chain(_now(report), _chart(report, width), _compactions(report), _cleared(report)),
        chain(
            _consumers("by tool", report.by_tool, width),
            _consumers("by file", report.by_file, width),
            _again(report.repeated, width),
        ),
        chain(
            _left(report, width),
            _cost(report.cost, bool(report.compactions)),
            _evidence(report),
            _health(report),
            _warnings(report),
        ),
    )
    fitted = ([fit for line in lines for fit in _fitted(line, width)] for lines in sections)
    return "\n\n".join("\n".join(lines) for lines in fitted if lines)


def _fitted(line: str, width: int) -> list[str]:
    """The line; one that is too long goes on below its beginning."""
    if cells(line) <= width:
        return [line]
    return wrapped(line, width, hanging=0 if line.startswith(" ") else LABEL)


def _warnings(report: Report) -> Iterator[str]:
    for each in report.warnings[:LISTED]:
        yield f"{'warning':{LABEL}}{in_words(each, LONGEST_WARNING)}"
    if more := report.warnings[LISTED:]:
        yield f"{'':{LABEL}}and {how_many(len(more), 'more warning')}; --json lists all"


def _head(report: Report, width: int) -> Iterator[str]:
    yield without_middle(in_words(report.title or report.session), width)
    host = SOURCES.get(report.host, report.host)
    by = ", ".join(filter(None, [host, report.model, report.project]))
    yield in_words(by)
    counts = f"{how_many(report.messages, 'message')}, {how_many(report.cost.requests, 'request')}"
    yield ", ".join([*_when(report), counts, f"session {report.session}"])


def _when(report: Report) -> Iterator[str]:
    if report.began is not None and report.ended is not None:
        began = time.strftime("%Y-%m-%d %H:%M", time.localtime(report.began))
        yield f"{began}, {duration(report.ended - report.began)}"


def duration(seconds: float) -> str:
    """`duration(11_520)` -> `"3 h 12 min"`."""
    minutes = max(1, round(seconds / 60))
    days, hours = divmod(minutes // 60, 24)
    if days:
        return f"{how_many(days, 'day')} {hours} h"
    return f"{hours} h {minutes % 60} min" if hours else f"{minutes} min"


def _now(report: Report) -> Iterator[str]:
    used, window = report.used, report.window
    percent = f"{100 * used / window:.0f} %" if window else "?"
    due = "is due" if used >= report.threshold else f"is due from {report.threshold:,} on"
    yield f"{'now':{LABEL}}{used:,} of {window:,} tokens ({percent}); a compression {due}"
    shares = sorted(report.by_kind.items(), key=lambda item: -item[1])[:LISTED]
    if kinds := [f"{kind} {100 * tokens / used:.0f} %" for kind, tokens in shares if tokens]:
        yield f"{'of it':{LABEL}}{', '.join(kinds)}"


def _chart(report: Report, width: int) -> Iterator[str]:
    """The context over time, and now if it was compacted since the last request."""
    points, marks = report.points, report.compactions
    since = points and marks and marks[-1].after >= points[-1].number
    now = report.used if since else None
    return chart(points, marks, report.window, report.threshold, width, now)


def _compactions(report: Report) -> Iterator[str]:
    marks = report.compactions
    if not marks:
        yield f"{'compacted':{LABEL}}never"
        return
    each = (
        f"after request {mark.after:,} {_sizes(mark.compaction.tokens_before)} → "
        f"{_sizes(mark.compaction.tokens_after)}"
        + (f" ({words})" if (words := how(mark.compaction)) else "")
        for mark in marks[-LISTED:]
    )
    earlier = f"{len(marks) - LISTED:,} earlier; " if len(marks) > LISTED else ""
    yield f"{'compacted':{LABEL}}{times(len(marks))}: {earlier}{'; '.join(each)}"


def _cleared(report: Report) -> Iterator[str]:
    if report.cleared:
        yield f"{'cleared':{LABEL}}{cleared(report)}"


def cleared(report: Report) -> str:
    """What the host cleared: `"Claude Code cleared 3 old tool results, 12,400 tokens, …"`."""
    host = in_words(TITLES.get(report.host, report.host), 40)
    results = how_many(report.cleared, "old tool result")
    tokens = how_many(report.cleared_tokens, "token")
    return f"{host} cleared {results}, {tokens}; its own file still has them"


def how(compaction: Compaction) -> str:
    """Who compacted, and what: `"Claude Code cleared old tool results, auto"`."""
    by = in_words(TITLES.get(compaction.by, compaction.by), 40)
    if compaction.cleared:
        by = f"{by} cleared old tool results" if by else "old tool results cleared"
    return ", ".join(filter(None, (by, in_words(compaction.trigger, 40))))


def _sizes(tokens: int | None) -> str:
    return "?" if tokens is None else short_number(tokens)


def _consumers(label: str, consumers: Sequence[Consumer], width: int) -> Iterator[str]:
    for place, consumer in enumerate(consumers[:LISTED]):
        calls = f"in {how_many(consumer.calls, 'call')}"
        facts = f"{label if place == 0 else '':{LABEL}}{consumer.tokens:>9,} tokens {calls:<12}"
        yield f"{facts} {without_middle(in_words(consumer.name), width - len(facts) - 1)}"


def _again(repeated: Sequence[Repeated], width: int) -> Iterator[str]:
    for place, one in enumerate(repeated[:3]):
        name = "again" if place == 0 else ""
        what = without_middle(one.name, width - LABEL)
        facts = f"{times(one.times)}, {one.again:,} tokens came again: {ADVICE[one.kind]}"
        yield f"{name:{LABEL}}{what}"
        yield f"{'':{LABEL}}{facts}"


def _left(report: Report, width: int) -> Iterator[str]:
    if not report.archived_total:
        yield f"{'archived':{LABEL}}nothing"
        return
    back = report.archived_restored
    came = f"{back:,} of them" if back else "none of them"
    yield (
        f"{'archived':{LABEL}}{how_many(report.archived_total, 'original')}, "
        f"{how_many(report.archived_tokens, 'token')}; {came} came back"
    )
    for entry in report.archived[:3]:
        yield f"{'':{LABEL}}{_item(entry, width)}"


def _item(entry: Archived, width: int) -> str:
    back = f", restored {times(entry.restored)}" if entry.restored else ""
    facts = f"{entry.tokens:>9,} tokens {entry.ref[:12]}{back}"
    return f"{facts} {without_middle(entry.what, width - LABEL - len(facts) - 1)}"


def _cost(cost: Cost, compacted: bool) -> Iterator[str]:
    if not cost.requests:
        return
    how = "as charged" if cost.measured else "estimated"
    paid, without = (_money(cost, amount) for amount in cost.compared)
    line = f"{'cost':{LABEL}}input {paid}, {how}"
    if not cost.is_same or cost.impossible:
        line += f"; {without} if nothing had left"
    elif compacted:
        line += "; the same if nothing had left"
    if cost.impossible:
        line += f", but {how_many(cost.impossible, 'request')} would not have fitted the window"
    if cost.output_dollars is None:
        line += f"; output {short_number(cost.output)} tokens"
    else:
        line += f"; output {in_dollars(cost.output_dollars)}"
    yield line
    yield f"{'':{LABEL}}{basis(cost)}"


def _money(cost: Cost, amount: float) -> str:
    """Dollars, or tokens if no price is known."""
    return (
        f"{short_number(round(amount))} weighted tokens"
        if cost.dollars is None
        else in_dollars(amount)
    )


def basis(cost: Cost) -> str:
    """What the amounts of a cost are: dollars of which prices, or tokens that count how much."""
    if cost.prices:
        return f"at the providers' list prices of {cost.prices}"
    if cost.dollars is not None:
        return "at the price that you named; a cache read costs 0.1 of it, a cache write 1.25"
    models = ", ".join(in_words(name, 40) for name in cost.unpriced[:3] if name)
    unknown = f"; the price of {models} is not known (--input-price)" if models else ""
    return f"a token read from the cache counts 0.1, one written into it 1.25{unknown}"


def _evidence(report: Report) -> Iterator[str]:
    total = sum(each.total for each in report.evidence)
    if not total:
        return
    seen = sum(each.in_context for each in report.evidence)
    stored = sum(each.restorable for each in report.evidence)
    lost = sum(each.lost for each in report.evidence)
    sample = " of a sample" * (report.sampled < 1)
    yield (
        f"{'evidence':{LABEL}}{seen:,} of {total:,} pieces{sample} in context, {stored:,} "
        f"restorable, {lost:,} in neither"
    )
    if lost:
        gone = (f"{each.lost:,} of {each.total:,} {each.name}" for each in report.evidence)
        several = [text for text, each in zip(gone, report.evidence, strict=True) if each.lost]
        of_host = report.host not in ("messages", OURS, PROXY)
        may = "; the host's own file may still hold them" * of_host
        yield f"{'':{LABEL}}in neither: {', '.join(several)}{may}"


def _health(report: Report) -> Iterator[str]:
    store = report.store
    if not store.refs and not store.problems:
        return
    size = f"{ceil(store.bytes / 1000):,} KB in {in_words(store.folder)}"
    yield f"{'store':{LABEL}}{store.proven:,} of {store.refs:,} originals proven, {size}"
    yield from (f"{'problem':{LABEL}}{in_words(problem)}" for problem in store.problems[:LISTED])


def cost_in_words(total: Total) -> str:
    """`"$12.30"`, `"1.2M tokens"` where no price is known, or both."""
    parts = [in_dollars(total.dollars)] if total.dollars is not None else []
    if total.unpriced:
        parts.append(f"{short_number(total.unpriced_tokens)} tokens")
    return " + ".join(parts) or "0 tokens"


def basis_of_all(totals: AllSessions) -> str:
    """What the dollars and the tokens of all sessions are."""
    said = f"at the providers' list prices of {totals.prices}"
    if not totals.all.unpriced:
        return said
    models = [in_words(name, 40) for name in totals.models]
    names = f" ({', '.join([*models[:3], *(['…'] * bool(models[3:]))])})" if models else ""
    sessions = how_many(totals.all.unpriced, "session")
    return f"{said}; tokens of {sessions} of a model whose price is not known{names}"


def compacted(total: Total) -> str:
    """How often, and by whom."""
    if not total.compactions:
        return "never"
    by_hosts, often = total.compactions - total.by_us, times(total.compactions)
    if by_hosts and total.by_us:
        return f"{often}: {by_hosts:,} by their hosts, {total.by_us:,} by {OURS}"
    return f"{often}, by {'their hosts' if by_hosts else OURS}"


def project_in_words(name: str, home: Path | None = None) -> str:
    """A project below the home folder with `~`; words for sessions of no known project."""
    return TITLES.get(name) or (below_home(name, home) if home else name) or "not known"

"""The page of a report, as text. `test_page_in_browser.py` opens it."""

import json
import re
from collections.abc import Callable
from dataclasses import fields, is_dataclass, replace
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sample_reports import empty_report, long_report, points, sample_of_all, sample_report

from context_compression.conversation import is_array
from context_compression.report.html import page, page_of_all
from context_compression.report.layout import Layout, by_class, layout_of
from context_compression.report.model import CompactionMark, Point, Report
from context_compression.transcripts import Compaction

HOSTILE = [
    "</script><img src=x onerror=alert(1)>",
    "</title></style><script>alert(1)</script>",
    "<!--<script>",
    "]]><svg/onload=alert(1)>",
    '" onmouseover="alert(1)" x=\'',
    "&lt;b&gt; &amp; &#x3c;script>",
    "\u202etxt.exe\u2066\u200b\ufeff",
    "\x00\x1b[31m\x07\x9b\r\n\u2028\u2029",
    "\ud800 half \udfff",
    "שלום العربية",
    "=" * 1_000_000,
    "{{7*7}} ${7*7} <%= 1 %>",
]
TEXTS = st.one_of(st.sampled_from(HOSTILE), st.text(st.characters(codec=None), max_size=60))


class Structure(HTMLParser):
    """The elements of a page with the names of their attributes, and the data in it."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, tuple[str, ...]]] = []
        self.addresses: list[str] = []
        self.data: dict[str, Any] = {}
        self._id = ""
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        names = tuple(name for name, _ in attrs if name != "class")
        if tag != "wbr":  # a long name has more of them
            self.elements.append((tag, names))
        found = dict(attrs)
        self.addresses += [found[name] or "" for name in ("href", "src") if name in found]
        self._id = (found.get("id") or "") if found.get("type") == "application/json" else ""

    def handle_data(self, data: str) -> None:
        if self._id:
            self.data[self._id] = json.loads(data)

    def handle_endtag(self, tag: str) -> None:
        self._id = ""


def rewritten(value: Any, text: Callable[[str], str]) -> Any:
    """A report with all its strings replaced."""
    if isinstance(value, str):
        return text(value)
    if is_dataclass(value) and not isinstance(value, type):
        parts = {each.name: rewritten(getattr(value, each.name), text) for each in fields(value)}
        return replace(value, **parts)
    return [rewritten(each, text) for each in value] if is_array(value) else value


HARMLESS = Structure(page(rewritten(sample_report(), lambda _: "word"))).elements


@given(st.lists(TEXTS, min_size=1, max_size=8))
def test_no_string_of_a_report_becomes_markup(strings: list[str]) -> None:
    given_texts = iter(strings * 100)
    hostile = rewritten(sample_report(), lambda _: f"word {next(given_texts)}")

    html = page(hostile)

    assert Structure(html).elements == HARMLESS
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b\u202a-\u202e\u2066-\u2069]", html)
    html.encode("utf-8")


@pytest.mark.parametrize("text", HOSTILE)
def test_no_kind_of_content_becomes_markup(text: str) -> None:
    report = replace(sample_report(), points=[Point(1, None, {text: 5})], compactions=[])

    assert "alert(1)" not in page(report)


@given(st.lists(TEXTS, min_size=1, max_size=8))
def test_no_string_of_all_sessions_becomes_markup(strings: list[str]) -> None:
    home = Path("/home/ada")
    given_texts = iter(strings * 1_000)
    harmless = rewritten(sample_of_all(), lambda _: "word")
    hostile = rewritten(sample_of_all(), lambda _: f"word {next(given_texts)}")

    html = page_of_all(hostile, home)

    assert Structure(html).elements == Structure(page_of_all(harmless, home)).elements
    html.encode("utf-8")


def test_a_text_beside_the_page_is_what_the_archive_has() -> None:
    report = sample_report()

    texts = Structure(page(report)).data["texts"]

    assert [each["original"] for each in texts] == [each.original for each in report.archived]
    assert [each["shown"] for each in texts] == [each.shown for each in report.archived]
    assert texts[1]["cut"] == "12,345 more characters are in the archive."


def test_a_page_points_only_to_itself() -> None:
    html = page(sample_report())
    addresses = Structure(html).addresses

    assert addresses
    assert all(re.search(f'id="{address[1:]}"', html) for address in addresses)


def test_the_same_report_makes_the_same_page() -> None:
    assert page(sample_report()) == page(sample_report())


def test_a_report_of_nothing_says_what_is_missing() -> None:
    html = page(empty_report())

    assert "A session without a title" in html
    assert html.count("No request is recorded.") == 2
    assert "It keeps nothing of this session." in html


def test_a_long_session_makes_a_page_of_bounded_size() -> None:
    report = replace(long_report(), archived=[])
    html = page(report)

    assert len(html) < 600_000
    assert len(Structure(html).data["requests"]) <= 600
    assert "100,000" in html


def test_many_compactions_are_folded_and_the_rest_is_counted() -> None:
    marks = [CompactionMark(n, Compaction()) for n in range(1, 301)]
    few = page(replace(sample_report(), compactions=marks[:12]))
    many = page(replace(sample_report(), compactions=marks))

    assert "<h3>Compactions</h3>" in few
    assert "<summary>The first 200 of 300 compactions</summary>" in many


def test_strange_numbers_are_shown_without_failing() -> None:
    strange = [Point(5, float("nan"), {"user text": -3}), Point(9, 1e300, {"other": 10**40})]
    marks = [CompactionMark(-4, Compaction(float("inf"), tokens_before=10**30, tokens_after=-1))]

    html = page(replace(sample_report(), points=strange, compactions=marks, used=-5, window=-1))

    assert Structure(html).data["requests"][0]["title"] == "Request 5 of 9: 0 tokens"


def test_times_of_the_same_day_name_it_once() -> None:
    html = re.sub("<[^>]+>", "", page(sample_report()))

    assert re.search(r"12 Mar 2026, \d\d:\d\d to \d\d:\d\d", html)


def test_kinds_without_a_colour_of_their_own_share_one() -> None:
    sizes = by_class(
        {"images": 5, "structure": 2, "tool results": 9, "host text": 1, "developer text": 3}
    )

    assert sizes == [7, 4, 0, 0, 0, 0, 9, 0]


def layout(report: Report) -> Layout:
    found = layout_of(report)
    assert found
    return found


def test_a_compaction_is_a_step_between_two_requests() -> None:
    kinds = [{"tool results": tokens} for tokens in (100, 200, 50)]
    drawn = layout(
        replace(
            sample_report(),
            window=200,
            threshold=150,
            points=[Point(at, None, each) for at, each in enumerate(kinds, 1)],
            compactions=[CompactionMark(2, Compaction())],
        )
    )
    top = next(outline for outline in drawn.outlines() if any(low > up for _, up, low in outline))

    tokens = [(round(x, 1), round(drawn.top * (1 - y / 100))) for x, y, _ in top]

    assert tokens == [
        (0.0, 100), (16.7, 100), (50.0, 200), (66.7, 200), (66.7, 50), (83.3, 50), (100.0, 50),
    ]  # fmt: skip


def test_a_bold_stroke_goes_from_the_size_before_a_compaction_to_that_after_it() -> None:
    html = page(replace(sample_report(), window=200_000, threshold=0))

    strokes = re.findall('y1="([^"]*)%" y2="([^"]*)%" class="drop"', html)

    assert strokes == [("28.39", "86.16")]  # 160,400 and 31,000 of 224,000 tokens


@pytest.mark.parametrize("number", [1, 3, 40, 5_000])
def test_a_compaction_after_the_last_request_stands_before_the_context_now(number: int) -> None:
    marks = [CompactionMark(number, Compaction(None, "", "", 20_000, 7_000))]
    report = replace(
        sample_report(), points=points(number, ()), compactions=marks, by_kind={"user text": 7_000}
    )

    drawn = layout(report)

    [mark] = drawn.marks
    now = drawn.requests[-1]
    assert drawn.requests[-2].x < mark.x <= 95 < now.x <= 100 or (number < 20 and mark.x < now.x)
    assert (now.now, now.tokens, now.follows) == (True, 7_000, [1])
    assert drawn.outlines()[2][-1] == (100.0, drawn.y(7_000), drawn.y(0))
    rows = Structure(page(report)).data["requests"]
    assert rows[-1]["title"] == "Now: 7,000 tokens"
    assert rows[-2]["title"].startswith(f"Request {number:,} of {number:,}: ")


def test_areas_lie_on_one_another_and_add_up_to_the_context() -> None:
    drawn = layout(sample_report())
    outlines = drawn.outlines()

    for below, above in pairwise(outlines):
        assert [upper for _, upper, _ in below] == [lower for _, _, lower in above]
    heights = {round(x, 6): y for x, y, _ in outlines[-1]}
    for request in drawn.requests:
        assert heights[round(request.x, 6)] == pytest.approx(drawn.y(request.point.tokens))


def test_thinning_keeps_the_largest_request_and_those_beside_a_compaction() -> None:
    many = points(5_000, (1_234, 4_000))
    most = replace(many[2_000], by_kind={"tool results": 10**9})
    many[2_000] = most
    marks = [CompactionMark(after, Compaction()) for after in (1_234, 4_000)]

    drawn = layout(replace(sample_report(), points=many, compactions=marks))

    numbers = {request.point.number for request in drawn.requests}
    assert {1, 1_234, 1_235, 2_001, 4_000, 4_001, 5_000} <= numbers
    assert len(numbers) <= 500


def of_cost(**changed: float) -> dict[str, Any]:
    return {"cost": replace(sample_report().cost, **changed)}


def charged(tokens: int) -> dict[str, Any]:
    return {"points": [Point(1, None, {"user text": 500}, tokens)], "compactions": []}


SAID: list[tuple[dict[str, Any], str, str]] = [
    ({}, ">in neither<", ">lost<"),  # the host's own file may still hold it
    (
        {"window": 10_000_000, "threshold": 8_000_000},
        "The window of 10,000,000 lies far above the picture.",
        ">window 10,000,000<",
    ),
    (charged(510), "charged as 510", "charged as 500"),
    (charged(500), "500 tokens", "charged as"),
    (
        of_cost(with_us=50, without=100, impossible=0),
        "The input cost 50 % less than without compaction.",
        "would not have fitted",
    ),
    (
        of_cost(with_us=108, without=100),
        "The input cost 8 % more than without compaction. A request after a compaction writes its "
        "context into the cache anew. Without it, 9 requests would not have fitted the window.",
        "Compaction changed nothing",
    ),
    (of_cost(with_us=100, without=100), "Compaction changed nothing in the cost.", " less than"),
    (of_cost(with_us=100, without=100), "with or without compaction, the same", "as it was"),
    (
        {"compactions": [], **of_cost(with_us=100, without=100, impossible=0)},
        "Nothing was compacted, so both are the same.",
        "Compaction changed nothing",
    ),
    # 2.1 million at 3 dollars and a million at 15
    ({"cost": replace(sample_report().cost, output=10**6).at(3, 15)}, ">$6.30<", "weighted"),
    (
        {"cost": replace(sample_report().cost, output=10**6).at(3, 15)},
        "cost $15.00.",
        "plain input",
    ),
    (
        {"cost": replace(sample_report().cost, unpriced=["a-model-1"])},
        "the price of a-model-1 is not known",
        "plain input",
    ),
    (
        {"cleared": 3, "cleared_tokens": 57_000},
        "Claude Code cleared 3 old tool results, 57,000 tokens",
        "cleared 57,000",
    ),
    (
        {"compactions": [CompactionMark(50, Compaction(None, "", "claude-code", cleared=True))]},
        "Claude Code cleared old tool results",
        "Claude Code, ",
    ),
    # of all originals, and not of the listed ones
    ({"archived_tokens": 987_000}, "originals, 987K tokens", "originals, 28K tokens"),
    ({"archived_restored": 654}, ">654<", ">1</dd>"),
]


@pytest.mark.parametrize(("changed", "says", "and_not"), SAID, ids=[says for _, says, _ in SAID])
def test_the_page_says_what_is_so(changed: dict[str, Any], says: str, and_not: str) -> None:
    text = " ".join(page(replace(sample_report(), **changed)).split())

    assert says in text
    assert and_not not in text

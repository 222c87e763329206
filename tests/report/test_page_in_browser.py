"""The page of a report, opened in a real Chromium."""

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import pytest

# the package has no types
from axe_playwright_python.sync_playwright import Axe  # pyright: ignore[reportMissingTypeStubs]  # none
from playwright.sync_api import Browser, Page
from sample_reports import (
    FIRST_REF,
    SECOND_REF,
    empty_report,
    long_report,
    points,
    sample_of_all,
    sample_report,
)

from context_compression.report.html import page, page_of_all
from context_compression.report.layout import KINDS
from context_compression.report.model import CompactionMark, Report
from context_compression.report.totals import AllSessions, summed_up
from context_compression.transcripts import Compaction

pytestmark = pytest.mark.slow

Mode = Literal["light", "dark"]
MODES: tuple[Mode, ...] = ("light", "dark")
WIDTHS = (360, 400, 800, 1280, 1600)
SERIOUS = ("serious", "critical")
PLENTY = 10_000
"""Milliseconds that a slow machine may need."""

OVERLAPS = """() => {
  const named = (node) => `${node.tagName}.${node.className.baseVal ?? node.className}`;
  const seen = (node) =>
    node.getClientRects().length && getComputedStyle(node).position !== "absolute";
  const shared = (a, b, from, to) => Math.min(a[to], b[to]) - Math.max(a[from], b[from]);
  const found = [];
  for (const parent of document.querySelectorAll(
      "body, header, dl, dl > div, ul, main, section, form, form > label, .picture, tr, " +
      ".numbers, .scale, .refs button, .refs li, .texts, .compacted, .values")) {
    const nodes = [...parent.children].filter(seen);
    const boxes = nodes.map((node) => node.getBoundingClientRect());
    boxes.forEach((one, a) => boxes.slice(0, a).forEach((other, b) => {
      if (shared(one, other, "left", "right") > 1 && shared(one, other, "top", "bottom") > 1)
        found.push(`${named(nodes[b])} and ${named(nodes[a])}`);
    }));
  }
  return found;
}"""
OUTSIDE = """() => [...document.querySelectorAll("body *")]
  .filter((node) => !node.closest(".wide, .unseen, .skip, .plot"))
  .filter((node) => node.getBoundingClientRect().right > document.documentElement.clientWidth + 1)
  .map((node) => node.outerHTML.slice(0, 80))"""
COLOURS = """(kinds) => {
  const colour = (node, key) =>
    getComputedStyle(node)[key].match(/[\\d.]+/g).slice(0, 3).map(Number);
  const plot = document.querySelector(".plot");
  const made = document.createElementNS("http://www.w3.org/2000/svg", "rect");
  plot.append(made);
  const fills = kinds.map((kind) => (made.setAttribute("class", kind), colour(made, "fill")));
  return { page: colour(document.body, "backgroundColor"), text: colour(document.body, "color"),
           plot: colour(plot, "backgroundColor"), fills };
}"""


@pytest.fixture
def opened(browser: Browser, tmp_path: Path) -> Iterator[Callable[..., Page]]:
    """Opens a report; in the end nothing was complained about and nothing was loaded."""
    complaints: list[str] = []
    loaded: list[str] = []
    contexts: list[Any] = []

    def opened_page(
        report: Report | AllSessions, width: int = 1600, mode: Mode = "light", **options: Any
    ) -> Page:
        file = tmp_path / "report.html"
        of_one = isinstance(report, Report)
        html = page(report) if of_one else page_of_all(report, Path("/home/ada"))
        file.write_text(html, encoding="utf-8")
        context = browser.new_context(
            viewport={"width": width, "height": 1000}, color_scheme=mode, **options
        )
        contexts.append(context)
        tab = context.new_page()
        tab.on("console", lambda message: complaints.append(message.text))
        tab.on("pageerror", lambda error: complaints.append(str(error)))
        tab.on("request", lambda request: loaded.append(request.url))
        tab.goto(file.as_uri())
        return tab

    yield opened_page
    for context in contexts:
        context.close()

    assert complaints == []
    assert {url for url in loaded if not url.endswith("/report.html")} == set()


@pytest.mark.parametrize(
    "report",
    [sample_report(), empty_report(), sample_of_all(), summed_up([])],
    ids=["session", "empty", "all", "none"],
)
def test_nothing_overlaps_or_leaves_the_page_at_any_width(
    opened: Callable[..., Page], report: Report | AllSessions
) -> None:
    tab = opened(report)
    for button in tab.locator(".refs button").all():
        button.click()

    for width in WIDTHS:
        tab.set_viewport_size({"width": width, "height": 1000})

        assert tab.evaluate("document.documentElement.scrollWidth <= innerWidth"), width
        assert tab.evaluate(OUTSIDE) == [], width
        assert tab.evaluate(OVERLAPS) == [], width


@pytest.mark.parametrize("width", [360, 800, 1280])
@pytest.mark.parametrize(("number", "after"), [(8, 8), (600, 600), (600, 0), (1, 1)])
def test_the_mark_of_a_compaction_is_whole_at_both_ends(
    opened: Callable[..., Page], width: int, number: int, after: int
) -> None:
    marks = [CompactionMark(after, Compaction(None, "", "", 40_000, 17_000))]
    by_kind = {"user text": 17_000}
    tab = opened(
        replace(sample_report(), points=points(number), compactions=marks, by_kind=by_kind), width
    )

    seen = tab.evaluate(
        """() => {
          const mark = document.querySelector("circle.mark").getBoundingClientRect();
          const card = document.querySelector("#window").getBoundingClientRect();
          return [mark.width, mark.left - card.left, card.right - mark.right,
                  getComputedStyle(document.querySelector(".plot")).overflow];
        }"""
    )

    assert seen[0] >= 18
    assert min(seen[1:3]) >= 0
    assert seen[3] == "visible"
    assert tab.locator("#chosen").inner_text().startswith("Now: " if after else "Request 600")


@pytest.mark.parametrize("width", [360, 800, 1280])
@pytest.mark.parametrize("report", [sample_report(), sample_of_all()], ids=["session", "all"])
def test_no_tile_or_table_leaves_a_hole_beside_it(
    opened: Callable[..., Page], report: Report | AllSessions, width: int
) -> None:
    tab = opened(report, width)

    rows: list[float] = tab.evaluate(
        """() => {
          const grid = document.querySelector(".tiles").getBoundingClientRect();
          const ends = new Map();
          for (const tile of document.querySelectorAll(".tiles > div")) {
            const box = tile.getBoundingClientRect();
            ends.set(box.top, Math.max(ends.get(box.top) ?? 0, box.right));
          }
          const parts = [...document.querySelectorAll("main > section, section > table")];
          return [...[...ends.values()].map((end) => grid.right - end),
                  ...parts.map((node) => node.parentElement.clientWidth - node.offsetWidth)
                          .map((gap) => (gap > 60 ? gap : 0))];
        }"""
    )

    assert max(rows) < 1


def test_the_page_of_all_shows_projects_below_home_and_folds_long_lists(
    opened: Callable[..., Page],
) -> None:
    tab = opened(sample_of_all())

    assert tab.locator("#projects th[scope=row] bdi").first.inner_text() == "~/project-0"
    folded = tab.locator("#projects details td").first
    assert not folded.is_visible()
    tab.get_by_text("more projects").click()
    assert folded.is_visible()
    assert tab.get_by_text("/home/ada/broken.jsonl cannot be read: it is not JSON").is_visible()


def test_long_names_and_lines_stay_inside_the_page(opened: Callable[..., Page]) -> None:
    report = sample_report()
    wide, path = "W" * 5_000, "/a_folder_with_a_name" * 60
    first = replace(report.archived[0], what=wide, original=wide, shown=wide[:90])
    tab = opened(
        replace(
            report,
            title=wide,
            project=path,
            by_file=[replace(report.by_file[0], name=path)],
            archived=[first],
            warnings=[wide],
        ),
        400,
    )
    tab.locator(".refs button").click()

    assert tab.evaluate(OUTSIDE) == []
    assert tab.evaluate(OVERLAPS) == []


def test_texts_stand_side_by_side_and_below_each_other_on_a_phone(
    opened: Callable[..., Page],
) -> None:
    tab = opened(sample_report())
    tab.locator(".refs button").first.click()
    for width, side_by_side in ((1600, True), (400, False)):
        tab.set_viewport_size({"width": width, "height": 1000})
        left, right = (box.bounding_box() for box in tab.locator(".texts > div").all())

        assert left
        assert right
        assert (left["y"] == right["y"]) is side_by_side
        assert (left["x"] == right["x"]) is not side_by_side


@pytest.mark.parametrize("mode", MODES)
def test_colours_have_enough_contrast(opened: Callable[..., Page], mode: Mode) -> None:
    colours = opened(sample_report(), mode=mode).evaluate(COLOURS, list(KINDS))

    assert contrast(colours["page"], colours["text"]) >= 7
    assert (luminance(colours["page"]) < 0.1) is (mode == "dark")
    assert all(contrast(fill, colours["plot"]) >= 3 for fill in colours["fills"])
    assert len({tuple(fill) for fill in colours["fills"]}) == len(KINDS)


@pytest.mark.parametrize("width", [360, 800, 1280])
@pytest.mark.parametrize(
    "report", [replace(sample_report(), points=points(8)), sample_of_all()], ids=["session", "all"]
)
def test_axe_finds_nothing_serious_in_light_and_dark(
    opened: Callable[..., Page], report: Report | AllSessions, width: int
) -> None:
    tab = opened(report, width, bypass_csp=True)  # axe is a script of its own
    for button in tab.locator(".refs button").all()[:1]:
        button.click()
    tab.locator("summary").first.click()

    axe: Any = Axe()  # without types

    for mode in MODES:
        tab.emulate_media(color_scheme=mode)
        violations = axe.run(tab).response["violations"]
        serious = [each for each in violations if each["impact"] in SERIOUS]

        assert [each["id"] for each in serious] == []


def test_a_click_shows_an_original_beside_what_the_model_sees(opened: Callable[..., Page]) -> None:
    tab = opened(sample_report())
    button = tab.locator(".refs button", has_text=FIRST_REF)

    button.click()

    original, shown = tab.locator(".texts pre").all()
    assert "test 250 passed" in original.inner_text()
    assert "[397 lines are archived as a1b2c3]" in shown.inner_text()
    assert original.locator("del").inner_text().count("passed") == 397
    assert shown.locator("ins").inner_text() == "[397 lines are archived as a1b2c3]"
    assert button.get_attribute("aria-expanded") == "true"
    button.click()
    assert not original.is_visible()


def test_the_keyboard_opens_an_original(opened: Callable[..., Page]) -> None:
    tab = opened(sample_report())
    tab.locator("#order").focus()

    tab.keyboard.press("Tab")  # to "restored only"
    tab.keyboard.press("Tab")  # to the first original
    tab.keyboard.press("Enter")

    assert "test 250 passed" in tab.locator(".texts pre").first.inner_text()
    outline = tab.evaluate("getComputedStyle(document.activeElement).outlineStyle")
    assert outline == "solid"


def test_an_original_in_whose_place_nothing_stands_says_so(opened: Callable[..., Page]) -> None:
    tab = opened(sample_report())
    tab.locator(".refs button", has_text=SECOND_REF).click()

    assert tab.get_by_text("Nothing stands in its place.").is_visible()
    assert tab.get_by_text("12,345 more characters are in the archive.").is_visible()


def test_an_original_whose_text_was_left_out_says_so(opened: Callable[..., Page]) -> None:
    report = sample_report()
    without = replace(report.archived[0], original="", shown="", cut=5_000)
    tab = opened(replace(report, archived=[without]))
    tab.locator(".refs button").click()

    assert tab.get_by_text("Its text is not in this page.").is_visible()
    assert tab.get_by_text("5,000 more characters are in the archive.").is_visible()
    assert tab.get_by_text("Nothing stands in its place.").count() == 0


def test_the_search_finds_words_of_a_text_and_the_order_changes(
    opened: Callable[..., Page],
) -> None:
    tab = opened(sample_report())
    shown = tab.locator(".refs > li:visible code")

    tab.locator("#words").fill("CARRIAGE pass")
    assert shown.all_inner_texts() == [SECOND_REF]
    assert tab.locator("#found").inner_text() == "1 of 3"
    tab.locator("#words").fill("nowhere")
    assert tab.get_by_text("No original has these words.").is_visible()
    tab.locator("#words").fill("")
    tab.locator("#order").select_option("time")
    assert shown.all_inner_texts() == ["070809", FIRST_REF, SECOND_REF]
    tab.locator("#restored").check()
    assert shown.all_inner_texts() == [FIRST_REF]


def test_the_pointer_and_the_arrow_keys_choose_a_request(opened: Callable[..., Page]) -> None:
    tab = opened(sample_report())
    chosen = tab.locator("#chosen")
    assert chosen.inner_text().startswith("Request 60 of 60: ")

    tab.locator(".plot").hover(position={"x": 2, "y": 100})
    assert chosen.inner_text().startswith("Request 1 of 60: 28,545 tokens")
    results = tab.locator(".legend li", has_text="tool results").locator("b")
    assert results.inner_text() == "10,620"

    slider = tab.get_by_role("slider", name="Request")
    slider.focus()
    tab.keyboard.press("End")
    for _ in range(34):
        tab.keyboard.press("ArrowLeft")
    assert chosen.inner_text().startswith("Request 26 of 60: ")
    assert "after compaction 1" in (slider.get_attribute("aria-valuetext") or "")


def test_a_hundred_long_originals_open_at_once(opened: Callable[..., Page]) -> None:
    tab = opened(long_report())
    timing = tab.evaluate("performance.getEntriesByType('navigation')[0].domComplete")

    assert timing < PLENTY
    assert tab.evaluate("document.querySelectorAll('pre').length") == 0
    assert tab.locator(".refs > li:visible").count() == 15
    tab.get_by_role("button", name="Show 85 more").click()
    assert tab.locator(".refs > li:visible").count() == 100
    tab.locator(".refs button").nth(50).click()
    assert tab.locator("pre").count() == 2


def test_without_its_script_the_page_shows_all_but_the_texts(opened: Callable[..., Page]) -> None:
    tab = opened(sample_report(), java_script_enabled=False)

    assert tab.locator(".areas path").count() == len(KINDS)
    assert tab.locator("#chosen").inner_text().startswith("Request 60 of 60: ")
    assert tab.locator("noscript p").is_visible()
    assert not tab.locator("#controls").is_visible()
    assert not tab.locator("#request").is_visible()


def test_hostile_texts_run_nothing(opened: Callable[..., Page]) -> None:
    attack = "</script><img src=x onerror=\"document.title='gone'\">"
    report = sample_report()
    first = replace(report.archived[0], what=attack, original=attack, shown=attack)
    tab = opened(replace(report, title=attack, archived=[first], warnings=[attack]))
    tab.locator(".refs button").click()

    assert tab.locator("pre").first.inner_text() == attack
    assert tab.locator("img").count() == 0
    assert tab.title().startswith(attack)


def test_on_paper_everything_is_laid_out(opened: Callable[..., Page]) -> None:
    tab = opened(sample_report(), 800, "dark")
    tab.emulate_media(media="print", color_scheme="dark")

    assert tab.locator(".folded td").first.is_visible()
    assert not tab.locator("nav").is_visible()
    assert not tab.locator("#controls").is_visible()
    assert tab.evaluate(OUTSIDE) == []
    colours = tab.evaluate(COLOURS, list(KINDS))
    assert luminance(colours["page"]) > 0.9
    assert contrast(colours["page"], colours["text"]) >= 7
    assert re.match(rb"%PDF-", tab.pdf())


def luminance(colour: list[float]) -> float:
    """Relative luminance, as WCAG defines it."""
    red, green, blue = (
        each / 255 / 12.92 if each <= 10 else ((each / 255 + 0.055) / 1.055) ** 2.4
        for each in colour
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: list[float], other: list[float]) -> float:
    """The contrast ratio of two colours, as WCAG defines it."""
    darker, lighter = sorted((luminance(one), luminance(other)))
    return (lighter + 0.05) / (darker + 0.05)

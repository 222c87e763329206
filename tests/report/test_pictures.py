"""The pictures in `docs/pictures/` that `docs/pictures.py` makes."""

import re
import runpy
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser

DOCS = Path(__file__).parents[2] / "docs"
LARGEST = 150_000
"""Bytes of a picture, so that a clone stays small."""

LARGEST_DRAWING = 100_000

HOSTS = ["claude-code", "codex", "gemini-cli", "opencode", "pi", "copilot-cli"]


@pytest.fixture(scope="module")
def script() -> Iterator[dict[str, Any]]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sys.path", [str(DOCS), *sys.path])  # as `python docs/pictures.py` has it
        yield runpy.run_path(str(DOCS / "pictures.py"))


@pytest.fixture(scope="module")
def drawings(script: dict[str, Any]) -> dict[str, str]:
    return script["drawings"]()


def numbers_in(svg: str) -> list[int]:
    return [int(each.replace(",", "")) for each in re.findall(r"([\d,]+) tokens</tspan>", svg)]


def test_the_picture_of_before_and_after_is_that_of_the_demo(script: dict[str, Any]) -> None:
    drawn, made = (
        (DOCS / "pictures" / "before-after.svg").read_text("utf-8"),
        script["before_after"](),
    )

    (before, after), (before_now, after_now) = numbers_in(drawn), numbers_in(made)
    assert before == before_now
    assert after == pytest.approx(after_now, rel=0.02), "run `python docs/pictures.py`"
    assert drawn.partition("</style>")[0].partition("<style>")[2] in made


@pytest.mark.parametrize("name", ["README.md", "README.zh-CN.md", "docs/index.md"])
def test_the_picture_has_the_numbers_of_the_pages(name: str) -> None:
    drawn = numbers_in((DOCS / "pictures" / "before-after.svg").read_text("utf-8"))
    text = (DOCS.parent / name).read_text("utf-8")

    assert [each for each in drawn if f"{each:,}" not in text] == []


@pytest.mark.slow
@pytest.mark.parametrize("name", ["demo.svg", "claude-code.svg"])
def test_the_drawing_of_a_terminal_is_what_our_code_prints_now(
    drawings: dict[str, str], name: str
) -> None:
    drawn = (DOCS / "pictures" / name).read_text("utf-8")

    assert drawn == drawings[name], "run `python docs/pictures.py svg`"
    assert len(drawn.encode()) < LARGEST_DRAWING


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["light", "dark"])
def test_who_asks_for_less_motion_sees_the_last_lines_of_the_demo(
    browser: Browser, mode: Any
) -> None:
    tab = browser.new_page(color_scheme=mode, reduced_motion="reduce")
    tab.goto((DOCS / "pictures" / "demo.svg").as_uri())
    lines, screen = tab.locator(".lines text"), tab.locator("rect.screen").bounding_box()

    assert tab.evaluate("document.getAnimations().length") == 0
    first, last = lines.first.bounding_box(), lines.last.bounding_box()
    assert screen and first and last
    assert "checks passed" in (lines.last.text_content() or "")
    assert screen["y"] < last["y"] < last["y"] + last["height"] <= screen["y"] + screen["height"]
    assert first["y"] < screen["y"], "the first lines have left the screen"
    below = tab.locator("rect.cover").bounding_box()
    assert below and below["y"] >= last["y"]


@pytest.mark.slow
def test_the_demo_is_played_line_by_line_in_ten_seconds(browser: Browser) -> None:
    tab = browser.new_page(reduced_motion="no-preference")
    tab.goto((DOCS / "pictures" / "demo.svg").as_uri())

    def uncovered(second: float) -> int:
        """Lines above the edge of what is not printed yet."""
        tab.evaluate(
            "second => document.getAnimations().forEach(it => { it.pause(); "
            "it.currentTime = 1000 * second })",
            second,
        )
        edge = tab.locator("rect.cover").bounding_box()
        assert edge
        lines = tab.locator(".lines text").all()
        return sum(box["y"] < edge["y"] for line in lines if (box := line.bounding_box()))

    whole = tab.locator(".lines text").count()
    shown = [uncovered(second) for second in (0, 2, 4, 6, 8, 10.1)]
    assert shown == sorted(set(shown))
    assert (shown[0], shown[-1]) == (1, whole)


def test_every_picture_of_a_report_is_there_and_small(script: dict[str, Any]) -> None:
    sizes = {
        "report-light.png": script["WIDE"],
        "report-dark.png": script["WIDE"],
        "report-narrow.png": script["NARROW"],
        "report-original.png": script["OF_TEXTS"],
        **{f"report-{host}.png": script["OF_HOSTS"] for host in HOSTS},
    }
    found = {path.name: path.read_bytes() for path in DOCS.glob("pictures/report-*.png")}

    assert {name: size_of(picture) for name, picture in found.items()} == sizes
    assert max(map(len, found.values())) < LARGEST


def test_the_report_in_the_pictures_has_compactions_and_restored_originals(
    script: dict[str, Any],
) -> None:
    report = script["report"]()

    assert len(report.compactions) >= 2
    assert any(each.restored for each in report.archived)
    assert report.warnings == []


@pytest.mark.parametrize("host", HOSTS)
def test_the_picture_of_a_host_is_of_its_session_with_a_compaction(
    script: dict[str, Any], host: str
) -> None:
    report = script["report_of"](host)

    assert report.host == host
    assert [mark.compaction.by for mark in report.compactions] == [host]
    assert report.messages == len(script["demo"]())
    assert report.warnings == []


def test_the_page_shows_the_picture_of_each_host() -> None:
    text = (DOCS / "report.md").read_text("utf-8")

    assert [host for host in HOSTS if f"(pictures/report-{host}.png)" not in text] == []


def size_of(png: bytes) -> tuple[int, int]:
    """Width and height, which a PNG has in its first chunk."""
    return int.from_bytes(png[16:20]), int.from_bytes(png[20:24])

"""Makes the pictures in `docs/pictures/` from the demo's conversation.

    python docs/pictures.py        # needs Chromium, and playwright from `.[test]`
    python docs/pictures.py svg    # only the drawings, without a browser

For the pages of a report, the demo's conversation is played again with a window of 48,000 tokens,
so that it is compressed a few times. It is also written as a session of each host
(`host_sessions.py`). Its times are set, so the pictures differ only where the report does. The
drawings are the conversation before and after, and two terminals (`terminals.py`); a test holds
them to what our code prints.
"""

import json
import os
import re
import shutil
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal

import terminals
from host_sessions import HOSTS, TITLE, write
from playwright.sync_api import Browser, Page, ViewportSize, sync_playwright

from context_compression import compress
from context_compression.conversation.formats import parse
from context_compression.hosts import history
from context_compression.report.building import build_report
from context_compression.report.html import page
from context_compression.report.layout import KINDS, by_class
from context_compression.report.model import Report
from context_compression.session import Session
from context_compression.session.status import history_of
from context_compression.tokens import Counter
from context_compression.tokens.usage import breakdown

FOLDER = Path(__file__).parent / "pictures"
MODEL = "claude-sonnet-4-5"
WINDOW = 48_000
WINDOW_OF_HOSTS = 80_000  # tokens; wider, because hosts compact by hand here
TARGET = 20_000  # tokens; the demo compresses to as many
BEGAN = 1_790_000_000.0
MINUTE = 60
PROJECT = "/home/ada/context-compression"
WIDE, NARROW, OF_TEXTS, OF_HOSTS = (1200, 1000), (400, 900), (1000, 700), (1200, 900)
"""Sizes of pictures, in pixels."""
SCROLLED = 14
"""Pixels by which the pages of hosts are scrolled, so that the axis of times is whole."""
ASKED = "/compact keep 20k"
"""What the user of Claude Code types in the drawing."""
OPENED = 1
"""The place of the original in the list whose text is shown."""


def demo() -> list[dict[str, Any]]:
    """The messages of the demo."""
    recorded = files("context_compression.cli").joinpath("conversation.jsonl").read_bytes()
    return [json.loads(line) for line in recorded.splitlines()]


def report() -> Report:
    """The report of the demo's conversation, played in a small window."""
    settings = {"token_budget": WINDOW}
    with TemporaryDirectory() as folder:
        session = Session(Path(folder) / ".compression", "demo", model=MODEL, settings=settings)
        for message in demo():
            if message["role"] == "assistant":
                session.prepare()
            session.record(message)
        for ref in [ref for ref, _, text in session.archived() if isinstance(text, str)][:9:4]:
            session.restore(ref)
        return settled(build_report(history_of(session), session))


def settled(report: Report) -> Report:
    """A report with times and a folder that are the same on every machine."""

    def at(request: int) -> float:
        return BEGAN + 2 * MINUTE * request

    points = [replace(point, time=at(point.number)) for point in report.points]
    marks = [
        replace(mark, compaction=replace(mark.compaction, time=at(mark.after) + MINUTE))
        for mark in report.compactions
    ]
    archived = [replace(each, time=at(marks[-1].after) + MINUTE) for each in report.archived]
    return replace(
        report,
        session="demo",
        project=PROJECT,
        title=TITLE,
        began=BEGAN,
        ended=at(len(points)),
        points=points,
        compactions=marks,
        archived=archived,
        store=replace(report.store, folder=f"{PROJECT}/.compression"),
    )


def report_of(host: str) -> Report:
    """The report of the demo's conversation as a session of a host, which we only read."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "session.jsonl"
        write(host, parse(demo()).messages, path, project=PROJECT, began=BEGAN)
        settings = {"token_budget": WINDOW_OF_HOSTS}
        session = Session(Path(folder) / ".compression", "demo", settings=settings)
        report = build_report(history(path), session)
    store = replace(report.store, folder=f"{PROJECT}/.compression")
    return replace(report, session="demo", title=TITLE, store=store)


def sizes(messages: Sequence[Mapping[str, Any]]) -> list[int]:
    """Tokens by kind, in the order of `KINDS`."""
    return by_class(breakdown(parse(messages).messages, Counter(MODEL)))


def before_after() -> str:
    """The demo's context before and after a compression, as SVG."""
    messages = demo()
    with TemporaryDirectory() as folder:  # with a store, as the demo and the command have
        session = Session(Path(folder) / ".compression", "demo", model=MODEL)
        result = compress(messages, target_tokens=TARGET, store=session)
    rows = {"before": sizes(messages), "after": sizes(result.messages)}
    whole = sum(rows["before"])
    words = " and ".join(f"{sum(parts):,} tokens {name}" for name, parts in rows.items())
    bars = [_bar(name, parts, whole, 62 + 84 * at) for at, (name, parts) in enumerate(rows.items())]
    return (
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 760 262" role="img" '
        f'aria-label="A session has {words}">\n'
        f"<style>{_style()}</style>\n"
        '<text x="0" y="18" class="title">A session of this project, before and after</text>\n'
        f"{''.join(bars)}{_legend(rows['before'])}</svg>\n"
    )


def _bar(name: str, parts: Sequence[int], whole: int, y: int) -> str:
    """A bar in which each kind has a part, with its numbers above it."""
    x, drawn = 0.0, ""
    for kind, tokens in zip(KINDS, parts, strict=True):
        width = 760 * tokens / whole
        place = f'x="{x:.1f}" y="{y}" width="{max(width - 1, 0):.1f}" height="34"'
        drawn += f'<rect {place} class="{kind}"/>'
        x += width
    note = "" if name == "before" else ", and every original is in the archive"
    text = f'<tspan class="strong">{sum(parts):,} tokens</tspan> {name}{note}'
    return f'<text x="0" y="{y - 9}">{text}</text>{drawn}\n'


def _legend(parts: Sequence[int]) -> str:
    shown = [kind for kind, tokens in zip(KINDS, parts, strict=True) if tokens]
    drawn = ""
    for at, kind in enumerate(shown):
        x, y = 190 * (at % 4), 212 + 26 * (at // 4)
        square = f'<rect x="{x}" y="{y}" width="12" height="12" rx="2" class="{kind}"/>'
        drawn += f'{square}<text x="{x + 20}" y="{y + 11}" class="quiet">{KINDS[kind]}</text>\n'
    return drawn


def _style() -> str:
    """The page's colours, light and dark."""
    text = files("context_compression.report").joinpath("page/page.css").read_text("utf-8")
    light, dark = (
        "".join(f".{kind} {{ fill: {_colour(kind, part)} }} " for kind in KINDS)
        for part in text.split("prefers-color-scheme: dark", 1)
    )
    return (
        "text { font: 15px system-ui, sans-serif; fill: #1c2430 } .quiet { fill: #56606d; "
        "font-size: 14px } .title { font-size: 18px; font-weight: 600 } "
        f".strong {{ font-weight: 600 }} {light}@media (prefers-color-scheme: dark) {{ "
        f"text {{ fill: #e4e8ee }} .quiet {{ fill: #a2abb8 }} {dark}}}"
    )


def _colour(kind: str, css: str) -> str:
    found = re.search(rf"--{kind}: (#[0-9a-f]{{6}})", css)
    assert found
    return found[1]


def opened(
    browser: Browser, html: str, size: tuple[int, int], mode: Literal["light", "dark"] = "light"
) -> Page:
    """A page in a tab of this size."""
    view: ViewportSize = {"width": size[0], "height": size[1]}
    tab = browser.new_page(viewport=view, color_scheme=mode, reduced_motion="reduce")
    with TemporaryDirectory() as folder:
        path = Path(folder) / "report.html"
        path.write_text(html, encoding="utf-8")
        tab.goto(path.as_uri())
    return tab


def take(browser: Browser) -> None:
    """Takes the pictures of pages."""
    html = page(report())
    opened(browser, html, WIDE).screenshot(path=FOLDER / "report-light.png")
    opened(browser, html, WIDE, "dark").screenshot(path=FOLDER / "report-dark.png")
    opened(browser, html, NARROW).screenshot(path=FOLDER / "report-narrow.png")
    tab = opened(browser, html, OF_TEXTS)
    tab.locator(".refs button").nth(OPENED).click()
    tab.locator("#originals").evaluate("node => node.scrollIntoView()")
    tab.screenshot(path=FOLDER / "report-original.png")
    for host in HOSTS:
        tab = opened(browser, page(report_of(host)), OF_HOSTS)
        tab.mouse.wheel(0, SCROLLED)
        tab.wait_for_function(f"scrollY == {SCROLLED}")
        tab.screenshot(path=FOLDER / f"report-{host}.png")


def drawings() -> Mapping[str, str]:
    """The drawings, as SVG, by the names of their files."""
    return {
        "before-after.svg": before_after(),
        "demo.svg": terminals.demo(),
        "claude-code.svg": terminals.claude_code(demo(), ASKED),
    }


def main() -> None:
    """Makes all pictures, or the drawings alone."""
    FOLDER.mkdir(exist_ok=True)
    for name, drawn in drawings().items():
        (FOLDER / name).write_text(drawn, encoding="utf-8")
    if sys.argv[1:] == ["svg"]:
        return
    program = shutil.which("chromium") or shutil.which("google-chrome")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=program, args=["--no-sandbox", "--disable-gpu"]
        )
        take(browser)
        browser.close()


if __name__ == "__main__":
    os.environ["TZ"] = "UTC"
    main()

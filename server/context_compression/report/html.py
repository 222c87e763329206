"""The report as a page: one HTML file that needs no network and runs no code but its own.

Its pictures are SVG that we write ourselves, in Python. A library that draws (uPlot has 50 KB,
Observable Plot 200, Vega and Plotly over 1,000) would save little: the page has one picture with
areas, and bars. A library would also need JavaScript to show anything, draw on a canvas that a
screen reader or a printer cannot use, and add foreign code to a file full of private texts. With
plain SVG the page works without its script, prints sharply, follows light and dark by style alone,
and the same report always gives the same bytes.

No string of the report becomes markup: `page.markup` escapes all of them, and the page's policy
(CSP) allows nothing but its one style and its one script, each by its hash.
"""

from base64 import b64encode
from hashlib import sha256
from importlib.resources import files

from context_compression.report.model import Report
from context_compression.report.page.balance import evidence, money, store, warnings
from context_compression.report.page.consumers import again, consumers
from context_compression.report.page.heading import heading, key_numbers, title_of
from context_compression.report.page.markup import Markup, element
from context_compression.report.page.originals import originals
from context_compression.report.page.window import window

PARTS = {
    "window": "Window", "consumers": "Consumers", "again": "Again and again",
    "originals": "What left", "money": "Money", "evidence": "Evidence", "store": "Store",
}  # fmt: skip


def page(report: Report) -> str:
    """The report as one HTML file, in UTF-8."""
    parts = PARTS | ({"warnings": "Warnings"} if report.warnings else {})
    links = [element("li", element("a", label, href=f"#{key}")) for key, label in parts.items()]
    main = element(
        "main",
        key_numbers(report),
        window(report),
        consumers(report),
        again(report),
        originals(report),
        money(report),
        element("div", evidence(report), store(report), class_="two"),
        warnings(report),
        id="main",
    )
    footer = (
        "Made by context-compression on this machine. The page loads nothing from the network. It "
        "holds texts of the conversation, so think before you pass it on."
    )
    body = element(
        "body",
        element("a", "Skip to the report", href="#main", class_="skip"),
        heading(report),
        element("nav", element("ul", links), aria_label="Parts of the report"),
        main,
        element("footer", element("p", footer)),
        element("script", _file("page.js")),
    )
    return f"<!doctype html>\n{element('html', _head(report), body, lang='en')}\n"


def _head(report: Report) -> Markup:
    style, script = _file("page.css"), _file("page.js")
    policy = (
        f"default-src 'none'; style-src {_hash(style)}; script-src {_hash(script)}; "
        "base-uri 'none'; form-action 'none'"
    )
    return element(
        "head",
        element("meta", charset="utf-8"),
        Markup(f'<meta http-equiv="Content-Security-Policy" content="{policy}">'),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="color-scheme", content="light dark"),
        element("meta", name="referrer", content="no-referrer"),
        element("title", f"{title_of(report)[:120]} · context-compression"),
        element("style", style),
    )


def _file(name: str) -> Markup:
    return Markup(files("context_compression.report.page").joinpath(name).read_text("utf-8"))


def _hash(text: str) -> str:
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"

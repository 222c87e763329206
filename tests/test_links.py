"""Each link of the README, the pages and the other documents leads somewhere."""

import re
import tomllib
from collections.abc import Iterator
from fnmatch import fnmatch
from pathlib import Path
from urllib.parse import unquote

import pytest
from counting_words import words_in
from markdown_it import MarkdownIt
from markdown_it.token import Token

ROOT = Path(__file__).parents[1]
DOCUMENTS = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
ELSEWHERE = re.compile(r"[a-z][a-z+.-]*:")  # http:, https:, mailto:


def name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def tokens(path: Path) -> Iterator[Token]:
    for token in MarkdownIt().enable("table").parse(path.read_text(encoding="utf-8")):
        yield token
        yield from token.children or ()


def links(path: Path) -> Iterator[str]:
    """The addresses of links and pictures, without those of other sites."""
    for token in tokens(path):
        address = str(token.attrGet("href") or token.attrGet("src") or "")
        if address and not ELSEWHERE.match(address):
            yield address


def anchors(path: Path) -> set[str]:
    """What GitHub and mkdocs both make of the headings."""
    found: set[str] = set()
    heading = False
    for token in tokens(path):
        if token.type == "inline" and heading:
            text = "".join(each.content for each in token.children or ())
            found.add(re.sub(r"\s", "-", re.sub(r"[^\w\s-]", "", text.strip().lower())))
        heading = token.type == "heading_open"
    return found


@pytest.mark.parametrize("path", DOCUMENTS, ids=name)
def test_each_link_leads_to_a_file_and_to_a_heading_in_it(path: Path) -> None:
    broken: list[str] = []

    for link in links(path):
        address, _, anchor = unquote(link).partition("#")
        there = path.parent / address if address else path
        if not there.is_file() or (anchor and anchor not in anchors(there)):
            broken.append(link)

    assert broken == []


def test_each_page_is_reached_from_the_overview_of_the_site() -> None:
    site = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    pages = {
        path.relative_to(ROOT / "docs").as_posix() for path in DOCUMENTS if path.parent != ROOT
    }

    assert {page for page in pages if f" {page}\n" not in site} == set()


def test_the_source_package_has_every_file_that_the_readme_links_to() -> None:
    """On the page of a package index, the links of the README lead nowhere."""
    included = [*PROJECT["tool"]["uv"]["build-backend"]["source-include"]]
    included += [PROJECT["project"]["readme"], *PROJECT["project"]["license-files"]]
    linked = {link.partition("#")[0] for link in links(ROOT / "README.md")} - {""}

    assert linked
    assert {each for each in linked if not any(fnmatch(each, kept) for kept in included)} == set()


def test_a_picture_says_in_words_what_it_shows() -> None:
    for path in DOCUMENTS:
        for token in tokens(path):
            if token.type == "image":
                assert words_in(token.content) > 5, path

"""Each message on the page of problems is one that this package says."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from context_compression import BudgetTooSmall

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "troubleshooting.md"
OF_OTHERS = 3  # messages of the shell and of pip, in the first rows
GAP = "\0"  # where a message has a name or a number


def texts() -> Iterator[str]:
    """All texts of the package, each with its parts joined."""
    for path in (ROOT / "server").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            match node:
                case ast.Constant(str(value)):
                    yield value
                case ast.JoinedStr(parts):
                    yield "".join(
                        str(part.value) if isinstance(part, ast.Constant) else GAP for part in parts
                    )
                case _:
                    pass


def test_each_message_on_the_page_is_one_of_ours() -> None:
    rows = re.findall(r"(?m)^\| `(.+?)` \|", PAGE.read_text(encoding="utf-8"))
    ours = "\n".join(texts())

    unknown = [row for row in rows if not all(part.strip() in ours for part in row.split("…"))]

    assert len(rows) > 40
    assert unknown[OF_OTHERS:] == []


MINIMUM = (
    "system prompt, tools, pinned messages, last user message, open tool step, the user's rules, a "
    "note with a ref"
)


def test_the_minimum_size_is_described_in_the_same_words_everywhere() -> None:
    pages = [*(ROOT / "docs").rglob("*.md")]
    texts = {page.name: " ".join(page.read_text(encoding="utf-8").split()) for page in pages}

    described = {
        name: re.findall(r"(?i)minimum size\*?(?: \(|\.\*\* [^.(]*\()([^)]*)\)", text)
        for name, text in texts.items()
    }

    assert {"words.md", "faq.md", "command.md"} <= {n for n, d in described.items() if d}
    assert {each for found in described.values() for each in found} == {MINIMUM}
    assert MINIMUM in " ".join((BudgetTooSmall.__doc__ or "").split())

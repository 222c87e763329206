"""Each message on the page of problems is one that this package says."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

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

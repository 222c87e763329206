"""Files that anybody names are opened in one place; whatever opens a file elsewhere stands here."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import context_compression

pytestmark = pytest.mark.slow

ROOT = Path(str(context_compression.__file__)).parent
MODE = re.compile(r"[rwaxbt+]{1,3}")
OPTIONS = {"mode", "buffering", "encoding", "errors", "newline"}
READERS = {"read_text", "read_bytes"}
LIBRARIES = {"connect", "open", "fdopen"}
"""Functions that open a file by its name when they are called on one of these modules:"""
MODULES = {
    "os", "io", "gzip", "bz2", "lzma", "zipfile", "tarfile", "codecs", "sqlite3", "zstandard",
}  # fmt: skip
ALLOWED = {
    "opening.py": "the one door",
    # what lies in the package
    "report/html.py": "the page's parts, from the package",
    "conversation/formats/reading.py": "shapes, from the package",
    "evidence/redaction/looks.py": "forms of keys, from the package",
    "evidence/rule_words.py": "words, from the package",
    "evidence/facts.py": "statements, from the package",
    "store/search/letters.py": "pairs of letters, from the package",
    "strategies/summarize.py": "prompts, from the package",
    "hosts/claude_code/install_plugin.py": "the plugin, from the package",
    "store/postgres/database.py": "migrations, from the package",
    "cli/demo.py": "the demo's conversation, from the package",
    "hosts/host.py": "templates, from the package",
    "tokens/o200k.py": "ranks, from the package",
    "tokens/prices.py": "prices, from the package",
    "mcp_server/resources.py": "the panel, from the package",
    "mcp_server/server.py": "the icon, from the package",
    # what is written, or is no file
    "store/session_files.py": "creates a file of a store, without following links",
    "store/search/index.py": "creates the index of a store, without following links",
    "store/json_lines.py": "appends to a file of a store, without following links",
    "store/files.py": "writes files of a store, and syncs folders",
    "hosts/setup/files.py": "writes a host's configuration",
    "cli/terminal.py": "the terminal",
    "mcp_server/web/workers.py": "the null device",
    "store/refs.py": "appends to a list of a store, without following links",
    "hosts/claude_code/sessions.py": "what the kernel tells of a process",
    # what names its own file
    "mcp_server/web/tenants.py": "the operator's file, which may be a pipe",
    "hosts/doctor/checks.py": "a database in memory",
    "hosts/opencode/database.py": "SQLite, checked against the file that the door opened",
}
"""The modules that call something else, and what for. The door has been passed by all others."""


def callers() -> Iterator[tuple[str, int, str]]:
    """The module, line and name of each call that may open a file by its name."""
    for path in sorted(ROOT.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and (name := opens(node)):
                yield path.relative_to(ROOT).as_posix(), node.lineno, name


def opens(call: ast.Call) -> str:
    """The name of the function if the call opens a file; "" if not."""
    match call.func:
        case ast.Name(id="open"):
            return "open"
        case ast.Attribute(value=ast.Name(id=module), attr=name) if (
            module in MODULES and name in LIBRARIES
        ):
            return f"{module}.{name}"
        case ast.Attribute(value=ast.Name(id="files")):
            return ""  # of a store: through the door
        case ast.Attribute(attr=name) if name in READERS:
            return name
        case ast.Attribute(attr="open") if all(map(is_mode, call.args)) and OPTIONS.issuperset(
            keyword.arg for keyword in call.keywords
        ):
            return ".open"
        case _:
            return ""


def is_mode(value: ast.expr) -> bool:
    return (
        isinstance(value, ast.Constant)
        and isinstance(value.value, str)
        and MODE.fullmatch(value.value) is not None
    )


def test_nothing_else_opens_files() -> None:
    found = {module for module, _, _ in callers()}

    others = [each for each in callers() if each[0] not in ALLOWED]
    assert not others, "Open it with `context_compression.opening.opened`, or say here why not."
    assert not ALLOWED.keys() - found, "It opens no file any more."


def test_a_new_way_to_open_a_file_would_be_seen() -> None:
    calls = """open(p); p.open(); p.open("rb"); os.open(p, 0); p.read_text(); p.read_bytes("x")
gzip.open(p); io.open(p); sqlite3.connect(p)"""

    assert all(opens(each) for each in ast.walk(ast.parse(calls)) if isinstance(each, ast.Call))
    [other] = [
        each for each in ast.walk(ast.parse("sessions.open(id)")) if isinstance(each, ast.Call)
    ]
    assert not opens(other)

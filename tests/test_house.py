"""The layout of the package: rooms, modules and functions that one can read in one go."""

import ast
import json
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

import context_compression

PACKAGE = Path(context_compression.__file__).parent
TESTS = Path(__file__).parent
MODULES_AT_THE_TOP = {
    "__init__.py", "__main__.py", "errors.py", "extras.py", "guard.py", "library.py",
    "listening.py", "opening.py", "plurals.py", "setting_names.py", "settings.py",
    "strings.py", "threads.py",
}  # fmt: skip
AT_THE_TOP = MODULES_AT_THE_TOP | {"py.typed"}
ROOMS = sorted(path.parent for path in PACKAGE.glob("*/__init__.py"))
MODULES = sorted(PACKAGE.rglob("*.py"))
MOST_LINES = 600
MOST_LINES_OF_A_HEART = 900
"""Of one module in each room, its heart."""
MOST_LINES_OF_A_FUNCTION = 60

MOST_LINES_IN_ALL = 90_425
"""Ratchets: each may only go down. Whoever makes the house smaller lowers them to what it is."""
MOST_MODULES = 335
MOST_MODULES_OF_COMPRESS = 11
"""How many of our own modules `from context_compression import compress` loads."""
MOST_MODULES_OF_THE_COMMAND = 23
"""The same of a command that has nothing to do."""

NAMED_TWICE = {"ContextCompression": "what each framework's own adapter is called"}
"""Classes whose name occurs more than once, and why."""

FREE_IMPORTS = {
    "attacks": "an attack aims at the very function that it names",
    "support/plain_http.py": "asks the application itself, without a server around it",
    "support/screens.py": "draws what `cli` prints on a terminal",
}
"""Tests, and folders of tests, that import modules of other rooms, and why."""
NO_ROOMS = {"attacks", "benchmarks", "examples", "fixtures", "laws", "support"}
"""Folders of tests that belong to no room."""


def lines_in(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").splitlines()


def name_of(path: Path) -> str:
    return path.relative_to(PACKAGE).as_posix()


def long_functions(path: Path) -> Iterator[str]:
    """The functions of a module that are too long and do not say why.

    A comment that begins with `# long:`, in the function or just above it, says why.
    """
    lines = lines_in(path)
    for node in ast.walk(ast.parse("\n".join(lines))):
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        first = min([node.lineno, *(each.lineno for each in node.decorator_list)])
        last = node.end_lineno or node.lineno
        says_why = any("# long:" in line for line in lines[max(0, first - 3) : last])
        if last - node.lineno + 1 > MOST_LINES_OF_A_FUNCTION and not says_why:
            yield f"{name_of(path)}: {node.name}"


def loaded_by(code: str) -> list[str]:
    """The modules that some code loads in a fresh interpreter."""
    code = (
        f"import json, sys; before = {{*sys.modules}}\n{code}\n"
        "print(json.dumps(sorted({*sys.modules} - before)))"
    )
    told = subprocess.check_output([sys.executable, "-c", code], timeout=120, input=b"{}")
    return json.loads(told.splitlines()[-1])


def own_and_others(loaded: list[str]) -> tuple[list[str], set[str]]:
    """Our own modules among those that were loaded, and the packages of others."""
    own = [name for name in loaded if name.split(".")[0] == "context_compression"]
    names = {name.split(".")[0] for name in loaded if not name.startswith("_")}
    return own, names - sys.stdlib_module_names - {"context_compression"}


def test_the_top_of_the_package_holds_rooms_and_hardly_anything_else() -> None:
    at_the_top = {path.name for path in PACKAGE.iterdir() if path.name != "__pycache__"}

    assert at_the_top == AT_THE_TOP | {room.name for room in ROOMS}


@pytest.mark.parametrize("room", ROOMS, ids=lambda room: room.name)
def test_a_room_says_what_it_holds(room: Path) -> None:
    text = (room / "__init__.py").read_text(encoding="utf-8")

    assert ast.get_docstring(ast.parse(text))


@pytest.mark.parametrize("room", ROOMS, ids=lambda room: room.name)
def test_a_module_that_a_room_lists_is_there(room: Path) -> None:
    text = (room / "__init__.py").read_text(encoding="utf-8")
    docstring = ast.get_docstring(ast.parse(text)) or ""
    listed = re.findall(r"^ {4}((?:[a-z_0-9]+\.py ?)+|[a-z_0-9]+/(?= |$))", docstring, re.MULTILINE)
    names = {name for row in listed for name in row.split()}

    assert not {name for name in names if not (room / name).exists() and room.name != "hosts"}


def test_modules_are_short_enough_to_be_read_in_one_go() -> None:
    """One in each room may be its heart."""
    long = [path for path in MODULES if len(lines_in(path)) > MOST_LINES]
    rooms = [path.relative_to(PACKAGE).parts[0] for path in long]

    assert len(rooms) == len(set(rooms)), long
    assert not [name_of(path) for path in long if len(lines_in(path)) > MOST_LINES_OF_A_HEART]


def test_the_house_does_not_grow() -> None:
    assert sum(len(lines_in(path)) for path in MODULES) <= MOST_LINES_IN_ALL
    assert len(MODULES) <= MOST_MODULES


def test_the_import_of_compress_does_not_grow() -> None:
    """Counted in modules: that is the same on every machine, and seconds are not."""
    own, others = own_and_others(loaded_by("from context_compression import compress"))

    assert len(own) <= MOST_MODULES_OF_COMPRESS
    assert others == set()


@pytest.mark.parametrize(
    "arguments", [["--version"], ["--help"], ["hook", "codex"], ["statusline"]], ids=" ".join
)
def test_the_command_loads_little_where_it_has_little_to_do(arguments: list[str]) -> None:
    """A host waits for each hook, Claude Code for each status line; no event here has an answer."""
    own, others = own_and_others(
        loaded_by(
            f"sys.argv[1:] = {arguments}\n"
            "from context_compression.__main__ import main\n"
            "try: main()\n"
            "except SystemExit: print()"
        )
    )

    assert len(own) <= MOST_MODULES_OF_THE_COMMAND
    assert others <= {"click"}


def test_a_server_lists_its_tools_without_what_answers_them() -> None:
    """A host waits for each of its servers."""
    loaded = loaded_by("import context_compression.mcp_server.server")

    assert not {
        f"context_compression.{name}"
        for name in ("session.session", "compression.run", "report.facts", "hosts.table")
    }.intersection(loaded)


def test_a_compression_in_memory_loads_no_store_and_no_session() -> None:
    messages = [{"role": "user", "content": f"{number} " * 900} for number in range(20)]
    call = f"from context_compression import compress; compress({messages}, target_tokens=6_000)"
    rooms = {".".join(name.split(".")[:2]) for name in loaded_by(call)}

    assert "context_compression.strategies" in rooms
    assert not rooms & {"context_compression.store", "context_compression.session"}


def test_no_two_classes_have_the_same_name() -> None:
    nodes = (node for path in MODULES for node in ast.walk(ast.parse("\n".join(lines_in(path)))))
    names = Counter(node.name for node in nodes if isinstance(node, ast.ClassDef))
    twice = {name for name, count in names.items() if count > 1}

    assert twice == NAMED_TWICE.keys()


def test_functions_fit_on_a_screen_or_say_why_not() -> None:
    long = {name for path in MODULES for name in long_functions(path)}

    assert not long


def test_each_room_has_a_folder_of_tests() -> None:
    folders = {path.name for path in TESTS.iterdir() if path.is_dir() and any(path.rglob("*.py"))}

    assert folders - NO_ROOMS == {room.name for room in ROOMS}


def imported_by(path: Path) -> set[str]:
    """The modules that a test imports, also those that it imports from their package."""
    nodes = [*ast.walk(ast.parse(path.read_text(encoding="utf-8")))]
    found = {alias.name for each in nodes if isinstance(each, ast.Import) for alias in each.names}
    for each in nodes:
        if isinstance(each, ast.ImportFrom) and each.module:
            folder = PACKAGE.parent.joinpath(*each.module.split("."))
            modules = {path.stem for path in folder.glob("*") if path.suffix in ("", ".py")}
            named = modules & {alias.name for alias in each.names}
            found |= {each.module, *(f"{each.module}.{name}" for name in named)}
    return found


def name_in_support(path: Path) -> str:
    """By which name tests import a helper: `support/provider/reading.py` is `provider.reading`."""
    return ".".join(path.with_suffix("").parts[1:]).removesuffix(".__init__")


def test_a_test_imports_faces_of_other_rooms_and_not_their_modules() -> None:
    """A helper in `support` belongs to the room whose tests alone use it."""
    imports = {path.relative_to(TESTS): imported_by(path) for path in TESTS.rglob("*.py")}
    rooms = {room.name for room in ROOMS} - {"testing", "integrations"}  # each module is a face

    def rooms_of(test: Path) -> set[str]:
        tests, names = {test}, {name_in_support(test)}
        while more := {user for user in imports if imports[user] & names} - tests:
            tests |= more
            names |= {*map(name_in_support, more)}
        return {each.parts[0] for each in tests} - {"support"}

    deep = {
        f"{path.as_posix()}: {name}"
        for path, names in imports.items()
        if not {path.parts[0], path.as_posix()} & FREE_IMPORTS.keys()
        for name in names
        if name.startswith("context_compression.") and name.count(".") > 1
        if name.split(".")[1] in rooms and {name.split(".")[1]} != rooms_of(path)
    }

    assert not deep

"""The table of agent frameworks has two rows for each program, and says where ours is worse."""

from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

from environments import environment

Script = Callable[[str], ModuleType]


def report(**values: Any) -> dict[str, Any]:
    """What a program prints."""
    same = {"unbroken": 0.98, "reused": 0.96, "largest": 95_000, "errors": 98, "lost": 0}
    return same | {"seconds": 0.02, "release": "langchain 1.5.2"} | values


def test_each_program_has_a_row_with_ours_and_one_with_its_own(script: Script) -> None:
    in_frameworks, tables = script("in_frameworks"), script("tables")
    [saved] = [each for each in tables.saved(tables.RESULTS) if each.name == "frameworks"]

    for program in in_frameworks.programs():
        names = [name for name in saved.rows if name.startswith(f"{program.extra}, ")]
        assert len(names) == 2, program.path.name
        assert names[0] == f"{program.extra}, context-compression"


def test_a_row_has_each_value_in_its_unit(script: Script) -> None:
    own = report(unbroken=0.91, errors=10, lost=60, seconds=0.01, method="Summarizer")
    made = script("in_frameworks").table({"langchain": {"ours": report(), "own": own}}, [])

    ours, its_own = [*made.lines()][2:]
    assert ours == "| langchain, context-compression | 98 | 96 | 95,000 | 98 | 100 | 20 ms |"
    assert its_own == "| langchain, Summarizer | 91 | 96 | 95,000 | 10 | 0 | 10 ms |"


def test_what_a_framework_does_better_by_itself_is_named(script: Script) -> None:
    own = report(unbroken=1, seconds=0.01)
    missing = ["litellm could not run: no index."]
    made = script("in_frameworks").table({"langchain": {"ours": report(), "own": own}}, missing)

    assert [*made.sentences()] == [
        "What frameworks do by themselves is better in: "
        "unbroken (langchain); a request (langchain).",
        "Measured with langchain 1.5.2.",
        "litellm could not run: no index.",
    ]


def test_an_environment_that_has_more_packages_is_not_made_again(tmp_path: Path) -> None:
    (tmp_path / "packages.txt").write_text("langchain\ndeepagents", "utf-8")

    assert environment(tmp_path, ["langchain"]) == tmp_path / "env" / "bin" / "python"
    assert not (tmp_path / "env").exists()

"""The line of a small view that names the files that were worked on."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from context_compression import Session, compress
from context_compression.conversation import parse, without_labels
from context_compression.planning import Plan
from context_compression.settings import Settings
from context_compression.strategies.last_lines import files_of, folder_of_most, named_in
from context_compression.testing import Run, tool_step
from context_compression.tokens import Counter

Messages = list[dict[str, Any]]
PLENTY = 1_000
NEXT = {"role": "user", "content": "Well?"}


def plan_of(*runs: Run) -> Plan:
    steps = [message for run in runs for message in tool_step([run], "anthropic")]
    messages: Messages = [{"role": "user", "content": "Go."}, *steps]
    parsed, counter = parse(messages).messages, Counter()
    return Plan(parsed, tuple(map(counter.message, parsed)), counter, Settings())


def bash(number: int, command: str, output: str = "done") -> Run:
    return Run(f"bash{number}", "Bash", {"command": command}, output)


def read(number: int, path: str, output: str = "x = 1") -> Run:
    return Run(f"read{number}", "Read", {"file_path": path}, output)


def line(*runs: Run, view: str = "", room: float = PLENTY) -> str:
    return files_of(plan_of(*runs)).line([view], len, room)


def test_where_room_is_scarce_a_file_that_was_only_read_is_left_out_first() -> None:
    runs = [read(1, "often.py"), read(2, "often.py"), bash(3, "rm gone.py")]

    assert (
        line(*runs, room=len("[Other files] deleted: gone.py; …"))
        == "[Other files] deleted: gone.py; …"
    )


def test_files_stand_by_what_was_done_to_them_last_the_most_used_first() -> None:
    edit = {"old_string": "x", "new_string": "y"}

    told = line(
        read(1, "docs/a.md"),
        read(2, "src/b.py"),
        read(3, "docs/c.md"),
        read(4, "docs/c.md"),
        Run("edit", "Edit", {"file_path": "src/b.py", **edit}, "Done."),
        bash(5, "mv old.py new.py && rm -f scratch.py"),
    )

    assert told == (
        "[Other files] changed: src/b.py, new.py; deleted: scratch.py, old.py; "
        "read: docs/c.md, docs/a.md"
    )


def test_the_folder_that_holds_nearly_all_is_named_once() -> None:
    told = line(read(1, "/home/me/app/src/a.py"), read(2, "/home/me/app/b.py"))

    assert told == "[Other files in /home/me/app] read: b.py, src/a.py"


@pytest.mark.parametrize(
    ("paths", "folder"),
    [
        (["/app/a.py"], ""),
        (["/app/a.py", "/app/src/b.py"], "/app/"),
        (["/a.py", "/b.py"], ""),
        (["a.py", "src/b.py"], ""),
        ([*(f"/app/src/{n}.py" for n in range(19)), "/tmp/x.py"], "/app/src/"),
        ([*(f"/app/src/{n}.py" for n in range(9)), "/app/x.py", "/app/y.py"], "/app/"),
        (["/tmp/a.py", "/tmp/b.py", *(f"src/{n}.py" for n in range(6))], ""),
        (["D:\\app\\src\\a.py", "D:\\app\\b.py"], "D:\\app\\"),
        (["/app/[id]/a.py", "/app/[id]/b.py"], "/app/"),
        (["~/app/a.py", "~/app/b.py"], "~/app/"),
        (["~/a.py", "~/b.py"], ""),
        (["//nas/a/x.py", "//srv/b/y.py"], ""),
        (["\\\\nas\\a\\x.py", "\\\\nas\\b\\y.py"], "\\\\nas\\"),
    ],
)
def test_of_the_folders_that_hold_nearly_all_it_is_the_deepest(
    paths: Sequence[str], folder: str
) -> None:
    assert folder_of_most(paths) == folder


def test_without_a_folder_paths_stand_whole() -> None:
    assert line(read(1, "/app/src/main.py")) == "[Other files] read: /app/src/main.py"


def test_what_does_not_lie_in_the_folder_is_not_told_as_if_it_did() -> None:
    runs = [read(n, f"/app/{n}.py") for n in range(19)]

    told = line(*runs, read(19, "/opt/x.py"), read(20, "docs/d.md"))

    assert told.startswith("[Other files in /app] read: /opt/x.py, 18.py, ")
    assert "d.md" not in told


def test_a_file_that_goes_by_two_names_is_told_once() -> None:
    told = line(read(1, "/app/src/a.py"), read(2, "/app/b.py"), bash(3, "rm src/a.py"))

    assert told == "[Other files in /app] deleted: src/a.py; read: b.py"


def test_a_doubled_slash_makes_no_other_file() -> None:
    told = line(read(1, "/app//src/a.py"), read(2, "/app/src/a.py"), read(3, "/app/b.py"))

    assert told == "[Other files in /app] read: src/a.py, b.py"


def test_a_file_that_is_read_again_is_there() -> None:
    assert line(bash(1, "rm out.log"), read(2, "out.log")) == "[Other files] read: out.log"


def test_files_that_the_view_names_are_left_out() -> None:
    told = line(read(1, "src/data.py"), read(2, "a.py"), view="See src/data.py, line 3.")

    assert told == "[Other files] read: a.py"


def test_a_line_of_the_view_counts_for_what_it_tells_the_same_of() -> None:
    view = "[Other files in /app] changed: a.py; read: b.py, c.py"
    gone = bash(1, "rm /app/b.py")

    told = line(*(read(n, f"/app/{name}.py") for n, name in enumerate("bcd", 2)), gone, view=view)

    assert told == "[Other files in /app] deleted: b.py; read: d.py"


@pytest.mark.parametrize(
    ("text", "there"),
    [
        ("a.py", True), ("see a.py.", True), ("/app/a.py:12", True), ("/other/a.py", False),
        ("data.py, a.pyc, a.py.bak", False), ("data.py, then a.py", True), ("", False),
    ],
)  # fmt: skip
def test_part_of_another_name_is_not_the_name(text: str, there: bool) -> None:
    assert ("a.py" in named_in(text, ["a.py"], "/app/")) is there


def test_without_a_folder_a_longer_path_names_the_file() -> None:
    assert "a.py" in named_in("see src/a.py", ["a.py"], "")


def test_what_the_room_does_not_hold_is_left_out_the_least_used_first() -> None:
    runs = [read(1, "first.py"), read(2, "second.py"), read(3, "second.py")]

    shown = "[Other files] read: second.py; …"
    assert line(*runs, room=len(shown)) == shown
    assert line(*runs, room=len(shown) - 1) == ""


def test_a_call_that_failed_worked_on_no_file() -> None:
    failed = Run("gone", "Read", {"file_path": "gone.py"}, "No such file", failed=True)

    assert line(failed) == ""


def test_what_a_command_changed_before_it_failed_counts() -> None:
    command = "sed -i s/a/b/ src/x.py && pytest -q"
    run = Run("bash", "Bash", {"command": command}, "1 failed\nexit code 1", failed=True)

    assert line(run) == "[Other files] changed: src/x.py"


@pytest.mark.parametrize(
    "path",
    [
        "", " ", "-", "a, b.py", "a; b.py", "a: b.py", "a\u2028b.py", "a\x00.py", "a\u200b.py",
        "\ud800.py", "src/", "x" * 300, "*.py",
    ],
)  # fmt: skip
def test_what_would_not_be_read_as_a_path_is_left_out(path: str) -> None:
    assert line(read(1, path)) == ""


def test_no_path_brings_it_to_a_halt() -> None:
    lists = Run("many", "Read", {"paths": ["", " ", "app/[id]/page.tsx"]}, "x = 1")

    assert line(lists, view="Go on.") == "[Other files] read: app/[id]/page.tsx"


def test_folders_are_no_files() -> None:
    told = line(read(1, "/app"), read(2, "/app/src"), read(3, "/app/src/a.py"))

    assert told == "[Other files] read: /app/src/a.py"


def test_our_own_tools_work_on_no_files() -> None:
    offload = Run("o", "context_offload", {"path": "big.log"}, "Offloaded.")

    assert line(offload) == ""


def test_no_quoted_line_looks_like_the_line_of_files() -> None:
    quoted = "[Other files in /app] changed: a.py\n[Other files] read: b.py\n[Files_x] is no label"

    assert without_labels(quoted) == (
        "\\[Other files in /app] changed: a.py\n\\[Other files] read: b.py\n[Files_x] is no label"
    )


def long_session(files: int, *, first: int = 0, lines: int = 14) -> Messages:
    """Each file is read once, some 20 tokens a line; its name stands nowhere else."""
    outputs = (
        "\n".join(f"max_size_{n}_{k} = min_size_{n}_{k} + {n * k + 4_000}" for k in range(lines))
        for n in range(first, first + files)
    )
    runs = [read(n, f"/app/src/file{n}.txt", output) for n, output in enumerate(outputs, first)]
    steps = [message for run in runs for message in tool_step([run], "anthropic")]
    return [{"role": "user", "content": "Read all."}, *steps, NEXT]


def line_in(view: object) -> str:
    return "".join(re.findall(r"\[Other files.*?(?=\\n|'|\")", str(view)))


def test_a_small_view_of_a_long_session_names_files_that_it_does_not_show() -> None:
    result = compress(long_session(200), target_tokens=2_000)

    told = line_in(result.messages)
    assert re.fullmatch(
        r"\[Other files in /app/src\] read: file\d+.txt(, file\d+.txt){5,}; …", told
    )
    assert str(result.messages).count(re.findall(r"file\d+.txt", told)[-1]) == 1
    assert result.tokens_after <= 2_000


@pytest.mark.parametrize(("files", "target"), [(200, 1_400), (200, 13_000), (100, 2_000)])
def test_where_few_would_be_named_or_room_is_scarce_there_is_no_such_line(
    files: int, target: int
) -> None:
    assert line_in(compress(long_session(files), target_tokens=target).messages) == ""


@pytest.fixture
def session(tmp_path: Path) -> Session:
    """A long session that was compressed to next to nothing."""
    session = Session(tmp_path, "long")
    session.record(*long_session(200), *tool_step([bash(1, "mv file0.txt new.txt")], "anthropic"))
    session.compress(target_tokens=1_450)
    return session


def test_files_of_earlier_compressions_are_named_again(session: Session) -> None:
    names = {f"file{n}.txt" for n in range(200)}
    lost = {name for name in names if name not in str(session.prepare())}

    session.record(*long_session(40, first=200, lines=60)[1:])
    session.record({"role": "assistant", "content": "All of it was read."})
    session.compress(target_tokens=3_000)

    assert any(name in line_in(session.prepare()) for name in lost)


def test_what_was_renamed_before_an_earlier_compression_goes_by_its_new_name(
    session: Session,
) -> None:
    session.record(*long_session(40, first=200, lines=60)[1:])
    session.compress(target_tokens=3_000)

    assert "new.txt" in str(session.prepare())


def test_what_became_of_a_file_since_the_last_line_the_next_one_tells(tmp_path: Path) -> None:
    session = Session(tmp_path, "long")
    session.record(*long_session(200))
    session.compress(target_tokens=2_000)
    first = line_in(session.prepare())
    gone = re.findall(r"file\d+.txt", first)[-1]

    session.record(*tool_step([bash(1, f"rm /app/src/{gone}")], "anthropic"))
    session.record(*long_session(60, first=200, lines=60)[1:])
    session.compress(target_tokens=1_600)

    view = str(session.prepare())
    *_, last = re.findall(r"\[Other files[^']*", view)
    assert f"deleted: {gone}" in last or f"rm /app/src/{gone}" in view


def test_it_stands_in_a_note_that_is_smaller_with_it_than_what_it_is_for() -> None:
    start: Messages = [
        {"role": "user", "content": "Begin."},
        {"role": "assistant", "content": "I begin now, and say so in a few words more than that."},
        {"role": "user", "content": "Good."},
    ]

    result = compress([*start, *long_session(200)[1:]], target_tokens=2_000)

    assert line_in(result.messages)
    assert result.tokens_after > 1_900

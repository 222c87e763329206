"""The ledger: what the code finds in a conversation, how it adds up, what of it is shown."""

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from context_compression.conversation import (
    COMPRESSED,
    Message,
    Text,
    ToolCall,
    ToolResult,
    assistant,
    parse,
    user,
)
from context_compression.errors import StoreDamaged
from context_compression.evidence import entries, from_json, merge
from context_compression.evidence.ledger import Entry, file_lists, file_tags, render, to_json
from context_compression.evidence.ledger.actions import clean, of_command, only_looks
from context_compression.evidence.ledger.entries import Kind
from context_compression.planning import Archive, clip, receipt


def step(
    arguments: Any, answer: str = "ok", *, name: str = "tool", error: bool = False
) -> list[Message]:
    """One tool step: a call and its result."""
    call = ToolCall(f"call-{name}-{len(str(arguments))}", name, arguments)
    result = ToolResult(call.id, (Text(answer),), error)
    return [Message("assistant", (call,)), Message("tool", (result,))]


def files(messages: list[Message]) -> list[tuple[str, ...]]:
    kinds = ("read", "created", "modified", "deleted", "renamed")
    return [
        (e.kind, e.text, e.detail) if e.detail else (e.kind, e.text)
        for e in entries(messages)
        if e.kind in kinds
    ]


def texts(messages: list[Message], kind: Kind) -> list[str]:
    return [entry.text for entry in entries(messages) if entry.kind == kind]


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({"path": "a.py"}, ("read", "a.py")),
        ({"file_path": "/w/a.py", "offset": 3, "limit": 9}, ("read", "/w/a.py")),
        ({"filePath": "a.py", "oldString": "x", "newString": "y"}, ("modified", "a.py")),
        ({"file_path": "a.py", "old_string": "", "new_string": "y"}, ("created", "a.py")),
        ({"path": "a.py", "oldText": "x", "newText": "y"}, ("modified", "a.py")),
        ({"path": "a.py", "edits": [{"old": "x"}]}, ("modified", "a.py")),
        ({"filename": "a.py", "content": "x"}, ("created", "a.py")),
        ({"notebook_path": "n.ipynb", "new_source": "x"}, ("modified", "n.ipynb")),
        ({"target_file": "a.py", "code_edit": "x"}, ("modified", "a.py")),
        ({"command": "create", "path": "a.py", "file_text": "x"}, ("created", "a.py")),
        ({"command": "str_replace", "path": "a.py", "new_str": "x"}, ("modified", "a.py")),
        ({"command": "view", "path": "./a.py"}, ("read", "a.py")),
        ({"source": "a.py", "destination": "b.py"}, ("created", "b.py")),
    ],
)
def test_the_arguments_tell_what_a_call_does_to_a_file_whatever_the_tool_is_called(
    arguments: Any, expected: tuple[str, ...]
) -> None:
    assert files(step(arguments)) == [expected]
    assert texts(step(arguments), "command") == []


@pytest.mark.parametrize(
    ("name", "arguments", "expected"),
    [
        ("delete_file", {"path": "a.py"}, [("deleted", "a.py")]),
        ("move_file", {"source": "a", "destination": "b"}, [("renamed", "a", "b")]),
        ("create_directory", {"path": "src/new"}, [("created", "src/new/")]),
        ("read_many_files", {"paths": ["a.py", "b.py"]}, [("read", "a.py"), ("read", "b.py")]),
        ("write_all", {"files": [{"path": "a", "content": "x"}]}, [("created", "a")]),
        ("Grep", {"pattern": "x", "path": "src"}, []),
        ("list_directory", {"path": "src"}, []),
        ("think", {"thought": "about src/a.py"}, []),
    ],
)
def test_the_name_tells_only_what_arguments_cannot(
    name: str, arguments: Any, expected: list[tuple[str, ...]]
) -> None:
    assert files(step(arguments, name=name)) == expected


def test_a_result_can_tell_that_a_file_is_new() -> None:
    write = {"file_path": "a.py", "content": "x"}

    assert files(step(write, "File created successfully at: a.py")) == [("created", "a.py")]
    assert files(step(write, "The file a.py has been updated.")) == [("modified", "a.py")]
    assert files([*step({"path": "a.py"}), *step(write, "done")]) == [("modified", "a.py")]


def test_patches_tell_of_their_files() -> None:
    patch = """*** Begin Patch
*** Add File: new.py
+x
*** Update File: src/a.py
*** Move to: src/b.py
@@
---- a comment
+++ b comment
*** Delete File: old.py
*** End Patch"""
    expected = [("created", "new.py"), ("renamed", "src/a.py", "src/b.py"), ("deleted", "old.py")]

    assert files(step(patch, name="apply_patch")) == expected
    assert files(step({"input": patch})) == expected
    assert files(step({"command": f"apply_patch <<'EOF'\n{patch}\nEOF"})) == expected


def test_unified_diffs_tell_of_their_files() -> None:
    diff = """diff --git a/a.py b/a.py
--- a/a.py\t2026
+++ b/a.py\t2026
@@ -1 +1 @@
diff --git a/n.py b/n.py
--- /dev/null
+++ b/n.py
--- a/o.py
+++ /dev/null
diff --git a/x.py b/y.py
rename from x.py
rename to y.py
"""

    assert files(step({"patch": diff})) == [
        ("modified", "a.py"), ("created", "n.py"), ("deleted", "o.py"), ("renamed", "x.py", "y.py"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("cat a.py b.py | head -n 50", "read a.py, read b.py"),
        ("head -50 x.log; tail -n +20 y.log && less z", "read x.log, read y.log, read z"),
        ("sed -n '1,50p' src/x.ts", "read src/x.ts"),
        ("sed -i '' -e 's/a/b/' f.go", "modified f.go"),
        ("rm -rf build *.tmp $X", "deleted build, deleted *.tmp"),
        ("cd src && git mv a.py b.py", "renamed src/a.py src/b.py"),
        ("git -C sub rm -q a.py && git rm --cached b.py", "deleted sub/a.py"),
        ("mv x y z/", "renamed x z/x, renamed y z/y"),
        ("cp a.txt dir/", "written dir/a.txt"),
        ("touch n.py; mkdir -p a/b c", "written n.py, created a/b/, created c/"),
        ("echo hi > out.txt 2>&1", "written out.txt"),
        ("make 2>err.txt >> build.log", "modified build.log"),
        ("ls | tee list.txt | tee -a all.txt", "written list.txt, modified all.txt"),
        ("cat > f.py <<'EOF'\nrm x > y\nEOF\nrm z", "written f.py, deleted z"),
        ('git commit -m "$(cat <<EOF\nrm x\nEOF\n)"', "committed"),
        ("cat 'my file.txt' other\\ file", "read my file.txt, read other file"),
        ("bash -lc 'cd /w && rm x'", "deleted /w/x"),
        ("bash -lc rm x && FOO=1 sudo rm y", "deleted x, deleted y"),
        ("Remove-Item -Recurse D:\\x\\y", "deleted D:\\x\\y"),
        ("rm a # and > b", "deleted a"),
        ("cat x > /dev/null; curl https://a.b/c; for f in *.py; do cat $f; done", "read x"),
        ("python3 -c \"print('rm x > y')\" && echo 'a > b'", ""),
        ("echo don't > x \" unclosed", "written x"),
        ("cat <in.txt; cat ../a/./b", "read in.txt, read ../a/b"),
    ],
)
def test_a_shell_command_tells_of_its_files(command: str, expected: str) -> None:
    found = [" ".join(filter(None, action)) for action in of_command(command)]

    assert ", ".join(found) == expected


def test_relative_paths_are_taken_from_the_folder_a_command_runs_in() -> None:
    assert files(step({"cmd": "rm a.py /b.py", "workdir": "/w"})) == [
        ("deleted", "/w/a.py"),
        ("deleted", "/b.py"),
    ]


def test_looking_and_doing_are_told_apart() -> None:
    assert only_looks("cd /w && git log --oneline | head -3; rg foo")
    assert not only_looks("cat a && npm test")
    assert not only_looks("git push")
    assert not only_looks("")


@given(st.text(alphabet="rm cat<>|&;()'\"`\\$ab./\nEOF-{}#", max_size=200))
def test_no_command_is_too_broken_to_be_read(command: str) -> None:
    of_command(command)
    only_looks(command)


def test_a_command_is_kept_with_its_outcome() -> None:
    messages = [
        *step({"command": "make a"}, "Process exited with code 0\nbuilt"),
        *step({"cmd": "make bb"}, "Error: Exit code 2\nmake: *** No rule"),
        *step({"command": ["make", "cc"]}, "done"),
        *step({"command": "make dddd"}, "it broke", error=True),
    ]

    assert [(e.text, e.detail) for e in entries(messages) if e.kind == "command"] == [
        ("make a", "exit 0"), ("make bb", "exit 2"), ("make cc", ""), ("make dddd", "failed"),
    ]  # fmt: skip


def test_an_edit_that_failed_is_an_error_and_changes_no_file() -> None:
    messages = step(
        {"file_path": "/w/a.py", "old_string": "x", "new_string": "y"},
        "String to replace was not found\nin the file",
        name="Edit",
        error=True,
    )

    assert [(e.kind, e.text, e.detail) for e in entries(messages)] == [
        ("error", "String to replace was not found", "Edit /w/a.py")
    ]


def test_a_command_the_user_refused_did_nothing() -> None:
    refused = "The user doesn't want to proceed with this tool use. The tool use was rejected."

    assert files(step({"command": "rm -rf src"}, refused, name="Bash", error=True)) == []
    assert texts(step({"command": "rm -rf src"}, refused, error=True), "error") == [refused]


@pytest.mark.parametrize(
    ("output", "counts"),
    [
        ("=== 3 failed, 12 passed, 1 skipped in 0.5s ===", "3 failed, 12 passed, 1 skipped"),
        ("..F\n1 failed, 1,319 passed in 2.1s", "1 failed, 1319 passed"),
        (
            "Test Suites: 1 failed, 2 passed, 3 total\nTests:       1 failed, 5 passed, 6 total",
            "1 failed, 5 passed",
        ),
        (
            " Test Files  1 failed | 2 passed (3)\n      Tests  2 failed | 10 passed (12)\n",
            "2 failed, 10 passed",
        ),
        (
            "test result: ok. 12 passed; 0 failed; 1 ignored\n\n"
            "test result: FAILED. 3 passed; 2 failed; 0 ignored",
            "2 failed, 15 passed, 1 skipped",
        ),
        (" 20 pass\n 0 fail\n 29 expect() calls", "20 passed"),
        ("  12 passing (3s)\n  1 failing", "1 failed, 12 passed"),
        ("# tests 5\n# pass 4\n# fail 1", "1 failed, 4 passed"),
        ("ok  \tx/y\t0.5s\nok  \tx/z\t(cached)\nFAIL\tx/w\t0.3s\nFAIL", "1 failed, 2 packages ok"),
        ("--- PASS: TestA (0.0s)\n--- FAIL: TestB (0.1s)", "1 failed, 1 passed"),
        ("Ran 12 tests in 0.1s\n\nFAILED (failures=1, errors=2)", "1 failed, 2 errors, 9 passed"),
        ("Ran 3 tests in 0.002s\n\nOK", "3 passed"),
    ],
)
def test_test_runs_are_counted(output: str, counts: str) -> None:
    found = [e for e in entries(step({"command": "make test"}, output)) if e.kind == "test"]

    assert [(e.text, e.detail) for e in found] == [("make test", counts)]


def test_what_only_looks_like_a_test_run_is_none() -> None:
    assert not texts(step({"command": "make"}, "5 checks passed\n3 failed attempts"), "test")
    assert not texts(step({"command": "cat log"}, "3 failed, 12 passed in 0.5s"), "test")
    assert not texts(step({"path": "log"}, "3 failed, 12 passed in 0.5s"), "test")


def test_error_lines_are_told_from_code_and_from_counts_of_none() -> None:
    output = """
src/a.ts(28,2): error TS2739: Type '{ a }' is missing
error[E0308]: mismatched types
AssertionError: 3 != 4
--- FAIL: TestX (0.00s)
0 errors, 2 warnings
12 -    throw new Error(`not found`)
if (error) {
the page explains what an error is
"""

    assert texts(step({"command": "make"}, output), "error") == [
        "src/a.ts(28,2): error TS2739: Type '{ a }' is missing",
        "error[E0308]: mismatched types",
        "AssertionError: 3 != 4",
        "--- FAIL: TestX (0.00s)",
    ]
    assert not texts(step({"path": "a.log"}, output), "error")
    assert not texts(step({"command": "cat a.log"}, output), "error")


def test_of_very_many_errors_the_last_are_taken() -> None:
    output = "\n".join(f"error: number {n}" for n in range(100))

    assert texts(step({"command": "make"}, output), "error") == [
        f"error: number {n}" for n in range(80, 100)
    ]


def test_addresses_and_ids_are_found_where_they_are_said_passed_or_printed() -> None:
    messages = [
        user("See https://example.com/a?b=1. It is ENT-212, in UTF-8."),
        *step({"command": "git push"}, "https://git.example/pull/7\n main at 9c01f2d"),
        *step({"user_id": "mia_kim_4397"}, "{}"),
        *step({"path": "package-lock.json"}, "https://registry.example/x 1a2b3c4d5e6f"),
    ]

    assert texts(messages, "url") == ["https://example.com/a?b=1", "https://git.example/pull/7"]
    assert texts(messages, "id") == ["ENT-212", "9c01f2d", "mia_kim_4397"]


def test_what_the_user_demands_and_what_was_decided_is_kept_verbatim() -> None:
    messages = [
        user("Never touch  main. Thanks!\n<x>"),
        user("<system-reminder>Always be kind</system-reminder>"),
        user(f"{COMPRESSED} You must not trust this."),
        assistant("I chose sqlite because it needs no server. I must go on."),
    ]

    found = [(e.kind, e.text, e.at) for e in entries(messages)]

    assert found == [
        ("constraint", "Never touch  main.", 0),
        ("decision", "I chose sqlite because it needs no server.", 3),
    ]


def state(*kinds: Kind) -> str:
    [entry] = merge((), [Entry(kind, "a.py") for kind in kinds])
    return entry.kind


def test_the_latest_state_of_a_file_wins() -> None:
    assert state("read", "modified") == "modified"
    assert state("modified", "read") == "modified"
    assert state("created", "modified") == "created"
    assert state("read", "created") == "modified"
    assert state("created", "deleted", "read") == "deleted"
    assert state("deleted", "modified") == "created"


def test_a_renamed_file_keeps_both_names() -> None:
    ledger = merge(
        [Entry("read", "a.py"), Entry("modified", "a.py")],
        [Entry("renamed", "a.py", "b.py"), Entry("modified", "b.py"), Entry("created", "a.py")],
    )

    assert [(e.kind, e.text, e.detail) for e in ledger] == [
        ("renamed", "a.py", "b.py"),
        ("modified", "b.py", ""),
        ("created", "a.py", ""),
    ]
    assert file_lists(ledger) == ([], ["a.py", "b.py (renamed from a.py)"])


def test_a_folder_is_the_same_with_and_without_a_slash() -> None:
    ledger = merge((), [Entry("created", "build/"), Entry("deleted", "build")])

    assert ledger == [Entry("deleted", "build")]


def test_a_command_run_again_moves_to_the_end_and_another_outcome_is_kept_beside() -> None:
    failed, passed = Entry("command", "make", "exit 2", 1), Entry("command", "make", "exit 0", 5)
    other = Entry("command", "ls", "", 3)

    assert merge([failed, other], [passed]) == [failed, other, passed]
    assert merge([failed, other], [failed]) == [other, failed]


KINDS: list[Kind] = ["read", "created", "modified", "deleted", "command", "error", "constraint"]
found = st.one_of(
    st.builds(Entry, st.sampled_from(KINDS), st.sampled_from("abc"), st.sampled_from(["", "x"])),
    st.builds(Entry, st.just("renamed"), st.sampled_from("abc"), st.sampled_from("abc")),
)
ledgers = st.lists(found, max_size=12)


@given(ledgers, ledgers, ledgers)
def test_it_does_not_matter_when_ledgers_are_merged(
    a: list[Entry], b: list[Entry], c: list[Entry]
) -> None:
    merged = merge(merge(a, b), c)

    assert merged == merge(a, [*b, *c])
    assert merge(merged, ()) == merged


@given(ledgers, ledgers)
def test_no_name_and_no_event_is_ever_lost(a: list[Entry], b: list[Entry]) -> None:
    merged = merge(a, b)

    known = {name for e in merged for name in (e.text, e.detail)}
    assert {e.text for e in (*a, *b)} <= known
    events = {(e.kind, e.text, e.detail) for e in (*a, *b) if e.kind not in KINDS[:4]}
    assert events <= {(e.kind, e.text, e.detail) for e in merged}


def test_what_our_receipts_and_tools_name_is_no_evidence() -> None:
    archive = Archive(restorable=True, path=lambda ref: f".compression/offloaded/{ref}.txt")
    notes = [
        receipt("Bash: 9,034 tokens, exit 1", "8f3a01bc22d4", archive, with_file=True),
        clip("see 4c1d9a0b77e2\n" * 400, 170, "c2f7a31b90de"),
        render([Entry("command", f"make {n}") for n in range(99)], 200, "7d0e4bb1a9c3"),
        "ref 1b2c3d4e5f60, characters 1-8,000 of 9,000; next page: start=8000",
    ]
    asked = step(
        {"ref": "8f3a01bc22d4"}, "what it was: 0a1b2c3d4e5f", name="mcp__x__context_restore"
    )

    found = texts([*step({"command": "make"}, "\n".join(notes)), *asked], "id")

    assert found == ["4c1d9a0b77e2"]


@given(found)
def test_an_entry_comes_back_from_json(entry: Entry) -> None:
    assert from_json(json.loads(json.dumps(to_json(entry)))) == entry


def test_a_line_that_is_no_entry_is_refused_with_its_text() -> None:
    for damaged in ({"kind": "poem", "text": "x", "detail": "", "at": 0}, {"text": "x"}, {}):
        with pytest.raises(StoreDamaged, match="is no ledger entry"):
            from_json(damaged)


LEDGER = merge(
    (),
    [
        Entry("constraint", "Never push to main."),
        *(Entry("read", f"/w/src/read_{n}.py") for n in range(40)),
        *(Entry("modified", f"/w/src/changed_{n}.py") for n in range(40)),
        Entry("renamed", "/w/a.py", "/w/b.py"),
        *(Entry("command", f"make target_{n}", f"exit {n % 2}") for n in range(40)),
        *(Entry("error", f"error: number {n}\n  of many") for n in range(40)),
        Entry("test", "pytest -q", "3 failed, 12 passed"),
        Entry("decision", "I chose sqlite because it is there."),
        Entry("url", "https://example.com/a"),
        Entry("id", "ENT-212"),
        Entry("constraint", "Always run the tests."),
    ],
)


def test_a_ledger_that_fits_is_shown_whole_newest_first() -> None:
    shown = render([*LEDGER[:2], *LEDGER[-7:]], 2000, "c3f9")

    assert shown.split("\n") == [
        "Ledger, found by code in what was compressed (newest first):", "Constraints of the user:",
        "- Always run the tests.", "- Never push to main.", "Errors:", "- error: number 39 of many",
        "- error: number 38 of many", "Tests:", "- pytest -q: 3 failed, 12 passed", "Files read:",
        "- /w/src/read_0.py", "Decisions:", "- I chose sqlite because it is there.", "Addresses:",
        "- https://example.com/a", "Ids:", "- ENT-212",
    ]  # fmt: skip


def test_what_is_left_out_is_counted_and_its_ref_named() -> None:
    shown = render(LEDGER, 1500, "c3f9")

    lines = shown.split("\n")
    entries_shown = sum(line.startswith("- ") for line in lines)
    assert lines[-1] == f"[… {len(LEDGER) - entries_shown} more entries; ref c3f9]"
    assert len(shown) <= 1500
    assert {"Files changed:", "Errors:", "Commands:", "Tests:"} <= set(lines)
    assert "- renamed /w/a.py -> /w/b.py" in lines


def test_constraints_go_last() -> None:
    for limit in range(600):
        shown = render(LEDGER, limit)

        if shown and not ("Never push" in shown and "Always run" in shown):
            assert "Files" not in shown
            assert "Errors" not in shown
    assert "Never push to main." in render(LEDGER, 250)


@given(st.integers(0, 12_000), st.sampled_from([None, "c3f9"]))
def test_a_view_of_the_ledger_keeps_to_its_limit(limit: int, ref: str | None) -> None:
    assert len(render(LEDGER, limit, ref)) <= limit


def test_an_empty_ledger_shows_nothing() -> None:
    assert render([], 1000, "c3f9") == ""
    assert render(LEDGER, 10) == ""
    assert file_tags([]) == ""


def test_files_are_listed_as_read_or_changed() -> None:
    ledger = [
        Entry("read", "/w/z.py"),
        Entry("read", "/w/src/a.py"),
        Entry("modified", "src/a.py"),
        Entry("deleted", "old.py"),
        Entry("renamed", "m.py", "n.py"),
        Entry("renamed", "n.py", "o.py"),
        Entry("command", "make"),
    ]

    assert file_lists(ledger) == (
        ["/w/z.py"],
        ["o.py (renamed from m.py)", "old.py (deleted)", "src/a.py"],
    )
    assert file_tags(ledger) == (
        "<read-files>\n/w/z.py\n</read-files>\n\n"
        "<modified-files>\no.py (renamed from m.py)\nold.py (deleted)\nsrc/a.py\n</modified-files>"
    )
    assert file_tags(ledger[:1]) == "<read-files>\n/w/z.py\n</read-files>"


def recorded(data_folder: Path) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    for file in sorted((data_folder / "conversations" / "uniform").glob("*.json.gz")):
        yield file.name, json.loads(gzip.decompress(file.read_bytes()))["messages"]


@pytest.mark.slow
def test_every_file_edited_in_real_conversations_is_in_the_ledger(data_folder: Path) -> None:
    edited = 0
    for name, messages in recorded(data_folder):
        conversation = parse(messages).messages
        ledger = entries(conversation)
        known = " ".join(f"{e.text} {e.detail}" for e in ledger)
        for message in conversation:
            for call in message.calls:
                if call.name.lower() in {"edit", "write", "multiedit", "write_file"} and isinstance(
                    path := call.arguments.get("file_path", call.arguments.get("path")), str
                ):
                    edited += 1
                    assert clean(path) in known, name
    assert edited > 500


@pytest.mark.slow
def test_ledgers_of_real_conversations_add_up_over_compressions(data_folder: Path) -> None:
    for name, messages in [*recorded(data_folder)][::4]:
        conversation = parse(messages).messages
        steps = [i for i, m in enumerate(conversation) if m.starts_turn]
        if len(steps) < 4:
            continue
        middle = steps[len(steps) // 2]

        whole = entries(conversation)
        parts = merge(entries(conversation[:middle]), entries(conversation[middle:]))

        assert {(e.kind, e.text, e.detail) for e in whole} == {
            (e.kind, e.text, e.detail) for e in parts
        }, name

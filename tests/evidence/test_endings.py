"""How outputs ended: the lines of test runners and builds, and the last line with content."""

import pytest

from context_compression.conversation import Text, ToolResult
from context_compression.evidence.facts import exit_status, last_line, outcome_lines
from context_compression.planning import ending
from context_compression.strategies import CallOutcome, end_of, outcome

ENDINGS = {
    "pytest": ("==== 2 failed, 31 passed in 4.02s ====", "FAILED tests/test_pool.py::test_full"),
    "pytest in short": ("3 passed, 1 warning in 0.10s", ""),
    "unittest": ("FAILED (failures=1, errors=2)", "Ran 44 tests in 1.003s"),
    "unittest that passed": ("OK", "Ran 12 tests in 0.120s"),
    "cargo": ("test result: FAILED. 3 passed; 1 failed; 0 ignored; finished in 0.02s", ""),
    "go": ("FAIL\texample.org/pool\t0.012s", "--- FAIL: TestFull (0.00s)"),
    "go that passed": ("ok  \texample.org/pool\t0.012s", ""),
    "jest": ("Tests:       1 failed, 7 passed, 8 total", "Test Suites: 1 failed, 3 total"),
    "vitest": (" Tests  2 failed | 9 passed (11)", ""),
    "mocha": ("  2 failing", "  7 passing (40ms)"),
    "maven": ("[INFO] BUILD FAILURE", "[ERROR] Tests run: 5, Failures: 1, Errors: 0, Skipped: 0"),
    "gradle": ("BUILD SUCCESSFUL in 3s", ""),
    "gradle that failed": ("BUILD FAILED in 9s", "14 tests completed, 2 failed"),
    "make": ("make: *** [Makefile:12: all] Error 2", ""),
    "npm": ("npm ERR! Test failed.  See above for more details.", ""),
    "rspec": ("12 examples, 1 failure", ""),
    "dotnet": ("Failed!  - Failed:     1, Passed:     8, Skipped:     0, Total:     9", ""),
    "tsc": ("Found 3 errors in 2 files.", ""),
}  # fmt: skip
"""The last outcome of a run, and a line before it."""
every_ending = pytest.mark.parametrize("lines", ENDINGS.values(), ids=ENDINGS)


def output(lines: tuple[str, str], tail: str = "\n") -> str:
    noise = "\n".join(f"compiling unit {n} of the pool" for n in range(400))
    return f"{noise}\n{lines[1]}\n{lines[0]}{tail}"


@every_ending
@pytest.mark.parametrize("tail", ["", "\n", "\n</output>\n", "\n```"])
def test_an_ending_tells_the_last_outcome(lines: tuple[str, str], tail: str) -> None:
    text = output(lines, tail)

    assert lines[0].strip() in "\n".join(text[start:stop] for start, stop in ending(text, 400))


@every_ending
def test_an_ending_has_no_more_characters_than_allowed(lines: tuple[str, str]) -> None:
    text = output(lines)

    for most in (0, 10, 60, 400):
        assert sum(stop - start for start, stop in ending(text, most)) <= most


@pytest.mark.parametrize(
    "text",
    [
        "", "Nothing to say.", "The 3 passengers failed to board.", "tests/okay.py\nokay",
        "def passed(n):\n    return n", "PASSWORD=x",
    ],
)  # fmt: skip
def test_other_texts_have_no_outcome(text: str) -> None:
    assert outcome_lines(text) == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a\nb\n", "b"), ("a\n\n  \n", "a"), ("a\nb\n</output>\n", "b"), ("a\n```\n</x>", "a"),
        ("", ""), ("\n\n", ""), ("one", "one"), ("a\r\nb\r\n", "b\r"),
    ],
)  # fmt: skip
def test_the_last_line_with_content_is_found(text: str, expected: str) -> None:
    start, stop = last_line(text, len(text))

    assert text[start:stop] == expected


@pytest.mark.parametrize(
    ("text", "status"),
    [
        ("<returncode>1</returncode>\n<output>x</output>", "1"), ("done\n[exit code: 3]", "3"),
        ("Exit code 127\nnot found", "127"), ("Process exited with code 2", "2"),
        ("exit 9 doors", None),
        ("<exit_code>4</exit_code>", "4"), ("(exit status: -11)", "-11"),
        ("<returncode>0</returncode>", "0"),
    ],
)  # fmt: skip
def test_an_exit_status_is_read(text: str, status: str | None) -> None:
    assert exit_status(text) == status


@pytest.mark.parametrize(
    ("text", "end"),
    [
        ("<returncode>1</returncode>\n<output>\n1 failed, 4 passed in 2s\n</output>",
         "exit 1, 1 failed, 4 passed"),
        ("Exit code: 2\nmake: *** [all] Error 2", "exit 2, make: *** [all] Error 2"),
        ("test result: FAILED. 3 passed; 1 failed; 0 ignored\nexit code: 101",
         "exit 101, 1 failed, 3 passed"),
        ("<returncode>0</returncode>\n<output>\n7 passed in 2s\n</output>", "7 passed"),
        ("<returncode>0</returncode>\n<output>\nsrc\n</output>", "exit 0"),
        ("", "empty"),
    ],
)  # fmt: skip
def test_a_quoted_call_tells_how_it_ended(text: str, end: str) -> None:
    result = ToolResult("c", (Text(text),))
    label, reason = outcome(result, ran=True)

    assert end_of(result, CallOutcome(label, reason) if label else None) == end

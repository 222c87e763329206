"""`extract`: how the newest results ended, in every room; calls that are quoted without results."""

import json

import pytest
from extract_sessions import Messages, session, step, text_message, texts
from text_harnesses import HARNESSES, worked

from context_compression import BudgetTooSmall, compress, count_tokens
from context_compression.conversation import parse

pytestmark = pytest.mark.slow

ENDINGS = {
    "pytest": "FAILED tests/test_pool.py::test_full - assert 3\n== 1 failed, 8 passed in 2.10s ==",
    "unittest": "Ran 9 tests in 1.003s\n\nFAILED (failures=1)",
    "cargo": "test pool::full ... FAILED\n\ntest result: FAILED. 8 passed; 1 failed; 0 ignored",
    "go": "--- FAIL: TestFull (0.00s)\nFAIL\nFAIL\texample.org/pool\t0.012s",
    "jest": "Test Suites: 1 failed, 2 passed, 3 total\nTests:       1 failed, 8 passed, 9 total",
    "maven": "[ERROR] Tests run: 9, Failures: 1, Errors: 0, Skipped: 0\n[INFO] BUILD FAILURE",
    "gradle": "9 tests completed, 1 failed\n\nBUILD FAILED in 4s",
    "make": "pool.c:88: undefined reference to `pool_full'\nmake: *** [Makefile:12: all] Error 2",
    "npm": "npm ERR! code ELIFECYCLE\nnpm ERR! Test failed.  See above for more details.",
}
NOISE = "\n".join(f"unit {n} of the pool was compiled and put in its place" for n in range(900))
CODE = "\n".join(f"    total_{n} = total_{n - 1} + weight[{n}]" for n in range(200))
every_ending = pytest.mark.parametrize("ending", ENDINGS.values(), ids=ENDINGS)
SHARES = (0.9, 0.5, 0.2, 0.1, 0.05, 0.03)


def long_session(last: Messages) -> Messages:
    """Steps with long outputs, the last of which the model has not seen."""
    older = [step(n, f"{n}\n{NOISE[:9_000]}", command=f"make part_{n}") for n in range(9)]
    return session(text_message("user", "Make the pool hold four. Never grow it."), *older, last)


def floor_of(messages: Messages) -> int:
    try:
        compress(messages, target_tokens=1, strategy="auto")
    except BudgetTooSmall as refused:
        return refused.floor_tokens
    raise AssertionError("The smallest view is smaller than a token.")


@every_ending
def test_the_newest_result_tells_how_it_ended_in_every_room(ending: str) -> None:
    messages = long_session(step(99, f"{NOISE}\n{ending}\n", command="run the tests"))
    floor = floor_of(messages)

    for share in SHARES:
        target = max(floor, int(count_tokens(messages) * share))
        view = compress(messages, target_tokens=target, strategy="auto").messages

        assert ending.splitlines()[-1] in json.loads(json.dumps(view[-1]))["content"][0]["content"]


@every_ending
def test_the_newest_result_of_a_text_protocol_tells_how_it_ended(ending: str) -> None:
    runs = [(f"make part_{n}", NOISE[:9_000], 0) for n in range(9)]
    last = ("run the tests", f"{NOISE}\n{ending}", 1)
    for harness in HARNESSES.values():
        messages = worked(harness, "Make the pool hold four.", [*runs, last])
        view = compress(
            messages, target_tokens=int(count_tokens(messages) * 0.15), strategy="extract"
        ).messages

        assert ending.splitlines()[-1] in view[-1]["content"]


@pytest.mark.parametrize("share", SHARES)
def test_nothing_is_cut_out_of_the_newest_call_above_the_floor(share: float) -> None:
    write = {"command": f"cat > pool.py <<'EOF'\n{CODE[:3_000]}\nEOF"}
    messages = long_session(step(99, "done", **write))
    target = max(floor_of(messages) + 2_000, int(count_tokens(messages) * share))

    view = compress(messages, target_tokens=target, strategy="extract").messages

    assert view[-2] == messages[-2]


@pytest.mark.parametrize("share", [0.3, 0.5])
def test_a_hole_in_an_argument_of_an_older_call_has_an_explicit_mark(share: float) -> None:
    older = [
        step(n, "The file was written.", file_path=f"pool_{n}.py", content=CODE) for n in range(6)
    ]
    messages = session(text_message("user", "Write them."), *older, text_message("user", "Go on."))

    view = compress(messages, target_tokens=int(count_tokens(messages) * share), strategy="extract")
    shortened = [
        call.arguments["content"]
        for message in parse(view.messages).messages
        for call in message.calls
        if call.arguments["content"] != CODE
    ]

    for argument in shortened:
        assert "[" in argument and (
            "cut" in argument or "omitted" in argument or "lines" in argument
        )


@pytest.mark.parametrize(
    ("result", "end"),
    [
        (
            "<returncode>1</returncode>\n<output>\n{}\n1 failed, 8 passed in 2s\n</output>",
            "exit 1, 1 failed, 8 passed",
        ),
        ("{}\n2 failed, 7 passed in 1.2s\nExit code: 1", "exit 1, 2 failed, 7 passed"),
        (
            "{}\ntest result: FAILED. 3 passed; 4 failed; 0 ignored\n[exit code: 101]",
            "exit 101, 4 failed, 3 passed",
        ),
        ("{}\nTests:       6 passed, 6 total", "6 passed"),
    ],
)  # fmt: skip
def test_a_quoted_call_without_its_result_tells_its_end(result: str, end: str) -> None:
    noise = "a routine line\n" * 400
    runs = [
        step(n, result.format(noise), command=f"run suite_{n} --seed {n * 37} src/suite_{n}.py")
        for n in range(30)
    ]
    messages = session(
        text_message("user", "Run each suite."), *runs, text_message("assistant", "Done so far."),
        text_message("user", "Go on."),
    )  # fmt: skip

    shown = texts(compress(messages, target_tokens=1_500, strategy="extract").messages)

    assert "src/suite_" in shown
    assert f"→ {end}" in shown

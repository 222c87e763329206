"""Hostile texts: every pattern is linear, and twice the text costs twice the time, end to end."""

import json
import re
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from generated import Messages
from pattern_search import hard_text

from context_compression import Session, compress, count_tokens
from context_compression.cli import main
from context_compression.evidence import redact
from context_compression.hosts.claude_code.hooks.outputs import output_of
from context_compression.store.search.query import Query
from context_compression.testing import Run, tool_step

pytestmark = pytest.mark.slow

SEARCH = Path(__file__).parents[1] / "support" / "pattern_search.py"
HOSTILE = [
    "a", "aGVsbG8gd29ybGQ", "[", " ", '"', "'", "/", "a/", "7", "a.", "\\", "<a", "(", "{", "\n",
    "漢", "-", "1,000", "| a ", "[" + " " * 59, "- [ ] ", "Error: ", "git -a a ", "[User] ",
    "Output has been saved to ", "Error: result (", "token: ", "“", "must never ", "[…", "${",
    "-----BEGIN PRIVATE KEY-----\n", "Abc: -----BEGIN PRIVATE KEY-----\n", "\x0b\u2063\x1b]",
]  # fmt: skip
QUERIES = [
    "| ", "|", "a|", '" "', "tool:  ", "tool:a,", "t\n", "path: ", "path:a* ", "error: ", "网。",
    '"a | b" ',
]  # fmt: skip
"""Parts of a query that say more than words."""
MOST = 2.3
"""What twice the size may cost, as a factor; a quadratic step costs four."""
SMALL = 0.1
"""Seconds below which a step is no matter, whatever its ratio."""


def talk(text: str) -> list[dict[str, str]]:
    """A conversation in which somebody says a text."""
    more = [
        {"role": "user", "content": "next " + "w " * 300},
        {"role": "assistant", "content": "z " * 300},
    ]
    return [
        {"role": "user", "content": "see " + text},
        {"role": "assistant", "content": text},
        *more * 3,
        {"role": "user", "content": "go on"},
    ]


def by_compress(text: str, folder: Path) -> None:
    result = compress(talk(text), target_tokens=1_500, force=True)
    assert result.user_sentences.total and result.loss


def by_redaction(text: str, folder: Path) -> None:
    redact(text)


def by_hook(text: str, folder: Path) -> None:
    output_of("mcp__x__y", "Error: result (" + text, folder)


def by_fit_and_search(text: str, folder: Path) -> None:
    session = Session(folder / f"store-{len(text)}-{time.monotonic_ns()}", "s", summarizer=None)
    session.fit(talk(text))
    session.store.search(f"{text[:30]} go on")


def by_query(text: str, folder: Path) -> None:
    assert Query.wordings(text)


def by_report(text: str, folder: Path) -> None:
    file = folder / "talk.json"
    file.write_text(json.dumps(talk(text)), encoding="utf-8")
    result = CliRunner().invoke(main, ["report", str(file), "--json"])
    assert result.exit_code == 0, result.output


def ratio(step: Callable[[str, Path], None], piece: str, folder: Path) -> float:
    """How much more twice the text costs, at 50 and 100 KB; 0 if it is no matter.

    A step that begins at some size is no growth. So where 100 KB cost too much, 200 KB are tried.
    """
    whole = spent(step, piece, 100_000, folder)
    if whole <= SMALL or whole <= MOST * spent(step, piece, 50_000, folder):
        return 0.0
    return spent(step, piece, 200_000, folder) / whole


def spent(step: Callable[[str, Path], None], piece: str, size: int, folder: Path) -> float:
    """The processor's time of a step on a text of a size, which no other process changes."""
    text = (piece * (size // len(piece) + 1))[:size]
    started = time.process_time()
    step(text, folder)
    return time.process_time() - started or 0.001


CASES = [
    *((by_compress, piece) for piece in HOSTILE),
    *((by_redaction, piece) for piece in HOSTILE),
    *((by_hook, piece) for piece in HOSTILE),
    *((by_fit_and_search, piece) for piece in HOSTILE[::5]),
    *((by_report, piece) for piece in HOSTILE[::5]),
    *((by_query, piece) for piece in (*HOSTILE, *QUERIES)),
]


@pytest.mark.parametrize(("step", "piece"), CASES)
def test_twice_the_text_costs_twice_the_time_at_most(
    step: Callable[[str, Path], None], piece: str, tmp_path: Path
):
    assert any(ratio(step, piece, tmp_path) <= MOST for _ in range(3))


def of_texts(blocks: int) -> Messages:
    """A conversation with one message that holds many texts."""
    lines = (
        f"Line {n}: src/part_{n}.py fails, error E{n * 7} in handle_{n}." for n in range(blocks)
    )
    said: Any = [{"type": "text", "text": line} for line in lines]
    return [*talk("it")[:1], {"role": "assistant", "content": said}, *talk("it")[-1:]]


def of_calls(blocks: int) -> Messages:
    """A conversation with one message that writes many files."""
    runs = [
        Run(f"t{n}", "write", {"path": f"src/part_{n}.py", "content": f"x{n} = {n}\n" * 20}, "ok")
        for n in range(blocks // 2)
    ]
    return [*talk("it")[:1], *tool_step(runs, "anthropic"), *talk("it")]


@pytest.mark.parametrize("made", [of_texts, of_calls])
def test_twice_the_blocks_of_a_message_cost_twice_the_time_at_most(made: Callable[[int], Messages]):
    def cost(blocks: int) -> float:
        messages = made(blocks)
        target = int(count_tokens(messages) / 4)
        started = time.process_time()
        compress(messages, target_tokens=target, summarizer=None)
        return time.process_time() - started

    compress(made(10), target_tokens=300, summarizer=None)  # what is loaded once
    assert any(cost(6_000) <= MOST * cost(3_000) for _ in range(4))


def test_every_pattern_of_the_package_is_linear():
    found = subprocess.run([sys.executable, str(SEARCH)], capture_output=True, text=True)

    assert found.returncode == 0, found.stdout + found.stderr
    assert int(found.stdout.split()[0]) > 400


@pytest.mark.parametrize(
    ("pattern", "method"),
    [
        (r"\s*[{\[]", "search"), (r"[\w.-]+\.[a-z]{1,4}\b", "search"), (r"(?:a+)+b", "match"),
        (r"\[[^\]]*\]", "sub"), (r"(?:\\+[nrt])+$", "search"), (r"a*a*b", "match"),
    ],
)  # fmt: skip
def test_the_search_finds_a_pattern_that_is_not_linear(
    pattern: str, method: str, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("pattern_search.CHARS", 1_000)  # what takes the square takes long enough
    monkeypatch.setattr("pattern_search.TOO_LONG", 1.0)

    assert hard_text(re.compile(pattern), {method})


@pytest.mark.parametrize("pattern", [r"\s*[{\[]", r"[^\n]*\n", r"\w+ \w+"])
def test_the_search_lets_linear_patterns_pass(pattern: str):
    assert hard_text(re.compile(pattern), {"match"}) is None

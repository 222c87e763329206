"""Patterns that run for ever: each ends within its time, or is refused in words.

`python tests/attacks/test_patterns.py [SEED [NUMBER]]` tries more of them, and prints each.
"""

import random
import subprocess
import sys
import time

import pytest

from context_compression.errors import StoreError
from context_compression.store import Pattern

pytestmark = pytest.mark.slow

FUZZY = [
    "(?b)(a+){e}", "(a+){e<=3}", "(?e)(a+z){e<=5}", "(?:a+){1<=e<=3}", "(?:ab){i<=2,d<=2}",
    "(?:ab){2i+2d+1s<=4}", "(?:ab){e:[a-z]}", "(?:ab){ s <= 2 }", "a{e}", r"\\(a+){e}",
    "[{e}](a+){e}", "(?x)(a+) { # a note }\n e }", "(?x)#[\n(a+){e}#]", r"\p{e<=2}", "(a{d,i})",
    "(?V1)[[a]](a+){s}", "{error}", "(?#x)(a+){e}", "(?:(?:a{s}){2}){2}",
]  # fmt: skip
PLAIN = [
    r"\{e}", "[{e}]", r"\p{s}", r"\p{L}+", "a{2}", "a{2,}", "a{,3}", "a{2,3}", "{}", "{", "{ 1 }",
    "{x}", r"x\{s\}", r"\{error}",
]  # fmt: skip
TEXTS = ["z" + "a" * 5_000, "z" + "ab c" * 2_000, "z\n" + "ab\n" * 2_000, "z" + "aé́" * 2_000]
ATOMS = [
    "a", "b", ".", r"\w", r"\s", "[ab]", "[^z]", r"\X", r"\p{L}",
    "(?:a|aa)", "(?:a|b|ab)",
    "(?=a+)", "(?<=a+)", "(?<!b+)", r"\b", "^", "$", "(?!b)", "", r"\1",
    "(?>a+)", "(?|a|(b))", r"\K", r"\R",
    "(?(?=a)a|b)", r"\G", r"\m", "[[a-z]--[b]]", r"(?i:ß)", "z",
]  # fmt: skip
REPEATS = [*"*+*+*+?", "", "", "", "", "", "*?", "+?", "++", "{2}", "{2,}", "{,3}", "{50}"]
FLAGS = ["", "", "(?b)", "(?e)", "(?i)", "(?if)", "(?r)", "(?s)", "(?V1)", "(?w)", "(?p)", "(?x)"]
CHILD = """
import resource, sys, time
from context_compression.errors import StoreError
from context_compression.store.search import query
query.SECONDS = 0.1
resource.setrlimit(resource.RLIMIT_AS, (2**31, 2**31))
for pattern in eval(sys.stdin.read()):
    print(repr(pattern), flush=True)
    spent = int(time.process_time())
    resource.setrlimit(resource.RLIMIT_CPU, (spent + 10, resource.RLIM_INFINITY))
    for text in TEXTS:
        try:
            query.Pattern(pattern).place_in(text)
        except StoreError:
            pass
print("done")
"""


@pytest.mark.parametrize("pattern", FUZZY)
def test_a_pattern_that_allows_for_errors_is_refused_by_name(pattern: str):
    with pytest.raises(StoreError, match=r"is a fuzzy one.*\\\{"):
        Pattern(pattern)


@pytest.mark.parametrize("pattern", PLAIN)
def test_repeats_and_braces_that_stand_for_themselves_are_searched_for(pattern: str):
    Pattern(pattern).place_in("what {error} {e} {x}")


def drawn(seed: int, number: int) -> list[str]:
    """Patterns put together at random, up to four levels deep."""
    chance = random.Random(seed)

    def part(levels: int) -> str:
        if levels == 0 or chance.random() < 0.3:
            made = chance.choice(ATOMS)
        else:
            inner = "|" if chance.random() < 0.3 else ""
            made = f"({inner.join(part(levels - 1) for _ in range(chance.randint(1, 3)))})"
        return made + chance.choice(REPEATS)

    return [
        chance.choice(FLAGS) + "".join(part(4) for _ in range(chance.randint(1, 3)))
        for _ in range(number)
    ]


def tried(patterns: list[str]) -> tuple[int, str]:
    """How a process ended that tried them, each with ten seconds at most, and the last it said."""
    code = CHILD.replace("TEXTS", repr(TEXTS))
    done = subprocess.run(
        [sys.executable, "-c", code], input=repr(patterns), capture_output=True, encoding="utf-8",
        timeout=1_200, check=False,
    )  # fmt: skip
    last = done.stdout.splitlines()[-1:] or [""]
    return done.returncode, last[0] if done.returncode >= 0 else f"{last[0]} {done.stderr[-300:]}"


@pytest.mark.skipif(sys.platform == "win32", reason="limits of a process are Unix's")
@pytest.mark.parametrize("seed", range(4))
def test_no_pattern_runs_beyond_its_time(seed: int):
    assert tried(drawn(seed, 60)) == (0, "done")


if __name__ == "__main__":
    first, number = (int(given) for given in (*sys.argv[1:3], "1", "1000")[:2])
    started = time.monotonic()
    print(tried(drawn(first, number)), f"{time.monotonic() - started:.0f} s")

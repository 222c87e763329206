"""Reports made by hand, for tests of what shows them."""

from collections.abc import Sequence
from dataclasses import replace
from functools import cache

from context_compression.report.model import (
    Archived,
    CompactionMark,
    Consumer,
    Cost,
    EvidenceClass,
    Point,
    Repeated,
    Report,
    StoreHealth,
)
from context_compression.report.totals import AllSessions, SessionTotal, summed_up
from context_compression.transcripts import Compaction

BEGAN = 1_773_300_000.0
FIRST_REF, SECOND_REF = "a1b2c3", "d4e5f6"


def sample_report() -> Report:
    """An afternoon's session: 60 requests, two compactions, three originals."""
    log = "\n".join(f"test {n} passed" for n in range(400))
    return Report(
        session="0198c2f4-session",
        host="claude-code",
        project="/home/ada/engine",
        title="Make the difference engine print its tables",
        model="claude-opus-5",
        began=BEGAN,
        ended=BEGAN + 60 * 90,
        messages=131,
        window=200_000,
        threshold=160_000,
        used=points()[-1].tokens,
        points=points(),
        compactions=[
            CompactionMark(
                25, Compaction(BEGAN + 2_400, "auto", "context-compression", 160_400, 31_000)
            ),
            CompactionMark(50, Compaction(None, "manual", "claude-code", 158_000, None)),
        ],
        by_tool=[
            Consumer("Read", 142_003, 61, 24_010),
            Consumer("Bash", 80_004, 44, 18_100),
            Consumer("mcp__browser__take_snapshot_of_the_whole_page", 22_000, 7, 9_100),
        ],
        by_file=[
            Consumer("/home/ada/engine/src/carriage/mechanism.py", 61_000, 9, 24_010),
            Consumer("/etc/hosts", 300, 1, 300),
        ],
        repeated=[Repeated("/home/ada/engine/src/carriage/mechanism.py", 8, 61_000, 52_000)],
        archived=[
            Archived(FIRST_REF, "result of Bash: pytest", 18_100, BEGAN + 2_400, 2, log,
                     "test 0 passed\ntest 1 passed\n[397 lines are archived as a1b2c3]\n"
                     "test 399 passed", 0),
            Archived(SECOND_REF, "result of Read: mechanism.py", 9_000, None, 0,
                     "class Carriage:\n    pass", "", 12_345),
            Archived("070809", "text of the user", 1_200, BEGAN + 3_000, 0,
                     "the same line\nالسطر الثاني", "the same line\nالسطر الثاني"),
        ],
        archived_total=3,
        cost=Cost(60, 2_100_000, 3_400_000, 41_000, True, 9),
        evidence=[
            EvidenceClass("paths", 120, 70, 50, 0),
            EvidenceClass("commands", 44, 20, 20, 4),
            EvidenceClass("urls", 0, 0, 0, 0),
        ],
        store=StoreHealth("/home/ada/engine/.compression", 2_345_678, 3, 3),
        warnings=["Line 12 is not JSON."],
    )  # fmt: skip


def points(number: int = 60, steps: Sequence[int] = (25, 50)) -> list[Point]:
    """The context of requests that grows until each step, and begins small after it."""
    made: list[Point] = []
    grown = 0
    for index in range(1, number + 1):
        grown += 1
        size = 12_000 + grown * 5_700
        kinds = {
            "tool results": size * 6 // 10,
            "assistant text": size // 10,
            "tool calls": size // 10,
            "thinking": size // 20,
            "user text": 1_500,
            "host text": 800,
            "structure": 200,
            "our notes": 2_000 if index > 25 else 0,
            "system prompt, tools and the like": 11_000,
        }
        charged = sum(kinds.values()) + 120
        made.append(Point(index, BEGAN + 90 * index, kinds, charged))
        grown = 1 if index in steps else grown
    return made


def empty_report() -> Report:
    """A session of which nothing is known."""
    return Report(
        session="", host="", project="", title="", model="", began=None, ended=None, messages=0,
        window=0, threshold=0, used=0, points=[], compactions=[], by_tool=[], by_file=[],
        repeated=[], archived=[], archived_total=0, cost=Cost(0, 0, 0, 0, False), evidence=[],
        store=StoreHealth("", 0, 0, 0),
    )  # fmt: skip


@cache
def long_report() -> Report:
    """A hundred originals of the largest size, 100,000 requests."""
    text = "\n".join(f"{n:05} {'wörter ' * 9}" for n in range(280))[:20_000]
    stage = points(30)
    originals = [
        Archived(f"{n:06x}", f"result {n}", 9_000, BEGAN + n, n % 3, text, text[::2], 0)
        for n in range(100)
    ]
    return replace(
        sample_report(),
        points=[Point(n, BEGAN + n, stage[n % 30].by_kind) for n in range(1, 100_001)],
        compactions=[CompactionMark(n, Compaction(None)) for n in range(30, 100_000, 30)],
        archived=originals,
        archived_total=4_321,
    )


def sample_of_all() -> AllSessions:
    """Two hundred sessions of forty projects in half a year; some without a known price."""
    read = [
        SessionTotal(
            session=f"s-{n}", host=("claude-code", "codex", "recorded")[n % 3],
            project=f"/home/ada/project-{n % 40}" if n != 50 else "", last=BEGAN + 80_000 * n,
            requests=5 + n, input=1_000_000 * (40 - n % 40), output=9_000 + n,
            dollars=None if n % 11 == 0 else 1.5 + n, models=("a-model-1",) if n % 11 == 0 else (),
            compactions=n % 4, by_us=n % 2 if n % 4 else 0, measured=n % 5 > 0,
        )
        for n in range(200)
    ]  # fmt: skip
    return summed_up(read, 12, ["/home/ada/broken.jsonl cannot be read: it is not JSON"])

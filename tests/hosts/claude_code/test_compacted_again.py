"""Several compactions in one transcript: whose summary is in the context, and what came before."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from transcripts import Row, shown, written

from context_compression import hosts
from context_compression.hosts import FORMATS, Readings
from context_compression.transcripts import FileReading

MISPLACED = (
    "Rows that name a parent from before the last compaction were put behind it: 1 (rows 1)."
)
REWOUND = "The conversation goes on from before its last compaction, which is left out."


class Session:
    """A transcript as the host writes it: each row follows the one before unless told otherwise."""

    def __init__(self) -> None:
        self.rows: list[Row] = []

    def add(self, kind: str, uuid: str, parent: str | None = "", **about: Any) -> "Session":
        parent = (self.rows[-1]["uuid"] if self.rows else None) if parent == "" else parent
        row: Row = {"type": kind, "uuid": uuid, "parentUuid": parent, "sessionId": "s"}
        self.rows.append({**row, "isSidechain": False, **about})
        return self

    def user(self, uuid: str, parent: str | None = "", **about: Any) -> "Session":
        message = {"role": "user", "content": f"asks {uuid}"}
        return self.add("user", uuid, parent, message=message, **about)

    def assistant(self, uuid: str, parent: str | None = "") -> "Session":
        said = [{"type": "text", "text": f"answers {uuid}"}]
        return self.add(
            "assistant", uuid, parent, message={"id": uuid, "role": "assistant", "content": said}
        )

    def turns(self, *names: str) -> "Session":
        """`turns("a", "b")`: a1 asks, a2 answers, b1 asks, b2 answers."""
        for name in names:
            self.user(f"{name}1").assistant(f"{name}2")
        return self

    def compacted(self, name: str, kept: Sequence[str] = (), listed: bool = True) -> "Session":
        """A boundary and its summary: `K` has the boundary K0 and the summary K1."""
        about: Row = {"trigger": "manual"}
        if kept:
            ends = {"headUuid": kept[0], "anchorUuid": f"{name}1", "tailUuid": kept[-1]}
            about |= {"preservedSegment": ends}
        if kept and listed:
            about |= {"preservedMessages": {"uuids": list(kept)}}
        before = self.rows[-1]["uuid"]
        boundary = {"subtype": "compact_boundary", "logicalParentUuid": before}
        self.add("system", f"{name}0", None, compactMetadata=about, **boundary)
        return self.user(f"{name}1", isCompactSummary=True)

    def without(self, uuid: str) -> "Session":
        self.rows = [row for row in self.rows if row["uuid"] != uuid]
        return self

    def written_anew(self, count: int) -> "Session":
        """The first rows stand there once more."""
        self.rows += self.rows[:count]
        return self

    def hung(self, uuid: str, parent: str) -> "Session":
        """A row follows another one."""
        self.rows = [r | {"parentUuid": parent} if r["uuid"] == uuid else r for r in self.rows]
        return self

    def copy(self) -> "Session":
        new = Session()
        new.rows = [*self.rows]
        return new

    def read(self, folder: Path) -> hosts.Transcript:
        """What is read at once, which is what is read row by row."""
        path = folder / "s.jsonl"
        growing = FileReading(path, FORMATS)
        for count in range(1, len(self.rows) + 1):
            grown = growing.look() if written(path, self.rows[:count]) else None
            assert grown == hosts.read(path)
        return hosts.read(path)


def said(*uuids: str) -> list[str]:
    """As `shown` has them: those that end in 2 are the assistant's."""
    roles = ("assistant | answers" if uuid.endswith("2") else "user | asks" for uuid in uuids)
    return [f"{role} {uuid}" for role, uuid in zip(roles, uuids, strict=True)]


TWICE = Session().turns("a").compacted("K").turns("b").compacted("L")
STOP = {"subtype": "stop_hook_summary"}
CASES: dict[str, tuple[Session, str] | tuple[Session, str, list[str]]] = {
    **{
        f"after a second compaction, rows that hang off {parent} do not bring the old history back":
        (Session().turns("a", "b").compacted("K").turns("c").compacted("L")
         .user("d1", parent).assistant("d2"), "L1 d1 d2", [MISPLACED])
        for parent in ("a1", "a2", "b1", "b2")
    },
    "after a third compaction the newest summary stands too":
        (TWICE.copy().user("c1", "a2").assistant("c2").compacted("M").user("d1", "b1")
         .assistant("d2"), "M1 d1 d2"),
    "every turn may hang off the old history":
        (TWICE.copy().user("c1", "a1").assistant("c2").user("d1", "a1").assistant("d2"),
         "L1 c1 c2 d1 d2"),
    "what the second compaction kept stays":
        (Session().turns("a").compacted("K").turns("b", "c").compacted("L", ["c1", "c2"])
         .user("d1", "a1").assistant("d2"), "L1 c1 c2 d1 d2", [MISPLACED]),
    **{  # versions 2.1.237 to 2.1.260 hang the row that ends a turn off the old history
        f"a misplaced row that was kept does not bring the old history back, {listed=}":
        (Session().turns("a").compacted("K").turns("b").written_anew(2)
         .add("system", "stop", "a1", **STOP).compacted("L", ["b2", "stop"], listed)
         .user("d1", "stop").assistant("d2"), "L1 b2 d1 d2", [])
        for listed in (True, False)
    },
    "the next prompt does not follow a misplaced row into the old history":
        (Session().turns("a").compacted("K").turns("b").add("system", "stop", "a1", **STOP)
         .turns("c"), "K1 b1 b2 c1 c2"),
    "a row behind the end of what was summed up is no rewind":
        (Session().turns("a", "b").compacted("K").user("c1", "b2").assistant("c2"), "K1 c1 c2"),
    "a prompt in place of an old one goes back to before the compaction and says so":
        (Session().turns("a", "b").compacted("K").turns("c").user("d1", "a2"), "a1 a2 d1",
         [REWOUND]),
    "so does one in place of the first":
        (Session().turns("a", "b").compacted("K").turns("c").user("d1", None), "d1", [REWOUND]),
    "a prompt in place of one between two compactions has the first summary":
        (Session().turns("a").compacted("K").turns("b", "c").compacted("L").turns("d")
         .user("e1", "b2").assistant("e2"), "K1 b1 b2 e1 e2"),
    "a compaction in a branch that was left does not count":
        (Session().turns("a", "b").compacted("K").turns("c").user("d1", "a2").assistant("d2")
         .compacted("L").turns("e").user("f1", "a2").assistant("f2"), "a1 a2 f1 f2", [REWOUND]),
    "a cleared result is no compaction":
        (Session().turns("a").add("system", "m0", subtype="microcompact_boundary").turns("b")
         .user("c1", "a2").assistant("c2"), "a1 a2 c1 c2"),
    **{
        f"a summary whose boundary is lost begins the context, without {lost}":
        (TWICE.copy().turns("c").without(lost), "L1 c1 c2") for lost in ("L0", "K0")
    },
    "a summary without a boundary is a message like others":
        (Session().turns("a").user("b1", isCompactSummary=True).assistant("b2"), "a1 a2 b1 b2"),
    "a summary that hangs off the old history belongs to its boundary":
        (Session().turns("a", "b").compacted("K").turns("c").hung("K1", "a2"), "K1 c1 c2"),
    "what was kept is found where the summary is lost":
        (Session().turns("a", "b").compacted("K", ["b1", "b2"]).user("c1", "b2").without("K1"),
         "b1 b2 c1"),
    "a boundary begins a context whatever it names as its parent":
        (Session().turns("a").compacted("K").turns("b").hung("K0", "a2"), "K1 b1 b2"),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_the_context_is_that_of_the_newest_compaction_of_its_branch(case: str, tmp_path: Path):
    session, expected, *warnings = CASES[case]

    transcript = session.read(tmp_path)

    assert shown(transcript) == said(*expected.split())
    assert warnings in ([], [transcript.warnings])


def test_a_session_that_was_compacted_is_called_what_it_began_with(tmp_path: Path):
    session = Session().turns("A", "B").compacted("K").turns("C")
    path = written(tmp_path / "s.jsonl", session.rows)

    assert Readings().first_words(path) == "asks A1"

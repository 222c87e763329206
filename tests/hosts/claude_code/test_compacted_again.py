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

    def without(self, *uuids: str) -> "Session":
        self.rows = [row for row in self.rows if row["uuid"] not in uuids]
        return self

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


@pytest.mark.parametrize("parent", ["a1", "a2", "b1", "b2"])
def test_after_a_second_compaction_rows_that_hang_off_the_old_history_do_not_bring_it_back(
    parent: str, tmp_path: Path
):
    session = Session().turns("a", "b").compacted("K").turns("c").compacted("L")
    session.user("d1", parent).assistant("d2")

    transcript = session.read(tmp_path)

    assert shown(transcript) == said("L1", "d1", "d2")
    assert transcript.warnings == [MISPLACED]


def test_after_a_third_compaction_the_newest_summary_stands_too(tmp_path: Path):
    session = Session().turns("a").compacted("K").turns("b").compacted("L")
    session.user("c1", "a2").assistant("c2").compacted("M").user("d1", "b1").assistant("d2")

    transcript = session.read(tmp_path)

    assert shown(transcript) == said("M1", "d1", "d2")


def test_every_turn_may_hang_off_the_old_history(tmp_path: Path):
    session = Session().turns("a").compacted("K").turns("b").compacted("L")
    session.user("c1", "a1").assistant("c2").user("d1", "a1").assistant("d2")

    transcript = session.read(tmp_path)

    assert shown(transcript) == said("L1", "c1", "c2", "d1", "d2")


def test_what_the_second_compaction_kept_stays(tmp_path: Path):
    session = Session().turns("a").compacted("K").turns("b", "c").compacted("L", ["c1", "c2"])
    session.user("d1", "a1").assistant("d2")

    transcript = session.read(tmp_path)

    assert shown(transcript) == said("L1", "c1", "c2", "d1", "d2")
    assert transcript.warnings == [MISPLACED]


@pytest.mark.parametrize("listed", [True, False])
def test_a_misplaced_row_that_was_kept_does_not_bring_the_old_history_back(
    listed: bool, tmp_path: Path
):
    """Versions 2.1.237 to 2.1.260 hang the row that ends a turn off the old history."""
    session = Session().turns("a").compacted("K").turns("b")
    session.rows += session.rows[:2]  # they write it anew as well
    session.add("system", "stop", "a1", subtype="stop_hook_summary")
    session.compacted("L", ["b2", "stop"], listed).user("d1", "stop").assistant("d2")

    transcript = session.read(tmp_path)

    assert shown(transcript) == said("L1", "b2", "d1", "d2")
    assert transcript.warnings == []


def test_the_next_prompt_does_not_follow_a_misplaced_row_into_the_old_history(tmp_path: Path):
    session = Session().turns("a").compacted("K").turns("b")
    session.add("system", "stop", "a1", subtype="stop_hook_summary").turns("c")

    transcript = session.read(tmp_path)

    assert shown(transcript) == said("K1", "b1", "b2", "c1", "c2")


def test_a_row_behind_the_end_of_what_was_summed_up_is_no_rewind(tmp_path: Path):
    session = Session().turns("a", "b").compacted("K").user("c1", "b2").assistant("c2")

    transcript = session.read(tmp_path)

    assert shown(transcript) == said("K1", "c1", "c2")


@pytest.mark.parametrize("parent", ["a2", None])
def test_a_prompt_in_place_of_an_old_one_goes_back_to_before_the_compaction_and_says_so(
    parent: str | None, tmp_path: Path
):
    session = Session().turns("a", "b").compacted("K").turns("c").user("d1", parent)

    transcript = session.read(tmp_path)

    assert shown(transcript) == said(*(["a1", "a2", "d1"] if parent else ["d1"]))
    assert transcript.warnings == [REWOUND]


def test_a_prompt_in_place_of_one_between_two_compactions_has_the_first_summary(tmp_path: Path):
    session = Session().turns("a").compacted("K").turns("b", "c").compacted("L").turns("d")
    session.user("e1", "b2").assistant("e2")

    transcript = session.read(tmp_path)

    assert shown(transcript) == said("K1", "b1", "b2", "e1", "e2")


def test_a_compaction_in_a_branch_that_was_left_does_not_count(tmp_path: Path):
    session = Session().turns("a", "b").compacted("K").turns("c")
    session.user("d1", "a2").assistant("d2").compacted("L").turns("e")
    session.user("f1", "a2").assistant("f2")  # once more, past the compaction of this branch

    transcript = session.read(tmp_path)

    assert shown(transcript) == said("a1", "a2", "f1", "f2")
    assert transcript.warnings == [REWOUND]


def test_a_cleared_result_is_no_compaction(tmp_path: Path):
    session = Session().turns("a").add("system", "m0", subtype="microcompact_boundary")
    session.turns("b").user("c1", "a2").assistant("c2")

    assert shown(session.read(tmp_path)) == said("a1", "a2", "c1", "c2")


def test_a_summary_whose_boundary_is_lost_begins_the_context(tmp_path: Path):
    session = Session().turns("a").compacted("K").turns("b").compacted("L").turns("c")

    assert shown(session.without("L0").read(tmp_path)) == said("L1", "c1", "c2")
    assert shown(session.without("K0").read(tmp_path)) == said("L1", "c1", "c2")


def test_a_summary_without_a_boundary_is_a_message_like_others(tmp_path: Path):
    session = Session().turns("a").user("b1", isCompactSummary=True).assistant("b2")

    assert shown(session.read(tmp_path)) == said("a1", "a2", "b1", "b2")


def test_a_summary_that_hangs_off_the_old_history_belongs_to_its_boundary(tmp_path: Path):
    session = Session().turns("a", "b").compacted("K").turns("c")
    session.rows[5]["parentUuid"] = "a2"

    assert shown(session.read(tmp_path)) == said("K1", "c1", "c2")


def test_what_was_kept_is_found_where_the_summary_is_lost(tmp_path: Path):
    session = Session().turns("a", "b").compacted("K", ["b1", "b2"]).user("c1", "b2")

    assert shown(session.without("K1").read(tmp_path)) == said("b1", "b2", "c1")


def test_a_boundary_begins_a_context_whatever_it_names_as_its_parent(tmp_path: Path):
    session = Session().turns("a").compacted("K").turns("b")
    session.rows[2]["parentUuid"] = "a2"

    assert shown(session.read(tmp_path)) == said("K1", "b1", "b2")


def test_a_session_that_was_compacted_is_called_what_it_began_with(tmp_path: Path):
    session = Session().turns("A", "B").compacted("K").turns("C")
    path = written(tmp_path / "s.jsonl", session.rows)

    assert Readings().first_words(path) == "asks A1"

"""What recall tools publish: the measures, the talks as their authors write them, made homes."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from context_compression.hosts import read

pytestmark = pytest.mark.slow

Script = Callable[[str], ModuleType]

TALK: dict[str, Any] = {
    "sample_id": "talk-1",
    "conversation": {
        "speaker_a": "Ada",
        "speaker_b": "Ben",
        "session_1_date_time": "1:56 pm on 8 May, 2023",
        "session_1": [
            {"speaker": "Ada", "dia_id": "D1:1", "text": "Hello Ben!"},
            {"speaker": "Ben", "dia_id": "D1:2", "text": "I bought a red canoe in Lucerne."},
        ],
        "session_2_date_time": "9:05 am on 1 June, 2023",
        "session_2": [
            {"speaker": "Ben", "dia_id": "D2:1", "text": "Look.", "blip_caption": "a grey kitten"},
            {"speaker": "Ada", "dia_id": "D2:2", "text": "My sister Iris plays the cello."},
        ],
        "session_3_date_time": "10:00 am on 2 June, 2023",
        "session_3": [],
    },
    "qa": [
        {"question": "Where did Ben buy a canoe?", "evidence": ["D1:2"], "category": 4},
        {"question": "What is with the kitten?", "evidence": ["D2:1; D1:1"], "category": 1},
        {"question": "Who is not in the talk?", "evidence": [], "category": 5},
    ],
}
HAYSTACK: dict[str, Any] = {
    "question_id": "q1",
    "question_type": "single-session-user",
    "question": "Which instrument does my sister play?",
    "haystack_session_ids": ["a", "b"],
    "haystack_dates": ["2023/04/10 (Mon) 17:50", "2023/04/11 (Tue) 08:00"],
    "answer_session_ids": ["b"],
    "haystack_sessions": [
        [{"role": "user", "content": "Name a lake."}, {"role": "assistant", "content": "Geneva."}],
        [
            {"role": "user", "content": "My sister Iris plays the cello.", "has_answer": True},
            {"role": "assistant", "content": "Lovely."},
        ],
    ],
}


def measured(script: Script, ranking: str, right: str) -> dict[str, float]:
    """The measures of sessions named by letters, the best first."""
    place = script("field.haystacks").Place
    found = script("field.recall").measured(
        [place(each, -1) for each in ranking], frozenset(place(each, -1) for each in right)
    )
    return {name: round(value, 3) for name, value in found.items()}


def test_the_measures_are_those_of_longmemeval(script: Script) -> None:
    first = {"hit@1": 1, "R@5": 1, "R@5, all of it": 1, "MRR": 1, "NDCG@10": 1}
    assert measured(script, "abcdef", "a") == first
    assert measured(script, "abcdef", "b") == first | {"hit@1": 0, "MRR": 0.5}
    assert measured(script, "abcdef", "df") == {
        "hit@1": 0, "R@5": 1, "R@5, all of it": 0, "MRR": 0.25, "NDCG@10": 0.443,
    }  # fmt: skip
    assert measured(script, "abcdef", "x") == dict.fromkeys(first, 0)


def test_the_authors_file_of_locomo_is_read_with_its_times_and_evidence(
    script: Script, tmp_path: Path
) -> None:
    haystacks = script("field.haystacks")
    (tmp_path / haystacks.LOCOMO).write_text(json.dumps([TALK]), encoding="utf-8")

    [talk] = haystacks.locomo(tmp_path)

    said = {name: [*map(haystacks.text_of, each)] for name, each in talk.sessions.items()}
    assert said == {
        "talk-1 1": [
            "[1:56 pm on 8 May, 2023] Ada: Hello Ben!",
            "Ben: I bought a red canoe in Lucerne.",
        ],
        "talk-1 2": [
            "[9:05 am on 1 June, 2023] Ben: Look. [shares a grey kitten]",
            "Ada: My sister Iris plays the cello.",
        ],
    }
    assert [each.isoformat() for each in talk.began.values()] == [
        "2023-05-08T13:56:00+00:00",
        "2023-06-01T09:05:00+00:00",
    ]
    assert [(each.kind, asked_at(each)) for each in talk.questions] == [
        ("single-hop", {("talk-1 1", 1)}),
        ("multi-hop", {("talk-1 1", 0), ("talk-1 2", 0)}),
    ]


def test_the_authors_file_of_longmemeval_is_read_without_what_has_no_answer(
    script: Script, tmp_path: Path
) -> None:
    haystacks = script("field.haystacks")
    both = [HAYSTACK, HAYSTACK | {"question_id": "q2_abs"}]
    (tmp_path / haystacks.LONGMEMEVAL).write_text(json.dumps(both), encoding="utf-8")

    [haystack] = haystacks.longmemeval(tmp_path)

    assert [asked_at(each) for each in haystack.questions] == [{("1 b", 0)}]
    assert haystack.began["0 a"].isoformat() == "2023-04-10T17:50:00+00:00"


def test_a_search_of_written_transcripts_finds_the_evidence(script: Script, tmp_path: Path) -> None:
    haystacks, recall = script("field.haystacks"), script("field.recall")
    (tmp_path / haystacks.LOCOMO).write_text(json.dumps([TALK]), encoding="utf-8")

    found = {table.heading: table.rows for table in recall.tables(tmp_path)}

    sessions, messages, *not_measured = found
    assert [each.split(",")[1] for each in not_measured] == [" not measured here: sessions found"]
    assert sessions == "LoCoMo, 1 talks, 2 questions: sessions found, %"
    for level in (sessions, messages):
        ours: Mapping[str, Any] = found[level]["context-compression"]
        assert ours["hit@1"].value == ours["R@5"].value == 1


def test_a_made_home_holds_sessions_of_several_hosts_that_our_readers_read(
    script: Script, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    homes = script("made_homes")
    talk = [
        {"role": "user", "content": [{"type": "text", "text": f"Read parse_all in {n}00 files."}]}
        for n in range(1, 4)
    ]
    monkeypatch.setattr(homes, "sources", lambda: iter([talk]))

    home = homes.fill(homes.made(tmp_path), 20)

    files = [*tmp_path.rglob("*.jsonl")]
    assert len(files) == 22
    texts = {str(message["content"]) for file in files for message in read(file).messages}
    assert len(texts) > len(files)  # nearly all differ
    assert home.bytes == sum(f.stat().st_size for f in files if b"elsewhere" not in f.read_bytes())
    assert {file.relative_to(tmp_path).parts[0] for file in files} == {".claude", ".codex", ".pi"}


def asked_at(asked: Any) -> set[tuple[str, int]]:
    return {(place.session, place.turn) for place in asked.evidence}

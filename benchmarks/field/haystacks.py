"""Talks of many sessions with questions about them, as tools that recall sessions are measured on.

The talks of LoCoMo and BEAM are read from `locomo.jsonl.gz` and `beam.jsonl.gz`. Whoever has the
files of their authors, `locomo10.json` and `longmemeval_s_cleaned.json`, puts them into the same
folder: then all ten talks of LoCoMo are read, and LongMemEval.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any

from recordings import Messages

from field.conversations import Conversation, Question, load

LOCOMO, LONGMEMEVAL = "locomo10.json", "longmemeval_s_cleaned.json"
ADVERSARIAL = 5  # LoCoMo's number for questions that the talk does not answer
CATEGORIES = {
    1: "multi-hop",
    2: "when",
    3: "inference",
    4: "single-hop",
    ADVERSARIAL: "adversarial",
}
ASK_FOR_FACTS = (
    "information_extraction", "knowledge_update", "multi_session_reasoning", "temporal_reasoning",
    "preference_following",
)  # fmt: skip
"""The kinds of BEAM's questions that LongMemEval has, too."""
PIECE = 4  # messages of a chat that has no sessions: two questions and their answers
SESSIONS = 48  # in a haystack of LongMemEval-S, about
FIRST = datetime(2023, 1, 2, 9, 0, tzinfo=UTC)
_BEGINS = re.compile(r"\[(\d[^\]]*)\] ")
_TURN = re.compile(r"D:?(\d+):(\d+)")


@dataclass(frozen=True)
class Place:
    """A message, by its session and its index there."""

    session: str
    turn: int


@dataclass(frozen=True)
class Asked:
    """A question, and the places of its evidence; at least one."""

    text: str
    evidence: frozenset[Place]
    kind: str


@dataclass(frozen=True)
class Haystack:
    """Sessions, in order, and questions about them.

    Attributes:
        sessions: messages in blocks, by the session's name.
        began: when each session began.
    """

    name: str
    sessions: Mapping[str, Messages]
    began: Mapping[str, datetime]
    questions: Sequence[Asked]


def locomo(folder: Path) -> list[Haystack]:
    """The talks of two people; only questions that have evidence."""
    if (folder / LOCOMO).exists():
        saved = json.loads((folder / LOCOMO).read_text(encoding="utf-8"))
        return [_of_the_authors(each) for each in saved]
    return [
        _haystack(talk, _begin_with_a_time(talk.messages), talk.questions)
        for talk in load(folder, "locomo")
    ]


def beam(folder: Path) -> list[Haystack]:
    """The long chats with an assistant, in pieces of four messages, for they have no sessions."""
    return [
        _haystack(chat, range(0, len(chat.messages), PIECE), chat.questions)
        for chat in load(folder, "beam")
    ]


def longmemeval(folder: Path) -> Iterator[Haystack]:
    """A haystack for each question of LongMemEval-S that has an answer in it."""
    path = folder / LONGMEMEVAL
    for saved in json.loads(path.read_text(encoding="utf-8")) if path.exists() else ():
        if not saved["question_id"].endswith("_abs"):
            yield _of_longmemeval(saved)


def like_longmemeval(folder: Path) -> Iterator[Haystack]:
    """A haystack for each question to BEAM's chats, as LongMemEval-S makes them.

    It holds the pieces of the chat with the evidence, among pieces of the other chats, up to
    `SESSIONS`.
    """
    chats = beam(folder)
    for chat in chats:
        others = [(other, name) for other in chats if other is not chat for name in other.sessions]
        for number, asked in enumerate(chat.questions):
            if asked.kind in ASK_FOR_FACTS:
                own = {place.session for place in asked.evidence}
                rng = Random(f"{chat.name} {number}")
                drawn = rng.sample(others, max(0, SESSIONS - len(own)))
                held = [*drawn, *((chat, name) for name in chat.sessions if name in own)]
                rng.shuffle(held)
                sessions = {name: talk.sessions[name] for talk, name in held}
                began = {name: FIRST + timedelta(days=at) for at, name in enumerate(sessions)}
                yield Haystack(f"{chat.name} {number}", sessions, began, [asked])


def _begin_with_a_time(messages: Messages) -> list[int]:
    """Where sessions begin: with a time in brackets; a greeting before the first is of it."""
    timed = [at for at, message in enumerate(messages) if _BEGINS.match(text_of(message))]
    return [0, *timed[1:]]


def _haystack(talk: Conversation, starts: Sequence[int], questions: Sequence[Question]) -> Haystack:
    """A conversation in sessions that begin at some of its messages, the first at 0."""
    sessions: dict[str, Messages] = {}
    began: dict[str, datetime] = {}
    places: list[Place] = []
    for number, start in enumerate(starts):
        stop = starts[number + 1] if number + 1 < len(starts) else len(talk.messages)
        name = f"{talk.id} {number + 1}"
        sessions[name] = talk.messages[start:stop]
        began[name] = _time(text_of(talk.messages[start])) or FIRST + timedelta(days=number)
        places += [Place(name, turn) for turn in range(stop - start)]
    asked = [
        Asked(
            each.text, frozenset(places[at] for at in each.evidence if at < len(places)), each.kind
        )
        for each in questions
    ]
    return Haystack(talk.id, sessions, began, [each for each in asked if each.evidence])


def _of_the_authors(saved: Mapping[str, Any]) -> Haystack:
    """A talk of `locomo10.json`; a picture is what its caption says."""
    talk = saved["conversation"]
    name = str(saved["sample_id"])
    sessions: dict[str, Messages] = {}
    began: dict[str, datetime] = {}
    places: dict[tuple[int, int], Place] = {}
    numbers = [int(key[8:]) for key in talk if re.fullmatch(r"session_\d+", key)]
    for number in sorted(n for n in numbers if talk[f"session_{n}"]):
        session = f"{name} {number}"
        time = str(talk.get(f"session_{number}_date_time", ""))
        sessions[session] = []
        for turn, said in enumerate(talk[f"session_{number}"]):
            picture = f" [shares {said['blip_caption']}]" if said.get("blip_caption") else ""
            text = f"{said['speaker']}: {said['text']}{picture}"
            role = "user" if said["speaker"] == talk["speaker_a"] else "assistant"
            sessions[session].append(_message(role, text if turn else f"[{time}] {text}"))
            if found := _TURN.search(str(said.get("dia_id"))):
                places[int(found[1]), int(found[2])] = Place(session, turn)
        began[session] = _time(f"[{time}] ") or FIRST + timedelta(days=number)
    questions: list[Asked] = []
    for each in saved["qa"]:
        named = _TURN.findall(" ".join(map(str, each.get("evidence") or ())))
        at = [(int(session), int(turn)) for session, turn in named]
        if evidence := frozenset(places[place] for place in at if place in places):
            kind = CATEGORIES.get(each["category"], str(each["category"]))
            questions.append(Asked(each["question"], evidence, kind))
    return Haystack(name, sessions, began, questions)


def _of_longmemeval(saved: Mapping[str, Any]) -> Haystack:
    """A question of LongMemEval with its sessions; the answering ones count whole."""
    names = [f"{number} {id}" for number, id in enumerate(saved["haystack_session_ids"])]
    sessions: dict[str, Messages] = {}
    began: dict[str, datetime] = {}
    evidence: set[Place] = set()
    right = {*saved["answer_session_ids"]}
    dates = saved["haystack_dates"]
    for number, (name, said) in enumerate(zip(names, saved["haystack_sessions"], strict=True)):
        sessions[name] = [_message(each["role"], each["content"]) for each in said]
        began[name] = _time(f"[{dates[number]}] ") or FIRST + timedelta(days=number)
        if saved["haystack_session_ids"][number] in right:
            marked = [turn for turn, each in enumerate(said) if each.get("has_answer")]
            evidence |= {Place(name, turn) for turn in marked or range(len(said))}
    asked = Asked(saved["question"], frozenset(evidence), saved["question_type"])
    return Haystack(saved["question_id"], sessions, began, [asked] if evidence else [])


def _time(text: str) -> datetime | None:
    """The time in brackets at the beginning, as LoCoMo or LongMemEval write it; `None` if none is.

    `_time("[1:56 pm on 8 May, 2023] Hi")`, `_time("[2023/04/10 (Mon) 17:50] Hi")`
    """
    if match := _BEGINS.match(text):
        for form in ("%I:%M %p on %d %B, %Y", "%Y/%m/%d (%a) %H:%M"):
            with suppress(ValueError):
                return datetime.strptime(match[1], form).replace(tzinfo=UTC)
    return None


def _message(role: str, text: str) -> dict[str, Any]:
    return {"role": role, "content": [{"type": "text", "text": text}]}


def text_of(message: Mapping[str, Any]) -> str:
    """The texts of a message."""
    return "\n".join(block.get("text", "") for block in message["content"])

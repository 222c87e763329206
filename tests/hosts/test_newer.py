"""What a newer host writes in another way is shown as it is, or told by its name; never dropped."""

import json
from collections.abc import Callable, Iterator
from contextlib import closing
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from any_shape import TALK, parts, places, replaced
from opencode_database import SecondHost
from transcripts import fixtures, rows_of, written

from context_compression.conversation import is_array, is_object
from context_compression.transcripts import Each, KnownText, Shape, looking_for

pytestmark = pytest.mark.slow

MARK, KIND = "MARK of a newer host", "kind-of-2031"
NAMES = ("type", "role", "kind", "status")
"""The names of fields that say what else is in the same object."""
OPEN = (*NAMES, "metadata")
"""The names of fields that hold no text, or whatever a provider puts there."""
BESIDE = ("claude_code-session", 8)
"""A row that is in the context only as the result of a call beside others; without its result, it
is of a branch that was left."""
Place = tuple[Any, ...]
Read = Callable[[Any], tuple[str, str]]
"""Reads a session whose rows are a JSON value; gives all that is shown of it, and what is told."""


def of_file(name: str) -> Read:
    """A session in a file of this name."""

    def read(rows: Any) -> tuple[str, str]:
        with TemporaryDirectory() as folder:
            path = Path(folder) / name
            if path.suffix == ".jsonl":
                return parts(written(path, rows))
            path.write_text(json.dumps(rows[0]), encoding="utf-8")
            return parts(path)

    return read


def of_second_database(rows: Any) -> tuple[str, str]:
    """A session in the database of opencode 2."""
    with TemporaryDirectory() as folder:
        host = SecondHost(Path(folder) / "opencode.db")
        with closing(host.db):
            return parts(host.keep("ses_cafe", [(kind, row) for kind, row in rows]))


SESSIONS: dict[str, tuple[list[Any], Read]] = {
    f"{path.parent.name}-{path.stem}": (
        rows_of(path) if path.suffix == ".jsonl" else [json.loads(path.read_bytes())],
        of_file(path.name),
    )
    for path in fixtures()
} | {"opencode-2": ([[kind, row] for kind, row in TALK], of_second_database)}


def at(value: Any, place: Place) -> Any:
    """What stands at a place."""
    for key in place:
        value = value[key]
    return value


@cache
def content(session: str) -> list[Place]:
    """The places of the texts that the model is sent, by trying each of them."""
    rows, read = SESSIONS[session]
    texts = [place for place in places(rows) if isinstance(at(rows, place), str)]
    texts = [place for place in texts if (session, place[0]) != BESIDE]
    return [place for place in texts if MARK in read(replaced(rows, place, MARK))[0]]


def around(session: str) -> Iterator[Place]:
    """The places of such texts, and of what holds them, up to the row."""
    rows, _ = SESSIONS[session]
    first = 2 if is_array(rows[0]) else 1
    seen: set[Place] = set()
    for place in content(session):
        for length in range(first + 1, len(place) + 1):
            if place[:length] not in seen:
                seen.add(place[:length])
                yield place[:length]


@pytest.mark.parametrize("session", SESSIONS)
def test_a_text_in_a_form_that_nobody_knows_is_shown_or_told(session: str):
    rows, read = SESSIONS[session]
    _, known = read(rows)
    lost: list[str] = []

    for place in around(session):
        if place[-1] in OPEN:
            continue
        was = at(rows, place)
        forms: list[Any] = [{"of2031": MARK}, [{"of2031": {"said": MARK}}]]
        if not isinstance(was, str):
            forms.append(MARK)
        for form in forms:
            shown, told = read(replaced(rows, place, form))
            if MARK not in shown and told == known:
                lost.append(f"{'/'.join(map(str, place))} as {json.dumps(form)}")

    assert content(session) and not lost, "\n".join(lost)


@pytest.mark.parametrize("session", SESSIONS)
def test_what_is_of_a_kind_that_nobody_knows_is_shown_or_told_by_name(session: str):
    rows, read = SESSIONS[session]
    lost: list[str] = []

    for place in content(session):
        marked = replaced(rows, place, MARK)
        for length in range(1, len(place)):
            holder = at(marked, place[:length])
            names = [name for name in NAMES if is_object(holder) and name in holder]
            named: list[Place] = [(*place[:length], name) for name in names]
            if session == "opencode-2" and length == 1:
                named.append((*place[:1], 0))
            for kind in named:
                if kind == place or not isinstance(at(marked, kind), str):
                    continue
                shown, told = read(replaced(marked, kind, KIND))
                if MARK not in shown and KIND not in told:
                    lost.append(f"{'/'.join(map(str, place))} of {'/'.join(map(str, kind))}")

    assert not lost, "\n".join(lost)


@pytest.mark.parametrize("session", SESSIONS)
def test_a_text_beside_a_known_one_is_no_reason_to_lose_the_known_one(session: str):
    rows, read = SESSIONS[session]

    for place in content(session):
        marked = replaced(rows, place, MARK)
        holder = at(marked, place[:-1])
        if is_object(holder):
            more = replaced(marked, place[:-1], {**holder, "of2031": ["x"]})
            assert MARK in read(more)[0], place


SHAPE: Shape = {
    "role": KnownText(frozenset({"user"})),
    "said": (str, [{"text": str}]),
    "sections": Each(str),
    "any": None,
}


CASES: list[tuple[Any, list[str]]] = [
    ({"role": "user", "said": "a"}, []),
    ({"said": [{"text": "a"}, {"text": None}, {"text": []}], "any": [1]}, []),
    ({"sections": {"a": "b"}, "more": 7}, []),
    ({}, []),
    ({"role": "judge"}, ["role judge"]),
    ({"role": ["user"]}, ["role"]),
    ({"said": {"text": "a"}}, ["said"]),
    ({"said": [{"text": "a"}, {"words": "b"}, "c"]}, ["said", "said"]),
    ({"said": [{"text": ["a"]}]}, ["said.text"]),
    ({"sections": {"a": ["b"]}}, ["sections.*"]),
    ({"more": 7}, ["row"]),
    ("text", ["row"]),
]


@pytest.mark.parametrize(("value", "strange"), CASES)
def test_what_has_another_shape_is_named_by_its_place(value: Any, strange: list[str]):
    found: list[str] = []

    looking_for(SHAPE)(value, found)

    assert [place or "row" for place in found] == strange


SAID = "Words of a newer host, which the model reads."
NEWER = {"claude_code": "2.99.0", "codex": "0.999.0", "copilot_cli": "9.0.1", "opencode": "1.99.0"}
"""Newer versions of the hosts that name theirs."""


def named_by(host: str, rows: list[Any], version: str) -> list[Any]:
    """The rows as a version of a host wrote them."""
    rows = json.loads(json.dumps(rows))
    match host:
        case "claude_code":
            for row in rows:
                row.update({"version": version} if "version" in row else {})
        case "codex":
            rows[0]["payload"]["cli_version"] = version
        case "copilot_cli":
            rows[0]["data"]["copilotVersion"] = version
        case _:
            rows[0]["info"]["version"] = version
    return rows


def holders(session: str) -> Iterator[Place]:
    """The places of the objects that hold texts that the model is sent, up to the row."""
    rows, _ = SESSIONS[session]
    seen: set[Place] = set()
    for place in content(session):
        for length in range(1, len(place)):
            holder = place[:length]
            if holder not in seen and is_object(at(rows, holder)):
                seen.add(holder)
                yield holder


@pytest.mark.parametrize("said", [SAID, [{"parts": {"a": SAID}}], "较新的主机写的字"])
@pytest.mark.parametrize("host", [*NEWER, "gemini_cli", "pi"])
def test_words_in_a_new_field_beside_known_ones_are_shown_or_told_of_a_newer_version(
    host: str, said: Any
):
    rows, read = SESSIONS[f"{host}-session"]
    newer = named_by(host, rows, NEWER[host]) if host in NEWER else rows
    before, lost = read(newer), list[Place]()

    for place in holders(f"{host}-session"):
        if place[-1] in ("response", "inlineData"):  # whatever a tool or a provider puts there
            continue
        if read(replaced(newer, place, {**at(newer, place), "of2031": said})) == before:
            lost.append(place)
        short = {**at(newer, place), "of2031": "a-short_id", "at": "2031-01-01T00:00:00Z"}
        assert "of2031" not in read(replaced(newer, place, short))[1], place

    assert not lost


@pytest.mark.parametrize("host", NEWER)
def test_words_in_a_new_field_are_not_told_of_a_version_that_was_seen(host: str):
    rows, read = SESSIONS[f"{host}-session"]
    seen = named_by(host, rows, "0.0.1" if host != "claude_code" else "2.0.1")

    for place in holders(f"{host}-session"):
        more = {**at(seen, place), "of2031": SAID}
        assert "of2031" not in read(replaced(seen, place, more))[1], place


@pytest.mark.parametrize("session", SESSIONS)
def test_a_newer_version_that_writes_as_before_is_not_told_of_fields(session: str):
    rows, read = SESSIONS[session]
    host = session.partition("-")[0]
    versioned = host in NEWER and session not in ("opencode-2", "claude_code-stream")
    newer = named_by(host, rows, NEWER[host]) if versioned else rows

    assert "in a form that is not known" not in read(newer)[1]

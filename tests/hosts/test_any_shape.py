"""Rows of any shape: what a host wrote is read, or told, or refused in words."""

import json
import shutil
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from any_shape import TALK, everything, places, replaced
from hypothesis import given
from hypothesis import strategies as st
from opencode_database import Host, SecondHost, message_id, user
from transcripts import FIXTURES, fixtures, rows_of, written

from context_compression import hosts
from context_compression.hosts.opencode.database import looking, sessions_where, title_of

pytestmark = pytest.mark.slow

MARK = "no word of a fixture"
FILES = fixtures()
SPOKEN = ["files", "skills", "content", "output", "summary", "recent", "text"]
"""The fields of opencode 2 that hold what the model is sent."""

VALUES = st.recursive(
    st.sampled_from([None, True, -5, 2**70, 1e308, "", MARK, "completed", "text"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["type", "text", "content", "role", "id", "data", "status", "message"]),
            inner,
            max_size=4,
        )
    ),
    max_leaves=6,
)
CELLS = st.sampled_from(
    [None, 5, -(2**63), 2**63 - 1, 1.5, "", MARK, "5", "null", "{bad", "[1]", b"\xff\x00", b"{}"]
)


@pytest.mark.parametrize("file", FILES, ids=[f"{f.parent.name}-{f.stem}" for f in FILES])
@given(data=st.data(), value=VALUES)
def test_a_value_of_any_type_in_any_place_is_no_crash(file: Path, data: st.DataObject, value: Any):
    rows = rows_of(file) if file.suffix == ".jsonl" else [json.loads(file.read_bytes())]
    number = data.draw(st.integers(0, len(rows) - 1))
    at = data.draw(st.sampled_from([*places(rows[number])]))
    rows[number] = replaced(rows[number], at, value)

    with TemporaryDirectory() as folder:
        assert everything(written(Path(folder) / file.name, rows))


@given(data=st.data(), value=VALUES)
def test_what_opencode_sends_the_model_is_read_or_told_whatever_its_shape(
    data: st.DataObject, value: Any
):
    marked = {"text": MARK, "also": value}
    given = data.draw(st.sampled_from([MARK, [MARK], [[MARK]], marked, [marked], {"a": [MARK]}]))
    number = data.draw(st.integers(0, len(TALK) - 1))
    kind, row = TALK[number]
    inside = [at for at in places(row) if at and at[-1] in SPOKEN and at[0] != "tokens"]
    changed = replaced(row, data.draw(st.sampled_from(inside)), given)
    rows = [*TALK[:number], (kind, changed), *TALK[number + 1 :]]

    with TemporaryDirectory() as folder:
        host = SecondHost(Path(folder) / "opencode.db")
        with closing(host.db):
            kept = host.keep("ses_cafe", rows)
            exported = Path(folder) / "s.json"
            messages = [{"id": f"msg_{n}", "type": k, **r} for n, (k, r) in enumerate(rows)]
            exported.write_text(json.dumps({"info": {"id": "ses_cafe"}, "messages": messages}))

            assert MARK in everything(kept)
            assert MARK in everything(exported)


CODEX = ["content", "output", "input", "replacement_history"]
SENT = [
    ("codex/session", ("response_item",), CODEX),
    ("codex/compacted", ("response_item", "compacted"), CODEX),
    ("codex/compacted-without-history", ("response_item", "compacted"), ["content", "message"]),
    ("pi/session", ("message",), ["content"]),
    ("pi/compacted", ("compaction",), ["summary"]),
    ("gemini_cli/session", ("user", "gemini"), ["content"]),
]
"""The fields of files that hold what the model is sent: file, types of rows, names."""


@given(data=st.data(), value=VALUES, sent=st.sampled_from(SENT))
def test_what_a_host_sends_the_model_is_read_or_told_whatever_its_shape(
    data: st.DataObject, value: Any, sent: tuple[str, Sequence[str], Sequence[str]]
):
    name, kinds, fields = sent
    rows = rows_of(FIXTURES / f"{name}.jsonl")
    last = {row["id"]: number for number, row in enumerate(rows) if "id" in row}
    inside = [
        (number, at)
        for number, row in enumerate(rows)
        if row.get("type") in kinds
        and last.get(row.get("id"), number) == number  # else a later row replaces it
        and '"aborted"' not in json.dumps(row)  # such an answer is not sent
        for at in places(row)
        if at and at[-1] in fields
    ]
    marked = {"text": MARK, "also": value}
    given = data.draw(st.sampled_from([MARK, [MARK], [[MARK]], marked, [marked], {"a": [MARK]}]))
    number, at = data.draw(st.sampled_from(inside))
    rows[number] = replaced(rows[number], at, given)

    with TemporaryDirectory() as folder:
        assert MARK in everything(written(Path(folder) / "rollout.jsonl", rows))


TABLES = ["session_v2", "session_message", "session", "message", "part"]
COLUMNS = [
    (table, name)
    for table, names in {
        "session_v2": "id parent_id fork_session_id fork_boundary directory title version revert "
        "time_updated",
        "session_message": "id session_id type seq time_created time_updated data",
        "session": "id parent_id directory title revert time_updated",
        "message": "id session_id time_created time_updated data",
        "part": "id message_id session_id time_updated data",
    }.items()
    for name in names.split()
]


@pytest.fixture(scope="module")
def databases(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A database of both generations, with a fork, whose columns take values of any type."""
    path = tmp_path_factory.mktemp("opencode") / "opencode.db"
    first = Host(path)
    with closing(first.db) as db:
        first.keep("compacted", "ses_first")
        second = SecondHost(path)
        with closing(second.db):
            second.keep("ses_base", TALK)
            boundary = json.dumps({"type": "through", "messageID": message_id("ses_base", 5)})
            second.keep(
                "ses_fork", [user("D?")], 20, fork_session_id="ses_base", fork_boundary=boundary
            )
        for table in TABLES:
            names = [row[1] for row in db.execute(f"PRAGMA table_info({table})")]
            db.execute(f"ALTER TABLE {table} RENAME TO strict_{table}")
            db.execute(f"CREATE TABLE {table} ({', '.join(names)})")
            db.execute(f"INSERT INTO {table} SELECT * FROM strict_{table}")
            db.execute(f"DROP TABLE strict_{table}")
        db.commit()
        db.execute("PRAGMA journal_mode = DELETE")
    return path


@given(value=CELLS, place=st.sampled_from(COLUMNS), number=st.integers(0, 50))
def test_a_cell_of_any_type_in_any_table_of_opencode_is_no_crash(
    databases: Path, value: Any, place: tuple[str, str], number: int
):
    table, column = place
    with TemporaryDirectory() as folder:
        path = Path(folder) / "opencode.db"
        shutil.copy(databases, path)
        with closing(sqlite3.connect(path)) as db:
            [count] = db.execute(f"SELECT count(*) FROM {table}").fetchone()
            changed = f"UPDATE {table} SET {column} = ? WHERE rowid = ?"
            db.execute(changed, (value, number % count + 1))
            db.commit()

        for session in ("ses_first", "ses_base", "ses_fork"):
            assert everything(path / session)
        assert everything(path)
        listed = looking(path, lambda db: sessions_where(path, db, "1", ()))
        assert len(listed) >= 2
        assert isinstance(title_of(path, "ses_base"), str)


@pytest.mark.parametrize("seq", [None, "abc", b"\x00"])
def test_a_row_without_a_place_is_told_by_name(seq: object, databases: Path, tmp_path: Path):
    path = _changed(tmp_path, databases, "UPDATE session_message SET seq = ? WHERE rowid = 8", seq)

    transcript = hosts.read(path / "ses_base")

    [said] = transcript.missing
    assert "msg_base0007" in said and "`seq` is no number" in said
    assert "And c?" not in json.dumps(transcript.messages)
    assert said in transcript.warnings


@pytest.mark.parametrize("id", [None, b"\xff", "msg_base0005", 5])
def test_rows_of_one_id_or_none_are_each_read(id: object, databases: Path, tmp_path: Path):
    path = _changed(tmp_path, databases, "UPDATE session_message SET id = ? WHERE rowid > 5", id)

    said = json.dumps(hosts.read(path / "ses_base").messages)

    assert all(words in said for words in ("Two folders.", "Go on.", "no file", "And c?"))


@pytest.mark.parametrize("kind", ["before", "through"])
def test_a_fork_at_the_smallest_place_is_read(kind: str, databases: Path, tmp_path: Path):
    path = _changed(
        tmp_path, databases, "UPDATE session_message SET seq = ? WHERE rowid = 6", -(2**63)
    )
    _changed(tmp_path, None, "UPDATE session_v2 SET fork_boundary = ?", json.dumps({
        "type": kind, "messageID": message_id("ses_base", 5)}
    ))  # fmt: skip

    said = json.dumps(hosts.read(path / "ses_fork").messages)

    assert ("Go on." in said) == (kind == "through") and "D?" in said


def test_a_fork_shows_no_session_that_it_does_not_go_back_to(databases: Path, tmp_path: Path):
    path = _changed(
        tmp_path, databases, "UPDATE session_message SET session_id = ? WHERE rowid < 7", "ses_x"
    )

    transcript = hosts.read(path / "ses_fork")

    assert "Two folders." not in json.dumps(transcript.messages)
    assert "what was said before the fork is missing" in transcript.missing[0]


@pytest.mark.parametrize("base", [5, b"ses_base", 1.5])
def test_the_base_of_a_fork_in_an_unknown_form_is_missing(
    base: object, databases: Path, tmp_path: Path
):
    path = _changed(
        tmp_path, databases, "UPDATE session_v2 SET fork_session_id = ? WHERE rowid = 2", base
    )

    assert "ses_fork was forked from" in hosts.read(path / "ses_fork").missing[0]


@pytest.mark.parametrize("revert", ["[1]", "{bad", b"\xff", '{"messageID": 5}', 5])
def test_a_revert_in_an_unknown_form_is_told(revert: object, databases: Path, tmp_path: Path):
    path = _changed(tmp_path, databases, "UPDATE session_v2 SET revert = ?", revert)

    assert "A revert is written in a form" in hosts.read(path / "ses_base").warnings[0]


def _changed(folder: Path, database: Path | None, statement: str, value: object) -> Path:
    """The database after a statement; the one that is there already if none is given."""
    path = folder / "opencode.db"
    if database:
        shutil.copy(database, path)
    with closing(sqlite3.connect(path)) as db:
        db.execute(statement, (value,))
        db.commit()
    return path

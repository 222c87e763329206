"""What holds for the transcripts of every host: read in pieces, torn, rewritten, packed."""

import gzip
import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st
from transcripts import FIXTURES, Row, fixtures, rows_of, shown, written

from context_compression import hosts
from context_compression.conversation import parse
from context_compression.errors import TranscriptError
from context_compression.hosts import FORMATS, Readings
from context_compression.hosts.reading import REMEMBERED
from context_compression.transcripts import FileReading

ROWS = fixtures("*.jsonl")


def in_place_of(path: Path, transcript: hosts.Transcript) -> hosts.Transcript:
    return replace(transcript, path=path)


@pytest.mark.slow
@pytest.mark.parametrize("fixture", ROWS, ids=lambda path: f"{path.parent.name}-{path.stem}")
@given(data=st.data())
def test_a_transcript_read_while_it_grows_is_the_one_read_at_once(
    fixture: Path, data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
):
    whole = fixture.read_bytes()
    cuts = sorted(data.draw(st.lists(st.integers(0, len(whole)), max_size=5)))
    path = tmp_path_factory.mktemp("growing") / fixture.name
    reading = FileReading(path, FORMATS)

    for start, stop in zip([0, *cuts], [*cuts, len(whole)], strict=True):
        with path.open("ab") as file:
            file.write(whole[start:stop])
        try:
            grown = reading.look()
        except TranscriptError:
            assert stop < len(whole)  # nothing in it was recognisable yet
            continue
        assert shown(grown) == shown(hosts.read(path))

    assert reading.look() == in_place_of(path, hosts.read(fixture))


@pytest.mark.parametrize("fixture", ROWS, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_what_was_read_once_is_not_read_again(fixture: Path, tmp_path: Path):
    lines = fixture.read_bytes().splitlines(keepends=True)
    path = tmp_path / fixture.name
    path.write_bytes(b"".join(lines[:-1]))
    readings = Readings()
    readings.look(path)

    with path.open("r+b") as file:  # blank all but the last of what was read
        file.write(b" " * (sum(map(len, lines[:-2])) - 1))
    with path.open("ab") as file:
        file.write(lines[-1])

    assert readings.look(path) == in_place_of(path, hosts.read(fixture))


@pytest.mark.parametrize("fixture", ROWS, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_a_torn_last_line_of_any_host_is_reported_and_found_whole_later(
    fixture: Path, tmp_path: Path
):
    whole = fixture.read_bytes()
    path = tmp_path / fixture.name
    reading = FileReading(path, FORMATS)

    path.write_bytes(whole[:-20])
    torn = reading.look()
    path.write_bytes(whole)
    mended = reading.look()

    assert any("The last line is cut off" in warning for warning in torn.warnings)
    assert mended == in_place_of(path, hosts.read(fixture))


def test_a_transcript_that_did_not_change_is_not_even_looked_into(tmp_path: Path):
    path = Path(shutil.copy(ROWS[0], tmp_path))
    reading = FileReading(path, FORMATS)

    assert reading.look() is reading.look()


def test_a_file_that_was_written_anew_is_read_anew(tmp_path: Path):
    path = Path(shutil.copy(FIXTURES / "claude_code/session.jsonl", tmp_path / "s.jsonl"))
    reading = FileReading(path, FORMATS)
    reading.look()

    path.write_bytes((FIXTURES / "claude_code/compacted-kept-behind-tail.jsonl").read_bytes())

    assert shown(reading.look()) == shown(hosts.read(path))


def test_a_packed_transcript_is_read_like_any_other(tmp_path: Path):
    path = tmp_path / "s.jsonl.gz"
    path.write_bytes(gzip.compress(ROWS[0].read_bytes()))

    assert shown(hosts.read(path)) == shown(hosts.read(ROWS[0]))


def test_only_the_transcripts_looked_at_last_are_remembered(tmp_path: Path):
    paths = [Path(shutil.copy(ROWS[0], tmp_path / f"{n}.jsonl")) for n in range(REMEMBERED + 1)]
    readings = Readings()

    first = readings.look(paths[0])
    for path in paths[1:]:
        readings.look(path)

    assert readings.look(paths[0]) is not first
    assert readings.look(paths[-1]) is readings.look(paths[-1])


NONSENSE = st.none() | st.integers() | st.text(max_size=3) | st.lists(st.none(), max_size=2)
HOSTS = sorted({path.parent.name for path in ROWS})
DOCUMENTS = fixtures("*.json")


@pytest.mark.slow
@pytest.mark.parametrize("host", HOSTS)
@given(data=st.data())
def test_no_row_however_strange_stops_the_reader(
    host: str, data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
):
    fixture = data.draw(st.sampled_from([path for path in ROWS if path.parent.name == host]))
    rows = rows_of(fixture)
    rows = data.draw(st.permutations(rows)) if data.draw(st.booleans()) else rows
    for row in rows:
        damage(row, data)
    path = written(tmp_path_factory.mktemp("strange") / "s.jsonl", rows)

    check_what_is_left(path)


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: f"{path.parent.name}-{path.stem}")
@given(data=st.data())
def test_no_document_however_strange_stops_the_reader(
    document: Path, data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
):
    whole = json.loads(document.read_bytes())
    for message in whole["messages"]:
        for part in message.get("parts", [message]):
            damage(part, data)
        damage(message, data)
    path = tmp_path_factory.mktemp("strange") / "s.json"
    path.write_text(json.dumps(whole), encoding="utf-8")

    check_what_is_left(path)


def check_what_is_left(path: Path) -> None:
    """It is a conversation, or it is said that there is none."""
    try:
        transcript = hosts.read(path)
    except TranscriptError:
        return  # nothing in it was recognisable
    messages = parse(transcript.messages).messages
    assert transcript.usage is None or 0 <= transcript.usage[1] <= len(messages)
    assert all(message.blocks for message in messages)


def damage(row: Row, data: st.DataObject) -> None:
    """Replace something in one of ten rows, at any depth."""
    if data.draw(st.integers(0, 9)):
        return
    part = row
    while True:
        key = data.draw(st.sampled_from(sorted(part)))
        inner = part[key][0] if isinstance(part[key], list) and part[key] else part[key]
        if not inner or not isinstance(inner, dict) or data.draw(st.booleans()):
            part[key] = data.draw(NONSENSE)
            return
        part = cast(Row, inner)

"""What a crash or a second writer leaves in a transcript costs the rows it hit and no others."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from transcripts import Row, fixtures, shown

from context_compression import hosts
from context_compression.errors import TranscriptError
from context_compression.hosts import FORMATS
from context_compression.transcripts import FileReading, parsed_json

ROWS = fixtures("*.jsonl")
of_every_host = pytest.mark.parametrize(
    "fixture", ROWS, ids=lambda path: f"{path.parent.name}-{path.stem}"
)
of_each_host = pytest.mark.parametrize(
    "fixture",
    {path.parent.name: path for path in ROWS}.values(),
    ids=lambda path: f"{path.parent.name}-{path.stem}",
)
NULS = b"\0" * 5_000


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters()),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(st.characters()), inner),
)


@given(value=JSON, wide=st.booleans(), cut=st.integers(0, 3))
def test_a_line_is_read_as_json_loads_reads_it(value: Any, wide: bool, cut: int):
    data = json.dumps(value, ensure_ascii=wide).encode("utf-8", "surrogatepass")
    data = data[: len(data) - cut]
    try:
        expected = json.loads(data)
    except ValueError:
        expected = None

    assert repr(parsed_json(data)) == repr(expected)


@pytest.mark.parametrize(
    "data",
    [rb'"\ud800"', b"[" * 300 + b"]" * 300, '{"a": "b"}'.encode("utf-16"), b"\xef\xbb\xbf[1]"],
)
def test_a_line_that_only_the_slower_reader_knows_is_read(data: bytes):
    assert parsed_json(data) == json.loads(data)


def lines_of(fixture: Path) -> list[bytes]:
    return fixture.read_bytes().splitlines(keepends=True)


def reading(path: Path, *lines: bytes) -> hosts.Transcript:
    """A transcript of these lines."""
    path.write_bytes(b"".join(lines))
    return hosts.read(path)


def message(number: int, **more: object) -> bytes:
    """A line of a plain message file."""
    row: Row = {"role": "user", "content": f"message {number}", **more}
    return json.dumps(row, ensure_ascii=False).encode() + b"\n"


def said(transcript: hosts.Transcript) -> list[str]:
    return [str(message["content"]) for message in transcript.messages]


@of_every_host
@pytest.mark.parametrize("place", [0, 1, -1])
def test_a_block_of_nuls_costs_no_row_of_any_host(fixture: Path, place: int, tmp_path: Path):
    lines = lines_of(fixture)
    lines.insert(place, NULS[:300] + b"\n")
    number = 1 + lines.index(NULS[:300] + b"\n")

    transcript = reading(tmp_path / fixture.name, *lines)

    assert shown(transcript) == shown(hosts.read(fixture))
    assert transcript.warnings[0] == (
        f"Lines that are no JSON object were skipped: 1 (line {number})."
    )


@of_each_host
@given(data=st.data())
def test_a_row_with_nuls_before_in_or_behind_it_is_read(
    fixture: Path, data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
):
    lines = lines_of(fixture)
    hit = data.draw(st.integers(0, len(lines) - 1))
    place = data.draw(st.sampled_from([0, 1]) | st.integers(0, len(lines[hit]) - 1))
    count = data.draw(st.sampled_from([1, 700, 5_000]))
    lines[hit] = lines[hit][:place] + bytes(count) + lines[hit][place:]

    transcript = reading(tmp_path_factory.mktemp("nuls") / fixture.name, *lines)

    assert shown(transcript) == shown(hosts.read(fixture))
    assert transcript.warnings[0] == (
        f"Of damaged lines only the whole rows were read: 1 (line {hit + 1})."
    )


@of_each_host
def test_nuls_in_a_packed_transcript_cost_no_row_either(fixture: Path, tmp_path: Path):
    first, second, *others = lines_of(fixture)
    damaged = NULS + b"\n" + first + NULS + second[:-1] + NULS + b"\n"

    transcript = reading(tmp_path / "s.jsonl.gz", gzip.compress(damaged + b"".join(others)))

    assert shown(transcript) == shown(hosts.read(fixture))


@pytest.mark.slow
@of_each_host
@given(data=st.data())
def test_rows_without_a_line_break_between_them_are_all_read(
    fixture: Path, data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
):
    lines = lines_of(fixture)
    glued = data.draw(st.sets(st.integers(0, len(lines) - 1), min_size=1))
    lines = [line[:-1] if index in glued else line for index, line in enumerate(lines)]

    transcript = reading(tmp_path_factory.mktemp("glued") / fixture.name, *lines)

    assert shown(transcript) == shown(hosts.read(fixture))


@of_each_host
@given(data=st.data())
def test_a_row_behind_one_that_was_cut_off_is_read(
    fixture: Path, data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
):
    lines = lines_of(fixture)
    hit = data.draw(st.integers(0, len(lines) - 1))
    torn = lines[hit][: data.draw(st.integers(1, len(lines[hit]) - 2))]
    assume(torn.rstrip()[-1:] not in b":[,")  # there a value may stand
    path = tmp_path_factory.mktemp("torn") / fixture.name

    transcript = reading(path, *lines[:hit], torn, *lines[hit:])

    assert shown(transcript) == shown(hosts.read(fixture))
    assert f"whole rows were read: 1 (line {hit + 1})" in transcript.warnings[0]


@pytest.mark.parametrize("cut", [b'"content": ', b'"content": [', b'"more": '])
def test_a_row_behind_one_that_was_cut_off_where_a_value_may_stand_is_read(
    cut: bytes, tmp_path: Path
):
    row = message(2, more={"a": 1})
    torn = row[: row.index(cut.removesuffix(b"[")) + len(cut)]

    transcript = reading(tmp_path / "c.jsonl", message(1), torn + message(2), message(3))

    assert said(transcript) == ["message 1", "message 2", "message 3"]
    assert "whole rows were read: 1 (line 2)" in transcript.warnings[0]


@of_each_host
def test_what_stands_behind_a_whole_row_does_not_cost_it(fixture: Path, tmp_path: Path):
    first, second, *others = lines_of(fixture)
    lines = first, second[:-1] + second[:25] + b"\n", *others

    transcript = reading(tmp_path / fixture.name, *lines)

    assert shown(transcript) == shown(hosts.read(fixture))


@given(data=st.data())
def test_no_part_of_a_row_that_was_cut_off_is_taken_for_a_row(
    data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
):
    inner: Row = {"role": "user", "content": 'quotes {"role": "user", "content": "not here"} {'}
    row = json.dumps({"at": 3, "message": {**inner, "was": [inner, {"role": "a"}]}}).encode()
    torn = row[: data.draw(st.integers(1, len(row) - 1))]
    wrapped = [json.dumps({"at": n, "message": {"role": "user", "content": n}}) for n in "ab"]
    lines = [line.encode() + b"\n" for line in wrapped]

    transcript = reading(tmp_path_factory.mktemp("torn") / "c.jsonl", *lines, torn, b"\n", lines[0])

    assert said(transcript) == ["a", "b", "a"]
    assert transcript.warnings == ["Lines that are no JSON object were skipped: 1 (line 3)."]


def test_a_character_that_was_cut_off_does_not_cost_the_next_row(tmp_path: Path):
    torn = '{"role": "user", "content": "你'.encode()[:-1]

    transcript = reading(tmp_path / "c.jsonl", message(1), torn + message(2, name="好"))

    assert said(transcript) == ["message 1", "message 2"]
    assert transcript.messages[1]["name"] == "好"


def test_a_character_that_was_cut_off_before_nuls_does_not_cost_the_file(tmp_path: Path):
    torn = '{"role": "user", "content": "你'.encode()[:-1] + NULS[:50]

    transcript = reading(tmp_path / "c.jsonl", torn + message(1), torn + b"\n", message(2))

    assert said(transcript) == ["message 1", "message 2"]


def test_three_rows_and_half_of_two_on_one_line_are_three_rows(tmp_path: Path):
    whole = [message(number)[:-1] for number in (1, 2, 3)]
    line = whole[0] + whole[1][:20] + whole[1] + whole[2][:-9] + whole[2] + b"\n"

    transcript = reading(tmp_path / "c.jsonl", message(0), line, message(4))

    assert said(transcript) == [f"message {number}" for number in range(5)]


def test_text_on_the_line_of_a_row_does_not_cost_it(tmp_path: Path):
    warned = b"npm WARN {deprecated} " + message(1)[:-1] + b" npm WARN again\n"

    transcript = reading(tmp_path / "c.jsonl", message(0), b"npm WARN " + message(1), warned)

    assert said(transcript) == ["message 0", "message 1"]  # of the last it is not sure


@pytest.mark.parametrize(
    "start",
    [b"starting\nwarming up\n", b"[12:30] starting\n[12:31] go\n", NULS + b"\n" + NULS + b"\n"],
    ids=["text", "times", "nuls"],
)
def test_several_lines_before_the_first_row_cost_no_row(start: bytes, tmp_path: Path):
    transcript = reading(tmp_path / "c.jsonl", start, message(1), message(2))

    assert said(transcript) == ["message 1", "message 2"]
    assert transcript.warnings == ["Lines that are no JSON object were skipped: 2 (line 1, 2)."]


@pytest.mark.parametrize("text", [message(1), b'[{"role": "user", "content": "message 1"}]'])
def test_nuls_behind_the_only_value_of_a_file_do_not_cost_it(text: bytes, tmp_path: Path):
    transcript = reading(tmp_path / "c.json", text, NULS)

    assert said(transcript) == ["message 1"]
    assert len(transcript.warnings) == 1


@pytest.mark.parametrize(
    "data",
    [
        "role: user, 你好".encode("utf-16-le"),
        '{"role": "user", "content": "hello"}'.encode("utf-16-be"),
        '{"role": "user", "content": "hello"}'.encode("utf-32-le"),
        "\ufeff{}".encode("utf-16-le"),
        b"\xff\xd8\xff\xe0\0\x10JFIF\0\x01\x01\0\0",
        b"\x7fELF\x02\x01\x01" + b"\0" * 9 + b"\x02\0\x3e\0",
        NULS,
        NULS + b"\n" + NULS,
    ],
    ids=[
        "utf-16-le", "utf-16-be", "utf-32", "utf-16 with a mark", "jpeg", "elf", "nuls",
        "lines of nuls",
    ],
)  # fmt: skip
def test_a_file_that_holds_nuls_and_no_text_is_refused_as_binary(data: bytes, tmp_path: Path):
    with pytest.raises(TranscriptError, match="is binary"):
        reading(tmp_path / "c.jsonl", data)


def test_a_row_written_in_place_of_nuls_at_the_end_is_found(tmp_path: Path):
    path = tmp_path / "c.jsonl"
    growing = FileReading(path, FORMATS)
    path.write_bytes(message(1) + message(2)[:-1] + NULS)

    early = growing.look()
    path.write_bytes(message(1) + message(2) + message(3) + NULS)
    later = growing.look()

    assert said(early) == ["message 1", "message 2"]
    assert said(later) == ["message 1", "message 2", "message 3"]


def test_a_row_written_behind_nuls_at_the_end_is_found(tmp_path: Path):
    path = tmp_path / "c.jsonl"
    growing = FileReading(path, FORMATS)
    path.write_bytes(message(1) + message(2)[:-1] + NULS)
    growing.look()

    with path.open("ab") as file:
        file.write(message(3) + b"{oops}\n")
    grown = growing.look()

    assert said(grown) == ["message 1", "message 2", "message 3"]
    assert grown == hosts.read(path)  # and names the same lines


def test_a_row_that_is_still_being_written_behind_a_whole_one_is_found_later(tmp_path: Path):
    path = tmp_path / "c.jsonl"
    growing = FileReading(path, FORMATS)
    path.write_bytes(message(1) + message(2)[:-1] + message(3)[:25])

    early = growing.look()
    path.write_bytes(message(1) + message(2)[:-1] + message(3) + message(4))
    later = growing.look()

    assert said(early) == ["message 1", "message 2"]
    assert "The last line is cut off after 25 bytes" in early.warnings[-1]
    assert said(later) == [f"message {number}" for number in (1, 2, 3, 4)]


@pytest.mark.parametrize(
    "damage",
    [b'{"role": x' * 50_000, b'{"role":' * 50_000, b'{"role": [' + message(1)[:-1] * 5_000],
    ids=["broken", "deep", "long"],
)
def test_a_long_damaged_line_is_given_up_and_the_others_are_read(damage: bytes, tmp_path: Path):
    transcript = reading(tmp_path / "c.jsonl", message(0), damage + b",\n", message(2))

    assert said(transcript)[0] == "message 0"
    assert said(transcript)[-1] == "message 2"

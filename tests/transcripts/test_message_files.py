import gzip
import json
import os
from pathlib import Path
from typing import Any

import pytest

from context_compression import hosts
from context_compression.conversation import parse
from context_compression.errors import TranscriptError

HELLO: list[dict[str, Any]] = [
    {"role": "user", "content": "hello\u2028world"},
    {"role": "assistant", "content": [{"type": "text", "text": "你好"}]},
]
ONE_PER_LINE = "\n".join(json.dumps(message, ensure_ascii=False) for message in HELLO)
WRAPPED = "\n".join(json.dumps({"message": message, "at": 1}) for message in HELLO)


@pytest.mark.parametrize(
    "text",
    [
        json.dumps(HELLO, ensure_ascii=False),
        json.dumps(HELLO, indent=2),
        json.dumps({"messages": HELLO}),
        json.dumps({"messages": HELLO}, indent=1) + "\n",
        ONE_PER_LINE,
        ONE_PER_LINE + "\n\n",
        "\n" + ONE_PER_LINE,
        ONE_PER_LINE.replace("\n", "\r\n"),
        WRAPPED,
    ],
)
@pytest.mark.parametrize("start", ["", "\ufeff"])
def test_every_shape_of_a_message_file_gives_its_messages(text: str, start: str, tmp_path: Path):
    path = tmp_path / "chat.any"
    path.write_text(start + text, encoding="utf-8", newline="")

    transcript = hosts.read(path)

    assert transcript.messages == HELLO
    assert transcript.host == "messages"
    assert transcript.warnings == []


def test_a_packed_file_is_unpacked(tmp_path: Path):
    path = tmp_path / "chat.json.gz"
    path.write_bytes(gzip.compress(json.dumps(HELLO).encode()))

    transcript = hosts.read(path)

    assert transcript.messages == HELLO
    assert transcript.session_id == "chat"


def test_what_an_object_says_beside_its_messages_is_kept(tmp_path: Path):
    about = {"id": "c-1", "system": "Be brief.", "tools": [{"name": "ls"}], "model": "gpt-5"}
    path = tmp_path / "chat.json"
    path.write_text(json.dumps({**about, "messages": HELLO}), encoding="utf-8")

    transcript = hosts.read(path)

    assert (transcript.session_id, transcript.model) == ("c-1", "gpt-5")
    assert (transcript.system, transcript.tools) == ("Be brief.", [{"name": "ls"}])


@pytest.mark.parametrize(
    ("name", "starts"),
    [
        ("a b.json", "a-b-"), ("..json", "conversation-"), ("会议.jsonl", "conversation-"),
        ("会议 7.jsonl", "7-"), ("-h.json", "h-"),
    ],
)  # fmt: skip
def test_a_session_id_is_safe_as_a_folder_name(name: str, starts: str, tmp_path: Path):
    path = tmp_path / name
    path.write_text(json.dumps(HELLO), encoding="utf-8")

    session_id = hosts.read(path).session_id

    assert session_id.startswith(starts)
    assert session_id.isascii()
    assert not {"/", "\\", " "} & {*session_id}


def test_ids_that_differ_only_in_unsafe_characters_stay_different(tmp_path: Path):
    ids = ["../a", "..\\a", "a" * 200, "a" * 201]
    paths = [tmp_path / f"{number}.json" for number in range(len(ids))]
    for path, own in zip(paths, ids, strict=True):
        path.write_text(json.dumps({"id": own, "messages": HELLO}), encoding="utf-8")

    found = {hosts.read(path).session_id for path in paths}

    assert len(found) == len(ids)
    assert all(len(own) < 140 and not own.startswith(".") for own in found)


@pytest.mark.parametrize("text", ["", "\n \n", "[]", '{"messages": []}'])
def test_an_empty_file_is_an_empty_conversation_and_says_so(text: str, tmp_path: Path):
    path = tmp_path / "chat.json"
    path.write_text(text, encoding="utf-8")

    transcript = hosts.read(path)

    assert transcript.messages == []
    assert len(transcript.warnings) == 1


def test_a_torn_last_line_is_reported_and_the_rest_is_kept(tmp_path: Path):
    path = tmp_path / "chat.jsonl"
    path.write_text(ONE_PER_LINE + '\n{"role": "user", "cont', encoding="utf-8", newline="")

    transcript = hosts.read(path)

    assert transcript.messages == HELLO
    assert "The last line is cut off after 22 bytes" in transcript.warnings[0]


def test_a_packed_file_that_is_cut_off_gives_what_is_there(tmp_path: Path):
    path = tmp_path / "chat.jsonl.gz"
    packed = gzip.compress((ONE_PER_LINE + "\n").encode())
    path.write_bytes(packed[:-6])

    transcript = hosts.read(path)

    assert transcript.messages == HELLO
    assert transcript.warnings == ["The packed file is cut off; what came after was left out."]


@pytest.mark.parametrize("place", [0, 1])
def test_damaged_lines_are_skipped_and_named(place: int, tmp_path: Path):
    lines = ONE_PER_LINE.split("\n")
    lines.insert(place, '{"role": "user", oops}')
    path = tmp_path / "chat.jsonl"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8", newline="")

    transcript = hosts.read(path)

    assert transcript.messages == HELLO
    assert transcript.warnings == [
        f"Lines that are no JSON object were skipped: 1 (line {place + 1})."
    ]


def test_rows_without_a_message_are_skipped_and_counted(tmp_path: Path):
    path = tmp_path / "chat.jsonl"
    path.write_text('{"version": 1}\n' + ONE_PER_LINE, encoding="utf-8", newline="")

    transcript = hosts.read(path)

    assert transcript.messages == HELLO
    assert transcript.warnings == ["Rows without a message were skipped: 1."]


@pytest.mark.parametrize(
    ("data", "complaint"),
    [
        (b'{"a": 1}', 'its lines hold an object with "a"'),
        (b"[1, 2, 3]", "3 of 3 items are no message with a role, the first is item 0"),
        (b'[{"role": "user", "content": ""}, {"content": "x"}]', "the first is item 1"),
        (b'{"messages": "none"}', 'an object with "messages"'),
        (b"42", "just 42"),
        (b'[{"role": "toolResult"}]', "Message 0 has role 'toolResult'"),
        (b'{"type": "x"}\n{"message": {"role": "oracle"}}', "Message 0 has role 'oracle'"),
        (b'[{"role": "user", "content": 5}]', "The content of message 0 is int"),
        (b'{"role": "user", "content": 5}\n{"role": "user"}', "The content of message 0 is int"),
        (b'[{"role": "user", "content": [NaN]}]', "0 holds a number that JSON cannot hold"),
        (b"hello, how are you?\nfine", "is not JSON"),
        (b'[{"role": "user", "content": "cut o', "not all of it is there"),
        (b'{"a": 1}\n{"b": 2}\n', 'its lines hold an object with "a"'),
        (b"\x89PNG\r\n\x1a\n\x00\x00", "is binary"),
        ("hello".encode("utf-16"), "is binary, or not UTF-8"),
        (b"\x1f\x8b\x08\x00garbage and more garbage", "cannot be read"),
        (b"[" * 100_000, "is not JSON"),
    ],
)
def test_what_is_no_conversation_says_what_it_is_and_what_to_pass(
    data: bytes, complaint: str, tmp_path: Path
):
    path = tmp_path / "chat.json"
    path.write_bytes(data)

    with pytest.raises(TranscriptError) as raised:
        hosts.read(path)

    assert complaint in str(raised.value)
    assert str(path) in str(raised.value)
    assert "Pass" in str(raised.value)


def test_a_missing_file_a_folder_and_a_device_are_told_apart(tmp_path: Path):
    places = [tmp_path / "none.json", tmp_path, Path("/dev/zero"), Path("a\0b")]
    complaints: list[str] = []

    for place in places:
        with pytest.raises(TranscriptError) as raised:
            hosts.read(place)
        complaints.append(str(raised.value))

    assert "There is no file" in complaints[0]
    assert "is a folder" in complaints[1]
    assert "device" in complaints[2]
    assert "is not a path" in complaints[3]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_that_may_not_be_read_says_so(tmp_path: Path):
    path = tmp_path / "chat.json"
    path.write_text("[]", encoding="utf-8")
    path.chmod(0)

    with pytest.raises(TranscriptError, match="may not be read"):
        hosts.read(path)


def test_a_file_over_the_limit_is_refused_before_it_is_read(tmp_path: Path):
    path = tmp_path / "huge.jsonl"
    with path.open("wb") as file:
        file.truncate(3_000_000_000)  # a hole: reading it would say that it is binary

    with pytest.raises(TranscriptError, match="3,000,000,000 bytes; at most 2,147,483,648"):
        hosts.read(path)


def test_a_file_that_unpacks_to_more_than_the_limit_is_refused(tmp_path: Path):
    path = tmp_path / "bomb.json.gz"
    path.write_bytes(gzip.compress(b'["' + b" " * 3_000_000 + b'"]'))

    with pytest.raises(TranscriptError, match="at most 1,000,000 bytes"):
        hosts.read(path, max_bytes=1_000_000)


def test_recorded_conversations_in_the_uniform_shape_are_read(data_folder: Path):
    paths = sorted((data_folder / "conversations/uniform").glob("*.json.gz"), key=os.path.getsize)

    for path in paths[:20]:
        transcript = hosts.read(path)

        assert parse(transcript.messages).messages
        assert transcript.warnings == []

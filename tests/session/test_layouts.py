"""What a view quotes is written down as places, and comes back as it was."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from written import squeeze

from context_compression import Session, Store, compress
from context_compression.conversation import is_object
from context_compression.session import decode_message
from context_compression.session.events import encode_layout, is_valid_message
from context_compression.settings import StrategyName
from context_compression.store import SessionLog
from context_compression.testing import conversation

LINES = [
    "def remembered(path: str, lines: int) -> list[str]:",
    "    return [line for line in read(path) if line.startswith('a')]",
    "错误：文件不存在，请检查路径是否正确，然后再试一次。谢谢你的帮助，祝你好运，再见了朋友们。",
    "Traceback (most recent call last): somewhere over the rainbow \U0001f308\U0001f308",
    "short",
    "",
]
Texts = st.lists(st.sampled_from(LINES) | st.text(max_size=60), max_size=12).map("\n".join)


@given(st.lists(Texts, min_size=1, max_size=4), Texts, st.data())
def test_a_message_comes_back_as_it_was(sources: list[str], own: str, data: st.DataObject) -> None:
    view = [{"role": "user", "content": text, "n": 7} for text in sources]
    whole_source = "\n".join(sources)
    starts = st.integers(0, len(whole_source))
    pieces = [own]
    for _ in range(data.draw(st.integers(0, 4))):
        start = data.draw(starts)
        pieces += [whole_source[start : data.draw(starts)], own[:9]]
    message = {"role": "user", "content": [{"type": "text", "text": "\n".join(pieces)}]}

    [part] = encode_layout([message], view)

    again = json.loads(json.dumps(part))
    assert decode_message(again, json.loads(json.dumps(view))) == message
    assert is_valid_message(again, len(view))


def test_what_is_quoted_is_not_repeated() -> None:
    lines = [f"src/part_{n}.py: value_{n} = {n * n}  # and some more words" for n in range(200)]
    view = [{"role": "user", "content": "\n".join(lines)}, {"role": "user", "content": "Go on"}]
    shown = "\n".join(["[Result of read; ref c3f91a20b1d2]", *lines[5:80], "[… 9 lines]"])

    layout = encode_layout([{"role": "user", "content": shown}, (1, 2)], view)

    assert len(json.dumps(layout)) < len(shown) / 8
    assert layout[1] == (1, 2)


@pytest.mark.parametrize(
    "part",
    [
        {"quoting": [0, 9], "message": {"role": "user", "content": "x"}},
        {"quoting": [1, 0], "message": {"role": "user", "content": "x"}},
        {"quoting": "all", "message": {"role": "user", "content": "x"}},
        {"quoting": [0, 1], "message": "x"},
        {"quoting": [0, 1], "message": {"role": "user", "content": {"of": "x"}}},
        {"quoting": [0, 1], "message": {"role": "user", "content": {"of": [["a", 1]]}}},
        {"quoting": [0, 1], "message": {"role": "user", "content": {"of": [[-3, 1]]}}},
    ],
)
def test_a_quotation_that_makes_no_sense_is_refused(part: dict[str, Any]) -> None:
    assert not is_valid_message(part, 2)


def events(log: SessionLog) -> list[dict[str, Any]]:
    lines = (log.folder / "events.jsonl").read_bytes().split(b"\n")
    return [json.loads(line) for line in lines if line]


def test_messages_that_come_with_a_compression_are_kept_once(tmp_path: Path) -> None:
    store, messages = Store(tmp_path), conversation(8)

    result = compress(messages, store=store, target_tokens=2_500, force=True)

    [id] = store.sessions()
    log = store.session(id)
    kinds = [event["type"] for event in events(log)]
    written = [event["message"] for event in events(log) if event["type"] == "message"]
    assert "messages" in kinds
    assert kinds.index("originals") < kinds.index("messages") < kinds.index("compression")
    assert written == [m for i, m in enumerate(messages) if i not in result.compressed]
    state = Session(Store(tmp_path), id).state()
    assert state.recorded == messages
    assert state.view == result.messages
    assert Session(Store(tmp_path), id).undo() == messages
    assert store.search("worker").total is not None


def test_what_is_compressed_again_and_recorded_before_stays_as_it_was(tmp_path: Path) -> None:
    store, messages = Store(tmp_path), conversation(16)
    for stop in (16, 40, len(messages)):
        part = messages[:stop]
        result = compress(part, store=store, target_tokens=2_500, force=True)

        [id] = store.sessions()
        state = Session(Store(tmp_path), id).state()
        assert state.warnings == []
        assert state.recorded == part
        assert state.view == result.messages


def test_a_conversation_is_known_again_by_a_view_that_quotes(tmp_path: Path) -> None:
    store = Store(tmp_path)
    messages = conversation(12)
    result = compress(messages, store=store, target_tokens=2_500, force=True)
    more: list[Any] = [*result.messages, *conversation(2)]

    compress(more, store=Store(tmp_path), target_tokens=2_400, force=True)

    assert len(store.sessions()) == 1


def test_where_originals_are_gone_the_log_says_which_and_the_rest_is_read(tmp_path: Path) -> None:
    store = Store(tmp_path)
    compress(conversation(8), store=store, target_tokens=2_500, force=True)
    [id] = store.sessions()
    [originals] = store.session(id).folder.glob("compact-*.json")
    data = originals.read_bytes()
    originals.unlink()

    state = Session(Store(tmp_path), id).state()
    assert any(originals.name in warning for warning in state.warnings)

    originals.write_bytes(data)
    assert Session(Store(tmp_path), id).state().recorded == conversation(8)


@pytest.mark.parametrize(
    "event",
    [
        {"file": "compact-x.json", "from": 0, "to": 1},
        {"file": "../../config.json", "from": 0, "to": 1},
        {"from": 0, "to": 1},
        {"file": "compact-x.json", "from": 3, "to": 1},
        {"file": 5, "from": None},
    ],
)
def test_an_event_that_names_no_messages_is_reported(tmp_path: Path, event: Any) -> None:
    session = Session(tmp_path, "s")
    session.record({"role": "user", "content": "before"})
    session.store.session("s").append({"type": "messages", **event})
    session.record({"role": "user", "content": "after"})

    state = Session(Store(tmp_path), "s").state()

    assert [message["content"] for message in state.view] == ["before", "after"]
    assert state.warnings
    assert session.store.search("before").note is None


def test_a_log_without_any_of_this_is_read_as_before(tmp_path: Path) -> None:
    session = Session(tmp_path / "new", "s")
    session.record(*conversation(8))
    squeeze(session)
    view = session.view()
    old = Store(tmp_path / "old").session("s")
    for event in session.store.session("s").events().items:
        if event["type"] == "compression":
            recorded = session.state().recorded
            parts: list[Any] = event["layout"]
            layout = [decode_message(p, recorded) if is_object(p) else p for p in parts]
            event = {**event, "layout": layout}
        old.append(event)

    assert Session(tmp_path / "old", "s").view() == view


@pytest.mark.slow
@pytest.mark.parametrize(
    "given",
    [{"of": 5}, {"of": None}, {"of": [[1]]}, {"of": [{"x": 1}]}, {"of": ["a", [0, 9]]}, {"of": []}],
    ids=str,
)
@pytest.mark.parametrize("strategy", ["auto", "extract", "offload", "truncate", "window"])
def test_arguments_that_look_like_a_quotation_of_ours_are_kept_as_they_are(
    given: dict[str, Any], strategy: StrategyName, tmp_path: Path
) -> None:
    messages: list[Any] = conversation(12)
    said = [block for m in messages if isinstance(m["content"], list) for block in m["content"]]
    calls: list[Any] = [block for block in said if block.get("type") == "tool_use"]
    assert calls
    for call in calls:
        call["input"] = {**call["input"], "where": given}

    result = compress(messages, strategy=strategy, target_tokens=2_500, force=True, store=tmp_path)

    store = Store(tmp_path)
    session = Session(store, store.sessions()[0])
    assert session.view() == result.messages
    assert session.undo() == messages

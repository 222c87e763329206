"""What is no dialect of ours is refused by name, and the refusal says what to do."""

import gzip
import json
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
from foreign_samples import CHAT, DUMP, FOREIGN, OURS, UI
from generated import Messages, broken, conversations
from hypothesis import given
from hypothesis import strategies as st

from context_compression import compress
from context_compression.conversation import is_array, is_object, refusal
from context_compression.conversation.formats.parts import fits
from context_compression.conversation.formats.reading import formats, no_content_error
from context_compression.errors import InvalidConversation

WAYS = ("convert", "pass its", "pass the")

scalars = st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary()
telling = st.sampled_from([next(iter(shape)) for known in formats() for shape in known.shapes])
keys = telling | st.sampled_from(["role", "content", "type", "id"]) | st.text(max_size=3)
garbage = st.recursive(
    scalars | st.sampled_from([sample for _, sample in FOREIGN]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(keys | st.integers(), inner, max_size=4)
        | st.tuples(inner, inner)
    ),
)


@pytest.mark.parametrize(("name", "sample"), FOREIGN)
def test_each_format_is_refused_by_its_name_with_what_to_do(name: str, sample: Any) -> None:
    said = refusal(sample)

    assert said is not None
    assert name in said
    assert any(way in said.lower() for way in WAYS)


@pytest.mark.parametrize(("name", "sample"), FOREIGN)
def test_the_library_refuses_each_format_by_its_name(name: str, sample: Any) -> None:
    messages = sample if is_array(sample) else [sample]

    with pytest.raises(InvalidConversation, match=name):
        compress(messages, target_tokens=1_000)


def test_a_request_in_place_of_its_messages_is_refused_with_and_without_a_store(
    tmp_path: Path,
) -> None:
    request: Any = {"model": "gpt-5", "messages": [CHAT]}

    for store in (None, tmp_path):
        with pytest.raises(InvalidConversation, match="Pass its messages; what it says of system"):
            compress(request, store=store)


def test_every_shape_in_the_table_has_a_sample_and_is_told_by_it() -> None:
    def inside(value: Any) -> Iterator[Any]:
        yield value
        if is_array(value):
            for item in value:
                yield from inside(item)
        elif is_object(value):
            yield from inside([part for part in value.values() if is_array(part)])

    samples = [part for _, sample in FOREIGN for part in inside(sample)]

    for known in formats():
        for shape in known.shapes:
            assert known.sentence in [refusal(s) for s in samples if fits(s, shape)], shape


def test_no_key_that_most_messages_have_tells_of_a_format() -> None:
    first = {next(iter(shape)) for known in formats() for shape in known.shapes}

    assert first.isdisjoint(("role", "content"))


def test_a_list_is_told_by_a_message_in_it_and_the_state_of_a_graph_by_its_messages() -> None:
    of_langchain, of_a_graph = refusal([CHAT, DUMP]), refusal({"messages": [DUMP]})

    assert of_langchain == (
        "These are LangChain messages. Convert them with "
        "langchain_core.messages.convert_to_openai_messages(messages) and pass the result."
    )
    assert of_a_graph == (
        "This is a LangGraph state, with LangChain messages in it. Convert them with "
        'langchain_core.messages.convert_to_openai_messages(state["messages"]) and pass the '
        "result."
    )


def test_objects_are_known_by_the_library_they_are_made_by() -> None:
    made = type("UserPromptPart", (), {"__module__": "pydantic_ai.messages"})()

    assert "Pydantic AI" in (refusal([made]) or "")
    assert "Pydantic AI" in (refusal({"messages": [made]}) or "")
    assert refusal(type("Other", (), {"__module__": "pydantic_ainew"})()) is None


@pytest.mark.slow
@given(conversations() | broken())
def test_conversations_of_anthropic_and_openai_are_never_foreign(messages: Messages) -> None:
    assert refusal(messages) is None
    assert [said for message in messages if (said := refusal(message))] == []


@pytest.mark.parametrize("messages", OURS)
def test_conversations_of_the_other_dialects_are_never_foreign(
    messages: list[dict[str, Any]],
) -> None:
    assert refusal(messages) is None
    assert [said for message in messages if (said := refusal(message))] == []


def test_recorded_conversations_are_never_foreign(data_folder: Path) -> None:
    uniform = sorted((data_folder / "conversations/uniform").glob("*.gz"))[::8]

    for path in (*uniform, *(data_folder / "field").glob("*.gz")):
        with gzip.open(path, "rt", encoding="utf-8") as lines:
            for line in islice(lines, 3):
                messages = json.loads(line)["messages"]
                assert [said for message in messages if (said := refusal(message))] == []


def test_rows_of_hosts_are_never_foreign(data_folder: Path) -> None:
    for path in (data_folder / "conversations/native").glob("*/*.jsonl.gz"):
        with gzip.open(path, "rt", encoding="utf-8", errors="replace") as lines:
            rows = [json.loads(line) for line in islice(lines, 60) if line.endswith("}\n")]
        assert [said for row in rows if (said := refusal(row))] == [], path


@pytest.mark.slow
@given(garbage)
def test_no_garbage_brings_it_down(value: Any) -> None:
    said = refusal(value)

    assert said is None or said.endswith(".")


@pytest.mark.slow
@pytest.mark.parametrize("opens", ["messages", "data", "history"])
def test_what_is_nested_without_end_is_told_by_what_stands_outside(opens: str) -> None:
    value: Any = [UI]
    for _ in range(100_000):
        value = [{opens: value, "object": "list"}]

    assert any(way in (refusal(value) or "").lower() for way in WAYS)


def test_a_message_in_which_nothing_is_seen_is_told_by_its_keys() -> None:
    said = no_content_error(3, {"role": "user", "text": "hi"})

    assert said.startswith(
        'Message 3 has no content that we can read; its keys are "role", "text". Pass the text as '
    )


def test_of_a_message_with_many_keys_only_some_are_named() -> None:
    message: dict[Any, Any] = {"role": "user", 7: 8, **{f"k{n}" * 50: n for n in range(20)}}

    said = no_content_error(0, message)

    assert '"role", "7", "k0k0' in said
    assert ", …. Pass" in said
    assert len(said) < 700


def test_a_message_with_its_role_alone_is_told_so() -> None:
    assert 'its only key is "role".' in no_content_error(0, {"role": "user"})
    assert 'its keys are "role"' not in no_content_error(0, {"role": "user"})


@given(st.integers(), st.dictionaries(keys | st.integers(), garbage, min_size=1))
def test_a_message_of_any_keys_can_be_told(index: int, message: dict[Any, Any]) -> None:
    assert f"Message {index} " in no_content_error(index, message)

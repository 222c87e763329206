"""Long arguments of calls are offloaded and truncated as long results are, and calls stay valid."""

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

import pytest
from generated import DIALECTS, Messages
from hypothesis import given
from hypothesis import strategies as st
from provider import refused

from context_compression import Session, Store, compress, count_tokens
from context_compression.conversation import ToolCall, is_array, is_object, parse
from context_compression.settings import StrategyName
from context_compression.testing import Run, said_by_model, said_by_user, tool_step

FILE = "\n".join(
    f"    value_{n} = compute({n * 7919 % 977}, 'ledger_{n % 13}')" for n in range(300)
)
SQL = " ".join(f"INSERT INTO prices VALUES ({n}, {n * 31});" for n in range(300))
REF = re.compile(r"\bref ([0-9a-f]{12})\b")

every_dialect = pytest.mark.parametrize("dialect", DIALECTS)
both = pytest.mark.parametrize("strategy", ["offload", "truncate"])


def writes(count: int, dialect: Any, text: str = FILE) -> Messages:
    """A session that writes files, and an answer to the last of them."""
    steps = [message for n in range(count) for message in tool_step([written(n, text)], dialect)]
    return [said_by_user("Write the importer.", dialect), *steps, *said_by_model("Done.", dialect)]


def written(n: int, text: str = FILE) -> Run:
    arguments = {"path": f"src/part_{n}.py", "mode": 420, "content": f"# {n}\n{text}"}
    return Run(f"call_{n}", "write_file", arguments, "ok")


def calls(messages: Messages) -> list[ToolCall]:
    return [call for message in parse(messages).messages for call in message.calls]


@both
@every_dialect
def test_files_that_calls_wrote_are_shortened_and_the_calls_stay_valid(
    dialect: Any, strategy: StrategyName
) -> None:
    messages = writes(6, dialect)

    result = compress(messages, strategy=strategy, target_tokens=count_tokens(messages) // 2)

    assert result.target_met
    assert refused(result.messages, dialect) == []
    pairs = [*zip(calls(messages), calls(result.messages), strict=True)]
    for before, after in pairs:
        assert (before.name, [*before.arguments]) == (after.name, [*after.arguments])
        assert {**after.arguments, "content": ""} == {**before.arguments, "content": ""}
    shortened = [after.arguments["content"] for a, after in pairs if after != a]
    assert len(shortened) >= 3
    assert all(len(text) < len(FILE) / 2 for text in shortened)


@both
@every_dialect
def test_a_ref_in_an_argument_brings_back_the_text_byte_for_byte(
    dialect: Any, strategy: StrategyName, tmp_path: Any
) -> None:
    messages = writes(4, dialect)
    session = Session(Store(tmp_path), "s")
    session.record(*messages)

    session.compress(strategy=strategy, target_tokens=count_tokens(messages) // 2)

    again = Session(Store(tmp_path), "s")
    pairs = [*zip(calls(messages), calls(again.view()), strict=True)]
    changed = [(a.arguments["content"], b.arguments["content"]) for a, b in pairs if a != b]
    assert changed
    for text, short in changed:
        [ref, *_] = REF.findall(short)
        assert again.restore(ref) == text
    again.undo()
    assert again.view() == messages


@both
def test_calls_that_the_model_has_not_answered_stay(strategy: StrategyName) -> None:
    for end in ([], [said_by_user("And?", "anthropic")]):
        messages = [*writes(3, "anthropic")[:-1], *end]

        view = calls(compress(messages, strategy=strategy, target_tokens=1).messages)

        assert view[-1] == calls(messages)[-1]
        assert all(map(ToolCall.__ne__, view[:-1], calls(messages)[:-1]))


@both
@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("apply_patch", {"input": f"*** Begin Patch\n{FILE}\n*** End Patch"}),
        ("query", {"sql": SQL, "database": "prices"}),
        ("batch", {"edits": [{"path": "a.py", "new": FILE}, {"path": "b.py", "new": "short"}]}),
        ("proxy", {"body": json.dumps({"text": FILE}), "deep": {"er": [[SQL]]}}),
    ],
)
def test_patches_queries_and_texts_in_lists_are_shortened(
    strategy: StrategyName, name: str, arguments: dict[str, Any]
) -> None:
    steps = tool_step([Run("c", name, arguments, "ok")], "openai")
    messages = [said_by_user("Go.", "openai"), *steps, *said_by_model("Done.", "openai")]

    result = compress(messages, strategy=strategy, target_tokens=1)

    assert result.tokens_after < result.tokens_before / 2
    [call] = calls(result.messages)
    assert shape(call.arguments) == shape(arguments)


def shape(value: Any) -> Any:
    """The keys, lists and short texts of JSON."""
    if is_object(value):
        return {key: shape(item) for key, item in value.items()}
    if is_array(value):
        return [*map(shape, value)]
    return value if not isinstance(value, str) or len(value) < 100 else str


@both
@pytest.mark.parametrize("kind", ["chat", "responses"])
def test_the_free_text_of_a_custom_tool_is_shortened(strategy: StrategyName, kind: str) -> None:
    if kind == "chat":
        call = {"id": "c", "type": "custom", "custom": {"name": "patch", "input": FILE}}
        step = [
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "c", "content": "ok"},
        ]
    else:
        step = [
            {"type": "custom_tool_call", "call_id": "c", "name": "patch", "input": FILE},
            {"type": "custom_tool_call_output", "call_id": "c", "output": "ok"},
        ]
    messages = [
        {"role": "user", "content": "Go."}, *step, {"role": "assistant", "content": "Done."}
    ]  # fmt: skip

    result = compress(messages, strategy=strategy, target_tokens=1)

    [call] = calls(result.messages)
    assert isinstance(call.arguments, str)
    assert 0 < len(call.arguments) < len(FILE) / 2
    assert result.originals[REF.findall(call.arguments)[0]] == FILE


@both
@pytest.mark.parametrize(
    ("arguments", "shape"),
    [
        ([FILE, {"path": "a.py"}], "[TEXT, {'path': 'a.py'}]"),
        ({"rows": [[n, n * 31] for n in range(3_000)]}, "{'rows': TEXT}"),
        ({"of": {"rows": [*range(5_000)], "to": "a.csv"}}, "{'of': {'rows': TEXT, 'to': 'a.csv'}}"),
        ({"edits": [{"new": FILE}, {"new": "b"}]}, "{'edits': [{'new': TEXT}, {'new': 'b'}]}"),
    ],
)
def test_arguments_that_are_a_string_of_json_stay_json(
    strategy: StrategyName, arguments: Any, shape: str
) -> None:
    assert shown(strategy, json.dumps(arguments), json.loads) == shape


@both
def test_arguments_that_ended_too_early_become_an_object_with_a_ref(strategy: StrategyName) -> None:
    assert shown(strategy, json.dumps({"content": FILE})[:-9], json.loads) == "{'input': TEXT}"


@both
@pytest.mark.parametrize(
    "text",
    [
        '{"a": "b"}\n' * 3_000,
        "[1, 2, 3]\n" * 3_000,
        json.dumps({"content": FILE})[:-9],
        json.dumps({f"key {n}": n for n in range(2_000)}),
        json.dumps([[n, n] for n in range(3_000)]),
        f"*** Begin Patch\n{FILE}",
    ],
)
def test_a_free_text_is_a_text_however_it_begins(strategy: StrategyName, text: str) -> None:
    assert shown(strategy, text, lambda each: each, kind="custom_tool_call") == "TEXT"


def shown(
    strategy: StrategyName, arguments: str, read: Callable[[str], Any], kind: str = "function_call"
) -> str:
    """What the arguments of a call become, with `TEXT` for each text that a ref brings back."""
    key = "input" if kind == "custom_tool_call" else "arguments"
    messages: Messages = [
        {"role": "user", "content": "Go."},
        {"type": kind, "call_id": "c", "name": "w", key: arguments},
        {"type": f"{kind}_output", "call_id": "c", "output": "ok"},
        {"role": "assistant", "content": "Done."},
    ]
    result = compress(messages, strategy=strategy, target_tokens=1)
    return repr(with_marks(read(result.messages[1][key]), arguments, result.originals))


@both
@every_dialect
@pytest.mark.parametrize("text", [f"{FILE}\ud83d", json.dumps({"a": FILE}) + "\ud83d"])
def test_a_text_with_half_a_character_is_among_the_originals_as_the_view_names_it(
    dialect: Any, text: str, strategy: StrategyName
) -> None:
    messages = writes(3, dialect, text)
    result = compress(messages, strategy=strategy, target_tokens=1)
    named = {*REF.findall(json.dumps(result.messages))}

    assert named
    assert named <= result.originals.keys()


class Mark:
    """Stands for a text that a ref brings back."""

    def __repr__(self) -> str:
        return "TEXT"


def with_marks(value: Any, arguments: str, originals: Mapping[str, Any]) -> Any:
    """JSON with a mark for each text that has a ref to one of the arguments."""
    if is_object(value):
        return {key: with_marks(item, arguments, originals) for key, item in value.items()}
    if is_array(value):
        return [with_marks(item, arguments, originals) for item in value]
    refs = REF.findall(value) if isinstance(value, str) else []
    whole = originals[refs[0]] if refs else ""
    is_part = whole in arguments or json.dumps(whole) in arguments
    return Mark() if refs and is_part and len(value) < len(whole) / 2 else value


@both
@pytest.mark.parametrize("text", [FILE, "print(1) " * 30])
def test_json_in_the_texts_of_a_harness_stays_json_and_its_refs_bring_back_the_text(
    strategy: StrategyName, text: str
) -> None:
    asked = "Now.\n\n" + json.dumps({"tool": "write", "input": text})
    messages: Messages = [{"role": "user", "content": "Go."}]
    for _ in range(4):
        messages.append({"role": "assistant", "content": asked})
        messages.append({"role": "user", "content": f"Tool result:\n{FILE}"})
    messages.append({"role": "assistant", "content": "Done."})

    result = compress(
        messages, strategy=strategy, target_tokens=1, settings={"max_tool_output": 200}
    )

    shown = json.loads(result.messages[1]["content"].removeprefix("Now.\n\n"))
    assert shown["tool"] == "write"
    assert shown["input"] == text or result.originals[REF.findall(shown["input"])[0]] == text
    assert strategy == "offload" or shown["input"] != text


@both
def test_a_signed_call_of_the_current_turn_stays(strategy: StrategyName) -> None:
    messages = writes(3, "gemini")
    for message in messages[1:-1:2]:
        message["parts"][0]["thoughtSignature"] = "c2lnbmVk"

    view = compress(messages, strategy=strategy, target_tokens=1).messages

    assert view == messages


def test_shortening_again_changes_nothing() -> None:
    first = compress(writes(5, "openai"), strategy="offload", target_tokens=1).messages

    again = compress(first, strategy="offload", target_tokens=1)

    assert again.messages == first


@given(st.sampled_from(DIALECTS), st.integers(1, 5), st.sampled_from((0.1, 0.3, 0.6)))
def test_loops_that_write_are_made_small_with_no_argument_lost(
    dialect: Any, count: int, share: float
) -> None:
    messages = writes(count, dialect)
    target = int(count_tokens(messages) * share)

    result = compress(messages, target_tokens=max(400, target))

    assert result.target_met
    assert refused(result.messages, dialect) == []
    for call in calls(result.messages):
        assert {*call.arguments} == {"path", "mode", "content"}
        for ref in REF.findall(call.arguments["content"]):
            assert ref in result.originals

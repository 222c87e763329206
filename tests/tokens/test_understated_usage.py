"""Usage that a gateway reports too small is not believed."""

from pathlib import Path
from typing import Any

import pytest
from provider.reading import Messages

from context_compression import Session, compress, count_tokens
from context_compression.conversation import parse
from context_compression.testing import PIXEL
from context_compression.tokens import UNDERSTATED, Anchor, anchor_in, is_understated
from context_compression.tokens.usage import usage

WINDOW = {"token_budget": 20_000}
SMALL = ({"input_tokens": 4, "output_tokens": 30}, {"prompt_tokens": 1, "completion_tokens": 30})


def step(number: int, charged: dict[str, Any] | None) -> list[dict[str, Any]]:
    call: dict[str, Any] = {"type": "tool_use", "id": f"t{number}", "name": "look", "input": {}}
    output = "\n".join(f"{number} src/part_{line}.c: warning {line * number}" for line in range(90))
    result = {"type": "tool_result", "tool_use_id": f"t{number}", "content": output}
    said: dict[str, Any] = {"role": "assistant", "content": [call]} | (
        {"usage": charged} if charged else {}
    )
    return [said, {"role": "user", "content": [result]}]


def history(rounds: int, charged: dict[str, Any] | None) -> list[dict[str, Any]]:
    begin: list[dict[str, Any]] = [{"role": "user", "content": "Look at all parts."}]
    return [*begin, *(message for n in range(rounds) for message in step(n, charged))]


def bare(messages: Messages) -> list[dict[str, Any]]:
    return [{key: message[key] for key in message if key != "usage"} for message in messages]


@pytest.mark.parametrize("charged", SMALL)
def test_a_session_is_compressed_whatever_a_gateway_leaves_out(
    tmp_path: Path, charged: dict[str, Any]
) -> None:
    session = Session(tmp_path, "s", settings=WINDOW)

    for rounds in range(1, 30):
        view = session.fit(history(rounds, charged))

        assert count_tokens(bare(view)) < WINDOW["token_budget"]
    assert list(session.status().warnings).count(UNDERSTATED) == 1


@pytest.mark.parametrize("between", ["\t", "\n", "=", "- ", "─"])
def test_true_usage_is_believed_of_texts_whose_tokens_are_long(between: str) -> None:
    table = "\n".join(f"{n}{between * 200}ok" for n in range(300))
    charged = count_tokens([{"role": "user", "content": table}], model="gpt-5")
    messages = [
        {"role": "user", "content": table},
        {"role": "assistant", "content": "Yes.", "usage": {"prompt_tokens": int(charged)}},
    ]

    assert not is_understated(parse(messages))


@pytest.mark.parametrize("wrong", [True, "40", None, [5, None, [], "x"], {"a": 1}, -4, 0.5])
def test_usage_of_an_odd_type_is_no_usage(wrong: Any) -> None:
    said = {"role": "assistant", "content": "ok"}
    right = {"input_tokens": 50, "output_tokens": 2}
    edits = [{"cleared_input_tokens": wrong}]
    right_usage: list[dict[str, Any]] = [
        {"usage": right, "context_management": wrong},
        {"usage": right, "context_management": {"applied_edits": wrong}},
        {"usage": right, "context_management": {"applied_edits": edits}},
        {"usage": right | {"cache_read_input_tokens": wrong, "prompt_tokens": wrong}},
    ]
    no_usage: list[dict[str, Any]] = [
        {"usage": wrong},
        {"usage": {"input_tokens": wrong, "output_tokens": wrong, "prompt_tokens": wrong}},
    ]

    for more, anchor in (
        *((each, Anchor(52, 2)) for each in right_usage),
        *((each, None) for each in no_usage),
    ):
        conversation = parse([{"role": "user", "content": "hi"}, said | more])

        assert anchor_in(conversation) == anchor
        assert not is_understated(conversation)


@pytest.mark.parametrize("charged", SMALL)
def test_without_a_session_it_is_counted_and_told(charged: dict[str, Any]) -> None:
    messages = history(20, charged)

    used = usage(messages).used_tokens
    result = compress(messages, settings=WINDOW)

    assert used > 0.9 * count_tokens(bare(messages))
    assert result.changed
    assert result.notes.count(UNDERSTATED) == 1


def test_the_last_usage_that_is_large_enough_counts() -> None:
    messages = history(20, SMALL[0])
    messages[21]["usage"] = {"input_tokens": 30_000, "output_tokens": 50}

    assert anchor_in(parse(messages)) == Anchor(30_050, 22)


def test_true_usage_is_believed_however_large_the_pictures_and_thoughts_are() -> None:
    url = f"data:image/png;base64,{PIXEL * 5_000}"
    picture = {"type": "image_url", "image_url": {"url": url}}
    said = {
        "role": "assistant",
        "content": "A cat.",
        "reasoning_content": "It may be a cat. " * 900,
    }
    messages = [
        {"role": "user", "content": [{"type": "text", "text": "What is this?"}, picture]},
        said,
        {"role": "user", "content": " " * 20_000 + "Sure?"},
        {"role": "assistant", "content": "Yes.", "usage": {"prompt_tokens": 900}},
    ]

    assert not is_understated(parse(messages))
    assert anchor_in(parse(messages)) == Anchor(900, 3)


def test_true_usage_is_believed_after_what_the_provider_compacted_or_cleared() -> None:
    compacted = [{"type": "compaction", "content": "Earlier: all parts were looked at."}]
    after = {"role": "assistant", "content": compacted, "usage": SMALL[0] | {"input_tokens": 90}}
    cleared = {"applied_edits": [{"cleared_input_tokens": 40_000}]}
    last = {"role": "assistant", "content": "Done.", "usage": {"input_tokens": 900}}

    assert not is_understated(parse([*history(20, None), after]))
    assert is_understated(parse([*history(20, None), last]))
    assert not is_understated(parse([*history(20, None), last | {"context_management": cleared}]))

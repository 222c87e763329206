"""One count: what `count_tokens` says of messages is what `compress` and a session say of them."""

import gzip
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from generated import EVERY_DIALECT, Messages, conversations
from hypothesis import given
from hypothesis import strategies as st

from context_compression import Session, compress, count_tokens, usage
from context_compression.testing import conversation

FAR = 10_000_000
"""A target and a window that no conversation here reaches."""
TOOLS = [{"name": "bash", "description": "Runs a command.", "input_schema": {"type": "object"}}]
SYSTEM = "You are a careful engineer."


def words(text: str) -> int:
    return len(text.split())


def is_counted_alike(messages: Messages, folder: Path, **about: Any) -> None:
    """All doors tell the same number, for messages that are valid and hold no provider's usage."""
    count = count_tokens(messages, **about)
    result = compress(messages, target_tokens=FAR, **about)
    if not result.repairs:
        assert result.tokens_before == result.tokens_after == count
        assert result.method in count.method  # which says, too, what was assumed
    assert count_tokens(result.messages, **about) == result.tokens_after
    assert usage(messages, **about).used_tokens == count

    session = Session(folder, f"s{len([*folder.glob('sessions/*')])}", **about)
    session.record(*messages)
    assert session.usage().used_tokens == count
    assert session.status().usage.used_tokens == count
    if not result.repairs:
        beside = about.get("system"), about.get("tools")
        outside = count_tokens("", system=beside[0], tools=beside[1], **_of_counter(about))
        kinds = session.status().breakdown
        assert sum(kinds.values()) + outside == count
        assert session.compress(target_tokens=FAR).tokens_before == count


def _of_counter(about: dict[str, Any]) -> dict[str, Any]:
    return {name: about[name] for name in ("model", "counter") if name in about}


ABOUT: Sequence[dict[str, Any]] = [
    {},
    {"model": "gpt-5"},
    {"model": "claude-sonnet-5", "system": SYSTEM, "tools": TOOLS},
    {"counter": words, "tools": TOOLS},
]


@given(conversations(EVERY_DIALECT), st.sampled_from(ABOUT))
def test_a_conversation_has_one_count(
    tmp_path_factory: pytest.TempPathFactory, messages: Messages, about: dict[str, Any]
) -> None:
    if messages:
        is_counted_alike(messages, tmp_path_factory.mktemp("counted"), **about)


@pytest.mark.slow
@pytest.mark.parametrize("about", ABOUT, ids=["alone", "gpt", "claude", "counter"])
def test_a_recorded_conversation_has_one_count(
    about: dict[str, Any], data_folder: Path, tmp_path: Path
) -> None:
    files = sorted((data_folder / "conversations/uniform").glob("*.json.gz"))
    small = [file for file in files if file.stat().st_size < 30_000]
    assert small

    for file in small[:: max(1, len(small) // 8)]:
        with gzip.open(file, "rt", encoding="utf-8") as opened:
            is_counted_alike(json.load(opened)["messages"], tmp_path, **about)


def test_a_broken_input_is_counted_as_it_is_sent() -> None:
    call: dict[str, Any] = {"type": "tool_use", "id": "t1", "name": "bash", "input": {}}
    messages = [*conversation(2), {"role": "assistant", "content": [call]}, *conversation(1)]

    result = compress(messages, target_tokens=FAR)

    assert result.repairs
    assert result.tokens_before == result.tokens_after == count_tokens(result.messages)


def test_what_a_provider_charged_is_the_windows_and_not_the_messages() -> None:
    charged = {"input_tokens": 5_000, "output_tokens": 9}
    messages = [
        {"role": "user", "content": "Hello."},
        {"role": "assistant", "content": "Hello to you, too.", "usage": charged},
        {"role": "user", "content": "Go on."},
    ]

    count = count_tokens(messages)

    assert compress(messages, target_tokens=FAR).tokens_before == count < 100
    assert usage(messages).used_tokens > 5_009

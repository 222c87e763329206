"""The laws of the design, over generated and recorded conversations, for every strategy."""

import copy
import gzip
import json
import re
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from generated import Messages
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from provider import refused, separated, signatures, unbound, undeclared
from provider.reading import blocks
from talks import SMALL, UNKNOWN, Talk, broken_talks, shares, talks

from context_compression import BudgetTooSmall, Result, Session, compress, count_tokens, hosts
from context_compression.compression import as_a_harness_wrote
from context_compression.conversation import (
    Thinking,
    is_only_polite,
    parse,
    problems,
    ref_of,
    repair,
    user_words,
    without_halves,
)
from context_compression.evidence import constraints_in
from context_compression.settings import StrategyName

STRATEGIES = ("auto", "offload", "truncate", "window", "extract")
RECORDED = (
    "claude-code-cli-43d5a694", "claude-code-oh-my-posh-834a4372", "codex-agentv-6d314cc7",
    "opencode-nimbus-1f9bde9b", "tau-airline-3-0", "qmsum-test-08", "memorybank-cn-00",
    "sweagent-8f338105",
)  # fmt: skip
THOUGHTFUL = (
    "claude-code-cli-e680e851", "claude-code-cli-f6191f80", "claude-code-oh-my-posh-3eaa883b",
)  # fmt: skip
"""Transcripts of a host, in which the model thinks; the others were stripped of that."""

every_strategy = pytest.mark.parametrize("strategy", STRATEGIES)


def run(messages: Messages, strategy: StrategyName, share: float, **options: Any) -> Result:
    """Compress to a share of the size; where that is below the floor, to the floor."""
    target = max(1, int(count_tokens(messages) * share))
    options = {"strategy": strategy, "settings": SMALL} | options
    try:
        return compress(messages, target_tokens=target, **options)
    except BudgetTooSmall as refused:
        assert strategy == "auto"
        assert target < refused.floor_tokens == sum(refused.parts.values())

        return compress(messages, target_tokens=refused.floor_tokens, **options)


def named(messages: Messages) -> set[str]:
    """The refs that a view names."""
    return {*re.findall(r"; ref ([0-9a-f]{12})\b", json.dumps(messages))}


def check(messages: Messages, result: Result) -> None:
    """Everything the laws say of one result without a store."""
    parsed = parse(messages)
    view = parse(result.messages).messages
    assert problems(view, parsed.format.rules) == ()
    assert result.tokens_after == count_tokens(result.messages)
    assert result.tokens_after <= result.tokens_before
    assert result.messages_in == len(messages)
    assert result.messages_out == len(result.messages)
    if result.target_tokens is not None:
        assert result.target_met == (result.tokens_after <= result.target_tokens)
    if not result.changed:
        assert all(a is b for a, b in zip(result.messages, messages, strict=True))
        return
    nothing_lost(messages, result)
    given, shown = ([*lasting(each)] for each in (messages, result.messages))
    assert all(each in shown for each in given) if result.repairs else shown == given
    assert named(result.messages) - named(messages) <= result.originals.keys()
    assert unbound(messages, result.messages) == []
    shown = "\n".join(user_words(message) for message in view)
    last = last_words(as_a_harness_wrote(parsed).messages)
    assert [words for words in last if without_halves(words) not in shown] == []


def lasting(messages: Messages) -> Iterator[Any]:
    """Items of types that we do not know, and what a provider compacted, in their order.

    Half a character, which no provider takes, is replaced as a view replaces it.
    """
    for message in messages:
        if message.get("type") in ("compaction", "item_reference", "hologram"):
            yield without_halves(message)
        for part in blocks(message):
            by_options = part.get("providerOptions") == {"anthropic": {"type": "compaction"}}
            if part.get("type") == "compaction" or by_options:
                yield without_halves(part)


def nothing_lost(messages: Messages, result: Result) -> None:
    """Every message is in the view as it came, or complete among the originals."""
    shown = {id(message) for message in result.messages}
    for index, message in enumerate(messages):
        if id(message) not in shown:
            assert index in result.compressed
            assert result.originals[ref_of(message)] == message
            assert result.reasons[index]
    assert all(ref_of(original) == ref for ref, original in result.originals.items())
    assert all(loss.lost == 0 for loss in result.loss.values())
    assert laid_out(messages, result) == result.messages


def laid_out(messages: Messages, result: Result) -> list[Mapping[str, Any]]:
    view: list[Mapping[str, Any]] = []
    for part in result.layout:
        view += [part] if isinstance(part, dict) else messages[part[0] : part[1]]
    return view


def accepted(talk: Talk, result: Result) -> None:
    """Whether the provider takes the view, by rules that share no code with ours."""
    dialect, messages = talk
    view = result.messages
    assert refused(view, dialect) == []
    assert unbound(messages, view) == []
    assert undeclared(view, messages) == []
    if dialect == "responses":
        assert separated(messages, view) == []
    if dialect == "gemini":
        assert signatures(messages, view) == []


def last_words(parsed: Any) -> set[str]:
    """The user's last words, before those that are only polite, by block of their message.

    A text that stands twice in a message needs to be shown once.
    """
    said = [m for m in reversed(parsed) if user_words(m).strip() and m.is_user]
    last = next((m for m in said if not is_only_polite(user_words(m).strip())), (*said, None)[0])
    if last is None:
        return set()
    return {user_words(last.with_blocks((block,))).strip() for block in last.blocks}


@pytest.mark.slow
@every_strategy
@given(talk=talks(), share=shares)
def test_a_view_is_valid_smaller_and_complete_with_its_originals(
    strategy: StrategyName, talk: Talk, share: float
) -> None:
    _, messages = talk
    given_messages = copy.deepcopy(messages)

    result = run(messages, strategy, share)

    assert messages == given_messages, "the input was changed"
    check(messages, result)
    accepted(talk, result)


@pytest.mark.slow
@every_strategy
@given(talk=broken_talks(), share=shares)
def test_broken_input_gives_a_valid_view_and_a_report(
    strategy: StrategyName, talk: Talk, share: float
) -> None:
    dialect, messages = talk
    parsed = parse(messages)
    mended = repair(parsed.messages, parsed.format.rules, parsed.without_halves)

    result = run(messages, strategy, share)

    assert result.repairs == mended.repairs
    faults = refused(result.messages, dialect)
    assert [fault for fault in faults if not any(of in fault for of in UNKNOWN)] == []
    check(messages, result)


@pytest.mark.slow
@every_strategy
@given(talk=talks(), share=shares)
def test_the_same_input_gives_the_same_bytes(
    strategy: StrategyName, talk: Talk, share: float
) -> None:
    _, messages = talk

    first = run(messages, strategy, share)
    second = run(copy.deepcopy(messages), strategy, share)

    assert json.dumps(second.messages) == json.dumps(first.messages)
    assert second.refs == first.refs


@pytest.mark.slow
@given(talk=talks(), data=st.data())
def test_auto_meets_every_target_from_the_floor_on(talk: Talk, data: st.DataObject) -> None:
    _, messages = talk
    floor = 1
    try:
        compress(messages, target_tokens=1, settings=SMALL)
    except BudgetTooSmall as refused:
        floor = refused.floor_tokens
    target = data.draw(st.integers(floor, max(floor, int(count_tokens(messages)))))

    result = compress(messages, target_tokens=target, settings=SMALL)

    assert result.target_met
    assert result.tokens_after <= target


@pytest.mark.slow
@every_strategy
@given(talk=talks(), share=shares, data=st.data())
def test_pinned_messages_stay_as_they_came_but_for_thinking_that_would_be_refused(
    strategy: StrategyName, talk: Talk, share: float, data: st.DataObject
) -> None:
    _, messages = talk
    if not messages:
        return
    pins = data.draw(st.lists(st.integers(0, len(messages) - 1), min_size=1, max_size=4))

    result = run(messages, strategy, share, pins=pins)

    check(messages, result)
    assume(not result.repairs)  # an empty text beside a picture is left out
    conversation = parse(messages)
    shown = {id(message) for message in result.messages}
    blocks = [block for message in parse(result.messages).messages for block in message.blocks]
    for pin in pins:
        pinned = conversation.messages[pin]
        if not (pinned.has_bound_thinking or conversation.format.rules.alternates):
            assert id(messages[pin]) in shown
        else:
            assert all(
                block in blocks for block in pinned.blocks if not isinstance(block, Thinking)
            )


@pytest.mark.slow
@every_strategy
@given(talk=talks(), share=shares)
def test_nothing_is_put_into_the_users_mouth(
    strategy: StrategyName, talk: Talk, share: float
) -> None:
    _, messages = talk
    said = "\n".join(user_words(message) for message in parse(messages).messages)

    result = run(messages, strategy, share)

    view = as_a_harness_wrote(parse(result.messages)).messages
    for message, read in zip(result.messages, view, strict=True):
        if read.role == "user" and not any(message is m for m in messages):
            for line in user_words(read).split("\n")[:1]:
                assert line.startswith(("[Compressed History]", "[...")) or line in said


@pytest.mark.slow
@every_strategy
@settings(max_examples=15)
@given(talk=talks(), share=shares)
def test_a_store_gives_back_every_byte_from_another_process_and_undo_brings_back_the_view(
    strategy: StrategyName, talk: Talk, share: float
) -> None:
    _, messages = talk
    with tempfile.TemporaryDirectory() as folder:
        session = Session(folder, "one", settings=SMALL)
        if messages:
            session.record(*messages)
        target = max(1, int(count_tokens(messages) * share))
        try:
            result = session.compress(target_tokens=target, strategy=strategy)
        except BudgetTooSmall:
            assert session.state().view == messages
            return

        reopened = Session(folder, "one", settings=SMALL)

        assert reopened.view() == result.messages
        for ref, original in result.originals.items():
            assert reopened.original(ref) == original
            shown = reopened.restore(ref)
            assert shown == (original if isinstance(original, str) else json_of(original))
        if result.changed:  # what is sent may be repaired, but the record has every byte
            reopened.undo()
            assert reopened.state().view == messages
        assert reopened.store.verify() == []


def json_of(message: Any) -> str:
    return json.dumps(message, ensure_ascii=False)


@pytest.mark.slow
@pytest.mark.parametrize("share", [0.5, 0.25, 0.1, 0.05])
@pytest.mark.parametrize("name", RECORDED)
@every_strategy
def test_recorded_conversations_keep_the_laws(
    strategy: StrategyName, name: str, share: float, data_folder: Path
) -> None:
    with gzip.open(data_folder / f"conversations/uniform/{name}.json.gz", "rt") as file:
        messages = json.load(file)["messages"]

    result = run(messages, strategy, share, settings=None)

    check(messages, result)


@pytest.mark.slow
@pytest.mark.parametrize("share", [0.25, 0.1])
@pytest.mark.parametrize("name", RECORDED)
def test_what_was_compressed_before_changes_nothing(
    name: str, share: float, data_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with gzip.open(data_folder / f"conversations/uniform/{name}.json.gz", "rt") as file:
        messages = json.load(file)["messages"]
    monkeypatch.setattr("context_compression.planning.pieces._kept", [])
    alone = run(messages, "auto", share, settings=None)
    monkeypatch.setattr("context_compression.planning.pieces._kept", [])

    run(messages[len(messages) // 3 :], "auto", share, settings={"offload_preview_tokens": 100})
    after = run(messages, "auto", share, settings=None)

    assert json_of(after.messages) == json_of(alone.messages)
    assert after.refs == alone.refs


@pytest.mark.slow
@pytest.mark.parametrize("share", [0.5, 0.2, 0.05])
@pytest.mark.parametrize("name", THOUGHTFUL)
@every_strategy
def test_recorded_tool_loops_keep_all_of_their_thinking_or_none(
    strategy: StrategyName, name: str, share: float, data_folder: Path
) -> None:
    file = data_folder / f"conversations/native/claude-code/{name}.jsonl.gz"
    messages = hosts.read(file).messages

    result = run(messages, strategy, share, settings=None)

    check(messages, result)


@pytest.mark.parametrize("name", RECORDED[:4])
def test_recorded_constraints_survive_while_the_users_messages_do(
    name: str, data_folder: Path
) -> None:
    with gzip.open(data_folder / f"conversations/uniform/{name}.json.gz", "rt") as file:
        messages = json.load(file)["messages"]

    result = run(messages, "auto", 0.5, settings=None)

    said = [user_words(message) for message in parse(messages).messages]
    view = "\n".join(user_words(message) for message in parse(result.messages).messages)
    assert all(words[a:b] in view for words in said for a, b in constraints_in(words))

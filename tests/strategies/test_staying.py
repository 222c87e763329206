"""What always stays: items of unknown types, and the conversation that a provider compacted."""

from typing import Any

import pytest
from provider import refused
from provider.reading import Messages, blocks

from context_compression import BudgetTooSmall, compress
from context_compression.settings import StrategyName
from context_compression.summaries import SummaryReply, SummaryRequest

HOLOGRAM = {"type": "hologram", "id": "hg_1", "waves": [1, 2, 3]}
COMPACTED = {"type": "compaction", "id": "cmp_1", "encrypted_content": "c2VhbGVk"}
REFERENCE = {"type": "item_reference", "id": "msg_of_openai"}
TOOLS: dict[str, Any] = {
    "type": "mcp_list_tools",
    "id": "mcpl_1",
    "server_label": "crm",
    "tools": [],
}
BLOCK = {"type": "compaction", "content": "Earlier: the release is named Halcyon."}


SUMMARY = (
    "## Goal\nRelease Halcyon.\n\n## Progress\nThe parts from part0 to part9 were talked over, and "
    "nothing was changed.\n\n## Next Steps\nGo on with the next part."
)


class Writer:
    """Writes a summary, and keeps what it was given to read."""

    def __init__(self) -> None:
        self.read: list[str] = []

    async def summarize(self, request: SummaryRequest) -> SummaryReply:
        self.read.append(request.prompt)
        return SummaryReply(SUMMARY, model="m")


def words(number: int) -> str:
    return " ".join(f"part{number}-{word}" for word in range(120))


def talk(rounds: int = 20) -> list[dict[str, Any]]:
    return [
        {"role": role, "content": f"{words(number)} {role}"}
        for number in range(rounds)
        for role in ("user", "assistant")
    ]


def items() -> list[dict[str, Any]]:
    """A talk of messages, tool calls and staying items; one of these follows reasoning."""
    reasoning: dict[str, Any] = {
        "type": "reasoning",
        "id": "rs_1",
        "summary": [],
        "encrypted_content": "c2Vh",
    }
    call = {"type": "function_call", "call_id": "c1", "name": "build", "arguments": "{}"}
    output = {"type": "function_call_output", "call_id": "c1", "output": words(100) * 5}
    start, end = talk(3), talk()
    return [*start, COMPACTED, REFERENCE, call, TOOLS, output, reasoning, HOLOGRAM, *end]


def anthropic_talk() -> list[dict[str, Any]]:
    answer = {"role": "assistant", "content": [BLOCK, {"type": "text", "text": "I go on."}]}
    return [{"role": "user", "content": "Begin."}, answer, *talk()]


@pytest.mark.parametrize("strategy", ["auto", "window", "extract"])
@pytest.mark.parametrize("alternate", [True, False])
def test_an_item_of_an_unknown_type_stays_in_its_place_and_its_type_is_told(
    strategy: StrategyName, alternate: bool
) -> None:
    messages = items()

    result = compress(
        messages, target_tokens=3_000, strategy=strategy, settings={"alternate_roles": alternate}
    )

    stayed = [m for m in result.messages if any(m is x for x in messages[6:13]) and "type" in m]
    kinds = [message["type"] for message in stayed if "call" not in message["type"]]
    assert kinds == ["compaction", "item_reference", "mcp_list_tools", "reasoning", "hologram"]
    assert result.changed
    assert refused(_known(result.messages), "responses") == []
    assert "items of types that are not known stay as they came: hologram" in result.notes


def _known(messages: Messages) -> Messages:
    """Without the reasoning before what our model of the provider does not know, either."""
    return [m for m in messages if m.get("type") not in ("hologram", "reasoning")]


def test_what_always_stays_is_part_of_the_minimum_size() -> None:
    messages = [*talk(3), COMPACTED, HOLOGRAM | {"waves": [*range(500)]}, *talk(3)]

    with pytest.raises(BudgetTooSmall) as caught:
        compress(messages, target_tokens=100)

    assert caught.value.parts["what always stays"] > 500


def test_a_tool_step_is_compressed_around_an_item_in_it() -> None:
    call = {"type": "function_call", "name": "build", "arguments": "{}"}
    output = {"type": "function_call_output"}
    messages = [
        each
        for number in range(20)
        for each in (
            {"role": "user", "content": f"Build {number}."},
            call | {"call_id": f"c{number}"},
            HOLOGRAM | {"id": f"hg_{number}"},
            output | {"call_id": f"c{number}", "output": words(number) * 3},
        )
    ]

    result = compress(messages, target_tokens=2_000)

    assert result.target_met
    assert [m for m in result.messages if m.get("type") == "hologram"] == messages[2::4]
    assert refused(result.messages, "responses") == []
    assert sum(m.get("type") == "function_call" for m in result.messages) < 10


def test_the_reason_is_explained() -> None:
    result = compress(items(), target_tokens=3_000)

    assert "unknown type, or holds what a provider compacted" in str(result.explain(12))


@pytest.mark.parametrize("strategy", ["auto", "window", "extract"])
def test_a_compaction_block_stays_with_its_message(strategy: StrategyName) -> None:
    result = compress(anthropic_talk(), target_tokens=3_000, strategy=strategy)

    assert any(BLOCK in blocks(message) for message in result.messages)
    assert refused(result.messages, "anthropic") == []


def test_the_digest_comes_after_what_the_provider_reads_first() -> None:
    messages = [*talk(3), *anthropic_talk()[1:]]

    view = compress(messages, target_tokens=2_500, strategy="window").messages

    at = next(i for i, message in enumerate(view) if BLOCK in blocks(message))
    notes = [i for i, m in enumerate(view) if "earlier messages" in str(m["content"])[:60]]
    assert notes
    assert notes[0] > at


def test_a_summary_is_made_of_the_readable_text_and_comes_after_it() -> None:
    writer = Writer()
    messages = anthropic_talk()

    view = compress(messages, target_tokens=3_000, summarizer=writer).messages

    assert "[Earlier note]: Earlier: the release is named Halcyon." in writer.read[0]
    assert [m for m in view if m is messages[1]]
    at = view.index(messages[1])
    assert "Release Halcyon." in str(view[at + 1]["content"])


def test_a_summary_is_written_even_if_what_stays_divides_the_rest() -> None:
    messages = [{"role": "user", "content": "Go."}, COMPACTED, HOLOGRAM, *talk()]

    view = compress(messages, target_tokens=3_000, summarizer=Writer()).messages

    assert view.index(HOLOGRAM) >= 0
    assert any("Release Halcyon." in str(message.get("content")) for message in view)


def test_a_conversation_compacted_through_the_ai_sdk_stays() -> None:
    compacted = {
        "type": "text",
        "text": "Earlier: the release is named Halcyon.",
        "providerOptions": {"anthropic": {"type": "compaction"}},
    }
    answer = {"role": "assistant", "content": [compacted, {"type": "text", "text": "I go on."}]}
    messages = [{"role": "user", "content": "Begin."}, answer, *talk()]

    view = compress(messages, target_tokens=3_000).messages

    assert any(message is answer for message in view)


def test_an_unknown_block_does_not_keep_its_message() -> None:
    block = {"type": "hologram", "waves": [1, 2, 3]}
    answer = {"role": "assistant", "content": [block, {"type": "text", "text": words(50)}]}

    result = compress([*talk(3), answer, *talk()], target_tokens=2_000)

    assert answer not in result.messages
    assert answer in result.originals.values()


@pytest.mark.parametrize("strategy", ["auto", "window", "extract"])
def test_a_view_of_which_only_an_unknown_item_and_texts_are_left_can_be_compressed_again(
    strategy: StrategyName,
) -> None:
    steps: Messages = []
    for i in range(100):
        ids = {"call_id": f"c{i}"}
        steps.append({"type": "function_call", **ids, "name": "build", "arguments": "{}"})
        steps.append({"type": "function_call_output", **ids, "output": words(100)})
    messages = [HOLOGRAM, *steps, *talk()]

    view = compress(messages, strategy=strategy, target_tokens=6_000).messages
    again = compress([*view, *talk(4)], strategy=strategy, target_tokens=4_000).messages

    assert not any(step in view for step in steps)
    assert HOLOGRAM in view and HOLOGRAM in again


def test_a_short_result_behind_an_unknown_item_leaves_with_its_call() -> None:
    call = {"type": "function_call", "call_id": "c9", "name": "build", "arguments": words(50)}
    output = {"type": "function_call_output", "call_id": "c9", "output": "ok"}
    messages = [*talk(3), call, HOLOGRAM, output, {"role": "assistant", "content": "Built."}]
    messages += talk()

    result = compress(messages, target_tokens=2_000)

    assert HOLOGRAM in result.messages
    assert refused(result.messages, "responses") == []

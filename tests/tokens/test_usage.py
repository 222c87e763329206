"""How full a context is, and when it is time to compress."""

from typing import Any

import pytest
from generated import Messages, conversations
from hypothesis import given
from written import talk

from context_compression import Settings, compress, count_tokens, should_compress, usage
from context_compression.conversation import parse
from context_compression.errors import InvalidConversation, InvalidSettings
from context_compression.testing import Run, conversation, tool_step
from context_compression.tokens import Counter
from context_compression.tokens.usage import breakdown, largest

pytestmark = pytest.mark.slow

HELLO = {"role": "user", "content": "hello"}
TOOLS = [{"name": "Bash", "description": "Runs a command.", "input_schema": {"type": "object"}}]


def words(text: str) -> int:
    return len(text.split())


def test_usage_says_used_budget_percent_and_remaining() -> None:
    messages = [{"role": "user", "content": "word " * 250}]

    found = usage(messages, counter=words, settings={"token_budget": 1_000})

    assert found.used_tokens == count_tokens(messages, counter=words)
    assert found.total_budget == 1_000
    assert found.usage_percent == round(found.used_tokens / 10, 1)
    assert found.remaining == 1_000 - found.used_tokens
    assert found.threshold_tokens == 800


def test_what_remains_is_never_negative() -> None:
    found = usage([{"role": "user", "content": "word " * 2_000}], settings={"token_budget": 1_000})

    assert found.remaining == 0
    assert found.usage_percent > 100


@pytest.mark.parametrize("messages", [[], ()])
def test_an_empty_conversation_uses_nothing_and_is_never_due(messages: Any) -> None:
    assert usage(messages).used_tokens == 0
    assert usage(messages).usage_percent == 0
    assert not should_compress(messages)
    assert not should_compress(messages, settings={"trigger_threshold": 0.001, "token_budget": 1})


def test_with_the_strategy_window_the_turns_count_too_as_in_compress() -> None:
    settings = {"strategy": "window"}

    for turns in (20, 21):
        messages = talk(turns)
        due = should_compress(messages, settings=settings)
        assert due is compress(messages, settings=settings).changed is (turns > 20)


def test_the_number_of_the_threshold_comes_with_what_decides_it() -> None:
    reserved = usage([], settings={"trigger_threshold": 0.95})

    assert usage([]).threshold_reason == "80 % of 200,000"
    assert reserved.threshold_tokens == 183_617
    assert reserved.threshold_reason == "more than 200,000 minus 16,384 of reserve_tokens"


def test_the_upper_bound_of_the_count_decides_whether_it_is_due() -> None:
    messages = conversation(6, seed=1)
    count = count_tokens(messages)
    assert count < count.upper

    for threshold, due in ((count.upper + 2, False), (count.upper - 2, True), (count + 1, True)):
        settings = Settings(token_budget=10 * threshold, trigger_threshold=0.1)
        assert should_compress(messages, settings=settings) is due
        assert usage(messages, settings=settings).over_threshold is due


def test_a_counter_of_ones_own_is_taken_for_exact() -> None:
    messages = [{"role": "user", "content": "word " * 100}]
    count = count_tokens(messages, counter=words)

    assert count.upper == count
    assert should_compress(
        messages, counter=words, settings={"token_budget": count, "trigger_threshold": 1}
    )


def test_it_is_due_exactly_at_the_threshold_and_not_one_token_before() -> None:
    messages = [{"role": "user", "content": "word " * 1_000}]
    count = int(count_tokens(messages, counter=words))

    def due(budget: int) -> bool:
        settings = {"token_budget": budget, "trigger_threshold": 0.5}
        return should_compress(messages, counter=words, settings=settings)

    assert due(2 * count)
    assert not due(2 * count + 2)


def test_system_prompt_and_tools_count_too() -> None:
    alone = count_tokens([HELLO])

    assert count_tokens([HELLO], system="Be brief.") > alone
    assert count_tokens([HELLO], system=[{"type": "text", "text": "Be brief."}]) > alone
    assert count_tokens([HELLO], tools=TOOLS) > alone
    assert usage([HELLO], system="Be brief.", tools=TOOLS).used_tokens == (
        count_tokens([HELLO], system="Be brief.", tools=TOOLS)
    )


def test_a_text_alone_can_be_counted() -> None:
    assert 0 < count_tokens("hello") < count_tokens([HELLO])
    assert count_tokens("") == 0


def test_a_count_says_its_method() -> None:
    assert count_tokens([HELLO]).method == "o200k x 1.15 (claude, older)"
    assert count_tokens([HELLO], model="gpt-5").method == "o200k"


def test_a_message_changed_in_place_is_counted_anew() -> None:
    messages = [{"role": "user", "content": "hello"}]
    before = count_tokens(messages)

    messages[0]["content"] = "hello and good bye"

    assert count_tokens(messages) > before


@given(conversations())
def test_counting_again_gives_the_same_and_a_part_is_never_more(messages: Messages) -> None:
    count = count_tokens(messages)

    assert count_tokens(list(messages)) == count
    assert count_tokens(messages[:-1]) <= count
    assert usage(messages).used_tokens == count


def test_real_usage_in_the_messages_beats_the_estimate() -> None:
    charged = {"input_tokens": 150_000, "output_tokens": 9, "cache_read_input_tokens": 20_000}
    messages: Messages = [HELLO, {"role": "assistant", "content": "hello", "usage": charged}, HELLO]

    found = usage(messages)

    assert found.used_tokens == 170_009 + count_tokens([HELLO])
    assert found.used_tokens.method.startswith("usage + ")
    assert should_compress(messages)
    assert count_tokens(messages) < 100


def test_a_text_has_no_usage() -> None:
    with pytest.raises(InvalidConversation, match="not str"):
        usage("hello")  # pyright: ignore[reportArgumentType]  # that is the test


def test_usage_of_what_is_no_conversation_is_refused() -> None:
    with pytest.raises(InvalidConversation):
        usage([{"role": "narrator", "content": "once"}])
    with pytest.raises(InvalidSettings, match="did you mean token_budget"):
        usage([HELLO], settings={"token_buget": 3})


@given(conversations())
def test_the_breakdown_adds_up_to_what_the_messages_cost(messages: Messages) -> None:
    counter = Counter()
    parsed = parse(messages).messages

    found = breakdown(parsed, counter)

    assert sum(found.values()) == count_tokens(messages)
    assert list(found.values()) == sorted(found.values(), reverse=True)


def test_the_breakdown_is_by_kind_of_content() -> None:
    messages: Messages = [
        {"role": "user", "content": [{"type": "image", "source": {}}, {"type": "hologram"}]},
        *tool_step([Run("a", "Bash", {"command": "ls"}, "main.py")], "anthropic", thought="Hm."),
        {"role": "assistant", "content": "One file."},
        {
            "role": "user",
            "content": [{"type": "document", "source": {}}, {"type": "text", "text": "x"}],
        },
    ]

    assert breakdown(parse(messages).messages, Counter()).keys() == {
        "images", "other", "thinking", "tool calls", "tool results", "assistant text", "documents",
        "user text", "structure",
    }  # fmt: skip


def test_a_note_of_ours_is_not_the_users_text() -> None:
    note = {"role": "user", "content": "[Compressed History] Not shown here:\n[… 60 messages]"}
    parsed = parse([note, HELLO]).messages

    assert {"our notes", "user text"} <= breakdown(parsed, Counter()).keys()
    assert [item.what for item in largest(parsed, Counter())] == ["our note", "text of the user"]


def test_a_note_of_the_hosts_is_not_the_users_text() -> None:
    note = {"role": "user", "content": f"<system-reminder>{'Be brief. ' * 20}</system-reminder>"}
    parsed = parse([note, HELLO]).messages

    assert {"host text", "user text"} <= breakdown(parsed, Counter()).keys()
    assert [i.what for i in largest(parsed, Counter())] == ["text of the host", "text of the user"]


def test_the_largest_blocks_are_named_with_their_tool() -> None:
    long = Run("a", "Bash", {"command": "cat"}, "line of text\n" * 400)
    messages = [HELLO, *tool_step([long, Run("b", "Read", {}, "x")], "anthropic")]

    found = largest(parse(messages).messages, Counter(), limit=2)

    assert [item.what for item in found] == ["result of Bash", "call of Bash"]
    assert found[0].message == 2
    assert found[0].tokens > 1_000


def test_what_should_be_compressed_is_compressed_and_then_no_more() -> None:
    messages = conversation(30, seed=5)
    settings = {"token_budget": int(count_tokens(messages) * 1.1)}
    assert should_compress(messages, settings=settings)

    result = compress(messages, settings=settings)

    assert result.changed
    assert not should_compress(result.messages, settings=settings)
    assert not compress(result.messages, settings=settings).changed


def test_what_should_not_be_compressed_is_not() -> None:
    messages = conversation(5, seed=5)
    settings = {"token_budget": count_tokens(messages) * 2}
    assert not should_compress(messages, settings=settings)

    assert not compress(messages, settings=settings).changed

"""One function: when it runs, how far it goes, what it gives back, and what it says of it."""

import copy
import json
import os
import re
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from generated import Messages
from provider import refused
from written import ASK, TELL, talk, worked

from context_compression import (
    BudgetTooSmall,
    Result,
    Settings,
    acompress,
    compress,
    count_tokens,
    usage,
)
from context_compression.compression import CompressionRequest
from context_compression.compression.prepared import SURELY_LONG
from context_compression.compression.run import compress as compress_only
from context_compression.conversation import COMPRESSED, Message, parse, ref_of, strings_in
from context_compression.errors import InvalidConversation, InvalidSettings, InvalidTarget
from context_compression.planning import Archive
from context_compression.settings import StrategyName
from context_compression.testing import Run, conversation, tool_step
from context_compression.tokens import Counter, Counting

NO_TARGETS: tuple[Any, ...] = (0, -5, 1.5, "1000", True)
NO_PINS: tuple[Any, ...] = ("src/vendor", None, [1.5], 3)
both_dialects = pytest.mark.parametrize("dialect", ["anthropic", "openai"])
TOOLS: Messages = [{"name": "Bash", "description": "Runs a command. " * 40, "input_schema": {}}]


def log(lines: int, salt: object = "") -> str:
    return "\n".join(f"{n} info {salt} handled request {n * 31}" for n in range(lines))


def steps(result: Result) -> list[str]:
    return [step.strategy for step in result.steps]


def test_below_the_threshold_nothing_happens() -> None:
    messages = conversation(6, seed=2)

    result = compress(messages)

    assert not result.changed
    assert result.first_changed is None
    assert result.notes == ("not due below 160,000 tokens (80 % of 200,000)",)
    assert result.strategy == "none"
    assert all(a is b for a, b in zip(result.messages, messages, strict=True))


def test_over_the_threshold_it_comes_down_to_the_target_of_the_settings() -> None:
    messages = talk(60)
    settings = Settings(token_budget=count_tokens(messages), target_usage=0.4)

    result = compress(messages, settings=settings)

    assert result.target_tokens == settings.target_tokens
    assert result.tokens_after <= settings.target_tokens
    assert result.target_met


def test_the_upper_bound_triggers_while_the_estimate_meets_the_target() -> None:
    messages = talk(60)
    count = count_tokens(messages)
    budget = int(count / 0.8) + 100  # the estimate is below the threshold, its bound above

    result = compress(messages, settings={"token_budget": budget})

    assert count < Settings(token_budget=budget).threshold_tokens <= count.upper
    assert result.changed
    assert result.target_tokens == budget // 2
    assert result.tokens_after <= budget // 2


@pytest.mark.slow
@pytest.mark.parametrize(("beside", "target"), [(0, 100_000), (40_000, 60_000), (95_000, 25_000)])
def test_what_was_charged_beyond_the_messages_is_left_room_for_in_the_window(
    beside: int, target: int
) -> None:
    messages = conversation(35)
    charged = {"input_tokens": count_tokens(messages) + beside, "output_tokens": 0}

    given = [*messages[:-1], {**messages[-1], "usage": charged}]
    result = compress(given, force=True)

    assert result.target_tokens is not None
    assert abs(result.target_tokens - target) <= 100
    assert abs(result.tokens_before + beside - usage(given).used_tokens) <= 100
    assert abs(count_tokens(result.messages) - result.tokens_after) <= 100
    assert result.target_met
    assert compress(given, target_tokens=90_000).tokens_after > 60_000
    assert result.target_met


def test_a_named_target_is_met_whatever_the_threshold() -> None:
    messages = talk(20)
    target = count_tokens(messages) * 2 // 3

    result = compress(messages, target_tokens=target)

    assert result.target_tokens == target
    assert result.tokens_after <= target


def test_within_a_named_target_nothing_happens() -> None:
    messages = talk(3)

    result = compress(messages, target_tokens=count_tokens(messages), force=True)

    assert not result.changed
    assert result.target_met
    assert result.notes == ("already within the target",)


def test_by_hand_it_runs_below_the_threshold_on_what_lies_before_the_tail() -> None:
    messages = talk(60)
    settings = {"keep_recent_tokens": 1_000, "preserve_messages": 4}

    result = compress(messages, force=True, settings=settings)

    each = count_tokens(messages[-2:])
    tail = 2 * (1_000 // each)
    assert result.changed
    assert all(a is b for a, b in zip(result.messages[-tail:], messages[-tail:], strict=True))
    assert result.tokens_after < result.tokens_before


def test_by_hand_the_tail_takes_half_of_the_room_at_most() -> None:
    messages = talk(60)
    settings = {"keep_recent_tokens": int(count_tokens(messages) * 0.7), "preserve_messages": 4}

    result = compress(messages, force=True, settings=settings)

    assert result.target_met
    assert messages[0]["content"] in str(result.messages)
    assert all(a is b for a, b in zip(result.messages[-4:], messages[-4:], strict=True))


@pytest.mark.parametrize(
    ("strategy", "most"), [("auto", 0.55), ("extract", 0.55), ("window", 0.75)]
)
@pytest.mark.parametrize("words", [5, 300])
def test_by_hand_a_chat_of_45_messages_becomes_shorter(
    strategy: StrategyName, most: float, words: int
) -> None:
    messages = [
        {"role": role, "content": f"{role} {n}: " + f"word{n} and another one " * words}
        for n in range(22)
        for role in ("user", "assistant")
    ]

    result = compress([*messages, messages[0]], force=True, strategy=strategy)

    assert result.messages_in == 45
    assert result.tokens_after <= most * result.tokens_before


def test_by_hand_there_may_be_nothing_before_the_tail() -> None:
    result = compress(talk(5), force=True)

    assert not result.changed
    assert result.notes == (
        "nothing to compress before the recent messages",
        "a call with target_tokens can shorten recent messages, too",
    )


SHORT: Messages = [
    {"role": "user", "content": "Fix the build. Never touch src/vendor."},
    {"role": "assistant", "content": "I looked at the build, and a semicolon is missing. " * 20},
    {"role": "user", "content": "Then put it there, please."},
]


@pytest.mark.parametrize(
    ("strategy", "why"),
    [
        ("auto", "nothing to compress before the recent messages; a call with target_tokens"),
        ("extract", "nothing to compress before the recent messages; a call with target_tokens"),
        ("offload", "no tool result that may be shortened has 1,000 tokens or more"),
        ("truncate", "no tool result that may be shortened has more than 3,000 characters"),
        ("window", "the last 10 turns are kept in full"),
    ],
)
def test_a_short_chat_that_is_compressed_by_hand_says_why_nothing_more_is_possible(
    strategy: StrategyName, why: str
) -> None:
    result = compress(SHORT, force=True, strategy=strategy)

    assert not result.changed
    assert why in "; ".join(result.notes)


@pytest.mark.parametrize("strategy", ["auto", "extract", "window"])
def test_with_a_target_it_does_what_it_can(strategy: StrategyName) -> None:
    result = compress(SHORT, target_tokens=70, strategy=strategy, force=True)

    assert (result.changed, result.target_met) == (True, True)
    assert result.messages[-1] is SHORT[-1]


def test_of_a_conversation_that_stays_as_it_is_no_constraint_is_gone() -> None:
    result = compress([{"role": "user", "content": "Never push to main."}], target_tokens=1_000)

    assert not result.changed
    assert result.constraints_gone == ""


def test_an_empty_conversation_has_nothing_to_compress() -> None:
    for target, force in ((None, False), (None, True), (1, False)):
        result = compress([], target_tokens=target, force=force)

        assert result.messages == []
        assert not result.changed
        assert result.ratio == 1.0
        assert result.notes == ("nothing to compress: the conversation is empty",)


def test_off_does_not_mean_that_one_cannot_ask() -> None:
    messages = talk(20)

    result = compress(messages, target_tokens=1_000, settings={"auto_compress": False})

    assert result.changed


def test_the_models_window_is_the_budget() -> None:
    messages = talk(20)

    assert compress(messages, model="gpt-5").notes == (
        "not due below 320,000 tokens (80 % of 400,000)",
    )


@pytest.mark.parametrize(
    ("options", "error", "says"),
    [
        *(({"target_tokens": target}, InvalidTarget, "target_tokens is") for target in NO_TARGETS),
        *(({"pins": pins}, InvalidSettings, "it must be a list") for pins in NO_PINS),
        ({"pins": ["src/vendor", ""]}, InvalidSettings, "empty text"),
        ({"strategy": "windows"}, InvalidSettings, "nearest valid: window"),
        ({"strategy": "summarize"}, InvalidSettings, "summarizer"),
        ({"settings": {"keepRecnt": 3}}, InvalidSettings, "did you mean keep_recent"),
    ],
)
def test_what_cannot_be_meant_is_refused_with_what_is_possible(
    options: Any, error: type[Exception], says: str
) -> None:
    with pytest.raises(error, match=says):
        compress([ASK], **options)


def test_what_is_no_conversation_is_refused() -> None:
    with pytest.raises(InvalidConversation):
        compress([{"role": "narrator", "content": "once"}])


@pytest.mark.parametrize("follows", ["extract", "skip"])
def test_settings_that_want_a_summary_nobody_can_write_get_what_follows_a_failed_one(
    follows: str,
) -> None:
    settings = {"strategy": "summarize", "on_summary_failure": follows}

    result = compress(talk(20), target_tokens=1_000, settings=settings)

    assert result.strategy == {"extract": "extract", "skip": "none"}[follows]
    assert result.target_met is (follows == "extract")
    assert result.notes[0].startswith("no summary: nobody is there to write one")


def test_the_strategy_may_come_from_the_settings_and_an_argument_beats_it() -> None:
    messages = talk(30)
    settings = {"strategy": "window"}

    assert compress(messages, target_tokens=1_500, settings=settings).strategy == "window"
    assert compress(
        messages, target_tokens=1_500, settings=settings, strategy="extract"
    ).strategy == ("extract")


def test_a_counter_of_ones_own_is_what_counts() -> None:
    messages = talk(20)

    def words(text: str) -> int:
        return len(text.split())

    result = compress(messages, target_tokens=400, counter=words)

    assert result.tokens_before == count_tokens(messages, counter=words)
    assert result.tokens_after == count_tokens(result.messages, counter=words) <= 400


@pytest.mark.anyio
async def test_in_an_event_loop_the_result_is_the_same() -> None:
    messages = conversation(12, seed=8)
    target = count_tokens(messages) // 2

    there = await acompress(messages, target_tokens=target)

    assert there == compress(messages, target_tokens=target)


def test_auto_tries_the_cheapest_first_and_stops_when_the_target_is_met() -> None:
    messages = worked(*(log(300, n) for n in range(4)))
    count = count_tokens(messages)

    result = compress(messages, target_tokens=int(count * 0.8))

    assert steps(result) == ["offload"]
    assert result.strategy == "offload"
    assert result.target_met


def test_then_it_truncates_and_then_it_extracts() -> None:
    messages = worked(*(log(150, n) for n in range(6)))  # too small to offload, too long to keep
    settings = {"offload_min_tokens": 5_000}
    count = count_tokens(messages)

    truncated = compress(messages, target_tokens=int(count * 0.9), settings=settings)
    extracted = compress(messages, target_tokens=int(count * 0.3), settings=settings)

    assert steps(truncated) == ["offload", "truncate"]
    assert steps(extracted) == ["offload", "truncate", "extract"]
    assert truncated.target_met
    assert extracted.target_met


def test_each_step_says_what_the_view_costs_after_it() -> None:
    messages = worked(*(log(300, n) for n in range(4)))

    result = compress(messages, target_tokens=400)

    after = [step.tokens_after for step in result.steps]
    assert after == sorted(after, reverse=True)
    assert after[-1] == result.tokens_after
    assert all(tokens < result.tokens_before for tokens in after)


def unasked(freed: int, *, early: bool = False, **settings: Any) -> Result:
    """A run that nobody asked for, over its threshold, in which offload frees about `freed`.

    That is at the end of the conversation, or `early` in it.
    """
    work = worked(log(freed // 10))
    messages = [*work, *talk(500)] if early else [*talk(500), *work]
    budget = int(count_tokens(messages) / 0.79)
    return compress(messages, settings={"token_budget": budget, **settings})


def test_a_run_nobody_asked_for_stops_early_once_enough_is_freed() -> None:
    result = unasked(20_000)

    assert steps(result) == ["offload", "truncate"]
    assert 15_000 <= result.tokens_freed < 25_000
    assert not result.target_met
    assert result.notes == (
        "stopped early: below the threshold, and compact_trigger_tokens were freed",
    )


def test_it_goes_on_where_less_than_compact_trigger_tokens_was_freed() -> None:
    for result in (unasked(9_000), unasked(20_000, compact_trigger_tokens=30_000)):
        assert steps(result) == ["offload", "truncate", "extract"]
        assert result.target_met


def test_it_goes_on_where_stopping_would_rewrite_nearly_all_for_little_room() -> None:
    assert steps(unasked(20_000, early=True)) == ["offload", "truncate", "extract"]


def test_it_goes_on_while_it_is_over_the_threshold() -> None:
    messages = [*worked(log(1_200)), *talk(150)]

    result = compress(messages, settings={"token_budget": count_tokens(messages) // 2})

    assert steps(result)[-1] == "extract"


def test_asked_for_by_hand_it_does_not_stop_early() -> None:
    messages = [*worked(log(2_000)), *talk(500)]
    budget = int(count_tokens(messages) / 0.79)

    result = compress(messages, force=True, settings={"token_budget": budget})

    assert steps(result)[-1] == "extract"
    assert result.target_met


@both_dialects
@pytest.mark.parametrize("ending", ["closed", "unseen", "partial", "open"])
def test_a_target_at_the_floor_is_met_and_one_below_it_is_refused(
    dialect: Any, ending: Any
) -> None:
    messages = conversation(10, seed=6, dialect=dialect, ending=ending)
    with pytest.raises(BudgetTooSmall) as refusal:
        compress(messages, target_tokens=1)
    floor = refusal.value.floor_tokens

    result = compress(messages, target_tokens=floor)

    assert result.tokens_after <= floor
    assert result.target_met
    assert refused(result.messages, dialect) == []
    with pytest.raises(BudgetTooSmall):
        compress(messages, target_tokens=floor - 1)


def test_a_target_below_what_stands_beside_no_messages_is_refused() -> None:
    tools: list[Any] = [{"name": "look", "description": "Look at it. " * 90, "input_schema": {}}]

    with pytest.raises(BudgetTooSmall) as refusal:
        compress([], target_tokens=6, tools=tools)

    assert refusal.value.floor_tokens == count_tokens([], tools=tools)


@pytest.mark.parametrize("more", [{"target_tokens": 10**6}, {"force": True}, {}])
def test_a_pin_that_matches_nothing_is_told_even_where_nothing_is_compressed(more: Any) -> None:
    result = compress([ASK, TELL], pins=["no such words"], **more)

    assert not result.changed
    assert "pin 'no such words' matches no message" in result.notes


def test_too_small_a_budget_names_the_floor_and_its_largest_parts() -> None:
    open_step = tool_step([Run("a", "Bash", {"command": "make"}, log(300))], "openai")
    head = {"role": "system", "content": "Be brief. " * 50}
    messages = [head, ASK, TELL, ASK, *open_step]

    with pytest.raises(BudgetTooSmall) as refusal:
        compress(messages, target_tokens=50, system="Be kind.", tools=TOOLS, pins=[2])

    found = refusal.value
    assert found.target_tokens == 50
    assert found.floor_tokens == sum(found.parts.values())
    assert found.parts.keys() == {
        "tool schemas", "open tool step", "system messages", "system prompt",
        "last user message", "pinned messages",
    }  # fmt: skip
    assert list(found.parts.values()) == sorted(found.parts.values(), reverse=True)
    assert str(found).startswith(f"The minimum size is {found.floor_tokens:,} tokens")
    assert "the target is 50" in str(found)
    assert "Nothing was changed." in str(found)


def floor_of(messages: Messages, **settings: Any) -> Sequence[Message]:
    """The view of a conversation at its floor."""
    with pytest.raises(BudgetTooSmall) as refusal:
        compress(messages, target_tokens=1, settings=settings)
    floor = refusal.value.floor_tokens
    result = compress(messages, target_tokens=floor, settings=settings)
    assert result.tokens_after == refusal.value.floor_tokens
    return parse(result.messages).messages


def test_in_the_floor_a_long_result_of_an_open_step_is_one_line_and_a_short_one_whole() -> None:
    status = " M src/store.py\n M src/index.py\n?? src/search.py"
    runs = [
        Run("a", "Bash", {"command": "make"}, log(900)),
        Run("b", "Bash", {"command": "git status --short"}, status),
    ]
    messages = [ASK, *tool_step(runs, "anthropic")]

    *_, answers = floor_of(messages)

    assert [result.text for result in answers.results] == [
        f"[900 lines; ref {ref_of(log(900))}]", status,
    ]  # fmt: skip


def test_in_the_floor_several_results_below_the_size_for_offload_are_small_too() -> None:
    runs = [Run(f"call{n}", "Bash", {"command": "make"}, log(70)) for n in range(5)]
    messages = [ASK, *tool_step(runs, "anthropic")]
    assert all(count_tokens([ASK, *tool_step([run], "anthropic")]) < 1_000 for run in runs)

    with pytest.raises(BudgetTooSmall) as refusal:
        compress(messages, target_tokens=1)

    assert refusal.value.floor_tokens < count_tokens(messages) // 2


def test_in_the_floor_long_arguments_of_an_answered_call_are_shortened() -> None:
    edit = {"path": "src/store.py", "new_string": "\n".join(f"line {n}" for n in range(900))}
    messages = [ASK, *tool_step([Run("a", "Edit", edit, "Replaced.")], "anthropic")]

    _, calling, answers = floor_of(messages)

    path, shortened = strings_in(calling.calls[0].arguments)
    assert path == "src/store.py"
    assert len(shortened) < 400
    assert "ref " in shortened
    assert answers.results[0].text == "Replaced."


def test_in_the_floor_a_call_that_waits_for_its_result_is_whole() -> None:
    edit = {"path": "src/store.py", "new_string": "\n".join(f"line {n}" for n in range(900))}
    calling, _ = tool_step([Run("a", "Edit", edit, "Replaced.")], "anthropic")
    earlier = [ASK, *tool_step([Run("z", "Bash", {"command": "make"}, log(900))], "anthropic")]

    view = floor_of([*earlier, calling])

    assert view[-1].calls[0].arguments == edit


def test_in_the_floor_the_thinking_of_an_open_step_is_as_it_came_where_that_is_wanted() -> None:
    calling, answers = tool_step([Run("a", "Bash", {"command": "make"}, log(900))], "anthropic")
    thinking = {"type": "thinking", "thinking": "It has to be built.", "signature": "c2lnbmVk"}
    calling = {**calling, "content": [thinking, *calling["content"]]}

    view = floor_of([ASK, calling, answers], thinking="keep")

    assert view[1].has_thinking
    assert len(view[2].results[0].text) < 100


def test_in_the_floor_what_the_open_step_brought_back_is_whole() -> None:
    calls = Run("a", "context_restore", {"ref": "0123456789ab"}, log(900))
    messages = [ASK, *tool_step([calls], "anthropic")]

    *_, answers = floor_of([*talk(20), *messages])

    assert answers.results[0].text == log(900)


def test_in_the_floor_the_users_answer_to_a_question_keeps_what_it_forbids() -> None:
    points = " ".join(f"Point {n}: that field goes to table {n}." for n in range(40))
    said = f"Use proposal B. {points} Never touch vendor/ and do not push to main."
    answer = f'User has answered your questions: "How?"="{said}". You can now continue.'
    asked = {"questions": [{"question": "How?"}]}
    messages = [ASK, *tool_step([Run("a", "AskUserQuestion", asked, answer)], "anthropic")]
    assert count_tokens(answer) > 400

    *_, answers = floor_of([*talk(20), *messages])

    assert "Never touch vendor/ and do not push to main." in answers.results[0].text


def test_what_the_users_answer_to_a_question_forbids_stays_when_its_step_is_old() -> None:
    points = " ".join(f"Point {n}: that field goes to table {n}." for n in range(40))
    said = f"Use proposal B. {points} Never touch vendor/."
    answer = f'User has answered your questions: "How?"="{said}". You can now continue.'
    asked = {"questions": [{"question": "How?"}]}
    step = tool_step([Run("a", "AskUserQuestion", asked, answer)], "anthropic")
    messages = [ASK, *step, TELL, *talk(60)]
    total = count_tokens(messages)

    for share in (4, 8, 12):
        result = compress(messages, target_tokens=total // share)

        assert "Never touch vendor/" in str(result.messages)
        assert not result.constraints_gone
        assert result.loss["constraints"].total


def test_in_the_floor_a_short_text_beside_an_image_is_whole() -> None:
    image = {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}
    caption = "A page to log in, its button disabled, the status 401. " * 3
    calling, answers = tool_step([Run("a", "Screenshot", {}, "")], "anthropic")
    answers["content"][0]["content"] = [
        {"type": "text", "text": caption},
        {"type": "image", "source": image},
    ]

    *_, shown = floor_of([*talk(20), ASK, calling, answers])

    assert shown.results[0].text == caption


def test_in_the_floor_the_call_of_a_pinned_result_is_whole() -> None:
    edit = {"path": "src/store.py", "new_string": "\n".join(f"line {n}" for n in range(900))}
    step = tool_step([Run("a", "Edit", edit, "Replaced, keep me.")], "anthropic")
    messages = [*talk(20), ASK, *step]
    with pytest.raises(BudgetTooSmall) as refusal:
        compress(messages, target_tokens=1, pins=["keep me"])

    result = compress(messages, target_tokens=refusal.value.floor_tokens, pins=["keep me"])

    assert parse(result.messages).messages[-2].calls[0].arguments == edit


def test_window_shows_the_newest_results_where_their_calls_leave_no_room_for_all() -> None:
    edit = {"path": "src/store.py", "new_string": "\n".join(f"line {n}" for n in range(900))}
    messages = [*talk(20), ASK, *tool_step([Run("a", "Edit", edit, log(900))], "anthropic")]

    result = compress(messages, strategy="window", target_tokens=1_000)

    shown = parse(result.messages).messages[-1].results[0].text
    assert result.target_met
    assert shown.count("\n") > 3


def test_a_prompt_longer_than_the_window_is_shortened_and_the_result_says_so() -> None:
    messages = [*talk(5), {"role": "user", "content": numbered_lines(400)}]

    result = compress(messages, settings={"token_budget": 2_000})

    assert result.changed
    assert not result.target_met
    assert result.tokens_after <= 2_000 < result.floor_tokens
    assert result.missed in result.notes
    assert result.missed.startswith("the target of 1,000 tokens is below the minimum size")
    assert f"the context has {result.tokens_after:,}" in result.missed
    shown = result.messages[-1]["content"]
    assert "line 0 " in shown
    assert "line 399 " in shown
    [ref] = re.findall(r"; ref (\w+)]", shown)
    assert result.originals[ref] == messages[-1]["content"]


def test_a_named_size_that_a_long_prompt_prevents_is_refused_unless_somebody_must_be_answered() -> (
    None
):
    messages = [*talk(5), {"role": "user", "content": numbered_lines(400)}]
    request = CompressionRequest(messages=messages, target_tokens=1_500)
    with pytest.raises(BudgetTooSmall):
        compress_only(request)

    result = compress_only(replace(request, must_answer=True))

    assert result.tokens_after <= 1_500
    assert result.target_met


@pytest.mark.parametrize("spare", [0, 20, 100])
def test_a_paste_that_just_fits_does_not_push_out_the_newest_result(spare: int) -> None:
    paste = {"role": "user", "content": numbered_lines(400)}
    answer = {"role": "assistant", "content": "RESULT-TWO: line 88."}
    request = CompressionRequest(messages=[*talk(5), paste, answer], must_answer=True)
    smallest = compress_only(replace(request, target_tokens=1)).floor_tokens

    result = compress_only(replace(request, target_tokens=smallest + spare))

    assert result.tokens_after <= smallest + spare
    assert result.messages[-1] == answer
    shown = str(result.messages)
    assert "line 0 " in shown and "line 399 " in shown


def test_with_a_system_prompt_above_the_named_size_the_answer_is_a_fifth_of_the_window() -> None:
    messages = [*talk(200), {"role": "user", "content": "Go on. Never restart the gateway."}]
    request = CompressionRequest(
        messages=messages, target_tokens=1_000, system="word " * 3_000, must_answer=True,
        settings={"token_budget": 20_000},
    )  # fmt: skip

    result = compress_only(request)

    assert not result.target_met
    assert "the target of 1,000 tokens is below the minimum size" in result.missed
    assert "system prompt 3," in result.missed
    assert 2_000 < result.tokens_after - result.fixed_tokens <= 4_000
    assert len(result.messages) > 5


def numbered_lines(count: int) -> str:
    return "\n".join(f"line {n} of the log, id {n * 7919}" for n in range(count))


@pytest.mark.parametrize("strategy", ["offload", "truncate", "window", "extract"])
def test_a_named_strategy_that_falls_short_gives_its_best_and_points_to_auto(
    strategy: StrategyName,
) -> None:
    messages = [*worked(log(600)), {"role": "user", "content": "word " * 600}]

    result = compress(messages, strategy=strategy, target_tokens=500)

    assert result.changed
    assert not result.target_met
    (note,) = result.notes
    assert note.startswith(f"{strategy} falls short of the target; ")
    assert note.endswith("; auto goes further") == (strategy in ("offload", "truncate"))
    assert result.floor_tokens > 500
    assert result.tokens_after < result.tokens_before


def test_the_floor_that_a_strategy_by_hand_tells_of_is_the_floor() -> None:
    names = [f"src/{'a' * (n % 29)}_{n}.py" for n in range(300)]
    lines = [f"words that say nothing {'very ' * (n % 8)}{name}" for n, name in enumerate(names)]
    asked = {"role": "user", "content": f"Look at {', '.join(names[7::23])}"}
    messages = [*worked(log(300)), asked, *worked("\n".join(lines))[1:3]]

    result = compress(messages, strategy="offload", target_tokens=10)

    with pytest.raises(BudgetTooSmall) as refusal:
        compress(messages, target_tokens=10)
    assert result.floor_tokens == refusal.value.floor_tokens


def test_a_named_strategy_that_can_do_nothing_changes_nothing() -> None:
    messages = talk(4)

    result = compress(messages, strategy="offload", target_tokens=50)

    assert not result.changed
    assert not result.target_met
    falls_short = "offload falls short of the target; auto goes further"
    nothing = (
        "nothing could be removed: no tool result that may be shortened has 1,000 tokens or more"
    )
    assert result.notes == (nothing, falls_short)
    assert all(a is b for a, b in zip(result.messages, messages, strict=True))


@pytest.mark.parametrize("strategy", ["offload", "truncate", "window"])
def test_where_nobody_named_a_target_none_is_missed(strategy: StrategyName) -> None:
    messages = [*talk(25), *worked(log(600))]

    result = compress(
        messages, strategy=strategy, force=True, settings={"importance_threshold": 0.65}
    )

    assert result.changed
    assert result.target_tokens is None
    assert result.target_met
    assert result.notes == ()


def test_the_account_adds_up() -> None:
    messages = conversation(20, seed=3)

    result = compress(messages, target_tokens=count_tokens(messages) // 3)

    assert result.tokens_before == count_tokens(messages)
    assert result.tokens_after == count_tokens(result.messages)
    assert result.tokens_freed == result.tokens_before - result.tokens_after
    assert result.ratio == result.tokens_after / result.tokens_before
    assert result.messages_in == len(messages)
    assert result.messages_out == len(result.messages)
    assert result.messages_kept + result.messages_compressed == result.messages_in
    assert set(result.dropped) <= set(result.compressed) == set(result.reasons)
    assert result.method == "o200k x 1.15 (claude, older)"
    assert result.repairs == ()


def test_system_prompt_and_tools_count_and_come_back_as_given() -> None:
    messages = talk(20)
    system = [{"type": "text", "text": "Be brief.", "cache_control": {"type": "ephemeral"}}]
    beside = count_tokens([], system=system, tools=TOOLS)

    result = compress(messages, target_tokens=1_500, system=system, tools=TOOLS)

    assert result.system is system
    assert result.tokens_before == count_tokens(messages) + beside
    assert result.tokens_after == count_tokens(result.messages) + beside <= 1_500
    assert result.fixed_tokens == beside


def test_it_says_from_which_message_on_the_prompt_cache_is_invalid() -> None:
    messages = worked("ok", "fine", log(600), log(600))

    result = compress(messages, strategy="offload", force=True)

    assert result.first_changed == 6
    assert all(a is b for a, b in zip(result.messages[:6], messages[:6], strict=True))
    assert result.messages[6] is not messages[6]


def test_receipts_promise_no_restore_where_there_is_no_store() -> None:
    messages = conversation(20, seed=16)

    for strategy in ("auto", "offload", "truncate", "window", "extract"):
        result = compress(messages, target_tokens=2_500, strategy=strategy)

        assert "context_restore" not in json.dumps(result.messages)


def test_a_text_shorter_than_one_with_a_ref_is_not_clipped() -> None:
    asked = {"role": "user", "content": "Fix a.py. " + "Some words that tell a lot. " * 11}
    messages = [asked, *worked(*(log(300, n) for n in range(5)))]

    result = compress(
        messages, target_tokens=400, strategy="extract", settings={"max_tool_output": 100}
    )

    assert len(asked["content"]) < 400
    assert asked in result.messages


def test_where_an_id_comes_twice_each_result_is_its_own_tools() -> None:
    outputs = {"grep": log(400, "found"), "read": log(400, "read")}
    runs = [Run("a", tool, {"n": 1}, output) for tool, output in outputs.items()]
    messages = [
        ASK,
        *(m for run in (*runs, *runs[:1]) for m in tool_step([run], "anthropic")),
        TELL,
    ]

    result = compress(messages, target_tokens=1_500)

    whats = {tool: result.refs[ref_of(output)].what for tool, output in outputs.items()}
    assert whats == {"grep": "grep result", "read": "read result"}


def test_the_account_of_a_view_compressed_again_calls_our_note_ours() -> None:
    once = compress(conversation(25, seed=18), target_tokens=3_000, strategy="extract")
    notes = [m["content"] for m in once.messages if str(m["content"]).startswith(COMPRESSED)]

    again = compress([*once.messages, *conversation(10, seed=19)], target_tokens=1_500)

    named = [about.what for ref, about in again.refs.items() if again.originals[ref] in notes]
    assert {*named} == {"our note"}


SAME = """
import hashlib, json, sys
from context_compression import compress, count_tokens
from context_compression.testing import conversation
for dialect in ("anthropic", "openai"):
    messages = conversation(25, seed=20, dialect=dialect)
    for strategy in ("auto", "window", "extract"):
        result = compress(messages, target_tokens=count_tokens(messages) // 4, strategy=strategy)
        text = json.dumps([result.messages, sorted(result.refs), result.layout])
        print(hashlib.sha256(text.encode()).hexdigest())
"""


@pytest.mark.slow
def test_the_same_input_gives_the_same_bytes_in_every_process() -> None:
    said = {
        subprocess.run(
            [sys.executable, "-c", SAME],
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join(sys.path)},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("0", "1", "2", "3")
    }

    assert len(said) == 1


class Refusing:
    """A keeper whose disk is full."""

    def __init__(self) -> None:
        self.archive = Archive(restorable=True)
        self.asked = 0

    def keep(self, messages: Any, result: Result) -> Any:
        self.asked += 1
        raise OSError("no space left on device")


def test_a_view_is_the_same_whether_its_texts_were_counted_before_or_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    messages = worked(*(log(2_000, n) for n in range(6)))
    begun: list[Counting | None] = []
    ahead = Counter.ahead

    def noted(counter: Counter, messages: Sequence[Message]) -> Counting | None:
        begun.append(ahead(counter, messages))
        return begun[-1]

    monkeypatch.setattr(Counter, "ahead", noted)

    first = compress(messages, target_tokens=5_000)
    again = compress(messages, target_tokens=5_000)

    counted, known = begun
    assert counted
    assert counted.chars > SURELY_LONG * 5_000
    assert known is None
    assert first.messages == again.messages


def test_what_cannot_be_kept_is_not_compressed() -> None:
    messages = talk(20)
    before = copy.deepcopy(messages)
    disk = Refusing()

    with pytest.raises(OSError, match="no space left"):
        compress_only(CompressionRequest(messages=messages, target_tokens=1_000, store=disk))

    assert messages == before
    assert disk.asked == 1


def test_nothing_is_kept_where_nothing_was_done_or_the_budget_is_too_small() -> None:
    disk = Refusing()

    compress_only(CompressionRequest(messages=talk(3), store=disk))
    with pytest.raises(BudgetTooSmall):
        compress_only(CompressionRequest(messages=talk(3), target_tokens=1, store=disk))

    assert disk.asked == 0


def test_a_strategy_that_ends_at_the_floor_says_so() -> None:
    messages = conversation(30, seed=4)
    with pytest.raises(BudgetTooSmall) as error:
        compress(messages, target_tokens=1)

    result = compress(messages, target_tokens=1, strategy="extract")

    assert result.tokens_after == error.value.floor_tokens
    note = next(note for note in result.notes if "target" in note)
    assert note.endswith("; this is the minimum size, and not even auto goes further")


def test_where_the_user_never_spoke_the_floor_says_that_a_note_has_to_go_first() -> None:
    messages = [{"role": "assistant", "content": "hi"}]

    with pytest.raises(BudgetTooSmall) as refused:
        compress(messages, target_tokens=1)

    assert refused.value.parts == {
        "a note of ours before it, for the user has to speak first": 20,
        "last message": 8,
    }
    assert int(count_tokens(messages)) == 8  # as it came, which Anthropic refuses


def test_the_report_counts_sentences_of_the_user_that_it_cannot_judge() -> None:
    unknown = [f"Zuqat{n} metilo{n} bar{n} quma{n} frelle{n}." for n in range(40)]
    messages: Messages = []
    for n, said in enumerate(unknown):
        messages += [
            {"role": "user", "content": f"{said} " + "The loader is as slow as it was. " * 20},
            {"role": "assistant", "content": f"All right, {n}. " * 40},
        ]
    messages.append({"role": "user", "content": "Go on."})

    result = compress(messages, target_tokens=600)
    said = result.user_sentences

    assert said.total == len(unknown) + 2
    assert 0 < said.unjudged <= said.total - said.retained
    assert said.retained + said.recoverable + said.lost == said.total
    assert "could not be judged" in result.unjudged


def test_the_report_on_sentences_is_empty_where_all_of_them_stay() -> None:
    result = compress([{"role": "user", "content": "Hello. How are you?"}], target_tokens=600)

    assert result.user_sentences.total == 0  # an unchanged conversation has no report
    assert result.unjudged == ""

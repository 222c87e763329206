"""`truncate`: a long tool output keeps its first and last half around a mark."""

import re
from pathlib import Path
from typing import Any

import pytest
from generated import Messages

from context_compression import Session, Settings, compress, count_tokens, truncate_tool_output
from context_compression.conversation import parse, ref_of
from context_compression.errors import InvalidSettings
from context_compression.testing import Run, tool_step

ASK: dict[str, Any] = {"role": "user", "content": "Read it to me."}
DONE: dict[str, Any] = {"role": "assistant", "content": "There."}
LAST = Run("last", "Read", {"path": "README.md"}, "# A short file")
MARK = re.compile(r"\n\.\.\. \[truncated (\d+) characters; ref ([0-9a-f]{12})\] \.\.\.\n")

both_dialects = pytest.mark.parametrize("dialect", ["anthropic", "openai"])


def letters(length: int) -> str:
    return ("".join(map(chr, range(0x4E00, 0x4E00 + 500))) * (length // 500 + 1))[:length]


def worked(*outputs: str, dialect: Any = "anthropic") -> Messages:
    """One step for each output, r0, r1, …, then a small newest step."""
    runs = [Run(f"r{n}", "Read", {}, output) for n, output in enumerate(outputs)]
    steps = [message for run in (*runs, LAST) for message in tool_step([run], dialect)]
    return [ASK, *steps, DONE]


def results(messages: Messages) -> dict[str, str]:
    return {r.call_id: r.text for m in parse(messages).messages for r in m.results}


def truncated(messages: Messages, **options: Any) -> dict[str, str]:
    return results(compress(messages, strategy="truncate", force=True, **options).messages)


@both_dialects
def test_an_output_over_3000_characters_keeps_its_first_and_last_half(dialect: Any) -> None:
    output = letters(10_000)

    text = truncated(worked(output, dialect=dialect))["r0"]

    first, missing, ref, last = MARK.split(text)
    assert (first, last) == (output[:1500], output[-1500:])
    assert int(missing) == 7_000
    assert ref == ref_of(output)


def test_an_output_of_just_the_limit_stays() -> None:
    output = letters(3_000)

    assert truncated(worked(output))["r0"] == output


def test_the_limit_is_a_setting() -> None:
    output = letters(2_000)

    text = truncated(worked(output), settings={"maxToolOutput": 500})["r0"]

    first, missing, _, last = MARK.split(text)
    assert (len(first), int(missing), len(last)) == (250, 1_500, 250)


def test_what_is_missing_is_counted_right_for_an_odd_limit() -> None:
    output = letters(2_000)

    text = truncated(worked(output), settings={"max_tool_output": 501})["r0"]

    first, missing, _, last = MARK.split(text)
    assert len(first) + int(missing) + len(last) == 2_000
    assert len(first) + len(last) <= 501


def test_a_result_is_not_touched_until_the_model_has_answered() -> None:
    output = letters(9_000)
    messages = [ASK, *tool_step([Run("new", "Read", {}, output)], "anthropic")]

    assert truncated(messages)["new"] == output
    assert len(truncated([*messages, DONE])["new"]) < 3_100


def test_it_goes_oldest_first_and_stops_when_the_target_is_met() -> None:
    messages = worked(*(f"{n} {letters(9_000)}" for n in range(6)))

    result = compress(
        messages, strategy="truncate", target_tokens=int(count_tokens(messages) * 0.8)
    )

    cut = [name for name, text in results(result.messages).items() if MARK.search(text)]
    assert cut == ["r0", "r1"]
    assert result.target_met


def test_texts_that_are_no_tool_output_are_not_touched() -> None:
    messages = [{"role": "user", "content": letters(9_000)}, *worked(letters(9_000))[1:]]

    result = compress(messages, strategy="truncate", force=True)

    assert result.messages[0] is messages[0]
    assert result.changed


@both_dialects
def test_the_whole_output_is_there_under_the_ref_in_the_mark(dialect: Any, tmp_path: Path) -> None:
    output = letters(9_000)
    messages = worked(output, dialect=dialect)
    session = Session(tmp_path, "s")
    session.record(*messages)

    result = compress(messages, strategy="truncate", force=True)
    session.compress(strategy="truncate", force=True)

    assert result.originals[ref_of(output)] == output
    assert session.restore(ref_of(output)) == output


def test_what_context_restore_brought_back_is_never_cut() -> None:
    run = Run("back", "mcp__cc__context_restore", {}, letters(9_000))
    messages = [ASK, *tool_step([run], "anthropic"), *worked(letters(9_000))[1:]]

    view = truncated(messages)

    assert view["back"] == run.output
    assert MARK.search(view["r0"])


def test_a_pinned_output_is_not_cut() -> None:
    messages = worked(letters(9_000), f"keep {letters(9_000)}")

    view = truncated(messages, pins=["keep "])

    assert MARK.search(view["r0"])
    assert not MARK.search(view["r1"])


def test_an_output_can_be_shortened_before_it_is_recorded() -> None:
    output = letters(10_000)

    text = truncate_tool_output(output)

    assert MARK.split(text) == [output[:1500], "7000", ref_of(output), output[-1500:]]
    assert truncate_tool_output(letters(3_000)) == letters(3_000)


def test_an_output_is_shortened_to_the_length_in_the_users_settings() -> None:
    output = letters(10_000)

    for settings in (Settings(max_tool_output=400), {"max_tool_output": "400"}):
        assert MARK.split(truncate_tool_output(output, settings=settings))[1] == "9600"
    assert MARK.split(truncate_tool_output(output, max_chars=600, settings=settings))[1] == "9400"
    with pytest.raises(InvalidSettings, match="max_tool_output"):
        truncate_tool_output(output, settings={"max_tool_output": 5})


def test_the_length_for_one_output_can_be_given() -> None:
    text = truncate_tool_output(letters(10_000), max_chars=400)

    assert MARK.split(text)[1] == "9600"
    assert truncate_tool_output("short", max_chars=400) == "short"


@pytest.mark.parametrize("length", [3_100, 10_000, 90_000])
def test_what_was_cut_is_not_cut_again_and_goes_on_naming_the_whole(length: int) -> None:
    once = compress(worked(letters(length)), strategy="truncate", force=True)

    again = compress(once.messages, strategy="truncate", force=True)

    assert not again.changed
    assert MARK.split(results(again.messages)["r0"])[2] == ref_of(letters(length))


def test_a_tool_output_is_never_made_longer() -> None:
    for length in (2_999, 3_000, 3_001, 3_050, 3_100, 9_000):
        text = "x" * length
        assert len(truncate_tool_output(text)) <= length

"""`offload`: one line and an evidence preview in place of a large tool result."""

import re
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from generated import Messages
from provider import result_ids

from context_compression import Session, Settings, compress, count_tokens
from context_compression.conversation import digest_of, parse, ref_of
from context_compression.planning import Archive, receipt_of
from context_compression.testing import PIXEL, Run, tool_step

ASK: dict[str, Any] = {"role": "user", "content": "Why does tests/test_login.py fail?"}
DONE: dict[str, Any] = {"role": "assistant", "content": "Because of SessionStore.refresh, I think."}
NOISE = [f"{n:4} info worker {n * 7919 % 97} handled request {n * 31}" for n in range(400)]
LONG = "\n".join(NOISE)
LAST = Run("last", "Read", {"path": "README.md"}, "# A short file")

both_dialects = pytest.mark.parametrize("dialect", ["anthropic", "openai"])


def worked(*runs: Run, dialect: Any = "anthropic") -> Messages:
    """One step for each run, then a small newest step."""
    steps = [message for run in runs for message in tool_step([run], dialect)]
    return [ASK, *steps, *tool_step([LAST], dialect), DONE]


def bash(output: str, call_id: str = "a", name: str = "Bash") -> Run:
    return Run(call_id, name, {"command": "pytest"}, output)


def results(messages: Messages) -> dict[str, str]:
    """The text of every result, by call id."""
    return {r.call_id: r.text for m in parse(messages).messages for r in m.results}


def gaps(lines: list[str]) -> int:
    """How many marks of gaps a preview has."""
    return sum(map(is_gap, lines))


def is_gap(line: str) -> bool:
    return line == "…" or line.endswith(" lines like it but for numbers]")


def offloaded(messages: Messages, **options: Any) -> dict[str, str]:
    return results(compress(messages, strategy="offload", force=True, **options).messages)


@both_dialects
def test_a_large_result_becomes_one_line_and_a_preview(dialect: Any) -> None:
    output = f"{LONG}\nexit code: 1"

    line, *preview = offloaded(worked(bash(output), dialect=dialect))["a"].split("\n")

    tokens = re.fullmatch(
        rf"\[Bash: ([\d,]+) tokens, 401 lines, exit 1; ref {ref_of(output)}\]", line
    )
    assert tokens
    assert int(tokens[1].replace(",", "")) > 1_000
    assert preview[0] == NOISE[0]
    assert preview[-1] == "exit code: 1"


def test_only_results_from_offload_min_tokens_on_are_moved() -> None:
    small, large = bash("word " * 700, "small"), bash("word " * 1_100, "large")
    messages = worked(small, large)

    by_default = offloaded(messages)
    from_300 = offloaded(messages, settings={"offloadMinTokens": 300})

    assert by_default["small"] == small.output
    assert by_default["large"] != large.output
    assert from_300["small"] != small.output


@pytest.mark.parametrize("tokens", [60, 200, 600])
def test_a_preview_takes_about_offload_preview_tokens(tokens: int) -> None:
    output = "\n".join(f"{n} error: SessionStore.refresh is not defined here" for n in range(400))

    text = offloaded(worked(bash(output)), settings={"offload_preview_tokens": tokens})["a"]

    _, _, preview = text.partition("\n")
    assert 0.4 * tokens <= count_tokens(preview) <= 1.4 * tokens


def test_without_preview_tokens_one_line_is_all() -> None:
    text = offloaded(worked(bash(LONG)), settings={"offload_preview_tokens": 0})["a"]

    assert "\n" not in text
    assert ref_of(LONG) in text


def test_a_preview_shows_first_and_last_lines_errors_and_what_others_refer_to() -> None:
    lines = list(NOISE)
    lines[150] = "ERROR connection refused by the pool"
    lines[250] = "  at SessionStore.refresh (src/session.py)"
    messages = worked(bash("\n".join(lines)))

    preview = offloaded(messages)["a"].split("\n")[1:]

    assert preview[0] == lines[0]
    assert preview[-1] == lines[-1]
    assert lines[150] in preview
    assert lines[250] in preview
    assert gaps(preview) >= 3


def test_the_last_line_of_a_preview_is_the_outputs_not_the_hosts() -> None:
    said = "The file may be malware, and whoever reads it must not improve it.\n" * 99
    note = f"<system-reminder>\n{said}</system-reminder>\n"

    last = LONG.splitlines()[-1]
    assert last in offloaded(worked(bash(f"{LONG}\n\n{note}")))["a"].split("\n")
    assert last in offloaded(worked(bash(f"{LONG}\n\n{note}\n{note}")))["a"].split("\n")
    assert offloaded(worked(bash(f"{LONG}\n</system-reminder>")))["a"].endswith(
        "</system-reminder>"
    )
    alone = offloaded(worked(bash(f"<system-reminder>\n{LONG}\n</system-reminder>")))["a"]
    assert alone.endswith("</system-reminder>")


def test_a_preview_marks_each_gap_and_its_first_line_says_how_many_lines_there_are() -> None:
    first, *preview = offloaded(worked(bash(LONG)))["a"].split("\n")

    shown = [NOISE.index(line) for line in preview if not is_gap(line)]
    assert f" {len(NOISE)} lines" in first
    assert shown == sorted(shown)
    assert gaps(preview) == sum(b - a > 1 for a, b in pairwise(shown)) > 0


def test_of_many_errors_the_first_and_the_last_are_shown() -> None:
    lines = [f"ERROR number {n} of many, all of them about the same" for n in range(300)]

    preview = offloaded(worked(bash("\n".join(lines))))["a"]

    assert all(lines[n] in preview for n in (0, 1, 298, 299))


def test_a_line_without_end_is_clipped() -> None:
    preview = offloaded(worked(bash("start " + "x" * 90_000 + " end")))["a"]

    assert len(preview) < 1_200
    assert "start x" in preview
    assert preview.endswith("x end")


def test_results_that_the_model_has_not_answered_are_not_touched() -> None:
    newest = [bash(LONG, "b"), bash(f"{LONG}\n.", "c")]
    messages = [ASK, *tool_step([bash(LONG, "a")], "anthropic"), *tool_step(newest, "anthropic")]

    for after in ([], [ASK]):
        view = offloaded([*messages, *after])
        assert view["a"] != LONG
        assert (view["b"], view["c"]) == (newest[0].output, newest[1].output)


def test_a_result_that_the_model_has_answered_goes_even_if_it_is_the_only_one() -> None:
    read = tool_step([bash(LONG)], "anthropic")
    talk = [DONE, ASK] * 20

    for after in ([DONE], [DONE, ASK], talk):
        assert len(offloaded([ASK, *read, *after])["a"]) < len(LONG) / 4


def test_it_goes_oldest_first_and_stops_when_the_target_is_met() -> None:
    messages = worked(*(bash(f"{LONG}\n{n}", f"r{n}") for n in range(6)))
    target = int(count_tokens(messages) * 0.7)

    result = compress(messages, strategy="offload", target_tokens=target)

    moved = [name for name, text in results(result.messages).items() if "; ref " in text]
    assert moved == ["r0", "r1"]
    assert result.target_met


@pytest.mark.parametrize("name", ["context_restore", "mcp__context-compression__context_restore"])
def test_what_context_restore_brought_back_is_never_moved_again(name: str) -> None:
    messages = worked(bash(LONG, "a"), bash(f"{LONG}\n.", "restored", name))

    view = offloaded(messages)

    assert view["a"] != LONG
    assert view["restored"] == f"{LONG}\n."


def test_what_was_restored_is_not_moved_again_but_a_look_at_some_lines_is_nothing(
    tmp_path: Path,
) -> None:
    session = Session(tmp_path, "s")
    session.record(*worked(bash(LONG, "a"), bash(f"{LONG}\n.", "b")))
    session.compress(strategy="offload", force=True)
    for lines in ((1, 200), (201, 400)):
        session.restore(ref_of(LONG), lines=lines)
    session.restore(ref_of(f"{LONG}\n."), lines=(7, 8))
    session.undo()

    session.compress(strategy="offload", force=True)

    view = results(session.view())
    assert view["a"] == LONG
    assert view["b"] != f"{LONG}\n."


@both_dialects
def test_results_of_a_host_that_numbers_its_calls_anew_are_moved_all_the_same(dialect: Any) -> None:
    messages = worked(*(bash(f"{LONG}\n{n}", "call_1") for n in range(4)), dialect=dialect)

    result = compress(messages, strategy="offload", force=True)

    assert len([text for text in results(result.messages).values() if "; ref " in text]) == 4
    assert result.repairs == (
        "call ids used before were renamed: call_1 to call_1-2, call_1 to call_1-3 and 1 more",
    )


@both_dialects
def test_a_pinned_result_is_not_moved(dialect: Any) -> None:
    messages = worked(bash(LONG, "a"), bash(f"{LONG}\nkeep me", "b"), dialect=dialect)

    view = offloaded(messages, pins=["keep me"])

    assert view["a"] != LONG
    assert view["b"] == f"{LONG}\nkeep me"


def test_of_parallel_results_only_the_large_ones_are_moved() -> None:
    step = tool_step([bash(LONG, "large"), bash("fine", "small")], "anthropic")
    messages = [ASK, *step, *tool_step([LAST], "anthropic"), DONE]

    result = compress(messages, strategy="offload", force=True)

    view = results(result.messages)
    assert view["small"] == "fine"
    assert view["large"] != LONG
    assert [result_ids(m) for m in result.messages] == [result_ids(m) for m in messages]


def test_pictures_error_flags_and_cache_marks_of_a_result_stay() -> None:
    picture = {
        "type": "image",
        "source": {"type": "base64", "media_type": "image/gif", "data": PIXEL},
    }
    messages = worked(bash(LONG))
    block = messages[2]["content"][0]
    block["content"] = [{"type": "text", "text": LONG}, picture]
    block |= {"is_error": True, "cache_control": {"type": "ephemeral"}, "later": 1}

    result = compress(messages, strategy="offload", force=True)

    (moved,) = result.messages[2]["content"]
    assert moved["content"][0]["text"] != LONG
    assert {**moved, "content": None} == {**block, "content": None}
    assert moved["content"][1:] == [picture]


def test_a_picture_beside_a_short_text_does_not_make_it_a_large_result() -> None:
    short = "\n".join(NOISE[:25])
    url = {"type": "url", "url": "https://example.org/screen.png"}
    answered = [{"type": "text", "text": short}, {"type": "image", "source": url}]
    messages = worked(bash(short))
    messages[2]["content"][0]["content"] = answered
    assert count_tokens(messages[2:3]) > Settings().offload_min_tokens

    result = compress(messages, strategy="offload", force=True)

    assert not result.changed


@both_dialects
def test_the_original_is_there_under_the_ref_in_the_line(dialect: Any) -> None:
    result = compress(worked(bash(LONG), dialect=dialect), strategy="offload", force=True)

    (ref,) = re.findall(r"; ref ([0-9a-f]{12})\]", results(result.messages)["a"])
    assert result.originals[ref] == LONG
    assert result.refs[ref].what == "Bash result"


def test_without_a_store_no_line_promises_context_restore_or_a_file() -> None:
    line = offloaded(worked(bash(LONG)))["a"].split("\n")[0]

    assert "context_restore" not in line
    assert "file" not in line


def test_with_a_store_the_line_names_context_restore_and_the_file(tmp_path: Path) -> None:
    session = Session(tmp_path / ".compression", "s")
    session.record(*worked(bash(LONG)))

    session.compress(strategy="offload", force=True)

    line = results(session.view())["a"].split("\n")[0]
    ref = ref_of(LONG)
    assert f'context_restore(ref="{ref}") brings it back' in line
    (file,) = re.findall(r"; file ([^;]+);", line)
    assert (tmp_path / file).read_text(encoding="utf-8") == LONG
    assert session.restore(ref) == LONG


def test_an_empty_result_or_one_whose_line_would_be_longer_stays() -> None:
    messages = worked(bash("", "empty"), bash("tiny", "tiny"))

    result = compress(messages, strategy="offload", force=True, settings={"offload_min_tokens": 1})

    assert not result.changed
    assert result.notes == (
        "nothing could be removed: no tool result that may be shortened has 1 tokens or more",
    )


def test_it_says_how_it_went_even_where_it_falls_short() -> None:
    messages = worked(bash(LONG))

    result = compress(messages, strategy="offload", target_tokens=100)

    assert result.changed
    assert not result.target_met
    assert "offload falls short of the target; auto goes further" in result.notes
    assert sum(result.floor.values()) == result.floor_tokens
    assert result.floor.keys() == {"last user message", "a note with a ref"}


def test_a_receipt_that_names_a_preview_is_not_believed_for_that() -> None:
    ref = "c3f91a20b77d"
    text = f"[Bash: 9,034 tokens, 812 lines; ref {ref}]\nsomething else"

    assert receipt_of(text, Archive(refs={ref}, previews={ref})) is None
    assert receipt_of(text, Archive(refs={ref}, previews={digest_of(text)}))


def test_a_preview_shows_what_a_later_edit_left_rather_than_what_it_replaced() -> None:
    read = [f"value_{n} = old_{n}" for n in range(300)]
    edit = {"file_path": "a.py", "old_string": "\n".join(read[150:]), "new_string": "pass"}
    runs = [
        Run("a", "Read", {"file_path": "a.py"}, "\n".join(read)),
        Run("e", "Edit", edit, "The file was updated."),
    ]
    shown = re.findall(r"old_(\d+)", offloaded(worked(*runs))["a"])

    assert len(shown) > 5
    assert [n for n in shown if int(n) >= 150] == ["299"], "the last line"

"""`extract`: views in which previews of tool results suffice."""

import pytest
from extract_sessions import LONG, session, step, text_message, texts

from context_compression import compress, count_tokens
from context_compression.testing import Run, ScriptedSummarizer, tool_step


def test_where_previews_suffice_all_large_results_compete_for_the_room() -> None:
    names = [f"handle_{n}_request" for n in range(200)]
    messages = session(
        text_message("user", "Look at it."),
        step(0, "\n".join(f"def {name}(value, other): return value" for name in names)),
        step(1, LONG),
        step(2, "ok"),
        text_message("user", "Go on."),
    )

    enough = compress(messages, target_tokens=count_tokens(messages) - 1, strategy="offload")
    result = compress(messages, target_tokens=enough.tokens_after)

    assert {*enough.reasons} == {2}
    shown = texts(result.messages)
    assert (result.strategy, result.target_met) == ("offload", True)
    assert sum(name in shown for name in names) > 150


def test_one_preview_that_suffices_is_all_that_changes() -> None:
    lines = [f"src/m{k}.py:{k}: handler_{k} value" for k in range(150)]
    steps = (step(n, "\n".join(lines[: 150 if n == 5 else 25])) for n in range(90))
    messages = session(text_message("user", "Look."), *steps, text_message("user", "Go on."))

    result = compress(messages, target_tokens=count_tokens(messages) - 100)

    assert (result.strategy, result.target_met) == ("offload", True)
    assert result.compressed == (12,)


def test_where_previews_take_nearly_all_the_room_pieces_of_all_there_is_are_chosen() -> None:
    steps = (step(n, f"{LONG}\nmodule_{n}.py: see handler_{n}") for n in range(20))
    written = "\n".join(f"a line {n} that was written long ago" for n in range(400))
    edit = step(99, "ok", file_path="notes.txt", content=written)
    messages = session(
        text_message("user", "Look."), edit, *steps, step(98, "ok"), text_message("user", "Go on.")
    )
    previews = compress(messages, target_tokens=1, strategy="offload").tokens_after
    asked = ScriptedSummarizer("Nobody asks for this.")

    tight = compress(messages, target_tokens=int(previews * 1.1), summarizer=asked)
    roomy = compress(messages, target_tokens=int(previews * 1.4), summarizer=asked)

    assert [each.strategy for each in tight.steps] == ["offload", "extract"]
    assert (tight.target_met, roomy.strategy) == (True, "offload")
    assert not asked.requests


def test_where_previews_suffice_only_results_are_shortened() -> None:
    skill = "<skill>" + "\n".join(f"Rule {n} of the skill is to be kept." for n in range(400))
    (call, answer) = step(0, "ok")
    answer["content"].append({"type": "text", "text": skill})
    steps = (step(n, LONG) for n in range(1, 5))
    messages = session(
        text_message("user", "Look."), [call, answer], *steps, text_message("user", "Go on.")
    )

    for share in (0.95, 0.8, 0.65):
        result = compress(messages, target_tokens=int(count_tokens(messages) * share))

        assert (result.strategy, result.target_met) == ("offload", True)
        assert answer in result.messages
        assert all(why.startswith("offload: preview (") for why in result.reasons.values())


def test_each_change_says_which_step_made_it() -> None:
    medium = "\n".join(f"{n} a line about nothing at all" for n in range(80))
    messages = session(
        text_message("user", "Look."),
        step(0, LONG),
        *(step(n, medium) for n in range(1, 9)),
        step(9, "ok"),
        text_message("user", "Go on."),
    )

    result = compress(
        messages, target_tokens=int(count_tokens(messages) * 0.4), settings={"max_tool_output": 800}
    )

    assert result.strategy == "truncate"
    assert result.reasons[2].startswith("offload: preview (")
    assert {why.partition(":")[0] for why in result.reasons.values()} == {"offload", "truncate"}


def test_room_that_previews_leave_is_filled() -> None:
    messages = session(
        text_message("user", "Look."),
        step(0, "\n".join(f"value alpha_{n} beta_{n} gamma_{n}" for n in range(2_000))),
        step(1, "ok"),
        text_message("assistant", "Seen."),
        text_message("user", "And now?"),
    )
    target = int(count_tokens(messages) * 0.5)

    result = compress(messages, target_tokens=target)

    assert result.strategy == "offload"
    assert 0.9 * target < result.tokens_after <= target


@pytest.mark.parametrize("tool", ["Bash", "a_tool_with_a_name_" * 6])
def test_a_preview_without_a_line_is_known_again(tool: str) -> None:
    run = Run("a", tool, {"command": "make"}, LONG)
    messages = session(
        text_message("user", "Build it."), tool_step([run], "anthropic"), step(1, "ok")
    )
    settings = {"offload_preview_tokens": 0}

    once = compress(messages, target_tokens=1_000, strategy="offload", settings=settings)

    assert len(once.previews) == 1

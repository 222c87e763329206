"""`Session.fit` where the end of a history changes with each request, as caches and notes do it."""

from collections.abc import Callable
from copy import deepcopy
from itertools import pairwise
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from context_compression import Session, compress
from context_compression.conversation.cache_marks import said
from context_compression.conversation.refs import canonical
from context_compression.testing import Dialect, Run, ScriptedSummarizer, said_by_user, tool_step

WINDOW = {"token_budget": 20_000}
TOOLS: list[Any] = [{"name": "context_restore", "input_schema": {"type": "object"}}]
MARK = {"type": "ephemeral"}
Messages: TypeAlias = list[Any]
Mark: TypeAlias = Callable[[dict[str, Any]], None]


def blocks(message: dict[str, Any]) -> list[Any]:
    """The content of a message as a list, as programs make it for a mark."""
    content = message["content"]
    if isinstance(content, str):
        message["content"] = content = [{"type": "text", "text": content}]
    return content


def anthropic(message: dict[str, Any]) -> None:
    blocks(message)[-1]["cache_control"] = MARK


def bedrock(message: dict[str, Any]) -> None:
    message["content"].append({"cachePoint": {"type": "default"}})


def vercel(message: dict[str, Any]) -> None:
    message["providerOptions"] = {"anthropic": {"cacheControl": MARK}}


MARKS: dict[Dialect, Mark] = {"anthropic": anthropic, "bedrock": bedrock, "vercel": vercel}


def log(number: int) -> str:
    return "\n".join(f"src/{number}.c:{line}: warning: unused v{line}" for line in range(60))


def step(number: int, dialect: Dialect) -> Messages:
    return tool_step([Run(f"c{number}", "logs", {"n": number}, log(number))], dialect)


def marked(history: Messages, mark: Mark, places: tuple[int, ...] = (-1,)) -> Messages:
    """The history as it goes out: with marks on some messages, and no others."""
    copied = deepcopy(history)
    for message in {id(copied[at]): copied[at] for at in places if -at <= len(copied)}.values():
        mark(message)
    return copied


def number_of_marks(messages: Messages) -> int:
    text = canonical(messages)
    return sum(text.count(name) for name in ('"cache_control"', '"cachePoint"', '"cacheControl"'))


def kept(requests: list[Messages]) -> tuple[int, float]:
    """How many requests changed what the one before sent; the share that was sent before."""
    broken = shared = sent = 0
    for before, now in pairwise([[canonical(said(m)) for m in each] for each in requests]):
        pairs = zip(before, now, strict=False)
        same = next((n for n, (a, b) in enumerate(pairs) if a != b), min(len(before), len(now)))
        broken += same < len(before)
        shared += sum(map(len, now[:same]))
        sent += sum(map(len, now))
    return broken, shared / sent


@pytest.mark.parametrize("background", [False, True])
@pytest.mark.parametrize("places", [(-1,), (-1, -3)])
@pytest.mark.parametrize("dialect", MARKS)
def test_a_mark_that_moves_with_the_newest_message_changes_nothing(
    tmp_path: Path, dialect: Dialect, places: tuple[int, ...], *, background: bool
):
    session = Session(tmp_path, "s", settings=WINDOW, background=background)
    history, requests = [said_by_user("Fix the build.", dialect)], list[Messages]()
    for number in range(50):
        given = marked(history, MARKS[dialect], places)
        requests.append(session.fit(given, tools=TOOLS))
        assert 1 <= number_of_marks(requests[-1]) <= len(places)
        history += step(number, dialect)
    session.close()

    broken, shared = kept(requests)
    assert session.state().compressions
    assert broken <= (10 if background else 5)
    assert shared > (
        0.7 if background else 0.8
    )  # when a prepared one is written depends on threads


def test_compress_with_a_store_goes_on_in_one_session_when_the_mark_moves(tmp_path: Path):
    history, requests = [said_by_user("Fix the build.", "anthropic")], list[Messages]()
    for number in range(30):
        given = marked(history, anthropic)
        requests.append([*compress(given, store=tmp_path, settings=WINDOW, tools=TOOLS).messages])
        history += step(number, "anthropic")

    assert [*map(number_of_marks, requests)] == [1] * 30
    assert len([*(tmp_path / "sessions").iterdir()]) == 1
    assert kept(requests)[0] <= 4


def test_without_its_store_a_session_sends_no_marks_of_earlier_requests(tmp_path: Path):
    (tmp_path / "file").write_text("where the folder of the store should be")
    session = Session(tmp_path / "file", "s", settings=WINDOW)
    history = [said_by_user("Fix the build.", "anthropic")]
    for number in range(20):
        view = session.fit(marked(history, anthropic), tools=TOOLS)
        assert number_of_marks(view) == 1
        history += step(number, "anthropic")

    assert "without the store" in " ".join(session.status().warnings)


def worked(session: Session, history: Messages) -> None:
    """Add steps until the session has compressed."""
    number = 0
    while not session.state().compressions:
        history += step(number := number + 1, "openai")
        session.fit(history, tools=TOOLS)


def test_a_note_that_is_replaced_at_the_end_leaves_the_compressions(tmp_path: Path):
    session = Session(tmp_path, "s", settings=WINDOW)
    history, requests = [said_by_user("Fix the build.", "openai")], list[Messages]()
    for number in range(50):
        note = said_by_user(f"<system-reminder>{number} of 50 done</system-reminder>", "openai")
        requests.append(session.fit([*history, note], tools=TOOLS))
        assert requests[-1][-1] is note
        history += step(number, "openai")

    assert kept(requests)[1] > 0.75
    assert max(session.state().numbers) < 12


def test_a_question_that_is_asked_again_in_other_words_is_compressed_once(tmp_path: Path):
    session = Session(tmp_path, "s", settings=WINDOW)
    history = [said_by_user("Fix the build.", "openai")]
    worked(session, history)
    first = session.fit([*history, said_by_user("Which file is broken?", "openai")])
    made = session.state().compressions

    for words in ("Which file fails?", "Is it main.c?", "Which file, please?"):
        asked = [*history, said_by_user(words, "openai")]
        view = session.fit(asked)

        assert view == [*first[:-1], asked[-1]]
        assert session.state().compressions == made
        assert session.state().recorded == asked


def test_what_a_compression_covered_and_left_alone_can_be_cut_and_undone(tmp_path: Path):
    session = Session(tmp_path, "s", settings=WINDOW)
    history = [said_by_user("Fix the build.", "openai")]
    worked(session, history)
    covered = session.state().compressions[-1]["messages_in"]
    assert covered == len(history)

    view = session.fit([*history[:-1], {**history[-1], "content": "it was stopped"}])

    assert len(session.state().compressions) == 1
    assert view[-1]["content"] == "it was stopped"
    assert session.undo() == [*history[:-1], {**history[-1], "content": "it was stopped"}]


def test_a_log_of_an_older_version_is_read_as_it_was_written(tmp_path: Path):
    session = Session(tmp_path, "s", settings=WINDOW)
    history = [said_by_user("Fix the build.", "openai")]
    worked(session, history)
    state = session.state()
    at = {"to": len(history) - 1, "of": len(history), "after": state.number}

    session.log.append({"type": "rewind", "created_at": "2026-01-01T00:00:00Z", **at})

    assert session.state().compressions == []
    assert session.view() == history[:-1]


def test_an_end_before_which_nothing_is_left_is_not_cut_off(tmp_path: Path):
    session = Session(tmp_path, "s")
    task = said_by_user("Fix the build.", "anthropic")
    session.fit([task, said_by_user("Look at all of this: " + log(1), "anthropic")])
    session.compress(force=True, strategy="window", target_tokens=600)
    assert len(session.view()) < 2 or session.view()[0] != task

    assert session.fit([task, *step(1, "anthropic")])[0] == task


@pytest.mark.parametrize("keeps_the_view", [False, True])
def test_each_compression_is_made_once(tmp_path: Path, *, keeps_the_view: bool):
    model = ScriptedSummarizer("## Goal\nFix the build.")
    session = Session(tmp_path, "s", settings=WINDOW, summarizer=model)
    history = [said_by_user("Fix the build.", "openai")]
    for number in range(40):
        view = session.fit(history, tools=TOOLS)
        history = [*(view if keeps_the_view else history), *step(number, "openai")]

    made = len(session.state().compressions)
    assert made == max(session.state().numbers) > 1
    for _ in range(made):
        session.undo()
    assert session.view() == session.state().recorded


def test_a_refused_request_goes_out_again_without_marks_of_earlier_ones(tmp_path: Path):
    session = Session(tmp_path, "s", settings=WINDOW)
    history = [said_by_user("Fix the build.", "anthropic")]
    given: Messages = []
    for number in range(12):
        given = marked(history, anthropic)
        session.fit(given, tools=TOOLS)
        history += step(number, "anthropic")

    again = session.recover(RuntimeError("prompt is too long: 300000 tokens > 200000 maximum"))

    assert again and number_of_marks(again) == 1
    assert again[-1] is given[-1]

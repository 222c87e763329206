"""`Session.fit`: the history of a program that keeps it itself goes in before each request."""

import asyncio
import logging
import re
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from copy import deepcopy
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
import written
from generated import EVERY_DIALECT, conversations
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from provider import blocks, refused
from written_out import written_out

from context_compression import Session, count_tokens, restore_tool
from context_compression.conversation import canonical, strings_in
from context_compression.errors import InvalidConversation
from context_compression.settings import Settings
from context_compression.testing import (
    Dialect,
    Run,
    ScriptedSummarizer,
    said_by_model,
    said_by_user,
    tool_step,
)

SMALL = written.SMALL.changed({"compact_trigger_tokens": 500})
WINDOW = 60_000
RESTORE: list[Any] = [{"name": "context_restore", "input_schema": {"type": "object"}}]


def log(number: int, lines: int = 120) -> str:
    """A log of a build: 120 lines are 2,500 tokens."""
    warnings = (
        f"src/part_{line % 7}.c:{line}: warning: unused variable v{number}_{line}"
        for line in range(lines)
    )
    return "\n".join([*warnings, f"src/main.c:{number}: error: expected ';'"])


def step(number: int, lines: int = 120, dialect: Dialect = "openai") -> list[dict[str, Any]]:
    """A call and its result."""
    return tool_step([Run(f"c{number}", "logs", {"n": number}, log(number, lines))], dialect)


def begin(dialect: Dialect = "openai") -> list[Any]:
    return [said_by_user("Fix the build. Never touch src/vendor.", dialect)]


def fitted_steps(session: Session, steps: int, **options: Any) -> list[list[Any]]:
    """The requests of a loop that makes so many steps."""
    history, requests = begin(), list[list[Any]]()
    for number in range(steps):
        history += step(number)
        requests.append(session.fit(history, **options))
    return requests


def prefixes(requests: list[list[Any]]) -> tuple[int, float]:
    """How many requests broke the prefix of the one before; the share of characters re-used."""
    broken = shared = sent = 0
    for before, now in pairwise(requests):
        pairs = zip(before, now, strict=False)
        same = next((i for i, (a, b) in enumerate(pairs) if a != b), min(len(before), len(now)))
        broken += same < len(before)
        shared += len(canonical(now[:same]))
        sent += len(canonical(now))
    return broken, shared / sent


@pytest.mark.slow
@pytest.mark.parametrize(
    "beside", [None, {}, {"system": "You build.", "tools": [{"name": "logs"}]}]
)
def test_the_prompt_prefix_stays_in_95_of_100_requests(tmp_path: Path, beside: Any):
    """With our tool, and without."""
    session = Session(tmp_path, "s", settings={"token_budget": WINDOW})
    beside = {"tools": [restore_tool(session).openai]} if beside is None else beside

    requests = fitted_steps(session, 100, **beside)

    broken, reused = prefixes(requests)
    assert broken <= 4
    assert reused >= 0.88
    used = (count_tokens(request, **beside) for request in requests)
    assert max(tokens.upper for tokens in used) < WINDOW
    assert log(3) in [original for _, _, original in session.archived()]


def test_a_chat_of_which_a_note_and_the_newest_message_stay_keeps_the_prefix(tmp_path: Path):
    session = Session(tmp_path, "s", settings={"token_budget": 16_000})
    history, requests = list[Any](), list[list[Any]]()
    for number in range(60):
        history.append(said_by_user(log(number, 20), "openai"))
        requests.append(session.fit([*history]))
        history.append({"role": "assistant", "content": f"Read {number}."})

    compressions = session.state().compressions
    assert prefixes(requests)[0] == len(compressions) > 1


def test_without_the_tool_nothing_of_a_result_is_left_out_before_the_model_reads_it(tmp_path: Path):
    session = Session(tmp_path, "s", settings={"token_budget": WINDOW})

    requests = fitted_steps(session, 40, tools=[{"name": "logs", "input_schema": {}}])

    newest = [request[-1]["content"] for request in requests]
    in_patterns = [text for text in newest if text.startswith("[logs: ")]
    assert newest[:17] == [log(number) for number in range(17)]
    assert len(in_patterns) > 20
    assert all("lines that differ only in numbers" in text for text in in_patterns)
    logs = [written_out(text.partition("]\n")[2]) for text in in_patterns]
    assert logs == [log(number) for number in range(40)][-len(logs) :]


def begins_with(view: Sequence[Any], last: Sequence[Any]) -> bool:
    """Whether a view begins with the blocks of another; a repair may join two messages."""
    if view[: len(last)] == last:
        return True
    both = ([(m.get("role"), b) for m in each for b in blocks(m)] for each in (view, last))
    now, before = both
    return now[: len(before)] == before


class Program:
    """A program with its history, and what must hold after each of its requests."""

    def __init__(
        self, folder: str, dialect: Dialect, *, offers: bool, settings: Settings = SMALL
    ) -> None:
        self.settings = settings
        self.folder, self.dialect, self.tools = (
            Path(folder) / "store",
            dialect,
            RESTORE if offers else None,
        )
        self.events: list[Any] = []
        self.reopen()
        self.last: list[Any] = []
        self.asked: list[Any] = []

    def reopen(self) -> None:
        self.session = Session(
            self.folder, "s", settings=self.settings, on_event=self.events.append
        )

    def fit(self, history: list[Any]) -> list[Any]:
        came, before = deepcopy(history), len(self.events)
        valid = not refused(history, self.dialect)

        view = self.session.fit(history, tools=self.tools)

        assert history == came
        assert not valid or refused(view, self.dialect) == []
        self._objects(history, view)
        self._restorable(history, view)
        grown = history[: len(self.asked)] == self.asked
        if grown and len(self.events) == before:
            assert begins_with(view, self.last)
        self.asked, self.last = came, deepcopy(view)
        return view

    def _objects(self, history: list[Any], view: list[Any]) -> None:
        """A message that is in the history is the very object."""
        objects = {id(message) for message in history}
        assert all(id(message) in objects for message in view if message in history)

    def _restorable(self, history: list[Any], view: list[Any]) -> None:
        archive = {canonical(original) for _, _, original in self.session.archived()}
        archived = "\n".join(archive)
        for message in history:
            whole = canonical(message) in archive or message in view
            assert whole or all(canonical(text) in archived for text in long_texts(message))
        assert self.session.state().recorded == history


def long_texts(value: Any) -> list[str]:
    """The texts in a message that could be shortened."""
    return [text for text in strings_in(value) if len(text) > 200]


@st.composite
def deeds(draw: st.DrawFn) -> list[tuple[str, int]]:
    """What a program does between its requests: mostly its history grows."""
    kinds = ["grow"] * 6 + ["branch", "edit", "delete", "again", "reopen"]
    return draw(st.lists(st.tuples(st.sampled_from(kinds), st.integers(0, 99)), max_size=14))


def after(history: list[Any], deed: str, number: int, at: int, dialect: Dialect) -> list[Any]:
    """The history after a deed; a turn, which is a call, a result and an answer, stays whole."""
    turns = [i for i, m in enumerate(history) if m in history and is_start(m)]
    cut = turns[at % len(turns)]
    following = next((i for i in turns if i > cut), len(history))
    match deed:
        case "branch":
            return history[:following]
        case "edit":
            edited = [said_by_user(f"Edited: look into part {number}.", dialect)]
            return [*history[:cut], *edited, *history[cut + 1 :]]
        case "delete" if len(turns) > 1:
            return [*history[:cut], *history[following:]]
        case "grow":
            lines = (2, 12, 60, 150)[at % 4]
            asked = said_by_user(f"Now look into part {number}.", dialect)
            answer = said_by_model(f"Part {number} is done.", dialect)
            return [*history, asked, *step(number, lines, dialect), *answer]
        case _:
            return history


def is_start(message: Any) -> bool:
    return "look into part" in canonical(message) or "Fix the build" in canonical(message)


@pytest.mark.slow
@settings(
    max_examples=8,
    deadline=None,
    phases=[Phase.explicit, Phase.generate],
    print_blob=False,
    database=None,
)
@given(EVERY_DIALECT, deeds(), st.booleans())
def test_whatever_a_program_does_the_view_is_valid_stable_and_restorable(
    dialect: Dialect, done: list[tuple[str, int]], offers: bool
):
    with TemporaryDirectory() as one, TemporaryDirectory() as other:
        program = Program(one, dialect, offers=offers)
        twin = Program(other, dialect, offers=offers)
        history = [*begin(dialect), *said_by_model("Where shall I begin?", dialect)]
        for number in range(3):
            history = after(history, "grow", number, 3, dialect)
        program.fit(history)
        twin.fit(deepcopy(history))
        for number, (deed, at) in enumerate(done, 3):
            history = after(history, deed, number, at, dialect)
            if deed == "reopen":
                program.reopen()  # its twin goes on

            view = program.fit(history)

            assert canonical(view) == canonical(twin.fit(deepcopy(history)))


TINY = SMALL.changed({"token_budget": 400, "offload_min_tokens": 20})


@pytest.mark.slow
@settings(max_examples=6, phases=[Phase.generate], database=None)
@given(EVERY_DIALECT, st.booleans(), st.data())
def test_conversations_of_every_shape_are_followed_as_they_grow(
    dialect: Dialect, offers: bool, data: st.DataObject
):
    messages = data.draw(conversations(st.just(dialect), max_turns=6, spread=True))
    with TemporaryDirectory() as one, TemporaryDirectory() as other:
        program = Program(one, dialect, offers=offers, settings=TINY)
        twin = Program(other, dialect, offers=offers, settings=TINY)
        valid = [at for at in range(1, len(messages) + 1) if not refused(messages[:at], dialect)]
        for stop in valid[-8:]:
            view = program.fit(messages[:stop])

            sent = asyncio.run(twin.session.afit(messages[:stop], tools=twin.tools))
            assert canonical(view).replace(one, other) == canonical(sent)  # notes name the folder


def test_what_a_program_keeps_of_the_last_request_goes_on(tmp_path: Path):
    """It may keep the view instead of its history."""
    session = Session(tmp_path, "s", settings={"token_budget": WINDOW})
    view, requests = begin(), list[list[Any]]()
    for number in range(26):
        view = session.fit([*view, *step(number)], tools=RESTORE)
        requests.append(view)

    broken, reused = prefixes(requests)
    assert broken <= 2
    assert reused >= 0.85
    assert len(session.state().recorded) == 53


def test_a_summary_model_that_fails_stops_no_request(tmp_path: Path):
    writer = ScriptedSummarizer(RuntimeError("overloaded"))
    session = Session(tmp_path, "s", settings=SMALL, summarizer=writer)
    history = begin()
    for number in range(12):
        history += step(number, 30)

    view = session.fit(history)

    assert writer.requests
    assert count_tokens(view) < SMALL.token_budget
    assert refused(view, "openai") == []


def test_a_paste_larger_than_the_window_is_shortened_like_any_other_text(tmp_path: Path):
    session = Session(tmp_path, "s", settings=SMALL)
    pasted = said_by_user("Read all of this.\n" + log(1, 900), "openai")
    history = [*begin(), *step(1), *step(2), pasted]

    view = session.fit(history)

    assert view[-1]["content"].startswith("Read all of this.")
    assert view[-1]["content"].endswith(pasted["content"][-40:])
    assert count_tokens(view) < SMALL.token_budget < count_tokens([pasted])
    [ref] = re.findall(r"; ref (\w+)]", view[-1]["content"])
    assert session.restore(ref) == pasted["content"]
    assert session.fit(history) == view
    assert refused(view, "openai") == []


def test_the_system_prompt_and_the_tools_count(tmp_path: Path):
    session = Session(tmp_path, "s", settings={"token_budget": WINDOW})
    history = begin()
    for number in range(8):
        history += step(number)

    alone = session.fit(history)
    with_prompt = session.fit(history, system=log(0, 1_500))
    tools = [{"name": "logs", "description": log(0, 1_500), "input_schema": {"type": "object"}}]
    other = Session(tmp_path, "t", settings={"token_budget": WINDOW})

    assert alone == history
    assert count_tokens(with_prompt) < count_tokens(history)
    assert count_tokens(other.fit(history, tools=tools)) < count_tokens(history)


def test_an_edit_in_the_middle_keeps_the_prefix_before_it(tmp_path: Path):
    session = Session(tmp_path, "s", settings={"token_budget": WINDOW})
    history = begin()
    number = 0
    while len(session.state().compressions) < 2:
        history += step(number := number + 1)
        session.fit(history)
    view = session.fit(history)
    first, *_, last = session.state().compressions

    edited = [*history[:-14], said_by_user("Stop. Look at main.c only.", "openai")]
    after_edit = session.fit(edited)

    assert after_edit[-1] is edited[-1]
    assert session.state().recorded == edited
    assert first in session.state().compressions
    assert last not in session.state().compressions
    assert [canonical(m) for m in after_edit[:3]] == [canonical(m) for m in view[:3]]


class Framework:
    """A message of a framework that we do not know."""

    def __eq__(self, other: object) -> bool:
        return self is other

    __hash__ = object.__hash__


@pytest.mark.parametrize(
    "unknown",
    [Framework(), {"role": "narrator", "content": "Meanwhile."}, {"kind": "marker"}, b"\x00", None],
)
def test_a_message_that_we_do_not_know_is_passed_through_and_told_once(
    tmp_path: Path, unknown: Any, caplog: pytest.LogCaptureFixture
):
    session = Session(tmp_path, "s", settings=SMALL)
    history = [*begin(), *step(0, 20), unknown]
    view: list[Any] = []
    with caplog.at_level(logging.WARNING):
        for number in range(1, 8):
            history += step(number, 30)
            view = session.fit(history)

            assert any(message is unknown for message in view)
            assert refused([m for m in view if m is not unknown], "openai") == []
    assert view.index(unknown) > 0
    assert len(view) < len(history)
    assert len(caplog.records) == 1
    assert len([w for w in session.status().warnings if "passed through" in w]) == 1


def test_messages_nobody_knows_alone_are_passed_through(tmp_path: Path):
    session = Session(tmp_path, "s", settings=SMALL)

    assert session.fit([unknown := Framework()]) == [unknown]
    assert session.fit([]) == []


def test_two_threads_with_one_session_get_what_is_theirs(tmp_path: Path):
    session = Session(tmp_path, "s", settings=SMALL)

    def work(name: int) -> list[list[Any]]:
        history = [said_by_user(f"You are worker {name}.", "openai")]
        views: list[list[Any]] = []
        for number in range(6):
            history += step(100 * name + number, 30)
            views.append(session.fit(history))
            assert views[-1][-2] is history[-2]
            assert refused(views[-1], "openai") == []
        return views

    with ThreadPoolExecutor(2) as pool:
        for name, views in enumerate(pool.map(work, (1, 2)), 1):
            assert all(f"You are worker {name}." in canonical(view) for view in views)


def test_objects_of_a_provider_library_come_back_as_they_are(tmp_path: Path):
    openai = pytest.importorskip("openai.types.chat")
    session = Session(tmp_path, "s", settings=SMALL)
    history, view = begin(), list[Any]()
    for number in range(6):
        call, result = step(number, 30)
        history += [openai.ChatCompletionMessage.model_validate(call), result]

        view = session.fit(history)

    assert view[-2] is history[-2]
    assert len(session.state().recorded) == 13
    assert count_tokens(view) < count_tokens(history)


def test_a_refused_request_is_recovered_from_and_fitted_again(tmp_path: Path):
    session = Session(tmp_path, "s", settings={"token_budget": WINDOW})
    history = begin()
    for number in range(8):
        history += step(number)
    assert session.fit(history) == history

    assert session.recover("prompt is too long: 213462 tokens > 200000 maximum") is not None

    assert count_tokens(session.fit(history)) < count_tokens(history)
    assert session.fit(history)[0] is history[0]


@pytest.mark.parametrize("wrong", ["a text", None, {"role": "user", "content": "Hi."}, iter([])])
def test_a_history_that_is_no_list_is_refused(tmp_path: Path, wrong: Any):
    with pytest.raises(InvalidConversation, match="list of messages"):
        Session(tmp_path, "s").fit(wrong)

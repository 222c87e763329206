"""Recorded conversations run turn by turn through a session, all laws checked at every step."""

import gzip
import json
from collections.abc import Iterator
from functools import cache
from itertools import pairwise, product
from pathlib import Path
from typing import Any

import pytest
from generated import Messages

from context_compression import BudgetTooSmall, Session
from context_compression.conversation import (
    COMPRESSED,
    is_object,
    parse,
    problems,
    ref_of,
    user_words,
)
from context_compression.session import GROWTH, Event, decode_message
from context_compression.testing import ScriptedSummarizer

pytestmark = pytest.mark.slow

BUDGETS = (30_000, 60_000, 120_000)
RECORDED = {
    "claude-code-cli-43d5a694": (150, 120_000),
    "claude-code-context-evaluator-3c997b78": (100, 60_000),
    "codex-agentv-6d314cc7": (78, 120_000),
    "copilot-cli-agentv-74597dd0": (108, 30_000),
    "pi-pi-mono-1e312af0": (200, 60_000),
    "qmsum-test-26": (276, 30_000),
}
"""How many messages of each are run, and the largest budget at which these are compressed."""
LONG = {"codex-agentv-2c00582a": 270, "claude-code-cli-43d5a694": 276}
"""Run as a whole: enough for 120,000 tokens, too."""


@cache
def recorded(folder: Path, name: str, whole: bool = False) -> Messages:
    with gzip.open(folder / f"conversations/uniform/{name}.json.gz", "rt") as file:
        return json.load(file)["messages"][: LONG[name] if whole else RECORDED[name][0]]


class Replay:
    """A session that is run step by step, and what is known of it so far."""

    def __init__(self, folder: Path, budget: int, role: str | None) -> None:
        self.events: list[Event] = []
        settings = {"token_budget": budget} | ({"summary_role": role} if role else {})
        self.session = Session(
            folder, "s", settings=settings, on_event=self.events.append,
            summarizer=ScriptedSummarizer() if role else None,
        )  # fmt: skip
        self.recorded: Messages = []
        self.refs: dict[str, None] = {}
        self.archived: set[str] = set()
        self.floor = 0
        self.last_words = ""
        self.last_view: Messages = []

    def record(self, *messages: dict[str, Any]) -> None:
        self.session.record(*messages)
        self.recorded += messages
        self.refs |= dict.fromkeys(map(ref_of, messages))
        for message in parse(messages).messages:
            self.last_words = user_words(message).strip() or self.last_words

    def prepare(self) -> None:
        """Prepare the next request and check what the laws say of its view."""
        compressions = len(self.events)
        view = self.session.prepare()
        if len(self.events) > compressions:
            self.check_the_archive()
            self.floor = self.floor_of_the_view()
        else:  # the prompt cache still holds all of the last request
            assert view[: len(self.last_view)] == self.last_view
        self.last_view = view
        self.check(view)

    def check(self, view: Messages) -> None:
        parsed = parse(view)
        assert problems(parsed.messages, parsed.format.rules) == ()
        used = self.session.usage()
        if used.over_threshold:  # only because nothing more can go, or hardly anything came
            assert used.used_tokens <= GROWTH * max(self.floor, used.threshold_tokens)
        kept = self.session.state().view  # with what repair leaves out of each request
        shown = {ref_of(message) for message in (*view, *kept)}
        previews = {ref_of(m) for m in self.shown_as_previews(shown | self.archived)}
        assert self.refs.keys() <= shown | self.archived | previews, "a message is nowhere"
        came_short = {
            ref_of(event["message"])
            for event in self.session.log.events().items
            if event["type"] == "shortened"
        }
        ours = [m for m in view if ref_of(m) not in {*self.refs, *came_short}]
        assert {*map(ref_of, ours)} <= self.made_by_compressions()
        said = [user_words(message).strip() for message in parsed.messages]
        assert self.last_words in "\n".join(said)
        summaries = [m for m in parsed.messages if m.text.startswith(f"{COMPRESSED} Summary")]
        shown_summaries = [*(m.text for m in summaries), *filter(None, [self.session.system])]
        assert len(shown_summaries) <= 1
        assert all(text.count("<summary>\n") == 1 for text in shown_summaries)
        assert not (summaries and self.session.settings.summary_role == "system")

    def shown_as_previews(self, known: set[str]) -> Messages:
        """Recorded messages that are nowhere else, whose long results are archived themselves."""
        refs = self.session.state().refs
        return [
            message
            for message in self.recorded
            if ref_of(message) not in known
            and any(
                ref_of(result.text) in refs
                and self.session.restore(ref_of(result.text)) == result.text
                for each in parse([message]).messages
                for result in each.results
            )
        ]

    def check_the_archive(self) -> None:
        """Everything that left is there, byte for byte."""
        new: list[str] = []
        for ref, _, original in self.session.archived():
            if ref not in self.archived:
                assert ref_of(original) == ref
                new.append(ref)
        for ref in new[:3] + new[-3:]:
            assert ref_of(self.session.original(ref)) == ref
        self.archived |= {*new}

    def made_by_compressions(self) -> set[str]:
        state = self.session.state()
        made = zip(state.compressions, state.before, strict=True)
        return {
            ref_of(decode_message(part, view))
            for compression, (view, *_) in made
            for part in compression["layout"]
            if is_object(part)
        }

    def floor_of_the_view(self) -> int:
        try:
            self.session.preview(target_tokens=1)
        except BudgetTooSmall as refused:
            return refused.floor_tokens
        raise AssertionError("a view of one token is none")

    def check_that_nothing_looped(self) -> None:
        """The next compression came only when the conversation had grown again."""
        ended = [event for event in self.events if event.kind == "end"]
        assert len(ended) * 2 == len(self.events)
        assert not any(event.aborted for event in ended)
        for before, after in pairwise(ended):
            assert after.tokens_before > GROWTH * before.tokens_after


def steps(messages: Messages) -> Iterator[tuple[Messages, dict[str, Any]]]:
    """What comes before each answer of the model, and the answer."""
    waiting: Messages = []
    for message in messages:
        if message["role"] == "assistant" and waiting:
            yield waiting, message
            waiting = []
        else:
            waiting.append(message)


def run(messages: Messages, folder: Path, budget: int, role: str | None) -> Replay:
    """A conversation, step by step."""
    replay = Replay(folder, budget, role)
    for came, answer in steps(messages):
        replay.record(*came)
        replay.prepare()
        replay.record(answer)
    return replay


@pytest.mark.parametrize(
    ("name", "budget", "role"),
    [
        (name, budget, role)
        for name, (_, largest) in RECORDED.items()
        for budget, role in ((30_000, "system"), *product(BUDGETS, ("user", None)))
        if budget <= largest
    ],
)
def test_the_laws_hold_before_every_request_of_a_recorded_conversation(
    name: str, budget: int, role: str | None, tmp_path: Path, data_folder: Path
) -> None:
    replay = run(recorded(data_folder, name), tmp_path, budget, role)

    assert replay.events
    replay.check_that_nothing_looped()
    assert replay.session.view() == Session(tmp_path, "s").view()
    assert replay.session.store.verify() == []


@pytest.mark.parametrize("budget", BUDGETS)
@pytest.mark.parametrize("name", LONG)
def test_the_laws_hold_over_the_summaries_of_a_long_one_at_every_budget(
    name: str, budget: int, tmp_path: Path, data_folder: Path
) -> None:
    replay = run(recorded(data_folder, name, whole=True), tmp_path, budget, "user")

    made = replay.session.state().compressions
    assert any(compression["strategy"] == "summarize" for compression in made)
    replay.check_that_nothing_looped()
    assert replay.session.store.verify() == []

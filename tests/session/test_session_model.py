"""A session against a model of it in memory, under random sequences of everything it can do."""

from collections.abc import Sequence
from copy import deepcopy
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from generated import Messages, conversations, dialects
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from context_compression import BudgetTooSmall, Result, Session
from context_compression.conversation import canonical, parse, ref_of
from context_compression.session.state import State
from context_compression.settings import Settings, StrategyName
from context_compression.testing import Dialect, Run, said_by_user, tool_step

pytestmark = pytest.mark.slow

STRATEGIES = ("auto", "offload", "truncate", "window", "extract")
SMALL = Settings(
    keep_recent_tokens=100, keep_recent=1, offload_min_tokens=50, offload_preview_tokens=20,
    max_tool_output=200, min_recent_messages=2, preserve_messages=1,
)  # fmt: skip


class Conversing(RuleBasedStateMachine):
    """What the model knows: the messages recorded, the view, and the views compressions left."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = TemporaryDirectory()
        self.session = Session(Path(self.folder.name), "s", settings=SMALL)
        self.recorded: Messages = []
        self.view: Messages = []
        self.before: list[tuple[Messages, int]] = []  # earlier views; lengths of the new
        self.archived: dict[str, str] = {}

    def teardown(self) -> None:
        self.folder.cleanup()

    @initialize(
        dialect=dialects,
        lengths=st.lists(st.sampled_from([1, 30, 300]), min_size=20, max_size=20),
        data=st.data(),
    )
    def begin(self, dialect: Dialect, lengths: list[int], data: st.DataObject) -> None:
        """Work enough that there is always something to compress, and then odd things."""
        work = [
            message
            for n, length in enumerate(lengths)
            for message in (
                said_by_user(f"Look into part {n}.", dialect),
                *tool_step(
                    [Run(f"work{n}", "Bash", {"n": n}, f"{n} it went well\n" * length)], dialect
                ),
                {"role": "assistant", "content": f"Part {n} is done. " * 9},
            )
        ]
        self.supply = work + data.draw(conversations(st.just(dialect)))
        self.record(12)

    def _take(self, count: int, *, after: Messages) -> Messages:
        """The next messages; what nothing stands before begins with the user."""
        while not after and self.supply and not parse(self.supply[:1]).messages[0].starts_turn:
            del self.supply[0]
        taken, self.supply = self.supply[:count], self.supply[count:]
        return taken

    @rule(count=st.integers(0, 16))
    def record(self, count: int) -> None:
        taken = self._take(count, after=self.recorded)

        self.session.record(*taken)

        self.recorded, self.view = self.recorded + taken, self.view + taken

    @rule(strategy=st.sampled_from(STRATEGIES), share=st.none() | st.floats(0.3, 0.9))
    def compress(self, strategy: StrategyName, share: float | None) -> None:
        try:
            result = self._compress(strategy, share)
        except BudgetTooSmall:
            return

        self._learn(result)
        if result.changed:
            self.before.append((self.view, len(result.messages)))
        self.view = list(result.messages)

    def _compress(self, strategy: StrategyName, share: float | None, **more: Any) -> Result:
        tokens = int(self.session.status().usage.used_tokens)
        target = None if share is None else max(1, int(tokens * share))
        return self.session.compress(strategy=strategy, target_tokens=target, force=True, **more)

    def _learn(self, result: Result) -> None:
        for ref, original in result.originals.items():
            self.archived[ref] = original if isinstance(original, str) else canonical(original)

    @precondition(lambda self: self.before)
    @rule()
    def undo(self) -> None:
        self.session.undo()

        before, length = self.before.pop()
        self.view = before + self.view[length:]
        assert self.session.state().view == self.view

    @rule(count=st.integers(0, 6), kept=st.sampled_from([0, 0.5, 0.9, 1]))
    def follow_what_was_recorded(self, count: int, kept: float) -> None:
        """Somebody else's history: ours up to a point, then other messages."""
        start = self.recorded[: round(len(self.recorded) * kept)]
        followed = start + self._take(count, after=start)
        before = self.session.state()

        self.session.follow(followed)

        self._followed(followed, before)

    @rule(count=st.integers(0, 6))
    def follow_the_view(self, count: int) -> None:
        """Somebody who took our view over and went on from there."""
        taken = self._take(count, after=self.view)
        before = self.session.state()

        self.session.follow(self.view + taken)

        if self.view:
            self.recorded, self.view = self.recorded + taken, self.view + taken
        else:
            self._followed(taken, before)

    def _followed(self, messages: Messages, state: State) -> None:
        """The view after `follow`: as far as it has to be that of a model, and no further."""
        if self.view and messages[: len(self.view)] == self.view:  # they hold our view
            new = messages[len(self.view) :]
            self.recorded, self.view = self.recorded + new, self.view + new
            return
        shared = 0
        for ours, theirs in zip(self.recorded, messages, strict=False):
            if ours != theirs:
                break
            shared += 1
        gone, origins = len(self.recorded) - shared, state.origins
        # those that changed what is gone
        while gone and self.before and not self._is_untouched(origins, gone):
            before, length = self.before.pop()
            self.view = before + self.view[length:]
            origins = state.origins_before[len(self.before)][: len(before)] + origins[length:]
        end = len(self.view) - gone
        self.recorded = self.recorded[:shared] + messages[shared:]
        self.view = self.view[:end] + messages[shared:]
        for at, (before, length) in reversed([*enumerate(self.before)]):
            covered = before[: len(before) - max(0, length - end)]
            self.before[at] = covered, min(end, length)
            end = len(covered)

    def _is_untouched(self, origins: Sequence[int | None], gone: int) -> bool:
        """Whether the last compression left alone what is gone, and the message before that."""
        shared, end = len(self.recorded) - gone, len(self.view) - gone
        length = self.before[-1][1]
        if end > length:
            return True
        kept = self.view[end:length] if end >= 0 else None
        stays = end == shared == 0 or (end > 0 and origins[end - 1] == shared - 1)
        return stays and kept == self.recorded[shared:][: length - end]

    @precondition(lambda self: self.archived)
    @rule(pick=st.integers(0), note=st.booleans())
    def restore(self, pick: int, note: bool) -> None:
        ref = sorted(self.archived)[pick % len(self.archived)]

        assert self.session.restore(ref, note=note) == self.archived[ref]

    @rule(text=st.text(min_size=1))
    def offload(self, text: str) -> None:
        self.archived[self.session.offload(text)] = text

    @rule()
    def reopen(self) -> None:
        self.session = Session(Path(self.folder.name), "s", settings=SMALL)

    @rule()
    def look(self) -> None:
        before = deepcopy(self.view)

        status = self.session.status()
        self.session.preview(strategy="extract", force=True)

        assert (status.messages, status.compressions) == (len(before), len(self.before))
        others = [each for each in status.warnings if not each.startswith("what is sent is")]
        assert not others, "histories that are cut anywhere are repaired"

    @invariant()
    def the_view_is_that_of_the_model(self) -> None:
        state = self.session.state()
        assert state.view == self.view
        assert state.recorded == self.recorded

    @invariant()
    def the_state_is_that_of_who_reads_the_log_from_its_start(self) -> None:
        anew = Session(Path(self.folder.name), "s", settings=SMALL).state()
        mine = self.session.state()
        events: list[dict[str, Any]] = [
            {"type": "message", "message": {"role": "assistant", "content": "mine"}},
            {"type": "offload", "call": "mine", "tokens_freed": 1, "refs": {}},
            {"type": "answer", "plan_id": "mine", "text": "mine"},
            {"type": "restore", "ref": "mine", "tokens": 1},
        ]
        for event in events:
            mine.replay(event)

        assert self.session.state() == anew

    @invariant()
    def nothing_is_lost(self) -> None:
        known = self.session.state().refs
        assert self.archived.keys() <= known.keys()
        for ref, text in self.archived.items():
            assert ref_of(self.session.original(ref)) == ref_of(text)

    @invariant()
    def the_files_are_sound(self) -> None:
        assert self.session.store.verify() == []


def test_a_session_does_what_its_model_does() -> None:
    run_state_machine_as_test(  # pyright: ignore[reportUnknownMemberType]  # hypothesis leaves it open
        Conversing, settings=settings(max_examples=25, stateful_step_count=20)
    )

"""A strategy of one's own: passed as an object, held to the rules that ours are held to."""

import asyncio
import copy
from collections.abc import Callable, Generator, Sequence
from pathlib import Path
from typing import Any, cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from context_compression import Session, acompress, compress, count_tokens
from context_compression.conversation import Message, assistant, parse, problems, user
from context_compression.errors import IllegalEdit, InvalidSettings
from context_compression.planning import Edit, Plan
from context_compression.strategies import Proposal
from context_compression.summaries import SummaryReply, SummaryRequest
from context_compression.testing import ScriptedSummarizer, conversation

TALK: list[dict[str, Any]] = [
    {"role": role, "content": text}
    for n in range(20)
    for role, text in (("user", f"Question {n}?"), ("assistant", f"Answer {n}. " * 100))
]


class Shorten:
    """Keeps the first words of every answer, and a ref of the whole."""

    def propose(self, plan: Plan) -> list[Edit]:
        return [
            Edit(index, index + 1, (assistant(self.short(message, plan)),), "shortened")
            for index, message in enumerate(plan.messages)
            if message.role == "assistant" and index not in plan.anchored
        ]

    def short(self, message: Message, plan: Plan) -> str:
        return f"{message.text[:10]}… [ref {plan.archive.ref_of(message.text)}]"


class Named(Shorten):
    name = "by first words"


class Asking:
    """Lets a model write one line about everything before the last turn."""

    def propose(self, plan: Plan) -> Generator[SummaryRequest, SummaryReply, Sequence[Edit]]:
        reply = yield SummaryRequest("Be brief.", plan.messages[0].text, 100)
        return [Edit(0, plan.current_turn, (user(reply.text),), "one line")]


class Returning:
    """Returns what it was made with."""

    def __init__(self, make: Callable[[Plan], Any]) -> None:
        self.make = make

    def propose(self, plan: Plan) -> Any:
        return self.make(plan)


def doors(messages: list[dict[str, Any]], folder: Path, **options: Any) -> list[Any]:
    session = Session(folder / "a", "any")
    session.record(*messages)
    asynchronous = Session(folder / "b", "any")
    asynchronous.record(*messages)
    return [
        lambda: compress(messages, **options),
        lambda: asyncio.run(acompress(messages, **options)),
        lambda: compress(messages, store=folder / "c", **options),
        lambda: session.preview(**options),
        lambda: session.compress(**options),
        lambda: asyncio.run(asynchronous.acompress(**options)),
    ]


def test_every_door_takes_a_strategy_of_ones_own(tmp_path: Path) -> None:
    whole = str(TALK[1]["content"])

    for door in doors(TALK, tmp_path, target_tokens=2_000, strategy=Shorten()):
        result = door()

        assert (result.strategy, result.changed, result.target_met) == ("Shorten", True, True)
        assert [step.strategy for step in result.steps] == ["Shorten"]
        assert result.messages[1]["content"].startswith("Answer 0. … [ref ")
        assert result.messages[::2] == TALK[::2]
        assert whole in str(result.originals)
        assert result.explain(1).line


def test_a_session_keeps_and_restores_what_it_took_out(tmp_path: Path) -> None:
    session = Session(tmp_path, "any")
    session.record(*TALK)

    result = session.compress(target_tokens=2_000, strategy=Named())

    assert result.strategy == session.state().compressions[0]["strategy"] == "by first words"
    again = Session(tmp_path, "any")
    assert again.view() == result.messages
    assert all(again.original(ref) == whole for ref, whole in result.originals.items())
    assert again.undo() == TALK


def test_one_that_falls_short_is_told_as_ours_are() -> None:
    result = compress(TALK, target_tokens=100, strategy=Shorten())

    assert (result.changed, result.target_met) == (True, False)
    assert "Shorten falls short of the target; auto goes further" in result.notes


def test_it_may_ask_a_model() -> None:
    model = ScriptedSummarizer("They talked.")

    result = compress(TALK, target_tokens=2_000, strategy=Asking(), summarizer=model)

    assert result.strategy == "Asking"
    assert result.messages[0]["content"] == "They talked."
    assert [request.prompt for request in model.requests] == ["Question 0?"]


WRONG: dict[str, tuple[Callable[[Plan], Any], str]] = {
    "nothing": (lambda plan: None, "it returned NoneType, not a list of Edit"),
    "messages": (lambda plan: list(plan.messages), "it returned Message among its edits"),
    "outside": (lambda plan: [Edit(0, 99, (), "x")], r"Edit\(0, 99\) lies outside the 40 messages"),
    "empty": (lambda plan: [Edit(3, 3, (), "x")], r"Edit\(3, 3\) lies outside .*or is empty"),
    "texts": (lambda plan: [Edit(0, 1, ("a",), "x")], "does not become a tuple of Message"),  # pyright: ignore[reportArgumentType]  # on purpose
    "overlapping": (
        lambda plan: [Edit(3, 5, (), "x"), Edit(2, 4, (), "x")],
        r"Edit\(3, 5\) begins within Edit\(2, 4\)",
    ),
    "pinned": (lambda plan: [Edit(6, 8, (), "x")], r"Edit\(6, 8\) changes message 7, .*pinned"),
    "all gone": (lambda plan: [Edit(0, 40, (), "x")], "would leave an invalid conversation|pinned"),
}


@pytest.mark.parametrize("kind", WRONG)
def test_what_cannot_be_made_is_refused_by_name_and_nothing_is_lost(
    kind: str, tmp_path: Path
) -> None:
    make, why = WRONG[kind]
    session = Session(tmp_path / "store", "any")
    session.record(*TALK)
    options: dict[str, Any] = {"target_tokens": 1_000, "strategy": Returning(make), "pins": [7]}

    for compressing in (lambda: compress(TALK, **options), lambda: session.compress(**options)):
        with pytest.raises(IllegalEdit, match=f"The strategy Returning was refused: .*{why}") as no:
            compressing()
        assert str(no.value).endswith("Nothing was changed.")
    assert session.view() == TALK
    assert session.state().compressions == []


def test_a_call_may_not_lose_its_result() -> None:
    messages = conversation(8)
    at = next(i for i, message in enumerate(parse(messages).messages) if message.results)

    with pytest.raises(IllegalEdit, match=r"Returning was refused: .*invalid conversation"):
        compress(
            messages,
            target_tokens=100,
            strategy=Returning(lambda plan: [Edit(at, at + 1, (), "gone")]),
        )


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_whatever_it_proposes_the_result_is_valid_or_refused_by_name(data: st.DataObject) -> None:
    messages = conversation(4, seed=data.draw(st.integers(0, 20)))
    ends = st.integers(-1, len(messages) + 1)
    new = st.sampled_from([(), (user("a note"),), (assistant("b"), user("c"))])
    edits = st.lists(st.builds(Edit, ends, ends, new, st.just("at random")), max_size=3)
    proposed = data.draw(edits)

    try:
        result = compress(messages, target_tokens=500, strategy=Returning(lambda plan: proposed))
    except IllegalEdit as refused:
        assert str(refused).startswith("The strategy Returning was refused: ")
        return
    assert count_tokens(result.messages) <= count_tokens(messages)
    parsed = parse(result.messages)
    assert problems(parsed.messages, parsed.format.rules) == ()


def test_an_error_of_its_own_comes_through_and_nothing_is_lost(tmp_path: Path) -> None:
    def fail(plan: Plan) -> Proposal:
        raise ZeroDivisionError("mine")

    session = Session(tmp_path / "store", "any")
    session.record(*TALK)

    with pytest.raises(ZeroDivisionError, match="mine"):
        session.compress(target_tokens=1_000, strategy=Returning(fail))
    assert session.view() == TALK


@pytest.mark.parametrize("name", ["auto", "window"])
def test_the_names_of_ours_are_taken(name: str) -> None:
    own = Shorten()
    own.name = name  # pyright: ignore[reportAttributeAccessIssue]  # as a caller may

    with pytest.raises(InvalidSettings, match=rf"named '{name}', as one of ours"):
        compress(TALK, target_tokens=1_000, strategy=own)


def test_what_is_neither_a_name_nor_a_strategy_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidSettings, match="strategy"):
        compress(TALK, target_tokens=1_000, strategy=object())  # pyright: ignore[reportArgumentType]  # on purpose
    session = Session(tmp_path, "any")
    session.record(*TALK)
    with pytest.raises(InvalidSettings, match=r"must be the name of one of ours"):
        session.ask(target_tokens=1_000, strategy=Shorten())


def changes_in_place(plan: Plan) -> list[Edit]:
    plan.messages[3].source["content"] = "x"
    return [Edit(2, 4, (), "w")]


def empties_all(plan: Plan) -> list[Edit]:
    for message in plan.messages:
        message.source.clear()
    return []


@pytest.mark.parametrize("make", [changes_in_place, empties_all])
def test_a_strategy_that_changes_what_it_was_given_is_refused_and_nothing_is_lost(
    make: Callable[[Plan], Any], tmp_path: Path
) -> None:
    talk = copy.deepcopy(TALK)

    for call in doors(talk, tmp_path, target_tokens=500, strategy=Returning(make)):
        with pytest.raises(IllegalEdit, match=r"Returning was refused: it changed message \d"):
            call()

    assert talk == TALK


JUNK: dict[str, tuple[Callable[[Plan], Any], str]] = {
    "no message left": (lambda plan: [Edit(0, len(plan.messages), (), "w")], "left no message"),
    "a record": (lambda _: [Edit(0, 1, (user("a"),), "w", record="junk")], "no dict"),
    "reasons": (lambda _: [Edit(0, 1, (user("a"),), "w", why=cast(Any, [1]))], "no dict"),
    "far origins": (lambda _: [Edit(0, 1, (user("a"),), "w", origins=(999,))], "origins"),
    "other origins": (lambda _: [Edit(0, 1, (user("a"),), "w", origins=cast(Any, 5))], "origins"),
    "a request": (lambda _: (each for each in ["junk"]), "yielded str"),
}


@pytest.mark.parametrize("junk", JUNK)
def test_junk_of_a_strategy_is_refused_by_its_name(junk: str) -> None:
    make, said = JUNK[junk]

    with pytest.raises(IllegalEdit, match=rf"Returning was refused: .*{said}"):
        compress(TALK, target_tokens=500, strategy=Returning(make))


def test_a_class_in_place_of_a_strategy_is_refused() -> None:
    with pytest.raises(InvalidSettings, match=r"Pass an object of it: Shorten\(\)"):
        compress(TALK, target_tokens=500, strategy=cast(Any, Shorten))


def test_a_long_name_of_a_strategy_stays_on_one_line() -> None:
    strategy = Returning(lambda _: 1)
    vars(strategy)["name"] = "a\nb\x1b[31m" * 2_000

    with pytest.raises(IllegalEdit) as refused:
        compress(TALK, target_tokens=500, strategy=strategy)

    assert "\n" not in str(refused.value)
    assert len(str(refused.value)) < 500

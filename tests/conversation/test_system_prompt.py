"""`summary_role = system`: for Anthropic the summary stands in the system prompt, not elsewhere."""

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from generated import Messages, conversations
from hypothesis import given
from hypothesis import strategies as st
from provider import refused

from context_compression import BudgetTooSmall, Result, Session, compress, count_tokens, usage
from context_compression.conversation import COMPRESSED, ref_of, summary_in, with_summary
from context_compression.conversation.system_prompt import END, MARK
from context_compression.settings import StrategyName
from context_compression.summaries import SummaryRequest
from context_compression.testing import Dialect, Run, ScriptedSummarizer, said_by_user, tool_step

SUMMARY = (
    "## Goal\nMove every step of the modules, from module_0 on, as the user says.\n\n"
    "## Next Steps\nGo on with the answers, and with the parts that are being built."
)
IN_SYSTEM = {"summary_role": "system"}
CACHED = {"type": "text", "text": "Be brief.", "cache_control": {"type": "ephemeral"}}
SYSTEMS: dict[str, Any] = {
    "none": None,
    "text": "Be brief.",
    "blocks": [{"type": "text", "text": "You are an engineer."}, CACHED],
}
SMALL = IN_SYSTEM | {
    "token_budget": 4_000, "min_recent_messages": 3, "keep_recent": 2, "offload_min_tokens": 60,
    "offload_preview_tokens": 30, "max_tool_output": 400, "keep_recent_tokens": 100,
    "preserve_messages": 1,
}  # fmt: skip
STRATEGIES = ("auto", "offload", "truncate", "window", "extract", "summarize")

each_system = pytest.mark.parametrize("system", SYSTEMS.values(), ids=SYSTEMS)
each_dialect = pytest.mark.parametrize("dialect", ["anthropic", "openai"])
systems = st.sampled_from([*SYSTEMS.values()])


def work(first: int, turns: int, dialect: Dialect = "anthropic") -> Messages:
    """Turns of 300 tokens."""
    messages: Messages = []
    for n in range(first, first + turns):
        messages.append(said_by_user(f"Step {n}: move module_{n}.", dialect))
        output = "\n".join(f"{k} part_{n} is being built" for k in range(40))
        messages += tool_step([Run(f"run{n}", "Bash", {"command": f"make {n}"}, output)], dialect)
        messages.append({"role": "assistant", "content": f"Answer {n}. It is where it should be."})
    return messages


def summarized(messages: Messages, system: Any, target: int = 4_000, **more: Any) -> Result:
    options: dict[str, Any] = {"strategy": "summarize", "settings": IN_SYSTEM} | more
    options.setdefault("summarizer", ScriptedSummarizer(SUMMARY))
    return compress(messages, target_tokens=target, system=system, **options)


def test_a_summary_that_stays_in_the_system_prompt_has_not_left() -> None:
    system = with_summary("Be brief.", f"{MARK}\n## Goal\n" + "Move every step as said. " * 30)
    output = "\n".join(f"{k} part is being built" for k in range(900))
    step = tool_step([Run("run", "Bash", {"command": "make"}, output)], "anthropic")
    messages = [*work(0, 2), *step, *work(2, 2)]

    result = compress(messages, system=system, target_tokens=count_tokens(messages) // 2)

    assert result.changed
    assert not any("repaired" in about.what for about in result.refs.values())


def texts(system: Any) -> list[str]:
    """The texts of a system prompt."""
    if isinstance(system, list):
        return [block["text"] for block in system]  # pyright: ignore[reportUnknownVariableType]  # JSON
    return [system] if system else []


def check(result: Result, messages: Messages, system: Any) -> None:
    """What the laws say of a view whose summary may be in the system prompt."""
    assert refused(result.messages, "anthropic") == []
    assert MARK not in str(result.messages)
    assert result.tokens_before == count_tokens(messages, system=system)
    assert result.tokens_after == count_tokens(result.messages, system=result.system)
    assert result.tokens_after <= result.tokens_before
    if result.target_tokens is not None:
        assert result.target_met == (result.tokens_after <= result.target_tokens)
    assert with_summary(result.system, "") == with_summary(system, "")
    assert str(result.system).count(MARK) <= 1
    assert str(result.system).count("<summary>") <= 1
    shown = {id(message) for message in result.messages}
    assert all(id(m) in shown or result.originals[ref_of(m)] == m for m in messages)
    earlier = summary_in(system)
    if earlier != summary_in(result.system) and earlier:
        assert result.originals[ref_of(earlier)] == earlier
    assert all(ref_of(original) == ref for ref, original in result.originals.items())
    if result.changed and result.system is not system:
        assert result.first_changed == 0


@each_system
def test_the_summary_stands_behind_the_system_prompt_which_stays_as_it_is(system: Any) -> None:
    messages, before = work(0, 40), copy.deepcopy(system)

    result = summarized(messages, system)

    check(result, messages, system)
    assert result.target_met
    assert system == before
    assert SUMMARY in summary_in(result.system)
    assert texts(result.system)[-1].endswith(END)
    assert any(note.startswith("the system prompt changed") for note in result.notes)
    note, *kept = result.messages
    assert str(note["content"]).startswith(f"{COMPRESSED} Excerpts of earlier messages")
    assert kept == messages[-len(kept) :]
    if isinstance(system, list):
        assert result.system[:-1] == system


@pytest.mark.slow
@each_system
@each_dialect
def test_five_summaries_in_a_row_never_nest_and_skip_nothing(system: Any, dialect: Dialect) -> None:
    model = ScriptedSummarizer(*(f"{SUMMARY} Edition {'I' * n}." for n in range(1, 30)))
    view: Messages = [] if dialect == "anthropic" else [{"role": "system", "content": "Be kind."}]
    prompt = system if dialect == "anthropic" else None
    shown: list[SummaryRequest] = []
    for number in range(5):
        messages = view + work(number * 20, 20, dialect)
        asked = len(model.requests)

        result = summarized(messages, prompt, summarizer=model)

        assert result.strategy == "summarize"
        assert result.target_met
        assert refused(result.messages, dialect) == []
        new = model.requests[asked:]
        shown += new
        assert all(MARK not in request.prompt for request in new)
        updates = [request for request in new if "<previous-summary>" in request.prompt]
        assert len(updates) == (number > 0)
        assert result.summary
        assert result.messages[-1] == messages[-1]
        kept = messages[result.summary.first_kept :]
        assert result.messages[-len(kept) :] == kept
        assert messages[result.summary.first_kept - 1] not in result.messages
        if dialect == "anthropic":
            check(result, messages, prompt)
            assert str(result.system).count("<summary>") == 1
            assert with_summary(result.system, "") == system
        else:
            ours = [m for m in result.messages if MARK in str(m)]
            assert [m["role"] for m in ours] == ["system"]
            assert result.messages.index(ours[0]) == 1
            assert result.system is None
        view, prompt = result.messages, result.system
    records = "".join(request.prompt.split("</conversation>")[0] for request in shown)
    kept = str([m for m in view if MARK not in str(m) and COMPRESSED not in str(m)])
    assert all((f"Step {n}:" in records) != (f"Step {n}:" in kept) for n in range(100))


@given(messages=conversations(st.just("anthropic")), system=systems, data=st.data())
def test_views_are_valid_and_within_the_budget(
    messages: Messages, system: Any, data: st.DataObject
) -> None:
    whole = int(count_tokens(messages, system=system))
    target = data.draw(st.integers(1, max(1, whole)))
    strategy = data.draw(st.sampled_from(STRATEGIES))
    before = copy.deepcopy((messages, system))

    try:
        first = summarized(messages, system, target, strategy=strategy, settings=SMALL)
    except BudgetTooSmall as small:
        assert small.floor_tokens > target
        first = summarized(messages, system, small.floor_tokens, settings=SMALL, strategy="auto")
        assert first.target_met

    assert (messages, system) == before
    check(first, messages, system)


@pytest.mark.slow
@given(
    messages=conversations(st.just("anthropic")), system=systems,
    strategy=st.sampled_from(STRATEGIES), role=st.sampled_from(["system", "user"]),
    share=st.floats(0.05, 1), data=st.data(),
)  # fmt: skip
def test_with_a_summary_in_the_system_prompt_every_strategy_keeps_the_laws(
    messages: Messages,
    system: Any,
    strategy: StrategyName,
    role: str,
    share: float,
    data: st.DataObject,
) -> None:
    earlier = summarized(work(0, data.draw(st.integers(8, 30))), system, 2_500)
    prompt = earlier.system
    both = (messages and earlier.messages + messages) or earlier.messages
    if refused(both, "anthropic"):
        both = earlier.messages
    target = max(1, int(count_tokens(both, system=prompt) * share))
    options: dict[str, Any] = {"strategy": strategy, "settings": SMALL | {"summary_role": role}}
    try:
        result = summarized(both, prompt, target, **options)
    except BudgetTooSmall as small:
        result = summarized(both, prompt, small.floor_tokens, **options)
        assert result.target_met

    if role == "system":
        check(result, both, prompt)
    else:
        assert refused(result.messages, "anthropic") == []
        assert (str(result.messages) + str(result.system)).count("<summary>") <= 1
        assert result.tokens_after == count_tokens(result.messages, system=result.system)
        assert result.tokens_after <= result.tokens_before


def test_the_caller_may_change_the_role_at_any_time() -> None:
    messages, prompt = work(0, 30), "Be brief."
    for role, more in (("user", 30), ("system", 60), ("user", 90), ("system", 120)):
        settings = {"summary_role": role}
        asked = ScriptedSummarizer(f"{SUMMARY} Now in {role}.")

        result = summarized(messages, prompt, summarizer=asked, settings=settings)

        assert (str(result.messages) + result.system).count("<summary>") == 1
        assert (MARK in result.system) == (role == "system")
        assert (more > 30) == any("<previous-summary>" in r.prompt for r in asked.requests)
        messages, prompt = result.messages + work(more, 30), result.system


@pytest.mark.slow
@pytest.mark.parametrize("count", [None, len])
def test_any_way_to_count_keeps_the_budget(count: Callable[[str], int] | None) -> None:
    messages = work(0, 40)
    for target in range(3_000, 3_100):
        wanted = target * (3 if count else 1)

        result = summarized(messages, "Be brief", wanted, counter=count)

        assert result.target_met
        after = count_tokens(result.messages, system=result.system, counter=count)
        assert result.tokens_after == after <= wanted
        assert result.target_tokens == wanted


GRANITE = "## Goal\nTo speak of granite.\n\n## Next Steps\n" + "Go on with the granite. " * 9


def test_where_nobody_knows_the_dialect_of_plain_texts_no_summary_leaves_the_messages() -> None:
    plain = [
        {"role": role, "content": f"{role} says {n} of granite " * 40}
        for n in range(40)
        for role in ("user", "assistant")
    ]

    other, claude = (
        summarized(plain, None, model=model, summarizer=ScriptedSummarizer(GRANITE))
        for model in ("gpt-5", "claude-sonnet-4-5")
    )

    assert other.messages[0]["content"].startswith(MARK)
    assert other.system is None
    assert summary_in(claude.system)


def test_a_usage_from_before_the_summary_says_nothing_of_the_view_after_it() -> None:
    messages = work(0, 40)
    for message in messages[3::4]:
        message["usage"] = {"input_tokens": 150_000, "output_tokens": 30}

    result = summarized(messages, None)

    used = usage(result.messages, system=result.system).used_tokens
    charged_beyond = result.tokens_before - count_tokens(messages)
    assert used == result.tokens_after - charged_beyond
    again = compress(result.messages, system=result.system, settings=IN_SYSTEM)
    assert again.notes[0].startswith("not due")


@pytest.mark.parametrize("system", [None, "", "Be brief.", "A\n\nB", [], SYSTEMS["blocks"]])
def test_a_summary_can_be_put_in_replaced_and_taken_out(system: Any) -> None:
    first, second = f"{MARK} one\n\n[End", f"{MARK} two"

    with_first = with_summary(system, first)
    with_second = with_summary(with_first, second)

    assert summary_in(with_first) == first
    assert with_summary(with_first, first) is with_first
    assert summary_in(with_second) == second
    assert "one" not in str(with_second)
    assert with_summary(with_second, "") == (system or None)


def test_what_the_caller_adds_behind_the_summary_stays() -> None:
    text = with_summary("Be brief.", f"{MARK} one") + "\n\nToday is Monday."
    blocks: list[Any] = [
        *with_summary([CACHED], f"{MARK} one"),
        {"type": "text", "text": "It is Monday."},
    ]
    blocks[1]["cache_control"] = {"type": "ephemeral"}

    assert with_summary(text, "") == "Be brief.\n\nToday is Monday."
    assert with_summary(text, f"{MARK} two").endswith(f"{MARK} two\n\n{END}\n\nToday is Monday.")
    replaced = with_summary(blocks, f"{MARK} two")
    assert [block["text"][:12] for block in replaced] == ["Be brief.", MARK[:12], "It is Monday"]
    assert replaced[1]["cache_control"] == {"type": "ephemeral"}


class Keeping:
    """A session that is summarised again and again, and what its prompt and view were."""

    def __init__(self, folder: Path, system: Any) -> None:
        self.folder, self.given = folder, system
        self.session = self.opened()
        self.before: list[tuple[Any, Messages]] = []

    def opened(self) -> Session:
        return Session(
            self.folder, "s", system=self.given, settings=IN_SYSTEM,
            summarizer=ScriptedSummarizer(*(f"{SUMMARY} {'I' * n}." for n in range(1, 30))),
        )  # fmt: skip

    def go_on(self) -> Result:
        self.session.record(*work(len(self.before) * 20, 20))
        self.before.append((self.session.system, self.session.view()))
        return self.session.compress(strategy="summarize", target_tokens=4_000)


@pytest.mark.slow
@each_system
def test_a_session_keeps_the_summary_over_restarts_and_takes_it_back(
    system: Any, tmp_path: Path
) -> None:
    keeping = Keeping(tmp_path, system)
    earlier = ""
    for _ in range(5):
        result = keeping.go_on()

        assert keeping.session.view() == result.messages
        assert keeping.session.system == result.system
        assert str(result.system).count("<summary>") == 1
        used = keeping.session.status().usage.used_tokens
        assert used == result.tokens_after
        assert keeping.opened().system == result.system
        if earlier:
            assert keeping.session.restore(ref_of(earlier)) == earlier
        earlier = summary_in(result.system)

    session = keeping.opened()
    while keeping.before:
        prompt, view = keeping.before.pop()
        assert session.undo()[: len(view)] == view
        assert session.system == prompt
    assert session.system == system
    assert session.view() == work(0, 100)


def test_a_history_that_goes_back_before_the_summary_has_none(tmp_path: Path) -> None:
    keeping = Keeping(tmp_path, "Be brief.")
    keeping.go_on()
    keeping.go_on()

    keeping.session.follow(work(0, 5))

    assert keeping.session.view() == work(0, 5)
    assert keeping.session.system == keeping.opened().system == "Be brief."


def test_a_prompt_that_changes_keeps_the_summary(tmp_path: Path) -> None:
    keeping = Keeping(tmp_path, "Be brief.")
    summary = summary_in(keeping.go_on().system)

    keeping.session.system = "Be long."

    assert keeping.session.system == with_summary("Be long.", summary)
    keeping.session.system = keeping.session.system
    assert str(keeping.session.system).count(MARK) == 1


def test_a_caller_who_holds_view_and_prompt_goes_on_from_there(tmp_path: Path) -> None:
    first = compress(
        work(0, 30), system="Be brief.", target_tokens=4_000, store=tmp_path, settings=IN_SYSTEM,
        strategy="summarize", summarizer=ScriptedSummarizer(SUMMARY),
    )  # fmt: skip
    asked = ScriptedSummarizer(f"{SUMMARY} And more.")

    second = compress(
        first.messages + work(30, 30), system=first.system, target_tokens=4_000, store=tmp_path,
        settings=IN_SYSTEM, strategy="summarize", summarizer=asked,
    )  # fmt: skip

    assert any("<previous-summary>" in request.prompt for request in asked.requests)
    assert str(second.system).count("<summary>") == 1
    assert MARK not in str(second.messages)


def test_a_caller_who_begins_anew_has_no_summary_of_what_is_there_again(tmp_path: Path) -> None:
    session = Keeping(tmp_path, "Be brief.").session
    options: dict[str, Any] = {"strategy": "summarize", "target_tokens": 4_000}
    first = session.compress(messages=work(0, 30), **options)

    again = session.compress(messages=work(0, 30), **options)

    assert again.messages[1:] == first.messages[1:]  # the first holds excerpts in the room left
    assert str(again.system).replace("III", "I") == first.system
    assert session.undo() == work(0, 30)
    assert session.system == "Be brief."


@pytest.mark.parametrize("strategy", ["auto", "summarize"])
def test_a_system_prompt_that_speaks_of_our_mark_stays_as_it_is(strategy: StrategyName) -> None:
    system = f"You help.\n\n# Docs\nThey look so:\n\n{MARK} of …\n\n# RULES\nNever touch prod."
    summarizer = ScriptedSummarizer(SUMMARY)
    messages = [message for n in range(30) for message in (
        {"role": "user", "content": f"Step {n}. " + "Please go on with it. " * 20},
        {"role": "assistant", "content": f"Done {n}. " + "It is as you said. " * 20},
    )]  # fmt: skip

    result = compress(
        messages, system=system, target_tokens=1_500, strategy=strategy, summarizer=summarizer
    )

    assert result.changed
    assert result.system is system
    assert with_summary(with_summary(system, f"{MARK} one."), "") == system
    assert summary_in(with_summary(system, f"{MARK} one.")) == f"{MARK} one."

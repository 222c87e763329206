"""`Result.explain`: why a message of the input is shown as it is."""

import gzip
import json
import sys
from contextlib import AbstractContextManager
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
from generated import Messages, conversations
from hypothesis import given, settings
from hypothesis import strategies as st

from context_compression import ContextCompressionError, Result, Session, compress, count_tokens
from context_compression.compression import run
from context_compression.compression.result import Explanation
from context_compression.conversation import parse, texts_of
from context_compression.errors import BudgetTooSmall, NoSuchMessage
from context_compression.planning import recorded
from context_compression.settings import StrategyName
from context_compression.testing import Run, ScriptedSummarizer, conversation, tool_step

STRATEGIES = ("auto", "offload", "truncate", "window", "extract")
TALK: Messages = [
    {"role": "user", "content": "Please mend the harbour page. Never touch the main branch."},
    *tool_step([Run("a", "Bash", {"command": "make"}, "a line of output\n" * 900)], "anthropic"),
    {"role": "assistant", "content": "I changed src/harbour.py because E4471 was raised there."},
    *tool_step([Run("b", "Read", {"path": "notes.txt"}, "blue and green\n" * 900)], "anthropic"),
    {"role": "assistant", "content": "Nothing of interest is in the notes, so I go on. " * 20},
    {"role": "user", "content": "What about E4471?"},
]


RECORDED = ("claude-code-cli-6c855fd3", "qmsum-test-14", "codex-agentv-c1d7b93e")


def recorded_conversation(folder: Path, name: str) -> Messages:
    """The first messages of a recorded conversation."""
    path = folder / "conversations" / "uniform" / f"{name}.json.gz"
    return json.loads(gzip.decompress(path.read_bytes()))["messages"][:150]


def all_of(result: Result) -> list[Explanation]:
    return [result.explain(index) for index in range(result.messages_in)]


def texts(messages: Messages) -> list[str]:
    """All texts of some messages."""
    read = parse(messages).messages
    return [text for message in read for block in message.blocks for text in texts_of(block)]


def agrees(messages: Messages, result: Result) -> None:
    """Each explanation agrees with what the view shows."""
    view = {id(message) for message in result.messages}
    everything = "\n".join(texts(result.messages))
    for index, told in enumerate(all_of(result)):
        assert told.index == index
        assert (told.kept == "whole") is (index not in result.compressed)
        if told.kept == "whole":
            assert id(messages[index]) in view
            assert not told.evidence
        if index in result.dropped:
            assert told.kept in ("nothing", "quoted", "one line", "summarised")
            if result.strategy in ("extract", "offload") and told.kept != "summarised":
                assert (told.kept == "nothing") is (": quoted" not in told.decided_by)
        elif index in result.compressed:
            assert told.kept in ("shortened", "clipped", "preview", "one line", "quoted")
        for evidence in told.evidence:
            if "…" not in evidence.text and "\\" not in evidence.text and "[" not in evidence.text:
                assert evidence.text in " ".join(everything.split())
        if told.kept == "nothing":
            assert not told.must_stay
            assert not told.evidence
        lines = str(told).split("\n")
        assert len(lines) <= 10
        assert all(line.endswith(".") for line in lines)
        assert "\n" not in told.line


@pytest.mark.slow
@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("share", [0.1, 0.5])
@pytest.mark.parametrize("dialect", ["anthropic", "openai"])
def test_explanations_agree_with_the_view(
    strategy: StrategyName, share: float, dialect: Any
) -> None:
    messages = conversation(20, seed=3, dialect=dialect)
    target = max(int(share * count_tokens(messages)), 1_500)

    result = compress(messages, target_tokens=target, settings={"strategy": strategy})

    agrees(messages, result)
    assert strategy == "auto" or {told.decided_by for told in all_of(result)} != {""}


@given(messages=conversations(), share=st.sampled_from([0.2, 0.5, 0.8]), data=st.data())
@settings(max_examples=25)
def test_explanations_agree_with_the_view_of_any_conversation(
    messages: Messages, share: float, data: st.DataObject
) -> None:
    strategy = data.draw(st.sampled_from(STRATEGIES))
    target = max(1, int(share * count_tokens(messages)))
    try:
        result = compress(messages, target_tokens=target, settings={"strategy": strategy})
    except BudgetTooSmall:
        return

    for told in all_of(result):
        assert (told.kept == "whole") is (told.index not in result.compressed)
        if told.index in result.dropped:
            assert told.kept in ("nothing", "quoted", "one line")


@pytest.mark.slow
@pytest.mark.parametrize("name", RECORDED)
@pytest.mark.parametrize("strategy", ["extract", "window"])
def test_explanations_agree_with_the_view_of_recorded_conversations(
    name: str, strategy: StrategyName, data_folder: Path
) -> None:
    messages = recorded_conversation(data_folder, name)
    target = int(0.3 * count_tokens(messages))

    result = compress(messages, strategy=strategy, target_tokens=target)

    agrees(messages, result)


def test_what_must_stay_says_why() -> None:
    result = compress(TALK, target_tokens=1_000, strategy="extract", pins=[3])

    assert result.explain(7).must_stay == "it holds the user's last words"
    assert result.explain(3).must_stay == "it is pinned"
    assert result.explain(0).must_stay == "it holds the first request"
    assert str(result.explain(7)) == (
        f"Message 7 (user, {count_tokens(TALK[7:])} tokens) is shown in full.\n"
        "It must stay: it holds the user's last words."
    )


def test_a_rule_of_the_user_is_named() -> None:
    messages = [*TALK[:3], {"role": "user", "content": "Always run the tests."}, *TALK[3:]]

    result = compress(messages, target_tokens=1_200, strategy="extract")

    assert result.explain(3).must_stay == ('it holds a rule of the user, "Always run the tests."')


def test_evidence_that_paid_for_a_part_is_named_with_its_kind_and_worth() -> None:
    log = "".join(f"step {n} is done in time\n" for n in range(400))
    log += "ERROR src/harbour.py: E4471 was raised\n" + "all other steps are as before\n" * 400
    messages = [
        TALK[0],
        *tool_step([Run("a", "Bash", {"command": "make"}, log)], "anthropic"),
        {"role": "assistant", "content": "Look at E4471 in src/harbour.py."},
        *TALK[4:],
    ]

    result = compress(messages, target_tokens=900, strategy="extract")

    told = result.explain(2)
    paid = {evidence.kind: evidence for evidence in told.evidence}
    assert told.kept in ("preview", "quoted")
    assert {"failure"} <= paid.keys() or {"path"} <= paid.keys()
    assert all(evidence.worth > 0 for evidence in told.evidence)
    assert len(told.evidence) <= 3
    assert len(told.left_out) == 3
    assert sorted((p.worth_per_token for p in told.left_out), reverse=True) == [
        part.worth_per_token for part in told.left_out
    ]


def test_in_talk_the_parts_left_out_are_worth_no_more_than_those_shown() -> None:
    messages: Messages = []
    for n in range(40):
        messages.append({"role": "user", "content": f"What of harbour number {n}?"})
        said = f"Harbour {n} is Port Annabel {n}, which Captain Miller {n} closed in 19{n:02}. "
        messages.append({"role": "assistant", "content": said + "It rains there. " * 60})

    result = compress(messages, strategy="extract", target_tokens=count_tokens(messages) // 5)

    told = [each for each in all_of(result) if each.left_out and each.lost_to]
    assert told
    for each in told:
        assert each.lost_to is not None
        assert each.left_out[0].worth_per_token <= 3 * each.lost_to.worth_per_token
        assert each.lost_to.message != each.index


def test_for_window_the_rule_that_decided_is_named() -> None:
    messages = conversation(30, seed=4)

    result = compress(messages, strategy="window", force=True)

    gone = [each for each in all_of(result) if each.kept == "nothing"]
    assert gone
    assert all(each.decided_by.startswith("window: importance ") for each in gone)
    assert all(not each.left_out and each.lost_to is None for each in gone)
    recent = [each for each in all_of(result) if each.must_stay.endswith("the last 10 turns")]
    assert recent
    assert {each.kept for each in recent} == {"whole"}
    kept = [each for each in all_of(result) if each.kept == "whole" and each.decided_by]
    assert all(each.decided_by.startswith("window: importance 0.") for each in kept)


@pytest.mark.parametrize(("strategy", "kept"), [("truncate", "clipped"), ("offload", "preview")])
def test_for_a_shortened_result_the_strategy_is_named(strategy: StrategyName, kept: str) -> None:
    result = compress(TALK, strategy=strategy, force=True)

    told = result.explain(2)
    assert told.kept == kept
    assert told.author == "tool result"
    assert told.decided_by.startswith(strategy)
    assert told.refs
    assert all(result.refs[ref].indices == (2,) for ref in told.refs)


def test_of_an_unchanged_conversation_every_message_is_shown_in_full() -> None:
    result = compress(TALK)

    assert {each.kept for each in all_of(result)} == {"whole"}
    assert result.most_telling() == []


@pytest.mark.parametrize("index", [-1, 8, 10**9, True, "3", None, 1.0])
def test_an_index_that_no_message_has_is_refused_with_what_is_allowed(index: Any) -> None:
    result = compress(TALK, target_tokens=1_000, strategy="extract")

    with pytest.raises(NoSuchMessage, match=r"the indices from 0 to 7\.") as error:
        result.explain(index)

    assert isinstance(error.value, ContextCompressionError | IndexError)


def test_an_empty_conversation_has_no_message_to_explain() -> None:
    with pytest.raises(NoSuchMessage, match="it is empty"):
        compress([]).explain(0)


def test_nothing_is_weighed_before_the_first_question(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[None] = []

    def noted() -> AbstractContextManager[None]:
        made.append(None)
        return recorded()

    monkeypatch.setattr(run, "recorded", noted)

    result = compress(TALK, target_tokens=1_000, strategy="extract")

    assert not made
    told = all_of(result)
    assert all_of(result) == told
    assert len(made) == 1


def test_a_compression_that_is_asked_to_records_its_choice_and_makes_no_other(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    unasked = compress(TALK, target_tokens=1_000, strategy="extract")
    told = all_of(unasked)

    with recorded():
        result = compress(TALK, target_tokens=1_000, strategy="extract")
    monkeypatch.delattr(run, "recorded")

    assert all_of(result) == told
    assert result.messages == unasked.messages


@pytest.mark.slow
@pytest.mark.parametrize("name", RECORDED)
@pytest.mark.parametrize("share", [0.5, 0.25, 0.1, 0.04])
def test_the_choice_made_once_more_is_the_choice_that_was_made(
    name: str, share: float, data_folder: Path
) -> None:
    messages = recorded_conversation(data_folder, name)
    target = int(share * count_tokens(messages))
    result = compress(messages, strategy="auto", target_tokens=target)
    with recorded():
        asked = compress(messages, strategy="auto", target_tokens=target)

    assert asked.messages == result.messages
    assert all_of(asked) == all_of(result)
    assert any(told.evidence for told in all_of(result))


def test_parts_that_competed_are_shown_or_left_out_and_never_both() -> None:
    result = compress(TALK, target_tokens=1_000, strategy="extract")
    everything = " ".join("\n".join(texts(result.messages)).split())

    left_out = [part for told in all_of(result) for part in told.left_out]

    assert left_out
    assert not [part for part in left_out if "…" not in part.text and part.text in everything]


def test_what_a_models_summary_covers_is_summarised() -> None:
    messages = conversation(20, seed=3)

    result = compress(
        messages, strategy="summarize", target_tokens=9_000, summarizer=ScriptedSummarizer()
    )

    covered = [each for each in all_of(result) if each.kept == "summarised"]
    assert covered
    assert {each.index for each in covered} <= {*result.dropped}
    assert all(each.decided_by.startswith("summarize") for each in covered)


def test_the_most_telling_messages_are_few_and_in_order() -> None:
    messages = conversation(40, seed=5)

    result = compress(messages, target_tokens=3_000, strategy="extract")

    told = result.most_telling(8)
    assert len(told) <= 8
    assert [each.index for each in told] == sorted({each.index for each in told})
    assert any(each.kept == "whole" and each.must_stay for each in told)
    assert len(result.most_telling()) <= 20


def test_a_question_that_was_interrupted_changes_no_later_answer() -> None:
    told = all_of(compress(TALK, target_tokens=1_000, strategy="extract"))
    result = compress(TALK, target_tokens=1_000, strategy="extract")

    resumed: list[None] = []

    def interrupt(frame: FrameType, event: str, _: object) -> None:
        """As Ctrl+C does while a text is cut, of which some parts have their words already."""
        if event == "call" and frame.f_code.co_name == "numbers_of":
            resumed.append(None)
            if len(resumed) == 4:
                raise KeyboardInterrupt

    sys.setprofile(interrupt)
    try:
        with pytest.raises(KeyboardInterrupt):
            result.explain(2)
    finally:
        sys.setprofile(None)

    assert all_of(result) == told


def test_a_line_that_is_shown_for_its_date_is_no_message_left_out(data_folder: Path) -> None:
    path = data_folder / "conversations" / "uniform" / "memorybank-cn-00.json.gz"
    messages = json.loads(gzip.decompress(path.read_bytes()))["messages"][:90]

    result = compress(messages, target_tokens=count_tokens(messages) // 4)

    agrees(messages, result)
    told = [each for each in all_of(result) if "its date" in each.decided_by]
    assert told
    assert {each.kept for each in told} == {"quoted"}


@pytest.mark.parametrize("secret", ["ghp_" + "a1B2c3D4" * 4 + "abcd", "DB_PASSWORD=hunter2-Pa55"])
def test_a_short_secret_is_not_repeated_in_an_explanation(secret: str) -> None:
    said = {"role": "assistant", "content": f"{secret}\n\n{'plain words of no interest ' * 9}"}
    log = "".join(f"ERROR {n} of src/harbour_{n}.py was raised\n" for n in range(300))
    messages = [TALK[0], said, {"role": "assistant", "content": log}, *TALK[-1:]]

    result = compress(messages, target_tokens=300, strategy="extract")

    assert result.explain(1).left_out
    assert secret not in "\n".join(map(str, all_of(result)))


def test_secrets_are_not_repeated_in_an_explanation() -> None:
    key = "sk-ant-api03-" + "Zq7" * 30
    log = "".join(f"line {n} of the output\n" for n in range(300)) + f"API_KEY={key}\n" * 3
    messages = [TALK[0], *tool_step([Run("a", "Bash", {}, log)], "anthropic"), *TALK[3:]]

    result = compress(messages, target_tokens=900, strategy="extract")

    assert key not in "\n".join(map(str, all_of(result)))


def test_a_session_explains_its_compression_too(tmp_path: Path) -> None:
    session = Session(tmp_path, "s")
    session.record(*TALK)

    result = session.compress(target_tokens=1_000, strategy="extract")

    assert result.explain(7).kept == "whole"
    assert result.explain(2).refs

"""Where one may cut, and what stays."""

import hashlib
from typing import Any

import pytest
from generated import Messages, conversations
from hypothesis import given
from provider import call_ids, refused, result_ids

from context_compression import Settings, compress
from context_compression.conversation import parse, ref_of, repair
from context_compression.planning import Plan
from context_compression.planning.plan import pinned
from context_compression.settings import StrategyName
from context_compression.testing import Run, conversation, tool_step
from context_compression.tokens import Counter

pytestmark = pytest.mark.slow

LS = Run("a", "Bash", {"command": "ls"}, "main.py")
CAT = Run("b", "Read", {"path": "main.py"}, "print(1)")
GREP = Run("c", "Grep", {"pattern": "TODO"}, "nothing found")
ASK: dict[str, Any] = {"role": "user", "content": "Have a look."}
TELL: dict[str, Any] = {"role": "assistant", "content": "One file."}
RULES: dict[str, Any] = {"role": "system", "content": "Be brief."}
NOTE: dict[str, Any] = {"role": "developer", "content": "Mind the budget."}


def plan_of(messages: Messages, *, room: int | None = None, **settings: Any) -> Plan:
    counter = Counter()
    parsed = parse(messages)
    return Plan(
        parsed.messages,
        tuple(map(counter.message, parsed.messages)),
        counter,
        Settings(**settings),
        room=room,
        rules=parsed.format.rules,
    )


def spans(ranges: tuple[range, ...]) -> list[tuple[int, int]]:
    return [(found.start, found.stop) for found in ranges]


def test_a_turn_goes_from_the_users_message_to_the_next() -> None:
    messages = [ASK, TELL, *tool_step([LS], "openai"), ASK]

    assert spans(plan_of(messages).turns) == [(0, 4), (4, 5)]


def test_the_head_is_no_turn_and_what_comes_before_the_first_user_message_is_one() -> None:
    messages = [RULES, NOTE, TELL, ASK, TELL]

    assert plan_of(messages).head == 2
    assert spans(plan_of(messages).turns) == [(2, 3), (3, 5)]


def test_a_system_message_later_on_is_not_part_of_the_head() -> None:
    assert plan_of([RULES, ASK, RULES, TELL]).head == 1


def test_results_with_the_users_words_begin_no_turn() -> None:
    call, result = tool_step([LS], "anthropic")
    words = {"type": "text", "text": "and faster please"}
    messages = [ASK, call, {**result, "content": [*result["content"], words]}, TELL]

    assert spans(plan_of(messages).turns) == [(0, 4)]


@pytest.mark.parametrize(("dialect", "stop"), [("anthropic", 3), ("openai", 5)])
def test_a_tool_step_is_a_message_with_calls_and_all_their_results(dialect: Any, stop: int) -> None:
    messages = [ASK, *tool_step([LS, CAT, GREP], dialect), TELL, *tool_step([LS], dialect)]

    steps = spans(plan_of(messages).steps)

    assert steps[0] == (1, stop)
    assert steps[1] == (stop + 1, stop + 3)


def test_a_step_without_an_answer_is_open() -> None:
    messages = [ASK, *tool_step([LS], "openai"), *tool_step([CAT, GREP], "openai", answered=1)]

    assert plan_of(messages).open_step == range(3, 5)


def test_a_step_whose_results_the_model_has_not_seen_is_open() -> None:
    unseen = [ASK, *tool_step([LS], "anthropic")]

    assert plan_of(unseen).open_step == range(1, 3)
    assert plan_of([*unseen, ASK]).open_step == range(1, 3)
    assert plan_of([*unseen, TELL]).open_step is None
    assert plan_of([ASK, TELL]).open_step is None


@given(conversations())
def test_whatever_follows_a_cut_is_valid_but_for_who_speaks_first(messages: Messages) -> None:
    plan = plan_of(messages)
    dialect = parse(messages).format.name

    for cut in range(plan.head, len(messages) + 1):
        rest = messages[cut:]
        if plan.is_cut(cut):
            assert set(refused(rest, dialect)) <= {"the first message is not the user's"}
        else:
            begins_badly = rest[0]["role"] in ("tool", "developer") or result_ids(rest[0])
            before = {call for message in messages[:cut] for call in call_ids(message)}
            assert begins_badly or any(r in before for m in rest for r in result_ids(m))


def test_no_cut_before_a_result_a_developer_message_or_inside_a_step_or_the_head() -> None:
    messages = [RULES, ASK, *tool_step([LS, CAT], "openai"), TELL, NOTE, ASK]
    plan = plan_of(messages)

    assert [i for i in range(len(messages) + 1) if plan.is_cut(i)] == [1, 2, 5, 7, 8]


def test_the_nearest_cuts_before_and_after() -> None:
    plan = plan_of([RULES, ASK, *tool_step([LS, CAT], "openai"), TELL, NOTE, ASK])

    assert [plan.cut_before(i) for i in (0, 1, 4, 6)] == [1, 1, 2, 5]
    assert [plan.cut_after(i) for i in (0, 3, 6, 8)] == [1, 5, 7, 8]


def long_talk(turns: int) -> Messages:
    """Messages of 106 tokens each (100 and what wraps them), user and assistant in turn."""
    return [
        {"role": ("user", "assistant")[n % 2], "content": "a" + " b" * 86} for n in range(2 * turns)
    ]


def test_the_tail_holds_at_least_keep_recent_tokens() -> None:
    messages = long_talk(20)
    plan = plan_of(messages, keep_recent_tokens=1_000, preserve_messages=0)
    each = plan.tokens[0]

    assert set(plan.tokens) == {each}
    assert len(messages) - plan.tail == -(-1_000 // each)


def test_the_tail_holds_at_least_preserve_messages() -> None:
    plan = plan_of(long_talk(20), keep_recent_tokens=0, preserve_messages=7)

    assert len(plan.messages) - plan.tail == 7


def test_tail_retention_ratio_replaces_keep_recent_tokens() -> None:
    plan = plan_of(
        long_talk(20),
        keep_recent_tokens=50,
        tail_retention_ratio=0.1,
        token_budget=10_000,
        preserve_messages=0,
    )

    assert sum(plan.tokens[plan.tail :]) >= 1_000
    assert sum(plan.tokens[plan.tail + 1 :]) < 1_000


def test_the_tail_takes_at_most_half_of_a_named_target() -> None:
    plan = plan_of(long_talk(20), room=1_000, preserve_messages=0)

    assert 500 - plan.tokens[0] < sum(plan.tokens[plan.tail :]) <= 500


def test_the_tail_begins_at_a_legal_cut() -> None:
    messages = [*long_talk(3), ASK, *tool_step([LS, CAT], "openai"), TELL]
    plan = plan_of(messages, keep_recent_tokens=0, preserve_messages=2)

    assert plan.tail == 7
    assert plan.tail in plan.steps[0]


def test_a_short_conversation_is_all_tail() -> None:
    assert plan_of([RULES, ASK, TELL]).tail == 1


def test_head_last_user_message_and_open_step_are_anchored() -> None:
    messages = [RULES, ASK, TELL, ASK, TELL, *tool_step([LS, CAT], "openai", answered=1)]

    assert plan_of(messages).anchored == {0, 3, 5, 6}


def test_where_the_user_never_spoke_the_last_message_is_anchored() -> None:
    assert plan_of([RULES, TELL, NOTE, TELL]).anchored == {0, 3}
    assert plan_of([RULES, TELL, *tool_step([LS], "openai"), TELL][:4]).anchored == {0, 2, 3}
    assert plan_of([]).anchored == frozenset()


@pytest.mark.parametrize(
    "block",
    [
        {"type": "image_url", "image_url": {"url": "https://example.org/a.png"}},
        {"type": "file", "file": {"file_id": "f-1"}},
        {"type": "input_audio", "input_audio": {"data": "UklGRg==", "format": "wav"}},
    ],
)
def test_what_the_user_showed_or_said_aloud_counts_as_their_last_message(block: Any) -> None:
    shown = {"role": "user", "content": [block]}

    assert 2 in plan_of([ASK, NOTE, shown, TELL]).anchored


@pytest.mark.parametrize(
    "note",
    [
        "<system-reminder>the file was changed</system-reminder>",
        "This session is being continued from a previous conversation that ran out of context.",
        "Another language model started to solve this problem and summarised it.",
        "[Compressed History] 12 earlier messages are not shown",
        "[Request interrupted by user]",
    ],
)
def test_what_the_host_or_we_put_in_the_users_role_is_not_their_last_message(note: str) -> None:
    messages = [ASK, TELL, {"role": "user", "content": note}, TELL]

    assert plan_of(messages).last_user == 0


PINNABLE: Messages = [
    {"role": "user", "content": "the harbour is closed"},
    *tool_step([LS, CAT], "openai"),
    {"role": "assistant", "content": "It is quiet in the harbour."},
]


@pytest.mark.parametrize(
    ("pin", "found"),
    [
        (0, [0]),
        (-1, [4]),
        (99, []),
        (-6, []),
        ("harbour", [0, 4]),
        ("print(1)", [3]),
        ('"path":"main.py"', [1]),
        ("never said", []),
    ],
)
def test_a_pin_is_an_index_or_a_text_that_a_message_contains(pin: Any, found: list[int]) -> None:
    assert sorted(pinned(parse(PINNABLE).messages, [pin])) == found


@pytest.mark.parametrize("strategy", ["auto", "window", "extract"])
@pytest.mark.parametrize("dialect", ["anthropic", "openai"])
def test_a_pinned_result_stays_whole_with_its_call_and_the_other_results(
    dialect: Any, strategy: StrategyName
) -> None:
    runs = [LS, Run("secret", "Bash", {"command": "env"}, "the answer is 42\n" * 60)]
    messages = [*conversation(4, 1, dialect), *tool_step(runs, dialect), TELL]
    messages += conversation(6, 2, dialect)[dialect == "openai" :]

    result = compress(messages, target_tokens=4_000, strategy=strategy, pins=["the answer is 42"])

    assert result.target_met
    shown = {id(message) for message in result.messages}
    (pinned_one,) = [message for message in messages if "secret" in result_ids(message)]
    assert id(pinned_one) in shown
    assert {"a", "secret"} <= {i for message in result.messages for i in call_ids(message)}
    assert {"a", "secret"} <= {i for message in result.messages for i in result_ids(message)}


@pytest.mark.parametrize("pin", [3, -4])
def test_a_message_pinned_by_its_index_stays_the_same_object(pin: int) -> None:
    messages = long_talk(20)

    result = compress(messages, target_tokens=1_500, strategy="window", pins=[pin])

    assert any(message is messages[pin] for message in result.messages)
    assert result.target_met


def test_a_ref_is_the_first_half_of_a_sha_256_in_12_hex_digits() -> None:
    text = "line one\nzwei 三\n"

    assert ref_of(text) == hashlib.sha256(text.encode()).hexdigest()[:12]


def test_a_ref_of_a_message_is_that_of_its_json() -> None:
    assert ref_of({"role": "user", "content": "三"}) == ref_of('{"role": "user", "content": "三"}')
    assert ref_of({"a": 1, "b": 2}) != ref_of({"b": 2, "a": 1})


def test_texts_that_are_no_utf_8_have_refs_too() -> None:
    assert len(ref_of("half a pair \ud83d")) == 12


def test_what_a_repair_writes_is_not_taken_for_what_the_user_said_last() -> None:
    call = {"type": "tool_use", "id": "a", "name": "Bash", "input": {"command": "ls"}}
    messages = [ASK, TELL, {"role": "user", "content": [call]}]
    parsed = parse(messages)
    mended = repair(parsed.messages, parsed.format.rules).messages
    tokens = (1,) * len(mended)

    assert mended[2].starts_turn
    assert Plan(mended, tokens, Counter(), Settings()).last_user == 0

"""`window`: the last turns, a digest, and what matters of the turns before."""

import gzip
import json
import re
from pathlib import Path
from typing import Any

import pytest
from generated import Messages

from context_compression import BudgetTooSmall, Session, Settings, compress, count_tokens
from context_compression.conversation import COMPRESSED, Message, parse, user
from context_compression.strategies.window import importance
from context_compression.testing import PIXEL, Run, conversation, tool_step

KEYWORDS = Settings().important_keywords
PICTURE = {"type": "image", "source": {"type": "base64", "media_type": "image/gif", "data": PIXEL}}
CHATTER = "Nothing special to say about it today, thanks and see you."


def talk(turns: int, answer: str = CHATTER) -> Messages:
    """Turns of a question and an answer, each with its number."""
    return [
        message
        for n in range(turns)
        for message in (
            {"role": "user", "content": f"Question {n}, if I may?"},
            {"role": "assistant", "content": f"Answer {n}. {answer}"},
        )
    ]


def with_steps(turns: int, answer: str = CHATTER) -> Messages:
    """The same, and in each turn a tool step before the answer."""
    messages: Messages = []
    for n in range(turns):
        step = tool_step([Run(f"call{n}", "Ls", {}, CHATTER)], "anthropic")
        question, told = talk(n + 1, answer)[-2:]
        messages += [question, *step, told]
    return messages


def shown(messages: Messages, view: Messages) -> list[int]:
    """Indices of the messages that are in the view as they came."""
    there = {id(message) for message in view}
    return [index for index, message in enumerate(messages) if id(message) in there]


def note(view: Messages) -> str:
    (found,) = [m["content"] for m in view if str(m["content"]).startswith(COMPRESSED)]
    return found


def read(message: dict[str, Any]) -> Message:
    return parse([message]).messages[0]


STEP = [read(message) for message in tool_step([Run("a", "Read", {}, "x " * 30)], "anthropic")]


@pytest.mark.parametrize(
    ("message", "score", "reasons"),
    [
        (read({"role": "assistant", "content": CHATTER}), 0.1, ()),
        (user(CHATTER), 0.3, ("user message +0.2",)),
        (
            read({"role": "assistant", "content": f"Remember: {CHATTER}"}),
            0.3,
            ("important keyword +0.2",),
        ),
        (
            read({"role": "assistant", "content": f"记住：{CHATTER}"}),
            0.3,
            ("important keyword +0.2",),
        ),
        (
            read({"role": "assistant", "content": f"{CHATTER}\n```python\nx = 1\n```"}),
            0.2,
            ("code or command +0.1",),
        ),
        (STEP[0], 0.2, ("code or command +0.1",)),
        (STEP[1], 0.0, ("tool result -0.2",)),
        (
            read({"role": "user", "content": [{"type": "text", "text": CHATTER}, PICTURE]}),
            0.4,
            ("user message +0.2", "rich content +0.1"),
        ),
        (read({"role": "assistant", "content": "Fine."}), 0.0, ("very short -0.1",)),
        (
            read({"role": "tool", "tool_call_id": "a", "content": "ok"}),
            0.0,
            ("tool result -0.2", "very short -0.1"),
        ),
        (
            user("You must never:\n```\nrm -rf /\n```"),
            0.6,
            ("user message +0.2", "important keyword +0.2", "code or command +0.1"),
        ),
    ],
)
def test_importance_starts_at_a_tenth_and_each_rule_gives_its_reason(
    message: Message, score: float, reasons: tuple[str, ...]
) -> None:
    found = importance(message, KEYWORDS)

    assert found.score == score
    assert found.reasons == reasons


def test_importance_stays_within_0_and_1() -> None:
    everything = {"type": "text", "text": "must\n```\nx\n```"}
    message = read({"role": "user", "content": [everything, everything, PICTURE]})

    assert importance(message, KEYWORDS).score == 0.7
    assert importance(STEP[1], KEYWORDS).score == 0.0  # 0.1 less 0.2


@pytest.mark.parametrize(("chars", "long"), [(599, False), (600, True)])
def test_a_long_answer_is_rich_content(chars: int, long: bool) -> None:
    answer = read({"role": "assistant", "content": "Done as said. ".ljust(chars, "a")})

    assert importance(answer, KEYWORDS).reasons == (("rich content +0.1",) if long else ())


def test_a_long_remark_beside_a_call_and_a_long_request_are_no_answers() -> None:
    text = "All of it is as it was. " * 50
    remark = tool_step([Run("a", "Ls", {}, "ok")], "anthropic")[0]
    remark = {**remark, "content": [{"type": "text", "text": text}, *remark["content"]]}

    assert importance(read(remark), KEYWORDS).reasons == ("code or command +0.1",)
    assert importance(user(text), KEYWORDS).reasons == ("user message +0.2",)


def test_the_keywords_are_a_setting() -> None:
    messages = talk(25)
    messages[4] = {"role": "user", "content": f"The harbour is closed. {CHATTER}"}

    result = compress(
        messages,
        strategy="window",
        settings={"importance_threshold": 0.5, "important_keywords": ["harbour"]},
    )

    assert {4, 5} <= {*shown(messages, result.messages)}
    assert 6 not in shown(messages, result.messages)


@pytest.mark.parametrize(("turns", "due"), [(20, False), (21, True)])
def test_it_is_due_above_twice_keep_recent_turns(turns: int, due: bool) -> None:
    result = compress(talk(turns), strategy="window", settings={"importance_threshold": 0.9})

    assert result.changed is due


@pytest.mark.parametrize(("turns", "due"), [(50, False), (51, True)])
def test_it_is_due_above_max_turns_even_where_more_are_to_be_kept(turns: int, due: bool) -> None:
    settings = {"keep_recent": 40, "importance_threshold": 0.9}

    result = compress(talk(turns), strategy="window", settings=settings)

    assert result.changed is due


def test_not_due_is_said_and_nothing_is_changed() -> None:
    messages = talk(20)

    result = compress(messages, strategy="window")

    assert result.notes == ("not due below 160,000 tokens (80 % of 200,000)",)
    assert all(a is b for a, b in zip(result.messages, messages, strict=True))


def test_by_hand_it_runs_before_it_is_due() -> None:
    messages = talk(12)

    result = compress(
        messages, strategy="window", force=True, settings={"importance_threshold": 0.9}
    )

    kept = shown(messages, result.messages)
    assert kept == list(range(kept[0], 24))
    assert note(result.messages).startswith(f"{COMPRESSED} {kept[0]} earlier messages")


@pytest.mark.parametrize("turns", [11, 22])
def test_by_hand_it_makes_room_where_all_turns_are_recent_or_important(turns: int) -> None:
    messages = talk(turns)

    result = compress(messages, strategy="window", force=True)

    assert result.changed
    assert result.tokens_after <= 0.55 * result.tokens_before
    assert result.messages[-1] is messages[-1]
    assert note(result.messages)


def test_what_is_due_by_its_turns_stays_if_a_digest_frees_next_to_nothing() -> None:
    messages = talk(22)
    messages[2:4] = [{"role": "user", "content": "Hm?"}, {"role": "assistant", "content": "Hm."}]

    result = compress(messages, strategy="window")

    assert not result.changed


@pytest.mark.parametrize("dialect", ["anthropic", "openai"])
def test_a_named_target_is_filled_with_the_best_parts_of_what_left(dialect: Any) -> None:
    messages = conversation(40, seed=5, dialect=dialect)
    target = count_tokens(messages) // 2

    result = compress(messages, strategy="window", target_tokens=target)

    assert 0.85 * target <= result.tokens_after <= target
    quoted = [str(m) for m in result.messages if "Excerpts of earlier messages" in str(m)]
    assert quoted
    assert sum("are not shown" in str(message) for message in result.messages) == 1


CHAT = [
    (
        "How do we store the amounts?",
        "In cents, as integers, in the column amount_cents of orders.",
    ),
    ("Which port does the gateway use?", "The gateway listens on 8443 and only speaks TLS 1.3."),
    ("When does the nightly job run?", "At half past two, on the machine batch-3."),
]
IN_OTHER_LANGUAGES = {
    "zh": [
        ("金额怎么存储？", "用整数分存储，放在 orders 表的 amount_cents 列。"),
        ("网关用哪个端口？", "网关监听 8443，只支持 TLS 1.3。"),
        ("夜间任务几点运行？", "两点半，在 batch-3 上运行。"),
    ],
    "ja": [
        ("金額はどう保存しますか？", "整数のセントで、orders の amount_cents 列に保存します。"),
        ("ゲートウェイのポートは？", "8443 で待ち受け、TLS 1.3 だけを話します。"),
        ("夜間ジョブはいつ動きますか？", "2 時半に batch-3 で動きます。"),
    ],
    "ko": [
        ("금액은 어떻게 저장하나요?", "정수 센트로 orders 의 amount_cents 열에 저장합니다."),
        ("게이트웨이 포트는 무엇인가요?", "8443 에서 듣고 TLS 1.3 만 씁니다."),
        ("야간 작업은 언제 실행되나요?", "두 시 반에 batch-3 에서 실행됩니다."),
    ],
    "ru": [
        (
            "Как мы храним суммы?",
            "В центах, целыми числами, в столбце amount_cents таблицы orders.",
        ),
        ("Какой порт использует шлюз?", "Шлюз слушает 8443 и понимает только TLS 1.3."),
        ("Когда идёт ночное задание?", "В половине третьего, на машине batch-3."),
    ],
}


@pytest.mark.parametrize("language", IN_OTHER_LANGUAGES)
def test_a_short_question_is_as_important_in_every_language_as_in_english(language: str) -> None:
    for (asked, told), (question, answer) in zip(CHAT, IN_OTHER_LANGUAGES[language], strict=True):
        assert importance(user(question), KEYWORDS) == importance(user(asked), KEYWORDS)
        theirs, ours = ({"role": "assistant", "content": text} for text in (answer, told))
        assert importance(read(theirs), KEYWORDS) == importance(read(ours), KEYWORDS)


@pytest.mark.parametrize(
    ("thanks", "short"),
    [
        ("Thanks, go on.", True), ("谢谢，继续。", True), ("はい。", True), ("네, 고마워요.", True),
        ("Спасибо!", True), ("Please delete the old files", False), ("请删除旧的文件", False),
    ],
)  # fmt: skip
def test_thanks_are_very_short_in_every_language(thanks: str, short: bool) -> None:
    assert ("very short -0.1" in importance(user(thanks), KEYWORDS).reasons) is short


@pytest.mark.parametrize("language", IN_OTHER_LANGUAGES)
def test_window_keeps_as_many_messages_in_every_language_as_in_english(language: str) -> None:
    def kept(pairs: list[tuple[str, str]]) -> int:
        messages: Messages = []
        for n in range(24):
            asked, told = pairs[n % len(pairs)]
            messages.append({"role": "user", "content": f"{asked} ({n})"})
            messages.append({"role": "assistant", "content": told})
        return len(shown(messages, compress(messages, strategy="window").messages))

    assert kept(IN_OTHER_LANGUAGES[language]) == kept(CHAT)


def test_the_last_keep_recent_turns_stay_whole_ten_by_default() -> None:
    messages = talk(30)

    result = compress(messages, strategy="window", settings={"importance_threshold": 0.9})

    assert shown(messages, result.messages) == list(range(40, 60))
    assert result.dropped == tuple(range(40))


def test_keep_recent_is_a_setting() -> None:
    messages = talk(30)

    result = compress(
        messages, strategy="window", settings={"keepRecent": 3, "importanceThreshold": 0.9}
    )

    assert shown(messages, result.messages) == list(range(54, 60))


def test_older_messages_at_or_above_the_threshold_stay_and_the_others_go() -> None:
    messages = with_steps(30)

    result = compress(messages, strategy="window", settings={"importance_threshold": 0.3})

    of_steps = {n for n in range(80) if n % 4 in (1, 2)}  # each scores 0.2, each question 0.3
    assert shown(messages, result.messages) == [n for n in range(120) if n not in of_steps]


def test_the_digest_stands_where_it_is_shorter_than_what_went() -> None:
    messages = talk(30)
    for n in range(0, 60, 2):
        messages[n] = {"role": "user", "content": f"Question {n} about the harbour, if I may?"}
    messages[2:4] = [{"role": "user", "content": "Hm?"}, {"role": "assistant", "content": "Hm."}]
    messages[10:12] = talk(1, CHATTER * 60)

    important = {"importance_threshold": 0.5, "important_keywords": ["harbour"]}
    view = compress(messages, strategy="window", settings=important).messages

    assert view[:8] == [*messages[:2], *messages[4:10]]
    assert str(view[8]["content"]).startswith(f"{COMPRESSED} 4 earlier messages")
    assert view[9] is messages[12]


def test_at_the_default_threshold_tool_steps_go_and_ordinary_answers_become_short() -> None:
    messages = with_steps(30, CHATTER * 20)
    messages[3] = {"role": "assistant", "content": f"The bug is in the parser. {CHATTER * 20}"}

    result = compress(messages, strategy="window")

    kept = shown(messages, result.messages)
    assert kept[:4] == [0, 3, 4, 8]
    assert [str(m["content"])[:9] for m in result.messages if m["role"] == "assistant"][1:20] == [
        f"Answer {n}."[:9] for n in range(1, 20)
    ]
    assert result.tokens_after < 0.6 * result.tokens_before


@pytest.mark.parametrize(
    ("name", "after"), [("codex-agentv-c1d7b93e", 26), ("codex-agentv-6d314cc7", 28)]
)
def test_of_45_recorded_messages_about_25_stay_in_about_half_of_the_tokens(
    name: str, after: int, data_folder: Path
) -> None:
    path = data_folder / "conversations" / "uniform" / f"{name}.json.gz"
    messages = json.loads(gzip.decompress(path.read_bytes()))["messages"][:45]

    result = compress(messages, strategy="window", force=True)

    assert len(result.messages) == after
    assert 100_000 < result.tokens_before < 130_000
    assert result.ratio < 0.65


def test_a_tool_step_counts_as_its_most_important_message_and_is_never_split() -> None:
    messages = talk(30)
    messages[4:4] = tool_step([Run("a", "Ls", {}, "x " * 40)], "anthropic")

    for threshold, there in ((0.2, True), (0.21, False)):
        result = compress(messages, strategy="window", settings={"importance_threshold": threshold})

        assert ({4, 5} <= set(shown(messages, result.messages))) is there
        assert ({4, 5} & set(shown(messages, result.messages)) != set()) is there


def test_what_lies_before_the_last_max_turns_goes_however_important_it_is() -> None:
    messages = talk(60)
    messages[0] = {"role": "user", "content": "You must remember this: ```never```"}
    messages[20] = messages[0] | {}

    result = compress(messages, strategy="window", settings={"importance_threshold": 0.8})

    kept = shown(messages, result.messages)
    assert 0 not in kept
    assert 20 in kept


def test_max_turns_is_a_setting() -> None:
    messages = talk(60)

    result = compress(
        messages, strategy="window", settings={"maxTurns": 12, "importance_threshold": 0.3}
    )

    assert shown(messages, result.messages) == [*range(96, 120)]


def test_each_dropped_message_has_its_importance_and_the_rules_as_a_reason() -> None:
    messages = talk(30)
    messages[1] = {"role": "assistant", "content": "Hm."}

    result = compress(messages, strategy="window", settings={"importance_threshold": 0.9})

    assert result.reasons[0] == "window: importance 0.3 (user message +0.2)"
    assert result.reasons[1] == "window: importance 0 (very short -0.1)"
    assert result.reasons[3] == "window: importance 0.1 (no rule applies)"
    assert result.reasons.keys() == set(result.compressed)


def test_a_digest_stands_in_the_place_of_what_went_and_says_how_much() -> None:
    messages = talk(30)

    result = compress(messages, strategy="window", settings={"importance_threshold": 0.9})

    first = str(result.messages[0]["content"])
    assert first.startswith(f"{COMPRESSED} 40 earlier messages are not shown")
    asked = first.split("\n")[1]
    assert asked.startswith("User asked: Question 0, if I may? → Answer 0.; Question ")


def test_a_digest_has_at_most_summary_max_chars_its_first_line_included() -> None:
    messages = conversation(30, seed=4)

    for limit in (200, 500, 2_000):
        result = compress(
            messages,
            strategy="window",
            settings={"summary_max_chars": limit, "importance_threshold": 1},
        )
        digest = re.sub(r"; first ref [0-9a-f]{12}", "", note(result.messages))
        assert 0.5 * limit <= len(digest) <= limit


def test_where_the_room_is_too_small_for_a_digest_it_is_shorter_but_never_silently_gone() -> None:
    messages = conversation(30, seed=4)
    floor = refused(messages)

    for target in (floor + 30, floor + 60, floor + 100, floor + 200):
        result = compress(messages, target_tokens=target, strategy="window")

        assert result.target_met
        assert "earlier messages are not shown" in note(result.messages)


def test_with_a_store_the_digest_says_how_to_find_what_left(tmp_path: Path) -> None:
    session = Session(tmp_path / "store", "s")
    session.record(*conversation(30, seed=4))

    session.compress(target_tokens=700, strategy="window")

    assert "context_restore(query=… | …) finds them" in note(session.view())


def refused(messages: Messages) -> int:
    """The floor of a conversation."""
    with pytest.raises(BudgetTooSmall) as error:
        compress(messages, target_tokens=1)
    return error.value.floor_tokens


def test_a_digest_of_an_earlier_digest_does_not_quote_it_as_the_user() -> None:
    once = compress(talk(30), strategy="window", settings={"importance_threshold": 0.9})
    longer = [*once.messages, *talk(25)]

    again = compress(longer, strategy="window", settings={"importance_threshold": 0.9})

    assert COMPRESSED not in note(again.messages)[len(COMPRESSED) :]


def test_where_the_recent_turns_do_not_fit_the_target_fewer_stay_whole() -> None:
    messages = talk(30, answer=CHATTER * 4)
    turn = count_tokens(messages[-2:])

    result = compress(messages, strategy="window", target_tokens=6 * turn)

    assert result.target_met
    kept = shown(messages, result.messages)
    assert len(kept) < 20
    assert kept[-1] == 59
    assert {57, 58, 59} <= set(kept)


def test_where_not_even_one_turn_fits_the_cut_goes_inside_it() -> None:
    steps = [
        message
        for n in range(12)
        for message in tool_step([Run(f"r{n}", "Read", {}, f"{n} word " * 150)], "anthropic")
    ]
    messages = [*talk(3), {"role": "user", "content": "Read all of it."}, *steps]
    messages.append({"role": "assistant", "content": "Done."})
    target = count_tokens(messages) // 4

    result = compress(messages, strategy="window", target_tokens=target)

    assert result.target_met
    kept = shown(messages, result.messages)
    assert 6 in kept  # the last user message
    assert kept[-3:] == [len(messages) - 3, len(messages) - 2, len(messages) - 1]
    assert not {7, 8} & set(kept)


def test_the_head_stays() -> None:
    messages = [{"role": "system", "content": "Be brief."}, *talk(30)]

    result = compress(messages, strategy="window", settings={"importance_threshold": 1})

    assert result.messages[0] is messages[0]
    assert note(result.messages)


@pytest.mark.parametrize("dialect", ["anthropic", "openai"])
@pytest.mark.parametrize("share", [0.1, 0.3, 0.6, 0.9])
def test_a_target_above_the_floor_is_met(dialect: Any, share: float) -> None:
    messages = conversation(25, seed=11, dialect=dialect)
    target = int(count_tokens(messages) * share)

    result = compress(messages, strategy="window", target_tokens=target)

    assert result.target_met
    assert result.tokens_after <= target


def test_its_digest_is_no_bigger_than_what_it_stands_for() -> None:
    messages = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "yo"}] * 30

    result = compress(messages, strategy="window", settings={"importance_threshold": 1})

    assert result.tokens_after <= result.tokens_before


def test_a_system_message_in_between_does_not_answer_for_the_user() -> None:
    messages = [
        {"role": "user", "content": "Begin. " * 100},
        *tool_step([Run("a", "Bash", {"command": "make"}, "line\n" * 900)], "anthropic"),
        {"role": "system", "content": "An error is to be told at once. " * 60},
        *tool_step([Run("b", "Bash", {"command": "make"}, "an error\n" * 300)], "anthropic"),
        {"role": "assistant", "content": "It failed."},
        {"role": "user", "content": "Go on."},
    ]

    result = compress(messages, strategy="window", target_tokens=600, pins=["error"])

    assert result.messages[0]["role"] == "user"
    assert messages[3] in result.messages


@pytest.mark.slow
@pytest.mark.parametrize(
    "head", [COMPRESSED, "<system-reminder>", "# AGENTS.md instructions for", "<command-line>"]
)
def test_what_the_user_asks_last_stays_whatever_it_begins_like(head: str) -> None:
    asked = {"role": "user", "content": f"{head} is what I see. What does it mean?"}
    messages = [*conversation(30, seed=4), asked]

    for target in (600, 2_000):
        result = compress(messages, target_tokens=target, strategy="window")

        assert result.messages[-1] is asked


RULE = "Never touch the main branch."
OLD = {"importance_threshold": 0.9}


def test_a_message_with_a_rule_of_the_user_stays_however_unimportant_it_is() -> None:
    messages = talk(30)
    messages[2] = {"role": "user", "content": RULE}

    result = compress(messages, strategy="window", settings=OLD)

    assert shown(messages, result.messages) == [2, 3, *range(40, 60)]
    assert result.loss["constraints"].retained == result.loss["constraints"].total == 1


def test_the_rules_of_a_long_text_are_quoted_and_the_text_goes() -> None:
    messages = talk(30)
    pasted = "A line of the log that says nothing at all.\n" * 400
    messages[2] = {"role": "user", "content": f"{RULE}\n{pasted}"}

    result = compress(messages, strategy="window", settings=OLD)

    assert 2 not in shown(messages, result.messages)
    assert note(result.messages).endswith(f"\n[User] {RULE}")
    assert result.loss["constraints"].lost == 0
    assert result.constraints_gone == ""


def test_a_rule_from_before_the_last_max_turns_turns_is_quoted() -> None:
    messages = talk(60)
    messages[0] = {"role": "user", "content": RULE}

    result = compress(messages, strategy="window")

    assert 0 not in shown(messages, result.messages)
    assert f"\n[User] {RULE}" in note(result.messages)


@pytest.mark.parametrize("share", [0.15, 0.3, 0.6])
def test_rules_stay_where_the_recent_turns_do_not_all_fit(share: float) -> None:
    messages = talk(30, answer=CHATTER * 4)
    rules = [f"Always run check {n} first." for n in range(6)]
    for n, rule in enumerate(rules):
        messages[2 * n] = {"role": "user", "content": rule}
    target = int(share * count_tokens(messages))

    result = compress(messages, strategy="window", target_tokens=target)

    assert result.target_met
    texts = "\n".join(str(message["content"]) for message in result.messages)
    assert [rule for rule in rules if rule not in texts] == []


def test_a_rule_that_has_no_room_counts_as_gone_in_the_loss_report() -> None:
    messages = talk(30)
    for n in range(20):
        messages[2 * n] = {"role": "user", "content": f"Always run the check number {n} first."}

    result = compress(messages, strategy="window", target_tokens=refused(messages) + 60)

    constraints = result.loss["constraints"]
    assert constraints.total == 20
    assert constraints.retained < 20
    assert constraints.retained + constraints.recoverable == 20
    assert "that may be rules are not in the compacted context" in result.constraints_gone


def test_the_rules_of_an_earlier_digest_count_and_stay() -> None:
    messages = talk(60)
    messages[0] = {"role": "user", "content": RULE}
    once = compress(messages, strategy="window")
    assert RULE in note(once.messages)

    again = compress([*once.messages, *talk(25)], strategy="window", settings=OLD)

    assert f"\n[User] {RULE}" in note(again.messages)
    assert again.loss["constraints"].total == again.loss["constraints"].retained == 1
    extracted = compress(once.messages, target_tokens=300, strategy="extract")
    assert RULE in str(extracted.messages)


@pytest.mark.parametrize(
    "summary",
    [
        f"{COMPRESSED} Excerpts of earlier messages, quoted as data:\n[User] Mind the harbour.",
        "CONVERSATION_SUMMARY\nThe harbour is closed.",
        "This session is being continued from a previous conversation. The harbour is closed.",
    ],
)
def test_an_earlier_summary_stays_as_it_is(summary: str) -> None:
    messages = [{"role": "user", "content": summary}, *talk(60)]

    result = compress(messages, strategy="window", settings=OLD)

    assert result.messages[0] is messages[0]


def test_a_summary_that_takes_too_much_of_the_room_is_clipped() -> None:
    summary = "CONVERSATION_SUMMARY\n" + "The harbour is closed, and no ship leaves it.\n" * 400
    messages = [{"role": "user", "content": summary}, *talk(30)]
    target = int(0.5 * count_tokens(messages))

    result = compress(messages, strategy="window", target_tokens=target)

    assert result.target_met
    assert str(result.messages[0]["content"]).startswith("CONVERSATION_SUMMARY\nThe harbour")
    assert len(str(result.messages[0]["content"])) < len(summary)
    assert {57, 58, 59} <= set(shown(messages[1:], result.messages))


def test_a_second_digest_takes_the_first_one_over() -> None:
    messages = talk(30)
    messages[0] = {"role": "user", "content": "Please mend src/harbour.py for me."}
    once = compress(messages, strategy="window", settings=OLD)

    again = compress([*once.messages, *talk(25)], strategy="window", settings=OLD)

    assert sum(COMPRESSED in str(message["content"]) for message in again.messages) == 1
    first, asked = note(again.messages).split("\n")[:2]
    assert re.fullmatch(
        rf"{re.escape(COMPRESSED)} 90 earlier messages are not shown; first ref [0-9a-f]{{12}}:",
        first,
    )
    assert asked.startswith("User asked: Please mend src/harbour.py for me. → Answer 0.; Question ")
    assert "Files: src/harbour.py" in note(again.messages)
    assert again.reasons[0] == "window: its items are in the new digest"


def test_many_digests_one_after_the_other_count_all_that_went() -> None:
    view, recorded = talk(30), 60
    for _ in range(5):
        view = compress(view, strategy="window", force=True, settings=OLD).messages
        assert note(view).startswith(f"{COMPRESSED} {recorded - 20} earlier messages")
        view, recorded = [*view, *talk(13)], recorded + 26


def test_a_digest_stays_as_it_is_where_nothing_else_goes() -> None:
    view = compress(talk(30), strategy="window", settings=OLD).messages
    longer = [*view, *talk(25)]

    again = compress(longer, strategy="window")

    assert not again.changed


def test_a_session_counts_what_is_missing_by_its_log(tmp_path: Path) -> None:
    session = Session(tmp_path / "store", "s")
    session.record(*conversation(30, seed=4))
    session.compress(target_tokens=1_500, strategy="extract")
    session.record(*talk(25))

    session.compress(strategy="window", settings=OLD)

    view = session.view()
    digests = [str(m["content"]) for m in view if "are not shown" in str(m["content"])]
    notes = sum(str(message["content"]).startswith(COMPRESSED) for message in view)
    missing = session.status().messages_recorded - (len(view) - notes)
    assert len(digests) == 1
    assert digests[0].startswith(f"{COMPRESSED} {missing} earlier messages are not shown")


def test_after_an_undo_the_log_counts_again_what_is_missing_now(tmp_path: Path) -> None:
    session = Session(tmp_path / "store", "s")
    session.record(*talk(30))
    session.compress(strategy="window", settings=OLD)
    session.undo()

    session.compress(strategy="window", settings=OLD)

    assert note(session.view()).startswith(f"{COMPRESSED} 40 earlier messages")


def test_a_preview_of_a_hosts_whole_history_counts_only_what_goes_now(tmp_path: Path) -> None:
    session = Session(tmp_path / "store", "s")
    session.record(*talk(30))
    session.compress(strategy="window", settings=OLD)

    preview = session.preview(talk(30), strategy="window", settings=OLD)

    assert note(preview.messages).startswith(f"{COMPRESSED} 40 earlier messages")


def test_a_summary_inside_a_tool_step_is_not_kept_without_its_step() -> None:
    by_program = {"caller": {"type": "code_execution_20250825", "tool_id": "srvtoolu_6"}}
    call: dict[str, Any] = {
        "type": "tool_use",
        "id": "a",
        "name": "Bash",
        "input": {},
        **by_program,
    }
    program: dict[str, Any] = {
        "type": "server_tool_use",
        "id": "srvtoolu_6",
        "name": "code_execution",
        "input": {},
    }
    end: dict[str, Any] = {
        "type": "code_execution_tool_result",
        "tool_use_id": "srvtoolu_6",
        "content": {},
    }
    answer: dict[str, Any] = {
        "type": "tool_result",
        "tool_use_id": "a",
        "content": "a line of the output\n" * 400,
    }
    messages: list[dict[str, Any]] = [
        {"role": "user", "content": "Count the files."},
        {"role": "assistant", "content": [program, call]},
        {"role": "user", "content": [answer]},
        {
            "role": "assistant",
            "content": [end, {"type": "text", "text": "SUMMARY of what we did."}],
        },
        {"role": "user", "content": "Go on."},
        {"role": "assistant", "content": "Done."},
    ]

    few = {"keep_recent": 1}
    view = compress(messages, target_tokens=300, strategy="window", settings=few).messages

    assert "Go on." in str(view)
    assert ("srvtoolu_6" in str(view)) is ("server_tool_use" in str(view))


ANSWERS = ("Done.", "已完成。", "It is sent, and the price is set.", f"Handled. {CHATTER * 30}")
every_answer = pytest.mark.parametrize("answer", ANSWERS, ids=["en", "zh", "both", "long"])


@pytest.mark.slow
@every_answer
@pytest.mark.parametrize("target", [None, 9_000, 4_000, 2_000, 1_000])
@pytest.mark.parametrize("repeated", [1, 2])
def test_no_request_that_was_answered_stands_as_if_it_was_not(
    answer: str, target: int | None, repeated: int
) -> None:
    messages: Messages = []
    for n in range(40):
        asks = {"role": "user", "content": f"Set the price of article {n:03} to {n}.99, if I may."}
        more = {"role": "user", "content": f"And mail the supplier of {n:03} about it, always."}
        step = tool_step([Run(f"call{n}", "Set", {"article": n}, CHATTER * 20)], "anthropic")
        told = {"role": "assistant", "content": f"{answer.split()[0]} {n:03}: {answer}"}
        messages += [asks, *[more][: repeated - 1], *step, told]

    view = compress(messages, strategy="window", target_tokens=target, force=True).messages

    texts = (str(message["content"]) for message in view)
    told = "\n".join(text for text in texts if "Excerpts of earlier messages" not in text)
    for n in range(40):
        if (at := told.find(f"article {n:03} to")) >= 0:
            following = re.compile(r"article \d{3} to").search(told, at + 1)
            until = told[at : following and following.start()]
            assert f" {n:03}: " in until or "(see the next answer)" in until


def test_a_request_that_nobody_answered_goes_with_the_next_answer() -> None:
    messages = [{"role": "user", "content": "Stop that, if I may."}, *talk(30)]

    result = compress(messages, strategy="window", settings=OLD)
    most = compress(messages, strategy="window", settings={"importance_threshold": 0.3})

    asked = "User asked: Stop that, if I may. → (see the next answer); Question 0, if I may? → "
    assert asked in note(result.messages)
    assert shown(messages, most.messages)[:3] == [0, 1, 2]

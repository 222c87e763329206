"""`extract`: a sentence that many messages repeat is paid for once."""

import pytest
from extract_sessions import Messages, session, text_message, texts

from context_compression import compress, count_tokens

SENTENCE = "Please keep the answer short, and remember that the office is closed on Friday."
ROADS = "They meet now and then and talk about the roads. "


def chat(asks: bool) -> Messages:
    """A chat in which each request repeats a sentence, alone or above a question."""
    return session(
        *(
            session(
                text_message(
                    "user", f"{SENTENCE}\n\nWhat about city {k * 7919}?" if asks else SENTENCE
                ),
                text_message("assistant", f"City {k * 7919} has a council of {k + 3}. {ROADS * 8}"),
            )
            for k in range(72)
        )
    )


@pytest.mark.parametrize("asks", [True, False])
@pytest.mark.parametrize("share", [0.3, 0.2, 0.1])
def test_a_sentence_that_each_request_repeats_stands_a_few_times(share: float, asks: bool) -> None:
    messages = chat(asks)

    result = compress(messages, target_tokens=int(share * int(count_tokens(messages))))

    shown = texts(result.messages)
    assert 1 <= shown.count(SENTENCE) <= 7
    if share >= 0.3:
        assert shown.count(" has a council of ") > 24


IN_OTHER_WORDS = {
    "English": (
        "I went through the parcels of this street and nothing looked out of place. ",
        ("The map was drawn by hand. ", "Nobody has complained so far. ", "The fee is paid. "),
        "Parcel {n} belongs to the mill.",
    ),
    "Chinese": (
        "我检查了这条街上的所有地块，没有看到任何不对的地方，接着看下一条街。",
        (
            "这张地图是手工绘制的，比较旧。",
            "到目前为止没有人提出过投诉。",
            "今年的费用已经全部付清了。",
        ),
        "第 {n} 号地块属于磨坊。",
    ),
}


def repetitive_chat(language: str) -> tuple[Messages, list[str]]:
    """A chat whose answers are the same sentences and, at the end, something new; and all that."""
    sentence, others, new = IN_OTHER_WORDS[language]
    news = [new.format(n=7919 * k % 1000) for k in range(1, 31)]
    answers = [
        "".join([sentence, *(others[(k + n) % 3] for n in range(6)), fact])
        for k, fact in enumerate(news)
    ]
    turns = (
        (text_message("user", f"{k}?"), text_message("assistant", answer))
        for k, answer in enumerate(answers)
    )
    return session(*(message for turn in turns for message in turn)), news


@pytest.mark.parametrize("language", IN_OTHER_WORDS)
def test_a_sentence_within_longer_answers_is_paid_for_once_and_what_is_new_stays(
    language: str,
) -> None:
    messages, news = repetitive_chat(language)

    result = compress(messages, target_tokens=int(0.35 * int(count_tokens(messages))))

    shown = texts(result.messages)
    assert 1 <= shown.count(IN_OTHER_WORDS[language][0].strip()) <= 6
    assert [fact for fact in news if fact not in shown] == []


@pytest.mark.parametrize("language", IN_OTHER_WORDS)
@pytest.mark.parametrize("percent", range(20, 56, 5))
def test_a_view_that_lacks_room_for_a_ref_loses_a_little_and_not_all(
    language: str, percent: int
) -> None:
    messages, news = repetitive_chat(language)
    target = percent * int(count_tokens(messages)) // 100

    result = compress(messages, target_tokens=target)

    assert 0.7 * target < result.tokens_after <= target
    assert sum(fact in texts(result.messages) for fact in news) >= min(30, percent) - 12

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

"""`extract`: the room is filled, and never overfilled."""

import math
from typing import Any

import pytest
from extract_sessions import Messages, extract, session, step, text_message

from context_compression import compress
from context_compression.strategies import filling
from context_compression.strategies.keep import cost
from context_compression.testing import PIXEL, conversation

pytestmark = pytest.mark.slow


def test_no_count_of_a_callers_counter_breaks_the_choice() -> None:
    """One that gives nothing for short texts: dropping a piece then frees nothing."""
    steps = (step(n, "ok", command=f"src/m{n}/f.py src/k{n}.py") for n in range(100))
    messages = session(text_message("user", "go"), *steps, text_message("user", "x " * 5_000))

    for target in (10_400, 11_000, 12_000, 15_000):
        result = compress(
            messages,
            target_tokens=target,
            strategy="extract",
            force=True,
            counter=lambda text: len(text) if len(text) > 300 else 0,
        )

        assert result.tokens_after <= target


def test_a_view_that_came_out_too_large_is_corrected_in_few_rounds(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Every round counts the view anew, which in a long conversation takes a tenth of a second."""
    steps = (
        step(n, "\n".join(f"src/a{n}_{k}.py:{k} fails" for k in range(60)), command=f"cat {n}.log")
        for n in range(40)
    )
    messages = session(text_message("user", "Go."), *steps, text_message("user", "Go on."))
    rounds = 0

    def counted(*args: Any) -> int:
        nonlocal rounds
        rounds += 1
        return cost(*args)

    monkeypatch.setattr(filling, "cost", counted)
    compress(
        messages,
        target_tokens=200,
        strategy="extract",
        counter=lambda text: len(text) if "Compressed" in text else 0,
    )

    assert 0 < rounds < 30


@pytest.mark.parametrize(("turns", "target"), [(60, 1_420), (200, 2_730), (200, 2_920)])
def test_a_room_is_not_emptied_by_what_would_have_filled_its_last_tokens(
    turns: int, target: int
) -> None:
    times = (0.97, 1.0, 1.03)

    def uneven(text: str) -> int:  # so that what is left is never what the estimates say
        return math.ceil(len(text) * times[len(text) % 3] / 3.5)

    result = compress(conversation(turns), target_tokens=target, counter=uneven)

    assert result.tokens_after >= 0.95 * target


@pytest.mark.parametrize("target", [2_000, 3_000, 4_400])
def test_next_to_nothing_of_a_small_room_stays_empty(worked: Messages, target: int) -> None:
    assert compress(worked, target_tokens=target).tokens_after >= 0.99 * target


def test_pictures_beside_a_text_do_not_make_it_dear() -> None:
    source = {"type": "base64", "media_type": "image/gif", "data": PIXEL}
    messages = text_message("user", "Look at them.")
    for n in range(12):
        lines = "\n".join(f"ERR-{n}{k} in /srv/part_{n}/file_{k}.log is new" for k in range(60))
        call, answer = step(n, lines)
        text = {"type": "text", "text": answer["content"][0]["content"]}
        answer["content"][0]["content"] = [text, {"type": "image", "source": source}]
        messages += [call, answer]

    result = extract(session(messages, text_message("assistant", "Seen.")), 0.3)

    assert result.target_met
    assert result.tokens_after >= 0.95 * (result.target_tokens or 0)

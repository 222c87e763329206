"""Sentences of the user that stand apart in pasted texts, in languages that nobody knows."""

import pytest

from context_compression.evidence.constraints import MOST_ASIDES, constraints_of_user

NOTES = [
    f"Note {n} of part {n % 3}: the loader in src/load_{n}.py reads column {3 * n} of table {n}."
    for n in range(120)
]
LOG = [
    f"2026-11-26 10:{n % 60:02d}:07 INFO worker-{n} job {7 * n} done in {n} ms" for n in range(200)
]
CODE = [f"    value_{n} = compute_{n}(handle[{n}], key={n})" for n in range(200)]
ARTICLE = [
    f"{who} {does} {what} {where}."
    for who in ("The old harbour", "A quiet engineer", "Every second winter", "Our northern office")
    for does in ("welcomed", "described", "forgot")
    for what in ("several visitors", "an unusual proposal", "the missing ledger")
    for where in ("near Lisbon", "without hurry", "during the audit", "after a long debate")
]
UNKNOWN = "Zuqat metilo bar quma frelle."
PASTED = {"notes": NOTES, "log": LOG, "code": CODE}


def apart(lines: list[str], separator: str = "\n") -> list[str]:
    text = separator.join(lines)
    return [text[found.start : found.stop] for found in constraints_of_user(text) if found.apart]


@pytest.mark.parametrize("place", [0, 60, 120])
@pytest.mark.parametrize("pasted", PASTED)
def test_a_sentence_stands_apart_from_lines_that_are_alike(pasted: str, place: int) -> None:
    lines = [*PASTED[pasted][:place], UNKNOWN, *PASTED[pasted][place:]]

    assert apart(lines) == [UNKNOWN]


@pytest.mark.parametrize(
    "said", ["ᏝᏍᏗ ᎯᏃᎮᏍᎩ ᎪᏪᎵ ᎤᏂᏣᏘ.", "ነቲ ማህደር ብዘይ ፍቓድ ምትንካፍ", "不知道的一句话在这里。"]
)
@pytest.mark.parametrize("pasted", [*PASTED.values(), ARTICLE * 2], ids=[*PASTED, "article"])
def test_a_sentence_stands_apart_in_another_script(pasted: list[str], said: str) -> None:
    assert apart([*pasted[:50], said, *pasted[50:]]) == [said]


@pytest.mark.parametrize("pasted", [*PASTED.values(), ARTICLE * 2], ids=[*PASTED, "article"])
def test_nothing_stands_apart_in_a_text_of_one_kind(pasted: list[str]) -> None:
    assert apart(pasted) == []


def test_a_question_that_stands_apart_is_no_rule() -> None:
    assert apart([*NOTES, "Zuqat metilo bar quma frelle?"]) == []


def test_nothing_stands_apart_in_a_short_text() -> None:
    assert apart([*NOTES[:11], UNKNOWN]) == []


def test_a_stack_trace_does_not_stand_apart_in_a_log() -> None:
    trace = [
        "Traceback (most recent call last):",
        '  File "a.py", line 3, in load',
        "KeyError: 'x'",
    ]

    assert apart([*LOG[:90], *trace, *LOG[90:]]) == []


def test_of_many_sentences_that_stand_apart_the_first_and_last_are_taken() -> None:
    said = [f"Zuqat{n} metilo{n} bar{n} quma{n} frelle{n}." for n in "abcdefghij"]
    lines = [*said[:5], *NOTES, *said[5:]]

    assert apart(lines) == [*said[:3], *said[-3:]]
    assert len(apart(lines)) == MOST_ASIDES


def test_sentences_stand_apart_at_both_ends_of_a_very_long_text() -> None:
    lines = [UNKNOWN, *(f"{line} {n}" for n in range(30) for line in LOG), f"{UNKNOWN[:-1]} too."]

    assert apart(lines) == [lines[0], lines[-1]]

"""What was cut is kept for the next compression of the same conversation."""

import pytest

from context_compression.planning import Cutter, measured, pieces
from context_compression.planning.pieces import cutter_for, keep, spans

TEXTS = ("Read src/app.py.", "def main():\n    return 1\n", "build 4711 failed: no such file")


@pytest.fixture(autouse=True)
def nothing_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pieces, "_kept", [])


def cutter_of(*texts: str) -> Cutter:
    cutter = Cutter()
    for text in texts:
        cutter(text)
    return cutter


def test_a_conversation_that_grew_gets_its_cutter_back() -> None:
    cutter = cutter_of(*TEXTS)
    cut = cutter(TEXTS[1])
    keep(cutter)

    again = cutter_for((*TEXTS, "Thanks."))

    assert again is cutter
    assert again(TEXTS[1]) == cut


def test_conversations_that_take_turns_have_each_its_own() -> None:
    cutter, other = cutter_of(*TEXTS), cutter_of("Something else, which is long.")
    keep(cutter)
    keep(other)

    assert cutter_for(TEXTS) is cutter
    assert cutter_for(("Something else, which is long.", TEXTS[0])) is other
    assert cutter_for(("Nothing of this was cut before.",)) not in (cutter, other)


def test_only_the_last_few_are_kept_and_none_that_knows_nothing() -> None:
    cutter = cutter_of(*TEXTS)
    keep(cutter)
    keep(Cutter())
    for n in range(measured.KEPT_CUTTERS):
        assert cutter_for(()) is not cutter
        keep(cutter_of(f"Conversation {n}."))

    assert cutter_for(TEXTS) is not cutter


def test_two_at_once_never_share_one() -> None:
    keep(cutter_of(*TEXTS))

    assert cutter_for(TEXTS) is not cutter_for(TEXTS)


def test_one_that_has_grown_large_forgets_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measured, "MOST_KEPT", 3)
    cutter = cutter_of(*TEXTS, "One line more.")
    keep(cutter)

    assert len(cutter.starts) == 0
    assert cutter_for(TEXTS) is not cutter


def test_one_for_prose_is_kept_for_prose() -> None:
    cutter = Cutter(prose=True)
    for text in TEXTS:
        cutter(text)
    keep(cutter)

    assert cutter_for(TEXTS) is not cutter
    assert cutter_for(TEXTS, prose=True) is cutter


def test_a_long_line_is_not_divided_behind_a_title() -> None:
    words = "they said again and again that nothing had changed and that nothing would change here"
    text = f"{words}. {words} Mr. Chair, {words}, Hon. Jane Doe, {words}, {words}."

    starts, stops = spans(text)

    assert [text[start:stop] for start, stop in zip(starts, stops, strict=True)] == [
        f"{words}. ", f"{words} Mr. Chair, {words}, Hon. Jane Doe, {words}, {words}.",
    ]  # fmt: skip

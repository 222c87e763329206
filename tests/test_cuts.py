"""What was cut is kept for the next compression of the same conversation."""

import pytest

from context_compression import cuts
from context_compression.cuts import Cutter, cutter_for, keep

TEXTS = ("Read src/app.py.", "def main():\n    return 1\n", "build 4711 failed: no such file")


@pytest.fixture(autouse=True)
def nothing_kept() -> None:
    keep(Cutter())


def cutter_of(*texts: str) -> Cutter:
    cutter = Cutter()
    for text in texts:
        cutter(text)
    return cutter


def test_a_conversation_that_grew_gets_its_cutter_back() -> None:
    cutter = cutter_of(*TEXTS)
    pieces = cutter(TEXTS[1])
    keep(cutter)

    again = cutter_for((*TEXTS, "Thanks."))

    assert again is cutter
    assert again(TEXTS[1]) == pieces


def test_another_conversation_gets_a_new_one_and_the_old_one_is_forgotten() -> None:
    cutter = cutter_of(*TEXTS)
    keep(cutter)

    assert cutter_for(("Something else, which is long.", TEXTS[0])) is not cutter
    assert cutter_for(TEXTS) is not cutter


def test_two_at_once_never_share_one() -> None:
    keep(cutter_of(*TEXTS))

    assert cutter_for(TEXTS) is not cutter_for(TEXTS)


def test_one_that_has_grown_large_forgets_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cuts, "MOST_KEPT", 3)
    cutter = cutter_of(*TEXTS, "One line more.")
    keep(cutter)

    assert len(cutter.starts) == 0
    assert cutter_for(TEXTS) is not cutter

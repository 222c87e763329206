"""What each engine of a store must do: `CONTRACT`, a check for each promise of `Backend`.

    @pytest.mark.parametrize("check", CONTRACT, ids=name_of)
    def test_my_backend(check: Check, make: Callable[[], Backend]) -> None:
        check(make)

A check takes a function that opens the same empty store again and again, as several processes do.
It raises `AssertionError` if a promise is broken.
"""

from collections.abc import Sequence

from backend_samples import NAME, NOON, TEXTS, Check, Make, archived, name_of, refused, said
from shared_backends import (
    a_deleted_session_is_gone,
    a_lock_is_held_by_one,
    a_search_finds_what_was_archived,
    a_search_has_pages,
    digits_that_could_be_refs_are_known,
    many_writers_lose_nothing_and_double_nothing,
    summaries_come_back_the_newest_first,
    tenants_see_nothing_of_each_other,
)

from context_compression.conversation import digest_of
from context_compression.errors import StoreDamaged, StoreError, UnknownRef
from context_compression.store import SessionLog, file_name

__all__ = ["CONTRACT", "Check", "Make", "name_of"]


def nothing_is_there_before_something_is_written(make: Make) -> None:
    """Reading creates nothing, and what is absent reads as empty."""
    backend = make()
    assert backend.sessions() == []
    assert backend.session("s").stamp() is None
    assert (
        backend.session("s").rows("events").items == backend.session("s").rows("ledger").items == []
    )
    assert [*backend.session("s").originals()] == [*backend.session("s").entries()] == []
    assert backend.read_document("config") == {}
    assert backend.prompt("summary") is None
    assert backend.stats(["s"]).sizes == {"s": 0}
    assert make().sessions() == []


def rows_come_back_in_their_order_and_unchanged(make: Make) -> None:
    """Any JSON text survives; another process reads the same, oldest first."""
    backend, rows = make(), [said(text) for text in TEXTS]
    backend.session("s").append("events", rows[:2], NOON)
    backend.session("s").append("events", rows[2:], NOON)
    backend.session("s").append("ledger", [{"kind": "path", "text": "a"}], None)
    for reader in (backend, make()):
        assert reader.session("s").rows("events").items == rows
        assert reader.session("s").rows("events").warnings == []
        assert reader.session("s").rows("ledger").items == [{"kind": "path", "text": "a"}]


def a_row_is_read_once(make: Make) -> None:
    """Rows that were read before are the same objects, also after others were added."""
    writer, reader = make(), make()
    writer.session("s").append("events", [said("one")], NOON)
    before = reader.session("s").rows("events").items
    writer.session("s").append("events", [said("two")], NOON)
    after = reader.session("s").rows("events").items
    assert before == [said("one")]
    assert after == [said("one"), said("two")]
    assert before[0] is after[0]


def what_is_no_json_value_is_refused_and_nothing_is_added(make: Make) -> None:
    """All rows of one call are added, or none."""
    backend = make()
    backend.session("s").append("events", [said("one")], NOON)
    with refused(StoreError):
        backend.session("s").append("events", [said("two"), {"type": "x", "value": object()}], NOON)
    assert make().session("s").rows("events").items == [said("one")]


def the_stamp_changes_with_each_event(make: Make) -> None:
    """It tells whether anything was added, in any process."""
    backend = make()
    stamps = {backend.session("s").stamp()}
    for number in range(3):
        backend.session("s").append("events", [said(str(number))], NOON)
        stamps.add(make().session("s").stamp())
    assert len(stamps) == 4


def the_session_written_last_comes_first(make: Make) -> None:
    """Sessions with events are listed, the most recently written first."""
    backend = make()
    for id in ("a", "b", "c", "a"):
        backend.session(id).append("events", [said(id)], NOON)
    assert sorted(make().sessions()) == ["a", "b", "c"]
    times = [(backend.session(id).stamp() or (0, 0))[1] for id in make().sessions()]
    assert times == sorted(times, reverse=True)


def originals_are_written_once(make: Make) -> None:
    """They come back whole, one by one, and under a hash; a second time is refused."""
    backend = make()
    messages = [said(text)["message"] for text in TEXTS if text.isprintable() or text == ""]
    backend.session("s").write_originals(NAME, messages, NOON)
    with refused(StoreError):
        make().session("s").write_originals(NAME, ["others"], NOON)
    reader = make()
    assert [*reader.session("s").originals()] == [NAME]
    assert reader.session("s").read_originals(NAME) == messages
    assert [reader.session("s").read_original(NAME, at) for at in range(len(messages))] == messages
    [record] = reader.session("s").rows("events").items
    assert (record["type"], record["file"]) == ("originals", NAME)
    assert record["created_at"] == NOON
    assert reader.session("s").read_originals(NAME, record["sha256"]) == messages
    assert reader.session("s").verify() == []


def originals_that_are_missing_or_not_those_of_the_hash_are_told(make: Make) -> None:
    """No read returns something else instead."""
    backend = make()
    backend.session("s").write_originals(NAME, ["one"], NOON)
    with refused(StoreDamaged):
        backend.session("s").read_originals(NAME, "0" * 64)
    with refused(StoreDamaged):
        backend.session("s").read_originals(file_name(NOON, 2))
    for position in (-1, 1):
        with refused(StoreDamaged):
            backend.session("s").read_original(NAME, position)


def problems_are_told(make: Make) -> None:
    """Such as originals that an event names and that are not there."""
    lost = {"type": "originals", "created_at": NOON, "file": NAME, "sha256": "0" * 64}
    backend = make()
    backend.session("s").append("events", [said("one")], NOON)
    assert make().session("s").verify() == []
    backend.session("s").append("events", [lost], NOON)
    assert any(NAME in problem for problem in make().session("s").verify())


def what_is_kept_has_a_size(make: Make) -> None:
    """Of each session and of the whole store, in bytes."""
    backend = make()
    backend.session("s").append("events", [said("one")], NOON)
    one = make().session("s").size()
    backend.session("s").write_originals(NAME, ["two" * 100], NOON)
    reader = make()
    assert 0 < one < one + 300 <= reader.session("s").size() <= reader.size()
    sizes = reader.stats(["s", "other"]).sizes
    assert sizes["s"] >= reader.session("s").size()
    assert sizes["other"] == 0


def what_was_forgotten_is_read_again(make: Make) -> None:
    """It is the same, and no longer the same objects in memory."""
    backend = make()
    backend.session("s").append("events", [said("one")], NOON)
    [before] = backend.session("s").rows("events").items
    backend.forget("s")
    [after] = backend.session("s").rows("events").items
    assert after == before
    assert after is not before


def refs_come_oldest_first(make: Make) -> None:
    """A ref that was archived twice comes twice."""
    backend, expected = make(), list[str]()
    for n, texts in enumerate((("one", "two"), ("three", "one")), 1):
        backend.session("s").append("events", [archived(*texts, n=n)], NOON)
        expected += archived(*texts)["refs"]
    assert [ref for ref, _ in make().session("s").entries()] == expected


def refs_are_found_by_their_first_digits(make: Make) -> None:
    """In their session with all entries, and in the store with the session that has them."""
    backend, event = make(), archived("one", "two")
    for id in ("first", "second"):
        backend.session(id).write_originals(
            NAME, [said("one")["message"], said("two")["message"]], NOON
        )
        backend.session(id).append("events", [event], NOON)
    reader = make()
    for ref, entry in event["refs"].items():
        found = dict(reader.session("first").entries(ref[:6]))[ref]
        assert {**entry, "file": NAME}.items() <= found.items()
        log = SessionLog(reader, "first")
        assert log.full_ref(ref[:6]) == ref
        assert digest_of(log.original(ref)) == entry["sha256"]
        owner = reader.owner(ref[:8])
        assert owner == reader.sessions()[0]
    assert {ref for ref, _ in reader.session("first").entries()} == {*event["refs"]}
    one, two = event["refs"]
    assert reader.session("first").following(one) == two
    assert reader.session("first").following(two) is None
    assert reader.owner("f" * 12) is None


def two_originals_under_one_ref_are_told(make: Make) -> None:
    """Neither of them is taken for the other."""
    backend, event = make(), archived("one")
    [(ref, entry)] = event["refs"].items()
    for id, text in (("first", "one"), ("second", "uno")):
        message = said(text)["message"]
        backend.session(id).write_originals(NAME, [message], NOON)
        refs = {ref: {**entry, "sha256": digest_of(message)}}
        backend.session(id).append("events", [{**event, "refs": refs}], NOON)
    with refused(UnknownRef):
        backend.owner(ref)


def a_text_is_found_in_what_a_session_holds(make: Make) -> None:
    """In its events and in its originals, however it is written there."""
    backend = make()
    backend.session("s").append("events", [said("a log that ends"), said('say "no"\n')], NOON)
    backend.session("s").write_originals(NAME, [said("我们 archived this")["message"]], NOON)
    reader = make()
    assert all(
        reader.session("s").holds(text) for text in ("log that", 'say "no"\n', "我们 archived")
    )
    assert not reader.session("s").holds("nobody said this")
    assert not reader.session("other").holds("a log")


def texts_for_agents_come_and_go(make: Make) -> None:
    """Their place is known before, or there is none; taking away what is gone is no error."""
    backend = make()
    place = backend.session("s").write_text("c3f9a1", TEXTS[-1])
    assert place == backend.session("s").place_of_text("c3f9a1")
    removed = ["c3f9a1"] if place else []
    assert make().session("s").remove_texts(["c3f9a1", "aaaa"]) == (removed, [])
    assert make().session("s").remove_texts(["c3f9a1"]) == ([], [])


def documents_are_replaced_whole(make: Make) -> None:
    """The newest is read, in any process."""
    backend = make()
    for values in ({"token_budget": 1}, {"max_turns": 7, "focus": "我们"}):
        backend.write_document("config", values)
        read = make().read_document("config")
        read.pop("version", None)
        assert read == values


def instructions_of_the_user_are_read(make: Make) -> None:
    """From a file of the folder; without a folder, from the document `prompts`."""
    backend = make()
    if backend.folder:
        backend.write_document("config", {})  # makes the folder
        (backend.folder / "prompts").mkdir()
        file = backend.folder / "prompts/summary.md"
        file.write_text("Answer in Portuguese.", encoding="utf-8")
    else:
        backend.write_document("prompts", {"summary": "Answer in Portuguese."})
    assert make().prompt("summary") == "Answer in Portuguese."
    assert make().prompt("other") is None


CONTRACT: Sequence[Check] = (
    nothing_is_there_before_something_is_written,
    rows_come_back_in_their_order_and_unchanged,
    a_row_is_read_once,
    what_is_no_json_value_is_refused_and_nothing_is_added,
    the_stamp_changes_with_each_event,
    the_session_written_last_comes_first,
    originals_are_written_once,
    originals_that_are_missing_or_not_those_of_the_hash_are_told,
    problems_are_told,
    what_is_kept_has_a_size,
    what_was_forgotten_is_read_again,
    refs_come_oldest_first,
    refs_are_found_by_their_first_digits,
    two_originals_under_one_ref_are_told,
    a_text_is_found_in_what_a_session_holds,
    texts_for_agents_come_and_go,
    summaries_come_back_the_newest_first,
    tenants_see_nothing_of_each_other,
    documents_are_replaced_whole,
    instructions_of_the_user_are_read,
    a_lock_is_held_by_one,
    a_deleted_session_is_gone,
    many_writers_lose_nothing_and_double_nothing,
    a_search_finds_what_was_archived,
    a_search_has_pages,
    digits_that_could_be_refs_are_known,
)
"""Every check; a backend must pass all."""

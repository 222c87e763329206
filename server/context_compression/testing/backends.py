"""What each engine of a store must do: `CONTRACT`, a check for each promise of `Backend`.

    @pytest.mark.parametrize("check", CONTRACT, ids=name_of)
    def test_my_backend(check: Check, make: Callable[[], Backend]) -> None:
        check(make)

A check takes a function that opens the same empty store again and again, as several processes do.
It raises `AssertionError` if a promise is broken.
"""

from collections.abc import Callable, Generator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, TypeAlias

from context_compression.conversation.refs import digest_of, ref_of
from context_compression.errors import (
    ContextCompressionError,
    StoreDamaged,
    StoreError,
    UnknownRef,
)
from context_compression.store import Backend, SessionLog, Store
from context_compression.store.originals import file_name

Make: TypeAlias = Callable[[], Backend]
Check: TypeAlias = Callable[[Make], None]

NOON = "2026-11-21T12:00:00Z"
NAME = file_name(NOON, 1)
TEXTS = (
    "plain",
    "",
    'say "a\\b"\tand\u2028',
    "\U0001f525 我们",
    "half \ud83d of one",
    "a\r\nb\x00",
)
WRITERS, ROUNDS = 8, 10


def name_of(check: Check) -> str:
    """The sentence that a check proves, for the ids of tests."""
    return check.__name__


def said(text: str) -> dict[str, Any]:
    """An event that records a message."""
    return {"type": "message", "created_at": NOON, "message": {"role": "user", "content": text}}


def archived(*texts: str, n: int = 1) -> dict[str, Any]:
    """The event of a compression that archived these messages as the originals `n`."""
    messages = [said(text)["message"] for text in texts]
    refs = {
        ref_of(message): {
            "what": "message", "message": at, "block": None, "sha256": digest_of(message)
        }
        for at, message in enumerate(messages)
    }  # fmt: skip
    about = {"type": "compression", "created_at": NOON, "n": n, "originals": file_name(NOON, n)}
    return {**about, "refs": refs}


@contextmanager
def refused(kind: type[ContextCompressionError]) -> Generator[None]:
    """Raises `AssertionError` if no error of this kind is raised inside."""
    try:
        yield
    except kind:
        return
    raise AssertionError(f"no {kind.__name__} was raised")


def nothing_is_there_before_something_is_written(make: Make) -> None:
    """Reading creates nothing, and what is absent reads as empty."""
    backend = make()
    assert backend.sessions() == []
    assert backend.stamp("s") is None
    assert backend.rows("s", "events").items == backend.rows("s", "ledger").items == []
    assert [*backend.originals("s")] == [*backend.entries("s")] == []
    assert backend.read_document("config") == {}
    assert backend.prompt("summary") is None
    assert backend.sizes(["s"]) == {"s": 0}
    assert make().sessions() == []


def rows_come_back_in_their_order_and_unchanged(make: Make) -> None:
    """Any JSON text survives; another process reads the same, oldest first."""
    backend, rows = make(), [said(text) for text in TEXTS]
    backend.append("s", "events", rows[:2], NOON)
    backend.append("s", "events", rows[2:], NOON)
    backend.append("s", "ledger", [{"kind": "path", "text": "a"}], None)
    for reader in (backend, make()):
        assert reader.rows("s", "events").items == rows
        assert reader.rows("s", "events").warnings == []
        assert reader.rows("s", "ledger").items == [{"kind": "path", "text": "a"}]


def a_row_is_read_once(make: Make) -> None:
    """Rows that were read before are the same objects, also after others were added."""
    writer, reader = make(), make()
    writer.append("s", "events", [said("one")], NOON)
    before = reader.rows("s", "events").items
    writer.append("s", "events", [said("two")], NOON)
    after = reader.rows("s", "events").items
    assert before == [said("one")]
    assert after == [said("one"), said("two")]
    assert before[0] is after[0]


def what_is_no_json_value_is_refused_and_nothing_is_added(make: Make) -> None:
    """All rows of one call are added, or none."""
    backend = make()
    backend.append("s", "events", [said("one")], NOON)
    with refused(StoreError):
        backend.append("s", "events", [said("two"), {"type": "x", "value": object()}], NOON)
    assert make().rows("s", "events").items == [said("one")]


def the_stamp_changes_with_each_event(make: Make) -> None:
    """It tells whether anything was added, in any process."""
    backend = make()
    stamps = {backend.stamp("s")}
    for number in range(3):
        backend.append("s", "events", [said(str(number))], NOON)
        stamps.add(make().stamp("s"))
    assert len(stamps) == 4


def the_session_written_last_comes_first(make: Make) -> None:
    """Sessions with events are listed, the most recently written first."""
    backend = make()
    for id in ("a", "b", "c", "a"):
        backend.append(id, "events", [said(id)], NOON)
    assert sorted(make().sessions()) == ["a", "b", "c"]
    times = [(backend.stamp(id) or (0, 0))[1] for id in make().sessions()]
    assert times == sorted(times, reverse=True)


def originals_are_written_once(make: Make) -> None:
    """They come back whole, one by one, and under a hash; a second time is refused."""
    backend = make()
    messages = [said(text)["message"] for text in TEXTS if text.isprintable() or text == ""]
    backend.write_originals("s", NAME, messages, NOON)
    with refused(StoreError):
        make().write_originals("s", NAME, ["others"], NOON)
    reader = make()
    assert [*reader.originals("s")] == [NAME]
    assert reader.read_originals("s", NAME) == messages
    assert [reader.read_original("s", NAME, at) for at in range(len(messages))] == messages
    [record] = reader.rows("s", "events").items
    assert (record["type"], record["file"]) == ("originals", NAME)
    assert reader.read_originals("s", NAME, record["sha256"]) == messages
    assert reader.problems("s") == []


def originals_that_are_missing_or_not_those_of_the_hash_are_told(make: Make) -> None:
    """No read returns something else instead."""
    backend = make()
    backend.write_originals("s", NAME, ["one"], NOON)
    with refused(StoreDamaged):
        backend.read_originals("s", NAME, "0" * 64)
    with refused(StoreDamaged):
        backend.read_originals("s", file_name(NOON, 2))
    for position in (-1, 1):
        with refused(StoreDamaged):
            backend.read_original("s", NAME, position)


def refs_are_found_by_their_first_digits(make: Make) -> None:
    """In their session with all entries, and in the store with the session that has them."""
    backend, event = make(), archived("one", "two")
    for id in ("first", "second"):
        backend.write_originals(id, NAME, [said("one")["message"], said("two")["message"]], NOON)
        backend.append(id, "events", [event], NOON)
    reader = make()
    for ref, entry in event["refs"].items():
        found = dict(reader.entries("first", ref[:6]))[ref]
        assert {**entry, "file": NAME}.items() <= found.items()
        log = SessionLog(reader, "first")
        assert log.full_ref(ref[:6]) == ref
        assert digest_of(log.original(ref)) == entry["sha256"]
        owner = reader.owner(ref[:8], lambda id: SessionLog(reader, id))
        assert owner is not None
        assert owner.id == reader.sessions()[0]
    assert {ref for ref, _ in reader.entries("first")} == {*event["refs"]}
    one, two = event["refs"]
    assert reader.following("first", one) == two
    assert reader.following("first", two) is None
    assert reader.owner("f" * 12, lambda id: SessionLog(reader, id)) is None


def two_originals_under_one_ref_are_told(make: Make) -> None:
    """Neither of them is taken for the other."""
    backend, event = make(), archived("one")
    [(ref, entry)] = event["refs"].items()
    for id, text in (("first", "one"), ("second", "uno")):
        message = said(text)["message"]
        backend.write_originals(id, NAME, [message], NOON)
        refs = {ref: {**entry, "sha256": digest_of(message)}}
        backend.append(id, "events", [{**event, "refs": refs}], NOON)
    with refused(UnknownRef):
        backend.owner(ref, lambda id: SessionLog(backend, id))


def a_text_is_found_in_what_a_session_holds(make: Make) -> None:
    """In its events and in its originals, however it is written there."""
    backend = make()
    backend.append("s", "events", [said("a log that ends"), said('say "no"\n')], NOON)
    backend.write_originals("s", NAME, [said("我们 archived this")["message"]], NOON)
    reader = make()
    assert all(reader.holds("s", text) for text in ("log that", 'say "no"\n', "我们 archived"))
    assert not reader.holds("s", "nobody said this")
    assert not reader.holds("other", "a log")


def texts_for_agents_come_and_go(make: Make) -> None:
    """Their place is known before, or there is none; taking away what is gone is no error."""
    backend = make()
    place = backend.write_text("s", "c3f9a1", TEXTS[-1])
    assert place == backend.place_of_text("s", "c3f9a1")
    removed = ["c3f9a1"] if place else []
    assert make().remove_texts("s", ["c3f9a1", "aaaa"]) == (removed, [])
    assert make().remove_texts("s", ["c3f9a1"]) == ([], [])


def summaries_come_back_the_newest_first(make: Make) -> None:
    """Those of one session, or all; deleting those of one session keeps the others."""
    backend = make()
    added = [{"session": id, "content": f"{id} 我们"} for id in ("s", "t", "s")]
    for summary in added:
        backend.add_summary(summary)
    assert [*make().summaries()] == added[::-1]
    assert [*make().summaries("s")] == [added[2], added[0]]
    backend.remove_summaries("s")
    assert [*make().summaries()] == [added[1]]
    assert [*make().summaries("s")] == []


def tenants_see_nothing_of_each_other(make: Make) -> None:
    """The same names stand for different things in each; a lock of one holds up no other."""
    ref = ref_of(said("a")["message"])
    for tenant in ("a", "b"):
        backend = make().of_tenant(tenant)
        backend.write_originals("s", NAME, [said(tenant)["message"]], NOON)
        backend.append("s", "events", [archived(tenant)], NOON)
        backend.append(tenant, "events", [said(f"only {tenant} has this word")], NOON)
        backend.add_summary({"session": "s", "content": tenant})
        backend.write_document("config", {"focus": tenant})
    a, b = (make().of_tenant(tenant) for tenant in ("a", "b"))
    assert sorted(b.sessions()) == ["b", "s"]
    assert b.stamp("a") is None
    assert b.rows("a", "events").items == []
    assert b.read_originals("s", NAME) == [said("b")["message"]]
    assert [*b.entries("s", ref)] == []
    assert b.owner(ref, lambda id: SessionLog(b, id)) is None
    assert a.owner(ref, lambda id: SessionLog(a, id)) is not None
    assert [each["content"] for each in b.summaries()] == ["b"]
    assert b.read_document("config")["focus"] == "b"
    assert [hit.session for hit in Store(b).search("a").hits] == []
    b.remove("s", 0, lambda: None)
    assert a.read_originals("s", NAME) == [said("a")["message"]]
    with a.lock("one", "somebody works"), b.lock("one", "somebody works", 0):
        pass
    assert make().sessions() == []
    for name in ("", "..", "a/b", "a\x00"):
        with refused(StoreError):
            make().of_tenant(name)


def documents_are_replaced_whole(make: Make) -> None:
    """The newest is read, in any process."""
    backend = make()
    for values in ({"token_budget": 1}, {"max_turns": 7, "focus": "我们"}):
        backend.write_document("config", values)
        read = make().read_document("config")
        read.pop("version", None)
        assert read == values


def a_lock_is_held_by_one(make: Make) -> None:
    """Whoever waits too long is told so; the lock is free afterwards."""
    backend = make()
    with backend.lock("one", "somebody works"):
        with backend.lock("another", "somebody works"):
            pass
        with refused(StoreError), make().lock("one", "somebody works", 0):
            pass
    with make().lock("one", "somebody works", 0):
        pass


def a_deleted_session_is_gone(make: Make) -> None:
    """Everything of it, and nothing of the others; what refuses keeps it whole."""
    backend = make()
    for id in ("s", "t"):
        backend.write_originals(id, NAME, [said(id)["message"]], NOON)
        backend.append(id, "events", [archived(id)], NOON)
        backend.write_text(id, "c3f9a1", "text")

    def refuse() -> None:
        raise StoreError("not now")

    with refused(StoreError):
        backend.remove("s", 0, refuse)
    assert len(make().rows("s", "events").items) == 2
    backend.remove("s", 0, lambda: None)
    reader = make()
    assert reader.sessions() == ["t"]
    assert reader.rows("s", "events").items == [*reader.originals("s")] == []
    assert reader.sizes(["s"]) == {"s": 0}
    assert reader.owner(ref_of(said("s")["message"]), lambda id: SessionLog(reader, id)) is None
    assert len(reader.rows("t", "events").items) == 2
    backend.append("s", "events", [said("anew")], NOON)
    assert make().rows("s", "events").items == [said("anew")]


def many_writers_lose_nothing_and_double_nothing(make: Make) -> None:
    """Each row of eight writers is there once, and those of one writer in their order."""

    def write(writer: int) -> None:
        backend = make()
        for number in range(ROUNDS):
            backend.append("s", "events", [said(f"{writer} {number}")], NOON)

    with ThreadPoolExecutor(WRITERS) as pool:
        list(pool.map(write, range(WRITERS)))
    words = [row["message"]["content"].split() for row in make().rows("s", "events").items]
    assert sorted(words) == sorted([str(w), str(n)] for w in range(WRITERS) for n in range(ROUNDS))
    for writer in range(WRITERS):
        numbers = [int(number) for by, number in words if by == str(writer)]
        assert numbers == sorted(numbers)


def a_search_finds_what_was_archived(make: Make) -> None:
    """By words, by a pattern, and only in the session that is asked for."""
    backend = make()
    for id, text in (("s", "the flux capacitor is broken"), ("t", "the kettle is fine")):
        message = said(text)["message"]
        backend.append(id, "events", [said(text)], NOON)
        backend.write_originals(id, NAME, [message], NOON)
        backend.append(id, "events", [archived(text)], NOON)
    store = Store(make())
    assert [hit.session for hit in store.search("capacitor").hits] == ["s"]
    assert [hit.session for hit in store.search(pattern=r"kett\w+ is").hits] == ["t"]
    assert store.search("capacitor", session="t").total == 0


def digits_that_could_be_refs_are_known(make: Make) -> None:
    """So that no session is pruned whose refs another one names."""
    backend = make()
    backend.append("s", "events", [said("see ref 0123456789ab there")], NOON)
    assert "0123456789ab" in make().quoted("s")


CONTRACT: Sequence[Check] = (
    nothing_is_there_before_something_is_written,
    rows_come_back_in_their_order_and_unchanged,
    a_row_is_read_once,
    what_is_no_json_value_is_refused_and_nothing_is_added,
    the_stamp_changes_with_each_event,
    the_session_written_last_comes_first,
    originals_are_written_once,
    originals_that_are_missing_or_not_those_of_the_hash_are_told,
    refs_are_found_by_their_first_digits,
    two_originals_under_one_ref_are_told,
    a_text_is_found_in_what_a_session_holds,
    texts_for_agents_come_and_go,
    summaries_come_back_the_newest_first,
    tenants_see_nothing_of_each_other,
    documents_are_replaced_whole,
    a_lock_is_held_by_one,
    a_deleted_session_is_gone,
    many_writers_lose_nothing_and_double_nothing,
    a_search_finds_what_was_archived,
    digits_that_could_be_refs_are_known,
)
"""Every check; a backend must pass all."""

"""The part of `backends.CONTRACT` on what several sessions, processes or teams share."""

from concurrent.futures import ThreadPoolExecutor, wait
from secrets import token_hex

from backend_samples import NAME, NOON, Make, archived, lock_or_refusal, refused, said

from context_compression.conversation import ref_of
from context_compression.errors import StoreBusy, StoreError
from context_compression.store import Store

WRITERS, ROUNDS = 8, 10
PATIENCE = 20.0
"""Seconds after which whoever was to wait for no lock at all is taken to wait for it."""


def summaries_come_back_the_newest_first(make: Make) -> None:
    """Those of one session, or all; deleting those of one session keeps the others."""
    backend = make()
    added = [{"session": id, "content": f"{n} 我们"} for n, id in enumerate(("s", "t", "s"))]
    for summary in added:
        backend.add_summary(summary)
    assert [*make().summaries()] == added[::-1]
    assert [*make().summaries("s")] == [added[2], added[0]]
    backend.remove("s", 0, lambda: None)
    assert [*make().summaries()] == [added[1]]
    assert [*make().summaries("s")] == []


def tenants_see_nothing_of_each_other(make: Make) -> None:
    """The same names stand for different things in each; a lock of one holds up no other.

    Names that differ only by upper and lower case are two names.
    """
    ref, end = ref_of(said("a")["message"]), token_hex(8)
    names = {"a": f"A-{end}", "b": f"a-{end}"}
    for tenant, name in names.items():
        backend = make().of_tenant(name)
        backend.session("s").write_originals(NAME, [said(tenant)["message"]], NOON)
        backend.session("s").append("events", [archived(tenant)], NOON)
        backend.session(tenant).append("events", [said(f"only {tenant} has this word")], NOON)
        backend.add_summary({"session": "s", "content": tenant})
        backend.write_document("config", {"focus": tenant})
    a, b = (make().of_tenant(name) for name in names.values())
    assert sorted(b.sessions()) == ["b", "s"]
    assert b.session("a").stamp() is None
    assert b.session("a").rows("events").items == []
    assert b.session("s").read_originals(NAME) == [said("b")["message"]]
    assert [*b.session("s").entries(ref)] == []
    assert b.owner(ref) is None
    assert a.owner(ref) is not None
    assert [each["content"] for each in b.summaries()] == ["b"]
    assert b.read_document("config")["focus"] == "b"
    assert [hit.session for hit in Store(b).search("a").hits] == []
    b.remove("s", 0, lambda: None)
    assert a.session("s").read_originals(NAME) == [said("a")["message"]]
    with a.lock("one", "somebody works"), b.lock("one", "somebody works", 0):
        pass
    assert make().sessions() == []
    for name in ("", "..", "a/b", "a\x00"):
        with refused(StoreError):
            make().of_tenant(name)


def a_lock_is_held_by_one(make: Make) -> None:
    """Whoever waits too long is told so by `StoreBusy`; the lock is free afterwards."""
    backend = make()
    with ThreadPoolExecutor(1) as pool:
        with backend.lock("one", "somebody works"):
            with backend.lock("another", "somebody works"):
                pass
            waiting = pool.submit(lock_or_refusal, make, "one")
            wait([waiting], PATIENCE)  # who does not give up by then gets it
        assert waiting.result() is StoreBusy
    with make().lock("one", "somebody works", 0):
        pass


def a_deleted_session_is_gone(make: Make) -> None:
    """Everything of it, and nothing of the others; what refuses keeps it whole."""
    backend = make()
    for id in ("s", "t"):
        backend.session(id).write_originals(NAME, [said(id)["message"]], NOON)
        backend.session(id).append("events", [archived(id)], NOON)
        backend.session(id).write_text("c3f9a1", "text")

    def refuse() -> None:
        raise StoreError("not now")

    with refused(StoreError):
        backend.remove("s", 0, refuse)
    assert len(make().session("s").rows("events").items) == 2
    backend.remove("s", 0, lambda: None)
    reader = make()
    assert reader.sessions() == ["t"]
    assert reader.session("s").rows("events").items == [*reader.session("s").originals()] == []
    assert reader.stats(["s"]).sizes == {"s": 0}
    assert reader.owner(ref_of(said("s")["message"])) is None
    assert len(reader.session("t").rows("events").items) == 2
    backend.session("s").append("events", [said("anew")], NOON)
    assert make().session("s").rows("events").items == [said("anew")]


def many_writers_lose_nothing_and_double_nothing(make: Make) -> None:
    """Each row of eight writers is there once, and those of one writer in their order."""

    def write(writer: int) -> None:
        backend = make()
        for number in range(ROUNDS):
            backend.session("s").append("events", [said(f"{writer} {number}")], NOON)

    with ThreadPoolExecutor(WRITERS) as pool:
        list(pool.map(write, range(WRITERS)))
    words = [row["message"]["content"].split() for row in make().session("s").rows("events").items]
    assert sorted(words) == sorted([str(w), str(n)] for w in range(WRITERS) for n in range(ROUNDS))
    for writer in range(WRITERS):
        numbers = [int(number) for by, number in words if by == str(writer)]
        assert numbers == sorted(numbers)


def a_search_finds_what_was_archived(make: Make) -> None:
    """By words, by a pattern, and only in the session that is asked for."""
    backend = make()
    for id, text in (("s", "the flux capacitor is broken"), ("t", "the kettle is fine")):
        message = said(text)["message"]
        backend.session(id).append("events", [said(text)], NOON)
        backend.session(id).write_originals(NAME, [message], NOON)
        backend.session(id).append("events", [archived(text)], NOON)
    store = Store(make())
    assert [hit.session for hit in store.search("capacitor", session="s").hits] == ["s"]
    assert [hit.session for hit in store.search(pattern=r"kett\w+ is", session="t").hits] == ["t"]
    assert store.search("capacitor", session="t").total == 0


def a_search_has_pages(make: Make) -> None:
    """No more hits than asked for; a further page goes on where the one before it ended."""
    backend = make()
    texts = [f"the kettle number {n} is fine" for n in range(3)]
    backend.session("s").write_originals(NAME, [said(text)["message"] for text in texts], NOON)
    backend.session("s").append("events", [archived(*texts)], NOON)
    store = Store(make())

    def refs(limit: int, skip: int = 0) -> list[str]:
        found = store.search("kettle", session="s", limit=limit, skip=skip)
        return [hit.ref for hit in found.hits]

    whole, pages = refs(4), [refs(1, n) for n in range(4)]
    assert sorted(whole) == sorted(archived(*texts)["refs"])
    assert pages == [*([ref] for ref in whole), []]


def digits_that_could_be_refs_are_known(make: Make) -> None:
    """So that no session is pruned whose refs another one names."""
    backend = make()
    backend.session("s").append("events", [said("see ref 0123456789ab there")], NOON)
    assert "0123456789ab" in make().session("s").quoted()

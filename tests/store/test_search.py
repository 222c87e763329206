"""Searching the archive: what is found by what, in which order, and what stands beside it."""

import json
import re
import secrets
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from postgres import Server
from written import squeeze

from context_compression import Session, Store
from context_compression.errors import StoreError
from context_compression.store import Hit, Neighbour, SearchResult

PADDING = " So it is." * 99
CODE = """\
def parse_header(text):
    raise HeaderError("ERR-1234: no Content-Length")
class HTTPServer: handleRequest = None
"""


@pytest.fixture(params=["files", "postgres"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Store:
    if request.param == "files":
        return Store(tmp_path / ".compression")
    from context_compression.store import PostgresBackend

    server: Server = request.getfixturevalue("postgres_server")
    return Store(PostgresBackend(server.url, f"t-{secrets.token_hex(8)}"))


@pytest.fixture
def in_folder(tmp_path: Path) -> Store:
    """A store whose files can be changed by hand."""
    return Store(tmp_path / ".compression")


def offloaded(store: Store, *texts: str, session: str = "texts") -> list[str]:
    """The refs of texts in the archive."""
    return [Session(store, session).offload(text) for text in texts]


def archived(store: Store, id: str, *messages: dict[str, Any]) -> Session:
    """A session in which these messages are archived, long enough to be worth it."""
    session = Session(store, id)
    session.record(*messages, {"role": "user", "content": "Go on."})
    squeeze(session)
    return session


def user(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text + PADDING}


def assistant(text: str) -> dict[str, Any]:
    return {"role": "assistant", "content": text + PADDING}


def step(
    number: int, tool: str, arguments: dict[str, Any], output: str, *, failed: bool = False
) -> list[dict[str, Any]]:
    call = {"type": "tool_use", "id": f"t{number}", "name": tool, "input": arguments}
    result = {"type": "tool_result", "tool_use_id": f"t{number}", "content": output + PADDING}
    return [
        {"role": "assistant", "content": [call]},
        {"role": "user", "content": [{**result, "is_error": True} if failed else result]},
    ]


def refs(found: SearchResult) -> list[str]:
    return [hit.ref for hit in found.hits]


def says(hit: Hit) -> str:
    return "\n".join(line for _, line in hit.lines)


@pytest.mark.slow
@pytest.mark.parametrize(
    "query",
    [
        "parse_header", "PARSE_HEADER", "parse", "header", "parseHeader", "ERR-1234", "err-1234",
        "1234", "HTTPServer", "httpserver", "server", "handleRequest", "handle", "request",
        "Content-Length", '"no content-length"', "HeaderErr", "eaderErro", "parse_header()",
        "the parse_header of it", "src/app/main.py", "main.py", "app/main",
        "/home/me/src/app/main.py:12", "v1.20.3", "1.20.3", "--no-verify", "tête", "tete",
        "決定", "我们决定改用", "因为", "🔥", "c3f9a1b2",
    ],
)  # fmt: skip
def test_a_name_is_found_whole_and_by_its_parts_in_any_case(store: Store, query: str) -> None:
    wanted = f"{CODE}/home/me/src/app/main.py:12\nv1.20.3 --no-verify tête 決定 c3f9a1b2 🔥\n"
    ref, _ = offloaded(store, f"{wanted}我们决定改用这个库，因为它更快", "quite another thing")

    found = store.search(query)

    assert refs(found) == [ref]


CAMEL = (
    "parseHeader", "the parse header", "src/parseHeader.ts", "src/foo/parseHeader.ts",
    "parseHeader purple elephants",
)  # fmt: skip
LONG = " ".join(f"word{n}" for n in range(3_000))
RANKED: dict[str, tuple[str, tuple[str, ...], list[int]]] = {
    "a name as it is written goes before more words": (
        "max_retries worker queue",
        (
            "the worker of the queue calls maxRetries and max retries, the worker of the queue",
            "and then max_retries was five" + PADDING,
            "the worker of the queue",
        ),
        [1, 0, 2],
    ),
    "so it does in a question": (
        "What was max_retries for the workers of the queue?",
        (
            "long before that, max_retries was five" + PADDING,
            "the workers of the queue retry, at the max, retries of the worker",
        ),
        [0, 1],
    ),
    "a name by itself goes before one in a longer name": (
        "src/app", ("src/app/x src/app/y", "only src/app" + PADDING), [1, 0],
    ),
    "a word as it is written goes before its other forms": (
        "migrations", ("the migrations of the okapi", "the migration of the okapi"), [0, 1],
    ),
    "a name is not found in another form": (
        "parse_headers", ("parse_headers is here", "parsed_header is there"), [0],
    ),
    "nor is a phrase": (
        '"parse headers"', ("parse_headers is here", "parsed_header is there"), [0],
    ),
    "function words alone are searched for": (
        "What is it to be, or not to be?", ("to be or not to be", "quite another thing"), [0],
    ),
    "a phrase stands together": (
        '"connection refused"', ("refused connection", "connection refused" + PADDING), [1],
    ),
    "a part in camel case is not the path": ("src/foo/parseHeader.ts", CAMEL, [3]),
    "nor the phrase": ('"parseHeader purple elephants"', CAMEL, [4]),
    "nor another path": ("src/nowhere/parseHeader.ts", CAMEL, []),
    "a long run of signs is looked through once": ('"--" foo', (f"a{'-' * 300_000} foo",), [0]),
    "a name at the root is a path": (
        "path:/health", ("GET /health answers 200", "the health of it"), [0],
    ),
    "a part of a word is found in what is binary": (
        "dden_NEED", ("some\0data, hidden_needle",), [0],
    ),
    "a dump of digits is indexed like any text": (
        "firmware", ("firmware " + "0123456789abcdef" * 20_000,), [0],
    ),
    "a long text has no advantage for a question": (
        "When was the okapi fed?",
        (
            "The okapi was fed in the morning, with leaves.",
            f"{LONG} okapi {LONG} fed {LONG}",
            *(f"{n} something else entirely, and more of it" for n in range(30)),
        ),
        [0, 1],
    ),
}  # fmt: skip
"""A query, texts, and the numbers of those that it finds, the best first."""


@pytest.mark.parametrize(("query", "texts", "found"), RANKED.values(), ids=RANKED)
def test_what_fits_is_found_and_what_fits_best_goes_first(
    store: Store, query: str, texts: tuple[str, ...], found: list[int]
) -> None:
    written = offloaded(store, *texts)

    assert refs(store.search(query)) == [written[number] for number in found]


def test_chinese_questions_are_searched_by_their_letters(store: Store) -> None:
    wanted, _ = offloaded(store, "我们决定改用这个库，因为它更快", "今天天气很好")

    assert refs(store.search("为什么决定改用这个库？"))[0] == wanted


def test_a_pattern_beside_a_query_leaves_out_what_does_not_hold_it(store: Store) -> None:
    _, both, _ = offloaded(store, "okapi 1", "okapi 23", "refused connection")

    assert refs(store.search("okapi", pattern=r"\d\d")) == [both]
    assert store.search('"connection refused"', pattern="refused").hits == ()
    assert store.search('"okapi zebra" path:src').hits == ()


def test_every_name_of_the_query_is_among_the_first_hits(store: Store) -> None:
    offloaded(store, *(f"{n} first_name second_name" for n in range(9)))
    [rare] = offloaded(store, "third_name alone" + PADDING)

    found = store.search("first_name second_name third_name")

    assert rare in refs(found)


def test_what_holds_most_of_the_words_goes_first(store: Store) -> None:
    one, both = offloaded(store, "okapi okapi okapi", "a zebra and an okapi" + PADDING)

    found = store.search("okapi zebra")

    assert refs(found) == [both, one]
    assert [hit.held for hit in found.hits] == [2, 1]
    assert (found.total, found.words) == (2, ("okapi", "zebra"))


def test_a_question_finds_what_its_rare_words_do(store: Store) -> None:
    chat = "what is the use of it when it is not what it was, and why is that in the way"
    offloaded(store, *(f"{n} {chat}" for n in range(200)))
    offloaded(store, *(f"{n} {chat}, okapi" for n in range(9)))
    [wanted] = offloaded(store, "okapi zebra, and so it is")

    found = store.search("what is the zebra of the okapi when it is in use")

    assert refs(found)[0] == wanted
    assert all("okapi" in says(hit) for hit in found.hits)
    assert {"zebra", "okapi"} < {*found.words}
    assert len(found.words) == 3


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("Which migrations were failing?", "the migration failed at last"),
        ("migrations failing", "the migration failed at last"),
        ("Who was painting horses?", "she paints a horse"),
        ("Does parsing headers work?", "class HeaderParser: parseHeader"),
    ],
)
def test_words_are_found_in_their_other_forms(store: Store, query: str, text: str) -> None:
    wanted, _ = offloaded(store, text, "something else entirely")

    found = store.search(query)

    assert refs(found) == [wanted]
    assert found.hits[0].held == 2
    assert says(found.hits[0]) == text


@pytest.mark.parametrize(
    "question",
    [
        "When did the okapi and the zebra get there, and who was it that did it?",
        "when did the okapi and the zebra get there",
        "Wann war das okapi bei dem zebra, und wer hat das so gesehen?",
        "Où est-ce que le zebra et le okapi ont été, et pourquoi ?",
        "¿Dónde está el okapi y cuándo fue el zebra con los que son?",
    ],
)
def test_function_words_of_a_question_do_not_decide(store: Store, question: str) -> None:
    offloaded(store, *(f"{n} has nothing of that kind" for n in range(30)))
    wanted, alike = offloaded(
        store, "an okapi, a zebra", f"{question.replace('okapi', '').replace('zebra', '')} Okapi!"
    )

    found = store.search(question)

    assert refs(found)[:2] == [wanted, alike]
    assert {word.lower() for word in found.words} <= {
        "okapi", "zebra", "get", "gesehen", "est-ce", "ont",
    }  # fmt: skip


def test_what_is_said_beside_a_hit_counts_for_it(store: Store) -> None:
    filler = [message for n in range(20) for message in (user(f"{n}?"), assistant(f"{n}!"))]
    archived(
        store, "talk",
        *filler[:20], user("Tell me of the leaves."), assistant("Well."), *filler[20:],
        user("What do the okapi and the zebra eat?"), assistant("They eat leaves."), user("Good."),
    )  # fmt: skip

    found = store.search("Which leaves do an okapi and a zebra like?")

    assert says(found.hits[0]).startswith("What do the okapi")
    assert says(found.hits[1]).startswith("They eat leaves.")


@pytest.mark.slow
def test_words_that_most_texts_hold_are_looked_for_where_nothing_holds_the_others(
    store: Store,
) -> None:
    offloaded(store, *(f"{n} is it in the way" for n in range(200)), "okapi", "zebra", "giraffe")
    archived(store, "work", *step(1, "Bash", {"command": "x"}, "it is in the way"))

    assert store.search("is it in the way", limit=9).hits[8:]
    assert len(store.search("tool:bash is it in the way of okapi zebra giraffe").hits) == 1


def test_the_best_lines_are_shown_with_their_numbers(store: Store) -> None:
    lines = [f"line {n} of the queue" for n in range(1, 200)]
    lines[120] = f"{'x' * 500} okapi at last {'y' * 500}"
    offloaded(store, "\n".join(lines))

    [hit] = store.search("okapi queue").hits

    shown = dict(hit.lines)
    assert hit.numbered
    assert "okapi at last" in shown[121]
    assert len(shown[121]) < 210
    assert len(shown) == 3


def test_of_a_failure_the_lines_that_tell_of_it_are_shown(store: Store) -> None:
    output = "\n".join([*(f"step {n}" for n in range(99)), "make: *** zebra not found", "bye"])
    archived(store, "work", *step(1, "Bash", {"command": "make"}, output, failed=True))

    assert says(store.search("tool:bash error:").hits[0]) == "make: *** zebra not found"


def test_the_words_of_a_phrase_that_no_text_holds_are_looked_for_apart(store: Store) -> None:
    (apart,) = offloaded(store, "refused connection in src/app.py")

    found = store.search('"Which connection was refused in src/app.py?"')

    assert refs(found) == [apart]
    assert found.words == ("src/app.py", "Which", "connection", "was", "refused", "in")
    assert found.note and "apart" in found.note
    assert "apart" in (store.search('"refused white elephants"').note or "")


def test_what_limits_a_search_is_a_word_in_quotation_marks(store: Store) -> None:
    offloaded(store, "nothing of that kind")

    found = store.search('"tool:bash path:x"')

    assert found.hits == ()
    assert found.words == ("tool:bash", "path:x")


def test_hits_come_with_what_was_said_before_and_after(store: Store) -> None:
    session = archived(
        store,
        "talk",
        user("What is an okapi?"),
        assistant("A giraffe of the forest."),
        user("And a zebra?"),
    )

    [hit] = store.search("giraffe").hits

    before, after = hit.before, hit.after
    assert isinstance(before, Neighbour)
    assert isinstance(after, Neighbour)
    assert before.glimpse.startswith("What is an okapi?")
    assert after.glimpse.startswith("And a zebra?")
    assert (before.role, after.role) == ("user", "user")
    assert len(before.glimpse) <= 201
    assert before.ref and "okapi" in session.restore(before.ref)


def test_what_tools_and_hosts_say_beside_a_hit_is_not_called_the_users(store: Store) -> None:
    messages = [
        *step(1, "bash", {"command": "make"}, "built"),
        assistant("A giraffe of the forest."),
        user("<system-reminder>Be brief.</system-reminder>"),
    ]
    archived(store, "talk", user("What is an okapi?"), *messages)

    [hit] = store.search("giraffe").hits

    assert hit.before
    assert hit.after
    assert (hit.before.role, hit.after.role) == ("tool", "host")


def test_what_is_not_archived_stands_beside_a_hit_without_a_ref(store: Store) -> None:
    archived(store, "talk", assistant("A giraffe."), user("Well."), assistant("An okapi."))

    [hit] = store.search("okapi").hits

    assert hit.after == Neighbour(None, "user", "Go on.")


def test_neighbours_are_those_of_the_conversation_that_went_on(store: Store) -> None:
    kept = [user("What is an okapi?"), assistant("I do not know." + PADDING)]
    session = Session(store, "talk")
    session.record(*kept, user("Forget it."), assistant("All right."))
    session.follow([*kept, user("Then look it up."), assistant("A giraffe."), user("Go on.")])
    squeeze(session)

    [hit] = store.search('"look it up"').hits

    assert hit.before and hit.before.glimpse.startswith("I do not know.")
    assert hit.after and hit.after.glimpse.startswith("A giraffe.")


def test_a_result_is_found_by_the_path_its_call_named(store: Store) -> None:
    archived(
        store,
        "work",
        user("Look."),
        *step(1, "Read", {"file_path": "src/app/config.py"}, "timeout = 5"),
        *step(2, "Read", {"file_path": "src/app/other.py"}, "timeout = 6"),
    )

    found = store.search("path:app/config.py timeout")

    assert [says(hit).split(" So")[0] for hit in found.hits if hit.numbered] == ["timeout = 5"]


def test_limits_say_which_tool_which_path_and_whether_it_failed(store: Store) -> None:
    archived(
        store,
        "work",
        user("Build it in src/app/main.py."),
        *step(1, "Bash", {"command": "make"}, "building the zebra\nexit code 2"),
        *step(2, "Grep", {"pattern": "zebra"}, "docs/zebra.md: zebra"),
        *step(3, "Bash", {"command": "make again"}, "building the zebra"),
        *step(4, "Bash", {"command": "x"}, "no luck", failed=True),
        *step(5, "工具'\"", {}, "a zebra drawn"),
        assistant("The zebra is built."),
    )

    def outputs(query: str) -> set[str]:
        hits = store.search(query, limit=9).hits
        return {says(hit).split(" So")[0].split("\n")[-1] for hit in hits if hit.numbered}

    assert outputs("tool:bash error: make") == {"exit code 2"}
    assert len(store.search("tool:bash error: zebra").hits) == 1
    assert outputs("error:") == {"exit code 2", "no luck"}
    assert outputs("tool:gre zebra") == {"docs/zebra.md: zebra"}
    assert outputs("tool:工具'\" zebra") == outputs("tool:工 zebra") == {"a zebra drawn"}
    assert outputs("path:zebra.md") == {"docs/zebra.md: zebra"}
    assert outputs("path:zebra tool:bash") == set()
    assert outputs("tool:Bash") == {"exit code 2", "building the zebra", "no luck"}
    assert "no luck" in outputs("error")  # though it nowhere says so


@pytest.mark.slow
@pytest.mark.parametrize(
    ("query", "wanted"),
    [
        ("path: src/app/main.py tool: Bash", {"made", "broken"}),
        ("Path:main.py TOOL:bash", {"made", "broken"}),
        ("ERROR: main.py", {"broken"}),
        ("path:src/app/main.py:342", {"made", "read", "broken"}),
        ("path:main.py:342:7 tool:read", {"read"}),
        ("path:src/*.py tool:read", {"read"}),
        ("path:docs/*.py", set[str]()),
        ("path:Dockerfile", {"built"}),
        ("path:.gitignore", {"shown"}),
        ("tool:Bash,Read path:main.py", {"made", "read", "broken"}),
        ("tool:read tool:grep", {"read", "found"}),
    ],
)
def test_limits_may_be_written_in_the_ways_people_write_them(
    store: Store, query: str, wanted: set[str]
) -> None:
    archived(
        store,
        "work",
        *step(1, "Bash", {"command": "make src/app/main.py"}, "made"),
        *step(2, "Read", {"path": "src/app/main.py"}, "read"),
        *step(3, "Grep", {"pattern": "x"}, "found"),
        *step(4, "Bash", {"command": "docker build -f Dockerfile"}, "built"),
        *step(5, "Bash", {"command": "cat .gitignore"}, "shown"),
        *step(6, "Bash", {"command": "run src/app/main.py"}, "broken", failed=True),
    )

    hits = store.search(query, limit=9).hits

    assert {says(hit).split(" So")[0] for hit in hits if hit.numbered} == wanted


def test_the_search_goes_over_all_sessions_or_one(store: Store) -> None:
    for id in ("one", "two"):
        archived(store, id, user(f"The okapi of {id}."))

    everywhere, only = store.search("okapi"), store.search("okapi", session="two")

    assert {hit.session for hit in everywhere.hits} == {"one", "two"}
    assert [hit.session for hit in only.hits] == ["two"]
    assert store.search("okapi", session="three").hits == ()


def test_what_two_sessions_hold_is_shown_once(store: Store) -> None:
    offloaded(store, "the okapi", session="one")
    offloaded(store, "the okapi", session="two")

    found = store.search("okapi")

    assert [hit.session for hit in found.hits] == ["two"]


def test_a_long_text_in_a_message_is_shown_once(store: Store) -> None:
    archived(store, "talk", user("Tell me."), assistant("okapi " * 2_000))

    found = store.search("okapi")

    assert len(found.hits) == 1


def test_what_was_compressed_again_is_found_once(store: Store) -> None:
    session = archived(store, "talk", user("The okapi."), assistant("A giraffe."))
    session.undo()
    squeeze(session)

    assert len(store.search("okapi").hits) == 1


def test_what_an_undone_compression_archived_is_found_as_long_as_it_is_there(
    in_folder: Store,
) -> None:
    session = archived(in_folder, "talk", user("The okapi."), assistant("A giraffe."))
    session.undo()
    [hit] = in_folder.search("okapi").hits
    [file] = (in_folder.folder / "sessions" / "talk").glob("compact-*.json")

    assert "okapi" in session.restore(hit.ref)

    file.unlink()

    assert in_folder.search("okapi").hits == ()


def test_a_file_of_originals_changed_by_hand_gives_what_it_now_holds(in_folder: Store) -> None:
    archived(in_folder, "talk", user("The okapi."), assistant("A giraffe of the forest."))
    assert len(in_folder.search("giraffe").hits) == 1
    [file] = (in_folder.folder / "sessions" / "talk").glob("compact-*.json")

    file.write_text(file.read_text(encoding="utf-8").replace("giraffe", "zebra"), encoding="utf-8")

    assert in_folder.search("giraffe").hits == ()
    assert len(in_folder.search("okapi").hits) == 1


def test_what_we_wrote_ourselves_goes_behind_what_it_was_made_of(store: Store) -> None:
    session = archived(store, "talk", *step(1, "Read", {"path": "x"}, "okapi ERR-77\n" * 400))
    session.record(assistant("Hm."), user("Go on."))
    squeeze(session)

    found = store.search("okapi ERR-77")

    assert json.loads(session.restore(found.hits[0].ref) if not found.hits[0].numbered else "1")
    assert "ERR-77" in says(found.hits[0])
    assert session.restore(found.hits[0].ref).count("okapi") == 400


def test_what_we_quoted_goes_behind_it_though_it_is_shorter(store: Store) -> None:
    filler = [f"a routine line {n} about nothing in particular" for n in range(3_000)]
    filler[1_500] = "okapi failed with ERR-77"
    session = Session(store, "talk")
    session.record(*step(1, "Read", {"path": "x"}, "\n".join(filler)), user("Go on."))
    session.compress(target_tokens=700)  # it quotes some lines
    session.record(assistant("Hm."), user("Go on."))
    squeeze(session)

    found = store.search("okapi ERR-77")

    wholes = [session.restore(hit.ref).count("routine") > 2_000 for hit in found.hits]
    assert len(wholes) > 1
    assert wholes[0]


def test_further_hits_are_those_after_the_first(store: Store) -> None:
    offloaded(store, *(f"{n} zebra" for n in range(12)))

    pages = [refs(store.search("zebra", skip=skip)) for skip in (0, 5, 10, 15)]

    assert [len(page) for page in pages] == [5, 5, 2, 0]
    assert len({ref for page in pages for ref in page}) == 12


@pytest.mark.slow
@pytest.mark.parametrize("texts", [15, 140])
@pytest.mark.parametrize("asked", [{"query": "zebra"}, {"pattern": "zebra"}])
def test_pages_show_each_hit_once_and_end_where_the_total_says(
    store: Store, texts: int, asked: dict[str, Any]
) -> None:
    written = [f"{n} zebra {'zebra ' * (n % 7)}" for n in range(texts)]
    for session in ("one", "two"):
        offloaded(store, *written, session=session)

    pages = [store.search(**asked, limit=5, skip=skip) for skip in range(0, texts + 10, 5)]

    shown = [ref for page in pages for ref in refs(page)]
    assert len(shown) == len(set(shown)) == texts
    assert [page.more for page in pages] == [page.hits[4:] != () for page in pages[1:]] + [False]
    if "query" in asked:
        assert all(texts <= (page.total or 0) for page in pages)
        assert (pages[-1].total, pages[-1].exact) == (texts, True)
        assert pages[0].exact is (texts == 15)


def test_a_message_and_its_own_text_count_once(store: Store) -> None:
    call = {"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "feed okapi"}}
    said = {"type": "text", "text": "The giraffe eats." + PADDING}
    result = {"type": "tool_result", "tool_use_id": "t1", "content": "done" + PADDING}
    archived(
        store, "talk",
        user("What now?"),
        {"role": "assistant", "content": [said, call]},
        {"role": "user", "content": [result]},
        assistant("So much for that."),
    )  # fmt: skip

    found = store.search("giraffe")

    assert (len(found.hits), found.total, found.exact, found.more) == (1, 1, True, False)


def test_a_pattern_finds_lines_and_the_newest_first(store: Store) -> None:
    old, _, new = offloaded(store, "a\nexit code 3\nb", "exit code 0", "exit code 4")

    found = store.search(pattern=r"^exit code [1-9]$")

    assert refs(found) == [new, old]
    assert found.hits[1].lines == ((2, "exit code 3"),)
    assert found.total is None


@pytest.mark.parametrize(
    "text", ["xparse_headery", "src/app/main.py", "a.b(c)[d]", "因为它", "100%", " = 5;"]
)
def test_a_pattern_that_stands_for_itself_is_found_within_words(store: Store, text: str) -> None:
    ref, _ = offloaded(store, f"some {text}s here", "nothing")

    found = store.search(pattern=re.escape(text))

    assert refs(found) == [ref]
    assert text in says(found.hits[0])


def test_a_path_is_found_whichever_slash_it_was_written_with(store: Store) -> None:
    windows, quoted, unix = offloaded(
        store, r"open src\app\main.py", r'{"path": "src\\app\\main.py"}', "in src/app/main.py"
    )

    assert set(refs(store.search("src/app/main.py"))) == {windows, quoted, unix}
    assert set(refs(store.search(pattern=r"src/app/main\.py"))) == {windows, quoted, unix}


@pytest.mark.slow
def test_a_pattern_beside_a_query_is_looked_for_in_all_that_the_query_finds(store: Store) -> None:
    wanted = offloaded(store, *(f"{n} giraffe okapi" for n in range(9)))
    offloaded(store, *(f"{n} okapi okapi" for n in range(500)))
    archived(store, "work", *step(1, "Bash", {"command": "x"}, "one okapi, one giraffe"))

    pages = [store.search("okapi", pattern="giraffe", skip=skip) for skip in (0, 5, 10)]
    with_tool = store.search("tool:bash", pattern="giraffe")

    shown = [ref for page in pages for ref in refs(page)]
    assert set(wanted) < {*shown}
    assert len(shown) == len({*shown}) == 10
    assert [page.more for page in pages] == [True, False, False]
    assert len(with_tool.hits) == 1


@pytest.mark.parametrize(
    ("pattern", "text"),
    [(r"exit\(?1\)?", "exit(1)"), (r"call\(?0x", "call(0x"), ("[(?R)]", "R"), (r"\\(?:R)", "\\R")],
)
def test_a_parenthesis_that_stands_for_itself_is_no_recursion(
    store: Store, pattern: str, text: str
) -> None:
    (ref,) = offloaded(store, f"some {text} here")

    assert refs(store.search(pattern=pattern)) == [ref]


@pytest.mark.parametrize("pattern", ["needle-4711", r"needle-\d+", "n.*dle"])
def test_of_a_long_line_what_a_pattern_found_is_shown(store: Store, pattern: str) -> None:
    offloaded(store, "pad " * 5_000 + "needle-4711 " + "pad " * 5_000)

    assert "needle-4711" in says(store.search(pattern=pattern).hits[0])


@pytest.mark.parametrize(
    "pattern",
    [
        "(", "a" * 1_001, "(a{99}){999}", "(" * 500 + ")" * 500,
        "(?R)", "(a|(?1))", "(?0)|x", "(?P<n>a(?&n)?)", "(?P<n>a(?P>n)?)",
        "(?#[)(?R)(?#])", "(?x)a # [\n|(?R) # ]\n", "[" * 100_000,
    ],
)  # fmt: skip
def test_a_pattern_that_cannot_be_is_refused(store: Store, pattern: str) -> None:
    offloaded(store, "a")

    with pytest.raises(StoreError):
        store.search(pattern=pattern)


def test_a_pattern_that_takes_too_long_is_refused(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("context_compression.store.search.query.SECONDS", 0.1)
    offloaded(store, "a" * 60 + "!")

    with pytest.raises(StoreError, match="takes too long"):
        store.search(pattern="(a|aa)+$")


def test_the_time_of_a_pattern_is_that_of_all_texts_together(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("context_compression.store.search.query.SECONDS", 0)
    offloaded(store, "a giraffe")

    with pytest.raises(StoreError, match="takes too long"):
        store.search(pattern=r"(okapi|dog)\d+$")


def test_an_empty_store_is_not_made_to_be_searched(in_folder: Store) -> None:
    found = in_folder.search("okapi")

    assert found == SearchResult((), 0, 0, ("okapi",))
    assert not in_folder.folder.exists()


ODD = (
    "", " ", '"', '""', '"a', "'", "*", "***", "a*", "-a", "^a", "+", "(", ")", "NEAR(a b)",
    "NEAR(", "a AND", "OR", "NOT", "a NOT b", "text : a", "{text} : a", "rowid:1", "path:", "tool:",
    "error:", 'path:"', "path:*", "tool:%", "tool:_", "a\0b", "\0", "\ud83d", "\ud83d\ude00",
    "🔥" * 99, "the of and to in is", "\u2028", "a" * 100_000, "a " * 50_000, "因" * 100_000,
    '"' * 100_000, "(" * 100_000, "x_" * 50_000, "%", "_", "\\", "'; DROP TABLE documents; --",
    "\x1b[31m", "ﷺ", "İ", "ß", "\N{COMBINING ACUTE ACCENT}",
)  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("query", ODD, ids=lambda query: repr(query[:12]))
def test_no_query_is_wrong(store: Store, query: str) -> None:
    offloaded(store, "a b the error of src/app İ ß ﷺ", "\ud83d lone", "a\0b")

    found = store.search(query)

    assert found.note is None
    assert len(found.hits) <= 3


@pytest.mark.slow
@given(st.text(max_size=60), st.text(max_size=60), st.from_regex("[a-z]{3,9}", fullmatch=True))
def test_a_word_is_found_among_whatever_signs(before: str, after: str, word: str) -> None:
    with TemporaryDirectory() as folder:
        store = Store(folder)
        [ref] = offloaded(store, f"{before} {word} {after}")

        found, odd = store.search(word), store.search(before + after)

        assert refs(found) == [ref]
        assert odd.note is None

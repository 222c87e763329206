"""The order of hits: who speaks, what stands together, several wordings, whatever the page."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from written import squeeze

from context_compression import Session, Store
from context_compression.store import Hit, SearchResult
from context_compression.store.location import INDEX
from context_compression.store.search import excerpt
from context_compression.store.search.letters import folded
from context_compression.store.search.query import Query

WORDS = [
    "okapi",
    "zebra",
    "leaves",
    "water",
    "gate",
    "Ann:",
    "Ben:",
    "I",
    "you",
    "morning",
    "网关",
    "端口",
]
QUERIES = [
    "What did Ann feed the okapi?", "okapi zebra leaves", "okapi | zebra gate | water",
    "网关的端口是什么？", "When did I see you at the gate in the morning?", "water",
]  # fmt: skip


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / ".compression")


def archived(store: Store, *texts: str, session: str = "talk") -> Session:
    """A session in which texts of a user and an assistant, by turns, are archived."""
    made = Session(store, session)
    roles = ("user", "assistant")
    made.record(*({"role": roles[n % 2], "content": text} for n, text in enumerate(texts)))
    made.record({"role": "user", "content": "Go on."})
    squeeze(made)
    return made


def says(hit: Hit) -> str:
    return " ".join(line for _, line in hit.lines)


def shown(found: SearchResult) -> list[tuple[str, str]]:
    return [(hit.session, hit.ref) for hit in found.hits]


def many(store: Store) -> None:
    """Some hundred texts of a few words, in two sessions."""

    def pick(n: int, k: int) -> str:
        return WORDS[(n * n + 7 * n * k + 3 * k) % len(WORDS)]

    for name in ("one", "two"):
        texts = [
            f"{pick(n, 9)} {name} {n}. {' '.join(pick(n, k) for k in range(n % 9))}"
            for n in range(90)
        ]
        archived(store, *texts, session=name)


def test_whom_a_question_names_is_heard_before_whom_speaks_to_them(store: Store) -> None:
    archived(
        store,
        "Ann: Hi Ben, how was the pottery class?", "Ben: Ann, the pottery class was fun, no?",
        "Ann: Good to hear. What else?", "Ben: Nothing.",
        "Ann: Well, I made a bowl in a pottery class myself.", "Ben: Did you, Ann?",
    )  # fmt: skip

    [first, *_] = store.search("What did Ann make in her pottery class?").hits

    assert "I made a bowl" in says(first)


@pytest.mark.parametrize(
    ("mine", "yours"),
    [
        ("When did I plan the first sprint?", "Which plan for the first sprint did you recommend?"),
        ("我的第一个冲刺计划是什么时候？", "你推荐的第一个冲刺计划是什么？"),
        ("私の最初のスプリント計画はいつですか？", "あなたの最初のスプリント計画は何ですか？"),
        ("Когда я начал план первого спринта?", "Какой план первого спринта вы дали?"),
        ("Wann war mein Plan für den ersten Sprint?", "Welchen Plan für den Sprint hast du?"),
    ],
    ids=["en", "zh", "ja", "ru", "de"],
)  # fmt: skip
def test_what_i_said_and_what_you_said_are_told_apart(store: Store, mine: str, yours: str) -> None:
    plan = "first sprint plan, 第一个冲刺计划, 最初のスプリント計画, план первого спринта, ersten"
    archived(store, f"{plan} A", f"{plan} B")

    assert says(store.search(mine).hits[0]).endswith("A")
    assert says(store.search(yours).hits[0]).endswith("B")


def test_words_that_stand_together_answer_before_those_that_are_apart(store: Store) -> None:
    apart = "The deadline is near. " + "Much else is said here, too. " * 9 + "The sprint runs."
    together = (
        "Much else is said here, too. " * 9 + "The deadline of the sprint is near. And so on."
    )
    archived(store, apart, "Well.", together)

    [first, *_] = store.search("What is the deadline of the sprint?").hits

    assert "deadline of the sprint" in says(first)


@pytest.mark.parametrize("query", QUERIES)
@pytest.mark.parametrize("limit", [1, 4, 25, 60])
def test_every_page_of_any_size_shows_one_order(store: Store, query: str, limit: int) -> None:
    many(store)
    whole = shown(store.search(query, limit=500))
    pages = [
        each
        for skip in range(0, len(whole) + limit, limit)
        for each in shown(store.search(query, limit=limit, skip=skip))
    ]

    assert len(whole) > 20
    assert pages == whole


@pytest.mark.parametrize("query", QUERIES)
def test_without_an_index_the_order_is_that_of_the_index(store: Store, query: str) -> None:
    many(store)
    indexed = store.search(query, limit=500)
    (store.folder / INDEX).unlink()
    (store.folder / INDEX).mkdir()

    scanned = store.search(query, limit=500)

    assert scanned.note
    assert shown(scanned) == shown(indexed)
    assert (scanned.total, scanned.exact, scanned.words) == (
        indexed.total, indexed.exact, indexed.words,
    )  # fmt: skip


TOLD = [
    ("Each bed is 120 by 300 cm.", "dimensions of the planters", "cm | how large a bed"),
    ("Copper tape around each bed.", "slug protection", "against snails | copper tape"),
    ("It was 412 euros in all.", "total price", "costs, in euros | sum"),
    ("超时时间设为 3500 毫秒。", "等多久算失败", "超时时间 | 请求超时"),
    ("沙箱商户号是 MCH-88213。", "测试用的店铺编号", "沙箱商户号 ｜ 测试商户"),
    ("Срок действия ключа: 90 дней.", "когда устареет пароль", "устареет пароль | срок ключа"),
    ("ゲートウェイは8443番ポートで待ち受けます。", "サーバーの口", "ゲートウェイ｜ポート番号"),
]


@pytest.mark.parametrize(("text", "other", "wordings"), TOLD)
def test_other_wordings_find_what_one_does_not(
    store: Store, text: str, other: str, wordings: str
) -> None:
    archived(store, *(text for text, *_ in TOLD), *(f"Point {n} is fine." for n in range(9)))

    assert text not in [says(hit) for hit in store.search(other, limit=3).hits]
    assert text in [says(hit) for hit in store.search(f"{other} | {wordings}", limit=3).hits]


def test_the_best_of_each_wording_is_among_the_first_hits_and_none_is_shown_twice(
    store: Store,
) -> None:
    texts = [f"{n} okapi and so on" for n in range(9)]
    archived(store, *texts, "zebra alone", "okapi and gate", "gate")

    found = store.search("okapi | zebra | gate", limit=20)

    assert {says(hit) for hit in found.hits[:4]} >= {"okapi and gate", "zebra alone", "gate"}
    assert len({*shown(found)}) == len(found.hits) == found.total == 12
    assert (found.words, found.exact) == (("okapi", "zebra", "gate"), True)


@pytest.mark.parametrize("indexed", [True, False])
def test_a_total_of_several_wordings_is_at_most_what_is_searched(
    store: Store, *, indexed: bool
) -> None:
    archived(store, *(f"okapi {n} and zebra {n * 7} at gate {n * 5}." for n in range(200)))
    if not indexed:
        (store.folder / INDEX).mkdir()

    found = store.search("okapi | zebra | gate")

    assert found.total is not None
    assert 200 <= found.total <= found.searched


@pytest.mark.parametrize(
    ("query", "held"),
    [
        ("water butt", (2, 2)),
        ("rain barrel | water butt", (2, 2)),
        ("water | rain barrel stands", (1, 1)),
        ("rain water | barrel butt downpipe", (2, 3)),
        ("zebra | migrations water", (1, 2)),
    ],
)
def test_words_count_within_the_wording_that_a_hit_fits_best(
    store: Store, query: str, held: tuple[int, int]
) -> None:
    archived(store, "The water butt stands at the downpipe.", "Something else.")

    [hit] = store.search(query).hits

    assert (hit.held, hit.words) == held


@pytest.mark.parametrize(
    ("written", "alike"),
    [
        ("okapi || zebra", "okapi | zebra"),
        ("| okapi | | zebra |", "okapi | zebra"),
        ("okapi｜zebra", "okapi | zebra"),
        ("okapi|okapi", "okapi"),
        ("okapi | tool:Bash|Read", "okapi tool:bash,read"),
        ("okapi | zebra | path:src", "okapi path:src | zebra path:src"),
        (" | ".join("abcdefghij"), "a | b | c | d | e | f | g | h i j"),
    ],
)
def test_wordings_may_be_written_in_the_ways_people_write_them(
    store: Store, written: str, alike: str
) -> None:
    archived(store, "okapi a", "zebra b", "src c", "okapi zebra src d")

    one, other = store.search(written, limit=9), store.search(alike, limit=9)

    assert (shown(one), one.words) == (shown(other), other.words)


def test_a_bar_in_quotation_marks_stands_for_itself(store: Store) -> None:
    archived(store, "the type int|None here", "an int here", "None here")

    found = store.search('"int|None"')

    assert [says(hit) for hit in found.hits] == ["the type int|None here"]


@given(
    st.lists(st.sampled_from(["okapi", "|", "｜", "||", '"', '"a | b"', "tool:x|y", "", "i", "?"]))
)
def test_no_wording_is_wrong(parts: list[str]) -> None:
    assert Query.wordings(" ".join(parts))


FORMS = {
    "traditional": ("支付網關監聽埠號", "支付网关监听"),
    "traditional question": ("資料庫連線逾時設為三秒", "资料库连线设为几秒？"),
    "variants": ("為什麼說臺灣", "为什么说台湾"),
    "full width": ("版本ＡＢＣ１２３", "ABC123"),
    "accents apart": ("le re\u0301sume\u0301 du projet", "résumé"),
    "Korean letters apart": ("\u1112\u1161\u11ab\u1100\u1173\u11af 문서", "한글"),
    "half-width katakana": ("ｹﾞｰﾄｳｪｲの設定", "ゲートウェイ"),
    "Russian ё": ("Ещё ёлка стоит", "еще елка"),
    "Russian ё apart": ("е\u0308лка стоит", "ЕЛКА"),
    "Latin": ("the okapi", "okapi"),
}


@pytest.mark.parametrize(("one", "other"), FORMS.values(), ids=FORMS)
@pytest.mark.parametrize("indexed", [True, False])
def test_forms_of_the_same_letters_find_one_another(
    store: Store, one: str, other: str, indexed: bool
) -> None:
    archived(store, one, "Well.", other, "Something else entirely.")
    if not indexed:
        (store.folder / INDEX).mkdir()

    for query in (one, other):
        found = store.search(query)
        assert {says(hit) for hit in found.hits} >= {one, other}
        assert found.hits[0].held > 0


@pytest.mark.parametrize("found", ["監聽八四四三", "ＰＯＲＴ 8443", "re\u0301sume\u0301"])
def test_of_a_long_line_what_was_found_in_another_form_is_shown_as_it_is(
    store: Store, found: str
) -> None:
    archived(store, "ｶﾞ網e\u0301 " * 90 + found + " ，ﾊﾟ和" * 90)

    [line] = [line for hit in store.search(folded(found)).hits for _, line in hit.lines]

    assert found in line


def test_of_very_many_texts_those_with_the_rarest_words_and_the_names_are_found(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(excerpt, "MANY", 20)
    monkeypatch.setattr(excerpt, "SCORED", 6)
    monkeypatch.setattr(excerpt, "SCORED_OF_QUESTION", 6)
    texts = [f"Some water runs by the gate in hour {number}." for number in range(60)]
    texts[3] = "Some water for the okapi at the gate."
    texts[4] = "Some water in tank_seven at the gate."
    archived(store, *texts)

    for query in ("water okapi gate", "water tank_seven gate", "Where is water for the okapi?"):
        found = store.search(query)
        rare = next(word for word in ("okapi", "tank_seven") if word in query)
        assert rare in says(found.hits[0])
        assert found.total is None
    assert len(store.search("water", limit=100).hits) == 6
    assert store.search("okapi").total == 1

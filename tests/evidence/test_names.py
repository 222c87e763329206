"""Names of files and symbols in texts of any script: found whole, without the sentence around."""

import unicodedata
from collections.abc import Sequence
from itertools import chain
from typing import Any, Literal, TypeAlias, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from context_compression import compress
from context_compression.conversation import parse
from context_compression.evidence import Lexicon, entries
from context_compression.evidence.grounding import ungrounded
from context_compression.evidence.ledger.entries import file_tags, names_in_calls
from context_compression.evidence.names import Names
from context_compression.evidence.words import KINDS, Numbering, kind_of

Form: TypeAlias = Literal["NFC", "NFD"]
FILES = [
    "src/pay/refund.py", "src/支付/退款.py", "docs/设计文档.md", "测试/test_订单.py",
    "/home/张三/项目/main.py", "src/größe/übung.py", "src/платёж/возврат.py", "報告/月次.xlsx",
    "デ/データ.ts", "src/결제/환불.py", "العربية/ملف.py", "תיקייה/קובץ.py", "हिन्दी/फ़ाइल.py",
    "ภาษาไทย/ไฟล์.py", "ελληνικά/αρχείο.py", r"C:\Users\张三\项目\main.py", "图1.png", "第3章.md",
]  # fmt: skip


def words(text: str, known: Sequence[str] = ()) -> set[str]:
    """The evidence words of a text."""
    return {word for word, _ in Lexicon(known=Names(known)).words(text)}


def found(text: str) -> set[str]:
    """The evidence words of a text, by their numbers: the same as those of `words`."""
    numbering = Numbering()
    kinds = [KINDS[numbering.kinds[number]] for number in numbering.numbers(text)]
    assert sorted(kinds) == sorted(kind for _, kind in Lexicon().words(text))
    return words(text)


@pytest.mark.parametrize("form", get_args(Form))
@pytest.mark.parametrize("name", FILES)
def test_the_name_of_a_file_is_found_whole_in_any_script(name: str, form: Form) -> None:
    name = unicodedata.normalize(form, name)

    assert kind_of(name) == "path"
    for text in (
        name,
        f"see {name} now",
        f"我修改了 {name}，然后",
        f"（{name}）",
        f"「{name}」、x",
    ):
        assert found(text) == {name}


@pytest.mark.parametrize(
    ("sentence", "names"),
    [
        ("I changed src/pay/refund.py, and the mistake is gone.", {"src/pay/refund.py"}),
        ("我已经修改了 src/支付/退款.py，修复了退款的错误。", {"src/支付/退款.py"}),
        ("请修改src/支付/退款.py的第三行", {"src/支付/退款.py"}),
        ("在docs/设计文档.md中", {"docs/设计文档.md"}),
        ("修改src/app.py", {"src/app.py"}),
        ("请比较a.py和b.py", {"a.py", "b.py"}),
        ("请打开/home/张三/项目/main.py。", {"/home/张三/项目/main.py"}),
        (r"看C:\Users\张三\main.py吧", {r"C:\Users\张三\main.py"}),
        ("说明:src/app.py:12行", {"src/app.py"}),
        ("放在orders表的amount_cents列，端口8443。", {"amount_cents", "8443"}),
        ("日本語のapp.pyを編集して", {"app.py"}),
        ("src/결제/환불.py를 수정했고 app.py에서", {"src/결제/환불.py", "app.py"}),
        ("แก้ไฟล์src/ไทย.pyแล้ว", {"src/ไทย.py"}),
        ("عدّلت src/دفع/ملف.py، ثم وapp.py", {"src/دفع/ملف.py", "app.py"}),
        ("Я изменил src/платёж/возврат.py, и ошибки нет.", {"src/платёж/возврат.py"}),
    ],
)
def test_the_words_of_a_sentence_are_no_part_of_a_name(sentence: str, names: set[str]) -> None:
    assert found(sentence) == names


@pytest.mark.parametrize(
    "symbol",
    [
        "payment_class", "sizeOf", "класс_платёж", "計算_合計", "größeBerechnen",
        "ОбработатьПлатёж", "결제_합계", "类::方法", "ΔΕΛΤΑ_ΧΡΟΝΟΣ", "платёж.возврат",
    ],
)  # fmt: skip
def test_symbols_of_any_script_are_symbols(symbol: str) -> None:
    assert kind_of(symbol) == "symbol"
    assert found(f"x {symbol} y") == {symbol}


@pytest.mark.parametrize(
    "prose",
    [
        "The size of the change is large, and nobody in Berlin knows the reason.",
        "Die Größe der Änderung ist beträchtlich, und niemand in Köln kennt den Überblick.",
        "Размер изменения велик, и никто в Москве не знает причины. Это т.е. всё.",
        "Ο λόγος της αλλαγής είναι μεγάλος, και κανείς στην Αθήνα δεν ξέρει.",
        "这个改动很大，没有人知道原因。请选择输入/输出模式，共8个文件.然后呢",
        "変更の大きさは大きく、理由は誰も知りません。入力/出力を選びます。",
        "변경의 크기는 크고 이유는 아무도 모릅니다. 입력/출력 3개",
        "ขนาดของการเปลี่ยนแปลงนั้นใหญ่มาก",
        "परिवर्तन का आकार बड़ा है और कोई कारण नहीं जानता।",
        "حجم التغيير كبير ولا أحد يعرف السبب.",
    ],
)
def test_prose_is_no_evidence_in_any_script(prose: str) -> None:
    assert found(prose) == set()
    assert found(unicodedata.normalize("NFD", prose)) == set()


ALPHABETS = [
    "abcxyz", "äöüßéñ", "абвёй", "αβγώ", "支付退款测试订单", "データあ", "결제환불", "ไฟล์กา",
    "फ़ाइलका",    "ملفدفع", "קובץ",
]  # fmt: skip
PART = st.sampled_from(ALPHABETS).flatmap(lambda letters: st.text(letters, min_size=1, max_size=6))
GLUED = st.lists(st.one_of(PART, st.sampled_from(["2", "v1", "test"])), min_size=1, max_size=3)
FORM = st.sampled_from(get_args(Form))


def path_of(folders: list[str], name: list[str], ending: str) -> str:
    """A path, with `_` between the parts of its last name."""
    return "/".join([*folders, "_".join(name)]) + ending


NAMED = st.builds(
    path_of, st.lists(PART, min_size=1, max_size=3), GLUED, st.sampled_from([".py", ".md", ".xlsx"])
)
BLANK = st.sampled_from([" ", "\n", "，", "（", "。", "「"])


def is_name(name: str) -> bool:
    """Whether no mark begins a part of a name, which would be no letter there."""
    parts = chain.from_iterable(part.split("_") for part in name.split("/"))
    return len(name) >= 7 and all(part[0].isalnum() for part in parts)


def call(name: str) -> dict[str, Any]:
    """A message with a call that reads a file."""
    use = {"type": "tool_use", "id": "t1", "name": "Read", "input": {"file_path": name}}
    return {"role": "assistant", "content": [use]}


@given(NAMED.filter(is_name), FORM, BLANK, BLANK)
def test_a_name_that_a_call_names_is_found_whole_between_blanks(
    name: str, form: Form, before: str, behind: str
) -> None:
    name = unicodedata.normalize(form, name)
    known = names_in_calls(parse([call(name)]).messages)

    text = f"see{before}{name}{behind}now"

    assert {word for word, _ in Lexicon(known=known).words(text)} == {name}


@given(NAMED.filter(is_name))
def test_composed_and_decomposed_names_have_one_number(name: str) -> None:
    numbering = Numbering(known=names_in_calls(parse([call(name)]).messages))
    forms = [unicodedata.normalize("NFC", name), unicodedata.normalize("NFD", name)]

    first, second = ([*numbering.numbers(f"see {each} now")] for each in forms)

    assert first == second
    assert len(first) == 1


@pytest.mark.parametrize("name", ["测试/test_订单.py", "设计v2.md", "src/支付"])
def test_what_calls_name_tells_where_a_name_begins_in_a_sentence(name: str) -> None:
    assert words(f"请打开{name}，谢谢", [name]) == {name}
    assert words(f"/work/{name}/x.py ./{name}", [name]) == {f"/work/{name}/x.py", name}


@pytest.mark.parametrize("name", FILES)
def test_ledger_file_lists_loss_and_line_of_files_have_the_name(name: str) -> None:
    result = {"type": "tool_result", "tool_use_id": "t1", "content": "ok"}
    conversation = [
        {"role": "user", "content": "请检查这个文件。"},
        call(name),
        {"role": "user", "content": [result]},
        {"role": "assistant", "content": f"我看了 {name}，没有错误。" + "然后继续。" * 300},
        {"role": "user", "content": "go on"},
    ]

    compressed = compress(conversation, target_tokens=300, strategy="extract")

    assert f"<read-files>\n{name}\n</read-files>" in file_tags(
        entries(parse(conversation).messages)
    )
    assert compressed.loss["paths"].total == 1


def test_a_summary_that_names_a_file_of_its_source_is_grounded() -> None:
    source = "打开 src/支付/退款.py 和 " + unicodedata.normalize("NFD", "src/größe/übung.py")

    assert ungrounded("修改了src/支付/退款.py的错误, src/größe/übung.py", [source]) == []
    assert ungrounded("修改了src/支付/订单.py的错误", [source]) == ["src/支付/订单.py"]

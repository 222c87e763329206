"""Rules are recognised by their form, in the language in which the user writes."""

import pytest
from rule_sentences import RULES, TALK

from context_compression.evidence.constraints import constraints, is_rule
from context_compression.evidence.rule_words import (
    NOTHING_MORE,
    USES,
    Script,
    folded,
    index_of,
    is_known_language,
    languages,
    scripts_in,
)


@pytest.mark.parametrize(
    ("language", "rule"), [(language, rule) for language in RULES for rule in RULES[language]]
)
def test_a_rule_is_recognised_in_its_language(language: str, rule: str) -> None:
    assert constraints(f"The loader reads table 7.\n{rule}\nThank you.") == [rule]


def test_nearly_all_of_these_rules_are_certain() -> None:
    rules = [rule for some in RULES.values() for rule in some]

    assert sum(map(is_rule, rules)) >= 0.95 * len(rules)


@pytest.mark.parametrize(
    ("language", "said"), [(language, said) for language in TALK for said in TALK[language]]
)
def test_talk_is_no_rule(language: str, said: str) -> None:
    assert constraints(f"The loader reads table 7.\n{said}") == []


@pytest.mark.parametrize(
    "said",
    [
        "I've never seen this error.", "I always get lost here.", "Creo que siempre falla.",
        "Das ist nur ein Test.", "Мне нужно подумать.",
    ],
)  # fmt: skip
def test_talk_with_the_words_of_rules_is_not_certain(said: str) -> None:
    assert not is_rule(said)


@pytest.mark.parametrize(
    "said",
    [
        "I use a read-only replica of it.", "The members-only page is slow today.",
        '<span class="sr-only">(current)</span>', "看来 Redis 不可靠。", "这个接口今天不可用。",
        "這個檔案不可讀。", "这是不可逆的操作。",
    ],
)  # fmt: skip
def test_what_only_looks_like_the_words_of_a_rule_is_not_certain(said: str) -> None:
    assert not is_rule(said)


@pytest.mark.parametrize(
    "rule", ["- only use tabs", "Fix it - never push it.", "周五不上线，这是公司规定。"]
)
def test_a_rule_behind_a_dash_or_as_a_regulation_is_certain(rule: str) -> None:
    assert is_rule(rule)


@pytest.mark.parametrize(
    "asked",
    [
        "Muss das immer so sein?",
        "¿Siempre falla la prueba?",
        "Это всегда так работает?",
        "هل يفشل الاختبار دائمًا؟",
    ],
)
def test_a_question_is_no_rule(asked: str) -> None:
    assert constraints(asked) == []


@pytest.mark.parametrize(
    "rule",
    [
        "Nunca toques la carpeta vendor, ¿vale?",
        "Fass den Ordner vendor niemals an, ok?",
        "Könntest du bitte nie den Ordner vendor anfassen?",
    ],
)
def test_a_rule_with_a_tag_or_a_request_is_one(rule: str) -> None:
    assert constraints(rule) == [rule]


@pytest.mark.parametrize(
    "rule",
    [
        "NIEMALS den Ordner vendor anfassen!",
        "A PARTIR DE AHORA, CADA COMMIT EMPIEZA CON IMP.",
        "Desormais, utilise des tabulations.",
        "main dalina ASLA push yapma.",
        "Dung bao gio cham vao thu muc vendor.",
        "N’utilise que des tabulations.",
    ],
)
def test_a_rule_is_recognised_in_capitals_and_without_accents(rule: str) -> None:
    assert constraints(rule) == [rule]


@pytest.mark.parametrize("script", Script)
def test_every_expression_of_the_table_can_be_searched(script: Script) -> None:
    index = index_of(script)

    found = [index.anywhere(use) for use in USES]
    found += [index.expression(key, use) for key in index.phrases for use in USES]

    assert any(found)
    assert not any(each.fullmatch("") for each in found if each and each is not NOTHING_MORE)


@pytest.mark.parametrize(
    "line",
    [
        "Модуль 7 должен вернуть таблицу 21.",
        "Das Feld 7 muss einen Wert haben.",
        "该字段必须大于7。",
    ],
)
def test_a_line_with_must_may_be_a_rule(line: str) -> None:
    assert constraints(line) == [line]


def test_every_language_has_words_for_certain_rules() -> None:
    assert len({language.name for language in languages()}) == len(languages())
    assert all(language.sure and language.maybe for language in languages())


@pytest.mark.parametrize("text", ["İSTANBUL’da", "أَبَدًا", "ЁЖ", "ΠΟΤΈ", "ﷺ", "ß", "\u3000"])
def test_a_folded_text_is_as_long_as_it_was(text: str) -> None:
    assert len(folded(text)) == len(text)


def test_the_scripts_of_a_text_are_those_of_its_letters() -> None:
    assert scripts_in("plain") == set()
    assert scripts_in("день: 日本, ไทย, é — 1") == {
        Script.CYRILLIC, Script.HAN, Script.THAI, Script.LATIN,
    }  # fmt: skip


@pytest.mark.parametrize("rules", RULES.values(), ids=RULES)
def test_the_languages_of_the_table_are_known(rules: list[str]) -> None:
    assert sum(map(is_known_language, rules)) >= len(rules) / 2


@pytest.mark.parametrize(
    "said", ["ᏝᏍᏗ ᎯᏃᎮᏍᎩ ᎪᏪᎵ", "ⵓⵔ ⵜⵙⵏⴼⵍ ⴰⵙⴷⴰⵡ", "Zuqat metilo bar quma frelle"]
)
def test_other_languages_are_not(said: str) -> None:
    assert not is_known_language(said)


@pytest.mark.parametrize("said", ["", "42 %", "Ok."])
def test_what_has_hardly_any_words_needs_no_language(said: str) -> None:
    assert is_known_language(said)

"""What binds is told from what is asked, felt or shown."""

import pytest

from context_compression.evidence.constraints import constraints, is_rule
from context_compression.evidence.sentences import sentences


def test_a_text_is_cut_into_sentences_in_both_languages() -> None:
    text = "Fix it. Then stop!\n\n不要修改数据库。明天发布。 Version 2.4.1 stays."

    assert sentences(text) == [
        "Fix it.", "Then stop!", "不要修改数据库。", "明天发布。", "Version 2.4.1 stays.",
    ]  # fmt: skip


@pytest.mark.parametrize(
    "sentence",
    [
        "Never touch the migrations.", "You must run `make check`.", "Do not commit to main!",
        "Only change src/app.py.", "Make sure it works on Windows.", "Never push to main, ok?",
        "18:00 UTC is when deploys must stop.", "1:1 meetings must never be moved.",
        "不要修改数据库。", "必须保留旧格式。", "Could you make sure that it runs offline?",
        "I don't want a new dependency.", "We don't use lodash here.", "2: Never push to main.",
        "Why not, but please don't touch the API, okay?", "能不能始终用中文，请你？",
    ],
)  # fmt: skip
def test_what_binds_is_asked_of_the_model_or_not_wanted_is_a_constraint(sentence: str) -> None:
    assert constraints(f"Have a look at the tests. {sentence} 谢谢。") == [sentence]


@pytest.mark.parametrize(
    "sentence",
    [
        "I don't know where to start.",
        "Actually, I don't.",
        "Some do, some don't",
        "We don't really think so.",
        "What should I do?",
        "So it never worked, right?",
        "It only runs on Mondays, right?",
        "Do we only have a single link color?",
        "那样不能运行吗？",
        "277:    # Check required elements",
        "  88→    must_be_even(n)",
    ],
)
def test_what_somebody_does_not_know_or_asks_or_a_line_of_a_file_binds_nobody(
    sentence: str,
) -> None:
    assert constraints(f"Have a look at the tests.\n{sentence}\n谢谢。") == []


@pytest.mark.parametrize(
    ("sentence", "sure"),
    [
        ("Never touch the migrations.", True),
        ("- **Don't** be a zealot about style.", True),
        ("Rename it, but only in src/.", True),
        ("We never commit generated files.", True),
        ("Dates must be ISO 8601.", True),
        ("AGENTS.md is the ONLY source of truth.", True),
        ("必须保留旧格式。", True),
        ("It should be quite easy.", False),
        ("The music always cheers me up.", False),
        ("I must leave now.", False),
        ("My phone was only three years old.", False),
        ("我必须离开了。", False),
    ],
)
def test_a_rule_tells_somebody_what_to_do_or_what_must_be(sentence: str, sure: bool) -> None:
    assert constraints(sentence) == [sentence]
    assert is_rule(sentence) is sure

"""An answer counts as a summary only if it is one; a weak model's honest summary does."""

from importlib.resources import files

import pytest

from context_compression import compress
from context_compression.summaries.acceptance import why_no_summary
from context_compression.testing import ScriptedSummarizer, conversation

FOLDER = files("context_compression.summaries") / "prompts"
PROMPTS = {
    name: (FOLDER / f"{name}.md").read_text(encoding="utf-8")
    for name in ("summary", "technical", "turn-prefix")
}
NONE = (
    "I'm sorry, but I can't help with summarizing this conversation.",
    "Es tut mir leid, dabei kann ich nicht helfen.",
    "申し訳ありませんが、この会話を要約することはできません。",
    "Извините, я не могу помочь с этим запросом.",
    "Lo siento, no puedo ayudar con eso.",
    "抱歉，我无法总结这段对话。",
    "Error: 429 Too Many Requests",
    '{"error": {"message": "overloaded"}}',
    "503 Service Unavailable",
    "ok",
    "[no further messages]",
    "I will now run the tests and look at the output of the parser.",
    '{"name": "bash", "arguments": {"command": "ls"}}',
    '<tool_call>\n{"name": "bash", "arguments": {}}\n</tool_call>',
    "## Goal",
    PROMPTS["summary"],
)
SUMMARIES = (
    "## Goal\nFix the login.\n\n## Next Steps\nRun the tests again.",
    "**Goal**\nFix the login.\n\n**Next Steps**\n- run pytest tests/test_login.py",
    "**Goal:** fix the login in src/login.py\n**Next Steps:** run the tests",
    "Goal:\nFix the login.\n\nNext Steps:\nRun the tests.",
    "# Ziel\nDie Anmeldung reparieren.\n\n# Nächste Schritte\nTests laufen lassen.",
    "## 目标\n修复登录。\n\n## 下一步\n运行测试。",
    "Goal\n====\nFix the login, which answers Error: 429 today.",
    "## Goal\nTell why the API says 'I cannot help with that'.\n\n## Blocked\nnone",
)


@pytest.mark.parametrize("answer", NONE)
def test_what_is_no_summary_is_refused_with_its_beginning(answer: str) -> None:
    assert why_no_summary(answer.strip(), PROMPTS["summary"])


@pytest.mark.parametrize("name", ["technical", "turn-prefix"])
def test_an_echo_of_any_of_our_instructions_is_no_summary(name: str) -> None:
    assert why_no_summary(PROMPTS[name].strip(), PROMPTS[name])


@pytest.mark.parametrize("answer", SUMMARIES)
def test_a_short_summary_with_renamed_sections_is_one(answer: str) -> None:
    assert why_no_summary(answer, PROMPTS["summary"]) is None


def test_where_the_instructions_have_no_sections_none_are_asked_for() -> None:
    own = "Tell in three sentences what happened."

    assert why_no_summary("They fixed the login and ran all tests.", own) is None
    assert why_no_summary("Error: 429 Too Many Requests", own)


def test_a_model_is_asked_again_before_extract_takes_over() -> None:
    writer = ScriptedSummarizer("ok", "[no further messages]", SUMMARIES[0])

    result = compress(conversation(20), target_tokens=4_000, summarizer=writer)

    assert len(writer.requests) >= 3  # a split turn takes one more
    assert result.summary is not None


def test_the_note_tells_what_came_instead_of_a_summary() -> None:
    writer = ScriptedSummarizer("Error: 429 Too Many Requests")

    result = compress(conversation(20), target_tokens=4_000, summarizer=writer)

    assert result.summary is None
    assert any("Error: 429" in note for note in result.notes)
    assert result.strategy == "extract"

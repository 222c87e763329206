"""An answer counts as a summary only if it is one; a weak model's honest summary does."""

import json
import re
from importlib.resources import files
from typing import Any

import pytest

from context_compression import compress
from context_compression.errors import SummaryError
from context_compression.settings import StrategyName
from context_compression.summaries.acceptance import SummarySource, why_no_summary
from context_compression.testing import Run, ScriptedSummarizer, conversation, tool_step
from context_compression.tokens import Counter

FOLDER = files("context_compression.summaries") / "prompts"
PROMPTS = {
    name: (FOLDER / f"{name}.md").read_text(encoding="utf-8")
    for name in ("summary", "technical", "turn-prefix", "update")
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
    'Traceback (most recent call last):\n  File "app.py", line 3, in <module>\nRateLimitError: 429',
    "Error:\nThe model is overloaded. Try again later.",
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
    "Error budget:\nFix the login.\n\nNext Steps:\nRun tests/test_login.py.",
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
    writer = ScriptedSummarizer("ok", "[no further messages]", OF_IMPORT)

    result = compress(worked(), target_tokens=4_000, summarizer=writer)

    assert len(writer.requests) >= 3  # a split turn takes one more
    assert result.summary is not None


def test_the_note_tells_what_came_instead_of_a_summary() -> None:
    writer = ScriptedSummarizer("Error: 429 Too Many Requests")

    result = compress(conversation(20), target_tokens=4_000, summarizer=writer)

    assert result.summary is None
    assert any("Error: 429" in note for note in result.notes)
    assert result.strategy == "extract"


RECORD = "\n".join(
    f"[Tool result] Bash run{n}: src/export/ledger_{n}.py took {n * 97} ms for shard_{n}"
    for n in range(1_200)
)
"""About 30,000 tokens."""
SOURCE = SummarySource(RECORD, "", Counter().text)
SECTIONS = ("Goal", "Constraints & Preferences", "Progress", "Key Decisions", "Next Steps")


def summary(*said: str, sections: tuple[str, ...] = SECTIONS) -> str:
    bodies = [*said, *["none"] * len(sections)]
    return "\n\n".join(f"## {name}\n{bodies[n]}" for n, name in enumerate(sections))


LONG = "The nightly job was slow, so every part of it was timed and written down in order. " * 4
ACCEPTED = {
    "English": summary(f"Find why src/export/ledger_7.py is slow. {LONG}"),
    "Chinese": summary(
        f"找出 src/export/ledger_7.py 为什么慢。{'每个部分都测量过并按顺序记录。' * 6}"
    ),
    "a name alone": summary(f"Find why the ledger is slow. {LONG}"),
    "a number alone": summary(f"One part took 96903 ms. {LONG}"),
}
REFUSED = {
    "absurdly short": ("## Goal\nFind why ledger_7 is slow.\n\n## Next Steps\nGo on.", "tokens"),
    "a single section": (
        f"## Goal\nFind why src/export/ledger_7.py is slow. {LONG * 2}",
        "sections",
    ),
    "of something else": (
        summary("Bake bread with rye and honey, then let it cool. " * 9),
        "holds no",
    ),
    "of something else, in Chinese": (summary("用黑麦和蜂蜜烤面包，然后放凉。" * 9), "holds no"),
    "an echo as a list": (
        re.sub(r"(?m)^(?!#)(?=.)", "- ", PROMPTS["summary"]),
        "repeats the instructions",
    ),
    "an echo without line breaks": (
        f"## Goal\n{' '.join(PROMPTS['summary'].split())}",
        "repeats the instructions",
    ),
    "an echo behind a copy of the record": (
        RECORD.replace("[Tool result] ", "")[-30_000:] + PROMPTS["summary"],
        "repeats the instructions",
    ),
    "the conversation, continued": (
        "## Goal\n[User]: Go on.\n[Assistant]: I read ledger_7.\n[Tool result] Bash run1: ok",
        "goes on with the conversation",
    ),
}


@pytest.mark.parametrize("answer", ACCEPTED.values(), ids=ACCEPTED)
def test_a_summary_that_holds_something_of_its_record_is_one(answer: str) -> None:
    assert why_no_summary(answer, PROMPTS["summary"], SOURCE) is None


@pytest.mark.parametrize(("answer", "why"), REFUSED.values(), ids=REFUSED)
def test_what_is_not_of_its_record_or_much_too_short_is_refused(answer: str, why: str) -> None:
    assert why in (why_no_summary(answer, PROMPTS["summary"], SOURCE) or "accepted")


def test_an_update_that_loses_most_of_the_earlier_summary_is_refused() -> None:
    source = SummarySource(RECORD[:40_000], ACCEPTED["English"] * 4, Counter().text)
    short = summary("src/export/ledger_7.py", sections=SECTIONS[:3])

    assert "tokens" in (why_no_summary(short, PROMPTS["update"], source) or "accepted")


@pytest.mark.parametrize(
    ("record", "answer"),
    [
        ("[User]: Hello, shall we talk about bread today?\n", "## Goal\nTalk of bread."),
        (
            "[User]: 今天我们谈谈面包吧。\n" * 300,
            "## Goal\nThey want to talk of bread.\n## Next\nnone",
        ),
        ("[User]: 今天我们谈谈面包吧。\n" * 300, "## 目标\n谈谈面包。\n## 下一步\n无"),
    ],
    ids=["a short record", "talk in another language", "talk in Chinese"],
)
def test_what_cannot_be_judged_is_taken(record: str, answer: str) -> None:
    assert (
        why_no_summary(answer, PROMPTS["summary"], SummarySource(record, "", Counter().text))
        is None
    )


OF_IMPORT = summary(
    "Find why the import of the rows is slow, by import_0_0.log and others. "
    "Read all of the logs in the order in which they were written, then say which part is slow."
)
FINDINGS = (
    "The slow part is the tax table, since each row is read twice.",
    "The mirror is innocent: it answers at once, even at night.",
    "Olga's cache of the invoices cannot help, because the keys rotate hourly.",
    "The lock hides the true fault; without it the import stops at the currency step.",
)


def worked() -> list[dict[str, Any]]:
    messages: list[dict[str, Any]] = [{"role": "user", "content": "Why is the import slow?"}]
    for n, finding in enumerate(FINDINGS):
        for k in range(4):
            output = "\n".join(f"{i} import_{n}_{k} row {i * 37}" for i in range(200))
            run = Run(f"r{n}{k}", "bash", {"command": f"grep row import_{n}_{k}.log"}, output)
            messages += tool_step([run], "anthropic")
        messages += [
            {"role": "assistant", "content": finding},
            {"role": "user", "content": "Go on."},
        ]
    return messages


@pytest.mark.parametrize(
    ("strategy", "target"), [("auto", 4_000), ("summarize", 4_000), ("summarize", 7_000)]
)
def test_the_room_that_a_short_summary_leaves_is_filled(
    strategy: StrategyName, target: int
) -> None:
    result = compress(
        worked(), target_tokens=target, strategy=strategy, summarizer=ScriptedSummarizer(OF_IMPORT)
    )

    assert result.strategy == "summarize", result.notes
    assert 0.8 * target < result.tokens_after <= target
    shown = json.dumps(result.messages, ensure_ascii=False)
    assert all(finding in shown for finding in FINDINGS)


def test_the_note_tells_every_attempt_and_why_it_was_not_taken() -> None:
    writer = ScriptedSummarizer("ok", SummaryError("overloaded"), "")

    result = compress(worked(), target_tokens=4_000, summarizer=writer)

    (note,) = (note for note in result.notes if note.startswith("no summary: "))
    assert note.startswith("no summary: 3 attempts: 1: The answer is no summary: ")
    assert note.endswith("; 2: overloaded; 3: The summary is empty.")

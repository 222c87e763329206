"""What a harness repeats in the user's role: it stands once, and is nobody's rule."""

from typing import Any

import pytest

from context_compression import compress, count_tokens
from context_compression.conversation import (
    Message,
    Text,
    ToolResult,
    assistant,
    is_only_polite,
    user,
    user_words,
)
from context_compression.conversation.authors.speech import (
    general_spans,
    repeated_reminders,
    task_spans,
    with_reminders,
)
from context_compression.testing import REQUESTS, Run, tool_step
from context_compression.testing import conversation as talk_with_tools

FORMAT_ERROR = (
    "Your last answer had no call of a tool. You must always end each answer with one call. "
    "If the work is finished, call `finish` with a report; if it is not, go on with the next step, "
    "and never ask the user, who is not there."
)
REMINDERS = {
    "a format error": [FORMAT_ERROR] * 3,
    "a counter": [f"Step {n} of 50. You must never use more than 50 steps." for n in (7, 9, 12)],
    "a tag": [f"<budget>You have {n} tokens left; always be brief.</budget>" for n in (900, 80, 7)],
    "in German": ["Erinnerung: Du musst jede Antwort mit einem Aufruf beenden."] * 4,
    "in Chinese": ["提醒：每个回答都必须以一次工具调用结束，不要询问用户，因为用户不在这里。"] * 3,
}
TYPED = {
    "parts": [f"Look into part {n}." for n in (1, 2, 3)],
    "short requests": ["Look again."] * 3,
    "the same twice": ["Please look at the tests once more."] * 2,
    "tickets": [f"Fix the bug in issue {n}, please." for n in (401, 402, 403)],
    "a chapter each": [f"Now translate chapter {n} into French." for n in range(1, 5)],
    "yes": ["yes"] * 5,
    "a request of one sentence": ["Make sure that `parse` handles a missing field; see CORE-8."]
    * 5,
    "a rule again": ["Look once more at the build, and never touch the migrations."] * 3,
    "in Chinese": ["请修复 src/登录.py 里的错误，不要修改数据库，因为明天要发布这个版本。"] * 4,
    "a word of harnesses": ["System tests must pass before each commit, please run them."] * 3,
}


def conversation(said: list[str]) -> list[dict[str, Any]]:
    """A task, and after each text a step with a long output."""
    messages: list[dict[str, Any]] = []
    for n, text in enumerate(
        ["Mend the parser of units in units.nim. Never rename a unit.", *said]
    ):
        messages.append({"role": "user", "content": text})
        output = "\n".join(f"unit {k} of {n} read" for k in range(150))
        messages += tool_step(
            [Run(f"c{n}", "Bash", {"command": f"nim c part{n}"}, output)], "anthropic"
        )
        messages.append({"role": "assistant", "content": f"Part {n} is looked at. " * 6})
    return messages


every_reminder = pytest.mark.parametrize("said", REMINDERS.values(), ids=REMINDERS)
every_request = pytest.mark.parametrize("said", TYPED.values(), ids=TYPED)


@every_reminder
def test_a_reminder_is_nobodys_words(said: list[str]) -> None:
    messages = with_reminders(
        [user("Do it."), *(m for t in said for m in (assistant("a"), user(t)))]
    )

    assert [user_words(message) for message in messages if user_words(message)] == ["Do it."]
    assert repeated_reminders(messages) == {*range(2, len(messages) - 1, 2)}


@every_request
def test_what_a_user_asks_again_and_again_stays_the_users(said: list[str]) -> None:
    messages = with_reminders(
        [user("Do it."), *(m for t in said for m in (assistant("a"), user(t)))]
    )

    assert [user_words(m) for m in messages if user_words(m)] == ["Do it.", *said]
    assert repeated_reminders(messages) == set()


@every_reminder
@pytest.mark.parametrize("share", [0.2, 0.5])
def test_a_view_shows_a_reminder_at_most_once_and_counts_no_rule_of_it(
    said: list[str], share: float
) -> None:
    messages = conversation(said)

    result = compress(
        messages, target_tokens=int(count_tokens(messages) * share), strategy="extract",
        settings={"min_recent_messages": 1, "keep_recent": 1},
    )  # fmt: skip
    shown = [str(message["content"]) for message in result.messages]

    assert [text for text in shown if text in said] in ([], [said[-1]])
    assert result.loss["constraints"].total == 1
    assert "Never rename a unit." in str(shown)


@every_request
def test_a_view_keeps_each_request(said: list[str]) -> None:
    messages = conversation(said)

    view = str(compress(messages, target_tokens=int(count_tokens(messages) * 0.4)).messages)

    assert all(text in view for text in said)


def test_a_text_that_always_stands_behind_new_results_is_a_reminder() -> None:
    said = "Check the result before you go on, and always be brief."
    results = [Message("tool", (ToolResult(f"c{n}", (Text("ok"),)),)) for n in range(3)]
    messages = with_reminders([user("Do it."), *(m for r in results for m in (r, user(said)))])

    assert [message.is_reminder for message in messages if message.is_user][1:] == [True] * 3


def test_a_conversation_of_repeated_requests_keeps_their_rules() -> None:
    result = compress(talk_with_tools(40, seed=3), target_tokens=10_000)

    assert result.target_met
    assert result.loss["constraints"].total > 2
    assert all(request in str(result.messages) for request in REQUESTS)


def test_the_first_request_is_no_reminder_even_if_it_comes_again() -> None:
    task = FORMAT_ERROR + " Mend the parser."
    messages = with_reminders([user(task), assistant("a"), user(task), assistant("b"), user(task)])

    assert all(user_words(message) == task for message in messages if message.role == "user")


@pytest.mark.parametrize(
    "text",
    [
        "Thanks!", "ok, perfect", "Vielen Dank!", "谢谢", "No problem, thanks!",
        "merci beaucoup :)", "Great, thank you so much.",
    ],
)  # fmt: skip
def test_a_thanks_is_only_polite(text: str) -> None:
    assert is_only_polite(text)


def test_a_long_request_that_is_sent_again_stays_the_users() -> None:
    request = "Translate the page into Basque, keep each link, and never touch the code. " * 4
    messages = with_reminders(
        [user("Hello."), assistant("a"), user(request), assistant("b"), user(request)]
    )

    assert [bool(user_words(message)) for message in messages[::2]] == [True, True, True]
    assert repeated_reminders(messages) == set()


@pytest.mark.parametrize(
    "text",
    [
        "Thanks, now the docs.", "ok?", "", "👍", "yes, delete it", "42", "Danke, aber nie wieder.",
        "no", "No thanks.", "stop", "...", "好的，删除它",
    ],
)  # fmt: skip
def test_what_asks_for_something_is_not_only_polite(text: str) -> None:
    assert not is_only_polite(text)


def test_of_a_wrapped_task_the_instructions_are_general() -> None:
    rules = "<tool_guidelines>\n" + "Use one call at a time. " * 40 + "</tool_guidelines>"
    text = f"<issue_text>\nThe clock is slow.\n</issue_text>\n{rules}\nBegin."

    shown = "".join(text[start:stop] for start, stop in task_spans(text))

    assert [text[start:stop] for start, stop in general_spans(text)] == [rules]
    assert "The clock is slow." in shown and shown.endswith("\nBegin.")
    assert len(shown) < len(text) - 500


@pytest.mark.parametrize(
    "text",
    [
        "<instructions>Mend the clock.</instructions>", "no tags < here", "<rules>never closed",
        "<task>Mend it.</task>", "a</b> <rules>",
    ],
)  # fmt: skip
def test_a_text_without_a_task_apart_has_no_general_instructions(text: str) -> None:
    assert general_spans(text) == ()
    assert task_spans(text) == [(0, len(text))]


@pytest.mark.parametrize("repeated", ["<a>", "<a", "<rules></b>", "</", "< "])
def test_a_long_text_of_tags_is_read_to_its_end(repeated: str) -> None:
    text = repeated * (300_000 // len(repeated))

    assert task_spans(text)[-1][1] == len(text)


@pytest.mark.parametrize(
    "text", ["ok", "yes", "Yes.", "sure", "help", "you", "no", "好的", "ja", "see all"]
)
def test_an_answer_is_more_than_polite(text: str) -> None:
    assert not is_only_polite(text)


@pytest.mark.parametrize(
    "said",
    [
        "Please always provide EXACTLY ONE action in triple backticks, found 3 actions.",
        "No tool call found in your response. Every response needs one.",
        "Could not parse the command in your answer; try again.",
        "Format error: your answer must contain exactly one code block.",
    ],
)
def test_a_refusal_of_an_answer_is_a_reminder_the_first_time(said: str) -> None:
    messages = with_reminders([user("Mend it."), assistant("`ls`"), user(said), assistant("ok")])

    assert messages[2].is_reminder


def test_what_a_user_says_of_commands_is_no_refusal() -> None:
    said = "Use two commands if you like, but write them into the notes."
    messages = with_reminders([user("Mend it."), assistant("Shall I?"), user("Yes."), user(said)])

    assert not messages[3].is_reminder

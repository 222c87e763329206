"""What the calls of a conversation leave to be done: open tasks, the headings of the last plan."""

from typing import Any

import pytest

from context_compression import compress, count_tokens
from context_compression.due import MOST_HEADINGS, Due
from context_compression.messages import Message, Text, ToolCall, ToolResult, strings_in
from context_compression.outdated import Outdated
from context_compression.strategies.quoting import call_texts
from context_compression.testing import Run, tool_step

OPEN, DONE = "Write the tests", "Read the code"
LISTS: dict[str, Any] = {
    "Claude Code": {
        "todos": [
            {"content": DONE, "status": "completed", "activeForm": "Reading"},
            {"content": OPEN, "status": "in_progress", "activeForm": "Writing"},
        ]
    },
    "Codex": {
        "explanation": "Two steps",
        "plan": [{"step": DONE, "status": "completed"}, {"step": OPEN, "status": "pending"}],
    },
    "opencode": {
        "todos": [
            {"id": "1", "content": DONE, "status": "cancelled", "priority": "high"},
            {"id": "2", "content": OPEN, "status": "pending", "priority": "low"},
        ]
    },
    "Gemini CLI": {
        "todos": [
            {"description": DONE, "status": "completed"},
            {"description": OPEN, "status": "pending"},
        ]
    },
    "with marks": {"todo_list": [{"title": DONE, "state": "Done."}, {"title": OPEN}]},
}
PLAN = f"""# Retry uploads

Why: they fail.

## {OPEN}
```sh
# not a heading
```
- [ ] Ask for review
- [x] Look around

#### Deeply
"""


def calls(*given: tuple[str, Any, str], error: bool = False) -> list[Message]:
    """For each call its tool, arguments and result two messages; an error says the last."""
    return [
        message
        for n, (name, arguments, answer) in enumerate(given)
        for message in (
            Message("assistant", (ToolCall(f"c{n}", name, arguments),)),
            Message("tool", (ToolResult(f"c{n}", (Text(answer),), error and n == len(given) - 1),)),
        )
    ]


def due(messages: list[Message]) -> list[list[str]]:
    """For each call what its texts say that is still to be done."""
    found = Due(Outdated(messages))
    return [
        [
            text[slice(*span)]
            for text in (texts.line, *(text for _, text in texts.long))
            for span in found.spans(call, text)
        ]
        for message in messages
        for call in message.calls
        for texts in (call_texts(call),)
    ]


@pytest.mark.parametrize("host", LISTS)
def test_the_open_tasks_of_a_list_are_due(host: str) -> None:
    ((found,),) = due(calls(("todo", LISTS[host], "noted")))

    assert found.endswith(OPEN)
    assert DONE not in found


def test_a_list_is_told_by_lines_with_what_became_of_each_task() -> None:
    texts = call_texts(ToolCall("c", "update_plan", LISTS["Codex"]))

    assert texts.line == "Two steps"
    assert texts.long == (("plan", f"completed: {DONE}\npending: {OPEN}"),)


def test_what_is_no_list_of_tasks_is_told_as_it_came() -> None:
    odd = {"todos": [{"content": OPEN}, {"weight": 3}], "plan": [OPEN, {"x": [1]}]}
    texts = call_texts(ToolCall("c", "todo", odd))

    assert OPEN in texts.line
    assert due(calls(("todo", odd, "noted"))) == [[]]


def test_only_the_last_list_of_a_tool_is_due() -> None:
    def told(*tasks: str) -> tuple[str, Any, str]:
        return "todo", {"todos": [*tasks]}, "noted"

    assert due(calls(told("a"), told("b", "c"))) == [[], ["b", "c"]]
    assert due(calls(told("a"), told())) == [[], []]
    assert due(calls(told("a"), ("todo", {"todos": ["b"], "merge": True}, "noted"))) == [["a"], []]
    assert due(calls(told("a"), told("b"), error=True)) == [["a"], []]


def test_of_tasks_told_one_by_one_those_are_due_that_are_not_done() -> None:
    def create(what: str, number: int) -> tuple[str, Any, str]:
        given = {"subject": what, "description": "At length"}
        return "TaskCreate", given, f"Task #{number} created successfully: {what}"

    def update(number: Any, status: str, answer: str = "Updated task") -> tuple[str, Any, str]:
        return "TaskUpdate", {"taskId": number, "status": status}, answer

    first = create(DONE, 1), create(OPEN, 2)
    assert due(calls(*first)) == [[DONE], [OPEN]]
    assert due(calls(*first, update("1", "in_progress"))) == [[DONE], [OPEN], []]
    assert due(calls(*first, update("1", "completed"))) == [[], [OPEN], []]
    assert due(calls(*first, update(1, "deleted"))) == [[], [OPEN], []]
    assert due(calls(*first, update("1", "completed", "Error: no such task"))) == [
        [DONE], [OPEN], [],
    ]  # fmt: skip
    assert due(calls(*first, update("9", "completed"))) == [[DONE], [OPEN], []]


HEADINGS = ["# Retry uploads", f"## {OPEN}", "- [ ] Ask for review", "#### Deeply"]


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("ExitPlanMode", {"plan": PLAN}),
        ("Write", {"file_path": "docs/plans/retry.md", "content": PLAN}),
        ("Write", {"file_path": "C:\\work\\PLAN.md", "content": PLAN}),
    ],
)
def test_the_headings_of_a_plan_are_due(name: str, arguments: dict[str, Any]) -> None:
    assert due(calls((name, arguments, "ok"))) == [HEADINGS]


def test_no_plan_is_due_that_was_refused_replaced_or_is_another_file() -> None:
    plan = "ExitPlanMode", {"plan": PLAN}, "The user has approved your plan."
    notes = "Write", {"file_path": "src/explain.md", "content": "# Notes\n"}, "ok"

    assert due(calls(plan, notes)) == [HEADINGS, []]
    assert due(calls(plan, ("ExitPlanMode", {"plan": "# Anew\n"}, "ok"))) == [[], ["# Anew"]]
    assert due(calls(plan, plan, error=True)) == [HEADINGS, []]


def test_of_a_plan_with_many_headings_the_higher_levels_are_due() -> None:
    long = "\n".join(f"## Part {n}\n### Detail {n}\n" for n in range(MOST_HEADINGS))
    longer = "\n".join(f"## Part {n}\n" for n in range(2 * MOST_HEADINGS))

    for plan in (long, longer):
        ((*found,),) = due(calls(("ExitPlanMode", {"plan": plan}, "ok")))
        assert found == [f"## Part {n}" for n in range(MOST_HEADINGS)]


def test_the_view_says_what_is_still_to_be_done() -> None:
    code = "\n".join(f"value_{n} = compute_part_{n}(handle_{n})" for n in range(300))
    tasks = [
        {"content": f"Task {n}: migrate table_{n}", "status": "completed" if n < 5 else "pending"}
        for n in range(9)
    ]
    runs = [
        Run("p", "ExitPlanMode", {"plan": f"# The plan\n\n{code}\n\n## Second half\n"}, "approved"),
        Run("t", "TodoWrite", {"todos": tasks}, "noted"),
        *(Run(f"r{n}", "Read", {"file_path": f"part{n}.py"}, code) for n in range(8)),
    ]
    messages = [
        {"role": "user", "content": "Move the tables."},
        *(message for run in runs for message in tool_step([run], "anthropic")),
        {"role": "user", "content": "Go on."},
    ]

    result = compress(
        messages, strategy="extract", target_tokens=count_tokens(messages) // 20,
        settings={"keep_recent_tokens": 0, "min_recent_messages": 1},
    )  # fmt: skip

    shown = "\n".join(strings_in(result.messages))
    assert all(f"pending: Task {n}: migrate table_{n}" in shown for n in range(5, 9))
    assert "# The plan" in shown
    assert "## Second half" in shown
    assert any("a task" in why for why in result.reasons.values())

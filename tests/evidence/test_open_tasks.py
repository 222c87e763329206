"""What the calls of a conversation leave to be done: open tasks, the headings of the last plan."""

from collections.abc import Sequence
from typing import Any

import pytest

from context_compression import compress, count_tokens
from context_compression.conversation import Message, Text, ToolCall, ToolResult, strings_in
from context_compression.evidence.files import Outdated
from context_compression.evidence.ledger.tasks import MOST_OPEN
from context_compression.evidence.open_tasks import MOST_HEADINGS, OpenTasks
from context_compression.strategies import call_texts
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
    "with ticks": {"todos": [{"text": DONE, "done": True}, {"text": OPEN, "done": False}]},
    "with other words": {"todos": [{"content": f"{DONE}", "status": "已完成"}, OPEN]},
    "with nothing": {"todos": [" ", {"content": "", "status": "pending"}, {"weight": 3}, OPEN]},
}
PLAN = f"""# Retry uploads

Why: they fail.

## {OPEN}
```sh
# not a heading
```
- [ ] Ask for review
  * [ ] And for time
2. [ ] Merge
- [x] Look around
    ```npm test```
  ~~~
  ```
  # nor this
  ```
  ~~~ ends not
  # nor that
  ~~~~

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
    found = OpenTasks(Outdated(messages), ())
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

    assert found.removeprefix("pending: ").removeprefix("in_progress: ").startswith(OPEN)
    assert DONE not in found


@pytest.mark.parametrize("status", ["skipped", "abandoned", "[x]", "✅ done", "Cancelled by user"])
def test_a_task_with_such_a_status_is_not_due(status: str) -> None:
    assert due(calls(("todo", {"todos": [{"content": OPEN, "status": status}]}, "ok"))) == [[]]


def test_a_task_that_is_said_completely_anew_is_due() -> None:
    given = {"todos": [{"content": OPEN, "status": "completely new"}]}

    assert due(calls(("todo", given, "ok"))) == [[f"completely new: {OPEN}"]]


def test_a_list_is_told_by_lines_with_what_became_of_each_task() -> None:
    texts = call_texts(ToolCall("c", "update_plan", LISTS["Codex"]))

    assert texts.line == "Two steps"
    assert texts.long == (("plan", f"completed: {DONE}\npending: {OPEN}"),)


def test_a_task_is_told_with_all_that_stands_beside_it_on_one_line() -> None:
    task = {
        "id": 7,
        "title": "Wire\r\nit",
        "status": "pending\nnow",
        "details": "never on port 8443",
    }
    texts = call_texts(ToolCall("c", "todo", {"todos": [task, {**LISTS["opencode"]["todos"][1]}]}))

    assert texts.long == (
        ("todos", f"pending now: Wire it · 7 · never on port 8443\npending: {OPEN} · 2"),
    )


def test_what_is_no_list_of_tasks_is_told_as_it_came() -> None:
    texts = call_texts(ToolCall("c", "todo", {"todos": [{"content": OPEN}, {"weight": 3}]}))

    assert texts.line == f"{OPEN} · 3"
    assert not call_texts(ToolCall("c", "todo", {"todos": []})).line


def test_only_the_last_list_of_a_tool_is_due() -> None:
    def told(*tasks: Any, tool: str = "todo", merge: bool = False) -> tuple[str, Any, str]:
        return tool, {"todos": [*tasks], "merge": merge}, "noted"

    alpha = {"id": "0", "content": "alpha", "status": "pending"}
    assert due(calls(told("a"), told("b", "c"))) == [[], ["b", "c"]]
    assert due(calls(told("a"), told("b", tool="other"))) == [["a"], ["b"]]
    assert due(calls(told("a"), told())) == [[], []]
    assert due(calls(told("a"), told("b", merge=True))) == [["a"], ["b"]]
    assert due(calls(told("a"), told("b"), error=True)) == [["a"], []]
    assert due(calls(told("[x] a", "- [X] b", "[ ] c"))) == [["[ ] c"]]
    begun = told({"id": "0", "status": "in_progress"}, merge=True)
    assert due(calls(told(alpha), begun)) == [["pending: alpha · 0"], []]
    assert due(calls(told(alpha, "b"), told({**alpha, "status": "done"}, merge=True))) == [
        ["b"],
        [],
    ]
    assert due(calls(told(alpha, "b"), told({"id": "0", "status": "done"}, merge=True))) == [
        ["b"], [],
    ]  # fmt: skip


def test_what_a_tool_says_once_more_of_a_task_is_no_failure() -> None:
    given = {"subject": "Fix error handling, exit code 1"}

    assert due(calls(("TaskCreate", given, f"Task #1 created: {given['subject']}"))) == [
        [given["subject"]]
    ]


def test_a_long_list_is_due_in_part() -> None:
    ((*found,),) = due(calls(("todo", {"todos": [f"task {n}" for n in range(500)]}, "ok")))

    assert found == [f"task {n}" for n in range(MOST_OPEN)]


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
    assert due(calls(*first, ("complete_task", {"id": 1}, "ok"))) == [[], [OPEN], []]
    assert due(calls(*first, ("update_task", {"task_id": 1, "status": "done"}, "ok"))) == [
        [], [OPEN], [],
    ]  # fmt: skip


@pytest.mark.parametrize("tool", ["create_task", "addTask", "asana_create_task"])
def test_tools_that_tell_one_task_are_known_by_their_whole_name(tool: str) -> None:
    (found,) = due(calls((tool, {"description": "At length", "title": OPEN}, "It is #55")))

    assert found == ([] if tool.startswith("asana") else [OPEN])


def test_a_task_that_is_done_counts_less_where_it_was_told() -> None:
    create = "TaskCreate", {"subject": DONE}, "Task #1 created"
    messages = calls(create, ("TaskUpdate", {"taskId": "1", "status": "completed"}, "ok"))
    known = Outdated(messages)

    assert known.spans(messages[0].blocks[0], DONE) == [(0, len(DONE))]
    assert not known.spans(messages[2].blocks[0], "1 · completed")


HEADINGS = [
    "# Retry uploads",
    f"## {OPEN}",
    "- [ ] Ask for review",
    "* [ ] And for time",
    "2. [ ] Merge",
    "#### Deeply",
]


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("ExitPlanMode", {"plan": PLAN}),
        ("Write", {"file_path": "docs/plans/retry.md", "content": PLAN}),
        ("Write", {"file_path": "C:\\work\\PLAN.md", "content": PLAN}),
        ("Write", {"file_path": "retry_plan.txt", "content": PLAN}),
    ],
)
def test_the_headings_of_a_plan_are_due(name: str, arguments: dict[str, Any]) -> None:
    assert due(calls((name, arguments, "ok"))) == [HEADINGS]


def test_no_plan_is_due_that_was_refused_replaced_or_is_another_file() -> None:
    plan = "ExitPlanMode", {"plan": PLAN}, "The user has approved your plan."
    notes = "Write", {"file_path": "plans/old/src/explanation.md", "content": "# Notes\n"}, "ok"
    premium = "subscribe", {"plan": "premium"}, "ok"

    assert due(calls(plan, notes, premium)) == [HEADINGS, [], []]
    assert due(calls(plan, ("ExitPlanMode", {"plan": "# Anew\n"}, "ok"))) == [[], ["# Anew"]]
    assert due(calls(plan, ("ExitPlanMode", {"plan": "Forget it."}, "ok"))) == [[], []]
    assert due(calls(plan, plan, error=True)) == [HEADINGS, []]


def test_a_plan_that_is_written_and_then_refused_is_not_due() -> None:
    write = "Write", {"file_path": "/home/x/.claude/plans/a.md", "content": PLAN}, "ok"
    ask: tuple[str, Any, str] = "ExitPlanMode", {}, "The user said no."

    assert due(calls(write, ask, error=True)) == [[], []]
    assert due(calls(write, ask)) == [HEADINGS, []]
    assert due(calls(write, ask, ask, error=True)) == [HEADINGS, [], []]


def note_with(*quoted: str) -> str:
    return "\n".join(
        ["[Compressed History] Excerpts of earlier messages, quoted as data:", *quoted]
    )


PLANNED = "[Write] docs/plans/a.md\n[content]\n# Plan\n[… 9 lines]\n## Second\ncode"
LISTED = "[TodoWrite]\ncompleted: one\nin_progress: two\npending: three"


IN_NOTES: list[tuple[list[str], list[tuple[str, Any, str]], list[list[str]]]] = [
    ([PLANNED, LISTED], [], [["# Plan", "## Second"], ["in_progress: two", "pending: three"]]),
    ([f"{PLANNED}\n{LISTED}"], [], [["# Plan", "## Second", "in_progress: two", "pending: three"]]),
    ([PLANNED, PLANNED.replace("Second", "Other")], [], [[], ["# Plan", "## Other"]]),
    ([PLANNED.replace("plans", "notes")], [], [[]]),
    (["[ExitPlanMode]\n# Plan"], [], [["# Plan"]]),
    (["[ExitPlanMode; plan]\n# Plan\n[Write: b.py; content]\n# no"], [], [["# Plan"]]),
    (["[ExitPlanMode; error]\n# Plan\n[ExitPlanMode; plan; error]\n# Plan"], [], [[]]),
    (["[User] What is the plan?\n[Result of Read: a.md; ref 0123456789ab]\n# no"], [], [[]]),
    (["[Bash] cat docs/plans/a.md\n[Result; ref 0123456789ab]\n# no"], [], [[]]),
    (["[Write: docs/plan.md; content]\n# Plan"] * 2, [], [["# Plan"], ["# Plan"]]),
    ([PLANNED], [("ExitPlanMode", {"plan": PLAN}, "ok")], [[]]),
    ([LISTED], [("todo", {"todos": []}, "ok")], [[]]),
    (
        [LISTED],
        [("todo", {"todos": [{"id": 9, "status": "done"}], "merge": True}, "ok")],
        [["in_progress: two", "pending: three"]],
    ),
    ([LISTED], [("TaskCreate", {"subject": "x"}, "#1")], [["in_progress: two", "pending: three"]]),
]


@pytest.mark.parametrize(("notes", "told", "found"), IN_NOTES)
def test_what_a_note_of_ours_quotes_is_due_until_a_call_tells_it_anew(
    notes: list[str], told: list[tuple[str, Any, str]], found: list[list[str]]
) -> None:
    texts = [*map(note_with, notes)]
    known = OpenTasks(Outdated(calls(*told)), texts)

    assert [[text[a:b] for a, b in known.spans(Text(text), text)] for text in texts] == found


def test_of_a_plan_with_many_headings_the_higher_levels_are_due() -> None:
    long = "\n".join(f"## Part {n}\n### Detail {n}\n" for n in range(MOST_HEADINGS))
    longer = "\n".join(f"## Part {n}\n" for n in range(2 * MOST_HEADINGS))

    for plan in (long, longer):
        ((*found,),) = due(calls(("ExitPlanMode", {"plan": plan}, "ok")))
        assert found == [f"## Part {n}" for n in range(MOST_HEADINGS)]


LONG = "\n".join(f"value_{n} = compute_part_{n}(handle_{n})" for n in range(300))


def in_view(runs: Sequence[Run], part: int) -> str:
    """What a view shows of a session with some calls, compressed to one of so many parts."""
    messages = [
        {"role": "user", "content": "Move the tables."},
        *(message for run in runs for message in tool_step([run], "anthropic")),
        {"role": "user", "content": "Go on."},
    ]
    result = compress(
        messages, strategy="extract", target_tokens=count_tokens(messages) // part,
        settings={"keep_recent_tokens": 0, "min_recent_messages": 1},
    )  # fmt: skip
    return "\n".join([*strings_in(result.messages), *result.reasons.values()])


def test_the_view_says_what_is_still_to_be_done() -> None:
    tasks = [
        {"content": f"Task {n}: migrate table_{n}", "status": "completed" if n < 5 else "pending"}
        for n in range(9)
    ]
    runs = [
        Run("p", "ExitPlanMode", {"plan": f"# The plan\n\n{LONG}\n\n## Second half\n"}, "approved"),
        Run("t", "TodoWrite", {"todos": tasks}, "noted"),
        *(Run(f"r{n}", "Read", {"file_path": f"part{n}.py"}, LONG) for n in range(8)),
    ]

    shown = in_view(runs, 20)

    assert all(f"pending: Task {n}: migrate table_{n}" in shown for n in range(5, 9))
    assert "# The plan" in shown
    assert "## Second half" in shown
    assert "a task" in shown


OTHER_LISTS: list[tuple[str, dict[str, Any]]] = [
    ("update_todo_list", {"todos": f"[x] {DONE}\n[ ] {OPEN}"}),
    ("update_todo_list", {"todos": f"1. [x] {DONE}\n2. [-] {OPEN}"}),
    ("todo", {"todos": f"☑ {DONE}\n☐ {OPEN}"}),
    ("todo_write", {"todos": f'[{{"content": "{OPEN}", "status": "pending"}}]'}),
    ("task_list", {"tasks": [{"title": DONE, "completed": True}, {"title": OPEN}]}),
    ("task_list", {"task_list": f"- [x] {DONE}\n- [ ] {OPEN}"}),
    ("task_tracker", {"command": "plan", "task_list": [{"title": OPEN, "status": "todo"}]}),
    ("manage_todo_list", {"todoList": [{"title": OPEN, "status": "not-started"}]}),
    ("update_plan", {"steps": [{"step": DONE, "status": "completed"}, {"step": OPEN}]}),
    ("todo_write", {"title": "Importer", "todo": [{"title": OPEN, "done": False}]}),
    ("read_file", {"path": "a.py", "task_progress": f"- [x] {DONE}\n- [ ] {OPEN}"}),
    ("todo", {"todos": f"- {OPEN}\n- Merge"}),
]


@pytest.mark.parametrize(("name", "arguments"), OTHER_LISTS)
def test_tasks_are_found_in_lists_of_other_shapes(name: str, arguments: dict[str, Any]) -> None:
    ((first, *_),) = due(calls((name, arguments, "ok")))

    assert OPEN in first
    assert DONE not in first


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("spawn_agents", {"tasks": ["Look at a.py", "Look at b.py"]}),
        ("fill_form", {"items": [{"title": "a", "status": "new"}]}),
        ("todo", {"todos": "Nothing in particular, as far as I can see."}),
        ("write", {"path": "a.md", "list": "- a\n- b"}),
    ],
)
def test_other_arguments_are_no_lists_of_tasks(name: str, arguments: dict[str, Any]) -> None:
    assert due(calls((name, arguments, "ok"))) == [[]]


def test_a_later_list_replaces_one_that_any_tool_passed() -> None:
    first = "read_file", {"path": "a.py", "task_progress": f"- [ ] {DONE}\n- [ ] {OPEN}"}, "ok"
    then = "write_file", {"path": "b.py", "task_progress": f"- [x] {DONE}\n- [ ] {OPEN}"}, "ok"

    assert due(calls(first, then)) == [[], [f"- [ ] {OPEN}"]]


def open_in(*texts: str) -> list[list[str]]:
    known = OpenTasks(Outdated([]), (), texts)
    return [[text[a:b] for a, b in known.spans(Text(text), text)] for text in texts]


def test_the_open_boxes_of_a_checklist_in_a_text_are_due() -> None:
    text = f"Status:\n\n- [x] {DONE}\n- [ ] {OPEN}\n  * [ ] Deeper\n\nThat is all."

    assert open_in(text) == [[f"- [ ] {OPEN}", "* [ ] Deeper"]]


def test_the_newest_box_of_a_task_counts() -> None:
    first, then = f"- [ ] {DONE}\n- [ ] {OPEN}", f"- [x] {DONE}\n- [ ] {OPEN}"

    assert open_in(first, then) == [[], [f"- [ ] {OPEN}"]]
    assert open_in(first, then, "- [ ] Another\n- [ ] list")[1:] == [
        [f"- [ ] {OPEN}"], ["- [ ] Another", "- [ ] list"],
    ]  # fmt: skip


@pytest.mark.parametrize(
    "text", ["See [ ] there.", "```\n- [ ] a\n- [ ] b\n```", "array[ ] = [x]", "Done: ✅ and ✅"]
)
def test_a_text_without_a_checklist_has_no_open_tasks(text: str) -> None:
    assert open_in(text) == [[]]


def test_the_last_checklist_that_a_tool_for_tasks_printed_is_due() -> None:
    printed = f"1. [x] {DONE}\n2. [ ] {OPEN}"
    messages = calls(("task_list", {}, "1. [ ] a\n2. [ ] b"), ("task_list", {}, printed))
    known = OpenTasks(Outdated(messages), ())
    results = [result for message in messages for result in message.results]

    found = [[each.text[a:b] for a, b in known.spans(each, each.text)] for each in results]

    assert found == [[], [f"2. [ ] {OPEN}"]]


def test_a_checklist_that_a_note_quotes_is_due() -> None:
    text = note_with(f"[update_todo_list; todos]\n[x] {DONE}\n[ ] {OPEN}")
    known = OpenTasks(Outdated([]), [text])

    assert [text[a:b] for a, b in known.spans(Text(text), text)] == [f"[ ] {OPEN}"]

"""`extract`: which evidence is chosen before which."""

from extract_sessions import FILLER, LONG, Messages, extract, session, step, text_message, texts

from context_compression import compress
from context_compression.planning import Cutter, Pool, Source
from context_compression.testing import Run, tool_step


def test_error_lines_are_chosen_before_routine(worked: Messages) -> None:
    result = extract(worked, 0.2, min_recent_messages=1)

    shown = texts(result.messages)
    assert all(f"E{n}042" in shown for n in range(5))


def test_why_a_call_failed_is_chosen_before_lines_that_only_speak_of_errors() -> None:
    code = "\n".join(f"except Exception as error: note(error, problem_{n})" for n in range(300))
    passed = "\n".join(f"passed test number {n} of them all, in no time" for n in range(300))
    failed = f"{passed}\nAssertionError: got {{}} widgets\n{passed}\nExit code 1"
    messages = session(
        text_message("user", "Read, then run the tests."),
        *(step(n, code.replace("_", f"_{n}_")) for n in range(4)),
        *(step(n, failed.format(n)) for n in range(4, 8)),
        text_message("assistant", "They fail."),
        text_message("user", "Well."),
    )

    result = extract(messages, 0.05, min_recent_messages=1)

    assert all(f"got {n} widgets" in texts(result.messages) for n in range(4, 8))


def test_the_hundredth_error_of_a_failed_call_comes_behind_other_evidence() -> None:
    failed = "\n".join(f"error: no rule for a thing of sort {n}, go on" for n in range(300))
    read = "\n".join(f"value alpha_{n} comes to beta_{n} and gamma_{n}" for n in range(300))
    messages = session(
        text_message("user", "Read, then build."),
        step(0, read),
        step(1, f"{failed}\nExit code 2"),
        text_message("assistant", "It fails."),
        text_message("user", "Well."),
    )

    shown = texts(extract(messages, 0.3, min_recent_messages=1).messages)

    assert "no rule for a thing of sort 0," in shown
    assert shown.count("alpha_") > shown.count("no rule for")


def test_what_was_decided_and_why_is_chosen_before_what_holds_more_evidence() -> None:
    pool = Pool(Cutter())
    for number, remark in enumerate(
        (
            "I keep the first one, because the other is slow under load.",
            "Next come alpha_1, beta_1 and gamma_1, in the same way, too.",
        )
    ):
        pool.add(Source(number, 0, remark, 16, 12, spoken=[(0, len(remark))]))

    best, *_ = pool.choice((), b"").take(60)

    assert pool.place(best)[0] == 0


def test_what_a_developer_message_lists_is_not_thereby_used() -> None:
    lists = [f"skill_{n} does the task_{n} of the list with tool_{n}" for n in range(200)]
    output = [f"value_{n} does the call_{n} of the list with data_{n}" for n in range(200)]
    messages = session(
        text_message("user", "Hello."),
        text_message("assistant", "Hello."),
        text_message("user", "Go."),
        text_message("developer", "\n".join(lists)),
        tool_step([Run("a", "Bash", {"command": "ls"}, "\n".join(output))], "openai"),
        *(text_message(role, f"Part {n}.") for n in range(6) for role in ("assistant", "user")),
    )

    view = texts(compress(messages, target_tokens=1_500).messages)

    assert sum(line in view for line in output) > 3 * sum(line in view for line in lists)


def test_what_the_user_or_a_tool_call_refers_to_is_chosen_before_what_nobody_mentions() -> None:
    lines = [f"value alpha_{n} beta_{n} gamma_{n}" for n in range(400)]
    messages = session(
        text_message("user", "Collect the values."),
        step(0, "\n".join(lines)),
        text_message("assistant", "Done."),
        text_message("user", "I need alpha_213 and alpha_377 later."),
        text_message("assistant", "Noted."),
    )

    result = extract(messages, 0.2, min_recent_messages=2)

    shown = str(result.messages[2])
    assert "alpha_213 beta_213" in shown
    assert "alpha_377 beta_377" in shown


def test_what_a_call_writes_is_not_thereby_what_it_refers_to() -> None:
    found = "\n".join(f"value alpha_{n} comes to beta_{n} and gamma_{n}" for n in range(200))
    written = "\n".join(f"value delta_{n} comes to omega_{n} and sigma_{n}" for n in range(200))
    messages = session(
        text_message("user", "Look, then write."),
        step(0, found),
        step(1, "ok", file_path="values.txt", content=written),
        text_message("assistant", "Done."),
        text_message("user", "Well."),
    )

    result = extract(messages, 0.3, min_recent_messages=1)

    shown = texts(result.messages)
    assert shown.count("alpha_") > shown.count("delta_")


def test_the_same_evidence_is_not_paid_for_twice() -> None:
    reading = "\n".join(f"def function_{n}(argument_{n}): return compute_{n}()" for n in range(120))
    messages = session(
        text_message("user", "Read it, then again."),
        step(0, reading),
        step(1, reading),
        text_message("assistant", "Same."),
        text_message("user", "Well."),
    )

    result = extract(messages, 0.45, min_recent_messages=1)

    shown = texts(result.messages)
    assert sum(f"function_{n}(" in shown for n in range(120)) > 80
    assert max(shown.count(f"function_{n}(") for n in range(120)) <= 2


def test_how_many_tests_passed_stands_beside_the_errors_that_they_printed() -> None:
    printed = "\n".join(f"error: Task {n} failed: {FILLER}" for n in range(60))
    output = f"{printed}\n\n 1216 pass\n 0 fail\nRan 1216 tests across 40 files. [9.10s]\n{FILLER}"
    messages = session(
        text_message("user", "Go."), step(0, output), step(1, LONG), text_message("user", "Next.")
    )

    for share in (0.3, 0.1):
        shown = texts(extract(messages, share, min_recent_messages=1).messages)

        assert "1216 pass" in shown


def test_what_the_model_answered_comes_before_the_lines_it_read() -> None:
    turns = (
        session(
            text_message("user", f"What does module_{n} do?"),
            step(n, "\n".join(f"def read_{n}_{k}(): ..." for k in range(60))),
            text_message(
                "assistant", f"It keeps the number {n} for the others, as far as can be seen."
            ),
        )
        for n in range(30)
    )

    shown = texts(extract(session(*turns, text_message("user", "Go on.")), 0.15).messages)

    assert shown.count("It keeps the number") == 30


def test_of_a_file_read_twice_the_state_it_is_in_now_is_shown() -> None:
    names = [f"handle_{n}_request" for n in range(120)]
    before = "\n".join(f"def {name}(old_argument_{n}): ..." for n, name in enumerate(names))
    after = "\n".join(f"def {name}(new_argument_{n}): ..." for n, name in enumerate(names))
    messages = session(
        text_message("user", "Rename the arguments."),
        step(0, before, path="src/app.py"),
        step(1, after, path="src/app.py"),
        *(
            text_message("assistant", f"Step {n} is done, and all went well with it.")
            for n in range(12)
        ),
        text_message("user", "Go on."),
    )

    shown = texts(extract(messages, 0.35).messages)

    assert shown.count("new_argument") > 20 * shown.count("old_argument")


def test_of_what_a_host_compacted_more_is_told_than_of_old_outputs() -> None:
    lines = "\n".join(f"What was done in part {n} went well in the end." for n in range(60))
    summary = f"This session is being continued from a previous conversation.\n{lines}"
    messages = session(
        text_message("user", summary),
        *(step(n, LONG) for n in range(12)),
        text_message("user", "Go on."),
    )

    shown = texts(extract(messages, 0.04).messages)

    assert shown.count("went well in the end") > 20

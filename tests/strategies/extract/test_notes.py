"""`extract`: the notes that quote dropped messages and name the gaps."""

import re

import pytest
from extract_sessions import LONG, extract, session, step, text_message, texts

from context_compression import compress, count_tokens
from context_compression.conversation import NO_START, ref_of
from context_compression.strategies import measured
from context_compression.testing import conversation


@pytest.mark.parametrize("room", [4_000, 8_000])
def test_gaps_of_whole_messages_tell_where_they_begin(room: int) -> None:
    messages = conversation(60)

    result = compress(messages, target_tokens=room, strategy="extract")

    marks = re.findall(r"\[… (\d+) messages?; (?:first )?ref (\w+)\]", texts(result.messages))
    refs = [ref_of(message) for message in messages]
    dropped = {*result.dropped}
    assert len(marks) > 1
    assert result.originals.keys() >= {ref for _, ref in marks}
    for count, ref in marks:  # the same words may stand in several messages
        starts = [index for index, known in enumerate(refs) if known == ref]
        assert any(dropped.issuperset(range(start, start + int(count))) for start in starts)


def test_where_nothing_of_a_long_stretch_is_chosen_a_note_says_so() -> None:
    messages = conversation(60)

    result = compress(messages, target_tokens=1_500, strategy="extract")

    notes = [m["content"] for m in result.messages if "Not shown here" in str(m["content"])]
    assert notes
    mark = re.compile(
        r":\n\[… \d+ messages?(; (first )?ref \w+)?\](\n\[(Other files|More names used)\] .+)*$"
    )
    assert all(map(mark.search, notes))


@pytest.mark.parametrize("start", [0, 1])
def test_in_the_smallest_room_one_mark_says_that_messages_are_missing(start: int) -> None:
    """Without its start a conversation has a note of ours, which is none of them."""
    asked = "Which of them was the slowest?"
    work = session(text_message("user", "Look."), *(step(n, "a line\n" * 90) for n in range(60)))
    answered = text_message("assistant", "I have read them all.")
    messages = session(work[start:], answered, text_message("user", asked))

    note, last = compress(messages, target_tokens=40, strategy="extract").messages

    ref = ref_of(messages[0])
    assert last["content"] == asked
    assert note["content"] == (
        f"[Compressed History] Not shown here:\n[… {len(messages) - 1} messages; first ref {ref}]"
    )


def test_that_a_conversation_came_without_its_start_is_neither_kept_nor_quoted() -> None:
    messages = conversation(60)[1:]

    for share in (0.1, 0.05):
        shown = texts(extract(messages, share).messages)

        assert "[… " in shown
        assert NO_START not in shown


def test_an_old_turn_goes_before_the_note_that_says_that_messages_are_missing() -> None:
    turns = (
        session(
            text_message("user", f"What is {n} and {n}?"),
            text_message("assistant", f"It is {2 * n}."),
        )
        for n in range(30)
    )
    messages = session(*turns, text_message("user", "Now add them all up."))
    least = count_tokens(messages[-1:]) + measured.BARE_NOTE_TOKENS

    for room in range(least, 6 * least):
        shown = compress(messages, target_tokens=room, strategy="extract").messages

        assert "[Compressed History]" in texts(shown)


def test_what_the_host_adds_behind_an_output_is_not_quoted_in_part() -> None:
    added = "\n\n<system-reminder>\nMind app/rules_{n}.md.\n</system-reminder>"
    outputs = (
        "\n".join(f"def read_{n}_{k}(): ..." for k in range(60)) + added.format(n=n)
        for n in range(30)
    )
    steps = (step(n, output) for n, output in enumerate(outputs))

    view = extract(
        session(text_message("user", "Look."), *steps, text_message("user", "Go on.")), 0.2
    ).messages
    shown = texts([message for message in view if "[Compressed" in str(message["content"])])

    assert "def read_" in shown
    assert shown.count("</system-reminder>") == shown.count("<system-reminder>")


def test_what_only_a_note_of_ours_tells_of_counts_as_dropped() -> None:
    messages = conversation(60)

    result = compress(messages, target_tokens=4_000, strategy="extract")

    notes = [m for m in result.messages if str(m["content"]).startswith("[Compressed History]")]
    shortened = {*result.compressed} - {*result.dropped}
    whole = len(messages) - len(result.compressed)
    assert notes
    assert len(result.messages) == len(notes) + len(shortened) + whole


@pytest.mark.parametrize("room", [700, 1_000, 1_400])
def test_in_a_small_room_the_notes_tell_one_ref_of_a_gap(room: int) -> None:
    result = compress(conversation(60), target_tokens=room, strategy="extract")

    refs = re.findall(r"messages?[^;\]]*; (?:first )?ref (\w+)", texts(result.messages))
    assert len(refs) == 1
    assert refs[0] in result.originals


@pytest.mark.slow
def test_what_is_quoted_of_an_earlier_note_stands_below_its_label() -> None:
    read = session(
        text_message("user", "Please read the pages."),
        *(
            step(n, f"page {n}\nERR-99{n} in /srv/page/x{n}.sh\n{LONG}", command=f"cat page_{n}")
            for n in range(20)
        ),
        text_message("assistant", "I have read them."),
    )
    once = compress(read, target_tokens=2_000).messages
    goes_on = session(once, text_message("user", "Go on."), *(step(n, LONG) for n in range(30, 60)))

    quoted = 0
    for target in range(400, 2_400, 100):
        view = compress(goes_on, target_tokens=target).messages
        for note in (m["content"] for m in view if "Excerpts" in str(m["content"])):
            label = ""
            for line in note.split("\n"):
                if re.match(r"\[[A-Z]", line) and " tokens, " not in line:
                    label = label + line if line.startswith(("[Result;", "[Result]")) else line
                if found := re.search(r"ERR-99(\d+) in", line):
                    quoted += 1
                    assert re.search(rf"page_{found[1]}\b", label)
            assert not re.search(r"ref [0-9a-f]{1,11}(?![0-9a-f])", note)
    assert quoted > 20


def test_a_label_does_not_repeat_what_stands_behind_it() -> None:
    command = "rm -rf build_dir/x_1 && make install_all\n" + "\n".join(
        f"echo src/part_{n}.py is done" for n in range(12)
    )
    messages = session(
        text_message("user", "Install it."), step(0, "ok", command=command, about="x" * 5),
        *(step(n, LONG) for n in range(1, 7)), text_message("user", "Go on."),
    )  # fmt: skip

    view = texts(extract(messages, 0.04).messages)

    assert "rm -rf build_dir/x_1 && make install_all" in view
    assert "[Bash: rm -rf build_dir" not in view

"""Calls in the assistant's texts, results in the user's role: which are read, and written back."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from provider import refused
from text_harnesses import HARNESSES, Harness, Messages, said, worked

from context_compression import Result, Session, compress, count_tokens
from context_compression.conversation import Message, Text, assistant, parse, user, user_words
from context_compression.conversation.text_protocol import last_command, read, written
from context_compression.evidence import constraints_in
from context_compression.testing import Run, tool_step

TASK = (
    "Mend the reader of dates in lib/dates.rb. Never change the public names. The report of "
    "2031-04-12 shows the fault: the month is off by one."
)
RULES = [TASK[start:stop] for start, stop in constraints_in(TASK)]
RUNS = [
    (
        f"ruby test/part_{n}.rb --seed {n * 17}",
        "\n".join(f"line {k} of part {n}: You must never call step_{k} twice." for k in range(90)),
        n % 2,
    )
    for n in range(8)
]
every_harness = pytest.mark.parametrize("harness", HARNESSES.values(), ids=HARNESSES)
every_shape = pytest.mark.parametrize("shape", ["openai", "anthropic"])


def texts(messages: Messages) -> list[str]:
    """The texts of the messages, whatever their shape."""
    return [
        content if isinstance(content, str) else "\n".join(block["text"] for block in content)
        for content in (message["content"] for message in messages)
    ]


def of_user(said: list[str]) -> list[bool]:
    """After `read`, for each of the user's texts: whether it is a result."""
    messages = [(user, assistant)[n % 2](text) for n, text in enumerate(said)]
    return [bool(message.results) for message in read(messages)[::2]]


@every_harness
def test_each_output_is_the_result_of_the_command_before_it(harness: Harness) -> None:
    messages = read(parse(worked(harness, TASK, RUNS, last="Thanks. Now the docs.")).messages)

    calls = [call for message in messages for call in message.calls]
    results = [result for message in messages for result in message.results]

    assert [result.call_id for result in results] == [call.id for call in calls]
    assert len(results) == len(RUNS)
    assert all(
        command in call.arguments["command"]
        for call, (command, *_) in zip(calls, RUNS, strict=True)
    )
    assert [user_words(m) for m in messages if user_words(m)] == [TASK, "Thanks. Now the docs."]


@pytest.mark.parametrize(
    "typed",
    [
        "Exit code 1 again, why? Never use sudo.",
        "Stdout is empty, and you must not write to stderr.",
        "Tool output is far too long. Show at most ten lines.",
        "Terminal results please, not prose!",
        "Observation of mine: always run the linter first, then the tests. Keep to that.",
        "<error>\nTypeError: x is undefined\n</error>\nMend that, but leave the API as it is.",
    ],
)
def test_what_the_user_says_about_an_output_is_no_result(typed: str) -> None:
    said = ["Write a parser.", "Here it is, as you wished.", typed, "I see.", "Go on."]

    assert of_user(said) == [False, False, False]


@pytest.mark.parametrize(
    "replies",
    [
        ["Question: how do i sort this", "Question: and how do i print it", "Question: is it fast"],
        ["Question: why is this slow?", "Question: can it be faster?", "Question: who calls it?"],
        [
            "# Next part\nPlease add a test for that.",
            "# Last part\nPlease add docs.",
            "# Done\nOk?",
        ],
        ["[Anna] Use a list there.", "[Anna] Rename it to total.", "[Anna] And add a comment."],
        ["Better: make it shorter", "Better: use a set there", "Better: no recursion please"],
    ],
)
def test_nothing_is_learnt_from_what_a_user_types_after_code(replies: list[str]) -> None:
    said = ["Write me a function."]
    for n, reply in enumerate(replies):
        said += [f"Here:\n\n```python\ndef f{n}():\n    pass\n```", reply]

    assert not any(of_user(said))


@pytest.mark.parametrize(
    "openings",
    [
        ("Anna: ", "Ben: "),
        ("[2031-05-02 10:15] ", "[2031-05-02 10:16] "),
        ("**Anna**: ", "**Ben**: "),
        ("(Monday, May 5) Anna: ", "(Monday, May 5) Ben: "),
    ],
)
def test_a_talk_of_two_whose_texts_begin_alike_has_no_protocol(openings: tuple[str, str]) -> None:
    sentences = ("I went to the lake with my sister", "we saw herons there", "it was cold, though")
    talk = [
        openings[n % 2] + sentences[n % 3] + f" at number {n}, and stayed for a while."
        for n in range(12)
    ]

    assert not any(of_user(talk))


def test_a_conversation_with_tool_blocks_is_left_as_it_is() -> None:
    fenced = HARNESSES["fenced"]
    messages = [
        *worked(fenced, TASK, RUNS[:3], "anthropic"),
        *tool_step([Run("a", "Bash", {"command": "ls"}, "a.py")], "anthropic"),
    ]
    parsed = parse(messages).messages

    assert all(one is other for one, other in zip(read(parsed), parsed, strict=True))


PIECES = st.sampled_from(
    [
        "```", "```bash", "~~~", "````", "\n", "\n\n", "<run>", "</run>", "</a>", "<a", "<a b='c'>",
        "Action: x", "Action Input: {}", "Observation:", "Tool:", "ls -la", " ", "é", "\r\n", "\t",
        "<output>", "</output>", "[x] Result:", "<returncode>0</returncode>",
        "# heading", "$ ", ">",
    ]
)  # fmt: skip
TEXTS = st.lists(st.one_of(PIECES, st.text(max_size=8)), max_size=12).map("".join)
BLOCKS = st.lists(TEXTS.map(Text), max_size=3).map(tuple)
MESSAGES = st.lists(st.builds(Message, st.sampled_from(["user", "assistant"]), BLOCKS), max_size=9)


@given(messages=MESSAGES)
def test_what_is_read_is_written_as_the_same_texts(messages: list[Message]) -> None:
    back = [written(message) for message in read(messages)]

    assert [m.role for m in back] == [m.role for m in messages]
    assert [m.text for m in back] == [m.text for m in messages]


@given(text=TEXTS)
def test_the_parts_of_a_command_are_in_order_and_within_the_text(text: str) -> None:
    if command := last_command(text):
        places = (0, command.start, command.body, command.body_stop, command.stop, len(text))

        assert [*places] == sorted(places)


@pytest.mark.parametrize(
    "repeated", ["<a", "</a", "</a>", "```", "```\n", "<<EOF\n", "\n", " ", "Action:", "(*#["]
)
def test_a_long_text_of_signs_is_read_to_its_end(repeated: str) -> None:
    text = repeated * (500_000 // len(repeated))
    messages = [user("Go."), assistant(text), user(text), assistant("x\n" + text), user("Done.")]

    assert [written(m).text for m in read(messages)] == [m.text for m in messages]


def compressed(messages: Messages, share: float, **options: Any) -> Result:
    return compress(messages, target_tokens=int(count_tokens(messages) * share), **options)


@pytest.mark.slow
@every_harness
@every_shape
@pytest.mark.parametrize("share", [0.12, 0.3, 0.6])
def test_a_view_is_valid_and_says_what_the_user_asked(
    harness: Harness, shape: str, share: float
) -> None:
    messages = worked(harness, TASK, RUNS, shape)

    result = compressed(messages, share)
    shown = texts(result.messages)

    assert result.target_met
    assert refused(result.messages, shape) == []
    assert all(rule in "\n".join(shown) for rule in (TASK, *RULES))
    assert {id(m) for m in result.messages} & {id(m) for m in messages}
    for before in messages:
        if id(before) not in {id(message) for message in result.messages}:
            assert before in result.originals.values()


@every_harness
def test_an_output_gives_no_rules_and_no_requests(harness: Harness) -> None:
    messages = worked(harness, TASK, RUNS)

    result = compressed(messages, 0.3)

    assert result.loss["constraints"].total == len(RULES)
    assert result.loss["user requests"].total == 1


@every_harness
def test_a_long_output_becomes_a_preview(harness: Harness) -> None:
    messages = worked(harness, TASK, RUNS)

    view = compressed(messages, 0.7, strategy="offload").messages

    assert any("context_restore" in text or "; ref " in text for text in texts(view))
    assert texts(view)[1::2] == texts(messages)[1::2]


@pytest.mark.slow
@every_harness
@every_shape
def test_what_a_session_compressed_comes_back(harness: Harness, shape: str, tmp_path: Path) -> None:
    messages = worked(harness, TASK, RUNS, shape)
    session = Session(tmp_path, "text")
    session.record(*messages)

    result = session.compress(target_tokens=count_tokens(messages) // 4)

    assert result.changed
    assert all(session.original(ref) == result.originals[ref] for ref in result.originals)
    assert session.undo() == messages


@every_harness
def test_a_view_is_compressed_again_like_the_conversation(harness: Harness) -> None:
    messages = worked(harness, TASK, RUNS)
    for strategy in ("offload", "extract"):
        once = compressed(messages, 0.5, strategy=strategy).messages

        said = [user_words(message) for message in read(parse(once).messages)]
        again = compressed(once, 0.6)

        assert [words for words in said if words] == [TASK]
        assert refused(again.messages, "openai") == []
        assert again.loss["user requests"].total == 1


@every_shape
def test_the_remark_before_a_command_has_a_ref_of_its_own_that_a_session_restores(
    shape: str, tmp_path: Path
) -> None:
    remark = "The fault may lie in the reader. " * 60
    messages = [
        said("user", TASK, shape),
        said("assistant", f"{remark}\nAction: shell\nAction Input: ls lib", shape),
        said("user", "Observation: dates.rb\n" * 900, shape),
        *worked(HARNESSES["ReAct"], "Go on.", RUNS, shape),
    ]
    session = Session(tmp_path, "text")
    session.record(*messages)

    result = session.compress(target_tokens=count_tokens(messages) // 8, strategy="extract")

    assert any(original == remark + "\n" for original in result.originals.values())
    assert all(session.original(ref) == result.originals[ref] for ref in result.originals)
    assert session.store.verify() == []


def test_an_output_in_two_parts_is_restored_as_one(tmp_path: Path) -> None:
    messages = worked(HARNESSES["fenced"], TASK, RUNS, "anthropic")
    for message in messages[2::2]:
        text = message["content"][0]["text"]
        message["content"] = [{"type": "text", "text": part} for part in (text[:90], text[90:])]
    session = Session(tmp_path, "text")
    session.record(*messages)

    result = session.compress(target_tokens=count_tokens(messages) // 3)

    assert result.changed
    assert all(session.original(ref) == result.originals[ref] for ref in result.originals)

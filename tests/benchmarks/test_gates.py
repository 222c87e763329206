"""What the gates ask: a view that holds the thing is worth 1, one without it 0."""

from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest

pytestmark = pytest.mark.slow

Messages = list[dict[str, Any]]
Script = Callable[[str], ModuleType]

FILLER = "The quick brown fox jumps over the lazy dog and runs through the wide green wood.\n"
TASK = "The parser must not accept an empty header line."
OUTCOME = "3 failed, 11 passed in 0.52s"
REVERT = "git checkout src/parser.py"
ADOPTED = "We adopted a grey kitten called Mortimer in Lisbon last November."


def user(text: str) -> dict[str, Any]:
    return {"role": "user", "content": [{"type": "text", "text": text}]}


def assistant(text: str) -> dict[str, Any]:
    return {"role": "assistant", "content": [{"type": "text", "text": text}]}


def step(number: int, command: str, result: str) -> Messages:
    call = {"type": "tool_use", "id": f"c{number}", "name": "bash", "input": {"command": command}}
    answer = {"type": "tool_result", "tool_use_id": f"c{number}", "content": result}
    return [{"role": "assistant", "content": [call]}, {"role": "user", "content": [answer]}]


def software_task() -> Messages:
    """A test run of about a tenth in the middle, a revert before it, and a quiet end."""
    begin = [m for n in range(5) for m in step(n, f"cat {n}", FILLER * 60)]
    middle = [*step(5, f"{REVERT} && ls", "ok"), *step(6, "pytest", f"{FILLER * 60}{OUTCOME}")]
    end = [m for n in range(7, 12) for m in step(n, f"cat {n}", FILLER * 60)]
    return [user("Repair it."), *begin, *middle, *end]


def talk() -> Messages:
    """Two people; what is asked later stands at the beginning."""
    said = [user("Hello there."), assistant(ADOPTED)]
    for number in range(60):
        speak = user if number % 2 == 0 else assistant
        said.append(speak(f"Harvest number {number} of the orchard brought pears, plums, quinces."))
    return said


def recorded(script: Script, kind: str, messages: Messages, **more: Any) -> Any:
    saved = {"id": "own", "messages": messages, **more}
    return script("field.conversations").conversation(saved, kind)


def places(script: Script, kind: str, messages: Messages, **more: Any) -> dict[str, Any]:
    """The places of a conversation, each under the names of its gates."""
    found = script("field.places").places(recorded(script, kind, messages, **more))
    return {gate: place for place in found for gate in place.measures if gate != "marks"}


def worth(script: Script, place: Any, gate: str, view: Messages) -> float:
    return place.measures[gate](script("field.view").View(view))


def asked(*evidence: int) -> list[dict[str, Any]]:
    return [{"q": "Which kitten was adopted in Lisbon?", "a": "Mortimer", "ev": [*evidence]}]


def test_a_view_that_holds_the_sentences_of_the_task_passes_the_gate(script: Script) -> None:
    request = user(f"<pr_description>\n{TASK} ok.\n</pr_description> Work in /srv.")
    work = [m for n in range(9) for m in (assistant(f"ls {n}"), user(FILLER * 9))]

    place = places(script, "minitext", [request, *work])["task"]

    assert worth(script, place, "task", [user(f"Quoted: {TASK}")]) == 1
    assert worth(script, place, "task", [user("Work in /srv.")]) == 0
    assert place.results == {at for at in range(1, len(place.history)) if at % 2 == 0}


def test_a_test_run_that_was_not_seen_must_end_in_the_newest_message(script: Script) -> None:
    place = places(script, "mini", software_task())["newest"]

    run = place.history[-2:]
    assert worth(script, place, "newest", run) == 1
    assert worth(script, place, "newest", [*run, user("more")]) == 0
    assert worth(script, place, "newest", [user("more")]) == 0


@pytest.mark.parametrize(("gate", "line"), [("last outcome", OUTCOME), ("last revert", REVERT)])
def test_the_state_of_the_work_is_in_view_or_not(script: Script, gate: str, line: str) -> None:
    place = places(script, "mini", software_task())[gate]

    assert worth(script, place, gate, place.history) == 1
    assert worth(script, place, gate, [user(f"…\n{line}\n…")]) == 1
    assert worth(script, place, gate, place.history[:5]) == 0


def test_a_session_without_tests_and_reverts_has_no_state_to_ask_for(script: Script) -> None:
    messages = [user("Look around."), *(m for n in range(4) for m in step(n, "ls", FILLER))]

    assert places(script, "mini", messages) == {}


@pytest.mark.parametrize(("kind", "gate"), [("locomo", "talk of two"), ("beam", "chats")])
def test_a_question_counts_if_all_its_evidence_is_in_view(
    script: Script, kind: str, gate: str
) -> None:
    messages = talk()
    place = places(script, kind, messages, qa=asked(1, 20))[gate]

    assert worth(script, place, gate, [messages[1], messages[20]]) == 1
    assert worth(script, place, gate, [messages[1]]) == 0
    assert worth(script, place, gate, []) == 0


def test_the_words_of_a_turn_count_only_close_together(script: Script) -> None:
    told = script("field.words").Told
    scattered = "\n".join(f"{word}\n{FILLER * 3}" for word in ADOPTED.split())

    assert told([ADOPTED]).tells(ADOPTED)
    assert told(["Adopted: a grey kitten, Mortimer. In Lisbon."]).tells(ADOPTED)
    assert not told([scattered]).tells(ADOPTED)
    assert told([]).tells("Oh, and you?")


def test_only_what_a_method_wrote_itself_counts_as_marks(script: Script) -> None:
    view, own_words = script("field.view").View, script("field.view").own_words
    history = view([user("alpha beta gamma delta\nepsilon")])

    assert own_words(view([user("epsilon")]), history) == 0
    assert own_words(view([user("[Compressed History] nothing")]), history) == 1
    part = own_words(view([user("alpha beta [… 1 word] delta")]), history)
    assert 0 < part < 1


def test_after_five_compressions_the_beginning_is_there_or_not(script: Script) -> None:
    growing, view = script("field.growing"), script("field.view").View
    conversation = recorded(script, "locomo", talk(), qa=asked(1))

    assert growing.judged(conversation, view(talk()[:2]))[0] == 1
    assert growing.judged(conversation, view(talk()[-2:]))[0] == 0
    parts = growing.growth(conversation.messages)
    assert [len(part) > 0 for part in parts] == [True] * 5
    assert [message for part in parts for message in part] == conversation.messages


def test_every_rule_sees_the_conversation_five_times(script: Script) -> None:
    conversation = recorded(script, "locomo", talk(), qa=asked(1))

    made = {name: make() for name, make in script("field.growing").grown(conversation, [])}

    assert made["last-N"][-1] == conversation.messages[-1]
    assert made["task + last-N"][0] == conversation.messages[0]
    assert {"context-compression", "random", "head + tail", "observation masking"} <= {*made}


def test_a_search_finds_what_was_archived_or_not(script: Script) -> None:
    searched = script("field.searching").searched
    found = [*searched(recorded(script, "locomo", talk(), qa=asked(1)))]
    lost = [*searched(recorded(script, "locomo", talk(), qa=asked(33)))]

    values = {(each.method, each.column): each.value for each in found}
    assert values["context-compression", "talk of two: all of it"] == 1
    assert values["plain BM25", "talk of two: any of it"] == 1
    assert values["last-N", "talk of two: any of it"] == 0
    assert {each.value for each in lost if each.method == "plain BM25"} == {0}


def test_a_measurement_gives_figures_of_all_methods_with_their_true_sizes(script: Script) -> None:
    gates, scores = script("gates"), script("field.scores")
    task = gates.Task(shares=(0.25,), parts=("gates",))

    found = gates.measured(recorded(script, "mini", software_task()), task)

    table, marks = scores.tables(found)
    rules = {*script("plain_rules").PLAIN}
    assert {*table.rows} == {"context-compression"} | rules == {*marks.rows}
    assert table.rows["observation masking"]["last outcome"].size > 0.1
    assert table.rows["last-N"]["newest"].value == 1
    assert 0 < table.rows["last-N"]["newest"].size <= 0.3


def test_a_method_that_fails_says_why(script: Script) -> None:
    gates, places = script("gates"), script("field.places")
    failed, peer = script("peer_processes").Failed, script("peers").Peer
    [place, *_] = places.places(recorded(script, "mini", software_task()))

    def fail(messages: Messages, target: float) -> Messages:
        raise failed("ValueError: no such model")

    scores = [*gates.at_place(place, [0.25], [peer("a peer", fail)])]

    [told] = script("field.scores").failures(scores)
    count = len(place.measures)
    expected = f"a peer gave no view in {count} of {count} cases: ValueError: no such model."
    assert told == expected


def test_a_folder_without_recordings_is_an_error_that_names_it(
    script: Script, tmp_path: Any
) -> None:
    gates = script("gates")

    with pytest.raises(SystemExit, match="no recordings in"):
        gates.everything(tmp_path, gates.Task(), None, 1)


def test_the_second_judge_is_a_part_of_the_gates_that_can_be_left_out(
    script: Script, tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    gates = script("gates")
    judged: list[int] = []

    def everything(share: float, limit: int, processes: int) -> list[str]:
        judged.append(limit)
        return ["a table"]

    def load(folder: Any, kind: str) -> list[Any]:
        return [recorded(script, kind, software_task())] if kind == "mini" else []

    monkeypatch.setattr(gates.likelihood, "everything", everything)
    monkeypatch.setattr(gates, "load", load)

    with_it = gates.everything(tmp_path, gates.Task(parts=("likelihood",)), 3, 1)
    without = gates.everything(tmp_path, gates.Task(parts=("search",)), 3, 1)

    assert (with_it, without, judged) == (["a table"], [], [3])
    assert "likelihood" in gates.Task().parts

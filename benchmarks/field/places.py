"""The gates: where a history is compressed, and what is asked of its view.

task         sentences of the task that are in view; cut at 60 %, results come in the user's role
newest       a test run that the model has not seen yet: the line that says how it ended is in
             the newest message of the view
last outcome, last revert
             the line that says how the last test run ended, and the last command that took
             changes back, are in view; cut at 75 %
talk of two, chats
             questions of which all evidence is in view
marks        share of a view that the method wrote itself: marks, labels, stubs, notes
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial

from estimate import block_text, message_tokens, whole_tokens
from plain_rules import tokens_of
from recordings import Messages

from field.conversations import Conversation, Question
from field.view import View, own_words
from field.wanted import (
    NEWEST_START,
    last_outcome,
    last_revert,
    outcomes,
    task_sentences,
)  # fmt: skip
from field.words import spaced

TASK_CUT, STATE_CUT = 0.6, 0.75
NEWEST_BETWEEN = (0.4, 0.95)  # of a session, where a test run may be taken
NEWEST_RUNS = 3  # of a session, at most
LONG_RESULT = 800  # tokens, from which a result is likely to be shortened
NAMES = {"locomo": "talk of two", "beam": "chats"}
TASK, NEWEST, OUTCOME, REVERT, MARKS = "task", "newest", "last outcome", "last revert", "marks"
ASKED = (TASK, NEWEST, OUTCOME, REVERT, *NAMES.values(), MARKS)


@dataclass(frozen=True)
class Place:
    """A history to compress.

    Attributes:
        conversation: the recording's id.
        measures: by gate, what gives a view's value from 0 to 1.
        results: indices of messages that are results though they are texts of the user.
    """

    conversation: str
    history: Messages
    measures: Mapping[str, Callable[[View], float]]
    results: frozenset[int] = field(default=frozenset())


def places(conversation: Conversation) -> Iterator[Place]:
    """The places of one recording, each with the share of marks as one more measure."""
    for place in _BY_KIND[conversation.kind](conversation):
        marks = partial(own_words, history=View(place.history))
        measures = {**place.measures, MARKS: marks}
        yield Place(place.conversation, place.history, measures, place.results)


def task_place(conversation: Conversation) -> Iterator[Place]:
    history = conversation.before(TASK_CUT)
    if wanted := task_sentences(history):
        results = frozenset(at for at in range(1, len(history)) if history[at]["role"] == "user")
        yield Place(conversation.id, history, {TASK: partial(share_held, wanted)}, results)


def session_places(conversation: Conversation) -> Iterator[Place]:
    yield from newest_places(conversation)
    yield from state_place(conversation)


def newest_places(conversation: Conversation) -> Iterator[Place]:
    messages = conversation.messages
    low, high = (share * tokens_of(messages) for share in NEWEST_BETWEEN)
    done, found = 0.0, 0
    for at, message in enumerate(messages):
        done += message_tokens(message)
        if not low < done < high or found == NEWEST_RUNS:
            continue
        ended = [*outcomes(message)]
        if ended and whole_tokens(block_text(message["content"][0])) >= LONG_RESULT:
            found += 1
            line = spaced(ended[-1])[:NEWEST_START]
            measure = partial(in_newest, line)
            yield Place(conversation.id, messages[: at + 1], {NEWEST: measure})


def state_place(conversation: Conversation) -> Iterator[Place]:
    history = conversation.before(STATE_CUT)
    wanted = {OUTCOME: last_outcome(history), REVERT: last_revert(history)}
    measures = {gate: partial(share_held, [line]) for gate, line in wanted.items() if line}
    if measures:
        yield Place(conversation.id, history, measures)


def talk_place(conversation: Conversation) -> Iterator[Place]:
    said = View(conversation.messages).texts
    measure = partial(share_answered, conversation.questions, said)
    gate = NAMES[conversation.kind]
    yield Place(conversation.id, conversation.messages, {gate: measure})


_BY_KIND: Mapping[str, Callable[[Conversation], Iterator[Place]]] = {
    "minitext": task_place,
    "mini": session_places,
    "locomo": talk_place,
    "beam": talk_place,
}


def share_held(wanted: list[str], view: View) -> float:
    """The share of texts that a view holds word for word."""
    return sum(text in view.whole for text in wanted) / len(wanted)


def in_newest(line: str, view: View) -> float:
    return float(line in view.newest)


def share_answered(questions: tuple[Question, ...], said: list[str], view: View) -> float:
    """The share of questions of which a view tells all evidence."""
    return sum(is_answered(question, said, view) for question in questions) / len(questions)


def is_answered(question: Question, said: list[str], view: View) -> bool:
    return all(view.told.tells(said[at]) for at in question.evidence)

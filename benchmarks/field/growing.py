"""A session that grows and is compressed five times: what is left of its beginning?"""

import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from itertools import pairwise
from pathlib import Path

import estimate
from comparison import OURS
from estimate import message_tokens
from peers import Peer
from plain_rules import PLAIN, tokens_of
from recordings import Messages

from context_compression import BudgetTooSmall, Session
from field.conversations import Conversation
from field.methods import ours
from field.places import NAMES, is_answered
from field.view import View, share_of

TIMES = 5
SHARES: Mapping[str, float] = {"locomo": 0.25, "beam": 0.1}
BEGINNING = 0.4  # of the messages, whose evidence is asked for
IN_ONE = f"{OURS}, in one"


def grown(
    conversation: Conversation, peers: Sequence[Peer]
) -> Iterator[tuple[str, Callable[[], Messages]]]:
    """The methods, each with what makes its view of the conversation after five compressions."""
    target = SHARES[conversation.kind] * tokens_of(conversation.messages)
    parts = growth(conversation.messages)
    yield OURS, partial(in_session, parts, target)
    yield IN_ONE, partial(ours, conversation.messages, target)
    rules = {**PLAIN, **{peer.name: peer.view for peer in peers}}
    for name, rule in rules.items():
        yield name, partial(step_by_step, rule, parts, target)


def column_of(conversation: Conversation) -> str:
    return f"{NAMES[conversation.kind]}, {SHARES[conversation.kind]:.0%}".replace("%", " %")


def growth(messages: Messages) -> list[Messages]:
    """Five parts of about the same size; each except the last ends with a message of the user."""
    fifth = tokens_of(messages) / TIMES
    stops = [0]
    done = 0.0
    for at, message in enumerate(messages):
        done += message_tokens(message)
        if len(stops) < TIMES and done >= len(stops) * fifth and message["role"] == "user":
            stops.append(at + 1)
    return [messages[start:stop] for start, stop in pairwise([*stops, len(messages)])]


def in_session(parts: Sequence[Messages], target: float) -> Messages:
    """The view of a session that recorded each part and was then compressed."""
    with tempfile.TemporaryDirectory() as folder:
        session = Session(Path(folder, ".compression"), "grown", counter=estimate.whole_tokens)
        for part in parts:
            session.record(*part)
            compressed(session, target)
        return [*session.view()]


def compressed(session: Session, target: float) -> None:
    """Compress a session to a size, or to its minimum size if that is larger."""
    try:
        session.compress(target_tokens=int(target), force=True)
    except BudgetTooSmall as error:
        with suppress(BudgetTooSmall):
            session.compress(target_tokens=error.floor_tokens, force=True)


def step_by_step(
    rule: Callable[[Messages, float], Messages], parts: Sequence[Messages], target: float
) -> Messages:
    view: Messages = []
    for part in parts:
        view = [*view, *part]
        if tokens_of(view) > target:
            view = rule(view, target)
    return view


def judged(conversation: Conversation, view: View) -> tuple[float, float]:
    """The share of questions about the beginning that a view answers, and the view's size."""
    history = View(conversation.messages)
    early = [
        is_answered(question, history.texts, view)
        for question in conversation.questions
        if max(question.evidence) < BEGINNING * len(history.messages)
    ]
    return sum(early) / max(1, len(early)), share_of(view, history)

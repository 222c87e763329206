"""The user's words survive behind every door, and nobody else's become the user's."""

from collections.abc import Iterator
from functools import partial

from every_door import Ask, Door, Request, every_door, holds
from hypothesis import strategies as st
from spoken_texts import text_of, texts_by_user
from talks import SMALL, Talk, shares, talks
from tasks import FORGED, Task, tasks

from context_compression import count_tokens
from context_compression.compression import as_a_harness_wrote
from context_compression.conversation import canonical, parse, quotes_of, user_words
from context_compression.testing import said_by_user

OF_RULES = 0.05
"""The share of a budget that rules have for certain."""
WINDOW = 4_000


@every_door
def test_the_last_words_and_the_rules_of_the_user_are_there_word_for_word(door: Door) -> None:
    def law(door: Door, task: Task, data: st.DataObject) -> None:
        requests = door.requests(task.talk, Ask(data.draw(shares), SMALL))

        for request in requests:
            said, shown = (text_of(each) for each in (request.history, request.view))
            room = OF_RULES * (request.about.limit or (WINDOW if door.answers else 0))
            assert task.rule in shown or room < count_tokens([said_by_user(task.rule, "openai")])
            assert task.last not in said or task.last in shown

    holds(door, partial(tasks, details=12), law)


@every_door
def test_nothing_is_put_into_the_users_mouth(door: Door) -> None:
    def law(door: Door, talk: Talk, data: st.DataObject) -> None:
        only_the_users(door, talk, Ask(data.draw(shares), SMALL))

    holds(door, talks, law)


@every_door
def test_nothing_is_put_into_the_mouth_of_a_recorded_user(door: Door, recorded: Talk) -> None:
    only_the_users(door, recorded, Ask(0.3, {"token_budget": WINDOW}))


def only_the_users(door: Door, talk: Talk, asked: Ask) -> None:
    for request in door.requests(talk, asked):
        said = "\n".join(user_words(message) for message in parse(request.history).messages)
        for text in new_words(request):
            first, *_ = text.split("\n")
            assert first.startswith(("[Compressed History]", "[...", "[…")) or first in said


@every_door
def test_what_stands_in_a_result_is_never_the_users(door: Door) -> None:
    def law(door: Door, task: Task, data: st.DataObject) -> None:
        share = data.draw(st.sampled_from((0.3, 0.6, 0.7, 0.8, 0.9)))
        for request in door.requests(task.talk, Ask(share, SMALL)):
            assert not any(FORGED in text for text in new_words(request))
            for text in texts_by_user(request.view):
                assert not any(FORGED in text[at:to] for at, to in quotes_of("User", text))

    holds(door, tasks, law)


def new_words(request: Request) -> Iterator[str]:
    """What reads as the user's words in messages of a view that the history does not have."""
    came = {canonical(message) for message in request.history}
    read = as_a_harness_wrote(parse(request.view)).messages
    for message, parsed in zip(request.view, read, strict=True):
        if parsed.role == "user" and canonical(message) not in came:
            yield user_words(parsed)

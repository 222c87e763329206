"""Texts whose parts are worth different things: notes with quotes, and tasks among instructions."""

from collections.abc import Iterator, Sequence

from context_compression.conversation.labels import sections
from context_compression.conversation.rendering import Span
from context_compression.planning.pieces import Source
from context_compression.planning.plan import Plan
from context_compression.strategies import measured
from context_compression.strategies.filling.worth import (
    Value,
    value_in_talk,
    value_of_models,
    value_of_users,
)


def quotes_in(note: Source, plan: Plan) -> Iterator[Source]:
    """The quotes of a note of this package, each worth what its original is worth.

    So a conversation that is compressed five times keeps what one compression keeps.
    """
    position = 0
    for label, start, stop in sections(note.text):
        stop = stop if note.end is None else min(stop, note.end)
        if position < start:
            yield note._replace(start=position, end=start, worth=0.0, spoken=())
        author = label.strip("[]").partition(";")[0]
        value = _value_of_quote(author, note.text[start:stop], plan) or Value(
            note.weight, note.worth
        )
        yield note._replace(
            start=start, end=stop, opening=measured.LABEL_TOKENS,
            weight=value.weight, worth=value.worth, per_token=value.per_token,
        )  # fmt: skip
        position = stop
    if position < len(note.text) and note.end is None:
        yield note._replace(start=position)


def with_less_worth(source: Source, general: Sequence[Span]) -> Iterator[Source]:
    """A text of the user in parts, of which those with general instructions are worth less."""
    position = 0
    for start, stop in general:
        if position < start:
            yield source._replace(start=position, end=start)
        yield source._replace(
            start=start,
            end=stop,
            worth=0.0,
            per_token=0.0,
            weight=measured.PRINTED_WEIGHT,
            spoken=(),
        )
        position = stop
    if position < len(source.text):
        yield source._replace(start=position)


def _value_of_quote(author: str, quote: str, plan: Plan) -> Value | None:
    """The value of a quote by its author; `None` for others than user and assistant."""
    if author not in ("User", "Assistant"):
        return None
    if plan.is_talk_of_two:
        value = value_in_talk(quote)
        return value._replace(worth=value.worth + measured.CHOSEN_WORTH)
    tokens = plan.counter.text(quote)
    if author == "User":
        return value_of_users(quote, tokens)
    return value_of_models(quote, tokens, measured.ANSWER_WORTH)

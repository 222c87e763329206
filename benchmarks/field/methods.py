"""Ours, plain rules and peers, with one interface."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import estimate
from peers import Peer
from plain_rules import MASKING, PLAIN, USERS, masking, tokens_of, users_and_masked
from recordings import Messages

from context_compression import BudgetTooSmall, compress
from field.places import Place


@dataclass(frozen=True)
class Method:
    """A way to make a history smaller, to a number of tokens of `estimate.py`."""

    name: str
    view: Callable[[Messages, float], Messages]


def ours(messages: Messages, target: float) -> Messages:
    """Our view; if the target is below the minimum size, the view of the minimum size."""
    counter = estimate.whole_tokens
    try:
        return [*compress(messages, target_tokens=int(target), counter=counter).messages]
    except BudgetTooSmall as error:
        return [*compress(messages, target_tokens=error.floor_tokens, counter=counter).messages]


def methods(place: Place, peers: Sequence[Peer]) -> list[Method]:
    """All methods except ours; rules that mask results know what a result is at this place."""
    rules: Mapping[str, Callable[[Messages, float], Messages]] = {
        **PLAIN,
        MASKING: partial(masking, results=place.results),
        USERS: partial(users_and_masked, results=place.results),
    }
    plain = [Method(name, rule) for name, rule in rules.items()]
    return plain + [Method(peer.name, peer.view) for peer in peers]


def room_of(view: Messages, target: float) -> float:
    """The tokens that other methods get: our view's, where it could not be as small as asked."""
    return max(target, tokens_of(view))

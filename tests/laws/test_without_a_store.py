"""A store that cannot be written stops no request, and a refusal is in our words."""

from copy import deepcopy

from every_door import Ask, Door, every_door, holds
from hypothesis import strategies as st
from provider import refused
from talks import SMALL, Talk, shares, talks

from context_compression import count_tokens
from context_compression.errors import ContextCompressionError


@every_door
def test_a_request_goes_out_where_nothing_can_be_written(door: Door) -> None:
    def law(door: Door, talk: Talk, data: st.DataObject) -> None:
        dialect, messages = talk
        given, asked = deepcopy(messages), Ask(data.draw(shares), SMALL)
        try:
            with door.opened(talk, asked, blocked=True) as requests:
                pass
        except ContextCompressionError as error:
            assert not door.answers, error
            assert str(error)
            requests = []
        assert messages == given
        if door.answers and not door.replaces:
            assert requests or not messages
        for request in requests:
            assert bool(request.view) == bool(request.history)
            if not refused(request.history, dialect):
                assert refused(request.view, dialect) == []
            has_room = count_tokens(request.history) < SMALL["token_budget"] / 2
            if has_room and door.answers and not door.is_refused:
                assert request.view == request.history or request.about.told

    holds(door, talks, law)

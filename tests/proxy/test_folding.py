"""The exchanges with our tool come back into a client's history, wherever they were."""

import json
from collections.abc import Sequence
from math import inf
from random import Random
from time import process_time
from typing import Any

from hidden_exchanges import (
    APIS,
    RESTORE,
    REWRITES,
    Rewrite,
    Talk,
    as_it_is,
    by_user,
    calls_of,
    marked,
    response,
    results,
    said,
    shown,
)
from hypothesis import given
from hypothesis import strategies as st

from context_compression.conversation import (
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    is_by_model,
    parse,
)
from context_compression.integrations.apis import CHAT, Api, Json
from context_compression.proxy.folding import kept_exchange, unfold, unfolded

apis = st.sampled_from(APIS)
seeds = st.integers(0, 10**6)


class Provider:
    """What the provider saw in the last request, and what it and the client said since."""

    def __init__(self, talk: Talk) -> None:
        self.talk = talk
        self.recorded: list[Json] = []
        self.kept: list[Json] = []
        self.expected: list[Json] = []

    def turn(self, rewrite: Rewrite, *, forgets: bool = False) -> tuple[list[Any], list[Json]]:
        """One request of the client, until the client has an answer and results.

        Returns:
            What the proxy sends for the client's history, and what the provider expects.
        """
        talk = self.talk
        api, history = talk.api, rewrite(talk.api, talk.history, talk.random)
        known = self.recorded if forgets else [*self.recorded, *self.kept]
        sent = unfolded(known, history, api)
        expected = [*self.expected]
        self.recorded, self.kept, self.expected = [*sent], [], [*sent]
        responses = talk.answer()
        for parts in responses[:-1]:
            answers = {id: f"original {id}" for id in calls_of(parts, ours=True)}
            self.recorded += api.exchange(response(api, parts), answers)
            self.expected += [*said(api, parts), *results(api, [*answers], answers.__getitem__)]
        last = responses[-1]
        ours, others = calls_of(last, ours=True), calls_of(last, ours=False)
        answers = {id: f"original {id}" for id in ours}
        if ours:
            self.kept = kept_exchange(api, response(api, last), answers)
        self.expected += [*said(api, last), *results(api, [*ours, *others], "original {}".format)]
        talk.history += said(api, shown(responses))
        talk.history += results(api, others, "original {}".format)
        if not others:
            asked = by_user(api, talk.words())
            talk.history.append(asked)
            self.expected.append(asked)
        return sent, expected


def begun(api: Api, seed: int) -> Provider:
    talk = Talk(api, Random(seed))
    talk.history.append(by_user(api, talk.words()))
    provider = Provider(talk)
    provider.expected = [*talk.history]
    return provider


def words_of(messages: Sequence[Any]) -> list[Any]:
    """What a model reads of messages, without thinking: clients group and join as they like."""
    read: list[Any] = []
    for message in parse(messages).messages:
        for block in message.blocks:
            match block:
                case Thinking():
                    continue
                case Text(text=text):
                    one: Any = ("text", message.role, "".join(text.split()))
                    if read and read[-1][:2] == one[:2]:
                        one = (*one[:2], read.pop()[2] + one[2])
                case ToolCall(id=id, name=name):
                    one = ("call", id, name)
                case ToolResult(call_id=id, text=text):
                    one = ("result", id, text)
                case _:
                    raise AssertionError(block)
            read.append(one)
    return read


@given(apis, seeds)
def test_a_client_s_history_becomes_what_the_provider_saw(api: Api, seed: int) -> None:
    provider = begun(api, seed)

    for _ in range(8):
        sent, expected = provider.turn(as_it_is)

        assert sent == expected


@given(apis, seeds, st.sampled_from(REWRITES))
def test_it_does_so_however_the_client_writes_its_history(
    api: Api, seed: int, rewrite: Rewrite
) -> None:
    provider = begun(api, seed)

    for _ in range(8):
        recorded = provider.recorded
        sent, expected = provider.turn(rewrite)

        assert words_of(sent) == words_of(expected)
        assert unfold(recorded, sent, api).known == len(recorded)  # the prompt cache holds


@given(apis, seeds, st.sampled_from(REWRITES))
def test_without_what_was_kept_in_memory_a_history_is_as_valid_as_it_was(
    api: Api, seed: int, rewrite: Rewrite
) -> None:
    provider = begun(api, seed)

    for _ in range(8):
        sent, _ = provider.turn(rewrite, forgets=provider.talk.random.random() < 0.5)

        assert_paired(api, sent)
        visible = [
            word for word in words_of(sent) if "original r_" not in word and RESTORE not in word
        ]
        assert visible


@given(apis, seeds, st.data())
def test_a_history_that_was_cut_or_changed_stays_valid(
    api: Api, seed: int, data: st.DataObject
) -> None:
    provider = begun(api, seed)
    for _ in range(6):
        provider.turn(as_it_is)
    known, history = [*provider.recorded, *provider.kept], provider.talk.history
    cut = data.draw(st.integers(0, len(history)))
    step = data.draw(st.integers(0, len(history) - 1))
    changed = [*history]
    changed[step] = by_user(api, "Something else.")

    for given_history in (history[:cut], changed, [by_user(api, "New."), *history], history[cut:]):
        before = open_calls(api, given_history)
        sent = unfolded(known, given_history, api)

        assert open_calls(api, sent) == before


def test_what_the_model_thought_stands_where_it_thought_it() -> None:
    """Gateways write it in fields beside the content, which clients join."""
    asked, call = by_user(CHAT, "Why?"), ("call", "r_1", RESTORE)
    first = {**said(CHAT, [call])[0], "reasoning_content": "I look. ", "reasoning_details": [1]}
    exchange = [first, *results(CHAT, ["r_1"], "original {}".format)]
    then = {**said(CHAT, [("text", "", "It is red.")])[0], "reasoning_content": "I see."}
    joined = {**then, "reasoning_content": "I look. I see.", "reasoning_details": [1, 2]}

    sent = unfolded([asked, *exchange], [asked, joined], CHAT)

    assert sent == [asked, *exchange, {**then, "reasoning_details": [2]}]


@given(apis, seeds)
def test_it_is_put_back_once(api: Api, seed: int) -> None:
    provider = begun(api, seed)
    for _ in range(6):
        sent, _ = provider.turn(as_it_is)

        assert unfolded(sent, sent, api) == sent
        assert unfolded([*provider.recorded, *provider.kept], sent, api) == sent


@given(apis, seeds)
def test_messages_without_an_exchange_are_the_client_s_own_objects(api: Api, seed: int) -> None:
    provider = begun(api, seed)
    for _ in range(6):
        provider.turn(as_it_is)

    history = marked(api, provider.talk.history, provider.talk.random)
    sent = unfolded(provider.recorded, history, api)

    of_client = {id(message) for message in history}
    assert all(
        '"r_' in json.dumps(message) or id(message) in of_client
        for message in sent
        if not is_by_model(message)
    )


def calls_and_results(api: Api, messages: Sequence[Any]) -> tuple[list[str], list[str]]:
    read = parse(messages).messages
    calls = [call.id for message in read for call in message.calls]
    return calls, [result.call_id for message in read for result in message.results]


def open_calls(api: Api, messages: Sequence[Any]) -> set[str]:
    """The calls without results, and the results without calls."""
    if not messages:
        return set()
    calls, answered = calls_and_results(api, messages)
    return {*calls} ^ {*answered}


def assert_paired(api: Api, messages: Sequence[Any]) -> None:
    calls, answered = calls_and_results(api, messages)
    assert sorted(calls) == sorted({*calls}) and {*answered} <= {*calls}
    assert {*calls} == {*answered}


def test_time_is_linear() -> None:
    for api in APIS:
        seconds = [time_of(api, turns) for turns in (50, 400)]

        assert seconds[1] < 20 * max(seconds[0], 0.002), api.name


def time_of(api: Api, turns: int) -> float:
    provider = begun(api, 7)
    talk = provider.talk
    recorded: list[Json] = [*talk.history]
    for _ in range(turns):
        ours, last = talk.says(restores=True, works=False), talk.says(restores=True, works=True)
        answers = dict.fromkeys(calls_of(ours, ours=True), "original")
        recorded += api.exchange(response(api, ours), answers)
        recorded += said(api, last)
        mine, others = calls_of(last, ours=True), calls_of(last, ours=False)
        recorded += results(api, [*mine, *others], "original".format)
        talk.history += said(api, shown([ours, last])) + results(api, others, "original".format)
    best = inf
    for _ in range(3):
        began = process_time()
        assert unfold(recorded, talk.history, api).known == len(recorded)
        best = min(best, process_time() - began)
    return best

"""The scripted Messages API speaks as the real client expects."""

from http.client import HTTPConnection
from threading import Thread
from urllib.parse import urlsplit

import anthropic
import pytest
from anthropic.types import Message, MessageParam

from context_compression.testing.messages_api import (
    Answer,
    MessagesAPI,
    dropped,
    rate_limited,
    slow,
    tool_call,
)

MODEL = "claude-test-1"
QUESTION: list[MessageParam] = [{"role": "user", "content": "How far are we?"}]


def client(api: MessagesAPI) -> anthropic.Anthropic:
    return anthropic.Anthropic(api_key="sk-secret", base_url=api.base_url, max_retries=0)


def streamed(api: MessagesAPI) -> Message:
    with (
        client(api) as asking,
        asking.messages.stream(model=MODEL, max_tokens=50, messages=QUESTION) as stream,
    ):
        return stream.get_final_message()


def whole(api: MessagesAPI) -> Message:
    with client(api) as asking:
        return asking.messages.create(model=MODEL, max_tokens=50, messages=QUESTION)


@pytest.mark.parametrize("answer", [Answer("Half way."), tool_call(), Answer("")])
def test_a_message_is_the_same_streamed_and_whole(answer: Answer):
    with MessagesAPI([answer]) as api:
        pieces, piece = streamed(api), whole(api)

    assert pieces.to_dict() == piece.to_dict()
    assert pieces.stop_reason == answer.stop_reason


def test_the_script_goes_on_and_its_last_entry_stays():
    with MessagesAPI(["one", lambda body: f"two for {body['model']}"]) as api:
        said = [
            block.text for _ in range(3) for block in whole(api).content if block.type == "text"
        ]

    assert said == ["one", "two for claude-test-1", "two for claude-test-1"]


def test_tokens_are_counted_beside_the_script():
    with MessagesAPI(["one"]) as api, client(api) as asking:
        few = asking.messages.count_tokens(model="m", messages=QUESTION)
        many = asking.messages.count_tokens(model="m", messages=QUESTION * 9)
        first = whole(api)

    assert 0 < few.input_tokens < many.input_tokens
    assert "one" in str(first.content)


def test_requests_are_kept_without_the_key():
    with MessagesAPI() as api:
        connection = HTTPConnection(urlsplit(api.base_url).netloc)
        keys = {"X-Api-Key": "sk-secret", "Authorization": "Bearer sk-secret"}
        connection.request("POST", "/v1/messages", '{"model": "m", "messages": []}', keys)
        connection.getresponse().read()
        connection.close()
        whole(api)

    assert [request.path for request in api.requests] == ["/v1/messages"] * 2
    assert api.requests[1].body == {"model": MODEL, "max_tokens": 50, "messages": QUESTION}
    assert "sk-secret" not in repr(api.requests)


def test_another_key_is_refused():
    with (
        MessagesAPI(["one"], api_key="sk-other") as api,
        pytest.raises(anthropic.AuthenticationError),
    ):
        whole(api)


def test_a_refusal_brings_its_headers():
    with MessagesAPI([rate_limited(7)]) as api, pytest.raises(anthropic.RateLimitError) as raised:
        whole(api)

    assert raised.value.response.headers["retry-after"] == "7"
    assert raised.value.type == "rate_limit_error"


def test_a_whole_message_can_be_dropped_before_it_begins():
    with MessagesAPI([dropped(stop_after=0)]) as api, pytest.raises(anthropic.APIConnectionError):
        whole(api)


def test_leaving_ends_every_wait():
    ended: list[str] = []

    def ask(api: MessagesAPI) -> None:
        try:
            whole(api)
        except anthropic.APIConnectionError:
            ended.append("the connection closed")

    with MessagesAPI([slow()]) as api:
        asking = Thread(target=ask, args=(api,))
        asking.start()
        assert api.wait_for(1)
    asking.join()

    assert ended == ["the connection closed"]

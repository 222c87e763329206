"""The scripted Responses API speaks as the real client expects."""

from collections.abc import Iterator

import openai
import pytest
from openai.types.responses import Response, ResponseStreamEvent

from context_compression.testing.responses_api import (
    ModelResponse,
    ResponsesAPI,
    dropped,
    function_call,
    rate_limited,
    reasoning,
    refused,
    too_long,
    tool_call,
    truncated,
)

MODEL = "gpt-test-1"
QUESTION = "How far are we?"
CALLING = ModelResponse(
    "Let me look.",
    before=[reasoning("rs_1", "gAAAAAB", "The reader first.", "Then the writer.")],
    output=[function_call("call_7", "Read", path="src/reader.py")],
)


def client(api: ResponsesAPI) -> openai.OpenAI:
    return openai.OpenAI(api_key="sk-secret", base_url=api.base_url, max_retries=0)


def events(api: ResponsesAPI) -> Iterator[ResponseStreamEvent]:
    with client(api) as asking:
        yield from asking.responses.create(model=MODEL, input=QUESTION, stream=True)


def streamed(api: ResponsesAPI) -> Response:
    with client(api) as asking, asking.responses.stream(model=MODEL, input=QUESTION) as stream:
        return stream.get_final_response()


def whole(api: ResponsesAPI) -> Response:
    with client(api) as asking:
        return asking.responses.create(model=MODEL, input=QUESTION)


@pytest.mark.parametrize(
    "answer", [ModelResponse("Half way."), ModelResponse(""), tool_call(), refused(), CALLING]
)
def test_a_response_is_the_same_streamed_and_whole(answer: ModelResponse):
    with ResponsesAPI([answer]) as api:
        pieces, piece = streamed(api), whole(api)

    assert pieces.id == piece.id
    assert pieces.output_text == piece.output_text == answer.text
    assert [item.type for item in pieces.output] == [item.type for item in piece.output]


def test_the_pieces_of_a_stream_make_its_items():
    with ResponsesAPI([CALLING]) as api:
        seen = list(events(api))

    said = "".join(event.delta for event in seen if event.type == "response.output_text.delta")
    given = "".join(
        event.delta for event in seen if event.type == "response.function_call_arguments.delta"
    )
    done = [event.item.type for event in seen if event.type == "response.output_item.done"]
    assert (said, given) == ("Let me look.", '{"path": "src/reader.py"}')
    assert done == ["reasoning", "message", "function_call"]
    assert [event.sequence_number for event in seen] == [*range(len(seen))]


def test_an_incomplete_response_says_why():
    with ResponsesAPI([truncated()]) as api:
        pieces = list(events(api))[-1]
        piece = whole(api)

    assert pieces.type == "response.incomplete"
    assert piece.incomplete_details
    assert piece.incomplete_details.reason == "max_output_tokens"


@pytest.mark.parametrize(
    ("answer", "error"),
    [(rate_limited(), openai.RateLimitError), (too_long(), openai.BadRequestError)],
)
def test_a_refusal_is_an_error_of_the_client(answer: ModelResponse, error: type[Exception]):
    with ResponsesAPI([answer]) as api, pytest.raises(error):
        whole(api)


def test_an_error_in_a_stream_is_one_of_the_client():
    with ResponsesAPI([dropped(error=rate_limited())]) as api, pytest.raises(openai.APIError):
        list(events(api))

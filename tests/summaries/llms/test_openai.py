"""The real client against a `/chat/completions` with a script: what is special to it.

`test_every_summarizer.py` has the rules of all summarizers that call a model.
"""

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import openai
import pytest

from context_compression import Session, acompress, count_tokens
from context_compression.errors import SummaryError
from context_compression.summaries import OpenAISummarizer, SummaryReply, SummaryRequest
from context_compression.summaries.attempts import Price
from context_compression.summaries.chat_completions import ChatOptions
from context_compression.testing import conversation
from context_compression.testing.chat_api import (
    ChatAPI,
    Completion,
    Entry,
    Page,
    Refusal,
    filtered,
    not_supported,
    refused,
    too_long,
    truncated,
)

pytestmark = pytest.mark.anyio

KEY = "sk-proj-the-key-nobody-may-see"
MODEL = "gpt-test-1"
SUMMARY = "## Goal\nShip it."
REQUEST = SummaryRequest("Be brief.", "<conversation>…</conversation>", max_tokens=900)


async def no_sleep(seconds: float) -> None:
    """In place of sleeping."""


def environ(api: ChatAPI) -> dict[str, str]:
    return {"OPENAI_API_KEY": KEY, "OPENAI_BASE_URL": api.base_url}


async def summarize(
    api: ChatAPI, request: SummaryRequest = REQUEST, **options: Any
) -> SummaryReply:
    summarizer = OpenAISummarizer(MODEL, environ=environ(api), sleep=no_sleep, **options)
    return await summarizer.summarize(request)


async def failure(api: ChatAPI, **options: Any) -> SummaryError:
    with pytest.raises(SummaryError) as raised:
        await summarize(api, **options)
    return raised.value


async def test_a_system_and_a_user_message_are_sent_streamed_and_with_usage():
    with ChatAPI([SUMMARY]) as api:
        await summarize(api)

    (request,) = api.requests
    assert request.path == "/v1/chat/completions"
    assert request.body == {
        "model": MODEL,
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "<conversation>…</conversation>"},
        ],
        "max_tokens": 900,
        "stream": True,
        "stream_options": {"include_usage": True},
    }


async def test_cached_tokens_are_a_part_of_the_input():
    details = {"cached_tokens": 30, "cache_write_tokens": 7}
    usage = {"prompt_tokens": 137, "completion_tokens": 12, "prompt_tokens_details": details}
    with ChatAPI([Completion(f"\n{SUMMARY}\n", usage=usage)]) as api:
        reply = await summarize(api)

    assert reply == SummaryReply(
        SUMMARY, MODEL, input_tokens=137, output_tokens=12, cache_read_tokens=30,
        cache_write_tokens=7,
    )  # fmt: skip


async def test_a_price_may_say_what_the_cache_costs():
    usage = {
        "prompt_tokens": 1_000_000,
        "completion_tokens": 100_000,
        "prompt_tokens_details": {"cached_tokens": 400_000},
    }
    with ChatAPI([Completion(SUMMARY, usage=usage)]) as api:
        reply = await summarize(api, price=Price(2, 10, cache_read=1))

    assert reply.cost == pytest.approx(1.2 + 0.4 + 1)


@pytest.mark.parametrize("usage", [None, {"prompt_tokens_details": None}])
async def test_a_server_that_reports_no_usage_still_gives_a_summary(usage: Any):
    with ChatAPI([Completion(SUMMARY, usage=usage)]) as api:
        reply = await summarize(api)

    assert reply.text == SUMMARY
    assert reply.cache_read_tokens == 0


THOUGHTS = {
    "tags": f"<think>\nThe user wants <b>…\n</think>\n\n{SUMMARY}",
    "no first tag": f"Okay, I should be brief.\n</think>\n\n{SUMMARY}",
    "no first tag, at the end of a line": f"The user wants <b>. Let me think.</think>\n\n{SUMMARY}",
    "no first tag, in one line": f"I should be brief.</think>{SUMMARY}",
    "Magistral": f"[THINK]Let me see.[/THINK]{SUMMARY}",
    "nothing in them": f"<think>\n\n</think>\n\n{SUMMARY}",
    "thought": f"<thought>Hm.</thought>\n{SUMMARY}",
    "Seed-OSS": f"<seed:think>Hm.</seed:think>{SUMMARY}",
    "Kimi": f"◁think▷Hm.◁/think▷\n{SUMMARY}",
    "Gemma": f"<|channel>thought\nHm.<channel|>{SUMMARY}",
    "Cohere": f"<|START_THINKING|>Hm.<|END_THINKING|><|START_RESPONSE|>{SUMMARY}<|END_RESPONSE|>",
    "OpenThinker": (
        "<|begin_of_thought|>\nHm.\n<|end_of_thought|>\n\n<|begin_of_solution|>\n"
        f"{SUMMARY}\n<|end_of_solution|>"
    ),
    "gpt-oss": (
        "<|channel|>analysis<|message|>We must <b>…<|end|><|start|>assistant<|channel|>final"
        f"<|message|>{SUMMARY}<|return|>"
    ),
    "gpt-oss, without the end": f"<|channel|>final<|message|>{SUMMARY}",
    "gpt-oss, without the beginning": (
        f"analysis<|message|>We must…<|end|><|start|>assistant<|channel|>final<|message|>{SUMMARY}"
    ),
    "gpt-oss, twice": (
        "<|channel|>analysis<|message|>We…<|end|><|start|>assistant<|channel|>commentary<|message|>"
        f"Now…<|end|><|start|>assistant<|channel|>final<|message|>{SUMMARY}"
    ),
    "gpt-oss, without marks": f"analysisWe must be brief.assistantfinal{SUMMARY}",
    "two of them": f"<think>\n</think>\n<thinking>Hm.</thinking>\n{SUMMARY}",
    "none": SUMMARY,
}


@pytest.mark.parametrize("text", THOUGHTS.values(), ids=THOUGHTS)
async def test_thoughts_in_the_answer_are_left_out(text: str):
    with ChatAPI([text]) as api:
        reply = await summarize(api)

    assert reply.text == SUMMARY


async def test_thoughts_beside_the_answer_are_left_out():
    entry = Completion(SUMMARY, message={"reasoning_content": "Hm.", "reasoning": "Hm."})
    with ChatAPI([entry]) as api:
        reply = await summarize(api)

    assert reply.text == SUMMARY


async def test_a_summary_may_speak_of_thoughts():
    text = (
        "## Goal\nStrip `<think>` and `</think>`:\n<think>a</think> is left out, and so is\n"
        "<|channel|>analysis<|message|>b<|channel|>final<|message|>.\nanalysisC, assistantfinal."
    )
    with ChatAPI([text]) as api:
        reply = await summarize(api)

    assert reply.text == text


@pytest.mark.parametrize("before", ["", "\n"])
@pytest.mark.parametrize("after", ["\n```\n## Next Steps\n1. Patch it.", "\n# Not Python\n```"])
async def test_a_summary_may_quote_the_end_of_thoughts(before: str, after: str):
    text = f"## Goal\nFix the template.\n```\n<|im_start|>assistant\n</think>{after}"
    with ChatAPI([before + text]) as api:
        reply = await summarize(api)

    assert reply.text == text


async def test_a_summary_after_thoughts_may_speak_of_them():
    text = f"{SUMMARY}\nThe parser fails at\n</think>\nand at <|end|>"
    with ChatAPI([f"<think>Hm.</think>{text}"]) as api:
        reply = await summarize(api)

    assert reply.text == text


@pytest.mark.parametrize(
    "text",
    [
        "<think>I should begin with", "[THINK]I should", "◁think▷I should", "<seed:think>I",
        "<|channel|>analysis<|message|>I should", "<|channel>thought\nI should",
    ],
)  # fmt: skip
async def test_thoughts_without_an_answer_are_nothing(text: str):
    with ChatAPI([text]) as api:
        error = await failure(api)

    assert "answered with nothing" in str(error)


@pytest.mark.parametrize(
    "reason", ["stop", "STOP", "end_turn", "stop_sequence", "eos_token", "end", "COMPLETE", ""]
)
async def test_servers_spell_the_end_of_an_answer_in_different_ways(reason: str):
    with ChatAPI([Completion(SUMMARY, finish_reason=reason)]) as api:
        reply = await summarize(api)

    assert reply.text == SUMMARY
    assert len(api.requests) == 1


@pytest.mark.parametrize(
    ("reason", "says"),
    [
        ("MAX_TOKENS", "cut off"), ("model_length", "cut off"), ("SAFETY", "refused"),
        ("content-filter", "refused"), ("tool_use", "a tool call"),
        ("network_error", "no finished answer (network_error)"),
    ],
)  # fmt: skip
async def test_servers_spell_a_failure_in_different_ways(reason: str, says: str):
    with ChatAPI([Completion(SUMMARY, finish_reason=reason)]) as api:
        error = await failure(api)

    assert says in str(error)


async def test_an_empty_reason_after_which_the_text_goes_on_is_no_end():
    """A server that gives an empty reason in each chunk, and whose stream breaks off."""
    parts = [{"role": "assistant", "content": ""}, {"content": "## Goal"}]
    chunks = [{"choices": [{"delta": part, "finish_reason": ""}]} for part in parts]
    text = "".join(f"data: {json.dumps(chunk)}\n\n" for chunk in chunks)
    with ChatAPI([Page(text, "text/event-stream")]) as api:
        error = await failure(api)

    assert "ended in the middle" in str(error)


@pytest.mark.parametrize(
    "kind", ["text/plain", "application/json", "text/event-stream; charset=utf-8"]
)
async def test_a_stream_may_have_another_content_type(kind: str):
    chunks: list[Any] = [{"delta": {"content": SUMMARY}}, {"delta": {}, "finish_reason": "stop"}]
    text = "".join(f"data: {json.dumps({'choices': [chunk]})}\n\n" for chunk in chunks)
    with ChatAPI([Page(text, kind)]) as api:
        reply = await summarize(api)

    assert reply.text == SUMMARY


@pytest.mark.parametrize("choices", [[], None])
async def test_a_whole_answer_without_choices_is_nothing(choices: Any):
    with ChatAPI([{"object": "chat.completion", "choices": choices}]) as api:
        error = await failure(api)

    assert "answered with nothing" in str(error)


async def test_without_streaming_an_error_and_a_page_are_quoted_too():
    script = [not_supported("stream"), {"error": {"message": "queue full"}}, Page("<html>")]
    with ChatAPI(script) as api:
        error = await failure(api)
        assert 'answered with a web page: "<html>"' in str(error)

    with ChatAPI(script[:2]) as api:
        error = await failure(api)
        assert '"queue full"' in str(error)


PARTS: list[dict[str, Any]] = [
    {"type": "thinking", "thinking": []},
    {"type": "text", "text": SUMMARY},
]


async def test_an_answer_in_parts_is_read():
    with ChatAPI([not_supported("stream"), Completion(message={"content": PARTS})]) as api:
        reply = await summarize(api)

    assert reply.text == SUMMARY


EXTRA = {"loc": ["body", "stream_options"], "msg": "Extra inputs are not permitted"}
REFUSED_OPTIONS: dict[str, tuple[Entry, dict[str, Any]]] = {
    "max_tokens": (
        not_supported("max_tokens", "max_completion_tokens"),
        {"max_tokens": None, "max_completion_tokens": 900},
    ),
    "usage of a stream": (
        Refusal(422, "", "", more={"message": [EXTRA]}),
        {"stream_options": None, "stream": True},
    ),
    "streaming": (
        Refusal(
            400, "invalid_request_error",
            "Your organization must be verified to stream this model.",
            more={"param": "stream", "code": "unsupported_value"},
        ),
        {"stream": None, "stream_options": None},
    ),
    "system role": (
        Refusal(400, "BadRequestError", "System role not supported"),
        {"messages": [{"role": "user", "content": "Be brief.\n\n<conversation>…</conversation>"}]},
    ),
    "LiteLLM": (
        Refusal(
            400, "None",
            "litellm.UnsupportedParamsError: x does not support parameters: ['max_tokens']",
        ),
        {"max_tokens": None, "max_completion_tokens": 900},
    ),
}  # fmt: skip


@pytest.mark.parametrize(("entry", "then"), REFUSED_OPTIONS.values(), ids=REFUSED_OPTIONS)
async def test_an_option_that_a_server_does_not_know_is_left_out_from_then_on(
    entry: Entry, then: dict[str, Any]
):
    with ChatAPI([entry, SUMMARY]) as api:
        summarizer = OpenAISummarizer(MODEL, environ=environ(api), sleep=no_sleep)
        first = await summarizer.summarize(replace(REQUEST, attempts=1))
        again = await summarizer.summarize(REQUEST)

    assert first.text == again.text == SUMMARY
    assert len(api.requests) == 3
    for request in api.requests[1:]:
        assert {name: request.body.get(name) for name in then} == then


async def test_all_options_may_be_refused_one_after_the_other():
    known = {"model", "messages", "max_completion_tokens"}

    def strict(body: dict[str, Any]) -> str | Refusal:
        return not_supported(extra[0]) if (extra := sorted({*body} - known)) else SUMMARY

    with ChatAPI([strict]) as api:
        reply = await summarize(api)

    assert reply.text == SUMMARY
    assert api.requests[-1].body.keys() == known


async def test_an_option_that_is_refused_again_and_again_ends():
    with ChatAPI([not_supported("max_tokens")]) as api:
        error = await failure(api)

    assert "'max_tokens' is not supported" in str(error)
    assert len(api.requests) == 2


async def test_a_value_that_is_refused_changes_no_option():
    message = "max_tokens is too large: 900. This model supports at most 100 completion tokens."
    with ChatAPI([Refusal(400, "invalid_request_error", message)]) as api:
        error = await failure(api)

    assert message in str(error)
    assert len(api.requests) == 1


TOO_LONG = {
    "OpenAI": too_long().message,
    "vLLM": "'max_tokens' or 'max_completion_tokens' is too large: 900. This model's maximum "
    "context length is 8192 tokens and your request has 9000 input tokens (900 > 8192 - 9000).",
    "vLLM, older": "This model's maximum context length is 4096 tokens. However, you requested "
    "5000 tokens (4100 in the messages, 900 in the completion).",
    "vLLM, prompt": "The decoder prompt (length 5000) is longer than the maximum model length of "
    "4096. Make sure that `max_model_len` is no smaller than the number of text tokens.",
    "Ollama": "the input length exceeds the context length",
    "llama.cpp": "the request exceeds the available context size. try increasing the context size",
    "LiteLLM": "litellm.ContextWindowExceededError: litellm.BadRequestError: x",
}


@pytest.mark.parametrize("message", TOO_LONG.values(), ids=TOO_LONG)
async def test_each_server_says_in_its_own_words_that_the_context_is_too_long(message: str):
    with ChatAPI([Refusal(400, "BadRequestError", message), SUMMARY]) as api:
        error = await failure(api)

    assert error.too_long
    assert len(api.requests) == 1


async def test_a_server_that_cuts_the_request_is_found_out():
    """Ollama reads the last `num_ctx` tokens and does not say so."""
    long = SummaryRequest("Be brief.", "word " * 20_000, max_tokens=900)
    with ChatAPI([Completion(SUMMARY, usage={"prompt_tokens": 4096})]) as api:
        error = await failure(api, request=long)

    assert error.too_long
    assert "read only the last 4,096 tokens" in str(error)


@pytest.mark.parametrize("rule", ["-", "=", "\t", "- "])
async def test_a_request_of_padded_tables_was_read_whole(rule: str):
    rows = "\n".join(f"{n:<40}{'ok':<80}{rule * 60:<80}" for n in range(400))
    tokens = int(count_tokens(rows, model="gpt-5"))
    table = SummaryRequest("Be brief.", rows, max_tokens=900)
    with ChatAPI([Completion(SUMMARY, usage={"prompt_tokens": tokens})]) as api:
        reply = await summarize(api, table)

    assert reply.text == SUMMARY


async def test_no_room_for_an_answer_is_a_request_too_long():
    entry = Completion("", finish_reason="length", usage={"completion_tokens": 0})
    with ChatAPI([entry]) as api:
        error = await failure(api)

    assert error.too_long


REFUSED: dict[str, Entry] = {
    "refusal": refused(),
    "filter in the answer": filtered(),
    "filter before it": Refusal(
        400, "invalid_request_error", "filtered", more={"code": "content_filter"}
    ),
}


@pytest.mark.parametrize("entry", REFUSED.values(), ids=REFUSED)
async def test_a_refusal_and_a_content_filter_say_what_to_do(entry: Entry):
    with ChatAPI([entry]) as api:
        error = await failure(api)

    assert "refused to write the summary" in str(error)
    assert not error.retryable
    assert len(api.requests) == 1


async def test_an_account_without_credit_is_asked_once():
    more = {"code": "insufficient_quota"}
    entry = Refusal(429, "insufficient_quota", "You exceeded your current quota", more=more)
    with ChatAPI([entry]) as api:
        error = await failure(api)

    assert "no credit left" in str(error)
    assert len(api.requests) == 1


async def test_an_error_in_a_stream_has_the_status_of_its_code():
    error = Refusal(0, "BadRequestError", "no", more={"code": 401})
    with ChatAPI([Completion(SUMMARY, stop_after=1, error=error)]) as api:
        said = await failure(api)

    assert "The key was refused (401)" in str(said)


async def test_a_server_of_ones_own_needs_no_key():
    with ChatAPI([SUMMARY]) as api:
        by_argument = OpenAISummarizer(MODEL, base_url=api.base_url, environ={})
        by_environment = OpenAISummarizer(MODEL, environ={"OPENAI_BASE_URL": api.base_url})

        assert (await by_argument.summarize(REQUEST)).text == SUMMARY
        assert (await by_environment.summarize(REQUEST)).text == SUMMARY


async def test_a_client_that_is_only_like_openais_will_do():
    class Client:
        """As wrappers of clients look: no address."""

        def __init__(self, client: Any) -> None:
            self.chat = client.chat

        def with_options(self, **_: Any) -> "Client":
            return self

    with ChatAPI([SUMMARY]) as api:
        async with openai.AsyncOpenAI(api_key=KEY, base_url=api.base_url) as real:
            reply = await OpenAISummarizer(MODEL, client=Client(real)).summarize(REQUEST)

    assert reply.text == SUMMARY


async def test_an_address_without_a_scheme_is_refused_in_words():
    summarizer = OpenAISummarizer(MODEL, base_url="user:secret@localhost:11434", environ={})

    with pytest.raises(SummaryError, match="Write it with its scheme") as raised:
        await summarizer.summarize(REQUEST)

    assert "secret" not in str(raised.value)


async def test_a_wrong_address_is_named():
    with ChatAPI([Refusal(404, "not_found_error", "404 page not found")]) as api:
        error = await failure(api)

    assert "the address before /chat/completions" in str(error)


@pytest.mark.parametrize(
    ("host", "name"),
    [
        ("api.openai.com", "max_completion_tokens"),
        ("eu.api.openai.com", "max_completion_tokens"),
        ("mine.openai.azure.com", "max_completion_tokens"),
        ("localhost", "max_tokens"),
        ("openai.com.example.org", "max_tokens"),
    ],
)
def test_openai_itself_is_asked_with_the_new_name_of_the_limit(host: str, name: str):
    assert name in ChatOptions.first_for(host).arguments(MODEL, REQUEST)


async def test_a_summary_of_a_long_conversation_is_written_and_checked(tmp_path: Path):
    secret = "sk-proj-" + "Ab3" * 16
    messages = [*conversation(12), {"role": "user", "content": f"The key is {secret}. Go on."}]
    sections = ("Goal", "Progress", "Key Decisions", "Next Steps")
    words = "Fix src/no/such_file_9417.py as the user asked; see ticket INVENTED-77123. Go on."
    answer = "\n\n".join(f"## {section}\n{words}" for section in sections)
    with ChatAPI([answer]) as api:
        writer = OpenAISummarizer(MODEL, base_url=api.base_url, environ={}, sleep=no_sleep)
        session = Session(tmp_path, "s", summarizer=writer)
        session.record(*messages)
        result = await session.acompress(target_tokens=4_000, strategy="summarize")
        in_memory = await acompress(messages, target_tokens=4_000, summarizer=writer)

    sent = str([request.body for request in api.requests])
    assert secret not in sent
    assert result.summary and result.summary.replies[0].model == MODEL
    assert result.summary.unverified
    assert in_memory.strategy == "summarize"


@pytest.mark.parametrize("cut", [truncated()])
async def test_what_was_cut_off_is_no_summary(cut: Completion, tmp_path: Path):
    with ChatAPI([cut]) as api:
        writer = OpenAISummarizer(MODEL, base_url=api.base_url, environ={}, sleep=no_sleep)
        result = await acompress(conversation(12), target_tokens=4_000, summarizer=writer)

    assert result.strategy == "extract"
    assert any("cut off" in note for note in result.notes)


def test_without_the_package_the_error_says_what_to_install():
    code = (
        "import sys\n"
        "sys.modules['openai'] = None\n"
        "import anyio\n"
        "from context_compression.summaries.chat_completions import OpenAISummarizer\n"
        "from context_compression.summaries.summarizer import SummaryRequest\n"
        "try:\n"
        "    anyio.run(OpenAISummarizer('m', environ={}).summarize, SummaryRequest('', '', 9))\n"
        "except Exception as error:\n"
        "    print(error)\n"
    )

    said = subprocess.check_output([sys.executable, "-c", code], text=True, timeout=60)

    assert "pip install '.[openai]'" in said

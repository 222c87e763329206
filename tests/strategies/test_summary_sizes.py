"""How large the requests for a summary are, after a model said that one was too long."""

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest

from context_compression import Result, compress
from context_compression.errors import SummaryError
from context_compression.summaries import (
    AnthropicSummarizer,
    OpenAISummarizer,
    SummaryReply,
    SummaryRequest,
)
from context_compression.testing import chat_api, conversation, messages_api
from context_compression.tokens import Counter

SUMMARY = (
    "## Goal\nRepair the session cache, so that logins survive a restart of the worker.\n\n"
    "## Progress\n### Done\nThe buffer, the query and the header were read; tests of the config "
    "ran.\n\n## Key Decisions\nKeep the token index, because a retry needs it.\n\n## Next Steps\n"
    "Run pytest again."
)
COUNT = Counter().text
HISTORY = conversation(24)


class Windowed:
    """A model with a window, which refuses what does not fit in words of a provider."""

    def __init__(self, window: int, says: str) -> None:
        self.window, self.says = window, says
        self.requests: list[SummaryRequest] = []

    async def summarize(self, request: SummaryRequest) -> SummaryReply:
        """The summary, if input and answer fit the window."""
        self.requests.append(request)
        used = COUNT(request.system) + COUNT(request.prompt)
        if used + request.max_tokens > self.window:
            raise RuntimeError(self.says.format(window=self.window, used=used))
        return SummaryReply(SUMMARY)


def summarized(summarizer: Any) -> Result:
    return compress(HISTORY, target_tokens=9_000, strategy="summarize", summarizer=summarizer)


SAYS = {
    "Anthropic": "prompt is too long: {used} tokens > {window} maximum",
    "OpenAI": "This model's maximum context length is {window} tokens. However, your messages "
    "resulted in {used} tokens.",
    "llama.cpp": "request ({used} tokens) exceeds the available context size ({window} tokens)",
    "Gemini": "The input token count ({used}) exceeds the maximum number of tokens allowed "
    "({window}).",
    "Mistral": "Prompt contains {used} tokens, too large for model with {window} maximum context "
    "length",
    "nobody": "the prompt is too long",
}


@pytest.mark.slow
@pytest.mark.parametrize("says", SAYS.values(), ids=SAYS)
@pytest.mark.parametrize("window", [2_500, 8_192])
def test_a_small_window_still_gives_a_summary(says: str, window: int) -> None:
    model = Windowed(window, says)

    result = summarized(model)

    assert result.strategy == "summarize", result.notes
    sizes = [(request.prompt, request.max_tokens) for request in model.requests]
    assert len({*sizes[:4]}) == len(sizes[:4]), "a refused request is never made again as it was"


@pytest.mark.slow
@pytest.mark.parametrize("says", [said for name, said in SAYS.items() if name != "nobody"])
def test_a_window_that_is_named_is_filled_at_once(says: str) -> None:
    model = Windowed(8_192, says)

    result = summarized(model)

    assert result.strategy == "summarize"
    used = [COUNT(r.system) + COUNT(r.prompt) + r.max_tokens for r in model.requests]
    assert sum(each > model.window for each in used) == 1
    assert used[1] > model.window / 2


def test_the_first_smaller_request_is_half_of_the_records_own_size() -> None:
    model = Windowed(1, "the prompt is too long")

    result = summarized(model)

    assert result.strategy == "extract"
    sizes = [COUNT(request.prompt) for request in model.requests]
    assert all(later < 0.8 * earlier for earlier, later in pairwise(sizes))
    assert sizes[-1] < 2_000


def test_the_note_names_each_size_that_was_tried() -> None:
    model = Windowed(1, "the prompt is too long")

    result = summarized(model)

    (note,) = (note for note in result.notes if note.startswith("no summary: "))
    assert f"({len(model.requests)} attempts)" in note
    assert "the prompt is too long" in note


def refusing(too_long: Callable[..., Any], window: int, count: Callable[[Any], int]) -> Any:
    def entry(body: Any) -> Any:
        used = count(body)
        return too_long(used, window) if used > window else SUMMARY

    return entry


def of_messages(body: Any) -> int:
    return COUNT(body["system"]) + COUNT(body["messages"][0]["content"])


def of_chat(body: Any) -> int:
    return sum(COUNT(message["content"]) for message in body["messages"])


def test_the_window_is_read_from_the_answer_of_a_messages_api() -> None:
    entry = refusing(messages_api.too_long, 6_000, of_messages)
    with messages_api.MessagesAPI([entry]) as api:
        environ = {"ANTHROPIC_API_KEY": "any", "ANTHROPIC_BASE_URL": api.base_url}
        result = summarized(AnthropicSummarizer("m", environ=environ))

    assert result.strategy == "summarize"
    used = [of_messages(request.body) for request in api.requests]
    assert [each > 6_000 for each in used] == [True, *[False] * (len(used) - 1)]
    assert used[1] > 3_000


def test_the_window_is_read_from_the_answer_of_a_chat_api() -> None:
    entry = refusing(chat_api.too_long, 6_000, of_chat)
    with chat_api.ChatAPI([entry]) as api:
        environ = {"OPENAI_API_KEY": "any", "OPENAI_BASE_URL": api.base_url}
        result = summarized(OpenAISummarizer("m", environ=environ))

    assert result.strategy == "summarize"
    used = [of_chat(request.body) for request in api.requests]
    assert [each > 6_000 for each in used] == [True, *[False] * (len(used) - 1)]


def test_a_summarizer_that_only_says_too_long_in_its_error_is_understood() -> None:
    class Own(Windowed):
        async def summarize(self, request: SummaryRequest) -> SummaryReply:
            try:
                return await super().summarize(request)
            except RuntimeError as error:
                raise SummaryError(str(error), retryable=False) from None

    assert summarized(Own(8_192, SAYS["llama.cpp"])).strategy == "summarize"

"""The table of prices, and how a model finds its row."""

from datetime import date

import pytest

from context_compression.tokens.prices import Price, in_dollars, price_of, prices_of
from context_compression.transcripts import AnsweredRequest

SONNET = Price(3, 15, cache_read=0.3, cache_write=3.75)


@pytest.mark.parametrize(
    "name",
    [
        "claude-sonnet-4-5",
        "claude-sonnet-4-5-20250929",
        "claude-sonnet-4.5",
        "anthropic/claude-sonnet-4.5",
        "openrouter/anthropic/claude-sonnet-4.5",
        "us.anthropic.claude-sonnet-4-5-20250929-v1:0",
        "claude-sonnet-4-5@20250929",
        "claude-sonnet-4-5[1m]",
        " Claude-Sonnet-4-5-latest",
    ],
)
def test_a_model_has_its_price_under_every_name_of_it(name: str):
    assert price_of(name) == SONNET


@pytest.mark.parametrize(
    "name",
    [None, "", "sonnet", "claude-opus-4-6-fast", "claude-sonnet-45", "gpt-5.4-pro", "llama-4",
     "<synthetic>", "gpt-5.2:batch", "my/claude", "gpt-5-latest-mini", "gpt-5-v2",
     "gpt-5-2025-08-07-mine", "ft:gpt-4o:me", "ollama/gpt-4o", "http://localhost:8080/v1/gpt-5",
     "hosted_vllm/openai/gpt-5", "lm_studio/gpt-5"],
)  # fmt: skip
def test_a_model_that_the_table_does_not_name_has_no_price(name: str | None):
    assert price_of(name) is None


def test_a_dated_model_that_has_its_own_price_keeps_it():
    assert price_of("openai/gpt-4o-2024-05-13") == Price(5, 15, 5, 5)
    assert price_of("gpt-4o-2024-08-06") == price_of("gpt-4o") != price_of("gpt-4o-2024-05-13")


def test_the_day_of_the_prices_is_known():
    assert date(2026, 1, 1) < prices_of()


@pytest.mark.parametrize("name", ["claude-opus-5-5", "gpt-6-sol", "gpt-5.2", "gemini-2.5-pro"])
def test_a_price_is_that_of_its_kinds_of_tokens(name: str):
    price = price_of(name)

    assert price
    assert price.cache_read is not None
    assert price.cache_write is not None
    assert price.cache_read < price.input <= price.cache_write < price.output


def test_a_long_request_costs_more_as_a_whole():
    price = price_of("gemini-2.5-pro")

    assert price
    assert price.of_input(200_000, 0, 0, 200_000) == pytest.approx(0.25)
    assert price.of_input(200_001, 0, 0, 200_001) == pytest.approx(0.5000025)
    assert price.of_output(1_000_000, 300_000) == 15


def test_cached_tokens_are_part_of_the_input():
    request = AnsweredRequest(1, None, "", 1_000_000, 600_000, 200_000, 100_000)

    assert SONNET.of(request) == pytest.approx(0.2 * 3 + 0.6 * 0.3 + 0.2 * 3.75 + 1.5)


def test_dollars_are_written_with_cents():
    assert [*map(in_dollars, (0, 0.001, 0.006, 1_234.5))] == [
        "$0.00", "under $0.01", "$0.01", "$1,234.50",
    ]  # fmt: skip

"""A summary that fails costs no request: the view is valid and within its size, and it is told."""

from collections.abc import Iterator

import pytest
from every_door import Ask, Door, every_door
from provider import refused
from talks import Talk

from context_compression import count_tokens
from context_compression.testing.chat_api import Body, ChatAPI, Completion, Entry, failed
from context_compression.testing.chat_api import refused as does_not_want

BUDGET = 4_000
SETTINGS = {
    "token_budget": BUDGET, "summarizer": "openai", "summary_model": "tiny", "summary_attempts": 1
}  # fmt: skip


def echo(body: Body) -> Completion:
    return Completion(body["messages"][-1]["content"][-2_000:])


FAILURES: dict[str, tuple[Entry, str]] = {
    "fails": (failed(), "failed"),
    "refuses": (does_not_want(), "refused"),
    "too short": ("ok", "no summary"),
    "an echo": (echo, "no summary"),
}
each_failure = pytest.mark.parametrize("failure", FAILURES.values(), ids=FAILURES)


@pytest.fixture
def api(failure: tuple[Entry, str], monkeypatch: pytest.MonkeyPatch) -> Iterator[ChatAPI]:
    with ChatAPI([failure[0]]) as api:
        monkeypatch.setenv("OPENAI_BASE_URL", api.base_url)
        monkeypatch.setenv("OPENAI_API_KEY", "any")
        yield api


@pytest.mark.slow
@each_failure
@every_door
def test_a_summary_that_fails_leaves_a_valid_view_within_its_size_and_is_told(
    door: Door, failure: tuple[Entry, str], recorded: Talk, api: ChatAPI
) -> None:
    dialect, _ = recorded

    requests = door.requests(recorded, Ask(0.3, SETTINGS, has_model=True))

    assert requests
    for request in requests:
        assert refused(request.view, dialect) == []
        if (limit := request.about.limit) is not None:
            assert count_tokens(request.view) <= limit or request.about.told
    if api.requests:
        told = " ".join(text for request in requests for text in request.about.told)
        assert "no summary" in told, "nobody hears that it failed"
    else:
        print("NOT ASKED", door.name)

"""Long tool results are shortened when they come in, before the model reads them."""

import asyncio
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import pytest
from anthropic import Anthropic, AsyncAnthropic

from context_compression import Session, count_tokens
from context_compression.conversation.refs import ref_of
from context_compression.loops import anthropic
from context_compression.testing import log
from context_compression.testing.messages_api import Answer, MessagesAPI

REQUEST: dict[str, Any] = {"model": "claude-test-1", "max_tokens": 500}
LONG = log(Random(1), 200)
SHORT = "12 passed"
PICTURE = {"type": "image", "source": {"type": "url", "url": "https://example.org/a.png"}}


EARLY = {"offload_at_source": "*=1000"}
"""Results come as previews before the first compression, too."""


def bash(command: str) -> str:
    return LONG if command == "make" else SHORT


def look() -> list[Any]:
    return [{"type": "text", "text": LONG}, PICTURE, {"type": "text", "text": SHORT}]


TOOLS: dict[str, Any] = {"bash": bash, "look": look}


def calling(*calls: tuple[str, dict[str, Any]]) -> Answer:
    content = [
        {"type": "tool_use", "id": f"toolu_{n}", "name": name, "input": given}
        for n, (name, given) in enumerate(calls)
    ]
    return Answer("", stop_reason="tool_use", content=content)


SCRIPT = [
    calling(("bash", {"command": "make"}), ("bash", {"command": "make test"}), ("look", {})),
    Answer("Done."),
]


def results(folder: Path, *, asynchronous: bool = False, settings: Any = None, **more: Any) -> Any:
    """The session, and the contents of the results that the model was sent."""
    session = Session(folder, "s", settings=settings)
    session.record({"role": "user", "content": "Build it."})
    with MessagesAPI(SCRIPT) as api:
        client: Any = (AsyncAnthropic if asynchronous else Anthropic)(
            api_key="any", base_url=api.base_url, max_retries=0
        )
        run: Any = anthropic.arun_tools if asynchronous else anthropic.run_tools
        call = partial(run, session, client, TOOLS, **REQUEST | more)
        asyncio.run(call()) if asynchronous else call()
    blocks = api.requests[-1].body["messages"][-1]["content"]
    return session, [block["content"] for block in blocks]


@pytest.mark.parametrize("asynchronous", [False, True])
def test_the_model_reads_a_preview_of_a_long_result_and_the_whole_is_archived(
    tmp_path: Path, asynchronous: bool
) -> None:
    session, (long, short, looked) = results(tmp_path, asynchronous=asynchronous, settings=EARLY)

    ref = ref_of(LONG)
    for shortened in (long, looked[0]["text"]):
        assert count_tokens(shortened) < 500 < 1_000 < count_tokens(LONG)
        assert "context_restore(ref=" in shortened
        assert LONG.splitlines()[-1] in shortened
    assert short == SHORT
    assert looked[1:] == [PICTURE]
    assert session.restore(ref) == Session(tmp_path, "s").restore(ref) == LONG
    assert session.state().tally.at_source > 0


def test_in_a_window_with_room_the_model_reads_the_whole(tmp_path: Path) -> None:
    _, (long, _, looked) = results(tmp_path)

    assert long == looked[0]["text"] == LONG


def test_how_long_is_long_is_a_setting(tmp_path: Path) -> None:
    _, (long, *_) = results(tmp_path, settings={"offload_at_source": "bash=50k, look=0"})

    assert long == LONG


@pytest.mark.parametrize(
    "options",
    [{"shorten": False, "settings": EARLY}, {"settings": {**EARLY, "auto_compress": False}}],
    ids=str,
)
def test_switched_off_the_model_reads_all_of_it(tmp_path: Path, options: dict[str, Any]) -> None:
    _, (long, *_) = results(tmp_path, **options)

    assert long == LONG


def test_what_the_model_restores_is_not_shortened_again(tmp_path: Path) -> None:
    session = Session(tmp_path, "s", settings=EARLY)
    session.record({"role": "user", "content": "Build it."})
    script = [SCRIPT[0], calling(("context_restore", {"ref": ref_of(LONG)})), Answer("Done.")]
    with (
        MessagesAPI(script) as api,
        Anthropic(api_key="any", base_url=api.base_url, max_retries=0) as client,
    ):
        anthropic.run_tools(session, client, TOOLS, **REQUEST)

    [restored] = api.requests[-1].body["messages"][-1]["content"]
    assert LONG[:7_900] in restored["content"]

"""Spans of compactions and of calls to models, in the real SDK with its exporter in memory."""

import asyncio
import gc
import inspect
import json
import os
import re
import subprocess
import sys
from collections.abc import Generator, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import partial
from pathlib import Path
from queue import Queue
from threading import Event as Flag
from types import SimpleNamespace
from typing import Any

import anyio.to_thread
import pytest
from mcp_door import ask, connected, workspace_in
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind, StatusCode
from pytest_examples import CodeExample, EvalExample, find_examples

from context_compression import Session, acompress, compress, listening
from context_compression.errors import BudgetTooSmall
from context_compression.integrations import opentelemetry as module
from context_compression.integrations.opentelemetry import instrument, usage_attributes
from context_compression.session import Event, SummaryAssignment
from context_compression.summaries import OpenAISummarizer, SummaryReply, SummaryRequest
from context_compression.testing import ScriptedSummarizer, chat_api, conversation, summary_about
from context_compression.testing.chat_api import ChatAPI

PAGE = Path(__file__).parents[2] / "docs" / "frameworks" / "opentelemetry.md"
EXAMPLES = [each for each in find_examples(str(PAGE)) if each.prefix == "python"]
pytestmark = [pytest.mark.anyio, pytest.mark.slow]

MODEL = "claude-test-1"
SECRET = "the colour of the okapi is 7731"
SUMMARY = summary_about("Fix the failing login test.")
SMALL = {"token_budget": 8_000, "keep_recent_tokens": 1_000, "preserve_messages": 1}


class Spans:
    """The spans that were made, in the order in which they ended."""

    def __init__(self) -> None:
        self.exporter = InMemorySpanExporter()
        self.provider = TracerProvider()
        self.provider.add_span_processor(SimpleSpanProcessor(self.exporter))

    def all(self) -> list[ReadableSpan]:
        return [*self.exporter.get_finished_spans()]

    def of(self, operation: str) -> list[ReadableSpan]:
        return [span for span in self.all() if seen(span)["gen_ai.operation.name"] == operation]


def seen(span: ReadableSpan) -> dict[str, Any]:
    return dict(span.attributes or {})


@pytest.fixture
def spans() -> Iterator[Spans]:
    spans = Spans()
    stop = instrument(tracer_provider=spans.provider)
    yield spans
    stop()
    told = "".join(span.to_json() for span in spans.all())
    assert SECRET not in told
    assert "okapi" not in told


def talk(turns: int = 12) -> list[dict[str, Any]]:
    return [*conversation(turns), {"role": "user", "content": f"Remember: {SECRET}."}]


def session_in(folder: Path, **options: Any) -> Session:
    session = Session(folder / ".compression", "talk", model=MODEL, **options)
    session.record(*talk())
    return session


def test_a_compaction_is_a_span_with_its_numbers(spans: Spans, tmp_path: Path):
    result = session_in(tmp_path).compress(target_tokens=3_000)

    (span,) = spans.all()
    assert (span.name, span.kind) == (f"compact {MODEL}", SpanKind.INTERNAL)
    assert span.status.status_code is StatusCode.UNSET
    assert seen(span) == {
        "gen_ai.operation.name": "compact",
        "gen_ai.request.model": MODEL,
        "gen_ai.conversation.id": "talk",
        "gen_ai.conversation.compacted": True,
        "context_compression.reason": "manual",
        "context_compression.strategy": result.strategy,
        "context_compression.tokens.before": result.tokens_before,
        "context_compression.tokens.after": result.tokens_after,
        "context_compression.tokens.target": 3_000,
        "context_compression.tokens.method": result.method,
        "context_compression.target_met": True,
        "context_compression.messages.before": len(talk()),
        "context_compression.messages.after": len(result.messages),
        "context_compression.messages.first_changed": result.first_changed,
        "context_compression.archived": len(result.originals),
    }


@pytest.mark.parametrize("way", ["prepare", "fit", "aprepare", "afit"])
async def test_a_compaction_that_was_due_is_a_span(spans: Spans, tmp_path: Path, way: str):
    session = Session(tmp_path, "talk", settings=SMALL)
    if "fit" not in way:
        session.record(*talk())
    given: Any = getattr(session, way)(*([talk()] if "fit" in way else []))
    sent: list[Any] = await given if way.startswith("a") else given

    (span,) = spans.all()
    assert seen(span)["context_compression.reason"] == "threshold"
    assert seen(span)["context_compression.messages.after"] == len(sent)


async def test_compacting_in_memory_is_a_span_without_a_conversation(spans: Spans):
    compress(talk(), target_tokens=3_000)
    await acompress(talk(), target_tokens=3_000, model=MODEL)

    plain, named = spans.all()
    assert (plain.name, named.name) == ("compact", f"compact {MODEL}")
    assert "gen_ai.conversation.id" not in seen(plain)
    assert seen(plain)["gen_ai.conversation.compacted"] is True


def test_nothing_to_compact_is_told(spans: Spans):
    compress([{"role": "user", "content": "Hello."}])

    (span,) = spans.all()
    assert seen(span)["gen_ai.conversation.compacted"] is False
    assert seen(span)["context_compression.strategy"] == "none"


async def test_the_model_that_writes_a_summary_is_a_child_span(spans: Spans, tmp_path: Path):
    details = {"cached_tokens": 40_000}
    usage = {"prompt_tokens": 100_000, "completion_tokens": 20, "prompt_tokens_details": details}
    with ChatAPI([chat_api.Completion(SUMMARY, usage=usage)]) as api:
        writer = OpenAISummarizer("qwen3", base_url=api.base_url, environ={})
        session = session_in(tmp_path, summarizer=writer)
        await session.acompress(target_tokens=3_000, strategy="summarize")

    (compaction,) = spans.of("compact")
    chats = spans.of("chat")
    assert chats
    for chat in chats:
        assert chat.parent == compaction.context
        assert chat.kind is SpanKind.CLIENT
        limit = session.settings.summary_limit
        assert seen(chat) == {
            "gen_ai.operation.name": "chat",
            "gen_ai.provider.name": "openai",
            "gen_ai.request.model": "qwen3",
            "gen_ai.request.max_tokens": limit,
            "gen_ai.response.model": "qwen3",
            "gen_ai.usage.input_tokens": 100_000,
            "gen_ai.usage.output_tokens": 20,
            "gen_ai.usage.cache_read.input_tokens": 40_000,
            "gen_ai.usage.cache_creation.input_tokens": 0,
            "context_compression.cache.reuse": 0.4,
        }


def test_a_summary_that_fails_marks_its_span_and_not_the_compaction(spans: Spans):
    model = ScriptedSummarizer(ValueError(f"cannot read {SECRET}"))
    compress(talk(), target_tokens=3_000, summarizer=model, settings={"summary_attempts": 1})

    (compaction,), (chat,) = spans.of("compact"), spans.of("chat")
    assert seen(chat)["error.type"] == "ValueError"
    assert chat.status.status_code is StatusCode.ERROR
    assert not chat.events
    assert seen(compaction)["context_compression.strategy"] == "extract"
    assert compaction.status.status_code is StatusCode.UNSET


@pytest.mark.parametrize("way", ["prepare", "aprepare"])
@pytest.mark.parametrize("alone", [False, True])
async def test_a_compaction_in_the_background_is_a_child_of_what_began_it(
    tmp_path: Path, way: str, alone: bool
):
    spans, events = Spans(), Queue[Event]()
    settings = SMALL | {"strategy": "summarize", "token_budget": 100_000}
    session = session_in(
        tmp_path, summarizer=ScriptedSummarizer(SUMMARY), background=True, settings=settings,
        on_event=events.put,
    )  # fmt: skip
    stop = instrument(*([session] if alone else []), tracer_provider=spans.provider)

    with spans.provider.get_tracer("a program").start_as_current_span("agent") as agent:
        session.prepare() if way == "prepare" else await session.aprepare()
    ends = [await anyio.to_thread.run_sync(partial(events.get, timeout=60)) for _ in range(2)]
    await session.aclose()
    stop()

    assert [event.reason for event in ends] == ["background"] * 2
    chat, *_ = [span for span in spans.all() if span.name.startswith("chat")]
    (compaction,) = [span for span in spans.all() if span.name.startswith("compact")]
    assert compaction.parent == agent.get_span_context()
    assert chat.parent == compaction.context
    assert seen(compaction)["gen_ai.conversation.id"] == "talk"
    assert seen(compaction)["context_compression.reason"] == "background"
    assert seen(compaction)["context_compression.strategy"] == "summarize"


def test_a_session_that_nobody_holds_cancels_its_summary_while_it_is_traced(
    spans: Spans, tmp_path: Path
):
    asked, cancelled = Flag(), Flag()

    class Hangs:
        async def summarize(self, request: SummaryRequest) -> SummaryReply:
            asked.set()
            try:
                return await asyncio.get_running_loop().create_future()
            except asyncio.CancelledError:
                cancelled.set()
                raise

    session = session_in(tmp_path, summarizer=Hangs(), background=True, settings=SMALL)
    session.settings = session.settings.changed({"on_summary_failure": "skip"})
    session.prepare()
    assert asked.wait(60)

    del session
    gc.collect()

    assert cancelled.wait(60)


@pytest.mark.parametrize("store", [True, False])
def test_a_refused_compaction_has_the_type_of_its_error(spans: Spans, tmp_path: Path, store: bool):
    with pytest.raises(BudgetTooSmall):
        compress(talk(), target_tokens=5, store=tmp_path if store else None)

    (span,) = spans.all()
    assert seen(span)["error.type"] == "BudgetTooSmall"
    assert span.status.status_code is StatusCode.ERROR
    assert span.status.description is None


def test_a_summary_by_the_caller_is_two_spans(spans: Spans, tmp_path: Path):
    session = session_in(tmp_path)
    outcome = session.ask(target_tokens=3_000, strategy="summarize")
    while isinstance(outcome, SummaryAssignment):
        outcome = session.answer(outcome.plan_id, SUMMARY)

    first, *_, last = spans.of("compact")
    assert seen(first)["context_compression.summary.by"] == "caller"
    assert seen(last)["context_compression.strategy"] == "summarize"
    assert spans.of("chat") == []


@pytest.mark.parametrize("way", ["record", "fit"])
def test_usage_in_a_programs_own_messages_is_an_event_of_its_span(
    spans: Spans, tmp_path: Path, way: str
):
    usage = {"input_tokens": 10, "cache_read_input_tokens": 90, "output_tokens": 5}
    asked = {"role": "user", "content": SECRET}
    answered = {"role": "assistant", "content": "Done.", "usage": usage}
    session = Session(tmp_path, "talk")
    tracer = spans.provider.get_tracer("a program")

    with tracer.start_as_current_span("turn", attributes={"gen_ai.operation.name": "none"}):
        if way == "record":
            session.record(asked, answered)
        else:
            session.fit([asked])
            session.fit([asked, answered])
            session.fit([asked, answered, asked])

    (span,) = spans.all()
    (event,) = span.events
    assert event.name == "context_compression.usage"
    assert dict(event.attributes or {}) == {
        "gen_ai.conversation.id": "talk",
        "gen_ai.usage.input_tokens": 100,
        "gen_ai.usage.output_tokens": 5,
        "gen_ai.usage.cache_read.input_tokens": 90,
        "context_compression.cache.reuse": 0.9,
    }


def test_usage_without_a_cache_says_nothing_of_one():
    assert usage_attributes({"prompt_tokens": 7, "completion_tokens": 2}) == {
        "gen_ai.usage.input_tokens": 7,
        "gen_ai.usage.output_tokens": 2,
    }
    assert usage_attributes({"input_tokens": 9, "input_tokens_details": {"cached_tokens": 3}}) == {
        "gen_ai.usage.input_tokens": 9,
        "gen_ai.usage.cache_read.input_tokens": 3,
        "context_compression.cache.reuse": 0.3333,
    }
    assert usage_attributes({"anything": "else"}) == {}
    assert usage_attributes({"prompt_tokens": True, "completion_tokens": "7"}) == {}


USAGE: dict[str, dict[str, Any]] = {
    "OpenAI": {
        "prompt_tokens": 100, "completion_tokens": 7,
        "prompt_tokens_details": {"cached_tokens": 60},
    },
    "Anthropic": {
        "input_tokens": 35, "cache_read_input_tokens": 60, "cache_creation_input_tokens": 5,
        "output_tokens": 7,
    },
    "Bedrock": {
        "inputTokens": 35, "cacheReadInputTokens": 60, "cacheWriteInputTokens": 5,
        "outputTokens": 7, "totalTokens": 107,
    },
    "Gemini": {
        "promptTokenCount": 100, "cachedContentTokenCount": 60, "candidatesTokenCount": 4,
        "thoughtsTokenCount": 3, "totalTokenCount": 107,
    },
    "Gemini in Python": {
        "prompt_token_count": 100, "cached_content_token_count": 60, "candidates_token_count": 4,
        "thoughts_token_count": 3,
    },
    "AI SDK 5": {"inputTokens": 100, "cachedInputTokens": 60, "outputTokens": 7},
    "AI SDK 6": {
        "inputTokens": 100, "outputTokens": 7,
        "inputTokenDetails": {"cacheReadTokens": 60, "cacheWriteTokens": 5},
    },
}  # fmt: skip


@pytest.mark.parametrize("as_object", [False, True])
@pytest.mark.parametrize("usage", USAGE.values(), ids=USAGE)
def test_the_usage_of_each_api_has_the_same_attributes(usage: dict[str, Any], as_object: bool):
    told = usage_attributes(SimpleNamespace(**usage) if as_object else usage)

    written = told.pop("gen_ai.usage.cache_creation.input_tokens", 5)
    assert written == 5
    assert told == {
        "gen_ai.usage.input_tokens": 100,
        "gen_ai.usage.output_tokens": 7,
        "gen_ai.usage.cache_read.input_tokens": 60,
        "context_compression.cache.reuse": 0.6,
    }


async def test_one_session_can_be_traced_alone_and_no_longer(tmp_path: Path):
    spans = Spans()
    model = ScriptedSummarizer(SUMMARY)
    traced = session_in(tmp_path / "a", summarizer=model)
    other = session_in(tmp_path / "b", summarizer=model)
    stop = instrument(traced, tracer_provider=spans.provider)

    await other.acompress(target_tokens=3_000)
    await acompress(talk(), target_tokens=3_000, summarizer=model)
    assert spans.all() == []
    await traced.acompress(target_tokens=3_000)
    stop()
    made = len(spans.all())
    traced.undo()
    await traced.acompress(target_tokens=3_000)

    assert {span.name for span in spans.all()} == {f"compact {MODEL}", f"chat {MODEL}"}
    assert len(spans.all()) == made


async def test_the_servers_compactions_are_spans(spans: Spans, tmp_path: Path):
    async with connected(workspace_in(tmp_path)) as client:
        answer = await ask(client, "context_compress", messages=talk(), target_tokens=3_000)
        await ask(client, "context_compress", messages=talk(), target_tokens=4_000, dry_run=True)

    (span,) = [span for span in spans.all() if "gen_ai.operation.name" in seen(span)]
    assert seen(span)["context_compression.tokens.after"] == answer.facts["tokens_after"]


@pytest.mark.parametrize("example", EXAMPLES, ids=str)
def test_the_page_prints_what_it_says(eval_example: EvalExample, example: CodeExample):
    if eval_example.update_examples:
        eval_example.run_print_update(example)
    else:
        eval_example.run_print_check(example)


def test_the_page_lists_each_attribute():
    source = inspect.getsource(module)
    named = set(re.findall(r'"((?:gen_ai|context_compression|server|error)\.[\w.]+)"', source))

    assert len(named) > 25
    assert {name for name in named if f"`{name}`" not in PAGE.read_text(encoding="utf-8")} == set()


def test_where_nobody_listens_nothing_is_made():
    work = listening.RunningCompaction("manual")

    assert listening.heard(work) is listening.heard(work)


COMMAND = (sys.executable, "-m", "context_compression", "compress", "talk.json")


def run(folder: Path, **variables: str) -> "subprocess.CompletedProcess[str]":
    (folder / "talk.json").write_text(json.dumps(talk()), encoding="utf-8")
    asked = [*COMMAND, "--target-tokens", "3000", "--output", "out.json"]
    environ = {"PATH": os.environ["PATH"], "HOME": str(folder), **variables}
    return subprocess.run(
        asked, cwd=folder, env=environ, capture_output=True, text=True, timeout=60, check=True
    )


def test_the_command_is_traced_where_the_environment_says_so(tmp_path: Path):
    done = run(tmp_path, CONTEXT_COMPRESSION_OPENTELEMETRY="1", OTEL_TRACES_EXPORTER="console")

    assert '"gen_ai.operation.name": "compact"' in done.stderr
    assert '"service.name": "context-compression"' in done.stderr
    assert done.stdout == ""


def test_switched_off_nothing_of_it_is_imported(tmp_path: Path):
    done = run(tmp_path, CONTEXT_COMPRESSION_OPENTELEMETRY="off", PYTHONPROFILEIMPORTTIME="1")

    assert "context_compression.listening" in done.stderr
    assert "opentelemetry" not in done.stderr


def test_a_missing_exporter_is_told_and_the_command_does_its_work(tmp_path: Path):
    done = run(tmp_path, CONTEXT_COMPRESSION_OPENTELEMETRY="1", OTEL_TRACES_EXPORTER="jaeger")

    assert "opentelemetry-exporter-jaeger is missing, so nothing is traced" in done.stderr
    assert (tmp_path / "out.json").exists()


@contextmanager
def fails_at_the_end(work: listening.Work) -> Generator[listening.Ending]:
    yield lambda outcome: None
    raise RuntimeError(SECRET)


def fails_at_the_start(work: listening.Work) -> AbstractContextManager[listening.Ending]:
    raise RuntimeError(SECRET)


def fails_at_the_outcome(work: listening.Work) -> AbstractContextManager[listening.Ending]:
    def fail(outcome: object) -> None:
        raise RuntimeError(SECRET)

    return nullcontext(fail)


@pytest.mark.parametrize("listener", [fails_at_the_start, fails_at_the_outcome, fails_at_the_end])
def test_a_listener_that_fails_does_not_stop_the_work(
    listener: listening.Listener, caplog: pytest.LogCaptureFixture
):
    stop, messages = listening.listen(listener), talk()
    try:
        assert compress(messages, target_tokens=3_000).changed
        with pytest.raises(BudgetTooSmall):
            compress(messages, target_tokens=1)
    finally:
        stop()

    assert "a listener failed: RuntimeError" in caplog.text
    assert SECRET not in caplog.text

"""OpenTelemetry: a span for each compaction, and one for each call of a model for a summary.

    from context_compression.integrations.opentelemetry import instrument

    instrument()              # all compactions of this process
    instrument(session)       # those of one session

Names are those of the GenAI conventions where they have one, and else begin with
`context_compression.`; `docs/frameworks/opentelemetry.md` lists them. No content of a message is in
a span, nor the text of an error.
"""

import sys
from collections.abc import Callable, Generator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from importlib.metadata import entry_points
from typing import Any

from opentelemetry import context, trace
from opentelemetry.trace import Span, SpanKind, Status, StatusCode, TracerProvider

from context_compression import listening
from context_compression.conversation.messages import is_object
from context_compression.listening import Ending, ModelCall, ReportedUsage, RunningCompaction, Work

NAME = "context_compression"
_UNSEEN: AbstractContextManager[Ending] = nullcontext(lambda outcome: None)
OURS = context.create_key("context-compression-compaction")
"""Set in the context while one of the instrumented compactions runs."""
PROVIDERS = (
    ("bedrock", "aws.bedrock"), ("vertex", "gcp.vertex_ai"), ("azure", "azure.ai.openai"),
    ("anthropic", "anthropic"), ("openai", "openai"),
)  # fmt: skip
"""A part of a client's class or package, and the provider's name in the conventions."""
INPUT = (
    "prompt_tokens", "input_tokens", "inputTokens", "promptTokenCount", "prompt_token_count",
)  # fmt: skip
OUTPUT = (
    "completion_tokens", "output_tokens", "outputTokens", "candidatesTokenCount",
    "candidates_token_count",
)  # fmt: skip
THOUGHTS = ("thoughtsTokenCount", "thoughts_token_count")
"""Gemini counts them beside the rest of the output."""
CACHE_BESIDE = (
    "cache_read_input_tokens", "cacheReadInputTokens", "cache_creation_input_tokens",
    "cacheWriteInputTokens",
)  # fmt: skip
"""Anthropic and Bedrock count them beside the rest of the input."""
CACHE_READ = (
    *CACHE_BESIDE[:2], "cache_read_tokens", "cached_tokens", "cachedContentTokenCount",
    "cached_content_token_count", "cachedInputTokens", "cacheReadTokens",
)  # fmt: skip
CACHE_WRITE = (*CACHE_BESIDE[2:], "cache_write_tokens", "cacheWriteTokens")
"""Names of token counts in usage: those of OpenAI, Anthropic, Bedrock, Gemini (also in Python), the
AI SDK, and our `SummaryReply`.
"""
DETAILS = ("prompt_tokens_details", "input_tokens_details", "inputTokenDetails")
"""Where OpenAI and the AI SDK keep the cached tokens."""


def instrument(*sessions: Any, tracer_provider: TracerProvider | None = None) -> Callable[[], None]:
    """Make spans from now on, of all compactions or of those of some sessions.

    Args:
        sessions: each a `Session`; none for the whole process, with compactions in memory.
        tracer_provider: by default the global one.

    Returns:
        A function that ends it.
    """
    tracer = trace.get_tracer(NAME, tracer_provider=tracer_provider)

    def listener(work: Work) -> AbstractContextManager[Ending]:
        if sessions and not _is_of(work, sessions):
            return _UNSEEN
        match work:
            case RunningCompaction():
                return _compaction(tracer, work)
            case ModelCall():
                return _model_call(tracer, work)
            case ReportedUsage():
                _add_usage(work)
                return _UNSEEN

    return listening.listen(listener)


def instrument_process(environ: Mapping[str, str]) -> None:
    """`instrument` for a program of ours, which sets up the SDK first.

    Spans go where `OTEL_TRACES_EXPORTER` says, by default to the collector of OTLP's variables. If
    the process was started with `opentelemetry-instrument`, the SDK is set up already.

    Raises:
        ImportError: the SDK, or the package of the exporter, is missing; its `name` says which.
    """
    if isinstance(trace.get_tracer_provider(), trace.ProxyTracerProvider):
        from opentelemetry.sdk.resources import SERVICE_NAME, Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor

        service = environ.get("OTEL_SERVICE_NAME") or "context-compression"
        provider = TracerProvider(resource=Resource.create({SERVICE_NAME: service}))
        for name in filter(None, environ.get("OTEL_TRACES_EXPORTER", "otlp").split(",")):
            if exporter := _exporter(name.strip()):
                provider.add_span_processor(BatchSpanProcessor(exporter))
        trace.set_tracer_provider(provider)
    instrument()


def _exporter(name: str) -> Any:
    """An exporter by its name in `OTEL_TRACES_EXPORTER`; `None` for `none`.

    The console is stderr: stdout belongs to the protocol, or to what a command prints.
    """
    if name == "none":
        return None
    if name == "console":
        from opentelemetry.sdk.trace.export import ConsoleSpanExporter

        return ConsoleSpanExporter(out=sys.stderr)
    for full in (name, f"{name}_proto_http", f"{name}_proto_grpc"):
        for exporter in entry_points(group="opentelemetry_traces_exporter", name=full):
            return exporter.load()()
    raise ModuleNotFoundError(name=f"opentelemetry-exporter-{name}")


def _is_of(work: Work, sessions: tuple[Any, ...]) -> bool:
    """Whether work is that of one of the sessions; a summary belongs to the running compaction."""
    if isinstance(work, ModelCall):
        return context.get_value(OURS) is not None
    return any(work.session is session for session in sessions)


@contextmanager
def _compaction(tracer: trace.Tracer, work: RunningCompaction) -> Generator[Ending]:
    attributes = {
        "gen_ai.operation.name": "compact",
        "gen_ai.request.model": work.model,
        "gen_ai.conversation.id": getattr(work.session, "id", None),
        "context_compression.reason": work.reason,
    }
    name = f"compact {work.model}" if work.model else "compact"
    parent = work.beginner.run(context.get_current) if work.beginner else None
    del work  # it would keep its session alive
    with _span(tracer, name, SpanKind.INTERNAL, attributes, parent) as span:
        token = context.attach(context.set_value(OURS, True))
        try:
            yield lambda outcome: span.set_attributes(_present(_outcome(outcome)))
        finally:
            context.detach(token)


def _outcome(outcome: Any) -> dict[str, Any]:
    """The attributes of a `Result`; of a summary that the caller must write first, only that."""
    ours: dict[str, Any] = {}
    if not hasattr(outcome, "tokens_after"):
        return {"context_compression.summary.by": "caller"}
    ours["gen_ai.conversation.compacted"] = outcome.changed
    ours["context_compression.strategy"] = outcome.strategy
    ours["context_compression.tokens.before"] = outcome.tokens_before
    ours["context_compression.tokens.after"] = outcome.tokens_after
    ours["context_compression.tokens.target"] = outcome.target_tokens
    ours["context_compression.tokens.method"] = outcome.method
    ours["context_compression.target_met"] = outcome.target_met
    ours["context_compression.messages.before"] = outcome.messages_in
    ours["context_compression.messages.after"] = len(outcome.messages)
    ours["context_compression.messages.first_changed"] = outcome.first_changed
    ours["context_compression.archived"] = len(outcome.originals)
    if outcome.summary:
        ours["context_compression.summary.cost"] = outcome.summary.cost
    return ours


@contextmanager
def _model_call(tracer: trace.Tracer, work: ModelCall) -> Generator[Ending]:
    attributes = {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": _provider_of(work.asked),
        "gen_ai.request.model": work.model,
        "gen_ai.request.max_tokens": work.max_tokens,
        "server.address": getattr(getattr(work.asked, "base_url", None), "host", None),
    }
    name = f"chat {work.model}" if work.model else "chat"
    with _span(tracer, name, SpanKind.CLIENT, attributes) as span:
        yield lambda answer: span.set_attributes(_present(_answer(answer)))


def _answer(answer: Any) -> dict[str, Any]:
    """The attributes of an answer: of Anthropic's or OpenAI's client, or a `SummaryReply`."""
    choices: list[Any] = getattr(answer, "choices", None) or []
    reasons = [getattr(choice, "finish_reason", None) for choice in choices]
    reasons.append(getattr(answer, "stop_reason", None))
    return {
        "gen_ai.response.id": getattr(answer, "id", None),
        "gen_ai.response.model": getattr(answer, "model", None),
        "gen_ai.response.finish_reasons": [reason for reason in reasons if reason] or None,
        **usage_attributes(getattr(answer, "usage", None) or answer),
    }


def _add_usage(work: ReportedUsage) -> None:
    """The usage of a request that the program made, as an event of the span it is in."""
    attributes = usage_attributes(work.usage)
    if attributes:
        attributes["gen_ai.conversation.id"] = work.session.id
        trace.get_current_span().add_event("context_compression.usage", attributes)


def usage_attributes(usage: Any) -> dict[str, Any]:
    """The attributes for the usage that a provider reported; no attribute for what is unknown.

    `gen_ai.usage.input_tokens` counts cached tokens, too, also where a provider does not.
    """
    parts: list[Any] = [_part(usage, name) for name in DETAILS]
    details = next((part for part in parts if part), None)
    sent, answered = _first(usage, INPUT), _first(usage, OUTPUT)
    if answered is not None:
        answered += _first(usage, THOUGHTS) or 0
    read, written = (
        _first(usage, names) if _first(details, names) is None else _first(details, names)
        for names in (CACHE_READ, CACHE_WRITE)
    )
    is_beside = _first(usage, CACHE_BESIDE) is not None and _first(usage, INPUT[:1]) is None
    if sent is not None and is_beside:
        sent += (read or 0) + (written or 0)
    found: dict[str, Any] = {
        "gen_ai.usage.input_tokens": sent,
        "gen_ai.usage.output_tokens": answered,
        "gen_ai.usage.cache_read.input_tokens": read,
        "gen_ai.usage.cache_creation.input_tokens": written,
    }
    if sent and read is not None:
        found["context_compression.cache.reuse"] = round(read / sent, 4)
    return _present(found)


def _first(usage: Any, names: tuple[str, ...]) -> int | None:
    """The first of some counts that usage has."""
    counts = (_part(usage, name) for name in names)
    return next((count for count in counts if type(count) is int), None)  # not True


def _part(value: Any, name: str) -> Any:
    return value.get(name) if is_object(value) else getattr(value, name, None)


def _provider_of(asked: Any) -> str | None:
    """The name of a provider in the conventions, by a summarizer's or a client's own."""
    if isinstance(own := getattr(asked, "provider", None), str):
        return own
    kind = asked.__class__
    named = f"{kind.__module__} {kind.__name__}".lower()
    return next((name for part, name in PROVIDERS if part in named), None)


@contextmanager
def _span(
    tracer: trace.Tracer,
    name: str,
    kind: SpanKind,
    attributes: Mapping[str, Any],
    parent: context.Context | None = None,
) -> Generator[Span]:
    """A span that is current meanwhile; an error is told by its type alone.

    Args:
        tracer: makes it.
        name: of the span.
        kind: of the span.
        attributes: of the span; those that are `None` are left out.
        parent: the context with its parent; `None` for the current one.
    """
    with tracer.start_as_current_span(
        name,
        context=parent,
        kind=kind,
        attributes=_present(attributes),
        record_exception=False,
        set_status_on_exception=False,
    ) as span:
        try:
            yield span
        except BaseException as error:
            span.set_attribute("error.type", type(error).__qualname__)
            span.set_status(Status(StatusCode.ERROR))
            raise


def _present(attributes: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in attributes.items() if value is not None}

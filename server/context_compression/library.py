"""`compress`, `acompress` and `should_compress`, as the package exports them.

Without a store, they compress in memory. With a store, they use a session: the given session, or
the session that the store has for the conversation. Without a target, strategy, pins and `force`, a
call continues what the last one returned, as `Session.fit` does; otherwise it compresses the whole
conversation anew.

A program that imports them waits for nothing: the first call loads what it needs, and `session` and
`store` only if a store is given.
"""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from context_compression.listening import RunningCompaction, heard
from context_compression.summaries.summarizer import BY_SETTINGS, Writer, summarizer_for
from context_compression.threads import twin_of

if TYPE_CHECKING:
    from typing_extensions import TypeVar

    from context_compression.compression.prepared import CompressionRequest
    from context_compression.compression.result import Result
    from context_compression.conversation.formats import AnyMessage
    from context_compression.session.continuing import Place, Written
    from context_compression.settings import Settings, StrategyName
    from context_compression.strategies.base import Strategy
    from context_compression.summaries.summarizer import Summarizer
    from context_compression.tokens import TextCounter
    from context_compression.tokens.usage import AnyMessages

    M = TypeVar("M", bound=AnyMessage, default=Any)


def compress(
    messages: "Sequence[M]",
    *,
    target_tokens: int | None = None,
    system: Any = None,
    tools: Any = None,
    model: str | None = None,
    counter: "TextCounter | None" = None,
    strategy: "StrategyName | Strategy" = "auto",
    pins: Sequence[int | str] = (),
    focus: str | None = None,
    force: bool = False,
    settings: "Settings | Mapping[str, Any] | None" = None,
    store: "Place | None" = None,
    summarizer: Writer = BY_SETTINGS,
) -> "Result[M]":
    """Make a conversation smaller: it stays valid for its provider, and every byte can be restored.

        result = compress(messages, target_tokens=50_000)
        result.messages                 # send these instead
        result.tokens_after             # at most 50,000
        result.originals["c3f9…"]       # an original, by the ref that replaces it

    Args:
        messages: in any dialect of `conversation.formats`, as dicts or as objects of a provider's
            library. They are not changed, and the result has the same dialect and type.
        target_tokens: the size to reach, as `count_tokens` counts it: messages, and what is passed
            as `system` and `tools`. Without a target, nothing is done below the threshold of the
            settings; above it, the conversation is reduced to the target of the settings.
        system: the system prompt, if the provider takes it separately from the messages.
        tools: the tool definitions of the request.
        model: the model whose tokens and window count.
        counter: counts tokens instead of our counter: takes a text, returns a number of tokens.
        strategy: the name of a strategy, or a strategy of your own. The default, `auto`, leaves it
            to the settings; `Session.compress(strategy="auto")` overrides them.
        pins: messages to keep complete: by index, or by a text they contain.
        focus: the subject of the remaining work, in words.
        force: compress below the threshold, too: all messages before the recent ones.
        settings: a `Settings`, or some of its values.
        store: a `Store`, the path of its folder, or a `Session`: keeps the originals on disk, which
            are else only in `result.originals`. Without a target, a view then begins with the last.
        summarizer: writes summaries; by default, a model that the settings name; `None`: no model.

    Returns:
        The messages to send, in `messages`, and the report on what was done.

    Raises:
        InvalidConversation: the messages are not a conversation in a format we know.
        InvalidTarget: the target is not a positive number of tokens.
        InvalidCounter: the counter does not return a number of tokens.
        InvalidSettings: an unknown setting or strategy.
        BudgetTooSmall: the target is below the minimum size, with the strategy `auto`.
        StoreError: the originals could not be kept; nothing was changed.
    """
    # long: it says what each argument is for
    from context_compression.compression.prepared import CompressionRequest

    request = CompressionRequest(
        messages=messages, target_tokens=target_tokens, system=system, tools=tools, model=model,
        counter=counter, strategy=None if strategy == "auto" else strategy, pins=pins, focus=focus,
        force=force, settings=settings,
    )  # fmt: skip
    return _compressed(request, store, partial(_summarizer, summarizer, request))


acompress = twin_of(compress)
"""`compress` for an event loop: the same arguments, the same result, the same errors."""


def should_compress(
    messages: "AnyMessages",
    *,
    system: Any = None,
    tools: Any = None,
    model: str | None = None,
    counter: "TextCounter | None" = None,
    settings: "Settings | Mapping[str, Any] | None" = None,
) -> bool:
    """Whether `compress` would run without a target and without `force`.

    It would over the threshold of the settings, and with the strategy `window` also if there are
    too many turns. An empty conversation is never due.

    Returns:
        `True` if a compression is due.

    Raises:
        InvalidConversation: `messages` is not a conversation in a known dialect.
        InvalidCounter: `counter` is not a function, or does not return a number of tokens.
        InvalidSettings: an unknown name or an impossible value.
    """
    from context_compression.conversation.formats import parse
    from context_compression.strategies import window
    from context_compression.tokens.usage import for_model, usage

    settings = for_model(settings, model)
    conversation = parse(messages)
    filled = usage(
        conversation, system=system, tools=tools, model=model, counter=counter, settings=settings
    )
    if filled.over_threshold or settings.strategy != "window":
        return filled.over_threshold
    return window.due_by_turns(conversation.messages, settings)


def _summarizer(writer: Writer, request: "CompressionRequest") -> "Summarizer | None":
    from context_compression.tokens.usage import for_model

    return summarizer_for(writer, for_model(request.settings, request.model))


def _compressed(
    request: "CompressionRequest", store: "Place | None", writer: "Written"
) -> "Result":
    if store is not None and request.messages:
        from context_compression.session.continuing import compress_in_session

        return compress_in_session(store, request, writer)
    from context_compression.compression.run import compress as compress_in_memory

    with heard(RunningCompaction("manual", model=request.model)) as end:
        result = compress_in_memory(request, writer())
        end(result)
        return result

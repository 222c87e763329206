"""`compress` and `acompress` as people call them: with a store, the originals are on disk.

Without one they are the functions of `compress`. With one they go through a session: the one given,
or the one that a store has for the conversation.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from context_compression.compression.result import Result
from context_compression.compression.run import CompressionRequest
from context_compression.compression.run import acompress as acompress_in_memory
from context_compression.compression.run import compress as compress_in_memory
from context_compression.session import Session, session_id_for
from context_compression.session.threads import in_thread, same_signature_as
from context_compression.settings import Settings
from context_compression.store import Store
from context_compression.summaries.summarizer import Summarizer
from context_compression.tokens import TextCounter
from context_compression.tokens.usage import Messages

Place: TypeAlias = Store | Session | str | Path
OF_A_CALL = ("messages", "target_tokens", "strategy", "pins", "focus", "force", "settings")
"""What goes with each compression of a session; all else it is made with."""


def compress(
    messages: Messages,
    *,
    target_tokens: int | None = None,
    system: Any = None,
    tools: Any = None,
    model: str | None = None,
    counter: TextCounter | None = None,
    strategy: str = "auto",
    pins: Sequence[int | str] = (),
    focus: str | None = None,
    force: bool = False,
    settings: Settings | Mapping[str, Any] | None = None,
    store: Place | None = None,
    summarizer: Summarizer | None = None,
) -> Result:
    """A smaller, valid conversation from which every byte that left can be brought back.

    Args:
        messages: in any dialect of `formats`, as dicts or objects of a provider's library; not
            changed, and the same dialect comes out.
        target_tokens: what to come down to, system prompt and tool schemas included; without it
            only when over the threshold, down to the target of the settings.
        system: the system prompt, where it is given beside the messages.
        tools: the tool definitions.
        model: whose tokens and window count.
        counter: the caller's own way to count, text in, tokens out.
        strategy: one by name, which goes before that of the settings; `auto`, the default, cannot
            be told from nothing and leaves it to them. `Session.compress(strategy="auto")` insists.
        pins: messages to keep whole: by index, or by a text they contain.
        focus: what the remaining work is about.
        force: compress below the threshold too, on whatever lies before the recent messages.
        settings: a `Settings`, or some of its values.
        store: a `Store` or the path of its folder, or a `Session`: keeps the originals on disk.
            Without one they are in `result.originals` alone.
        summarizer: answers summary requests.

    Raises:
        InvalidConversation: not a conversation in a format we know.
        InvalidTarget: not a positive number of tokens.
        InvalidCounter: the counter gives no number of tokens.
        InvalidSettings: an unknown setting or strategy.
        BudgetTooSmall: `auto` was given a target below the floor.
        StoreError: the originals could not be kept; nothing was changed.
    """
    ask = CompressionRequest(
        messages=messages, target_tokens=target_tokens, system=system, tools=tools, model=model,
        counter=counter, strategy=_named(strategy), pins=pins, focus=focus, force=force,
        settings=settings,
    )  # fmt: skip
    if store is None or not messages:
        return compress_in_memory(ask, summarizer)
    return _session(store, ask, summarizer).compress(**_of_a_call(ask))


@same_signature_as(compress)
async def acompress(
    messages: Messages,
    *,
    strategy: str = "auto",
    store: Place | None = None,
    summarizer: Summarizer | None = None,
    **options: Any,
) -> Result:
    """`compress` for an event loop: the same arguments, the same result, the same errors."""
    ask = CompressionRequest(messages=messages, strategy=_named(strategy), **options)
    if store is None or not messages:
        return await acompress_in_memory(ask, summarizer, in_thread)
    return await _session(store, ask, summarizer).acompress(**_of_a_call(ask))


def _named(strategy: str) -> str | None:
    """The strategy somebody named; the default is what the settings say."""
    return None if strategy == "auto" else strategy


def _session(store: Place, ask: CompressionRequest, summarizer: Summarizer | None) -> Session:
    if isinstance(store, Session):
        return store
    store = store if isinstance(store, Store) else Store(store)
    return Session(
        store, session_id_for(ask.messages, store), system=ask.system, tools=ask.tools,
        model=ask.model, counter=ask.counter, summarizer=summarizer,
    )  # fmt: skip


def _of_a_call(ask: CompressionRequest) -> dict[str, Any]:
    return {name: getattr(ask, name) for name in OF_A_CALL}

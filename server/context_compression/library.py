"""`compress` and `acompress` as people call them: with a store, the originals are on disk.

Without one they are the functions of `compress`. With one they go through a session: the one given,
or the one that a store names after the conversation's first message.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from context_compression.compress import acompress as acompress_in_memory
from context_compression.compress import compress as compress_in_memory
from context_compression.result import Result
from context_compression.session import Session, name_for
from context_compression.settings import Settings
from context_compression.store import Store
from context_compression.summarizer import Summarizer
from context_compression.tokens import TextCounter
from context_compression.usage import Messages

Place: TypeAlias = Store | Session | str | Path


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
        messages: Anthropic or OpenAI messages; not changed, and the same dialect comes out.
        target_tokens: what to come down to, system prompt and tool schemas included; without it
            only when over the threshold, down to the target of the settings.
        system: the system prompt, where it is given beside the messages.
        tools: the tool definitions.
        model: whose tokens and window count.
        counter: the caller's own way to count, text in, tokens out.
        strategy: `auto`, or one by name.
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
        InvalidSettings: an unknown setting or strategy.
        BudgetTooSmall: `auto` was given a target below the floor.
        StoreError: the originals could not be kept; nothing was changed.
    """
    asked: dict[str, Any] = {
        "target_tokens": target_tokens, "strategy": strategy, "pins": pins, "focus": focus,
        "force": force, "settings": settings,
    }  # fmt: skip
    about: dict[str, Any] = {
        "system": system, "tools": tools, "model": model, "counter": counter,
        "summarizer": summarizer,
    }  # fmt: skip
    if store is None or not messages:
        return compress_in_memory(messages, **asked, **about)
    return _session(store, messages, about).compress(messages=messages, **asked)


async def acompress(
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
    """`compress` for an event loop: the same arguments, the same result, the same errors."""
    asked: dict[str, Any] = {
        "target_tokens": target_tokens, "strategy": strategy, "pins": pins, "focus": focus,
        "force": force, "settings": settings,
    }  # fmt: skip
    about: dict[str, Any] = {
        "system": system, "tools": tools, "model": model, "counter": counter,
        "summarizer": summarizer,
    }  # fmt: skip
    if store is None or not messages:
        return await acompress_in_memory(messages, **asked, **about)
    return await _session(store, messages, about).acompress(messages=messages, **asked)


def _session(store: Place, messages: Messages, about: Mapping[str, Any]) -> Session:
    return store if isinstance(store, Session) else Session(store, name_for(messages), **about)

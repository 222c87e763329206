"""Offloading of a large tool result before it enters a conversation.

Preview, ref and archive are the same as those that the strategy `offload` makes.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from types import MappingProxyType

from context_compression.conversation.messages import (
    Message,
    Text,
    ToolCall,
    ToolResult,
    strings_in,
)
from context_compression.conversation.refs import digest_of
from context_compression.display.quantities import whole_number
from context_compression.errors import InvalidSettings
from context_compression.planning.archive import Archive
from context_compression.planning.plan import Plan
from context_compression.planning.selection import describe
from context_compression.session.keeping import ArchivedTexts
from context_compression.session.patterns import with_patterns
from context_compression.session.receipts import restored_refs
from context_compression.session.recorded import RecordedConversation
from context_compression.settings import Settings
from context_compression.strategies.offload import to_preview
from context_compression.tokens import Counter

LIMITS_VARIABLE = "CONTEXT_COMPRESSION_OFFLOAD_AT_SOURCE"
"""Minimum tokens of an offloaded result by tool: `Read=0,mcp__github__*=4000`; 0 means never."""
MIN_TOKENS = {"Read": 10_000, "Agent": 10_000, "Task": 10_000, "WebFetch": 4_000}
"""Defaults by tool. Agents need the text they read for edits; agents' reports are short already."""
OWN_TOOLS = (
    "context_status", "context_compress", "context_config", "context_summary", "context_offload",
    "context_restore",
)  # fmt: skip
"""Our own tools. Their answers are short, or were restored on purpose."""
RECENT = 12
"""How many messages before a result its preview may follow: it prefers lines with their names."""
FOLDER = ".compression/"
COMPLETE = "nothing is left out: lines that differ only in numbers are a letter and the numbers"
WORTH_PATTERNS = 0.25
"""Share of a result that patterns must free; else it is easier to read as it came."""
NO_ENVIRONMENT: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True)
class AnsweredCall:
    """A tool call that was just answered.

    Attributes:
        call: the call.
        text: the full answer.
        shown: the text that the model would see, if the host has already shortened the answer.
        recent: the last messages; the preview prefers lines with names from them.
    """

    call: ToolCall
    text: str
    shown: str | None = None
    recent: Sequence[Message] = ()


def offload_result(
    session: RecordedConversation,
    answered: AnsweredCall,
    environ: Mapping[str, str] = NO_ENVIRONMENT,
    *,
    complete: bool = False,
) -> str | None:
    """The preview that replaces an answer; `None` if the answer itself is shown.

    The original is on disk when this returns.

    Args:
        session: the conversation.
        answered: the call and its answer.
        environ: may limit what is offloaded, in `LIMITS_VARIABLE`.
        complete: only write the answer shorter; whoever reads it cannot restore anything.

    Raises:
        InvalidSettings: `LIMITS_VARIABLE` in the environment has an invalid value.
    """
    call, text = answered.call, answered.text
    least = _least(call.name, environ, session.settings)
    if not least or len(text.encode("utf-8", "replace")) < least:  # no token is less than a byte
        return None
    if call.name.endswith(OWN_TOOLS) or _reads_the_store(call, session):
        return None
    log = session.store.session(session.id)
    with log.archiving():
        state = session.state()
        texts = ArchivedTexts(log, state)
        archive = Archive(
            True,
            log.offloaded_path if session.store.backend.folder else None,
            restored_refs(state),
            ref_of=texts.ref_of,
        )
        if texts.ref_of(text) in archive.restored:
            return None
        settings = session.settings.changed({"offload_min_tokens": least})
        counter = Counter(session.model, session.counter)
        make = _with_patterns if complete else _preview
        kept, what, freed = make(answered, settings, counter, archive)
        if freed <= 0:
            return None
        texts.add(text, what, previews=[digest_of(kept)], call=call.id, tokens_freed=freed)
    return kept


def recent_talk(messages: Sequence[Message]) -> list[Message]:
    """The last texts and calls of a conversation, without results: `AnsweredCall.recent`."""
    talk = (
        (message, tuple(b for b in message.blocks if isinstance(b, Text | ToolCall)))
        for message in messages[-RECENT:]
    )
    return [Message(message.role, blocks) for message, blocks in talk if blocks]


def _preview(
    answered: AnsweredCall, settings: Settings, counter: Counter, archive: Archive
) -> tuple[str, str, int]:
    """The preview of an answer, a few words that describe it, and the tokens that it frees."""
    call, text = answered.call, answered.text
    result = ToolResult(call.id, (Text(text),))
    messages = (*answered.recent, Message("assistant", (call,)), Message("user", (result,)))
    plan = Plan(messages, (0,) * len(messages), counter, settings, archive=archive)
    shorten = to_preview(plan, settings.offload_min_tokens)
    kept = shorten(result, call.name, len(messages) - 1, ()).text
    entering = text if answered.shown is None else answered.shown
    what = describe(result, call.name, counter.block(result))
    return kept, what, counter.text(entering) - counter.text(kept)


def _with_patterns(
    answered: AnsweredCall, settings: Settings, counter: Counter, archive: Archive
) -> tuple[str, str, int]:
    """The answer with patterns instead of lines that repeat, if that frees a good part of it."""
    call, text = answered.call, answered.text
    tokens = counter.text(text)
    what = describe(ToolResult(call.id, (Text(text),)), call.name, tokens)
    shorter = with_patterns(text) if tokens >= settings.offload_min_tokens else None
    if shorter is None:
        return text, what, 0
    kept = f"[{what}; ref {archive.ref_of(text)}; {COMPLETE}]\n{shorter}"
    freed = tokens - counter.text(kept)
    return kept, what, freed if freed >= WORTH_PATTERNS * tokens else 0


def _least(tool: str, environ: Mapping[str, str], settings: Settings) -> int:
    """The minimum tokens of an offloaded result; the first limit that matches the tool counts."""
    for limit in filter(None, environ.get(LIMITS_VARIABLE, "").split(",")):
        name, _, tokens = limit.strip().rpartition("=")
        least = whole_number(tokens)
        if not name or least is None or least < 0:
            raise InvalidSettings(f"{LIMITS_VARIABLE}: {limit!r} is no limit; write TOOL=TOKENS.")
        if fnmatchcase(tool, name):
            return least
    return max(settings.offload_min_tokens, MIN_TOKENS.get(tool, 0))


def _reads_the_store(call: ToolCall, session: RecordedConversation) -> bool:
    """Whether the call reads our store, which restores an original on purpose."""
    store = session.store.backend.name
    return any(store in text or FOLDER in text for text in strings_in(call.arguments))

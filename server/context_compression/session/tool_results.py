"""Offloading of a large tool result before it enters a conversation.

Preview, ref and archive are the same as those that the strategy `offload` makes.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

from context_compression.conversation.authors import asks_user
from context_compression.conversation.messages import (
    Message,
    Text,
    ToolCall,
    ToolResult,
    strings_in,
)
from context_compression.conversation.refs import REF, digest_of
from context_compression.evidence.questions import kind_of, question_of
from context_compression.planning.archive import Archive
from context_compression.planning.plan import Plan
from context_compression.planning.selection import describe
from context_compression.session.keeping import ArchivedTexts
from context_compression.session.patterns import is_log, with_patterns
from context_compression.session.receipts import restored_refs
from context_compression.session.recorded import RecordedConversation
from context_compression.session.state import State
from context_compression.settings import Settings
from context_compression.strategies.offload import to_preview
from context_compression.tokens import Counter

LARGE_TOKENS, LARGE_SHARE = 10_000, 0.25
"""Up to this size, a text that was asked for is whole: in tokens, or as a share of the budget if
that is more and the history can be compressed later."""
MOST_RESTORED = 0.2
"""A tool of whose previews a larger share was restored is not shortened any more."""
OWN_TOOLS = (
    "context_status", "context_compress", "context_config", "context_summary", "context_offload",
    "context_restore",
)  # fmt: skip
"""Our own tools. Their answers are short, or were restored on purpose."""
RECENT = 12
"""How many messages before a result its preview may follow: it prefers lines with their names."""
FOLDER = ".compression/"
REF_IN_NAME = re.compile(rf"offloaded[/\\\\]({REF})\b")
COMPLETE = "lines that differ only in numbers are a letter and the numbers; … marks what is cut"
"""What an output in patterns says of itself; it stays true if it is shortened further."""
WORTH_PATTERNS = 0.25
"""Share of a result that patterns must free; else it is easier to read as it came."""


@dataclass(frozen=True)
class AnsweredCall:
    """A tool call that was just answered.

    Attributes:
        call: the call.
        text: the full answer.
        shown: the text that the model would see, if the host has already shortened the answer.
        recent: the last messages; the preview prefers lines with names from them.
        said: what of the answer the user said; it is never shortened.
        is_final: whether the answer stays in every later request as it is now.
        room: how many tokens are left below the threshold, if that is known.
        by_setting: whether it is only shortened if `offload_at_source` names its tool.
        complete: only write the answer shorter; whoever reads it cannot restore anything.
    """

    call: ToolCall
    text: str
    shown: str | None = None
    recent: Sequence[Message] = ()
    said: str = ""
    is_final: bool = False
    room: int | None = None
    by_setting: bool = False
    complete: bool = False


def offload_result(session: RecordedConversation, answered: AnsweredCall) -> str | None:
    """The preview that replaces an answer; `None` if the answer itself is shown.

    The original is on disk when this returns. What the model has asked for is shown whole, up to a
    large size of its own; the outputs of programs become previews.
    """
    call, text = answered.call, answered.text
    settings, size = session.settings, len(text.encode("utf-8", "replace"))
    limit = limit_of(call.name, settings)
    least = settings.offload_min_tokens if limit is None else limit
    if not least or size < least or call.name.endswith(OWN_TOOLS):  # no token is less than a byte
        return None
    if asks_user(call.name):
        return None
    if limit is None and (answered.by_setting or size < _least(answered, settings)):
        return None
    if _reads_the_store(call, session):
        _note_read(session, call, text)
        return None
    log = session.store.session(session.id)
    with log.archiving():
        state = session.state()
        question = digest_of(question_of(call))
        if question in state.questions or (limit is None and is_mostly_restored(call.name, state)):
            return None
        texts = ArchivedTexts(log, state)
        archive = Archive(
            True,
            log.offloaded_path if session.store.backend.folder else None,
            restored_refs(state),
            ref_of=texts.ref_of,
        )
        if texts.ref_of(text) in archive.restored:
            return None
        least = _least(answered, settings) if limit is None else limit
        settings = settings.changed({"offload_min_tokens": least})
        counter = Counter(session.model, session.counter)
        make = _with_patterns if answered.complete else _preview
        kept, what, freed = make(answered, settings, counter, archive)
        if freed <= 0 or not all(line in kept for line in answered.said.splitlines()):
            return None
        more: dict[str, Any] = {"call": call.id, "tokens_freed": freed}
        if not answered.complete:
            more |= {"tool": call.name, "question": question, "of": texts.ref_of(text)}
        texts.add(text, what, previews=[digest_of(kept)], **more)
    return kept


def limit_of(tool: str, settings: Settings) -> int | None:
    """From how many tokens on `offload_at_source` shortens a tool's results; 0: never.

    The first limit whose name matches counts. `None` if none does.
    """
    for limit in settings.offload_at_source:
        name, _, tokens = limit.rpartition("=")
        if fnmatchcase(tool.lower(), name.lower()):
            return int(tokens)
    return None


def is_mostly_restored(tool: str, state: State) -> bool:
    """Whether more than a fifth of the previews of a tool's results were restored."""
    return state.previews_restored.get(tool, 0) > MOST_RESTORED * state.previews_of.get(tool, 0)


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


def _least(answered: AnsweredCall, settings: Settings) -> int:
    """The smallest size in tokens at which an answer is shortened, if no setting says it."""
    kind = kind_of(answered.call)
    if kind == "unknown" and is_log(answered.text):
        kind = "output"
    if kind == "output" or (answered.is_final and kind != "text"):
        return settings.offload_min_tokens
    large = LARGE_TOKENS
    if not answered.is_final:
        share = int(LARGE_SHARE * settings.token_budget)
        large = max(large, share if answered.room is None else min(share, answered.room))
    return max(settings.offload_min_tokens, large)


def _reads_the_store(call: ToolCall, session: RecordedConversation) -> bool:
    """Whether the call reads our store, which restores an original on purpose."""
    store = session.store.backend.name
    return any(store in text or FOLDER in text for text in strings_in(call.arguments))


def _note_read(session: RecordedConversation, call: ToolCall, text: str) -> None:
    """Note that previews were not enough where a call reads their originals as files."""
    shortened = session.state().shortened
    for ref in REF_IN_NAME.findall("\n".join(strings_in(call.arguments))):
        if ref in shortened:
            session.note_restored(ref, text)

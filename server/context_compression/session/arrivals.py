"""Shortens outputs of programs that come in when a conversation has outgrown its window before.

The model has not read them yet, so everything before them stays as it was sent, and the prompt
cache stays valid. Compressions alone could not do that: with 100 results of 2,500 tokens and a
window of 60,000, even a compression that left nothing would have to come every 20 requests.

What the model has asked for, such as a file, stays whole: it would only ask again. `tool_results`
tells the two apart.

If the model is offered `context_restore`, it gets a preview, and restores what it needs. Otherwise
nothing may be left out. Then only lines that repeat are written shorter.
"""

import collections
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from fnmatch import fnmatchcase
from string import ascii_uppercase
from typing import TYPE_CHECKING, Any, TypeAlias

from context_compression.conversation.authors import asks_user
from context_compression.conversation.formats import Conversation, parse
from context_compression.conversation.messages import (
    Block,
    Message,
    Text,
    ToolCall,
    ToolResult,
    strings_in,
    unanswered,
)
from context_compression.conversation.refs import REF, digest_of
from context_compression.errors import InvalidConversation
from context_compression.evidence.open_tasks import kind_of, question_of
from context_compression.planning.plan import Archive, Plan, offers_restore
from context_compression.planning.selection import describe
from context_compression.session.archive import ArchivedTexts, restored_refs
from context_compression.session.events import timestamp
from context_compression.session.restoring import note_restored
from context_compression.session.state import State
from context_compression.settings import Settings
from context_compression.strategies.tool_results import to_preview
from context_compression.tokens import Counter

if TYPE_CHECKING:
    from context_compression.session.session import Session


def shortened(
    conversation: "Session",
    state: State,
    new: Conversation,
    before: Sequence[Message] | None = None,
) -> list[dict[str, Any]]:
    """Events that shorten results among new messages; their originals are on disk.

    Only results after the last message of the model are shortened. Before the first compression,
    only those are that the setting `offload_at_source` names.

    Args:
        conversation: the conversation.
        state: its state, with the new messages.
        new: the new messages.
        before: the last messages before them, if they are read already.
    """
    if not _may_shorten(conversation, state):
        return []
    by_setting = not state.compressions
    said = [at for at, message in enumerate(new.messages) if message.role == "assistant"]
    recent = [*(_before(state, len(new)) if before is None else before), *new.messages]
    calls = {call.id: call for message in recent for call in message.calls}
    talk = recent_talk(recent)
    complete = not offers_restore(conversation.tools)

    def shorter(block: Block) -> Block:
        if not isinstance(block, ToolResult):
            return block
        call = calls.get(block.call_id, ToolCall(block.call_id, block.name or "tool", {}))
        answered = AnsweredCall(
            call, block.text, recent=talk, by_setting=by_setting, complete=complete,
            said="" if block.claim else block.said,
        )  # fmt: skip
        preview = offload_result(conversation, answered)
        return block if preview is None else block.with_text(preview)

    events: list[dict[str, Any]] = []
    first = len(state.recorded) - len(new)
    for at in range(said[-1] + 1 if said else 0, len(new)):
        message = new.messages[at]
        blocks = tuple(map(shorter, message.blocks))
        if blocks != message.blocks:
            [shown] = new.render([message.with_blocks(blocks)])
            event = {"type": "shortened", "created_at": timestamp(), "index": first + at}
            events.append({**event, "message": shown})
    return events


def arrived(conversation: "Session", state: State) -> list[dict[str, Any]]:
    """`shortened` for the results at the end of the record that the model has not answered yet."""
    if not _may_shorten(conversation, state):
        return []
    count = min(unanswered(state.recorded), state.behind)
    tail = state.view[len(state.view) - count :]
    if not tail or tail != state.recorded[-count:]:  # they were shortened before
        return []
    before = state.view[: len(state.view) - count][-RECENT:]
    try:
        read = parse([*before, *tail])
    except InvalidConversation:
        return []
    new = slice(len(before), None)
    of_tail = Conversation(read.raw[new], read.messages[new], read.format)
    return shortened(conversation, state, of_tail, read.messages[: len(before)])


def _may_shorten(conversation: "Session", state: State) -> bool:
    settings = conversation.settings
    return settings.auto_compress and bool(state.compressions or settings.offload_at_source)


def _before(state: State, new: int) -> tuple[Message, ...]:
    """The last messages of the view before the new ones."""
    view = state.view[: len(state.view) - new]
    with suppress(InvalidConversation):  # some messages do not show their format alone
        return parse(view[-RECENT:]).messages
    return ()


# Offloading of a large tool result before it enters a conversation.
#
# Preview, ref and archive are the same as those that the strategy `offload` makes.


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


def offload_result(session: "Session", answered: AnsweredCall) -> str | None:
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
    if asks_user(call.name) or settings.keeps(call.name):
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


def _reads_the_store(call: ToolCall, session: "Session") -> bool:
    """Whether the call reads our store, which restores an original on purpose."""
    store = session.store.backend.name
    return any(store in text or FOLDER in text for text in strings_in(call.arguments))


def _note_read(session: "Session", call: ToolCall, text: str) -> None:
    """Note that previews were not enough where a call reads their originals as files."""
    shortened = session.state().shortened
    for ref in REF_IN_NAME.findall("\n".join(strings_in(call.arguments))):
        if ref in shortened:
            note_restored(session, ref, text)


# Writes a long output shorter without loss: lines that differ only in numbers become a pattern.
#
#   A: src/part_{1}.c:{2}: warning: unused variable v{2}
#
#   A 0 7
#   A 1 8
#   src/main.c:9: error: expected ';'
#
# `A 0 7` is the line `src/part_0.c:7: warning: unused variable v7`. Other lines stay as they are.
# The empty line ends the patterns: a text may itself begin with a line that looks like one.


NUMBER = re.compile(r"[0-9]+")
LOOKS_LIKE_A_PLACE = re.compile(r"\{[0-9]+\}")
LEAST_LINES = 4
"""So many lines of a kind are worth a pattern."""
LONGEST_LINE = 2_000
"""A longer line is data rather than a line of a log."""

Numbers: TypeAlias = tuple[str, ...]


def with_patterns(text: str) -> str | None:
    """A text with patterns; `None` if no lines of it are worth one."""
    lines = text.split("\n")
    kinds: dict[str, list[Numbers]] = defaultdict(list)
    kind_of = [_kind(line) for line in lines]
    for line, kind in zip(lines, kind_of, strict=True):
        if kind:
            kinds[kind].append(tuple(NUMBER.findall(line)))
    found = {
        kind: pattern
        for kind, numbers in kinds.items()
        if len(numbers) >= LEAST_LINES and (pattern := LinePattern(kind, numbers)).saved > 0
    }
    tags = _tags(lines, [*found])
    if not tags:
        return None
    shorter = [*(f"{tag}: {found[kind].text}" for kind, tag in tags.items()), ""]
    for line, kind in zip(lines, kind_of, strict=True):
        shorter.append(found[kind].row(tags[kind], line) if kind in tags else line)
    return "\n".join(shorter)


def is_log(text: str) -> bool:
    """Whether more than half of the lines of a text differ from others only in numbers."""
    lines = [line for line in text.split("\n") if line.strip()]
    kinds = collections.Counter(kind for line in lines if (kind := _kind(line)))
    return sum(n for n in kinds.values() if n >= LEAST_LINES) > len(lines) / 2


class LinePattern:
    """The pattern of some lines that differ only in numbers.

    Attributes:
        text: the line with `{1}`, `{2}` … in place of the numbers that vary.
        saved: how many characters it saves.
    """

    def __init__(self, kind: str, numbers: Sequence[Numbers]) -> None:
        columns: list[Numbers] = [*zip(*numbers, strict=True)]
        varying = dict.fromkeys(column for column in columns if len({*column}) > 1)
        places = {column: f"{{{at}}}" for at, column in enumerate(varying, 1)}
        shown = [places[column] if column in places else column[0] for column in columns]
        pieces = [
            part for pair in zip(kind.split("\0"), [*shown, ""], strict=True) for part in pair
        ]
        self.text = "".join(pieces)
        self._columns = [columns.index(column) for column in varying]
        rows = sum(3 + sum(1 + len(row[at]) for at in self._columns) for row in numbers)
        whole = sum(len(kind) - len(row) + sum(map(len, row)) + 1 for row in numbers)
        self.saved = whole - rows - len(self.text) - 5

    def row(self, tag: str, line: str) -> str:
        """A line in short: its tag and the numbers that vary."""
        numbers = NUMBER.findall(line)
        return " ".join([tag, *(numbers[at] for at in self._columns)])


def _kind(line: str) -> str:
    """What a line has in common with others of its kind: all but its numbers; "" for no kind."""
    if len(line) > LONGEST_LINE or "\0" in line or LOOKS_LIKE_A_PLACE.search(line):
        return ""
    kind = NUMBER.sub("\0", line)
    return kind if kind != line else ""


def _tags(lines: Sequence[str], kinds: Sequence[str]) -> Mapping[str, str]:
    """A letter for each kind that no line begins with as a tag would."""
    begins = {line[:1] for line in lines if line[1:2] in ("", " ", ":")}
    free = [letter for letter in ascii_uppercase if letter not in begins]
    return dict(zip(kinds, free, strict=False))

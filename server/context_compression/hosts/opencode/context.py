"""opencode's names, and its messages as Anthropic messages: what the model was sent."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from context_compression.conversation.authors import BY_USER, reason_in
from context_compression.conversation.messages import as_object, is_array, is_object, objects
from context_compression.transcripts.exporter import call, linked, result, text, thinking
from context_compression.transcripts.lines import parsed_json, string
from context_compression.transcripts.sessions import seconds
from context_compression.transcripts.transcript import (
    AnsweredRequest,
    ClearedResult,
    Compaction,
    CompactionLog,
    KnownText,
    Maybe,
    Seen,
    Shape,
    Shapes,
    looking_for,
    whole_text,
)

NAME = "opencode"
TITLE = "opencode"
SEEN = "1.18.33"
"""The version that transcripts and hooks were last seen working with."""

DATA_VARIABLE = "XDG_DATA_HOME"
"""Names the folder in place of `~/.local/share`, on every system."""
DATABASE_VARIABLE = "OPENCODE_DB"
"""Names the database file, if it is not `DATABASE`."""
CONFIG_VARIABLE = "OPENCODE_CONFIG_DIR"
"""Names the folder in place of `~/.config/opencode`."""
MARK_VARIABLE = "OPENCODE"
"""Set for every program that opencode starts."""
DATABASE = "opencode.db"


def data_folder(environ: Mapping[str, str], home: Path) -> Path:
    """`~/.local/share/opencode`; below XDG_DATA_HOME if that is set."""
    return Path(environ.get(DATA_VARIABLE) or home / ".local" / "share") / "opencode"


def database_file(environ: Mapping[str, str], home: Path) -> Path:
    """The database with all sessions."""
    return data_folder(environ, home) / environ.get(DATABASE_VARIABLE, DATABASE)


Object: TypeAlias = Mapping[str, Any]


@dataclass(frozen=True)
class StoredMessage:
    """A message with its parts."""

    id: str
    about: Object
    parts: Sequence[Object]

    @property
    def compaction(self) -> Object | None:
        """The part that requests a summary; `None` if there is none."""
        if self.about.get("role") != "user":
            return None
        return next((part for part in self.parts if part.get("type") == "compaction"), None)

    @property
    def parent(self) -> str:
        """The id of the user's message that this message answers."""
        return string(self.about, "parentID")

    @property
    def time(self) -> float | None:
        """When it was complete, or else created, in seconds since 1970."""
        times = as_object(self.about.get("time"))
        return seconds(times.get("completed") or times.get("created"))

    @property
    def is_checkpoint(self) -> bool:
        """Whether it takes the place of all messages before it (opencode 2)."""
        return "checkpoint" in self.about

    @property
    def is_summary(self) -> bool:
        """Whether it is a complete summary."""
        about = self.about
        ended = about.get("finish") and not about.get("error")
        return bool(about.get("role") == "assistant" and about.get("summary") and ended)


def not_reverted(newest_first: Iterable[StoredMessage], revert: Object) -> Iterator[StoredMessage]:
    """The messages without those that the user reverted.

    The host itself removes reverted messages before the next request.
    """
    first, part = string(revert, "messageID"), string(revert, "partID")
    for message in newest_first:  # ids grow with time
        if not first or message.id < first:
            yield message
        elif message.id == first and part:
            kept = [own for own in message.parts if string(own, "id") < part]
            yield StoredMessage(message.id, message.about, kept)


def live_messages(newest_first: Iterable[StoredMessage]) -> tuple[list[StoredMessage], set[str]]:
    """The messages in the order they are sent, and the ids of those since the last compaction."""
    taken: list[StoredMessage] = []
    answered: set[str] = set()  # users' messages that a summary answers
    until = ""
    for message in newest_first:
        taken.append(message)
        if message.is_checkpoint:
            break
        if until:
            if message.id == until:
                break
            continue
        request = message.compaction if message.id in answered else None
        if request is not None:
            until = string(request, "tail_start_id")
            if until in ("", message.id):
                break
        elif message.is_summary:
            answered.add(message.parent)
    taken.reverse()
    summaries = [
        n
        for n, m in enumerate(taken, 1)
        if m.is_checkpoint or (m.is_summary and m.parent in answered)
    ]
    new = taken[max(summaries, default=0) :]
    return _with_kept_behind(taken), {message.id for message in new}


def _with_kept_behind(messages: list[StoredMessage]) -> list[StoredMessage]:
    """The messages, with those that a compaction kept moved after its summary."""
    ids = [message.id for message in messages]
    tails = [string(message.compaction or {}, "tail_start_id") for message in messages]
    place = max((n for n, tail in enumerate(tails) if tail), default=len(ids))
    if place == len(ids) or tails[place] not in ids[:place]:
        return messages
    kept = ids.index(tails[place])
    for n, message in enumerate(messages[place:], place):
        if message.about.get("summary") is True and message.parent == ids[place]:
            return [*messages[place : n + 1], *messages[kept:place], *messages[n + 1 :]]
    return messages


READ = {"tool", "reasoning"}
"""The types of parts whose inner values are read; others are carried along as they are."""
STATUS: Shape = KnownText(frozenset({"pending", "running", "streaming", "completed", "error"}))
SEALED: Shape = Maybe({"anthropic": {"signature": str}})
PART: Shape = {
    "type": str,
    "callID": str,
    "tool": str,
    "metadata": SEALED,
    "state": {"status": STATUS, "attachments": [{"url": str, "mime": str}]},
}
"""Of a part of a message, as far as it is no part of an unknown type."""
LOOKS = {kind: looking_for(PART, kind) for kind in READ}
WORDS = """
command data description error files input output prompt source summary system
text title todos
"""
"""Fields with words that were seen beside those that are read."""
SHAPES = Shapes(
    TITLE,
    {"": Maybe({"messages": [{"info": Maybe({}), "type": str, "parts": [PART]}]})},
    Seen(WORDS, SEEN, lambda row: string(as_object(row.get("info")), "version")),
)


def strange_parts(messages: Iterable[StoredMessage]) -> list[str]:
    """The warning about parts of messages whose shape is not known."""
    places: list[str] = []
    for part in (part for message in messages for part in message.parts):
        if look := LOOKS.get(string(part, "type")):
            look(part, places)
    return SHAPES.warnings(Counter(places))


def text_of(cell: Any) -> str:
    """A value as a text: of bytes what is UTF-8, of NULL nothing."""
    if isinstance(cell, bytes):
        return cell.decode("utf-8", "replace")
    return "" if cell is None else str(cell)


def object_in(cell: Any) -> Object:
    """The JSON object in a value; any other value is that of `data` in an object."""
    written = text_of(cell)
    found = parsed_json(written.encode("utf-8", "surrogatepass"))
    return found if is_object(found) else {"data": written} if written else {}


def listed(value: Any) -> list[Any]:
    """The parts of a list; a value that is no list is its only part, and `None` is none."""
    if is_array(value):
        return [*value]
    return [] if value is None else [value]


def unread(kind: str, held: Any) -> Object:
    """A part of a shape that is not known, which is carried along and told.

    Its type is no text, because what it holds may name a type of opencode 1 without being of it.
    """
    return {"type": ("unread", kind), "held": held}


CLEARED = "[Old tool result content cleared]"  # the model sees this instead of the result
INTERRUPTED = "[Tool execution was interrupted]"
SUMMARY_REQUEST = "What did we do so far?"
RUN_BY_USER = "The following tool was executed by the user"
SILENT = {"step-start", "step-finish", "snapshot", "patch", "agent", "retry"}
TOKENS = ("input", "output")
REJECTED = (
    "The user rejected permission to use this specific tool call with the following feedback: "
)
OWN_TOOLS = frozenset({
    "bash", "codesearch", "edit", "glob", "grep", "list", "multiedit", "patch", "question", "read",
    "skill", "task", "todoread", "todowrite", "webfetch", "websearch", "write",
})  # fmt: skip
"""The host's own tools. Those of servers are named `server_tool`, so no name with `_` is here."""


class OpencodeContext:
    """The messages that opencode's messages make."""

    def __init__(self) -> None:
        self.messages: list[dict[str, Any]] = []
        self.times: list[float | None] = []
        self.requests: list[AnsweredRequest] = []
        self.ends: dict[str, int] = {}
        """By message id: the number of messages up to it, without the results of its calls."""
        self.cleared_at: float = 0
        """When results were last removed from the context, in milliseconds."""
        self.cleared: list[ClearedResult] = []
        """The results that were removed from the context, as far as they are still stored."""
        self.gone: Counter[str] = Counter()
        """By tool: how many removed results are not stored any more."""
        self.unknown: Counter[str] = Counter()
        self._time: float | None = None  # of the newest message

    def add(self, message: StoredMessage, *, newest: bool) -> None:
        """Add a message. Calls of the newest message may still be running."""
        self._time = message.time
        role = message.about.get("role")
        if role != "assistant":
            parts = [*message.parts]
            if role != "user":
                parts.insert(0, unread("message without a role", message.about))
            self._put("user", [block for part in parts for block in self._shown(part)])
        elif not _is_lost(message):
            if request := request_of(message, len(self.messages)):
                self.requests.append(request)
            blocks: list[Any] = []
            results: list[Any] = []
            for part in message.parts:
                if part.get("type") == "step-start" and results:
                    self._step(blocks, results)
                    blocks, results = [], []
                blocks += self._spoken(part)
                results += self._result(part, newest)
            self._step(blocks, results)
            self.ends[message.id] = len(self.messages) - bool(results)

    def _step(self, blocks: list[Any], results: list[Any]) -> None:
        self._put("assistant", blocks)
        self._put("user", results)

    def _put(self, role: str, content: list[Any]) -> None:
        if content:
            self.messages.append({"role": role, "content": content})
            self.times.append(self._time)

    def _shown(self, part: Object) -> Iterator[Any]:
        """A part of a user message as blocks."""
        match part:
            case {"type": "text", "text": str(shown)}:
                if shown and not part.get("ignored"):
                    yield text(shown)
            case {"type": "file", "mime": "text/plain" | "application/x-directory"}:
                return  # a text part next to it holds the content
            case {"type": "file", "url": str(url)}:
                yield linked(url, string(part, "mime"))
            case {"type": "compaction"}:
                yield text(SUMMARY_REQUEST)
            case {"type": "subtask"}:
                yield text(RUN_BY_USER)
            case _:
                yield from self._strange(part)

    def _spoken(self, part: Object) -> Iterator[Any]:
        """A part of an assistant message as blocks, without tool results."""
        match part:
            case {"type": "text", "text": str(shown)}:
                if shown:
                    yield text(shown)
            case {"type": "reasoning", "text": str(shown)}:
                sealed = _sealed(part)
                if shown or sealed:
                    yield thinking(shown, sealed)
            case {"type": "tool"}:
                given = as_object(part.get("state")).get("input")
                yield call(string(part, "callID"), string(part, "tool"), given)
            case _:
                yield from self._strange(part)

    def _result(self, part: Object, newest: bool) -> Iterator[Any]:
        """The result of a call; a note if the call never ended; nothing while it may still run."""
        if part.get("type") != "tool":
            return
        id, state = string(part, "callID"), as_object(part.get("state"))
        match string(state, "status"):
            case "completed":
                if cleared := _time(state, "compacted"):
                    self.cleared_at = max(self.cleared_at, cleared)
                    self._note_cleared(string(part, "tool"), _output(state))
                    yield result(id, CLEARED)
                else:
                    yield result(id, _output(state))
            case "error":
                about = as_object(state.get("metadata"))
                if about.get("interrupted") is True and isinstance(about.get("output"), str):
                    yield result(id, about["output"])
                else:
                    failed = result(id, _output(state, "error"), failed=True)
                    yield _with_speaker(failed, string(part, "tool"))
            case _ if not newest:
                said = filter(None, [string(state, "output"), INTERRUPTED])
                yield result(id, _output({**state, "output": "\n".join(said)}), failed=True)
            case _:
                return
        for name in ("output", "error"):
            if not isinstance(odd := state.get(name), str | None):
                yield from self._strange(unread(f"{name} of a call", odd))

    def _note_cleared(self, tool: str, output: Any) -> None:
        if output in ("", CLEARED):
            self.gone[tool] += 1
        else:
            self.cleared.append(ClearedResult(tool, whole_text(output)))

    def _strange(self, part: Object) -> Iterator[Any]:
        kind, held = string(part, "type") or "none", part
        match part:
            case {"type": ["unread", str(kind)], "held": value}:
                about = value if is_object(value) else {"value": value}
                held = {**about, "type": string(about, "type") or kind}
            case _ if kind in SILENT:
                return
            case _:
                pass
        self.unknown[kind] += 1
        yield held


def _with_speaker(failed: Object, tool: str) -> Object:
    """A failed result, marked with the reason if the user rejected the call.

    The host writes only the sentence into the result. The text of a server's tool is the server's
    own, also when it fails; the host's own tools, if they fail, begin with words of the host.
    """
    text = failed["content"]
    sentence = tool in OWN_TOOLS and isinstance(text, str) and text.startswith(REJECTED)
    words = reason_in(text) if sentence else ""
    return {**failed, BY_USER: words} if words else failed


def _output(state: Object, name: str = "output") -> Any:
    """The output of a call, or its error: a text, or blocks if it has attachments."""
    output, attached = string(state, name), objects(state.get("attachments"))
    media = [linked(string(each, "url"), string(each, "mime")) for each in attached]
    return [text(output), *media] if media else output


def charged(
    messages: Sequence[StoredMessage], context: OpencodeContext
) -> tuple[tuple[int, int] | None, str | None]:
    """Usage and model of the newest request.

    The usage is the tokens of the request with its answer, and the number of messages they cover.
    It is `None` without such a request, or if the host removed results from the context since.
    """
    for message in reversed(messages):
        about, total = message.about, sum(_tokens(message))
        if about.get("role") == "assistant" and total and message.id in context.ends:
            cleared = context.cleared_at > _time(about, "completed")
            usage = None if cleared else (total, context.ends[message.id])
            return usage, string(about, "modelID") or None
    return None, _model(messages)


def request_of(message: StoredMessage, messages: int = 0) -> AnsweredRequest | None:
    """The request that a message answers; `None` if it is no answer, or no tokens are recorded."""
    sent, said, read, written = _tokens(message)
    whole = sent + read + written
    if message.about.get("role") != "assistant" or not whole:
        return None
    model = string(message.about, "modelID")
    return AnsweredRequest(messages, message.time, model, whole, read, written, said)


def _tokens(message: StoredMessage) -> list[int]:
    tokens = as_object(message.about.get("tokens"))
    cache = as_object(tokens.get("cache"))
    parts = [*map(tokens.get, TOKENS), cache.get("read"), cache.get("write")]
    return [part if isinstance(part, int) else 0 for part in parts]


def _model(messages: Sequence[StoredMessage]) -> str | None:
    for message in reversed(messages):
        model = string(as_object(message.about.get("model")), "modelID")
        if model or string(message.about, "modelID"):
            return model or string(message.about, "modelID")
    return None


def _is_lost(message: StoredMessage) -> bool:
    """Whether the host leaves a failed answer out of later requests.

    An aborted answer that has content is still sent.
    """
    error = as_object(message.about.get("error"))
    has_content = any(p.get("type") not in ("step-start", "reasoning") for p in message.parts)
    return bool(error) and not (error.get("name") == "MessageAbortedError" and has_content)


def _sealed(part: Object) -> str:
    """The signature or the encrypted form of a reasoning part; empty if there is none."""
    for about in as_object(part.get("metadata")).values():
        for name in ("signature", "reasoningEncryptedContent", "redactedData"):
            if isinstance(seal := as_object(about).get(name), str):
                return seal
    return ""


def _time(about: Object, name: str) -> float:
    time = as_object(about.get("time")).get(name)
    return time if isinstance(time, int | float) else 0


def compactions_among(messages: Iterable[StoredMessage]) -> list[Compaction]:
    """The compactions among messages.

    Args:
        messages: the oldest first, without reverted ones. Only requests, summaries, and the
            answers before and after them are needed.
    """
    messages = [*messages]
    requested = requests_among(messages)
    log = CompactionLog()
    for message in messages:
        if message.is_checkpoint:
            trigger = string(message.about, "checkpoint")
            log.add(Compaction(message.time, trigger, NAME, place=place_of(message)))
        elif message.is_summary and (request := requested.get(message.parent)):
            trigger = "auto" if (request.compaction or {}).get("auto") else "manual"
            log.add(Compaction(message.time, trigger, NAME, place=place_of(request)))
        elif not message.about.get("summary") and (answered := request_of(message)):
            log.answered(answered.input_tokens or 0, answered.output_tokens)
    return log.compactions


def requests_among(messages: Sequence[StoredMessage]) -> Mapping[str, StoredMessage]:
    """By id: the users' messages that request a compaction, and have a summary; and checkpoints."""
    answered = {message.parent for message in messages if message.is_summary}
    return {
        m.id: m
        for m in messages
        if m.is_checkpoint or (m.id in answered and m.compaction is not None)
    }


def place_of(request: StoredMessage) -> int:
    """The place of a compaction: the time when it was requested, in milliseconds."""
    return round((request.time or 0) * 1000)

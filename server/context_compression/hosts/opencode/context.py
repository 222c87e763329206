"""opencode's messages as Anthropic messages: what the model was sent."""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from context_compression.conversation.authors import BY_USER, reason_in
from context_compression.conversation.messages import as_object, is_object, objects
from context_compression.hosts.opencode.cells import unread
from context_compression.hosts.opencode.live import Object, StoredMessage
from context_compression.transcripts.blocks import call, linked, result, text, thinking
from context_compression.transcripts.history import Request
from context_compression.transcripts.lines import string
from context_compression.transcripts.transcript import ClearedResult, whole_text

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


class Context:
    """The messages that opencode's messages make."""

    def __init__(self) -> None:
        self.messages: list[dict[str, Any]] = []
        self.times: list[float | None] = []
        self.requests: list[Request] = []
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
    messages: Sequence[StoredMessage], context: Context
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


def request_of(message: StoredMessage, messages: int = 0) -> Request | None:
    """The request that a message answers; `None` if it is no answer, or no tokens are recorded."""
    sent, said, read, written = _tokens(message)
    whole = sent + read + written
    if message.about.get("role") != "assistant" or not whole:
        return None
    model = string(message.about, "modelID")
    return Request(messages, message.time, model, whole, read, written, said)


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

"""Gemini CLI's transcripts, a JSON object per line, as Anthropic messages.

The path is `~/.gemini/tmp/<name of the project>/chats/session-<minute>-<id>.jsonl`.

{"sessionId": …, "projectHash": …, "kind": "main"}       first, and again when resumed
{"id": …, "type": "user", "content": [parts]}
{"id": …, "type": "gemini", "content": text or parts, "tokens": {input, output, …}, "model": …,
 "toolCalls": [{"id", "name", "args", "result": [{"functionResponse": …}]}]}
{"$set": {"messages": […]}}       a new history, from a compression or a resumed session
{"$rewindTo": id}                 removes that message and all after it

A row with a known id replaces the earlier row in its place. Results are written to `toolCalls`, and
again to the user's row that follows. Rows of other types (info, error, warning) are not sent to the
model, nor are thoughts. Until 2026 a session was one JSON object, rewritten each time:
`{"sessionId", "projectHash", "messages"}`. Seen in versions of January 2026 and in 0.61.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from context_compression.conversation.authors import BY_USER
from context_compression.conversation.messages import as_object, is_array, is_object, objects
from context_compression.conversation.refs import canonical
from context_compression.transcripts.exporter import call, linked, media, result, text
from context_compression.transcripts.lines import At, string
from context_compression.transcripts.sessions import seconds
from context_compression.transcripts.transcript import (
    AnsweredRequest,
    Compaction,
    CompactionLog,
    DocumentFormat,
    Generations,
    KnownText,
    Load,
    Maybe,
    Row,
    RowFormat,
    Seen,
    Shape,
    Shapes,
    Transcript,
    counted,
    folder_name,
    id_from_name,
    named,
)

NAME = "gemini-cli"
TITLE = "Gemini CLI"
SEEN = "0.61.0"
"""The version that transcripts and hooks were last seen working with."""


SHOWN = ("info", "error", "warning")  # to the user, not to the model
NAMED: Shape = {"id": str, "name": str}
PART: Shape = Maybe({"functionCall": NAMED, "functionResponse": NAMED})
PARTS: Shape = (str, [(str, PART)], PART)
MESSAGE: Shape = {
    "id": str,
    "type": KnownText(frozenset({"user", "gemini", "info", "error", "warning"})),
    "content": PARTS,
    "toolCalls": [{**NAMED, "result": PARTS}],
}
SET: Shape = {
    **dict.fromkeys(("directories", "kind", "lastUpdated", "sessionId", "startTime", "summary")),
    "messages": [MESSAGE],
}
WORDS = """
args codeExecutionResult description directories displayContent displayName
error executableCode fileData functionCall functionResponse inlineData kind
memoryScratchpad response resultDisplay summary text thought thoughts title
"""
"""Fields with words that were seen beside those that are read."""
SHAPES = Shapes(
    TITLE,
    {
        "user": MESSAGE,
        "gemini": MESSAGE,
        "": Maybe({"$set": SET, "$rewindTo": str, "messages": [MESSAGE]}),
    },
    Seen(WORDS),
)
"""The shapes of what rows hold."""


class GeminiContext:
    """The messages that rows make."""

    def __init__(self) -> None:
        self.messages: list[dict[str, Any]] = []
        self.times: list[float | None] = []
        self.requests: list[AnsweredRequest] = []
        self.ends: dict[str, int] = {}
        """By id of an answer: the number of messages up to it, without its calls' results."""
        self.unknown: Counter[str] = Counter()
        self._time: float | None = None  # of the newest row
        self._given: set[str] = set()

    def add(self, row: Mapping[str, Any], *, answered: bool) -> None:
        """Add a row. A command of the user (`/help`) makes no message unless it was answered."""
        kind = string(row, "type")
        self._time = seconds(row.get("timestamp"))
        if kind == "gemini":
            self._answer(row)
        elif kind == "user":
            parts = _parts(row.get("content"))
            first_text = string(as_object(parts[0]), "text").lstrip() if parts else ""
            if answered or not first_text.startswith(("/", "?")):
                returned = any("functionResponse" in part for part in parts)
                read = self._returned if returned else self._block
                self._put("user", [block for part in parts for block in read(part)])
        elif kind not in SHOWN:
            self.unknown[kind or "none"] += 1

    def _answer(self, row: Mapping[str, Any]) -> None:
        blocks = [block for part in _parts(row.get("content")) for block in self._block(part)]
        there = {string(block, "id") for block in blocks}
        calls = objects(row.get("toolCalls"))
        blocks += [
            call(string(about, "id"), string(about, "name"), about.get("args"))
            for about in calls
            if string(about, "id") not in there
        ]
        if request := request_of(row, len(self.messages)):
            self.requests.append(request)
        self._put("assistant", blocks)
        self.ends[string(row, "id")] = len(self.messages)
        self._put("user", [block for about in calls for block in self._results(about)])

    def _results(self, about: Mapping[str, Any]) -> Iterator[Any]:
        given = about.get("result")
        if isinstance(given, str):
            given = {"functionResponse": {"id": about.get("id"), "response": {"output": given}}}
        for part in _parts([given] if is_object(given) else given):
            yield from self._returned(part)

    def _returned(self, part: Mapping[str, Any]) -> Iterator[Any]:
        """A part of what a tool returned: no text beside its result is the user's, nor a call."""
        if "functionCall" in part:
            yield {**part, "type": "unknown"}
            return
        for block in self._block(part):
            yield {**block, BY_USER: False} if block["type"] == "text" else block

    def _put(self, role: str, content: list[Any]) -> None:
        if content:
            self.messages.append({"role": role, "content": content})
            self.times.append(self._time)

    def _block(self, part: Mapping[str, Any]) -> Iterator[Any]:
        match part:
            case {"thought": True}:
                return
            case {"text": str(shown)}:
                if shown:
                    yield text(shown)
            case {"functionCall": {"name": str(name)} as about}:
                yield call(string(about, "id") or name, name, about.get("args"))
            case {"functionResponse": about} if is_object(about):
                id = string(about, "id") or string(about, "name")
                if id not in self._given:
                    self._given.add(id)
                    given = about.get("response")
                    odd = {} if given is None else {"value": given}
                    yield _result(id, given if is_object(given) else odd)
            case {"inlineData": {"mimeType": str(kind), "data": str(data)}}:
                yield media(kind, data)
            case {"fileData": {"fileUri": str(address)}}:
                yield linked(address)
            case _:
                yield {**part, "type": "unknown"}


def request_of(row: Mapping[str, Any], messages: int = 0) -> AnsweredRequest | None:
    """The request that a row answers; `None` if its tokens are not recorded."""
    parts = ("input", "cached", "output", "thoughts")
    tokens = as_object(row.get("tokens"))
    sent, cached, said, thought = (
        n if isinstance(n := tokens.get(part), int) else 0 for part in parts
    )
    time, model = seconds(row.get("timestamp")), string(row, "model")
    return AnsweredRequest(messages, time, model, sent, cached, 0, said + thought) if sent else None


def _result(id: str, response: Mapping[str, Any]) -> dict[str, Any]:
    """A tool result: the response's `output` or `error`, or else the full response as JSON."""
    for name in ("output", "error"):
        output = response.get(name)
        if isinstance(output, str):
            return result(id, output, failed=name == "error")
    return result(id, canonical(response))


def _parts(content: Any) -> list[Mapping[str, Any]]:
    if isinstance(content, str):
        return [{"text": content}]
    listed = content if is_array(content) else [content]
    parts = ({"text": part} if isinstance(part, str) else part for part in listed)
    return [part if is_object(part) else {"value": part} for part in parts if part]


SUMMARY = "<state_snapshot>"
CHARGED = ("input", "output")
GENERATIONS = Generations(
    TITLE,
    "format",
    frozenset({"none"}),
    lambda row: named(row.get("version") if "projectHash" in row else None),
)


def recognises(row: Mapping[str, Any]) -> bool:
    """Whether the row is one of Gemini CLI's."""
    if "projectHash" in row or row.keys() <= {"$set", "$rewindTo"}:
        return bool(row)
    return row.get("type") == "gemini" and "id" in row


def is_session(document: Any) -> bool:
    """Whether a JSON value is a session in the format used until 2026."""
    about = as_object(document)
    return "projectHash" in about and is_array(about.get("messages"))


def read_document(path: Path, document: Any) -> Transcript:
    """The live conversation of a session that is one JSON value."""
    session = GeminiReader()
    session.add({**as_object(document)}, At(0, 0))
    return session.transcript(path, lambda _: {})


@dataclass
class GeminiReader:
    """The messages as they are now, by id."""

    _messages: dict[str, Mapping[str, Any]] = field(default_factory=dict[str, Mapping[str, Any]])
    _before: dict[str, int] = field(default_factory=dict[str, int])
    """By message id: a hash of the ids of the messages before it."""
    _charged_at: dict[str, int] = field(default_factory=dict[str, int])
    """By id of an answer: that hash at the time its usage was first written."""
    _log: CompactionLog = field(default_factory=CompactionLog)
    _carried: set[str] = field(default_factory=set[str])
    """The ids of the messages that the last compression left or wrote."""
    _session: str = ""
    _unknown: Counter[str] = field(default_factory=Counter[str])

    def add(self, row: Row, at: At) -> None:
        """Add the next row of the file."""
        update = as_object(row.get("$set"))
        if "$rewindTo" in row:
            self._rewind(string(row, "$rewindTo"))
        elif string(row, "id"):
            self._put(row)
        elif is_array(update.get("messages")):
            self._replace_all(update, at)
        elif "projectHash" in row:
            self._session = string(row, "sessionId") or self._session
            self._put_all(row)
        elif not update:
            self._unknown[string(row, "type") or "none"] += 1

    def _replace_all(self, update: Mapping[str, Any], at: At) -> None:
        """Begin a new history: a compression's, or that of a session which is resumed."""
        messages = [*objects(update.get("messages"))]
        ids = {string(message, "id") for message in messages}
        summaries = [m for m in messages if _is_summary(m) and m["id"] not in self._messages]
        if summaries and self._messages.keys() - ids:
            time = seconds(summaries[0].get("timestamp"))
            self._log.add(Compaction(time=time, by=NAME, place=at.offset))
            self._carried = ids
        self._messages, self._before = {}, {}
        self._put_all(update)

    def _put_all(self, about: Mapping[str, Any]) -> None:
        for message in objects(about.get("messages")):
            if string(message, "id"):
                self._put(message)

    def _put(self, message: Mapping[str, Any]) -> None:
        id = string(message, "id")
        if id not in self._messages:
            newest = next(reversed(self._messages), "")
            self._before[id] = hash((self._before.get(newest), newest))
        self._messages[id] = message
        if message.get("tokens") and id not in self._charged_at:
            if request := request_of(message):
                said = request.output_tokens
                self._log.answered(request.input_tokens or 0, said, request.model)
            self._charged_at.setdefault(id, self._before[id])

    def _rewind(self, id: str) -> None:
        while self._messages:
            gone, _ = self._messages.popitem()
            del self._before[gone]
            if gone == id:
                return

    def before(self, row: Row, path: Path, load: Load) -> Transcript | None:
        """The conversation before a row that may be a compression."""
        is_set = is_array(as_object(row.get("$set")).get("messages"))
        return self.transcript(path, load) if is_set else None

    def transcript(self, path: Path, load: Load) -> Transcript:
        """The live conversation, as of the last row added."""
        context, carried = GeminiContext(), 0
        rows = list(self._messages.values())
        answered = [row.get("type") == "gemini" for row in rows[1:]]
        for row, is_answered in zip(rows, [*answered, False], strict=False):
            context.add(row, answered=is_answered)
            if string(row, "id") in self._carried:
                carried = len(context.messages)
        models = (string(row, "model") for row in reversed(rows))
        model = next(filter(None, models), self._log.largest.newest)
        return Transcript(
            path=path,
            host=NAME,
            session_id=folder_name(self._session) if self._session else id_from_name(path),
            messages=context.messages,
            usage=self._usage(context),
            model=model,
            largest=self._log.largest.of(model),
            compactions=[*self._log.compactions],
            carried=carried,
            times=context.times,
            requests=[request for request in context.requests if request.messages >= carried],
            warnings=[
                *counted("Rows of types we do not know were skipped", self._unknown),
                *counted("Messages of types we do not know were left out", context.unknown),
            ],
        )

    def _usage(self, context: "GeminiContext") -> tuple[int, int] | None:
        """Tokens of the newest answer with its request, and how many messages they cover.

        `None` if no usage is recorded, or the messages before that answer have changed since.
        """
        for id, row in reversed(self._messages.items()):
            tokens = as_object(row.get("tokens"))
            total = sum(n for part in CHARGED if isinstance(n := tokens.get(part), int))
            if row.get("type") == "gemini" and total and id in context.ends:
                same = self._charged_at.get(id) == self._before[id]
                return (total, context.ends[id]) if same else None
        return None


def _is_summary(message: Mapping[str, Any]) -> bool:
    """Whether a message is the summary that a compression begins with."""
    texts = [string(part, "text") for part in objects(message.get("content"))]
    return (
        message.get("type") == "user" and "id" in message and any(SUMMARY in text for text in texts)
    )


FORMATS = (
    RowFormat(recognises, GeminiReader, GENERATIONS, SHAPES),
    DocumentFormat(is_session, read_document, shapes=SHAPES),
)

"""Gemini CLI's rows as Anthropic messages."""

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from context_compression.conversation.authors import BY_USER
from context_compression.conversation.messages import as_object, is_array, is_object, objects
from context_compression.conversation.refs import canonical
from context_compression.hosts.gemini_cli.about import TITLE
from context_compression.transcripts.blocks import call, linked, media, result, text
from context_compression.transcripts.history import Request
from context_compression.transcripts.lines import string
from context_compression.transcripts.shapes import Known, Maybe, Seen, Shape, Shapes
from context_compression.transcripts.times import seconds

SHOWN = ("info", "error", "warning")  # to the user, not to the model
NAMED: Shape = {"id": str, "name": str}
PART: Shape = Maybe({"functionCall": NAMED, "functionResponse": NAMED})
PARTS: Shape = (str, [(str, PART)], PART)
MESSAGE: Shape = {
    "id": str,
    "type": Known(frozenset({"user", "gemini", "info", "error", "warning"})),
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


class Context:
    """The messages that rows make."""

    def __init__(self) -> None:
        self.messages: list[dict[str, Any]] = []
        self.times: list[float | None] = []
        self.requests: list[Request] = []
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


def request_of(row: Mapping[str, Any], messages: int = 0) -> Request | None:
    """The request that a row answers; `None` if its tokens are not recorded."""
    parts = ("input", "cached", "output", "thoughts")
    tokens = as_object(row.get("tokens"))
    sent, cached, said, thought = (
        n if isinstance(n := tokens.get(part), int) else 0 for part in parts
    )
    time, model = seconds(row.get("timestamp")), string(row, "model")
    return Request(messages, time, model, sent, cached, 0, said + thought) if sent else None


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

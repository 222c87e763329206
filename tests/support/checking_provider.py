"""A provider that checks what it is sent, as a real one does, and measures it as none does.

    with CheckingProvider(MESSAGES, AgentModel(steps=100)) as provider:
        agent(provider.url, ...)
    assert not provider.refused
    assert provider.works["a"].unbroken >= 0.95

It refuses unpaired calls, thinking whose prefix changed, reasoning that was taken away, and prompts
over its window. The works of many clients are told apart by the names in their prompts.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import lru_cache
from hashlib import sha256
from itertools import pairwise, takewhile
from threading import Lock
from typing import Any, Self

from provider import refused as faults_of
from provider.reading import blocks, is_list, is_object, kind
from scripted_agent import NAME, REF, RESTORE, AgentModel, Sight, blame, file_text, goal, rule
from wires import Call, Json, Move, Wire, canonical

from context_compression.testing import messages_api, responses_api
from context_compression.testing.scripted_api import Refusal, Request, ScriptedAPI
from context_compression.tokens import Counter

QUOTED = re.compile(r"\n(`{3,})text [^\n]*\n(.*)\n\1\s*$", re.DOTALL)
"""A text of the archive in an answer of `context_restore`."""
BLAMED = re.compile(r"src/\w+/main_(\d+)\.c:\1: error")
"""The last line of a file."""


@dataclass
class Work:
    """What one client's model was sent.

    Attributes:
        requests: how many.
        compactions: requests that do not begin as the one before did.
        kept: characters of the prompt that are as they were in the request before.
        sent: characters of the requests before.
        faults: what the model missed: the goal, the rule, the newest result, an original.
        restored: the files that came back as they were, by the id of the call.
        refs: every ref that the model saw.
        said: what the model said, by the text of the answer.
        unoffered: requests without `context_restore` among their tools.
        largest: tokens of the largest prompt.
        files: the files that were read.
    """

    name: str
    requests: int = 0
    compactions: int = 0
    kept: int = 0
    sent: int = 0
    faults: list[str] = field(default_factory=list[str])
    restored: dict[str, list[int]] = field(default_factory=dict[str, list[int]])
    refs: dict[str, None] = field(default_factory=dict[str, None])
    said: list[str] = field(default_factory=list[str])
    unoffered: int = 0
    largest: int = 0
    files: int = 0
    _last: list[str] = field(default_factory=list[str])
    _pages: dict[str, str] = field(default_factory=dict[str, str])

    @property
    def unbroken(self) -> float:
        """The share of requests that begin with all of the request before."""
        return 1 - self.compactions / max(1, self.requests - 1)

    @property
    def prefix(self) -> float:
        """The share of a prompt's characters that the next request begins with."""
        return self.kept / max(1, self.sent)

    def measure(self, prompt: list[str]) -> None:
        """How much of the request before this one begins with."""
        pairs = zip(self._last, prompt, strict=False)
        same = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
        if self._last:
            self.compactions += same < len(self._last)
            self.kept += sum(map(len, prompt[:same]))
            self.sent += sum(map(len, self._last))
        self.requests, self._last = self.requests + 1, prompt

    def look(self, sight: Sight) -> None:
        """Note what the model should see and does not."""
        where = f"request {self.requests}"
        if goal(self.name) not in sight.prompt:
            self.faults.append(f"{where}: the goal is gone")
        if rule(self.name) not in sight.prompt:
            self.faults.append(f"{where}: the rule is gone")
        if others := {*NAME.findall(sight.prompt)} - {self.name}:
            self.faults.append(f"{where}: it has the work of {sorted(others)}")
        number = sight.number_in(sight.tail)
        newest = "\n".join(result.text for result in sight.tail)
        if number and blame(self.name, number) not in newest:
            self.faults.append(f"{where}: the newest result, file {number}, has lost its last line")
        if number and file_text(self.name, number) not in newest and not REF.search(newest):
            self.faults.append(f"{where}: the newest result is cut, and has no ref")
        self.files = max(self.files, number or 0)
        self.refs |= dict.fromkeys(sight.refs)
        for call, text in sight.restored(sight.tail):
            self._check(call, text)

    def _check(self, call: Call, text: str) -> None:
        """Whether an answer of `context_restore` has the originals byte for byte."""
        found = QUOTED.search(text)
        if text.startswith("Error") or not found:
            self.faults.append(f"{call.id} {dict(call.arguments)}: {text[:200]!r}")
            return
        if "query" in call.arguments:
            self.restored[call.id] = []
            return
        ref = str(call.arguments["ref"])
        page = found[2] if "cursor" not in call.arguments else self._pages.get(ref, "") + found[2]
        self._pages[ref] = page
        if "next page: cursor" in text.partition("\n")[0]:
            return
        numbers = sorted({int(found) for found in BLAMED.findall(page)})
        cut = [n for n in numbers if not _is_in(file_text(self.name, n), page)]
        if cut:
            self.faults.append(f"{call.id}: files {cut} are not what they were")
        self.restored[call.id] = numbers


def _is_in(text: str, page: str) -> bool:
    """Whether a restored text has another, as it is or as a string of JSON."""
    spelled = (json.dumps(text, ensure_ascii=ascii)[1:-1] for ascii in (False, True))
    return any(each in page for each in (text, *spelled))


@dataclass
class CheckingProvider:
    """The provider of one API; it runs inside `with`.

    Attributes:
        wire: the API.
        model: what answers.
        window: tokens that a prompt may have.
        refused: why requests were refused, as the client was told.
        works: what the models were sent, by the name of the work.
        asides: requests without the tool of the model, such as for a title.
        deliveries: how the answer to a file is delivered the next time, by name and number; -7 is
            behind what was restored after file 7.
        refusals: what refuses the request with a file the next time, by name and number.
    """

    wire: Wire
    model: AgentModel
    window: int = 200_000
    refused: list[str] = field(default_factory=list[str])
    works: dict[str, Work] = field(default_factory=dict[str, Work])
    asides: list[Json] = field(default_factory=list[Json])
    deliveries: dict[tuple[str, int], Mapping[str, Any]] = field(
        default_factory=dict[tuple[str, int], Mapping[str, Any]]
    )
    refusals: dict[tuple[str, int], Refusal] = field(default_factory=dict[tuple[str, int], Refusal])
    _reasons: dict[str, Json] = field(default_factory=dict[str, Json])
    _lock: Lock = field(default_factory=Lock)

    def __post_init__(self) -> None:
        self.server: ScriptedAPI = self.wire.server([self.answer])
        self._open = ExitStack()

    def __enter__(self) -> Self:
        self._open.enter_context(self.server)
        return self

    def __exit__(self, *_: object) -> None:
        self._open.close()

    @property
    def url(self) -> str:
        """What a client is given as the address of the provider."""
        return self.server.base_url

    @property
    def requests(self) -> Sequence[Request]:
        """All so far, in order."""
        return self.server.requests

    def work(self, name: str) -> Work:
        """What was sent for one work."""
        return self.works.setdefault(name, Work(name))

    def answer(self, body: Json) -> Any:
        """What the model says to a request, or why it is refused."""
        with self._lock:
            sight = self._sight(body)
            if sight is None:
                self.asides.append(body)
                return self.wire.answer(Move("As you say."), 100)
            refusal = self._refusal(body, sight)
            if refusal:
                return refusal
            return self._answer(body, sight)

    def _answer(self, body: Json, sight: Sight) -> Any:
        work, prompt = self.work(sight.name), self.wire.prompt(body)
        work.measure(prompt)
        work.largest = max(work.largest, self._tokens(prompt))
        work.unoffered += RESTORE not in self.wire.tools(body)
        work.look(sight)
        move = self.model.move(sight)
        if move.thought:
            move = replace(move, sealed=_seal([*prompt, move.thought]))
        move = replace(move, delivery=self.deliveries.pop((sight.name, _place(sight)), None))
        work.said.append(move.says)
        answer = self.wire.answer(move, self._tokens(prompt))
        self._remember(answer)
        return answer

    def _sight(self, body: Json) -> Sight | None:
        """What the model sees, if it is asked to do its work."""
        items = self.wire.items(body)
        prompt = "\n".join(_strings(items))
        names = NAME.findall(prompt)
        name = names[0] if names else ""
        if not names or self.model.reads(name, 1)[0] not in self.wire.tools(body):
            return None
        calls = {call.id: call for call in self.wire.calls(items)}
        results = self.wire.results(items)
        return Sight(name, prompt, results, self.wire.tail(items), calls)

    def _refusal(self, body: Json, sight: Sight) -> Refusal | None:
        if scripted := self.refusals.pop((sight.name, _place(sight)), None):
            return scripted
        refusal = self._fault(body)
        if refusal:
            self.refused.append(f"{sight.name}, file {_place(sight)}: {refusal.message}")
        return refusal

    def _fault(self, body: Json) -> Refusal | None:
        items, prompt = self.wire.items(body), self.wire.prompt(body)
        tokens = self._tokens(prompt)
        if tokens > self.window:
            return self.wire.too_long(tokens, self.window)
        calls, results = self.wire.calls(items), self.wire.results(items)
        answered = {result.call for result in results}
        if alone := [call.id for call in calls if call.id not in answered]:
            return self.wire.unpaired(alone)
        if faults := faults_of(items, self.wire.dialect):
            return Refusal(400, "invalid_request_error", "; ".join(faults[:3]))
        if place := self._unbound(body):
            return messages_api.foreign_thinking(place)
        return self._without_reason(items)

    def _unbound(self, body: Json) -> str | None:
        """Where thinking stands whose prefix is not the one that it was made behind."""
        if self.wire.dialect != "anthropic":
            return None
        before = [canonical(body.get(name)) for name in self.wire.beside]
        for number, item in enumerate(self.wire.items(body)):
            for at, block in enumerate(blocks(item)):
                seal = block.get("signature") if kind(block) == "thinking" else None
                if seal and seal != _seal([*before, block["thinking"]]):
                    return f"messages.{number}.content.{at}"
                before.append(canonical([item.get("role"), block]))
        return None

    def _without_reason(self, items: Sequence[Json]) -> Refusal | None:
        """The refusal of an item that came of reasoning which is not, or no longer, before it."""
        for before, item in zip([{}, *items], items, strict=False):
            reason = self._reasons.get(str(item.get("id")))
            if reason and before.get("encrypted_content") != reason["encrypted_content"]:
                return responses_api.without_reasoning(item["id"], kind(item), reason["id"])
        return None

    def _remember(self, answer: Any) -> None:
        """Which reasoning led to which item."""
        if isinstance(answer, responses_api.ModelResponse) and answer.before:
            items = [*answer.before, *answer.output]
            pairs = ((a, b) for a, b in pairwise(items) if kind(a) == "reasoning")
            self._reasons |= {item["id"]: reason for reason, item in pairs}

    def _tokens(self, prompt: Sequence[str]) -> int:
        return sum(map(_tokens_of, prompt))


def _place(sight: Sight) -> int:
    """The file that a request brings; negative, the newest before what it restores."""
    number = sight.number_in(sight.tail)
    return -sight.newest if number is None else number


@lru_cache(100_000)
def _tokens_of(part: str) -> int:
    """Tokens of a part of a prompt: its texts, and a few for each part."""
    return 4 + Counter().text("\n".join(_strings(json.loads(part))))


def _seal(parts: Sequence[str]) -> str:
    """What binds a thought to all that stands before it."""
    return sha256("\x00".join(parts).encode(errors="surrogatepass")).hexdigest()


SILENT = {
    "call_id", "encrypted_content", "id", "role", "signature", "status", "tool_call_id",
    "tool_use_id", "type",
}  # fmt: skip
"""Fields that the model does not read."""


def _strings(value: Any) -> Iterator[str]:
    """The texts that the model reads."""
    if isinstance(value, str):
        yield value
    elif is_object(value):
        for name, each in value.items():
            yield from () if name in SILENT else _strings(each)
    elif is_list(value):
        for each in value:
            yield from _strings(each)


def assert_sound(
    provider: CheckingProvider, names: Sequence[str], steps: int, *, retried: bool = False
) -> None:
    """What holds of each work: all read, nothing refused or missed, and restored what was asked.

    Args:
        provider: after the works.
        names: of the works.
        steps: the files of each.
        retried: whether requests came twice, so that the counts are no sums.
    """
    asked = len(provider.model.restores)
    assert provider.refused == [], report(provider)
    for name in names:
        work = provider.work(name)
        assert work.faults == [], report(provider)
        assert (work.files, work.unoffered) == (steps, 0), report(provider)
        assert work.compactions >= 1, report(provider)
        assert len(work.restored) >= asked, report(provider)
        assert all(files or "search" in provider.model.restores.values()
                   for files in work.restored.values()), report(provider)  # fmt: skip
        if not retried:
            rounds = sum(way != "beside" for way in provider.model.restores.values())
            turns = 1 + len(provider.model.pauses)
            assert work.requests == steps + turns + rounds, report(provider)


def report(provider: CheckingProvider) -> str:
    """What a failed test should show."""
    works = [
        {n: v for n, v in vars(work).items() if not n.startswith("_") and n not in ("said", "refs")}
        | {"unbroken": round(work.unbroken, 3), "prefix": round(work.prefix, 3)}
        for work in provider.works.values()
    ]
    return json.dumps({"refused": provider.refused[:5], "works": works[:3]}, indent=1)

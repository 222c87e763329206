"""One agent's run, the same in every framework: what its fake model does, and what it was sent.

The model reads 100 logs of about 2,500 tokens each, in a window of 60,000. In the middle it brings
a log back by the ref in a note, and then one by a search. A program calls `next` with each request:

    run = AgentRun()
    call = run.next(texts, calls=ids, results=ids)  # what the model calls; `None` at the end
    print(json.dumps(run.report(session)))

This module runs in the environments of frameworks: it imports nothing but our package.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from context_compression import Session
from context_compression.conversation import strings_in

STEPS = 100
WINDOW = 60_000
RULE = "Never touch src/vendor."
TASK = f"Fix the build. {RULE}"
RESTORE = "context_restore"
BY_REF, BY_SEARCH = 60, 80
"""The steps at which the model restores."""
SEARCHED = "v7_77"
"""A word of one log alone, and so of one archived text."""
REF = re.compile(r"\bref[ =:]+([0-9a-f]{12})\b")


def log(number: int, lines: int = 120) -> str:
    """The log of a build, about 2,500 tokens. The framework's tool `logs(n)` returns it."""
    warnings = (
        f"src/part_{line % 7}.c:{line}: warning: unused variable v{number}_{line}"
        for line in range(lines)
    )
    return "\n".join([*warnings, error(number)])


def error(number: int) -> str:
    """The line that matters in a log."""
    return f"src/main.c:{number}: error: expected ';'"


def assert_kept(report: Mapping[str, Any], steps: int = STEPS) -> None:
    """What holds in every framework: valid requests, the rule, the prompt prefix, nothing lost."""
    valid = (report["requests"], report["unpaired"], report["without_rule"], report["lost"])
    assert valid == (steps + 1, [], 0, 0)
    assert report["unbroken"] >= 0.95
    assert report["reused"] >= 0.88
    assert re.search(rf"unused variable {SEARCHED}\b", report["answers"]["search"])


class Call(NamedTuple):
    """A tool call of the model."""

    id: str
    name: str
    arguments: dict[str, Any]


@dataclass
class AgentRun:
    """The fake model's decisions, and the measures of what it was sent.

    Attributes:
        steps: the steps until it answers.
        restores: whether it calls `context_restore`.
    """

    steps: int = STEPS
    restores: bool = True
    requests: int = 0
    broken: int = 0
    reused: int = 0
    sent: int = 0
    largest: int = 0
    unpaired: set[str] = field(default_factory=set[str])
    without_rule: int = 0
    answers: dict[str, str] = field(default_factory=dict[str, str])
    _last: list[str] = field(default_factory=list[str])
    _asked: str = ""

    def next(
        self, messages: Sequence[str], *, calls: Sequence[str], results: Sequence[str]
    ) -> Call | None:
        """What the model does with a request; `None` if it is done.

        Args:
            messages: the messages as they are sent, each as one text, without what differs
                between two equal requests, such as times.
            calls: the ids of all calls in them, in their order.
            results: the ids of all results in them, in their order.
        """
        self._measure(list(messages))
        self.unpaired |= set(calls) ^ set(results)
        self.unpaired |= {id for id in (*calls, *results) if [*calls].count(id) != 1}
        if self._asked:
            self.answers[self._asked], self._asked = messages[-1], ""
        number = self.requests - 1
        if number >= self.steps:
            return None
        return self._restoring(number, messages) or Call(f"c{number}", "logs", {"n": number})

    def report(self, session: Session) -> dict[str, Any]:
        """The measures, for the program's last line.

        Args:
            session: the session of the run.
        """
        logs = [log(number) for number in range(self.steps)]
        return {
            "requests": self.requests,
            "unbroken": 1 - self.broken / max(1, self.requests - 1),
            "reused": self.reused / max(1, self.sent),
            "largest": self.largest,
            "unpaired": sorted(self.unpaired),
            "without_rule": self.without_rule,
            "errors": sum(error(n) in "\n".join(self._last) for n in range(self.steps)),
            "answers": self.answers,
            "lost": sum(text not in kept for kept in [_kept(session)] for text in logs[:BY_REF]),
        }

    def _measure(self, messages: list[str]) -> None:
        same = 0
        for before, now in zip(self._last, messages, strict=False):
            if before != now:
                break
            same += 1
        if self.requests:
            self.broken += same < len(self._last)
            self.reused += sum(map(len, messages[:same]))
            self.sent += sum(map(len, messages))
        self.largest = max(self.largest, sum(map(len, messages)))
        self.without_rule += not any(RULE in text for text in messages)
        self.requests, self._last = self.requests + 1, messages

    def _restoring(self, number: int, messages: Sequence[str]) -> Call | None:
        """The call that brings something back, at its two steps."""
        if not self.restores or number not in (BY_REF, BY_SEARCH):
            return None
        if number == BY_SEARCH:
            self._asked = "search"
            return Call(f"c{number}", RESTORE, {"query": SEARCHED})
        self._asked = "ref"
        ref = next(match[1] for text in messages if (match := REF.search(text)))
        return Call(f"c{number}", RESTORE, {"ref": ref})


def _kept(session: Session) -> str:
    """All that the session has: its view, and all originals."""
    return "\n".join(_texts(session))


def _texts(session: Session) -> Iterator[str]:
    yield from strings_in(session.view())
    for _, _, original in session.archived():
        yield from strings_in(original)

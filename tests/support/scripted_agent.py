"""An agent's work, and the model that does it: it reads files, and brings back what left its view.

    model = AgentModel(steps=100, restores={30: "one", 60: "several"})
    model.move(sight)  # a `Move`: what it does with what it sees

What the model does follows from what it sees alone: the newest file among the results leads to the
next one. So a request that is sent again gets the same answer.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from random import Random
from typing import Any, Literal, TypeAlias

from wires import Call, Move, Result

from context_compression.testing import log

RESTORE = "context_restore"
Way: TypeAlias = Literal["one", "several", "beside", "search"]
"""How the model restores: one ref; three at once; one together with a tool of the client; by a
search.
"""
Reads: TypeAlias = Callable[[str, int], tuple[str, Mapping[str, Any]]]
"""The client's tool that prints a file, by the name of the work and the number of the file."""

REF = re.compile(r"\bref[ =:]+\"?([0-9a-f]{12})\b")
FILE = re.compile(r"^(?:file |src/\w+/main_\d+\.c:)(\d+)(?= of build-|: error)", re.MULTILINE)
"""The first line of a file, or its last: a preview may have one of them."""
BEFORE = re.compile(r"\bBefore file (\d+), look back\.")
NAME = re.compile(r"\bbuild-([a-z0-9]+)\b")
OWN, ALIKE = 10, 90
"""Lines of a file that are like no other, and warnings of a compiler that are alike."""
STRANGE = 'é 漢字 🙂 "quoted" \\n <b>&amp;</b> ```fence``` \ttab and two spaces  '
"""What is changed easily on its way through JSON, HTML or a terminal."""


def goal(name: str) -> str:
    """What the user wants."""
    return f"Find out why build-{name} fails, and say which file is to blame."


def rule(name: str) -> str:
    """What the user forbids."""
    return f"Never touch src/vendor/{name}."


def task(name: str) -> str:
    """The user's first message."""
    return f"{goal(name)} {rule(name)}"


@cache
def file_text(name: str, number: int) -> str:
    """A file of about 2,500 tokens. Its first line names it, its last line is what matters."""
    own = log(Random(f"{name} {number}"), OWN)
    alike = "\n".join(
        f"src/{name}/part_{line % 7}.c:{line}: warning: unused variable v{number}_{line}"
        for line in range(ALIKE)
    )
    return f"file {number} of build-{name}\n{STRANGE}\n{own}\n{alike}\n{blame(name, number)}"


def blame(name: str, number: int) -> str:
    """The line of a file that matters."""
    return f"src/{name}/main_{number}.c:{number}: error: expected ';' before '}}' token"


def reads_file(name: str, number: int) -> tuple[str, Mapping[str, Any]]:
    """The tool of an agent that has only this one."""
    return "logs", {"name": name, "number": number}


@dataclass(frozen=True)
class Sight:
    """What the model sees in a request.

    Attributes:
        name: of the work.
        prompt: all of it, as one text.
        results: of the tools, in order.
        tail: those that it has not answered yet.
        calls: of the results, by id.
    """

    name: str
    prompt: str
    results: Sequence[Result]
    tail: Sequence[Result]
    calls: Mapping[str, Call]

    @property
    def refs(self) -> list[str]:
        """The refs in it, the oldest first."""
        return list(dict.fromkeys(REF.findall(self.prompt)))

    @property
    def newest(self) -> int:
        """The number of the newest file in it: by its text, or by what the model said of it."""
        texts = [int(found[1]) for found in FILE.finditer(self.prompt)]
        said = [int(number) - 1 for number in BEFORE.findall(self.prompt)]
        return max([0, *texts, *said])

    def number_in(self, results: Sequence[Result]) -> int | None:
        """The number of the newest file among results, whole or as a preview."""
        read = [r.text for r in results if not self._restores(r)]
        numbers = [int(found[1]) for text in read for found in FILE.finditer(text)]
        return numbers[-1] if numbers else None

    def restored(self, results: Sequence[Result]) -> list[tuple[Call, str]]:
        """The calls of `context_restore` among results, and their answers."""
        return [(self.calls[r.call], r.text) for r in results if self._restores(r)]

    def _restores(self, result: Result) -> bool:
        call = self.calls.get(result.call)
        return call is not None and call.name == RESTORE


@dataclass(frozen=True)
class AgentModel:
    """The model.

    Attributes:
        steps: the last file that it reads.
        restores: after which file it restores, and how; if nothing was archived by then, it does
            not.
        pauses: after which files it ends its turn, so that the user says something.
        reads: the client's tool.
        thinks: whether it thinks before each move.
    """

    steps: int = 100
    restores: Mapping[int, Way] = field(default_factory=dict[int, Way])
    pauses: Sequence[int] = ()
    reads: Reads = reads_file
    thinks: bool = True

    def move(self, sight: Sight) -> Move:
        """What it does."""
        number = sight.number_in(sight.tail)
        more = [call for call, text in sight.restored(sight.tail) if "next page: cursor" in text]
        if more and number is None:
            return self._next_pages(sight)
        if number is not None and (move := self._restoring(sight, number)):
            return move
        if number is None:  # after a restore, or the user's words
            number = sight.newest
        elif number in self.pauses:
            return self._thinking(Move(f"Up to file {number} nothing is to blame."), number)
        if number >= self.steps:
            return self._thinking(Move(f"The last file, {number}, is to blame."), number)
        return self._thinking(self._reading(sight.name, number + 1), number)

    def _reading(self, name: str, number: int, *others: Call) -> Move:
        tool, arguments = self.reads(name, number)
        call = Call(f"read_{name}_{number}", tool, arguments)
        return Move(f"Next is file {number} of build-{name}.", [*others, call])

    def _restoring(self, sight: Sight, number: int) -> Move | None:
        way, refs = self.restores.get(number), sight.refs
        if way is None or not refs:
            return None
        asked: list[dict[str, str]] = [{"ref": ref} for ref in refs[:1]]
        if way == "several":
            asked = [{"ref": ref} for ref in refs[-3:]]
        elif way == "search":
            asked = [{"query": f"main_{max(1, number // 4)}.c"}]
        calls = [
            Call(f"restore_{sight.name}_{number}_{at}", RESTORE, given)
            for at, given in enumerate(asked)
        ]
        if way == "beside":
            return self._thinking(self._reading(sight.name, number + 1, *calls), number)
        return self._thinking(Move(f"Before file {number + 1}, look back.", calls), number)

    def _next_pages(self, sight: Sight) -> Move:
        calls: list[Call] = []
        for call, text in sight.restored(sight.tail):
            if found := re.search(r"next page: cursor (\S+)", text.partition("\n")[0]):
                given = {**call.arguments, "cursor": found[1]}
                calls.append(Call(f"{call.id}_{found[1]}"[:64], RESTORE, given))
        return self._thinking(Move("It goes on.", calls), 0)

    def _thinking(self, move: Move, number: int) -> Move:
        if not self.thinks:
            return move
        thought = f"File {number} is fine, I think; what comes next matters more."
        return Move(move.says, move.calls, thought)

"""A search for patterns of the package that take more than linear time.

`python tests/support/pattern_search.py` prints them. It finds every pattern by itself: those that a
module compiles when it is imported, those in its functions, and those that are put together when
they are used. Each is tried with the methods by which the package uses it, on texts made from its
own parse tree. Patterns that users write are run by `regex` under a time limit and are not
among them (`test_patterns.py`).
"""

import ast
import gc
import importlib
import inspect
import pkgutil
import random
import re
import signal
import sys
import time
from collections import defaultdict, deque
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from types import ModuleType
from typing import Any

PACKAGE = "context_compression"
sre_parse: Any = importlib.import_module("re._parser")
ROOT = Path(str(importlib.import_module(PACKAGE).__file__)).parent
CALLS = {"compile", "search", "match", "fullmatch", "sub", "subn", "split", "findall", "finditer"}
CHARS = 4_000
"""The size of a text at which a pattern that takes the square of it takes longer than `QUICK`."""
QUICK = 0.0004
"""Seconds for `CHARS` characters that only linear patterns stay below."""
MOST = 2.3
"""What twice the size may cost, as a factor."""
SUSPECTS = 3
"""How many of the slowest texts of a pattern are measured with care."""
TOO_LONG = 5.0
"""Seconds of the processor after which an attempt on `CHARS` characters is cut off: no pattern in
linear time takes them."""
MEASURED = 0.03
"""Seconds of the processor in which a cost is measured."""
BOUNDED = {
    ("hooks/host_compaction.py", "ENGLISH"): 300,
    ("hooks/host_compaction.py", "WHOLE"): 300,
    ("hooks/named_size.py", "CLAUSE"): 300,
    ("store/search/query.py", "FUZZY"): 1_000,
}
"""Patterns that meet only a text that was cut before, and its characters."""
ONCE = {
    ("hosts/setup/jsonc.py", "BEHIND"),
    ("hosts/setup/jsonc.py", "COMMENTS"),
    ("transcripts/commented_json.py", "SPACE"),
}
"""Patterns that are matched only behind what was read; where they fail, the reading ends."""
SHORT = 0.05
"""Seconds that such a text may cost at most, on a slow machine."""
SINGLE = " \n\t0aA_-./\\\"'`[]{}()<>=:,;|*~#$&@漢é\x1b\u200b"


@dataclass
class Found:
    """A pattern of the package.

    Attributes:
        pattern: the compiled pattern.
        place: the module and line where it is compiled.
        methods: the methods by which it is used; all of them if that is not known.
        name: its name in the module, or that of its table; "" if it has none.
    """

    pattern: re.Pattern[Any]
    place: str
    methods: set[str] = field(default_factory=set[str])
    name: str = ""


class Placeholder(str):
    """Stands for a local variable in a pattern that is put together."""

    def __getattr__(self, name: str) -> "Placeholder":
        if name.startswith("__"):
            raise AttributeError(name)
        return Placeholder(name)


class Locals(dict[str, Any]):
    """The names in an expression: those of its module, and placeholders for all others."""

    def __init__(self, module: ModuleType) -> None:
        super().__init__(vars(module))

    def __missing__(self, name: str) -> Any:
        builtins = vars(importlib.import_module("builtins"))
        return builtins[name] if name in builtins else Placeholder("name")


def modules() -> Iterator[tuple[str, Path]]:
    """Every module of the package that needs no package of others, and its file."""
    package = importlib.import_module(PACKAGE)
    for info in pkgutil.walk_packages(package.__path__, f"{PACKAGE}."):
        path = ROOT.parent / info.name.replace(".", "/")
        file = path / "__init__.py" if info.ispkg else path.with_suffix(".py")
        yield info.name, file


class Recorder:
    """Sees every pattern that the package compiles from now on, with the line that does it."""

    def __init__(self) -> None:
        self.seen: dict[tuple[str, int], dict[Any, re.Pattern[Any]]] = defaultdict(dict)
        compiling: Any = vars(re)["_compile"]

        def watched(pattern: Any, flags: Any) -> Any:
            compiled = compiling(pattern, flags)
            frame = inspect.currentframe()
            caller = frame and frame.f_back and frame.f_back.f_back  # who called `re.compile`
            if caller is not None and caller.f_code.co_filename.startswith(str(ROOT)):
                site = caller.f_code.co_filename, caller.f_lineno
                self.seen[site][compiled.pattern, compiled.flags] = compiled
            return compiled

        setattr(re, "_compile", watched)  # noqa: B010  # pyright knows no such private name


class Sites(ast.NodeVisitor):
    """The calls of `re` in a module, and how its named patterns are used."""

    def __init__(self, module: str) -> None:
        self.module = module
        self.calls: list[tuple[ast.Call, str]] = []
        self.named: dict[int, str] = {}
        self.uses: dict[tuple[str, str], set[str]] = defaultdict(set)
        self.imported: dict[str, tuple[str, str]] = {}
        self.aliases: dict[str, set[str]] = defaultdict(set)
        self._methods: dict[int, str] = {}

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        for alias in node.names:
            self.imported[alias.asname or alias.name] = (node.module or "", alias.name)

    def visit_Assign(self, node: ast.Assign) -> None:
        self._name(node.targets[0], node.value)
        self.generic_visit(node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        self._name(node.target, node.value)
        self.generic_visit(node)

    def _name(self, target: ast.expr, value: ast.expr | None) -> None:
        if not isinstance(target, ast.Name):
            return
        for node in ast.walk(value) if value else ():
            if isinstance(node, ast.Call) and self._is_call(node):
                self.named[node.lineno] = target.id  # alone, or in a table
        self._alias(target, value)

    def visit_comprehension(self, node: ast.comprehension) -> None:
        self._alias(node.target, node.iter)
        self.generic_visit(node)

    def visit_For(self, node: ast.For) -> None:
        self._alias(node.target, node.iter)
        self.generic_visit(node)

    def visit_NamedExpr(self, node: ast.NamedExpr) -> None:
        self._alias(node.target, node.value)
        self.generic_visit(node)

    def _alias(self, target: ast.expr, value: ast.expr | None) -> None:
        for name in alternatives(value):
            self._methods.setdefault(id(name), "as another name")
            for other in ast.walk(target):
                if isinstance(other, ast.Name) and other.id != name.id:
                    self.aliases[other.id].add(name.id)

    def visit_Call(self, node: ast.Call) -> None:
        if self._is_call(node) and isinstance(node.func, ast.Attribute):
            self.calls.append((node, node.func.attr))
        if isinstance(node.func, ast.Attribute) and node.func.attr in CALLS:
            at = node.func.attr == "match" and len(node.args) == 2  # with three, a part of its own
            method = "walk" if at else node.func.attr
            self._methods[id(node.func.value)] = method
            for name in alternatives(node.func.value):
                self._methods[id(name)] = method
        self.generic_visit(node)

    def visit_Name(self, node: ast.Name) -> None:
        if isinstance(node.ctx, ast.Load):
            source = self.imported.get(node.id, (self.module, node.id))
            self.uses[source].add(self._methods.get(id(node), "?"))

    def visit_Attribute(self, node: ast.Attribute) -> None:
        if node.attr in CALLS:  # perhaps passed on, to be called elsewhere
            self._methods.setdefault(id(node.value), node.attr)
        if isinstance(node.value, ast.Name) and node.value.id in self.imported:
            source = ".".join(self.imported[node.value.id])
            self.uses[source, node.attr].add(self._methods.get(id(node), "?"))
        self.generic_visit(node)

    @staticmethod
    def _is_call(node: ast.Call) -> bool:
        return (
            isinstance(node.func, ast.Attribute)
            and isinstance(node.func.value, ast.Name)
            and node.func.value.id == "re"
            and node.func.attr in CALLS
        )


def alternatives(value: ast.expr | None) -> list[ast.Name]:
    """The names that an expression may stand for: `A if b else C[d]` -> A and C."""
    match value:
        case ast.Name():
            return [value]
        case ast.IfExp():
            return alternatives(value.body) + alternatives(value.orelse)
        case ast.Subscript():
            return alternatives(value.value)
        case ast.Call(func=ast.Attribute(value=table, attr="get" | "items" | "values")):
            return alternatives(table)
        case ast.Tuple() | ast.List():
            return [name for each in value.elts for name in alternatives(each)]
        case _:
            return []


def work() -> None:
    """Use what puts patterns together from tables: rules of the user, secrets, labels."""
    from context_compression import compress
    from context_compression.evidence import redact
    from context_compression.testing import conversation

    talk = conversation(12, 3)
    talk[0] = {"role": "user", "content": "You must never delete a.py. Don't touch [User] b.py."}
    result = compress(talk, target_tokens=2_000, force=True)
    assert result.user_sentences and result.loss
    redact("password=hunter2hunter2 sk-ant-api03-abcdefgh")


def all_patterns() -> tuple[list[Found], list[str]]:
    """Every pattern of the package, and the places of those that could not be found."""
    recorder = Recorder()
    visited: dict[str, Sites] = {}
    for name, file in modules():
        visited[name] = sites = Sites(name)
        sites.visit(ast.parse(file.read_text(encoding="utf-8")))
        with suppress(ImportError, SystemExit):  # a framework is missing: its calls are still read
            importlib.import_module(name)
    work()
    uses: dict[tuple[str, str], set[str]] = defaultdict(set)
    for sites in visited.values():
        for source, methods in sites.uses.items():
            uses[source] |= methods
        for alias, names in sites.aliases.items():
            for name in names:
                source = sites.imported.get(name, (sites.module, name))
                as_alias = sites.uses.get((sites.module, alias), set())
                uses[source] |= as_alias - {"?"} or as_alias  # `if alias` is no use
    found: list[Found] = []
    missing: list[str] = []
    for name, file in modules():
        sites = visited[name]
        for call, method in sites.calls:
            place = f"{file.relative_to(ROOT)}:{call.lineno}"
            methods = {method}
            if method == "compile":
                methods = uses.get((name, sites.named.get(call.lineno, "")), {"?"})
                methods = methods - {"as another name"} or {"?"}
            lines = range(call.lineno, (call.end_lineno or call.lineno) + 1)
            seen = [p for line in lines for p in recorder.seen.get((str(file), line), {}).values()]
            patterns = seen or evaluated(call, sys.modules.get(name))
            if not patterns:
                missing.append(place)
            name_there = sites.named.get(call.lineno, "")
            if (place.partition(":")[0], name_there) in ONCE:
                methods = {"match"}
            found += [Found(pattern, place, {*methods}, name_there) for pattern in patterns]
    return found, missing


def evaluated(call: ast.Call, module: ModuleType | None) -> list[re.Pattern[Any]]:
    """The pattern of a call, read from its source; none if it is not written there."""
    given = call.args[0]
    if isinstance(given, ast.Name) and not (module and hasattr(module, given.id)):
        return []
    try:
        code = compile(ast.Expression(given), "pattern", "eval")
        return [re.compile(eval(code, {}, Locals(module or ModuleType("none"))))]
    except (TypeError, AttributeError, re.error):
        return []


class Seeds:
    """Texts that may be hard for a pattern: from its own tree, and single characters."""

    def __init__(self, pattern: re.Pattern[Any]) -> None:
        self.binary = isinstance(pattern.pattern, bytes)
        self.chance = random.Random(repr(pattern.pattern))
        self.tree = sre_parse.parse(pattern.pattern, pattern.flags & ~re.DEBUG)
        self.pieces: list[str] = []
        self.shapes = self._shapes()

    def text(self, shape: tuple[str, str, str], chars: int) -> Any:
        """A text of this shape and about this many characters."""
        begin, again, end = shape
        text = (begin + again * (chars // len(again) + 1))[:chars] + end
        return text.encode("utf-8", "surrogatepass") if self.binary else text

    def _shapes(self) -> list[tuple[str, str, str]]:
        shapes = [("", char, "") for char in SINGLE]
        shapes += [
            ("", pair, "") for pair in ("a ", "a.", "a/", "a\n", " \n", "Aa", "a=", "a:", "_a")
        ]
        for _ in range(4):
            whole = self._sample(self.tree)
            cuts = {whole, whole[:-1], whole[: len(whole) // 2], whole[1:], whole[:1], whole[-1:]}
            shapes += [("", piece, "") for piece in sorted(cuts) if piece]
        repeats = [*dict.fromkeys(islice(self._repeats(self.tree, ""), 600))]
        for before, body in self.chance.sample(repeats, min(len(repeats), 60)):
            for again in {body, before + body, before, before + body * 5} - {""}:
                shapes.append(("", again, ""))
            if body:
                shapes += [(before, body, ""), (before, body, "\x00"), (before, body, "x")]
        for _ in range(24):
            drawn = "".join(self.chance.choices(self.pieces or ["a"], k=self.chance.randint(1, 4)))
            if drawn:
                shapes.append(("", drawn, ""))
        return list(dict.fromkeys(shapes))

    def _repeats(self, tree: Any, before: str) -> Iterator[tuple[str, str]]:
        """What may come before each repetition without end, and what it may repeat."""
        for op, value in tree:
            name = str(op)
            if name in ("MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT"):
                _, most, part = value
                if int(most) > 100:
                    for _ in range(3):
                        yield before, self._sample(part)
                yield from self._repeats(part, before)
            elif name == "SUBPATTERN":
                yield from self._repeats(value[3], before)
            elif name == "ATOMIC_GROUP":
                yield from self._repeats(value, before)
            elif name == "BRANCH":
                for part in value[1]:
                    yield from self._repeats(part, before)
            elif name in ("ASSERT", "ASSERT_NOT"):
                yield from self._repeats(value[1], before)
                continue
            before += self._sample([(op, value)])

    def _sample(self, tree: Any) -> str:
        made = ""
        for op, value in tree:
            made += self._one(str(op), value)
        return made[:300]

    def _one(self, name: str, value: Any) -> str:
        match name:
            case "LITERAL":
                made = chr(value)
            case "NOT_LITERAL":
                made = "q" if value != ord("q") else "r"
            case "ANY":
                made = self.chance.choice("x .")
            case "IN":
                made = self._in(value)
            case "BRANCH":
                return self._sample(self.chance.choice(value[1]))
            case "SUBPATTERN":
                return self._sample(value[3])
            case "ATOMIC_GROUP":
                return self._sample(value)
            case "GROUPREF_EXISTS":
                return self._sample(value[1])
            case "MAX_REPEAT" | "MIN_REPEAT" | "POSSESSIVE_REPEAT":
                least, most, part = value
                times = least + min(int(most) - least, self.chance.choice((0, 1, 2)))
                return "".join(self._sample(part) for _ in range(min(times, 60)))
            case _:
                return ""
        if made not in self.pieces:
            self.pieces.append(made)
        return made

    def _in(self, options: Any) -> str:
        chosen: list[str] = []
        negated = False
        for op, value in options:
            match str(op):
                case "NEGATE":
                    negated = True
                case "LITERAL":
                    chosen.append(chr(value))
                case "RANGE":
                    low, high = value
                    chosen.append(chr(self.chance.randint(low, min(high, low + 30))))
                case _:
                    chosen.append(OF_CATEGORY.get(str(value), "z"))
        if not negated:
            return self.chance.choice(chosen)
        others = [char for char in 'x7 -_/\n.["a' if char not in chosen]
        return self.chance.choice(others or ["~"])


OF_CATEGORY = {
    "CATEGORY_DIGIT": "7",
    "CATEGORY_SPACE": " ",
    "CATEGORY_WORD": "w",
    "CATEGORY_NOT_SPACE": "n",
    "CATEGORY_NOT_WORD": "-",
    "CATEGORY_NOT_DIGIT": "d",
}


class CutOff(Exception):
    """An attempt took too long."""


class NeverDone(Exception):
    """A pattern takes exponential time; the message names the text."""


def _cut_off(*_: object) -> None:
    raise CutOff


def seconds(pattern: re.Pattern[Any], text: Any, method: str) -> float:
    """The time of one use on the clock, which another process may have held up."""
    started = time.perf_counter()
    run(pattern, text, method)
    return time.perf_counter() - started


def cost(pattern: re.Pattern[Any], text: Any, method: str, least: float = MEASURED) -> float:
    """The processor's time of one use: the mean of many, as its clock may tick only 250 times."""
    uses, spent, started = 0, 0.0, time.process_time()
    while not uses or spent < least:
        run(pattern, text, method)
        uses, spent = uses + 1, time.process_time() - started
    return spent / uses


def run(pattern: Any, text: Any, method: str) -> None:
    """Use a pattern on all of a text."""
    match method:
        case "match":
            pattern.match(text)
        case "fullmatch":
            pattern.fullmatch(text)
        case "walk":
            at, after = 0, pattern.match(text)
            while after and at < len(text):
                at = max(after.end(), at + 1)
                after = pattern.match(text, at)
        case _:
            deque[Any](pattern.finditer(text), 0)


def hard_text(pattern: re.Pattern[Any], methods: set[str], most: int = 0) -> str | None:
    """A text that costs a pattern more than linear time, shortened; `None` if none is found.

    Args:
        pattern: the pattern.
        methods: how it is used.
        most: the characters of the longest text that it meets; 0 for any length.
    """
    seeds = Seeds(pattern)
    at_once = {"match", "fullmatch", "walk"}
    used = {method if method in at_once else "search" for method in methods}
    for method in sorted({"search"} if "search" in used else used):
        if most:
            for shape in seeds.shapes:
                text = seeds.text(shape, most)
                if all(cost(pattern, text, method, least=0.0) > SHORT for _ in range(3)):
                    return f"{method} of {text[:60]!r}"
            continue
        try:
            slowest = suspects(pattern, seeds, method)
        except NeverDone as error:
            return str(error)
        for shape in slowest:
            texts = [seeds.text(shape, CHARS * times) for times in (1, 4)]
            if grows(pattern, texts, method):
                return f"{method} of {seeds.text(shape, 60)!r}"
    return None


def suspects(pattern: re.Pattern[Any], seeds: Seeds, method: str) -> list[tuple[str, str, str]]:
    """The shapes that cost most, of those where a quarter of the text costs less than a quarter.

    Raises:
        NeverDone: one of them is never done.
    """
    costs: dict[tuple[str, str, str], float] = {}
    signal.signal(signal.SIGVTALRM, _cut_off)
    for shape in seeds.shapes:
        text = seeds.text(shape, CHARS)
        signal.setitimer(signal.ITIMER_VIRTUAL, TOO_LONG)
        try:
            whole = seconds(pattern, text, method)
        except CutOff:
            raise NeverDone(f"{method} of {seeds.text(shape, 60)!r}") from None
        finally:
            signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        if whole > QUICK:
            quarter = seeds.text(shape, CHARS // 4)
            whole = min(whole, seconds(pattern, text, method))
            if whole > MOST**2 * min(seconds(pattern, quarter, method) for _ in range(3)):
                costs[shape] = whole
    return sorted(costs, key=lambda shape: -costs[shape])[:SUSPECTS]


def grows(pattern: re.Pattern[Any], texts: list[Any], method: str) -> bool:
    """Whether four times the text costs more than `MOST` twice over, on each of three tries."""
    return all(
        cost(pattern, texts[1], method) > MOST**2 * cost(pattern, texts[0], method)
        for _ in range(3)
    )


def not_linear(only: list[str]) -> tuple[list[str], int]:
    """What is not linear, and how many patterns were tried: all, or those in these places."""
    found, missing = all_patterns()
    tried: dict[tuple[Any, int, frozenset[str]], str | None] = {}
    faults = [f"not found: {place}" for place in missing]
    for one in found:
        key = one.pattern.pattern, one.pattern.flags, frozenset(one.methods)
        if only and not any(part in one.place for part in only):
            continue
        if key not in tried:
            most = BOUNDED.get((one.place.partition(":")[0], one.name), 0)
            tried[key] = hard_text(one.pattern, one.methods, most)
            if tried[key] is not None:
                faults.append(f"{one.place}: {tried[key]} in {one.pattern.pattern[:200]!r}")
    return faults, len(tried)


def main() -> int:
    """Print every pattern that is not linear, and every place whose pattern was not found."""
    gc.disable()
    faults, tried = not_linear(sys.argv[1:])
    print(f"{tried} patterns, {len(faults)} not shown to be linear", *faults, sep="\n")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())

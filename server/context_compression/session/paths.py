"""Paths into JSON: JMESPath through its library, limited in time and size, with errors that help.

An expression runs no code, but it can repeat what it finds: `[@,@] | [@,@] | …` doubles it each
time. So what it puts together is counted, and its time is limited.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from time import thread_time
from typing import Any, TypeAlias, cast

from jmespath import ast
from jmespath.exceptions import (
    EmptyExpressionError,
    IncompleteExpressionError,
    JMESPathError,
    JMESPathTypeError,
    ParseError,
    UnknownFunctionError,
)
from jmespath.functions import Functions
from jmespath.parser import Parser
from jmespath.visitor import Options, TreeInterpreter

from context_compression.conversation.messages import is_array, is_object
from context_compression.errors import StoreError
from context_compression.plurals import how_many
from context_compression.strings import one_line

LONGEST = 1_000
"""The most characters of all expressions together."""
SECONDS = 3.0
"""The most time for one answer, of its thread alone: other work on the machine does not count."""
MOST = 2_000_000
"""The most values and characters that expressions put together for one answer."""
STEPS = 200
"""Steps between two looks at the clock."""
LISTED = 30
"""Names in one error."""
NAME = 40
"""Characters of a name in an error."""
TOO_DEEP = "nested too deep"
HOW_TO_WRITE = (
    "Write a path as items[*].id or items[?status=='failed'].name: texts in 'single quotes', "
    'numbers in `backticks`, names with other signs in "double quotes".'
)

Node: TypeAlias = Any
"""A node of the library's tree: `{"type": "field", "value": "id", "children": []}`."""


class Budget:
    """The time and size that are left for one answer."""

    def __init__(self) -> None:
        self._until = thread_time() + SECONDS
        self._left = MOST
        self._steps = 0

    def step(self) -> None:
        """Looks at the clock now and then."""
        self._steps += 1
        if not self._steps % STEPS:
            self.check_time()

    def check_time(self) -> None:
        """Raises a `StoreError` if the time is over."""
        if thread_time() > self._until:
            raise StoreError(
                "The fields take too long. Pass lines, to look into a part, or shorter paths."
            )

    def spend(self, amount: int) -> None:
        """Takes so many values or characters off; raises a `StoreError` if none are left."""
        self._left -= amount
        if self._left < 0:
            raise StoreError(
                f"The fields put together more than {MOST:,} values. Pass a path that takes less."
            )

    def weigh(self, value: Any) -> None:
        """Spends one for each value in a value, however often it is in it."""
        self.spend(1)
        self.step()
        if type(value) is list or type(value) is dict:  # `isinstance` is slow here
            held = cast("list[Any] | dict[str, Any]", value)
            for part in held.values() if isinstance(held, dict) else held:
                self.weigh(part)


class _CountedFunctions(Functions):
    """The functions of JMESPath; what makes long texts is counted."""

    def __init__(self, budget: Budget) -> None:
        self._budget = budget

    def call_function(self, function_name: str, resolved_args: Iterable[Any]) -> Any:
        arguments = list(resolved_args)
        if function_name == "join" and len(arguments) == 2 and is_array(arguments[1]):
            between = len(arguments[0]) if isinstance(arguments[0], str) else 0
            texts = (len(part) for part in arguments[1] if isinstance(part, str))
            self._budget.spend(between * len(arguments[1]) + sum(texts))
        result = super().call_function(function_name, arguments)
        if function_name == "to_string":
            self._budget.spend(len(result))
        return result


@dataclass(frozen=True)
class Stop:
    """Where a path ends before its end.

    Attributes:
        place: the part of the path that is there: `items[*]`, or `""`.
        holds: the value there.
        wanted: what it has not: a name, `[*]` or an index as `[5]`.
        compared: whether it is the right side of a comparison.
    """

    place: str
    holds: Any
    wanted: str
    compared: bool = False

    def told(self, whole: str = "The JSON") -> str:
        """One or two sentences: what is not there, and what is.

        Args:
            whole: the name of what the path begins at.
        """
        place = one_line(self.place, 2 * NAME) or whole
        sentence = f"{place} {self._told()}"
        if self.compared:
            sentence += f" A text to compare with stands in single quotes: '{named(self.wanted)}'."
        return sentence

    def _told(self) -> str:
        wanted = named(self.wanted)
        wanted = wanted if wanted.startswith("[") else repr(wanted)
        held = self.holds
        if is_object(held) and held:
            return f"has no {wanted}; it has {names(held)}."
        if not is_array(held):
            return f"is {_kind(held)}, so {wanted} is not there."
        many = how_many(len(held), "element")
        if self.wanted.startswith("["):
            return f"has no {wanted}: it has {many}."
        keys = f" Its first element has {names(held[0])}." if held and is_object(held[0]) else ""
        return f"is a list of {many}; write [*] before {wanted}.{keys}"


class Paths(TreeInterpreter):
    """Evaluates paths for one answer."""

    def __init__(self) -> None:
        self.budget = Budget()
        super().__init__(Options(custom_functions=_CountedFunctions(self.budget)))

    def read(self, expression: str) -> Node:
        """The tree of an expression.

        Raises:
            StoreError: it is no JMESPath.
        """
        plain = expression.strip()
        plain = plain.removeprefix("$") or "@"  # as JSONPath and jq begin
        if plain.startswith(".") and plain != ".":
            plain = plain[1:]
        try:
            return Parser().parse(plain or "@").parsed
        except RecursionError:
            raise _too_deep(expression) from None
        except ValueError as problem:
            raise StoreError(
                f"{_short(expression)} is no path: {_reason(problem)}. {HOW_TO_WRITE}"
            ) from None

    def value(self, node: Node, of: Any, expression: str) -> Any:
        """What an expression gives.

        Raises:
            StoreError: a function does not take what it gets, or the limits are reached.
        """
        try:
            return self.visit(node, of)
        except (RecursionError, MemoryError):
            raise _too_deep(expression) from None
        except (ValueError, TypeError, OverflowError, AttributeError) as problem:
            raise StoreError(
                f"{_short(expression)} cannot be evaluated: {_reason(problem)}."
            ) from None

    def missing(self, node: Node, values: Sequence[Any]) -> Stop | None:
        """Where a path ends before its end in each of these values; see `stop`."""
        try:
            return self.stop_in_all(node, values)
        except (ValueError, TypeError, OverflowError, AttributeError, RecursionError):
            return None  # the value itself cannot be had, which says more

    def visit(self, node: Node, *args: Any, **kwargs: Any) -> Any:
        """One step, if there is time for it."""
        self.budget.step()
        return super().visit(node, *args, **kwargs)

    def visit_multi_select_list(self, node: Node, value: Any) -> list[Any] | None:
        """The values of a list of expressions, which may take the same values several times."""
        made = super().visit_multi_select_list(node, value)
        self.budget.weigh(made)
        return made

    def visit_multi_select_dict(self, node: Node, value: Any) -> Any:
        """The values of several expressions by name."""
        made = super().visit_multi_select_dict(node, value)
        self.budget.weigh(made)
        return made

    def stop(self, node: Node, value: Any, place: str = "") -> Stop | None:
        """Where a path ends before its end; `None` if all of it is there.

        A path over a list ends early if it does so for every element.
        """
        kind, children = node["type"], node.get("children", ())
        match kind:
            case "field":
                there = is_object(value) and node["value"] in value
                return None if there else Stop(place, value, node["value"])
            case "index" | "slice":
                there = is_array(value) and (kind == "slice" or self.visit(node, value) is not None)
                wanted = f"[{node['value']}]" if kind == "index" else "[:]"
                return None if there or value is None else Stop(place, value, wanted)
            case "subexpression" | "index_expression" | "pipe":
                return self._stop_in_chain(children, value, place)
            case "projection" | "value_projection" | "filter_projection" | "flatten":
                return self._stop_in_list(node, value, place)
            case "or_expression":
                stops = [self.stop(child, value, place) for child in children]
                return stops[0] if all(stops) else None
            case "comparator":
                left, right = (self.stop(child, value, place) for child in children)
                plain = children[1]["type"] == "field"
                return left or (replace(right, compared=True) if right and plain else right)
            case "function_expression" if node["value"] == "not_null":
                return None
            case "expref" | "literal":
                return None
            case _:
                stops = (self.stop(child, value, place) for child in _nodes(children))
                return next(filter(None, stops), None)

    def stop_in_all(self, node: Node, values: Sequence[Any], place: str = "") -> Stop | None:
        """Where a path ends early for each of these values; `None` if for one it does not."""
        if node["type"].startswith("multi_select"):
            stops = (self.stop_in_all(child, values, place) for child in node["children"])
            return next(filter(None, stops), None)
        if node["type"] == "key_val_pair":
            return self.stop_in_all(node["children"][0], values, place)
        first = None
        for value in values:
            self.budget.step()
            if (stop := self.stop(node, value, place)) is None:
                return None
            first = first or stop
        return first

    def _stop_in_chain(self, nodes: Sequence[Node], value: Any, place: str) -> Stop | None:
        for node in nodes:
            if stop := self.stop(node, value, place):
                return stop
            value, place = self.visit(node, value), _longer(place, node)
        return None

    def _stop_in_list(self, node: Node, value: Any, place: str) -> Stop | None:
        kind, children = node["type"], node["children"]
        left = children[0]
        if stop := self.stop(left, value, place):
            return stop
        base, place = self.visit(left, value), _longer(place, left)
        by_name = kind == "value_projection"
        if base is None:
            return None
        if not (is_object(base) if by_name else is_array(base)):
            return Stop(place, base, "[*]")
        elements = list(base.values()) if is_object(base) else base
        if kind == "flatten" or not elements:
            return None
        place += "" if left["type"] == "flatten" else ".*" if by_name else "[*]"
        if kind == "filter_projection":
            condition = children[2]
            if stop := self.stop_in_all(condition, elements, place):
                return stop
            chosen = ast.filter_projection(ast.identity(), ast.identity(), condition)
            elements = self.visit(chosen, elements)
        return self.stop_in_all(children[1], elements, place) if elements else None


def field_node(name: str) -> Node:
    """The tree of a path that is one name, of any signs."""
    return {"type": "field", "children": (), "value": name}


def fields_in(node: Node) -> set[str]:
    """The names of all fields in a tree."""
    found = {node["value"]} if node["type"] == "field" else set[str]()
    for child in _nodes(node.get("children", ())):
        found |= fields_in(child)
    return found


def _nodes(children: Iterable[Any]) -> list[Node]:
    """Those of the children that are nodes; the children of a slice are numbers."""
    return [child for child in children if is_object(child)]


def _longer(place: str, node: Node) -> str:
    """A place with what a node adds to it."""
    kind, children = node["type"], _nodes(node.get("children", ()))
    match kind:
        case "field":
            return f"{place}.{node['value']}" if place else node["value"]
        case "index":
            return f"{place}[{node['value']}]"
        case "flatten":
            return f"{_longer(place, children[0])}[]"
        case "subexpression" | "index_expression" | "pipe":
            for child in children:
                place = _longer(place, child)
            return place
        case "projection" | "value_projection" | "filter_projection":
            every = ".*" if kind == "value_projection" else "[*]"
            every = "" if children[0]["type"] == "flatten" else every
            return _longer(f"{_longer(place, children[0])}{every}", children[1])
        case _:
            return place


def named(name: str) -> str:
    """A name from outside, as it stands in an error."""
    return one_line(name, NAME)


def names(all: Iterable[str]) -> str:
    """Names from outside, as they stand in an error: `'id', 'name' and 12 more`."""
    given = list(all)
    shown = ", ".join(repr(named(name)) for name in islice(given, LISTED))
    more = len(given) - LISTED
    return f"{shown} and {more} more" if more > 0 else shown


def _kind(value: Any) -> str:
    """`"a text"`, `"a number"`, `"an empty object"`, `"null"`."""
    match value:
        case None:
            return "null"
        case bool():
            return "true or false"
        case str():
            return "a text"
        case int() | float():
            return "a number"
        case dict():
            return "an empty object"
        case _:
            return "a list"


def _too_deep(expression: str) -> StoreError:
    return StoreError(f"The path {_short(expression)} is {TOO_DEEP}; use a simpler one.")


def _short(expression: str) -> str:
    return repr(one_line(expression, 2 * NAME))


def _reason(problem: Exception) -> str:
    """What the library says, in one line, without the values that it may repeat."""
    match problem:
        case JMESPathTypeError():
            allowed = " or ".join(problem.expected_types)
            return f"{problem.function_name}() takes {allowed}, not {problem.actual_type}"
        case UnknownFunctionError():
            name, known = str(problem).rpartition(": ")[2], ", ".join(Functions.FUNCTION_TABLE)
            return f"there is no function {one_line(name, NAME)}, but {known}"
        case IncompleteExpressionError() | EmptyExpressionError():
            return "it ends too early"
        case ParseError(lex_position=int() as place) if hasattr(problem, "msg"):
            return f"unexpected {one_line(problem.token_value, NAME)!r} at character {place + 1}"
        case JMESPathError() | ValueError():
            return one_line(str(problem).strip(".\n"), 2 * NAME)
        case OverflowError():
            return "a number is too large"
        case _:
            return "it compares or joins values of different kinds"

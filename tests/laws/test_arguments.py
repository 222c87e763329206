"""Arguments of calls are shortened, never changed, behind every door.

Each argument of a call that is still in a view is the same as it came, to the byte where a dialect
has arguments as text, or a text with a ref that brings it back.
"""

import json
import re
from collections.abc import Sequence
from itertools import chain
from typing import Any, TypeAlias

from every_door import Ask, Door, Request, every_door, holds
from generated import Messages
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn
from talks import SMALL, Talk, shares

from context_compression.conversation import canonical, is_array, is_object, parse
from context_compression.testing import Dialect, Run, said_by_model, said_by_user, tool_step

AS_TEXT: Sequence[Dialect] = ("openai", "openai-legacy", "responses")
"""The dialects that have arguments as text."""
SHORT = (
    "1.0", "-0", "0.10", "1E5", "12345678901234567890123", "true", "null", '""', '"src/a.py"',
    '"caf\\u00e9 \\ud83d\\ude00"', '"a\\/b \\u005c"', "[ 1,\n2 ]", '{"a" : {}}',
)  # fmt: skip
ONLY_AS_TEXT = ("1e400", '"\\ud83d"', "NaN", '{"a": 1, "a": 2}')
"""Values that an object of Python does not hold, or no provider takes."""
SPACES = ("", " ", "\n    ")
TEXT = r'"[^"\\]*(?:\\.[^"\\]*)*"'
REF = re.compile(r"\bref ([0-9a-f]{12,64})\b")

Part: TypeAlias = tuple[str, bool]
"""A part of the arguments as JSON, and whether it is a value that is long."""


@st.composite
def long_values(draw: DrawFn) -> str:
    """A text, or a list of many short values, as JSON."""
    number, times = draw(st.integers(0, 99)), draw(st.integers(10, 45))
    line = draw(st.sampled_from(("value_{} = compute({})", '"{}": \\{}', "行 {} と {} 😀")))
    if draw(st.integers(0, 3)) == 3:
        return json.dumps([[number, n] for n in range(700 + times)], separators=(",", ":"))
    text = "\n".join(line.format(number, n) for n in range(times))
    return json.dumps(text, ensure_ascii=draw(st.booleans()))


@st.composite
def objects(draw: DrawFn, mark: str, *, as_text: bool) -> list[Part]:
    """The parts of an object, which begins with its mark."""
    short = st.sampled_from((*SHORT, *(ONLY_AS_TEXT if as_text else ())))
    keys = st.sampled_from(("path", "content", "note", "new_string"))
    spaces = st.sampled_from(SPACES)
    parts: list[Part] = [(f'{{"mark": "{mark}"', False)]
    taken: set[str] = set()
    for _ in range(draw(st.integers(1, 5))):
        key, is_long = draw(keys), draw(st.booleans())
        if key in taken and not as_text:
            continue
        taken.add(key)
        value = draw(long_values() if is_long else short)
        opens, closes = draw(st.sampled_from((("", ""), ('[{"of":', "}]"))))
        before = f',{draw(spaces)}"{key}"{draw(spaces)}:{draw(spaces)}{opens}'
        parts += [(before, False), (value, is_long), (f"{draw(spaces)}{closes}", False)]
    return [*parts, ("}", False)]


Written: TypeAlias = tuple[Dialect, Messages, dict[str, list[Part]]]
"""A conversation, and the parts of the arguments of its calls by their mark."""


def writing(dialects: Sequence[Dialect]) -> st.SearchStrategy[Written]:
    @st.composite
    def drawn(draw: DrawFn) -> Written:
        often: list[Dialect] = [each for each in dialects if each in AS_TEXT]
        choices: st.SearchStrategy[Dialect] = st.sampled_from([*dialects, *often * 3])
        dialect = draw(choices)
        messages = [said_by_user("Write the files.", dialect)]
        calls: dict[str, list[Part]] = {}
        for step in range(draw(st.integers(2, 4))):
            mark = f"call-{step}"
            calls[mark] = draw(objects(mark, as_text=dialect in AS_TEXT))
            text = "".join(part for part, _ in calls[mark])
            run = Run(mark, "write", {"mark": mark}, "ok")
            messages += [replaced(each, mark, text) for each in tool_step([run], dialect)]
        return dialect, [*messages, *said_by_model("All is written.", dialect)], calls

    return drawn()


def replaced(value: Any, mark: str, text: str) -> Any:
    """A message with other arguments in place of those that hold the mark alone."""
    if value == {"mark": mark}:
        return json.loads(text)
    if isinstance(value, str):
        return text if value == json.dumps({"mark": mark}) else value
    if is_object(value):
        return {key: replaced(item, mark, text) for key, item in value.items()}
    return [replaced(item, mark, text) for item in value] if is_array(value) else value


def shown_calls(request: Request) -> list[Any]:
    """The arguments of the calls in a view, as their dialect has them."""
    messages = parse(request.view).messages
    return [
        call.written or call.arguments
        for call in chain.from_iterable(each.calls for each in messages)
    ]


class Behind:
    """Finds what is behind the refs that a call shows."""

    def __init__(self, request: Request, shown: Any, mark: str) -> None:
        whole = (canonical(message) for message in request.history)
        refs = REF.findall(shown if isinstance(shown, str) else canonical(shown))
        self.restored: set[str] = set()
        while refs:  # what was shortened twice is behind two refs
            restored = {request.about.restore(ref) for ref in refs} - self.restored
            refs = [ref for text in restored for ref in REF.findall(text)]
            self.restored |= restored
        self.has_message = not self.restored.isdisjoint(each for each in whole if mark in each)

    def is_same_text(self, shown: str, came: str) -> bool:
        """Whether JSON is what came, or a text in place of it that has a ref to that."""
        if shown == came or self.has_message:
            return True
        value = json.loads(came)
        return (value if isinstance(value, str) else came) in self.restored

    def is_same(self, shown: Any, came: Any) -> bool:
        """Whether a value is the one that came, or has a ref to that."""
        if is_object(came) and is_object(shown):
            return [*shown] == [*came] and all(self.is_same(shown[key], came[key]) for key in came)
        if is_array(came) and is_array(shown):
            return len(shown) == len(came) and all(map(self.is_same, shown, came))
        if repr(shown) == repr(came):
            return True
        if not isinstance(shown, str):
            return False
        if self.has_message:
            return is_long(came)
        as_json = json.dumps(came, ensure_ascii=False, separators=(",", ":"))
        return (came if isinstance(came, str) else as_json) in self.restored


def is_long(value: Any) -> bool:
    return len(value if isinstance(value, str) else canonical(value)) > 50


def is_kept(shown: Any, parts: Sequence[Part], behind: Behind) -> bool:
    """Whether arguments are those that came, each long value whole or behind a ref."""
    if not isinstance(shown, str):
        return behind.is_same(shown, json.loads("".join(part for part, _ in parts)))
    values = [part for part, is_long in parts if is_long]
    pattern = "".join(
        f"({re.escape(part)}|{TEXT})" if is_long else re.escape(part) for part, is_long in parts
    )
    found = re.fullmatch(pattern, shown)
    return found is not None and all(map(behind.is_same_text, found.groups(), values))


@every_door
def test_an_argument_is_as_it_came_or_has_a_ref_that_brings_it_back(door: Door) -> None:
    def law(door: Door, written: Written, data: st.DataObject) -> None:
        dialect, messages, calls = written
        talk: Talk = dialect, messages
        settings = {**SMALL, "offload_min_tokens": data.draw(st.sampled_from((60, 1_000)))}
        with door.opened(talk, Ask(data.draw(shares), settings)) as requests:
            for request in requests:
                for shown in shown_calls(request):
                    if mark := re.search(r"call-\d+", str(shown)):
                        behind = Behind(request, shown, mark[0])
                        assert is_kept(shown, calls[mark[0]], behind), shown

    holds(door, writing, law)

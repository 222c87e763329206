"""Edits of YAML files as text: an entry is added or removed in the layout that hosts write.

In this layout sections begin at the left edge, and their entries are indented below them. A file in
another layout is refused. PyYAML tells where sections and entries are, and parses every result. One
with other values than expected is refused.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from context_compression.conversation.messages import as_object, is_array, is_object

HEAD = re.compile(r"[ \t]*+:[ \t]*+(?:(?:\{\}|null|~)[ \t]*+)?(?:#[^\n]*+)?\r?(?:\n|\Z)")
"""What follows the name of a section, whose entries are below."""
EMPTY = re.compile(r":[ \t]*(?:\{\}|null|~)")
NO_VALUE = re.compile(r"\s*(?:#|$)")
"""A line that is empty, or only a comment."""


@dataclass(frozen=True)
class YamlSection:
    """The place of a section, and of the requested entry in it, in characters."""

    head: tuple[int, int]
    """Its first line."""
    indent: str = "  "
    """The indentation of its entries."""
    entry: tuple[int, int] | None = None
    """The lines of the entry."""
    alone: bool = False
    """Whether the section has no other entry."""


def holds(text: str, under: str) -> bool:
    """Whether there is a section of this name.

    Raises:
        ValueError: the text is not YAML, or has another layout; the message says where.
    """
    return _section(text, _parsed(text)[1], under, "") is not None


def entry_in(text: str, under: str, name: str) -> Mapping[str, Any] | None:
    """The value of an entry; `None` if there is none."""
    document, root = _parsed(text)
    section = _section(text, root, under, name)
    return as_object(document[under][name]) if section and section.entry else None


def with_entry(text: str, under: str, name: str, value: Mapping[str, Any]) -> str:
    """The text with an entry. It replaces an entry of the same name, or comes first."""
    document, _ = _parsed(text)
    newline = "\r\n" if "\r\n" in text else "\n"
    text += "" if text.endswith("\n") or not text else newline
    section = _section(text, _parsed(text)[1], under, name)
    value = json.loads(_written(value))
    indent = section.indent if section else "  "
    shown = [f"{indent}{_key(name)}:"]
    shown += [f"{indent}  {_key(key)}: {_written(part)}" for key, part in value.items()]
    lines = "".join(line + newline for line in shown)
    if section is None:
        result = f"{text}{under}:{newline}{lines}"
    else:
        start, below = section.head
        first, stop = section.entry or (below, below)
        head = EMPTY.sub(":", text[start:below], count=1)
        result = text[:start] + head + text[below:first] + lines + text[stop:]
    document[under] = {**(document.get(under) or {}), name: value}
    return _proven(result, document, under)


def without_entry(text: str, under: str, name: str, *, tidy: bool) -> str:
    """The text without an entry; with `tidy`, also without its section if that becomes empty."""
    document, root = _parsed(text)
    section = _section(text, root, under, name)
    if section is None or section.entry is None:
        return text
    start, below = section.head
    first, stop = section.entry
    head = text[start:below]
    if section.alone:
        head = "" if tidy else head.replace(":", ": {}", 1)
    del document[under][name]
    return _proven(text[:start] + head + text[below:first] + text[stop:], document, under)


def _parsed(text: str) -> tuple[dict[str, Any], Any]:
    """The values of the text, and PyYAML's node for them, which knows their places.

    Raises:
        ValueError: the text is not YAML, or not a mapping.
    """
    import yaml  # loaded when used: no other command needs it

    try:
        loader: Any = yaml.SafeLoader(text)
        root: Any = loader.get_single_node()
        _refuse_twice(root)
        document: Any = None if root is None else loader.construct_document(root)
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        raise ValueError(f"it is not YAML: {' '.join(str(error).split())}") from None
    if document is not None and not is_object(document):
        raise ValueError("it is no list of names with values")
    return dict(document or {}), root if document else None


def _refuse_twice(node: Any) -> None:
    """Raise `ValueError` for a mapping with the same name twice, as hosts refuse that."""
    nodes, seen = [node], set[int]()
    while nodes:
        node = nodes.pop()
        value = getattr(node, "value", None)
        if id(node) in seen or not is_array(value):
            continue
        seen.add(id(node))
        if node.id == "mapping":
            names = [str(key.value) for key, _ in value]
            if twice := next((name for name in names if names.count(name) > 1), None):
                raise ValueError(f"{twice} stands there twice")
        nodes += [part[1] if node.id == "mapping" else part for part in value]


def _proven(result: str, expected: Mapping[str, Any], under: str) -> str:
    """The result, if its values are the expected ones; an empty section may be there or not.

    Raises:
        ValueError: the values differ.
    """
    parsed, _ = _parsed(result)
    if {**parsed, under: parsed.get(under) or {}} == {**expected, under: expected.get(under) or {}}:
        return result
    raise ValueError(f"its {under} is written so that a program cannot change it")


def _section(text: str, root: Any, under: str, name: str) -> YamlSection | None:
    """The place of a section; `None` if there is none.

    Raises:
        ValueError: the file or the section has another layout.
    """
    found: tuple[Any, Any] | None = None
    for key, value in root.value if root else ():
        before = _before(text, key).strip("\ufeff")
        if root.flow_style or before.strip(" "):
            raise ValueError(f"line {_line(text, key)} begins no section")
        found = (key, value) if key.value == under and not before else found
    if found is None:
        return None
    key, value = found
    match = HEAD.match(text, key.end_mark.index)
    if match is None:
        at = _line(text, key)
        raise ValueError(f"its {under} stands in one line, {at}; write it over several")
    head = key.start_mark.index - len(_before(text, key)), match.end()
    if value.end_mark.index <= match.end() and not (value.id == "mapping" and value.value):
        return YamlSection(head)
    is_block = value.id == "mapping" and not value.flow_style
    indents = {_before(text, each) for each, _ in value.value} if is_block else {""}
    indent = indents.pop()
    if indents or not indent or indent.strip(" "):
        at = _line(text, key)
        raise ValueError(f"its {under}, line {at}, is no list of names with lines below each")
    starts = [each.start_mark.index - len(indent) for each, _ in value.value]
    for (each, _), start, stop in zip(
        value.value, starts, [*starts[1:], value.end_mark.index], strict=True
    ):
        if each.value == name:
            entry = start, start + len(_without_end(text[start:stop]))
            return YamlSection(head, indent, entry, alone=len(starts) == 1)
    return YamlSection(head, indent)


def _before(text: str, node: Any) -> str:
    """What is before a value in its line."""
    at = node.start_mark.index
    return text[text.rfind("\n", 0, at) + 1 : at]


def _line(text: str, node: Any) -> int:
    return text.count("\n", 0, node.start_mark.index) + 1


def _without_end(lines: str) -> str:
    """Lines without those at their end that hold no value."""
    kept = re.findall(r"[^\n]*\n|[^\n]+", lines)  # `str.splitlines` would split at more characters
    while kept and NO_VALUE.match(kept[-1]):
        kept.pop()
    return "".join(kept)


def _key(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z][\w-]*", name) else json.dumps(name, ensure_ascii=False)


def _written(value: Any) -> str:
    """A value in one line, as JSON, which YAML includes; a date becomes a text."""
    return json.dumps(value, ensure_ascii=False, default=str)

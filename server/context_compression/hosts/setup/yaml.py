"""Edits of YAML files as text: an entry is added or removed in the layout that hosts write.

In this layout sections begin at the left edge, and their entries are indented below them. A file in
another layout is refused. A new entry goes right after the head of its section, so the end of the
section need not be known. PyYAML parses every text before and after the edit. Text that is not YAML
is refused, and so is a result with other values than expected.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from context_compression.conversation.messages import as_object, is_array, is_object

KEY = re.compile(
    r"""(?P<key>"(?:[^"\\]|\\.)*"|'(?:[^']|'')*'|[^\s"'#{}\[\],&*!|>%@`?:-][^:]*?|-[^\s:]+)"""
    r"""\s*:(?:\s+(?P<value>.*))?$"""
)
WORDS: dict[str, Any] = {"": None, "~": None, "null": None, "true": True, "false": False}
EMPTY = re.compile(r":[ \t]*(?:\{\}|null|~)")


@dataclass(frozen=True)
class Section:
    """The place of a section, and of the requested entry in it."""

    head: int
    """The index of its first line."""
    indent: str = "  "
    """The indentation of its entries."""
    entry: tuple[int, int] | None = None
    """The index of the entry's first line, and that of the line after its last."""
    alone: bool = False
    """Whether the section has no other entry."""


def holds(text: str, under: str) -> bool:
    """Whether there is a section of this name.

    Raises:
        ValueError: the text is not YAML, or has another layout; the message says where.
    """
    _parsed(text)
    return _section(_lines(text), under, "") is not None


def entry_in(text: str, under: str, name: str) -> dict[str, Any] | None:
    """The value of an entry; `None` if there is none."""
    _parsed(text)
    lines = _lines(text)
    section = _section(lines, under, name)
    if section is None or section.entry is None:
        return None
    first, stop = section.entry
    return _mapping([_bare(line) for line in lines[first + 1 : stop]])


def with_entry(text: str, under: str, name: str, value: Mapping[str, Any]) -> str:
    """The text with an entry. It replaces an entry of the same name, or comes first."""
    document = _parsed(text)
    newline = "\r\n" if "\r\n" in text else "\n"
    lines = _lines(text)
    section = _section(lines, under, name)
    if lines and not lines[-1].endswith("\n"):
        lines[-1] += newline
    if section is None:
        section = Section(len(lines))
        lines.append(f"{under}:{newline}")
    first, stop = section.entry or (section.head + 1, section.head + 1)
    shown = [f"{section.indent}{_key(name)}:"]
    shown += [f"{section.indent}  {_key(key)}: {_written(part)}" for key, part in value.items()]
    lines[section.head] = EMPTY.sub(":", lines[section.head], count=1)
    lines[first:stop] = [line + newline for line in shown]
    document[under] = {**(document.get(under) or {}), name: dict(value)}
    return _proven("".join(lines), document, under)


def without_entry(text: str, under: str, name: str, *, tidy: bool) -> str:
    """The text without an entry; with `tidy`, also without its section if that becomes empty."""
    document = _parsed(text)
    lines = _lines(text)
    section = _section(lines, under, name)
    if section is None or section.entry is None:
        return text
    first, stop = section.entry
    del lines[first:stop]
    if section.alone:
        lines[section.head] = "" if tidy else lines[section.head].replace(":", ": {}", 1)
    del document[under][name]
    return _proven("".join(lines), document, under)


def _parsed(text: str) -> dict[str, Any]:
    """The values of the text, parsed by PyYAML.

    Raises:
        ValueError: the text is not YAML, or not a mapping.
    """
    import yaml  # loaded when used: no other command needs it

    try:
        _refuse_twice(yaml.SafeLoader(text).get_single_node())
        document: Any = yaml.safe_load(text)
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        raise ValueError(f"it is not YAML: {' '.join(str(error).split())}") from None
    if document is not None and not is_object(document):
        raise ValueError("it is no list of names with values")
    return dict(document or {})


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
    parsed = _parsed(result)
    if {**parsed, under: parsed.get(under) or {}} == {**expected, under: expected.get(under) or {}}:
        return result
    raise ValueError(f"its {under} is written so that a program cannot change it")


def _lines(text: str) -> list[str]:
    """Lines with their ends. `str.splitlines` would split at characters that YAML keeps."""
    return re.findall(r"[^\n]*\n|[^\n]+", text)


def _section(lines: Sequence[str], under: str, name: str) -> Section | None:
    """The place of a section; `None` if there is none.

    Raises:
        ValueError: the file or the section has another layout.
    """
    edges = _edges(lines)
    heads = [at for at, key in edges.items() if key == under]
    if not heads:
        return None
    if len(heads) > 1:
        raise ValueError(f"it has two sections called {under}")
    [head] = heads
    end = next((at for at in edges if at > head), len(lines))
    inside = [at for at in range(head + 1, end) if _bare(lines[at])]
    if _bare(lines[head]).partition(":")[2].strip() not in ("", "{}", "null", "~"):
        raise ValueError(f"its {under} stands in one line, {head + 1}; write it over several")
    if not inside:
        return Section(head)
    indent = _indent(lines[inside[0]])
    entries = [at for at in inside if _indent(lines[at]) == indent]
    if not indent or any(KEY.match(_bare(lines[at]).strip()) is None for at in entries):
        raise ValueError(f"its {under}, line {head + 1}, is no list of names with lines below each")
    for at, following in zip(entries, [*entries[1:], end], strict=True):
        key = KEY.match(_bare(lines[at]).strip())
        if key and _scalar(key["key"]) == name:
            stop = max(line for line in inside if line < following) + 1
            return Section(head, indent, (at, stop), alone=len(entries) == 1)
    return Section(head, indent)


def _edges(lines: Sequence[str]) -> dict[int, str]:
    """The indices of the lines that begin sections, with the sections' names.

    Raises:
        ValueError: a line at the left edge begins no section, or a tab indents a line.
    """
    edges: dict[int, str] = {}
    for at, line in enumerate(lines):
        bare = _bare(line)
        if bare and line.lstrip(" ").startswith("\t"):
            raise ValueError(f"a tab indents line {at + 1}")
        if not bare or bare.startswith(" ") or (edges and re.match(r"-(\s|$)", bare)):
            continue
        if bare == "---" and not any(map(_bare, lines[:at])):
            continue
        key = KEY.match(bare)
        if key is None:
            raise ValueError(f"line {at + 1} begins no section")
        edges[at] = str(_scalar(key["key"]))
    return edges


def _mapping(lines: Sequence[str]) -> dict[str, Any]:
    """A mapping in block style: of scalars, lists of scalars, mappings of scalars."""
    mapping: dict[str, Any] = {}
    shown = [line for line in lines if line]
    width = len(_indent(shown[0])) if shown else 0
    name = ""
    for line in shown:
        pair, so_far = KEY.match(line.strip()), mapping.get(name)
        if line.strip().startswith("- "):
            mapping[name] = [*(so_far if is_array(so_far) else ()), _scalar(line.strip()[2:])]
        elif pair and len(_indent(line)) == width:
            name = str(_scalar(pair["key"]))
            mapping[name] = _scalar(pair["value"] or "")
        elif pair:
            inside = as_object(so_far)
            mapping[name] = {**inside, str(_scalar(pair["key"])): _scalar(pair["value"] or "")}
    return mapping


def _scalar(text: str) -> Any:
    """A scalar's value: `"'it''s'"` -> `"it's"`. Text that is JSON is read as JSON."""
    text = text.strip()
    if text[:1] == "'" == text[-1:] and len(text) > 1:
        return text[1:-1].replace("''", "'")
    if text in WORDS:
        return WORDS[text]
    try:
        return json.loads(text)
    except ValueError:
        return text


def _bare(line: str) -> str:
    """A line without its end and without a comment, which is a `#` after space, outside quotes."""
    line = line.strip("\r\n\ufeff").rstrip()
    for match in re.finditer(r"(?:^|(?<=\s))#", line):
        before = line[: match.start()]
        if before.count('"') % 2 == 0 and before.count("'") % 2 == 0:
            return before.rstrip()
    return line


def _indent(line: str) -> str:
    return line[: len(line) - len(line.lstrip(" "))]


def _key(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z][\w-]*", name) else json.dumps(name, ensure_ascii=False)


def _written(value: Any) -> str:
    """A value in one line, as JSON, which YAML includes."""
    return json.dumps(value, ensure_ascii=False)

"""The fields of an original: of JSON by path, of a table by column.

A table and lines of JSON are rows. A path that begins with a name, and the name of a column, are
taken of each row:

    "STATUS, NAME"                     two columns
    "[?STATUS!='Running'].NAME"        a path over all rows
    "items[*].id, length(items)"       two paths into one document
"""

import csv
import io
import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from context_compression.conversation.messages import is_array, is_object
from context_compression.errors import StoreError
from context_compression.plurals import how_many, in_range
from context_compression.session.documents import DEEP, JsonDocument, json_in, text_inside
from context_compression.session.paths import (
    HOW_TO_WRITE,
    LONGEST,
    TOO_DEEP,
    Node,
    Paths,
    field_node,
    fields_in,
    names,
)
from context_compression.session.tables import Contains, header_of, table_in

MOST_COMMON = 20
"""Values that a count lists, the most common first."""
KEYS_OF = 100
"""Rows whose keys may be named as columns."""
OPENS = {"(": ")", "[": "]", "{": "}"}
QUOTES = "'\"`"


class NotThere(StoreError):
    """A path leads nowhere in this document; another one of the original may have it."""


@dataclass(frozen=True)
class FieldSource:
    """What fields are taken of.

    Attributes:
        value: JSON; of rows, the list of them.
        about: says what it is: `"12 lines of JSON"`.
        header: names of the columns of a table.
    """

    value: Any
    about: str
    rows: bool = False
    header: tuple[str, ...] = ()


@dataclass(frozen=True)
class Field:
    """An expression as it was written; without a tree if it is no path, but may be a column."""

    text: str
    node: Node | None
    error: StoreError | None = None

    @property
    def name(self) -> str:
        """The name of the column that it may be."""
        quoted = len(self.text) > 1 and self.text[0] == self.text[-1] == '"'
        return self.text[1:-1] if quoted else self.text

    def fits(self, contains: Contains) -> bool:
        """Whether the header of a table has the column, or all names in the path."""
        inside = fields_in(self.node) if self.node else set[str]()
        return contains(self.name) or (bool(inside) and all(map(contains, inside)))


@dataclass(frozen=True)
class FieldValue:
    """The value of one field; `of_rows` if it is a list with one value for each row."""

    field: str
    value: Any
    of_rows: bool = False
    note: str = ""


@dataclass(frozen=True)
class Fields:
    """The values of the fields of an original.

    Attributes:
        about: what they were taken of, and which are not there.
        answers: in the order of the expressions.
    """

    about: str
    answers: Sequence[FieldValue] = field(default_factory=tuple[FieldValue, ...])

    @property
    def values(self) -> dict[str, Any]:
        """The values by expression."""
        return {each.field: each.value for each in self.answers}

    @property
    def counts(self) -> dict[str, int]:
        """How many values each expression gives: the elements of a list, else 1, or 0 for null."""
        return {each.field: len(_parts(each)) for each in self.answers}

    def as_text(self) -> str:
        """Fields of rows as CSV; else JSON, a line for each expression.

        A list of objects has a line for each of them. One text of several lines is shown plain.
        """
        if all(each.of_rows for each in self.answers):
            return _as_csv(self.answers)
        if len(self.answers) > 1:
            return "\n".join(f"{each.field}: {_as_json(each.value)}" for each in self.answers)
        only = self.answers[0].value
        return only if isinstance(only, str) and "\n" in only else _as_json(only)

    def counted(self) -> str:
        """A line for each expression: `312 values, 2 distinct: "Running" ×300, "Failed" ×12`."""
        lines = map(_counted, self.answers)
        if len(self.answers) == 1:
            return next(lines)
        texts = (each.field for each in self.answers)
        return "\n".join(f"{text}: {line}" for text, line in zip(texts, lines, strict=True))


def fields_of(original: Any, text: str, fields: str, lines: tuple[int, int] | None) -> Fields:
    """The fields that some expressions name.

    Args:
        original: a text, or a message.
        text: its lines.
        fields: expressions with commas between them.
        lines: the first and last line to look at; `None` for all.

    Raises:
        StoreError: an expression cannot be read, leads nowhere, or takes too long; the message says
            what there is.
    """
    paths = Paths()
    wanted = _expressions(paths, fields)
    first: StoreError | None = None
    for alternatives in _sources(paths, original, text, wanted, lines):
        found: list[Fields] = []
        for source in alternatives:
            try:
                found.append(_taken(paths, source, wanted))
            except NotThere as problem:
                first = first or problem
        if len(found) > 1:
            places = ", ".join(each.about for each in found[:9])
            raise StoreError(
                f"{len(found)} parts of this have these fields: {places}. Pass lines, to choose."
            )
        if found:
            return found[0]
    raise first or _nothing(paths, text, wanted)


MARKS = frozenset("[]{}|?`")
"""Signs of a path that the name of a column does not have."""


def _nothing(paths: Paths, text: str, wanted: Sequence[Field]) -> StoreError:
    """The error for a text that has neither JSON nor a table with these columns."""
    broken = (each.error for each in wanted if each.error and not MARKS.isdisjoint(each.text))
    if problem := next(broken, None):  # no column has such a name
        return problem
    check_time = paths.budget.check_time
    near = table_in(text, lambda contains: any(each.fits(contains) for each in wanted), check_time)
    columns = near.header if near else header_of(text)
    held = {column.casefold() for column in columns}
    unknown = [each for each in wanted if not each.fits(lambda name: name.casefold() in held)]
    if columns and unknown:
        inside = (sorted(fields_in(each.node)) if each.node else [each.name] for each in unknown)
        missing = [name for each in inside for name in each if name.casefold() not in held]
        hint = " A text to compare with stands in single quotes." * ('"' in unknown[0].text)
        return StoreError(
            f"There is no column {names(missing)}; the columns are {names(columns)}.{hint}"
        )
    problem = next((each.error for each in wanted if each.error), None)
    return problem or StoreError(
        "There is no JSON in this, and no table with the columns "
        f"{names(each.name for each in wanted)}. Pass pattern, or lines, to see its text."
    )


def divided(fields: str) -> list[str]:
    """`divided("a[?b=='x,y'], {c: c, d: d}")` -> `["a[?b=='x,y']", "{c: c, d: d}"]`.

    A comma within brackets or quotes separates nothing.
    """
    parts, start, closing, quote = list[str](), 0, list[str](), ""
    skip = False
    for place, sign in enumerate(fields):
        if skip:
            skip = False
        elif quote:
            skip = sign == "\\"
            quote = "" if sign == quote else quote
        elif sign in QUOTES:
            quote = sign
        elif sign in OPENS:
            closing.append(OPENS[sign])
        elif closing and sign == closing[-1]:
            closing.pop()
        elif sign == "," and not closing:
            parts.append(fields[start:place])
            start = place + 1
    return [part for text in (*parts, fields[start:]) if (part := text.strip())]


def _expressions(paths: Paths, fields: str) -> list[Field]:
    if len(fields) > LONGEST:
        raise StoreError(f"fields may have {LONGEST:,} characters; these are {len(fields):,}.")
    found: list[Field] = []
    for text in dict.fromkeys(divided(fields)):
        try:
            found.append(Field(text, paths.read(text)))
        except StoreError as problem:
            found.append(Field(text, None, problem))
    if not found:
        raise StoreError(
            f"fields is empty. {HOW_TO_WRITE} Or name columns of a table: NAME, STATUS"
        )
    return found


def _sources(
    paths: Paths,
    original: Any,
    text: str,
    wanted: Sequence[Field],
    lines: tuple[int, int] | None,
    depth: int = 0,
) -> Iterator[list[FieldSource]]:
    """What the fields may be taken of, the likeliest first; of each list, one must have them."""
    first, last = lines or (1, text.count("\n") + 1)
    part = "\n".join(text.split("\n")[first - 1 : last]) if lines else text
    check_time = paths.budget.check_time
    documents = json_in(part, check_time)
    found = documents.found
    if documents.rows:
        one_each = all(each.first == each.last for each in found)
        about = how_many(len(found), "line") if one_each else how_many(len(found), "object")
        yield [FieldSource([each.value for each in found], f"{about} of JSON", rows=True)]
    elif found:
        yield [FieldSource(each.value, _where(each, first, part)) for each in found]
        inside = text_inside(found[0].value) if len(found) == 1 else None
        if inside is not None and depth < DEEP:
            yield from _sources(paths, inside, inside, wanted, None, depth + 1)
    if not isinstance(original, str) and lines is None:
        yield [FieldSource(original, "the message")]
    table = table_in(text, lambda contains: all(each.fits(contains) for each in wanted), check_time)
    if table is not None:
        rows = [row.cells for row in table.rows if first <= row.line <= last]
        yield [FieldSource(rows, f"a table of {how_many(len(rows), 'row')}", True, table.header)]


def _where(document: JsonDocument, before: int, text: str) -> str:
    """`"JSON"`, or `"the JSON in lines 3-20"` if there is other text."""
    if (document.first, document.last) == (1, text.count("\n") + 1):
        return "JSON"
    first, last = document.first + before - 1, document.last + before - 1
    return f"the JSON in {in_range('line', first, last)}"


def _taken(paths: Paths, source: FieldSource, wanted: Sequence[Field]) -> Fields:
    """The fields of one source.

    Raises:
        NotThere: a path leads nowhere in it.
    """
    answers = [_answer(paths, source, each) for each in wanted]
    notes = dict.fromkeys(each.note for each in answers if each.note)
    return Fields(" · ".join([source.about, *notes]), answers)


def _answer(paths: Paths, source: FieldSource, wanted: Field) -> FieldValue:
    name, node, of_rows = wanted.text, wanted.node, False
    if source.rows and (column := _column(source, wanted.name)) is not None:
        name, of_rows = wanted.name, True
        node = field_node(column)
    if node is None:
        raise wanted.error or StoreError(HOW_TO_WRITE)
    stop = paths.missing(node, [source.value])
    if source.rows and not of_rows:
        of_rows = stop is not None and stop.holds is source.value and stop.wanted[0] != "["
    if of_rows:
        stop = paths.missing(node, source.value)
        whole = "The table" if source.header else "Each line"
        value = [] if stop else [paths.value(node, row, wanted.text) for row in source.value]
    else:
        whole = "The message" if source.about == "the message" else "The JSON"
        value = None
        if not (stop and _fails(paths, node, source.value, wanted.text)):
            value = paths.value(node, source.value, wanted.text)
    if stop and (value is None or value == []):
        raise NotThere(stop.told(whole))
    return FieldValue(name, value, of_rows, stop.told(whole) if stop else "")


def _fails(paths: Paths, node: Node, of: Any, expression: str) -> bool:
    """Whether a path that leads nowhere cannot be evaluated, as `length(nothing)`."""
    try:
        paths.value(node, of, expression)
    except StoreError:
        paths.budget.check_time()
        return True
    return False


def _column(source: FieldSource, name: str) -> str | None:
    """The column of a table, or the key of lines of JSON, that a name means."""
    if source.header:
        alike = [each for each in source.header if each.casefold() == name.casefold()]
        return name if name in alike else next(iter(alike), None)
    rows = source.value[:KEYS_OF]
    return name if any(is_object(row) and name in row for row in rows) else None


def _parts(answer: FieldValue) -> list[Any]:
    """The values that an answer counts."""
    if answer.value is None:
        return []
    parts = list(answer.value) if is_array(answer.value) else [answer.value]
    return [part for part in parts if part is not None] if answer.of_rows else parts


def _counted(answer: FieldValue) -> str:
    parts = _parts(answer)
    line = how_many(len(parts), "value")
    if any(is_object(part) or is_array(part) for part in parts):
        return line
    counts = Counter(map(_as_json, parts))
    if len(counts) == len(parts):
        return f"{line}, all distinct" if len(parts) > 1 else line
    common = ", ".join(f"{value} ×{number:,}" for value, number in counts.most_common(MOST_COMMON))
    more = ", …" if len(counts) > MOST_COMMON else ""
    return f"{line}, {len(counts):,} distinct: {common}{more}"


def _as_csv(answers: Sequence[FieldValue]) -> str:
    """Rows of several fields under their names; a row without any of them is left out."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([each.field for each in answers])
    for row in zip(*(each.value for each in answers), strict=True):
        if any(value is not None for value in row):
            writer.writerow([_as_cell(value) for value in row])
    return out.getvalue().removesuffix("\n")


def _as_cell(value: Any) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else _as_json(value)


def _as_json(value: Any) -> str:
    """JSON; a list of objects or lists with a line for each."""
    if is_array(value) and any(is_object(part) or is_array(part) for part in value):
        lines = ",\n".join(map(_compact, value))
        return f"[{lines}]"
    return _compact(value)


def _compact(value: Any) -> str:
    try:
        return _JSON.encode(value)
    except RecursionError:
        raise StoreError(f"The JSON is {TOO_DEEP}. Pass a path to a part of it.") from None


def _plain(value: Any) -> Any:
    """An object of another type as a dict; an expression, as `&id`, has no value."""
    return dict(value) if is_object(value) else None


_JSON = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), default=_plain)

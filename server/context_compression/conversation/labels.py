"""What this package writes around quotes and beside messages: labels, gaps, marks, digests.

Labels name the author of each quote in a note of this package: `[User]`, `[Result of …]`. A quoted
text must not contain anything that looks like one, or it could pose as the user's. The mark of a
gap in a shortened text shows the position at which it continues: a path in JSON
(`$.issues.2.body`), the changed file in a diff.

Marks on messages are no part of what is said: messages are the same with and without them. Some
tell a provider where its cache ends. Programs put one on the newest message of each request and
take it off the one before: `cache_control` of Anthropic's API and of those that take its form,
`cacheControl` in the options of the AI SDK, a block `cachePoint` of Bedrock. The mark of an adapter
tells who speaks (`BY_USER`); a later process may not know that any more.

Digests, which `window` puts in place of older messages: a later one takes the parts of an earlier
one over, so that a view never has two.

    [Compressed History] 40 earlier messages are not shown; first ref c3f91a20b77d:
    User asked: Why is the build red? → A test fails.; Go on. → It is green.
    Files: src/a.py
    [User] Never touch main.
"""

import re
from bisect import bisect
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Protocol, TypeAlias

from context_compression.conversation.messages import COMPRESSED, is_array, is_object
from context_compression.plurals import how_many
from context_compression.strings import BLANK, BRACKETS, BREAKS, cells, folded, is_plain, unhidden

SPEAKERS = {
    "user", "assistant", "system", "developer", "tool", "host", "human", "earliernote",
    "toolresult", "assistanttoolcalls", "assistanttoolcall", "compressedhistory",
    "endofcompressedhistory",
}  # fmt: skip
"""The labels of speakers, reduced to letters and digits; other characters are ignored."""


def label_of(tools: Iterable[str]) -> re.Pattern[str]:
    """A pattern for the beginning of a label other than a speaker's: `[Result of …`, `[Bash] ls`.

    It matches folded text. The labels of the lines at the end of a note, `[Other files]` and
    `[More names used]`, are included.
    """
    calls = "|".join(sorted(re.escape(folded(tool)) for tool in tools)) or "(?!)"
    return re.compile(
        r"\[\s*(?:result\s*(?:[;\]]|(?<=\s)of\b)|(?:other\s+)?files\s*(?:\]|(?<=\s)in\b)|more\s+names\b"
        rf"|(?:{calls})\s*(?:\]|[:;]\s))"
    )


LABEL = label_of(())
"""The pattern of `label_of` without any tools."""
BRACKET = re.compile(f"[{re.escape(BRACKETS)}]")
FIRST = re.compile(rf"{BLANK}[{re.escape(BRACKETS)}]")
OTHERS = re.compile(rf"[{BREAKS}]{BLANK}[{re.escape(BRACKETS)}]")
"""`FIRST`: a bracket at the beginning of the first line; `OTHERS`: at that of any other line."""
QUOTES = "\"'`"
NEAR, FAR = 400, 20_000
"""How many characters after a bracket are searched for a label: visible ones, and in all."""
LABELS = re.compile(r"(?<=\n)\[(?=[^\W\d])[^\n]{1,400}?\](?=\s|\Z)")
"""The labels in a note of this package and lookalikes in its quotes; not the marks of gaps."""


def without_labels(text: str, label: re.Pattern[str] = LABEL) -> str:
    r"""A quoted text with a backslash before each line that reads like a label: `\[User] …`.

    A label is also recognised by look-alike letters and among invisible characters. Everything else
    is unchanged.
    """
    if not ("[" in text if text.isascii() else BRACKET.search(text)):
        return text
    shown: list[str] = []
    position = 0
    for at in _brackets(text):
        if _is_label(text, at, label):
            shown += [text[position:at], "\\"]
            position = at
    return "".join([*shown, text[position:]]) if shown else text


def _brackets(text: str) -> Iterator[int]:
    """The positions of brackets at the visible beginnings of lines."""
    first = FIRST.match(text)
    if first:
        yield first.end() - 1
    yield from (match.end() - 1 for match in OTHERS.finditer(text))


def _is_label(text: str, at: int, label: re.Pattern[str]) -> bool:
    """Whether the text at a bracket reads like a label."""
    near = text[at : at + NEAR]
    if not is_plain(near):
        near = unhidden(near)
        if len(near) < NEAR / 2 and len(text) > at + NEAR:
            near = unhidden(text[at : at + FAR])[:NEAR]
            if len(near) < NEAR / 2 and len(text) > at + FAR:
                return True  # no honest text has so many invisible characters
    seen = folded(near)
    name = seen[1 : max(1, seen.find("]"))].strip()
    is_string = len(name) > 1 and name[0] == name[-1] and name[0] in QUOTES  # `["user"]`
    letters = "".join(filter(str.isalnum, name))
    return (letters in SPEAKERS and not is_string) or label.match(seen) is not None


def label_quotes(
    note: str, spans: Iterable[tuple[int, int]], label: re.Pattern[str] = LABEL
) -> list[tuple[int, int]]:
    """The spans of a note of this package and of the labels they belong to, in any order.

    A line that looks like a label but does not match `label` may be part of a quoted log. The
    nearest certain label above it is then added too. The label of the call above `[Result; ref …]`
    is also added.
    """
    labels = [result.span() for result in LABELS.finditer(note)]
    certain = [-1]  # for no label, then for each label: the certain one at it or above
    for number, (start, _) in enumerate(labels):
        certain.append(number if _is_label(note, start, label) else certain[-1])
    result: list[tuple[int, int]] = []
    for span in spans:
        last = bisect(labels, (span[0], len(note) + 1)) - 1
        first = certain[last + 1]
        if first > 0 and note.startswith(("[Result;", "[Result]"), labels[first][0]):
            result.append(labels[first - 1])
        result += [labels[number] for number in {first, last} if number >= 0]
        result.append(span)
    return result


def sections(note: str) -> Iterator[tuple[str, int, int]]:
    """The labels in a note of this package, each with `(start, stop)` of the text after it."""
    labels = [*LABELS.finditer(note)]
    ends = [label.start() for label in labels[1:]]
    for label, end in zip(labels, [*ends, len(note)], strict=False):
        yield label[0], label.end(), end


def quotes_of(speaker: str, note: str) -> Iterator[tuple[int, int]]:
    """`(start, stop)` of each quote of a speaker in a note of this package."""
    for label, start, stop in sections(note):
        if label == f"[{speaker}]":
            yield start, stop


def no_speaker(name: str) -> str:
    """A tool's or argument's name, made safe for a label: `no_speaker("user")` -> `"call user"`.

    A name that does not read like a label is returned unchanged.
    """
    return f"call {name}" if _is_label(f"[{name}]", 0, LABEL) else name


JSON = re.compile(r'\s*+[{\[]\s*+["{\[]')
"""The beginning of a text that may be JSON with paths in it."""
STRING = r'"[^"\\]*+(?:\\.[^"\\]*+)*+"'
SCALAR = rf"(?:{STRING}|-?\d[\d.eE+-]*+|true|false|null|NaN|-?Infinity)"
TOKEN = re.compile(
    rf"\s*+(?:({STRING})\s*+:(?:\s*+({SCALAR})(?:\s*+,)?+)?+|([{{[])|([}}\]])|(,)|{SCALAR})",
    re.DOTALL,
)
"""A bracket, a comma, an element or a member. A member that holds an object or array ends before
that value."""
NAME, VALUE, OPENS, CLOSES, COMMA = range(1, 6)
"""The groups of `TOKEN`."""
PLAIN, QUOTED = re.compile(r"[\w$-]+"), re.compile(r"[\w.@/$ -]+")
"""Names that are shown unchanged, and names that are shown in quotes. Any other name might end the
mark, so it is shown as `…`."""
MOST_PARTS = 4
"""How many names and indices of a path are shown at most: the last ones."""
MOST_CHARS = 40
"""How many characters of a path or file name are shown at most."""
SECTION = re.compile(
    r"^(?:diff --git \S+ b/([\w.@/+-]+)\r?$|diff --(?:cc|combined) ([\w.@/+-]+)\r?$|(diff -)"
    r"|commit [0-9a-f]{7,64}\b|From [0-9a-f]{40} )",
    re.MULTILINE,
)
"""The beginning of a section in a diff or a log with diffs: the changes of a file, or a commit."""
LINE_STARTS = (
    " ", "+", "-", "@", "\\",
    "index ", "new ", "old ", "deleted ", "similarity ", "rename ", "copy ",
)  # fmt: skip
"""The beginnings of lines within the changes of a file."""
LOOK_BACK = 2_000
"""How many characters back the beginning of a line is searched. No line of code is that long."""


class Positions(Protocol):
    """Finds the part of a text that a place is in; places are passed in ascending order.

    A place is an index of a character. The text is read once, up to the last place passed.
    """

    def inside(self, place: int) -> Hashable:
        """A key for the part of the text that a place is in; `None` if it is in no known part.

        Places in the same part of the text have equal keys.
        """
        ...

    @property
    def name(self) -> str:
        """The name of the part that the last place passed is in."""
        ...


def positions_in(text: str) -> Positions | None:
    """The positions in a text that may be JSON or a diff; `None` for any other text."""
    if JSON.match(text):
        return JsonPaths(text)
    return DiffFiles(text) if "diff -" in text else None


class JsonPaths:
    """The paths in a text of one JSON value, or of several one after another."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._token = TOKEN.match(text)
        self._path: list[str | int | None] = []
        """For each open value: the index of the current element, or the name of the member."""
        self._values: list[int] = []
        """The numbers of the open values."""
        self._opened = 0
        self._last: list[str | int | None] = []
        """The end of the path to the last place passed."""

    def inside(self, place: int) -> Hashable:
        """The value at a place with its element or member; `None` outside, or if it is not JSON."""
        text, path, values, token = self._text, self._path, self._values, self._token
        while token and (end := token.end()) <= place:
            kind, element = token.lastindex, path[-1] if path else None
            in_array = isinstance(element, int)
            if kind == OPENS:
                path.append(0 if text[end - 1] == "[" else None)
                values.append(self._opened)
                self._opened += 1
            elif (
                not path
                or (kind is None and not in_array)
                or (kind in (NAME, VALUE) and in_array)
                or (kind == CLOSES and in_array != (text[end - 1] == "]"))
            ):
                token = None  # JSON has no such token here
                break
            elif kind == CLOSES:
                path.pop()
                values.pop()
            elif kind == COMMA:
                path[-1] = element + 1 if isinstance(element, int) else None
            elif kind == NAME:
                path[-1] = token[NAME][1:-1]
            token = TOKEN.match(text, end)
        self._token = token
        if not token:
            return None
        inner = path[-1] if path and token.lastindex != CLOSES else None
        if 0 <= token.start(VALUE) <= place:
            inner = token[NAME][1:-1]
        self._last = [*path[-MOST_PARTS - 2 : -1], inner]
        return (values[-1], inner) if values else None

    @property
    def name(self) -> str:
        """The path to the last place passed: `$.issues.2.body`; `$` is the complete value."""
        parts = [_named(part) for part in self._last if part is not None]
        kept = parts[-MOST_PARTS:]
        while len(kept) > 1 and len(".".join(kept)) > MOST_CHARS:
            del kept[0]
        return ".".join(["$", *["…"] * (len(kept) < len(parts)), *kept])


def _named(part: str | int) -> str:
    if isinstance(part, int) or (PLAIN.fullmatch(part) and len(part) <= MOST_CHARS):
        return str(part)
    return f'"{part}"' if QUOTED.fullmatch(part) and len(part) <= MOST_CHARS else "…"


class DiffFiles:
    """The files whose changes are in a text, as `git diff` and `git log -p` write them."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._sections = SECTION.finditer(text)
        self._section: re.Match[str] | None = None
        self._next = next(self._sections, None)

    def inside(self, place: int) -> Hashable:
        """The start of the file's changes that a place is in; `None` outside of changes."""
        while self._next and self._next.start() < place:
            self._section, self._next = self._next, next(self._sections, None)
        if not self._section or not self._section.lastindex:
            return None
        begin, earliest = self._section.start(), max(0, place - LOOK_BACK)
        line = self._text.rfind("\n", earliest, place) + 1
        if line == 0 < earliest:  # the line is too long to be part of a change
            return None
        is_change = line == begin or self._text.startswith(LINE_STARTS, line)
        return begin if is_change else None

    @property
    def name(self) -> str:
        """The path of the changed file; only the end of a long path."""
        file = self._section and (self._section[1] or self._section[2])
        if not file:
            return "another file"
        end = file[1 - MOST_CHARS :]
        return file if len(file) <= MOST_CHARS else f"…{end[max(0, end.find('/')) :]}"


Span: TypeAlias = tuple[int, int]
"""Characters `start` to `stop` of a text, `stop` exclusive."""
NEWLINE = "\n"
LINE_NUMBER = re.compile(r" {0,9}(\d{1,9})(?:[→\t:]|\| ?)")
"""The beginning of a line that a tool numbered."""
GAP_CELLS = 60
"""A gap of up to this width is shown in full: a mark would be hardly shorter."""
PLACE_CHARS = 120
"""The mark of a gap of more characters than this may show where the text continues."""
GAP_TOKENS, EXPLICIT_GAP_TOKENS, JSON_GAP_TOKENS = 2, 9, 12
"""About how many tokens the mark of a gap takes: `…`, an explicit mark, and in JSON a path."""


def render(text: str, spans: Sequence[Span], ref: str = "", *, explicit: bool = False) -> str:
    """The chosen spans of a text in order, with a mark for each gap.

    A gap of up to `GAP_CELLS` cells is shown in full. The first mark says how much is missing
    and shows the ref; a mark without a ref is `…`, or counts the lines that are like the one before
    it. In JSON and diffs, the mark of a longer gap shows where the text continues, unless that is
    in the part where it broke off.

    Args:
        text: the full text.
        spans: the parts to show; they may overlap and be in any order.
        ref: the ref of the full text, which the first mark shows.
        explicit: whether every mark states that lines are left out of the view, because a reader
            could take `…` for content, as in a file that a call wrote.
    """
    shown: list[str] = []
    since = position = 0  # all of the text between them is shown
    positions = positions_in(text)
    for start, stop in (*sorted(spans), (len(text), len(text))):
        start = max(start, position)
        between = text[position:start]
        if not between.strip("\n") or _is_short(between):
            shown.append(between)
        else:
            goes_on = ""
            if positions and len(between) > PLACE_CHARS and start < len(text):
                broke_off, inside = positions.inside(position), positions.inside(start)
                goes_on = "" if inside in (None, broke_off) else positions.name
            told = LEFT_OUT if explicit else ALIKE if alike(text, since, position, start) else ""
            if goes_on and told != ALIKE:
                told += f" up to {goes_on}"
            mark = "…"
            if ref or told:
                begins = NEWLINE if position else ""  # belongs to the line before
                mark = gap(between.removeprefix(begins), ref, told)
                ref = ""
            shown.append(f"{NEWLINE if shown else ''}{mark}{NEWLINE if start < len(text) else ''}")
            since = start
        shown.append(text[start:stop])
        position = max(position, stop)
    return "".join(shown)


def _is_short(gap: str) -> bool:
    return len(gap) <= GAP_CELLS and cells(gap) <= GAP_CELLS


def marked_with(rendered: str, ref: str) -> bool:
    """Whether the mark of a gap in a rendered text shows the ref."""
    return bool(ref) and f"; ref {ref}]" in rendered


NO_DIGITS = dict.fromkeys(map(ord, "0123456789"))
LEAST_ALIKE = 3
"""A mark says that lines are alike if it stands for at least this many."""
LEFT_OUT, ALIKE = " left out of this view", " like it but for numbers"
"""What a mark tells of its lines."""


def alike(text: str, since: int, start: int, stop: int) -> bool:
    """Whether some missing lines differ only in digits from the line before them.

    That line must be shown: the text from `since` to `start` is.
    """
    if not text.startswith(NEWLINE, start) or not (stop == len(text) or text[stop - 1] == NEWLINE):
        return False
    first = text.rfind(NEWLINE, 0, start) + 1
    before = without_digits(text[first:start])
    missing = text[start + 1 : stop].removesuffix(NEWLINE).split(NEWLINE)
    same = (without_digits(line) == before for line in missing)
    return since <= first and len(missing) >= LEAST_ALIKE and bool(before.strip()) and all(same)


def without_digits(text: str) -> str:
    """A text without digits; texts that differ only in digits are equal without them."""
    return text.translate(NO_DIGITS)


def gap(missing: str, ref: str = "", told: str = "") -> str:
    """The mark of a gap: `[… 12 lines]`, or `[… 90 characters]` within a line.

    It also shows what is told of it and the ref, if they are given: `[… 9 lines; ref …]`,
    `[… 9 lines left out of this view; ref …]`, `[… 9 lines up to $.issues.2]`, `[… 9 lines like it
    but for numbers]`.
    """
    missing = missing.removesuffix(NEWLINE)
    lines = missing.count(NEWLINE) + 1
    what = f"{lines} lines" if lines > 1 else f"{len(missing)} characters"
    return f"[… {what}{told}{'; ref ' + ref if ref else ''}]"


def gap_tokens(text: str, *, explicit: bool = False) -> int:
    """About how many tokens the mark of a gap in a text takes; see `render`."""
    if explicit:
        return EXPLICIT_GAP_TOKENS
    return JSON_GAP_TOKENS if JSON.match(text) else GAP_TOKENS


BY_USER = "said_by_user"
"""The key of a result or text with which an adapter passes on who speaks in it, as far as its
framework knows. `True`: the content is the user's, as in the answer to a question. A string: those
of its words are. `False`: nothing is, whatever its role or wording."""
MARKS = frozenset({"cache_control", "cacheControl", "cachePoint", BY_USER})
MADE = frozenset({"args", "arguments", "input", "json", "output", "response", "result"})
"""Fields with values that a model or a tool made. What is named like a mark there is none."""


def without_marks(value: Any) -> Any:
    """A message, or a part of one, without marks; the same object if it has none."""
    if is_object(value):
        parts = {key: part for key, part in value.items() if key not in MARKS}
        bare = {key: part if key in MADE else without_marks(part) for key, part in parts.items()}
        kept = {key: part for key, part in bare.items() if part is parts[key] or part}
        same = len(kept) == len(value) and all(part is value[key] for key, part in kept.items())
        return value if same else kept
    if is_array(value):
        both = [(part, without_marks(part)) for part in value]
        kept = [bare for part, bare in both if bare is part or bare]
        return value if all(bare is part for part, bare in both) else kept
    return value


def same_but_marks(one: Any, other: Any) -> bool:
    """Whether two messages, or parts of them, are JSON that differs in marks alone.

    It is quicker than to take the marks off: only what has one is looked into.
    """
    if one == other:
        return True
    if is_array(one) and is_array(other):
        return len(one) == len(other) and all(map(same_but_marks, one, other))
    if not (is_object(one) and is_object(other)):
        return False
    keys = {*one, *other} - {*MARKS}
    return all(
        key in one
        and key in other
        and (one[key] == other[key] if key in MADE else same_but_marks(one[key], other[key]))
        for key in keys
    )


def unmarked(part: Mapping[str, Any]) -> dict[str, Any]:
    """A part of a message without what its adapter knew of who speaks."""
    return {key: value for key, value in part.items() if key != BY_USER}


def without_speakers(message: Mapping[str, Any]) -> Mapping[str, Any]:
    """A message as other programs take it: the same object if nothing in it says who speaks."""
    content = message.get("content")
    if not is_array(content) or not any(is_object(part) and BY_USER in part for part in content):
        return unmarked(message) if BY_USER in message else message
    parts = [unmarked(part) if is_object(part) else part for part in content]
    return {**unmarked(message), "content": parts}


def said(message: Any) -> Any:
    """A message without marks, in one form: a text that is its only content stands for itself.

    To mark a text, a program makes it a block.
    """
    bare = without_marks(message)
    match bare:
        case {"content": [{"type": "text", "text": str(text), **others}]} if not others:
            return {**bare, "content": text}
        case _:
            return bare


def marked_as(message: Any, original: Any) -> Any:
    """A message that was made of an original, with marks only if the original has some now."""
    return message if without_marks(original) is not original else without_marks(message)


TITLES = ("User asked", "Decisions", "Constraints", "Files", "Commands", "Errors")
"""The titles of the sections, in their order."""
SEARCH = "context_restore(query=… | …)"
"""How a search of the archive is told to a model: with several wordings."""
BETWEEN = "; "
"""Stands between the items of a section."""
ANSWERED = " → "
"""Stands between a request and the answer to it."""
DIGEST = re.compile(
    rf"{re.escape(COMPRESSED)} ([\d,]{{1,20}}) earlier messages? (?:is|are) not shown(?=[;:.])"
)
"""The beginning of a digest, with the number of missing messages."""


def opening(missing: int, ref: str = "", *, restorable: bool) -> str:
    """The first line of a digest, without the sign at its end.

    Args:
        missing: how many messages are not shown.
        ref: of the first of them; "" if it has none.
        restorable: whether `context_restore` finds them.
    """
    are = "is" if missing == 1 else "are"
    finds = f"; {SEARCH} finds them" if restorable else ""
    named = f"; {'first ' * (missing > 1)}ref {ref}" if ref else ""
    return f"{COMPRESSED} {how_many(missing, 'earlier message')} {are} not shown{named}{finds}"


def is_digest(text: str) -> bool:
    """Whether a text is a digest of this package."""
    return DIGEST.match(text) is not None


def missing_in(text: str) -> int:
    """The number of missing messages that a digest names; 0 for any other text."""
    match = DIGEST.match(text)
    return int(match[1].replace(",", "") or 0) if match else 0


def items_of(title: str, text: str) -> list[str]:
    """The items of a section of a digest, in their order; empty if it has no such section."""
    return [text[start:stop] for start, stop in _spans_of(title, text)]


def points_of(text: str) -> list[str]:
    """What a digest tells: each request with its answer, each rule and decision, other lines."""
    each = [item for title in TITLES[:3] for item in items_of(title, text)]
    sections = tuple(f"{title}: " for title in TITLES[:3])
    return [*each, *(line for line in text.split("\n")[1:] if not line.startswith(sections))]


def rule_spans(text: str) -> Iterator[tuple[int, int]]:
    """`(start, stop)` of each constraint of the user in a digest: quoted, or in its section."""
    yield from quotes_of("User", text)
    yield from _spans_of("Constraints", text)


def with_rules(text: str, rules: Sequence[str]) -> str:
    """A digest with constraints of the user quoted after it, each on its own line."""
    return "\n".join([text, *(f"[User] {rule}" for rule in rules)])


def _spans_of(title: str, text: str) -> Iterator[tuple[int, int]]:
    section = re.compile(rf"^{re.escape(title)}: ", re.M).search(text)
    if section is None:
        return
    start, end = section.end(), text.find("\n", section.end())
    end = len(text) if end < 0 else end
    while start < end:
        stop = text.find(BETWEEN, start, end)
        stop = end if stop < 0 else stop
        yield start, stop
        start = stop + len(BETWEEN)

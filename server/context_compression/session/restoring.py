"""What `context_restore` answers: pages of an original, hits of a search; and `restore_tool`."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, ClassVar, Self, cast

from pydantic import field_validator

from context_compression.conversation.messages import is_object
from context_compression.errors import ContextCompressionError, StoreError, StoreUnwritable
from context_compression.plurals import how_many, in_range, out_of, unpacked, whole_number
from context_compression.session.events import timestamp
from context_compression.session.pages import PAGE, page
from context_compression.session.parts import NO_LINE, OriginalPart, as_text, part_of
from context_compression.settings import Value
from context_compression.store import Hit, Neighbour, SearchResult, Store
from context_compression.store.hits import Origin
from context_compression.store.refs import bare_ref
from context_compression.store.search.query import Query
from context_compression.strings import fenced, one_line, with_halves_spelled
from context_compression.threads import twin_of
from context_compression.tokens import Counter

if TYPE_CHECKING:
    from anthropic.types import ToolParam
    from openai.types.chat import ChatCompletionFunctionToolParam
    from openai.types.responses import FunctionToolParam

    from context_compression.session.session import Session


def note_restored(session: "Session", ref: str, shown: str) -> None:
    """Record which part of an original was restored.

    A text of which a good part was restored is not offloaded again. `ref` has all its digits.
    """
    if ref in session.in_memory:
        return
    session.log.append(
        {
            "type": "restore",
            "created_at": timestamp(),
            "ref": ref,
            "tokens": Counter(session.model, session.counter).text(shown),
            "share": len(shown) / max(1, len(as_text(session.original(ref)))),
        }
    )


# What `context_restore` answers, at every door: an original in pages, or the hits of a search.
#
# Archived text may contain anything, even planted instructions. So `fenced` quotes it in a
# way that the text cannot end.


HITS = 5
"""Hits on one page of a search."""
MOST_PAGES = 100
"""Pages of one search."""
SHOWN = 80
"""The most characters of a query or pattern that an answer repeats."""
NO_REF = "goes only with ref. Pass a ref, or leave out"
MORE_BY_WORDS = "To find more, pass fewer or shorter words, or leave out path:, tool: and error:."
MORE_BY_PATTERN = (
    "A pattern is case-sensitive unless it begins with (?i). To find more, shorten the pattern, or "
    "pass words in query instead."
)

_LINES = re.compile(r"\s*(\d{1,9})(?:\s*[-–:]\s*(\d{1,9}))?\s*")


class Asked(Value):
    """What a model asks for: the arguments of `context_restore`, as the model reads them."""

    ref: str = ""
    """or its first 4 digits"""
    lines: str | None = None
    """10-40"""
    pattern: str | None = None
    """regex for lines"""
    fields: str | None = None
    """JMESPath or column: items[*].id, STATUS"""
    count: bool = False
    """of lines or values"""
    query: str = ""
    """words | other wordings | "a phrase", path:src, tool:bash, error:"""
    conversation: str | None = None
    """to search"""
    cursor: str | None = None
    """from a page"""
    start: int = 0
    """characters to skip"""

    @field_validator("fields", mode="before")
    @classmethod
    def _as_expressions(cls, fields: Any) -> Any:
        return as_expressions(fields)

    @field_validator("query", mode="before")
    @classmethod
    def _as_wordings(cls, query: Any) -> Any:
        return as_wordings(query)

    def checked(self, how_to_list: str = "") -> Self:
        """The same, with the words of a query as the pattern of the lines of a ref.

        Args:
            how_to_list: how the caller gets refs without a search.

        Raises:
            StoreError: these arguments do not go together.
        """
        query = self.query.strip()
        if self.ref and query and self.pattern is not None:
            raise StoreError("With ref, pass query or pattern, not both.")
        if self.ref:
            same = not query or bare_ref(query).lower() == bare_ref(self.ref).lower()
            if self.fields is not None and not same:
                raise StoreError("With ref, pass fields or query, not both.")
            line_range(self.lines)  # raises if it is none
            pattern = self.pattern if same else Query.read(query).any_term
            return self.model_copy(update={"query": query, "pattern": pattern})
        for name in ("lines", "start", "fields", "count"):
            if getattr(self, name):
                raise StoreError(f"{name} {NO_REF} {name}.")
        if not query and not self.pattern:
            raise StoreError(
                "Pass ref, to bring back the text that a note names, or query, to search the "
                f"archive. {how_to_list}".rstrip()
            )
        if self.pattern is None and Query.read(query).empty:
            raise StoreError(
                f"The query {query[:SHOWN]!r} has no words to search for. Pass words or names, "
                '"a phrase", path:src/app, tool:bash or error:; or pass a regular expression as '
                "pattern."
            )
        return self.model_copy(update={"query": query})

    @property
    def is_part(self) -> bool:
        """Whether only some lines, fields or a count are asked for."""
        return self.count or any(
            part is not None for part in (self.lines, self.pattern, self.fields)
        )

    def part(self, original: Any) -> OriginalPart:
        """What is asked for of an original; see `part_of`."""
        return part_of(
            original, lines=self.span, pattern=self.pattern, fields=self.fields, count=self.count
        )

    @property
    def span(self) -> tuple[int, int] | None:
        """The range of lines; see `line_range`."""
        return line_range(self.lines)


def line_range(lines: str | None) -> tuple[int, int] | None:
    """The range of lines: `"10-40"` -> `(10, 40)`, `"7"` -> `(7, 7)`.

    Raises:
        StoreError: it is no range.
    """
    if lines is None:
        return None
    match = _LINES.fullmatch(lines)
    if match is None:
        raise StoreError(
            f"lines must be a range as 10-40, or one number as 7, counted from 1; not "
            f"{lines[:40]!r}."
        )
    return int(match[1]), int(match[2] or match[1])


def restored(session: "Session", asked: Asked, most: int = PAGE) -> str:
    """A page of an original of a session, quoted; the session notes it.

    `asked` is checked and has a ref; `most` are the characters of the page.

    Raises:
        StoreError: the ref is unknown, the range or pattern is impossible, or there is no such
            page.
    """
    full, what, original = described(session, asked.ref)
    part = asked.part(original)
    following = None if full in session.in_memory else session.log.following(full)
    answer, shown = quoted(part, full, what, asked, most, following)
    if shown is not None:
        with suppress(StoreUnwritable):  # a store that cannot be written can still be read
            note_restored(session, full, shown)
    return answer


def described(session: "Session", ref: str) -> tuple[str, str, Any]:
    """A ref with all its digits, what it stands for in a few words, and the original.

    Raises:
        StoreError: the ref is unknown, or the archive is damaged.
    """
    full = session.known_ref(ref)
    original = session.original(full)
    if full in session.in_memory:
        return full, "kept in memory", original
    about = session.log.about(full) or session.state().refs
    return full, about[full]["what"] if full in about else "of a damaged entry", original


def quoted(
    part: OriginalPart,
    full: str,
    what: str,
    asked: Asked,
    most: int = PAGE,
    following: str | None = None,
) -> tuple[str, str | None]:
    """A page of a part, quoted, and what it shows; `None` if it is nothing of the original.

    Args:
        part: what is asked for of an original.
        full: the complete ref of the original.
        what: it is.
        asked: what was asked for.
        most: characters of the page.
        following: the ref of the message archived after the original.

    Raises:
        StoreError: there is no such page.
    """
    header = [f"ref {full}", one_line(what)]
    if asked.span:
        header.append(in_range("line", *asked.span))
    if asked.pattern is not None:
        header.append(f"lines that match {one_line(asked.pattern)!r}")
        if part.text == NO_LINE:  # matching lines would begin with their numbers
            return " · ".join([*header, NO_LINE]), None
    if asked.fields is not None:
        counted = "count of " * asked.count
        header.append(f"{counted}{one_line(asked.fields, SHOWN)} of {one_line(part.about)}")
    elif asked.count:
        return " · ".join([*header, part.text]), None
    key = f"{full} {asked.lines} {asked.pattern}"
    if asked.fields is not None:
        key += f" {asked.fields} {asked.count}"
    shown = page(part.text, key, asked, most)
    header += [shown.range, how_many(Counter().text(shown.text), "token")]
    if (sendable := with_halves_spelled(shown.text)) != shown.text:
        header.append(r"half characters are spelled out, as \ud83d")
    if shown.cursor:
        line = "ends within a line, which is longer than a page; " * shown.within_line
        header += [f"{line}goes on at start={shown.stop}", f"next page: cursor {shown.cursor}"]
    elif following and not asked.is_part:
        header.append(f"next archived message: ref {following}")
    return f"{' · '.join(header)}\n{fenced(sendable)}", shown.text


def as_expressions(fields: Any) -> Any:
    """A list of texts, or the JSON of one, as expressions with commas between them."""
    given = unpacked(fields)
    texts = cast("Sequence[Any]", given) if isinstance(given, list | tuple) else (None,)
    return ", ".join(texts) if all(isinstance(text, str) for text in texts) else fields


def as_wordings(query: Any) -> Any:
    """A list of texts, or the JSON of one, as one query of several wordings."""
    given = unpacked(query)
    texts = cast("Sequence[Any]", given) if isinstance(given, list | tuple) else (None,)
    return " | ".join(texts) if all(isinstance(text, str) for text in texts) else query


def search(
    store: Store, asked: Asked, session: str | None = None, *, calling: Path | None = None
) -> SearchResult:
    """A page of the archived texts that a search finds.

    Args:
        store: to search.
        asked: checked, without a ref.
        session: the only one to search; `None` for all.
        calling: see `Store.search`.

    Raises:
        StoreError: the pattern is invalid, or the cursor does not belong to a search.
    """
    return store.search(
        asked.query, pattern=asked.pattern, session=session, limit=HITS,
        skip=_skipped(asked.cursor), calling=calling,
    )  # fmt: skip


def next_cursor(asked: Asked, result: SearchResult) -> str | None:
    """The cursor of the next page; `None` if there is none."""
    shown = _skipped(asked.cursor) + len(result.hits)
    return str(shown) if result.more and shown <= HITS * MOST_PAGES else None


def found(
    store: Store,
    asked: Asked,
    result: SearchResult,
    session: str | None = None,
    *,
    note: str = "",
    filled_by: str = "",
    wider: str = "",
) -> str:
    """The archived texts that a search found, each with its ref and its best lines, quoted.

    Args:
        store: that was searched.
        asked: checked, without a ref.
        result: what was found.
        session: the only one that was searched; `None` for all.
        note: a line about the scope.
        filled_by: what fills an archive.
        wider: how to search all sessions.
    """
    query, pattern, skip = asked.query, asked.pattern, _skipped(asked.cursor)
    terms = " and ".join(map(_shown, filter(None, (query, pattern))))
    if result.hits:
        headline = _headline(result, terms, asked)
    elif skip:
        headline = f"No further hits for {terms}."
    elif not result.searched and result.note:
        headline = "Nothing was searched."
    elif not result.searched:
        headline = f"Nothing {f'of {session} ' if session else ''}is archived yet. {filled_by}"
    else:
        hint = MORE_BY_PATTERN if pattern else MORE_BY_WORDS
        hint = f"{wider} {hint}" if session and wider else hint
        all = (
            "the archive or in the recorded sessions of this project"
            if store.beside
            else "the archive"
        )
        where = f"the archive of session {session}" if session else all
        headline = f"No hits for {terms} in {where}. {hint}"
    notes = [*filter(None, [note]), *([f"note: {one_line(result.note)}"] if result.note else [])]
    hits = [_quoted(hit, result) for hit in result.hits]
    return "\n\n".join([headline.rstrip(), *notes, *hits])


def _skipped(cursor: str | None) -> int:
    if cursor is None:
        return 0
    if not (re.fullmatch(r"[0-9]{1,9}", cursor) and 0 < int(cursor) <= HITS * MOST_PAGES):
        raise StoreError(
            f"The cursor {cursor[:40]!r} does not belong to a search. Pass the cursor from the "
            "first line of the page before, with the same query; or pass no cursor, to begin with "
            "the first page."
        )
    return int(cursor)


def _headline(result: SearchResult, terms: str, asked: Asked) -> str:
    count, pattern, skip = len(result.hits), asked.pattern, _skipped(asked.cursor)
    numbers = f"{skip + 1}-{skip + count}" if skip else f"{count}"
    alone = count == 1 and result.total in (None, 1) and not skip
    things = "original" if alone else "originals"
    matching = f"for {terms}, the best first"
    if pattern:
        order = "the best" if result.words else "the newest"
        matching = f"that match{'es' if alone else ''} {terms}, {order} first"
    following = ""
    if cursor := next_cursor(asked, result):
        following = f" · next page: cursor {cursor}"
    elif result.more:
        following = " · this is the last page; to find later hits, pass more words"
    total = out_of(result.total, exact=result.exact)
    return (
        f"{numbers}{total} {things} {matching}; context_restore(ref=…) brings one back{following}"
    )


def _quoted(hit: Hit, result: SearchResult) -> str:
    words = f" · {hit.held} of {how_many(hit.words, 'word')}" if hit.held else ""
    origin = f" · {origin_in_words(hit.origin)}" if hit.origin else ""
    header = f"ref {hit.ref} · {one_line(hit.what)} · session {hit.session}{origin}{words}"
    return f"{header}\n{fenced(with_halves_spelled(chr(10).join(_lines(hit))))}"


def origin_in_words(origin: Origin) -> str:
    """`claude-code, 2026-11-20, "Add a parser", user`, without what is not known."""
    title = f'"{one_line(origin.title)}"' if origin.title else ""
    return ", ".join(filter(None, (origin.host, origin.date, title, one_line(origin.who))))


def _lines(hit: Hit) -> Iterator[str]:
    if hit.before:
        yield _neighbour_line("before", hit.before)
    for number, line in hit.lines:
        yield f"{number}: {line}" if hit.numbered else line
    if hit.after:
        yield _neighbour_line("after", hit.after)


def _neighbour_line(where: str, message: Neighbour) -> str:
    """A line like `[before · assistant · ref 1a2b3c4d5e6f] I run the tests again`."""
    ref = f" · ref {message.ref}" if message.ref else ""
    return f"[{where} · {message.role}{ref}] {message.glimpse}"


def _shown(text: str) -> str:
    text = text.strip()
    return repr(text if len(text) <= SHOWN else f"{text[:SHOWN]}…")


# Our tool for any loop: its definition in each provider's form, and its answers.


RESTORE = "context_restore"
DESCRIPTION = (
    "Brings back what was moved out of this conversation. The notes that stand in its place name "
    "the ref. Without a ref, query searches everything that was moved out: pass the words as they "
    "may have been said, and other wordings after |, such as: rain barrel | water butt."
)
OF_A_SESSION = ("ref", "lines", "pattern", "fields", "count", "start", "query", "cursor")
"""The arguments of the tool: all but the conversation, which is that of the session."""
TYPES: Mapping[Any, str] = {int: "integer", bool: "boolean"}
"""The types of arguments in JSON; all others are texts."""
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        name: {
            "type": TYPES.get(Asked.model_fields[name].annotation, "string"),
            "description": Asked.model_fields[name].description,
        }
        for name in OF_A_SESSION
    },
}


@dataclass(frozen=True)
class RestoreTool:
    """The tool `context_restore` for one session; several threads may answer with it.

    Attributes:
        session: the session to restore from.
        name: the name of the tool.
        description: what the model reads about it.
        schema: the JSON schema of its arguments.
    """

    session: "Session"
    name: ClassVar[str] = RESTORE
    description: ClassVar[str] = DESCRIPTION
    schema: ClassVar[Mapping[str, Any]] = SCHEMA
    _one_at_a_time: Lock = field(default_factory=Lock, repr=False, compare=False)

    def __repr__(self) -> str:
        return f"<RestoreTool of {self.session.id:.90}>"

    @property
    def anthropic(self) -> "ToolParam":
        """One of the `tools` of Anthropic's Messages."""
        return {"name": RESTORE, "description": DESCRIPTION, "input_schema": SCHEMA}

    @property
    def openai(self) -> "ChatCompletionFunctionToolParam":
        """One of the `tools` of OpenAI's Chat Completions, and of APIs like it."""
        return {"type": "function", "function": {
            "name": RESTORE, "description": DESCRIPTION, "parameters": SCHEMA}}  # fmt: skip

    @property
    def openai_responses(self) -> "FunctionToolParam":
        """One of the `tools` of OpenAI's Responses."""
        return {"type": "function", "name": RESTORE, "description": DESCRIPTION,
                "parameters": SCHEMA, "strict": False}  # fmt: skip

    @property
    def gemini(self) -> Any:
        """One of the `function_declarations` of Gemini: a dict."""
        return {"name": RESTORE, "description": DESCRIPTION, "parameters": _upper_types(SCHEMA)}

    def answer(self, arguments: Mapping[str, Any] | str | None = None) -> str:
        """The text for the model: what it asked for, quoted, or what it can do about an error.

        Args:
            arguments: of the call, as an object or as its JSON.
        """
        try:
            with self._one_at_a_time:
                return answered(self.session, arguments)
        except ContextCompressionError as error:
            return f"Error: {error}"

    aanswer = twin_of(answer)


def restore_tool(session: "Session") -> RestoreTool:
    """The tool with which a model brings back what left the context of a session.

    Offer it in the form of your provider, and answer the calls of its name with `answer`:

        tool = restore_tool(session)
        tools = [*mine, tool.anthropic]       # or .openai, .openai_responses, .gemini
        text = tool.answer(call.input)
    """
    return RestoreTool(session)


def answered(session: "Session", arguments: Mapping[str, Any] | str | None) -> str:
    """The answer to a call.

    Raises:
        StoreError: the arguments are not those of the schema, or cannot be met.
    """
    asked = Asked.model_construct(**_checked(arguments)).checked()
    if asked.ref:
        return restored(session, asked)
    store, id = session.store, session.id
    return found(store, asked, search(store, asked, id), id)


def _checked(arguments: Mapping[str, Any] | str | None) -> dict[str, Any]:
    """The arguments that are given, with the types of the schema.

    Raises:
        StoreError: they are no object, or one has an unknown name or another type.
    """
    values: Any = arguments or {}
    if isinstance(values, str):
        try:
            values = json.loads(values)
        except (ValueError, RecursionError):
            raise StoreError(f"The arguments are not JSON: {one_line(arguments)!r:.80}.") from None
    if not is_object(values):
        raise StoreError(f"The arguments must be a JSON object, not {type(values).__name__}.")
    properties = SCHEMA["properties"]
    if unknown := [name for name in values if name not in properties]:
        raise StoreError(
            f"{one_line(unknown[0])} is no argument; allowed: {', '.join(properties)}."
        )
    return {
        name: _of_type(properties[name]["type"], value, name)
        for name, value in values.items()
        if value not in (None, "")
    }


def _of_type(kind: str, value: Any, name: str) -> Any:
    """A value as its type in the schema says; models and clients write 7 as `"7"` or `7.0`."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if kind == "integer" and isinstance(value, str):
        value = value if (number := whole_number(value)) is None else number
    if kind == "string" and type(value) is int:
        value = str(value)
    if name in ("query", "fields"):
        value = as_wordings(value) if name == "query" else as_expressions(value)
    if kind == "boolean" and isinstance(value, str):
        value = {"true": True, "false": False}.get(value.strip().lower(), value)
    if type(value) is not {"integer": int, "string": str, "boolean": bool}[kind]:
        raise StoreError(f"{name} must be of type {kind}, not {value!r:.40}.")
    return value


def _upper_types(schema: Any) -> Any:
    """A schema with the names of types as Gemini writes them: `STRING`."""
    if not is_object(schema):
        return schema
    return {
        key: value.upper() if key == "type" and isinstance(value, str) else _upper_types(value)
        for key, value in schema.items()
    }

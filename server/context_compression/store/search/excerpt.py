"""Recorded messages and lines of texts, as a search shows them and as they fit a query.

A search also finds a tool result by its call. So a conversation is read in order, and each call is
remembered until its result comes.

How well the documents of the index fit a query: the SQL and the scores. A query of words and names
is answered by what it contains: each document counts by the rare words that it contains, in
whichever form. A question is answered by what is said about its subject: each document counts by
BM25 over stems, so that a long text has no advantage, and the messages beside it count a little,
because an answer often repeats no word of its question.
"""

import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from itertools import accumulate, islice
from typing import Any, TypeAlias

from context_compression.conversation.authors import author_of
from context_compression.conversation.formats import parse
from context_compression.conversation.messages import (
    Message,
    Text,
    ToolCall,
    ToolResult,
    strings_in,
    texts_of,
)
from context_compression.conversation.refs import ref_of
from context_compression.errors import ContextCompressionError
from context_compression.store.search.letters import before_folding, folded
from context_compression.store.search.query import (
    LONGEST_WORD,
    Pattern,
    Query,
    humps,
    indexable,
    is_humped,
    shortened,
    weight_of,
)

GLIMPSE_CHARS = 200
"""How many characters of a message next to a hit are shown."""
CALL_CHARS = 500
"""How many characters of a call's arguments can find its result."""

Event = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class CallLabel:
    """A tool call: the tool's name and the beginning of its arguments."""

    tool: str
    arguments: str

    def __str__(self) -> str:
        return f"{self.tool} {self.arguments}"


NO_CALL = CallLabel("", "")


@dataclass(frozen=True, slots=True)
class RecordedMessage:
    """A recorded message, as a search shows it next to a hit.

    Attributes:
        at: its place in the conversation, from 1.
        role: the speaker: the message's role, but `tool` for results and `host` for its notes.
        glimpse: the beginning of its text, on one line.
        answers: the calls whose results it contains, by the block's index.
        time: when it was written, in seconds since 1970; `None` if that is not recorded.
    """

    at: int
    ref: str
    role: str
    glimpse: str
    answers: Mapping[int, CallLabel]
    time: float | None = None


class ConversationReader:
    """Reads the events of a conversation one by one, and remembers the calls without results.

    Attributes:
        length: how many messages the conversation has.
        calls: the calls that wait for results, by their ids.
    """

    def __init__(
        self,
        length: int = 0,
        calls: Mapping[str, CallLabel] | None = None,
        *,
        described: bool = True,
    ) -> None:
        """A reader that continues after `length` messages, while `calls` wait for results.

        With `described`, messages are read with their roles and glimpses, which takes time;
        otherwise these are "".
        """
        self.length = length
        self.calls = dict(calls or {})
        self._described = described

    def read(self, event: Event) -> RecordedMessage | None:
        """The message that an event records; `None` for other events and unreadable messages."""
        match event:
            case {"type": "rewind", "to": int(to)}:
                self.length = to
            case {"type": "message", "message": raw}:
                self.length += 1
                with suppress(ContextCompressionError):
                    return self._read_message(raw, parse_message(raw), event)
            case _:
                pass
        return None

    def _read_message(self, raw: Any, message: Message, event: Event) -> RecordedMessage:
        if message.role == "assistant":
            self.calls = calls_of(message)
        answers = answers_in(message, self.calls)
        about = (speaker(message), glimpse_of(message)) if self._described else ("", "")
        ref = event.get("ref") or ref_of(raw)
        return RecordedMessage(self.length, ref, *about, answers, event.get("time"))


def parse_message(raw: Any) -> Message:
    """One message of any format as a `Message`; otherwise `InvalidConversation` is raised."""
    return parse([raw]).messages[0]


def texts_in(message: Message) -> list[str]:
    """All texts of a message, block by block."""
    return [text for block in message.blocks for text in texts_of(block)]


def full_text(message: Message) -> str:
    """All texts of a message, joined by newlines."""
    return "\n".join(texts_in(message))


def calls_of(message: Message) -> dict[str, CallLabel]:
    """The calls that a message makes, by their ids."""
    return {call.id: _call(call) for call in message.calls}


def answers_in(message: Message, calls: Mapping[str, CallLabel]) -> dict[int, CallLabel]:
    """The calls whose results a message contains, by the block's index."""
    return {
        slot: calls[block.call_id]
        for slot, block in enumerate(message.blocks)
        if isinstance(block, ToolResult) and block.call_id in calls
    }


def speaker(message: Message) -> str:
    """The speaker of a message, see `RecordedMessage.role`."""
    authors = {author_of(message, b.text) for b in message.blocks if isinstance(b, Text)}
    if message.results:
        authors = authors - {"host"} | {"tool"}
    return authors.pop() if len(authors) == 1 else message.role


def glimpse_of(message: Message) -> str:
    """The beginning of a message's text, on one line."""
    texts = [
        " ".join(texts_of(block))[: 4 * GLIMPSE_CHARS]
        for block in message.blocks
        if isinstance(block, Text | ToolCall | ToolResult)
    ]
    words = " ".join(" ".join(texts).split())
    return words if len(words) <= GLIMPSE_CHARS else f"{words[:GLIMPSE_CHARS]}…"


def _call(call: ToolCall) -> CallLabel:
    return CallLabel(call.name, " ".join(strings_in(call.arguments))[:CALL_CHARS])


BEST_LINES = 3
"""How many lines an excerpt has."""
LINE_LENGTH = 200
"""How many characters of a line are shown."""
MOST_PLACES = 200
"""How many occurrences of a term are considered."""
SHORTEST_PART = 3
"""If the text does not contain a word, its parts of at least this many letters are searched."""

Numbered = list[tuple[int, str]]
"""Lines with their numbers, from 1."""


def best_lines(text: str, terms: Sequence[str], pattern: Pattern | None = None) -> Numbered:
    """The best lines of a text, in their order; long lines are cut around the match.

    With a pattern, these are the first lines that match. Without one, these are the lines with the
    most terms; rare terms count more. If there are none, these are the first lines that are not
    blank.
    """
    lines = text.split("\n")
    if pattern:
        places = ((number, pattern.place_in(line)) for number, line in enumerate(lines))
        chosen = [*islice(((n, at) for n, at in places if at is not None), BEST_LINES)]
    else:
        searched = folded(text)
        compared = searched.split("\n")
        best, needles = _with_terms(searched, compared, terms)
        chosen = [
            (n, before_folding(lines[n], _rarest(compared[n], needles)))
            for n in sorted(islice(best, BEST_LINES))
        ]
    if not chosen:
        not_blank = ((number, 0) for number, line in enumerate(lines) if line.strip())
        chosen = [*islice(not_blank, BEST_LINES)]
    return [(number + 1, _around(lines[number], at)) for number, at in chosen]


def _with_terms(
    text: str, lines: Sequence[str], terms: Sequence[str]
) -> tuple[Iterator[int], list[str]]:
    """The indexes of the lines that contain terms, the best first; and the terms that were found.

    If the text does not contain a term, another form of it counts, or else the parts of the term.
    A term counts once for a line that contains it, and once more for a line where it is a word by
    itself. A term in many lines counts less in each.
    """
    starts = [0, *accumulate(len(line) + 1 for line in lines)]
    low = lowered(text)
    lines_with: defaultdict[tuple[str, bool], set[int]] = defaultdict(set)
    needles: list[str] = []
    for asked in terms:
        forms = (asked, shortened(asked))
        term = next((form for form in forms if form and places(low, form)), asked)
        found = places(low, term)
        parts = [term] if found else re.findall(r"[A-Z]?[a-z]+|[A-Z]+|\d+|[^\W\d_]+", term)
        for part in parts:
            if found or len(part) >= SHORTEST_PART:
                needles.append(part)
                for place in found or places(low, part):
                    line = bisect_right(starts, place) - 1
                    lines_with[term, False].add(line)
                    end = place + len(part)
                    if not any(map(is_letter, (low[place - 1 : place], low[end : end + 1]))):
                        lines_with[term, True].add(line)
    weights: defaultdict[int, float] = defaultdict(float)
    for numbers in lines_with.values():
        for line in numbers:
            weights[line] += 1 / len(numbers)
    return iter(sorted(weights, key=lambda line: (-weights[line], line))), needles


def is_letter(sign: str) -> bool:
    """Whether a character can be part of a name: a letter, a digit or `_`. `False` for ""."""
    return sign.isalnum() or sign == "_"


def places(text: str, term: str, most: int = MOST_PLACES) -> list[int]:
    """The first offsets of a term in a text in lower case."""
    found: list[int] = []
    needle = lowered(term)
    at = text.find(needle)
    while at >= 0 and len(found) < most:
        found.append(at)
        at = text.find(needle, at + len(needle))
    return found


def lowered(text: str) -> str:
    """The text in lower case; unchanged if that would change its length, and so the offsets."""
    low = text.lower()
    return low if len(low) == len(text) else text


def _rarest(line: str, needles: Sequence[str]) -> int:
    """The offset in a line of the needle that is rarest in it; 0 if it contains none."""
    low = lowered(line)
    held = [needle for needle in map(lowered, needles) if needle in low]
    return low.find(min(held, key=low.count)) if held else 0


def _around(line: str, at: int) -> str:
    """The line; if it is long, `LINE_LENGTH` characters around an offset, and `…` for the rest."""
    if len(line) <= LINE_LENGTH:
        return line
    start = max(0, min(at - LINE_LENGTH // 4, len(line) - LINE_LENGTH))
    shown = line[start : start + LINE_LENGTH]
    return "…" * (start > 0) + shown + "…" * (start + LINE_LENGTH < len(line))


WORD_WEIGHTS = "1.0, 0.5, 0.5, 0.5"
"""BM25 weights of the columns of the table `words`: text, humps, paths, about."""
STEM_WEIGHTS = "1.0, 0.5"
"""BM25 weights of the columns of the table `stems`: text, beside."""
BESIDE = 0.4
"""The share of the score of a message that its two neighbours get. On questions about long
conversations 0.35 to 0.5 find the most evidence among the first five hits, 0.1 finds less.
"""
STEM_SHARE = 0.5
"""How much of a word's weight a text gets that contains only another form of the word."""
MOST_SCANNED = 4
"""If no document fits a query, all texts are read for this many of its words."""
SHORTEST_BEGINNING = 3
"""If no text contains a word of at least this many letters, longer words that begin with it count.
"""
MANY = 2_000
"""If more documents have words of a query, only some are scored: those with its names, then those
with its rarest words. What has only its common words would stand behind them.
"""
SCORED, SCORED_OF_QUESTION = 400, 1_000
"""How many are scored then. A question needs more: what stands beside a document counts there."""
COUNTED = 10_000
"""Documents with a word that are counted at most: it is common in any case."""
Rows: TypeAlias = Callable[..., list[tuple[Any, ...]]]
Fit: TypeAlias = tuple[bool, float, float, int]
"""How well a document fits a query: whether it contains a name of the query, its weight and score
as in `CandidateDocument`, and its id.
"""


class Fits:
    """The scores of the documents within some sessions.

    Attributes:
        all_scored: whether `of` gave all documents that contain words of its last query.
    """

    def __init__(
        self,
        rows: Rows,
        within: str,
        among: int,
        holding: Callable[[str, str], int] | None = None,
        *,
        without: str = "",
    ) -> None:
        """Scores of documents.

        Args:
            rows: runs a query with its parameters, and returns the rows.
            within: the SQL condition for the sessions that are searched.
            among: how many documents there are.
            holding: returns how many of them contain a term, by the term and the table, where the
                index has only some; `None` to count those of the index.
            without: the SQL condition for the few documents that are left out.
        """
        self._rows, self._within, self._all, self._without = rows, within, among, without
        self._number = holding
        self._phrases = cache(self._phrases_of)  # each is needed several times
        self._counted, self._few = cache(self._count_of), cache(self._ids_of)
        self._chosen: frozenset[int] = frozenset()  # the only documents that are scored, if any
        self._only = ""  # their ids
        self.all_scored = True

    def of(self, query: Query) -> dict[int, Fit]:
        """How well each document that contains words of the query fits, by id; see `MANY`."""
        only = self._most_fitting(query) if self._all > MANY else None
        self.all_scored, self._chosen = only is None, frozenset(only or ())
        self._only = ", ".join(map(str, sorted(self._chosen)))
        try:
            return self._of_question(query) if query.function_words else self._of_words(query)
        finally:
            self._chosen, self._only = frozenset(), ""

    def _most_fitting(self, query: Query) -> set[int] | None:
        """The documents with names of the query, or its rarest words; `None` for all."""
        names = () if query.function_words else query.names
        tables = {term: "words" if term in names else "stems" for term in query.terms}
        terms = {term: self._phrases(term, table) for term, table in tables.items()}
        few = {term: self._few(words, tables[term]) for term, words in terms.items() if words}
        numbers = {
            term: self._counted(terms[term], tables[term], COUNTED) if ids is None else len(ids)
            for term, ids in few.items()
        }
        if sum(numbers.values()) <= MANY:
            return None
        rarest = sorted(numbers, key=numbers.__getitem__)
        steps = [(tables[term], terms[term]) for term in rarest if term in names]
        steps += [(tables[term], terms[term]) for term in rarest if term not in names]
        most = SCORED_OF_QUESTION if query.function_words else SCORED
        common = [term for term in rarest if term in names and numbers[term] > most]
        for name in common if len(rarest) > 1 else ():
            others = self._any_of((term for term in rarest if term != name), "words")
            steps.insert(0, ("words", f"({terms[name]}) AND ({others})"))
        found: set[int] = set()
        for table, words in steps:
            where, values = self._where(query, words, table)
            ids = f"SELECT rowid FROM {table} WHERE {where} ORDER BY rowid DESC LIMIT ?"
            found |= {id for (id,) in self._rows(ids, *values, most - len(found))}
            if len(found) >= most:
                break
        return found

    def _ids_of(self, words: str, table: str) -> frozenset[int] | None:
        """The documents that hold some words; `None` if there are more than `MANY`."""
        ids = f"SELECT rowid FROM {table} WHERE {table} MATCH ? LIMIT ?"
        rows = self._rows(ids, words, MANY + 1)
        return frozenset(id for (id,) in rows) if len(rows) <= MANY else None

    def _count_of(self, words: str, table: str, most: int) -> int:
        """How many documents hold some words, counted up to a number."""
        count = f"SELECT count(*) FROM (SELECT 1 FROM {table} WHERE {table} MATCH ? LIMIT ?)"
        return self._rows(count, words, most)[0][0]

    def any_of(self, query: Query) -> bool:
        """Whether any document within the limits contains words of the query."""
        return any(self._matching(query, query.terms, table, 1) for table in ("words", "stems"))

    def number(self, term: str) -> int:
        """How many documents contain a term as it is written."""
        words = self._phrases(term, "words")
        return (
            self._rows("SELECT count(*) FROM words WHERE words MATCH ?", words)[0][0]
            if words
            else 0
        )

    def with_parts(
        self, query: Query, texts: Callable[[Sequence[int]], Iterable[tuple[int, str]]]
    ) -> list[int]:
        """The documents that contain a word as a part of others; our own last, the newest first.

        Without words, these are all within the limits of the query.

        Args:
            query: of words and limits.
            texts: returns the ids and texts of documents, in their order.
        """
        terms = [term.casefold() for term in query.terms[:MOST_SCANNED]]
        ids = self._within_limits(query)
        if not terms:
            return ids
        compared = ((id, folded(text).casefold()) for id, text in texts(ids))
        return [id for id, text in compared if any(term in text for term in terms)]

    def _within_limits(self, query: Query) -> list[int]:
        limits, values = self._limits(query)
        limits += f" AND NOT ({self._without})" if self._without else ""
        if query.paths:
            limits += " AND id IN (SELECT rowid FROM words WHERE words MATCH ?)"
            values.append(paths(query))
        ids = f"SELECT id FROM documents WHERE {limits} ORDER BY ours, id DESC"
        return [id for (id,) in self._rows(ids, *values)]

    def _limits(self, query: Query) -> tuple[str, list[Any]]:
        """The condition for the limits of a query, except its paths; and the condition's values."""
        limits = [self._within] + ["failed"] * query.failed
        limits += [f"id IN ({self._only})"] if self._only else []
        if query.tools:
            any_tool = " OR ".join(["tool LIKE ? ESCAPE '\\'"] * len(query.tools))
            limits.append(f"({any_tool})")
        return " AND ".join(limits), [
            f"%{_escaped(indexable(tool).strip())}%" for tool in query.tools
        ]

    def _of_words(self, query: Query) -> dict[int, Fit]:
        exact = self._scores(query, "words")
        stems = self._chosen or self._matching(query, query.words, "stems")
        weights = dict.fromkeys([*exact, *stems], 0.0)
        named = set[int]()
        for term in query.terms if weights else ():
            holding = self._holding(term, "words")
            is_name = term in query.names
            forms = (
                (("words", holding, 1.0),)
                if is_name
                else (
                    ("words", holding, 1 - STEM_SHARE),
                    ("stems", self._holding(term, "stems"), STEM_SHARE),
                )
            )
            for table, ids, share in forms:
                number = len(ids)
                if self._number:
                    number = self._number(term, table)
                elif self._only and (words := self._phrases(term, table)):
                    number = self._counted(words, table, COUNTED)
                weight = share * weight_of(max(number, len(ids)), self._all)
                for id in ids & weights.keys():
                    weights[id] += weight
            if is_name:
                named |= holding
        return {id: (id in named, weight, exact.get(id, 0.0), id) for id, weight in weights.items()}

    def _of_question(self, query: Query) -> dict[int, Fit]:
        if not (words := self._any_of(query.terms, "stems")):
            return {}
        where, values = self._where(query, words, "stems")
        scored = self._rows(
            f"SELECT documents.id, -bm25(stems, {STEM_WEIGHTS}), documents.log, place"
            f" FROM stems JOIN documents ON documents.id = stems.rowid WHERE {where}",
            *values,
        )
        best: defaultdict[tuple[int, int], float] = defaultdict(float)
        for _, score, log, place in scored:
            if place is not None:
                best[log, place] = max(best[log, place], score)
        return {
            id: (False, 0.0, score + BESIDE * _beside(best, log, place), id)
            for id, score, log, place in scored
        }

    def _scores(self, query: Query, table: str) -> dict[int, float]:
        """The BM25 of each document that is within a query's limits and has its words, by id."""
        if not (words := self._any_of(query.terms, table)):
            return {}
        where, values = self._where(query, words, table)
        weights = WORD_WEIGHTS if table == "words" else STEM_WEIGHTS
        return dict(
            self._rows(
                f"SELECT rowid, -bm25({table}, {weights}) FROM {table} WHERE {where}", *values
            )
        )

    def _matching(
        self, query: Query, terms: Iterable[str], table: str, most: int = -1
    ) -> list[int]:
        """The ids of the documents within a query's limits that have any of some terms.

        At most so many; with -1 all.
        """
        if not (words := self._any_of(terms, table)):
            return []
        where, values = self._where(query, words, table)
        ids = f"SELECT rowid FROM {table} WHERE {where} LIMIT ?"
        return [id for (id,) in self._rows(ids, *values, most)]

    def _where(self, query: Query, words: str, table: str) -> tuple[str, list[Any]]:
        """The condition for words within the limits of a query, and its values."""
        where, values = f"{table} MATCH ?", [words]
        limits, of_limits = self._limits(query)
        if limits != "1":
            where += f" AND +{table}.rowid IN (SELECT id FROM documents WHERE {limits})"
            values += of_limits
        if self._without:
            where += f" AND +{table}.rowid NOT IN (SELECT id FROM documents WHERE {self._without})"
        if query.paths:
            where += f" AND +{table}.rowid IN (SELECT rowid FROM words WHERE words MATCH ?)"
            values.append(paths(query))
        return where, values

    def _any_of(self, terms: Iterable[str], table: str) -> str:
        """Any of some terms, in the language of FTS5."""
        return " OR ".join(filter(None, (self._phrases(term, table) for term in terms)))

    def _holding(self, term: str, table: str) -> set[int]:
        """The ids of the documents that contain a term."""
        words = self._phrases(term, table)
        if not words:
            return set()
        if (few := self._few(words, table)) is not None:
            return {*few}
        query = f"SELECT rowid FROM {table} WHERE {table} MATCH ?"
        query += f" AND +rowid IN ({self._only})" if self._only else ""
        return {id for (id,) in self._rows(query, words)}

    def _phrases_of(self, term: str, table: str) -> str:
        """A term in the language of FTS5; a name in camel case also as its parts."""
        parts = humps([term]) if is_humped(term) else ""
        phrases = [phrase for phrase in (phrase_of(term), phrase_of(parts)) if phrase]
        complete = " OR ".join(phrases)
        if len(term) < SHORTEST_BEGINNING or not complete:
            return complete
        is_held = f"SELECT 1 FROM {table} WHERE {table} MATCH ? LIMIT 1"
        if len(term) < LONGEST_WORD and self._rows(is_held, complete):
            return complete
        return " OR ".join(f"{phrase} *" for phrase in phrases)


def _beside(best: Mapping[tuple[int, int], float], log: int, place: int | None) -> float:
    """The scores of the messages right before and right after a place, together."""
    if place is None:
        return 0.0
    return best.get((log, place - 1), 0.0) + best.get((log, place + 1), 0.0)


def phrase_of(text: str) -> str:
    """Consecutive words, in the quotation marks of FTS5; "" if there are none."""
    words = indexable(text).replace('"', " ").strip()
    return f'"{words}"' if any(map(str.isalnum, words)) else ""


def paths(query: Query) -> str:
    """The condition for all paths of a query; a bare name may also occur in a call."""
    return " AND ".join(
        f"(paths : {phrase} *{'' if '/' in path else f' OR about : {phrase}'})"
        for path in query.paths
        if (phrase := phrase_of(path))
    )


def _escaped(text: str) -> str:
    r"""For LIKE: `"a_b"` -> `"a\_b"`."""
    return re.sub(r"([%_\\])", r"\\\1", text)

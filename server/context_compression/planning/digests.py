"""Digests: what was asked, answered and agreed in messages that are not shown, in a few lines.

A request stands with the best part of the answer to it. If not all of them have room, each is
shortened, as far as a part still tells something; then those that tell most for their length stay.
They are in the order of the conversation. Parts are sentences of prose, whose names, numbers and
plain words are worth what they are worth to `extract`, and less if many answers say them.
"""

import re
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from math import inf
from typing import NamedTuple
from unicodedata import category

from context_compression.conversation import authors
from context_compression.conversation.labels import ANSWERED, BETWEEN, TITLES
from context_compression.conversation.messages import Message
from context_compression.evidence import facts as evidence
from context_compression.evidence.ledger.entries import names_in_calls
from context_compression.evidence.redaction import beginning, redact
from context_compression.evidence.sentences import POINTING, POINTING_SIGNS, sentences
from context_compression.evidence.words import KINDS, PROSE_KINDS, Lexicon, Numbering
from context_compression.planning import measured
from context_compression.strings import english_length

ASKED, IN_ORDER = "User asked", ("Decisions", "Constraints")
"""The title of the section of requests with their answers, and those of the other sections whose
items are in the order of the conversation."""
CODE = re.compile(r"^[ \t]*(`{3,}|~{3,}).*?(?:^[ \t]*\1[ \t]*$|\Z)", re.DOTALL | re.MULTILINE)
NO_PROSE = re.compile(r"^(?: {4}|\t|[ \t]*(?:[|#>\\]|[-=*_]{3,}\s*$)).*$", re.MULTILINE)
"""`CODE`: a fenced block. `NO_PROSE`: a line of code, of a table or a quote, a heading, a rule."""
WITH_NEXT = "(see the next answer)"
"""Stands for the answer to a request that has none of its own; without one it would seem open."""
ITEM = re.compile(r"(?:[-*•+]|\d{1,3}[.)])\s+")
"""The beginning of an item of a list."""
STRONG = re.compile(r"\*\*|__(?=\W|\Z)|(?<!\w)__")
CLAUSE_END = re.compile(r"[,;:](?=\s)|[，；：、](?=.)| [–—-](?= )")
SPEAKER = re.compile(
    rf"\[(?=\s*(?:user|assistant|system|developer|tool|human|result)\b)|\b{ASKED}:", re.IGNORECASE
)
"""What could be read as the beginning of somebody else's words within a line."""
JOINER = "\u200d"
FULL_STOPS = ("。", "！", "？")
LEANS = re.compile(
    rf"{POINTING}|(?:for example|for instance|then|its|he|she|but|so|also|however|otherwise|instead"
    r"|dann|sie|er|aber|sonst|puis|mais|pero|luego|но|потом)\b"
    rf"|{POINTING_SIGNS}|[他她該那但그]|所以|因此|否则|否則|不过|不過|然后|然後|しかし|また|하지만",
    re.IGNORECASE,
)
"""The beginning of a sentence that leans on what is before it."""
EXCLAIMS = ("!", "！")
TELLS_LITTLE = (*EXCLAIMS, "?", ":", "？", "：", ":…", "：…")
"""The ends of a part that asks, exclaims or introduces something."""
WEIGHTS = [
    *(measured.KIND_WEIGHT[kind] for kind in KINDS),
    *map(measured.PROSE_WEIGHT.__getitem__, PROSE_KINDS),
]
"""The worth of a word by the index of its kind in `Numbering.kinds`."""


def digest(
    messages: Sequence[Message],
    max_chars: int,
    earlier: Mapping[str, Sequence[str]] | None = None,
    besides: Container[str] = (),
) -> str:
    """A digest of some messages, made by code, of at most `max_chars` characters.

    The user's requests come first, each with the best part of its answer, because it would seem
    open without one. Decisions, constraints, files, commands and errors follow, which have
    `OTHERS_SHARE` of the room, and what the requests leave.

    Args:
        messages: the messages.
        max_chars: the most characters.
        earlier: the items of an earlier digest by the title of their section. Where the order of a
            section is that of the conversation, they come before those of the messages, else after
            them.
        besides: items that are left out, because they are quoted beside the digest.
    """
    earlier = earlier or {}
    others, places = _other_sections(messages, earlier, besides)
    full = sum(map(len, _lines(others, places, max_chars)))
    room = max_chars - min(full, int(measured.OTHERS_SHARE * max_chars))
    asked = _asked(messages, earlier.get(ASKED, ()), besides, room - len(f"{ASKED}: "))
    told = BETWEEN.join(asked)
    for title in IN_ORDER:
        others[title] = [each for each in others[title] if _quoted(each) not in told]
    lines = [f"{ASKED}: {told}"] if asked else []
    left = max_chars - sum(map(len, lines)) - len(lines)
    return "\n".join([*lines, *_lines(others, places, left)])


def _other_sections(
    messages: Sequence[Message], earlier: Mapping[str, Sequence[str]], besides: Container[str]
) -> tuple[dict[str, Sequence[str]], Mapping[str, int]]:
    """The items of all sections but the first, and the places of items that stand in order.

    An item comes once in its section. The first items have room first: of decisions the user's, and
    of decisions and constraints the newest.
    """
    lexicon = Lexicon(known=names_in_calls(messages))
    facts = [evidence.facts(message, lexicon) for message in messages]
    decisions = [_decisions(message) for message in messages]
    by_user = [each for each, message in zip(decisions, messages, strict=True) if message.is_user]
    constraints = [sorted(each["constraints"]) for each in facts]
    commands = (" ".join(command.split()) for command in _newest(f["commands"] for f in facts))
    errors = _newest(each["errors"] for each in facts)
    before = {title: [*earlier.get(title, ())] for title in TITLES}
    for item in before[ASKED]:  # it may have no room now
        before["Decisions"] += evidence.decisions(item.replace(ANSWERED, "\n"))
    agreed, ruled = (before[title][::-1] for title in IN_ORDER)
    sections = {
        "Decisions": [*_newest(by_user), *agreed, *_newest(decisions)],
        "Constraints": [*_newest(constraints), *ruled],
        "Files": [*_by_frequency(each["paths"] for each in facts), *before["Files"]],
        "Commands": [
            *(beginning(command, measured.COMMAND_CHARS) for command in commands),
            *before["Commands"],
        ],
        "Errors": [
            *(beginning(line, measured.ERROR_CHARS) for line in errors), *before["Errors"]
        ],
    }  # fmt: skip
    kept: dict[str, Sequence[str]] = {
        title: [item for item in dict.fromkeys(items) if item not in besides]
        for title, items in sections.items()
    }
    new = (chain.from_iterable(each) for each in (decisions, constraints))
    pairs = zip((before[title] for title in IN_ORDER), new, strict=True)
    in_order = chain.from_iterable(chain(old, now) for old, now in pairs)
    return kept, {item: place for place, item in enumerate(in_order)}


def _decisions(message: Message) -> list[str]:
    """What a message of the user or the model decides, in its prose and its lists."""
    if message.role not in ("user", "assistant"):
        return []
    said = authors.words_of_user(message) if message.is_user else message.text
    found = evidence.decisions(NO_PROSE.sub("", CODE.sub("", said)))
    return [beginning(STRONG.sub("", text), measured.DECISION_CHARS) for text in found]


class _Answered(NamedTuple):
    """A request and the text of the answer to it; "" for none."""

    request: str
    answer: str


def _exchanges(messages: Sequence[Message], besides: Container[str]) -> list[_Answered]:
    """The user's requests with their answers, in order.

    A request without an answer of its own goes with the next one, whose request may take it back.
    """
    found: list[_Answered] = []
    answer = ""
    for message in reversed(messages):
        if message.role == "assistant" and not message.calls:
            answer = answer or message.text
        elif request := authors.words_of_user(message).strip():
            if " ".join(request.split()) in besides:
                continue
            found.append(_Answered(request, answer or (WITH_NEXT if found else "")))
            answer = ""
    return found[::-1]


def _asked(
    messages: Sequence[Message], earlier: Sequence[str], besides: Container[str], room: int
) -> list[str]:
    """The requests with their answers that have room, as items in their order.

    Args:
        messages: the messages.
        earlier: such items of an earlier digest.
        besides: requests that are left out.
        room: the characters of all items and what is between them.
    """
    exchanges = _exchanges(messages, besides)
    parts = _Parts([*earlier, *(text for each in exchanges for text in each)])

    def of_size(chars: int) -> Iterator[str]:
        new = (item for each in exchanges if (item := parts.item(each, chars)))
        return chain(earlier, new)

    for chars in measured.EXCHANGE_CHARS:
        if (fitting := _all_within(room, of_size(chars))) is not None:
            return fitting
    items = [*dict.fromkeys(of_size(min(measured.EXCHANGE_CHARS[-1], room)))]
    places = {item: place for place, item in enumerate(items)}
    best_first = sorted(items[1:], key=lambda item: (-parts.density(item), -places[item]))
    chosen: list[str] = []
    for item in (*items[:1], *best_first):
        if len(item) <= room:
            chosen.append(item)
            room -= len(item) + len(BETWEEN)
    return sorted(chosen, key=lambda item: places[item])


def _all_within(room: int, items: Iterable[str]) -> list[str] | None:
    """The items, each once; `None` as soon as they have no room."""
    found: dict[str, None] = {}
    for item in items:
        room -= 0 if item in found else len(item) + len(BETWEEN)
        found[item] = None
        if room < -len(BETWEEN):
            return None
    return [*found]


class _Told(NamedTuple):
    """A part of a text; `is_later` if it does not begin where the text does."""

    text: str
    is_later: bool


class _Parts:
    """The parts of some texts, and what they are worth."""

    def __init__(self, texts: Iterable[str]) -> None:
        self._numbering = Numbering(prose=True)
        self._often = Counter[int]()
        self._sentences: dict[str, list[str]] = {}
        for text in texts:
            self._often.update(self._numbering.numbers(text))

    def item(self, exchange: _Answered, chars: int) -> str:
        """A request and the answer to it as an item of about so many English characters.

        The request has at most half of them, the answer the rest.
        """
        asked = self._best(exchange.request, chars // 2, measured.LATER_REQUEST_WEIGHT)
        left = chars - english_length(asked) - len(ANSWERED)
        told = self._best(exchange.answer, left, measured.LATER_WEIGHT, measured.CHAR_COST)
        request, answer = map(_quoted, (asked, told))
        return f"{request}{ANSWERED}{answer}" if request and answer else request

    def density(self, item: str) -> float:
        """What an item is worth for each of its characters; more if it tells a decision."""
        request, _, answer = item.partition(ANSWERED)
        by_user, by_model = measured.DECIDED_WEIGHTS
        worth = self._worth(item) * (by_user if evidence.decision_words(request) else 1)
        worth *= by_model if evidence.decision_words(answer) else 1
        return worth / (measured.ITEM_CHARS + len(item))

    def _best(self, text: str, chars: int, later: float, cost: float = 0) -> str:
        """The sentences of at most `chars` characters that tell most, without line breaks.

        They begin where the text does, or with a later sentence that does not lean on others. Where
        a sentence is too long, its beginning up to the end of a clause counts. What exclaims, and
        of an answer what asks or introduces something, is only taken if there is nothing else.

        Args:
            text: a request or an answer.
            chars: the most English characters.
            later: the factor for the worth of a part that begins with a later sentence.
            cost: what each character of a part costs; 0 for a request.
        """
        best, most = "", (False, -inf)
        if text not in self._sentences:
            self._sentences[text] = [" ".join(each.split()) for each in sentences(prose_of(text))]
        for part in _parts_of(self._sentences[text], chars):
            if part.is_later and LEANS.match(part.text):
                continue
            worth = self._worth(part.text) * (later if part.is_later else 1)
            worth -= cost * english_length(part.text)
            rank = not part.text.endswith(TELLS_LITTLE if cost else EXCLAIMS), worth
            if rank > most:
                best, most = part.text, rank
        return best

    def _worth(self, text: str) -> float:
        kinds, often = self._numbering.kinds, self._often
        return sum(WEIGHTS[kinds[n]] / max(1, often[n]) for n in self._numbering.numbers(text))


def _parts_of(texts: Sequence[str], chars: int) -> Iterator[_Told]:
    """The parts of at most so many characters of sentences: neighbouring ones, or a beginning."""
    if chars < measured.LEAST_PART_CHARS:
        return
    for first, part in enumerate(texts):
        yield _Told(part if english_length(part) <= chars else _cut(part, chars), first > 0)
        for sentence in texts[first + 1 :]:
            part = f"{part}{'' if part.endswith(FULL_STOPS) else ' '}{sentence}"
            if english_length(part) > chars:
                break
            yield _Told(part, first > 0)


def prose_of(text: str) -> str:
    """The prose of a text, without secrets and marks of Markdown; all of it if there is no prose.

    Items of lists belong to prose only if there is no other.
    """
    text = redact(beginning(text, measured.DIGESTED_CHARS))
    lines = [line.strip() for line in NO_PROSE.sub("", CODE.sub("", text)).split("\n")]
    prose = "\n".join(line for line in lines if not ITEM.match(line)).strip()
    items = "\n".join(ITEM.sub("", line, count=1) for line in lines).strip()
    return STRONG.sub("", prose or items or text)


def _quoted(part: str) -> str:
    """A part without what stands between parts, or begins the words of a speaker."""
    part = part.replace(BETWEEN, ", ").replace(ANSWERED, " -> ")
    return SPEAKER.sub(r"\\\g<0>", part)


def _cut(sentence: str, chars: int) -> str:
    """The beginning of a sentence up to the end of a clause, else of a word, with `…`."""
    most = chars * len(sentence) // english_length(sentence)
    ends = [end.start() for end in CLAUSE_END.finditer(sentence, most // 2, most)]
    at = ends[-1] if ends else sentence.rfind(" ", most // 2, most)
    if at <= 0:
        at = most - 1
        while at > 0 and (category(sentence[at])[0] == "M" or JOINER in sentence[at - 1 : at + 1]):
            at -= 1  # within a letter or an emoji
    return f"{sentence[:at].rstrip()}…"


def _lines(
    sections: Mapping[str, Sequence[str]], places: Mapping[str, int], max_chars: int
) -> Iterator[str]:
    """A line for each section, with as many of its items as there is room for."""
    room = max_chars
    for title, items in sections.items():
        taken: list[str] = []
        left = room - len(f"{title}: ") - 1
        shown = {item: redact(item) for item in items[: measured.DIGEST_ITEMS]}
        for item in shown:
            left -= len(shown[item]) + (len(BETWEEN) if taken else 0)
            if left < 0:
                break
            taken.append(item)
        if taken:
            if title in IN_ORDER:
                taken.sort(key=lambda item: places[item])
            line = f"{title}: {BETWEEN.join(map(shown.__getitem__, taken))}"
            yield line
            room -= len(line) + 1


def _by_frequency(groups: Iterable[set[str]]) -> list[str]:
    counts = Counter(word for group in groups for word in sorted(group))
    return sorted(counts, key=lambda word: -counts[word])


def _newest(groups: Iterable[Iterable[str]]) -> list[str]:
    return [item for group in reversed([*groups]) for item in sorted(group)]

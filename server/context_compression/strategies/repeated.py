"""What a conversation says again: texts of role user, and sentences within longer lines."""

import re
from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence, Set
from itertools import chain
from typing import NamedTuple

from context_compression.conversation.authors import skill_of
from context_compression.conversation.labels import NEWLINE, Span
from context_compression.conversation.messages import Message, Text
from context_compression.evidence.sentences import POINTING, POINTING_SIGNS
from context_compression.planning.pieces import Source
from context_compression.strategies import measured
from context_compression.strings import cells, english_length


def repeated_texts(
    messages: Sequence[Message], counts: Callable[[int], bool]
) -> Set[tuple[int, int]]:
    """`(message, block)` of each text of role user that a later text repeats.

    A text is repeated by an equal text. A skill is also repeated by a later load of the same skill
    that begins with it and adds arguments, if that load is short enough to stay unshortened.

    Args:
        messages: the messages of a conversation.
        counts: takes the index of a message and returns whether it will be in view, so that it may
            replace earlier ones.
    """
    texts = [
        (index, slot, block.text, skill_of(block.text))
        for index, message in enumerate(messages)
        if message.role == "user"
        for slot, block in enumerate(message.blocks)
        if isinstance(block, Text)
    ]
    later_texts, loads = set[str](), dict[str, list[str]]()
    repeated = set[tuple[int, int]]()
    for index, slot, text, skill in reversed(texts):
        later = loads.setdefault(skill, []) if skill else []
        if text in later_texts or any(load.startswith(text) for load in later):
            repeated.add((index, slot))
        elif counts(index):
            later_texts.add(text)
            if len(text) <= measured.SKILL_CHARS and len(later) < measured.MOST_LOADS:
                later.append(text)
    return repeated


SENTENCE_END = re.compile(
    r"(?:(?<!\d)(?<!\b[^\W\d])(?<!\b[nN]o)(?<!\b[A-Z][a-z])(?<!\b[A-Z][a-z]{2})\.|[!?])"
    r"(?=\s*\Z|\s+[^a-z\s])\s*|[。！？]+\s*"
)
"""The end of a sentence with the blanks behind it. None ends after `5.`, `no.`, `e.g.` or `Mr.`"""
LINE_END = re.compile(NEWLINE)
CODE = re.compile(r"[{}<>|=\\]|[(:] ?[\"']")
"""Signs in a line that is no prose, but a part of code, JSON or a table."""
BINDS = re.compile(
    r":\s*\Z|\b(?:follow(?:s|ing)|below|(?<!-)only|unless|except|if|false|wrong|untrue|withdrawn"
    r"|folgende\w*|nur|außer|falls|falsch|suivante?s?|seulement|sauf|si|fau(?:x|sse)"
    r"|siguientes?|s[oó]lo|salvo|fals[oa]s?|следующ\w*|только|кроме|если|неверн\w*)\b"
    r"|以下|下列|下面|如下|只有|除非|除了|如果|不实|是错|假的|次の|のみ|場合|誤り|다음|아래|오직|만약|거짓",
    re.IGNORECASE,
)
"""Words of a sentence that says something of the next one, which must not stand without it."""


TAKES_BACK = re.compile(
    rf"\W*(?:\w+\W+){{0,4}}?{POINTING}|.{{0,6}}(?:{POINTING_SIGNS})"
    r"|.*?(?:\b(?:wrong|false|mistaken|outdated|withdrawn|no longer|any ?more|nicht mehr|plus|ya no"
    r"|больше не)\b|作废|作廢|过时|過時|不再|取消)",
    re.IGNORECASE,
)
"""The beginning of words that may be about the sentences beside them, and take them back."""


def repeated_sentences(
    texts: Iterable[str], users: Container[str]
) -> Mapping[str, tuple[Span, ...]]:
    """The spans of sentences that `OFTEN_SAID` texts hold, by text; texts without are absent.

    They take at least `REPEATED_SHARE` of their line. A sentence stays with the next one if it says
    something of it, and a line stays whole if its rest may take back what is repeated. In a text of
    the user a sentence stays with whatever is said only there: they may be an order and its
    condition.

    Args:
        texts: what the user and the model say; equal texts count once.
        users: those in which the user speaks.
    """
    lines: dict[str, Sequence[_LineOfProse]] = {}
    times = Counter[str]()
    for text in texts:
        if text not in lines:
            lines[text] = [*_lines(text)]
            times.update({sentence for line in lines[text] for sentence in line.sentences.values()})
    often = {
        sentence
        for sentence, count in times.items()
        if count >= measured.OFTEN_SAID and not BINDS.search(sentence)
    }
    found = {
        text: tuple(chain.from_iterable(line.repeated(text, often, text in users) for line in each))
        for text, each in lines.items()
    }
    return {text: spans for text, spans in found.items() if spans}


class _LineOfProse(NamedTuple):
    """A line of prose: its span, and its sentences without blanks around them, by their spans."""

    start: int
    stop: int
    sentences: Mapping[Span, str]

    def repeated(self, text: str, often: Container[str], is_users: bool) -> Iterator[Span]:
        """The spans of repeated sentences that are much of a line and that the rest leaves true."""
        spans = [span for span, sentence in self.sentences.items() if sentence in often]
        length = self.stop - self.start
        if [(self.start, self.stop)] == spans or sum(stop - start for start, stop in spans) < (
            measured.REPEATED_SHARE * length
        ):
            return
        ends = [self.start, *chain.from_iterable(spans), self.stop]
        rest = (text[a:b] for a, b in zip(ends[::2], ends[1::2], strict=True))
        if any(map(TAKES_BACK.match, rest)):
            return
        starts = {self.stop, *(start for start, _ in spans)}
        stops = {self.start, *(stop for _, stop in spans)}
        for start, stop in spans:
            if not is_users or (start in stops and stop in starts):
                yield start, stop


def _lines(text: str) -> Iterator[_LineOfProse]:
    """The lines of prose in a text with sentences that are not narrow."""
    start = 0
    for stop in chain((end.start() for end in LINE_END.finditer(text)), [len(text)]):
        if 2 * (stop - start) > measured.SAID_CELLS and not text.startswith((" ", "\t"), start):
            sentences = dict(_sentences(text, start, stop))
            if sentences and not CODE.search(text, start, stop):
                yield _LineOfProse(start, stop, sentences)
        start = stop + 1


def _sentences(text: str, start: int, stop: int) -> Iterator[tuple[Span, str]]:
    least = measured.SAID_CELLS
    for found in SENTENCE_END.finditer(text, start, stop):
        end = found.end()
        sentence = text[start:end].strip() if 2 * (end - start) >= least else ""
        if cells(sentence[:least]) >= least:
            yield (start, end), sentence
        start = end


def with_repeated(
    sources: Sequence[Source], shown: Sequence[str]
) -> tuple[Sequence[Source], Mapping[str, tuple[Span, ...]]]:
    """Texts that compete with their repeated sentences, and these sentences by text.

    Args:
        sources: the texts that compete.
        shown: the texts that are in view before.
    """
    spoken = [source for source in sources if source.spoken]
    users = {source.text for source in spoken if source.typed}
    found = repeated_sentences(chain(shown, (source.text for source in spoken)), users)
    return [_marked(each, found) if each.spoken else each for each in sources], found


def _marked(source: Source, repeated: Mapping[str, tuple[Span, ...]]) -> Source:
    """A text with its repeated sentences, by text; without them, a short one is worth less."""
    if not (spans := repeated.get(source.text, ())):
        return source
    end = len(source.text) if source.end is None else source.end
    ends = [source.start, *chain.from_iterable(s for s in spans if source.start <= s[0] < end), end]
    rest = "".join(source.text[a:b] for a, b in zip(ends[::2], ends[1::2], strict=True))
    share = fullness(rest) / (fullness(source.text[source.start : end]) or 1)
    return source._replace(repeated=spans, worth=source.worth * share)


def fullness(text: str) -> float:
    """How full a text is, in proportion if it is short: 1 from `SHORT_TEXT_CHARS` on."""
    short = measured.SHORT_TEXT_CHARS
    return min(1.0, english_length(text[:short]) / short)

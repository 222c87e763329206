"""What a conversation says again: texts of role user, and sentences within longer lines."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set

from context_compression.conversation.authors import skill_of
from context_compression.conversation.labels import NEWLINE, Span
from context_compression.conversation.messages import Message, Text
from context_compression.strategies import measured
from context_compression.strings import cells


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


SENTENCE_END = re.compile(r"[.!?](?=\s|\Z)[^\S\n]*|[。！？]+[^\S\n]*|\n")
"""The end of a sentence with the blanks behind it, or of a line."""


def repeated_sentences(texts: Iterable[str]) -> Mapping[str, tuple[Span, ...]]:
    """The spans of sentences that `OFTEN_SAID` texts hold, by text; texts without are absent.

    A whole line is left out, because pieces are compared anyway.
    """
    sentences: dict[str, Sequence[tuple[str, Span]]] = {}
    times = Counter[str]()
    for text in texts:
        if text not in sentences:
            sentences[text] = [*_sentences(text)]
            times.update({sentence for sentence, _ in sentences[text]})
    repeated = {
        text: tuple(
            span
            for sentence, span in each
            if times[sentence] >= measured.OFTEN_SAID and not _is_line(text, *span)
        )
        for text, each in sentences.items()
    }
    return {text: spans for text, spans in repeated.items() if spans}


def _is_line(text: str, start: int, stop: int) -> bool:
    begins = not start or text[start - 1] == NEWLINE
    return begins and (stop == len(text) or text[stop] == NEWLINE)


def _sentences(text: str) -> Iterator[tuple[str, Span]]:
    """The sentences of a text without blanks around them, and their spans; no narrow ones."""
    start, least = 0, measured.SAID_CELLS
    for end in SENTENCE_END.finditer(text):
        stop = end.end()
        if end[0] != NEWLINE and 2 * (stop - start) >= least:
            sentence = text[start:stop].strip()
            if cells(sentence[:least]) >= least:
                yield sentence, (start, stop)
        start = stop

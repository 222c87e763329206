"""The archive is asked with the questions of a talk: is the evidence among the first five hits?

Only evidence that is not in our view of 2 % counts. Plain BM25 over all messages stands beside it.
The rules that have no archive are judged by their own view of 2 %.
"""

import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import log
from pathlib import Path

import estimate
from comparison import OURS
from plain_rules import LAST, MASKING, PLAIN, RANDOM, TASK_AND_LAST, USERS, tokens_of
from search import said

from context_compression import Session, Store
from field.conversations import NOT_ABOUT_FACTS, Conversation
from field.growing import compressed
from field.places import NAMES
from field.view import View, share_of
from field.words import content_words, each_content_word, spaced

ARCHIVE_SHARE = 0.02  # of its tokens, to which a session is compressed
HITS = 5
START = 300  # characters by which a message is known again
ANY, ALL = "any of it", "all of it"
BM25 = "plain BM25"
NO_ARCHIVE = (LAST, TASK_AND_LAST, MASKING, USERS, RANDOM)
_K, _B = 1.2, 0.75  # BM25's usual constants


@dataclass(frozen=True)
class Found:
    """What a method found for a question.

    Attributes:
        column: the talk, and how much of the evidence was wanted.
        size: of the method's view as a share of the history, if it has one.
    """

    method: str
    column: str
    value: float
    size: float | None


def searched(conversation: Conversation) -> Iterator[Found]:
    """What each method found for each question whose evidence is archived."""
    messages = conversation.messages
    history = View(messages)
    texts = [*map(spaced, history.texts)]
    target = ARCHIVE_SHARE * tokens_of(messages)
    rules = {name: View(PLAIN[name](messages, target)) for name in NO_ARCHIVE}
    bm25 = Bm25(texts)
    with tempfile.TemporaryDirectory() as folder:
        store = Store(Path(folder, ".compression"))
        session = Session(store, "asked", counter=estimate.whole_tokens)
        session.record(*messages)
        compressed(session, target)
        view = View([*session.view()])
        shown = {*map(spaced, view.texts)}
        sizes = {name: share_of(each, history) for name, each in {OURS: view, **rules}.items()}
        for question in conversation.questions:
            wanted = [texts[at][:START] for at in question.evidence if texts[at] not in shown]
            if not wanted or question.kind in NOT_ABOUT_FACTS:
                continue
            hits = store.search(question.text, session=session.id, limit=HITS).hits
            held = {OURS: [spaced(said(store, hit)) for hit in hits]}
            held |= {BM25: bm25.best(question.text)}
            held |= {name: [rule.whole] for name, rule in rules.items()}
            for method, where in held.items():
                right = [any(text in each for each in where) for text in wanted]
                for column, value in ((ANY, any(right)), (ALL, all(right))):
                    name = f"{NAMES[conversation.kind]}: {column}"
                    yield Found(method, name, float(value), sizes.get(method))


class Bm25:
    """The textbook ranking of texts by the words of a question."""

    def __init__(self, texts: Sequence[str]) -> None:
        self._texts = texts
        self._words = [Counter(each_content_word(text)) for text in texts]
        self._in = Counter(word for words in self._words for word in words)
        self._mean = sum(words.total() for words in self._words) / max(1, len(texts))

    def best(self, question: str) -> list[str]:
        """The five texts that fit best."""
        return [self._texts[at] for at in self.order(question)[:HITS]]

    def order(self, question: str) -> list[int]:
        """The indices of the texts that hold words of a question, the best first."""
        asked = content_words(question)
        scores = [self._score(asked, words) for words in self._words]
        order = sorted(range(len(scores)), key=lambda at: -scores[at])
        return [at for at in order if scores[at] > 0]

    def _score(self, asked: frozenset[str], words: Counter[str]) -> float:
        length = _K * (1 - _B + _B * words.total() / self._mean)
        return sum(
            log(1 + (len(self._texts) - self._in[word] + 0.5) / (self._in[word] + 0.5))
            * words[word]
            * (_K + 1)
            / (words[word] + length)
            for word in asked
            if word in words
        )

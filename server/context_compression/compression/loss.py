"""The loss report: how much evidence a compression kept in the view."""

import re
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from context_compression.conversation.authors import words_of_user
from context_compression.conversation.messages import Message, texts_of
from context_compression.evidence.constraints import is_rule
from context_compression.evidence.facts import CLASSES, Class, Facts, constraints_said, facts
from context_compression.evidence.ledger.entries import names_in_calls
from context_compression.evidence.rule_words import is_known_language
from context_compression.evidence.sentences import sentences
from context_compression.evidence.words import Lexicon
from context_compression.listening import COMPARING, counted
from context_compression.planning.edits import View

NEVER_QUOTED = ("paths", "numbers")
"""Classes whose items may occur in a text by chance, as `10` does in `2101`."""

SEARCHES = 500
"""How many searches through the texts cost about as much as marking their runs of characters."""
RUN, MARKS = 6, 1 << 23
"""The length of such a run, and for how many the marks have room: a window of a million tokens."""


@dataclass(frozen=True)
class Loss:
    """How much evidence of one class a compression kept.

    Attributes:
        total: how many distinct items the conversation held.
        retained: how many are still in the view.
        recoverable: how many are not in the view, but in an original under a ref.
        lost: how many are neither.
    """

    total: int = 0
    retained: int = 0
    recoverable: int = 0
    lost: int = 0


CODE = re.compile(r"#|//|--|[$>] |&&|\|\||[\w.-]\.[a-z]{1,4}\b|[{};=<>]\s*\Z|\w\(|_\w|/\w")
"""A sign of code, commands or headings, which are in no language that could be judged."""


@dataclass(frozen=True)
class UserSentences(Loss):
    """How many sentences and lines of the user a compression kept, whatever they say.

    Constraints are recognised by words and position, which can fail. So the report also counts what
    the user wrote in all.

    Attributes:
        unjudged: how many of those that are not retained are in a language of which no words of
            rules are known, so that they may be constraints that are not counted as such.
    """

    unjudged: int = 0


def loss_report(
    messages: Sequence[Message], view: View, archived: Container[int]
) -> dict[Class, Loss]:
    """How much evidence of each class is retained, recoverable from originals, or lost.

    Args:
        messages: the conversation before the compression.
        view: the conversation after the compression.
        archived: the indices of the messages whose originals are kept.
    """
    covered = {index for edit in view.edits for index in range(edit.start, edit.stop)}
    written = [message for edit in view.edits for message in edit.becomes]
    lexicon = Lexicon(known=names_in_calls(messages))
    total, shown, kept = no_facts(), no_facts(), no_facts()
    for index, message in enumerate(counted(COMPARING, messages)):
        if message.source is None:
            continue  # a repair added it, so it is not evidence
        evidence = facts(message, lexicon)
        add_facts(total, evidence)
        if index not in covered:
            add_facts(shown, evidence)
        if index in archived:
            add_facts(kept, evidence)
    for message in written:
        add_facts(shown, facts(message, lexicon))
    return sorted_out(total, shown, kept, Quotations(written))


def sorted_out(
    total: Facts, shown: Facts, kept: Facts, quotations: Container[str]
) -> dict[Class, Loss]:
    """How much evidence of each class is retained, recoverable from originals, or lost.

    Args:
        total: all evidence of a conversation.
        shown: the evidence of its view.
        kept: the evidence of its archived originals.
        quotations: the texts in the view that may quote evidence, such as our notes.
    """
    report: dict[Class, Loss] = {}
    for name in CLASSES:
        retained = total[name] & shown[name]
        if name not in NEVER_QUOTED:  # quotes in our notes are in the view, too
            retained |= {item for item in total[name] - retained if item in quotations}
        recoverable = (total[name] - retained) & kept[name]
        lost = len(total[name]) - len(retained) - len(recoverable)
        report[name] = Loss(len(total[name]), len(retained), len(recoverable), lost)
    return report


@dataclass(frozen=True)
class MissingRule:
    """A sentence of the user that is not in the view, and may be a constraint.

    Attributes:
        words: the sentence.
        ref: brings back the message that says it; "" if nothing was archived.
    """

    words: str
    ref: str = ""


def missing_rules(
    messages: Sequence[Message], view: View, refs: Mapping[int, str]
) -> tuple[MissingRule, ...]:
    """The constraints of the user that are not in the view: the sure ones first, then the newest.

    Args:
        messages: the conversation before the compression.
        view: the conversation after the compression.
        refs: the ref of each message that was archived, by its index.
    """
    covered = {index for edit in view.edits for index in range(edit.start, edit.stop)}
    written = [message for edit in view.edits for message in edit.becomes]
    shown = {words for message in written for words in constraints_said(message)}
    said: dict[str, int] = {}
    for index, message in enumerate(messages):
        if message.source is None:
            continue  # a repair added it
        found = [*constraints_said(message)]
        said |= dict.fromkeys(found, index)
        if index not in covered:
            shown.update(found)
    quotations = Quotations(written)
    gone = [words for words in said if words not in shown and words not in quotations]
    gone.sort(key=lambda words: (not is_rule(words), -said[words]))
    return tuple(MissingRule(words, refs.get(said[words], "")) for words in gone)


def user_sentences(
    messages: Sequence[Message], view: View, archived: Container[int]
) -> UserSentences:
    """How many distinct sentences and lines of the user are retained, recoverable, or lost.

    A sentence is retained if the view holds it word for word.

    Args:
        messages: the conversation before the compression.
        view: the conversation after the compression.
        archived: the indices of the messages whose originals are kept.
    """
    covered = {index for edit in view.edits for index in range(edit.start, edit.stop)}
    total, shown, kept = set[str](), set[str](), set[str]()
    for index, message in enumerate(messages):
        if message.source is None:
            continue  # a repair added it
        said = sentences(words_of_user(message))
        total.update(said)
        if index not in covered:
            shown.update(said)
        if index in archived:
            kept.update(said)
    quotations = Quotations([message for edit in view.edits for message in edit.becomes])
    gone = {sentence for sentence in total - shown if sentence not in quotations}
    return UserSentences(
        total=len(total),
        retained=len(total) - len(gone),
        recoverable=len(gone & kept),
        lost=len(gone - kept),
        unjudged=sum(
            not (CODE.search(sentence) or is_known_language(sentence)) for sentence in gone
        ),
    )


class Quotations:
    """The texts of messages, in which quoted items are looked up; joined at the first look."""

    def __init__(self, messages: Sequence[Message]) -> None:
        self._messages = messages
        self._searches = 0

    def __contains__(self, item: str) -> bool:
        """Whether the texts quote `item` word for word.

        All words but the first and last are looked up before the text is searched, which is fast.
        After many searches, so are the runs of characters that the item consists of.
        """
        if not self._words.issuperset(item.split()[1:-1]):
            return False
        self._searches += 1
        if self._searches > SEARCHES and not self._holds_runs_of(item):
            return False
        return item in self._text

    @cached_property
    def _text(self) -> str:
        return "\n".join(
            text
            for message in self._messages
            for block in message.blocks
            for text in texts_of(block)
        )

    @cached_property
    def _words(self) -> set[str]:
        return {*self._text.split()}

    @cached_property
    def _runs(self) -> bytearray:
        """Marks at the hashes of all runs of `RUN` characters."""
        marks = bytearray(MARKS)
        for at in range(len(self._text) - RUN + 1):
            marks[hash(self._text[at : at + RUN]) % MARKS] = 1
        return marks

    def _holds_runs_of(self, item: str) -> bool:
        runs = (item[at : at + RUN] for at in range(len(item) - RUN + 1))
        return all(self._runs[hash(run) % MARKS] for run in runs)


def no_facts() -> Facts:
    """No evidence of any class."""
    return {name: set() for name in CLASSES}


def add_facts(to: Facts, more: Facts) -> None:
    """Add the evidence of a message to other evidence."""
    for name, items in more.items():
        to[name] |= items

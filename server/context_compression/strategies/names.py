"""Names that a very small view lacks, in one line: to be used again, and to search by.

`[More names used] retryPolicy, MAX_RETRIES, apps/web, --dry-run, owner/name#12`
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, islice

from context_compression.conversation.authors import answer_of, is_our_note, user_words
from context_compression.conversation.labels import sections
from context_compression.conversation.messages import Message, Text, named_strings
from context_compression.evidence.facts import commands_of
from context_compression.evidence.ledger.shell import steps
from context_compression.evidence.lexicon import Lexicon
from context_compression.evidence.numbering import JOINED
from context_compression.evidence.redaction import MARK, redact
from context_compression.evidence.words import Kind
from context_compression.planning.plan import Plan
from context_compression.strategies import measured

LABEL = "[More names used]"
LINE = re.compile(rf"^{re.escape(LABEL)} .*", re.MULTILINE)
GAP = re.compile(r"\[…[^\]\n]*\]")
"""The mark of a gap, whose ref names nothing that was used."""
TORN = re.compile(rf"(?![{JOINED}])[^\W\x00-\x7f]")
"""A letter at which a word would be torn that is not of ASCII alone."""
RUN = re.compile(r"[\w./\\-]+")
BLANK = re.compile(r"\s")
BOTH = re.compile(r"[^\W\d_]+(?:[/-][^\W\d_]+)+")
"""Plain words that a slash or a hyphen joins: mostly it is one or the other."""
ESCAPES = re.compile(r"\A\\(?!\\)|\\[^\w\\]|/.*\\|\\.*/")
"""What a word holds that is a piece of an expression, or of a quoted text, and no path."""
FIGURE = re.compile(r"(?!#\d{1,5}\Z)[^.]*(?:\.[^.]*)?")
"""A number that names nothing: no issue (`#12`), no version (`1.2.3`)."""


def names_of(plan: Plan) -> Sequence[str]:
    """The names that were used; first those in most messages, and used last; long ones late.

    Names that only a tool put out were not used; names in a note written by us were used once.
    Secrets that are known by their looks are left out. (Measured on recorded sessions: in this
    order a line holds most of what later steps need.)
    """
    lexicon, times, last = Lexicon(), Counter[str](), dict[str, int]()
    for index, message in enumerate(plan.messages):
        used = names_in(message, lexicon)
        times.update(used)
        last |= dict.fromkeys(used, index)

    def worth(name: str) -> float:
        age = measured.OLDEST_NAME_WORTH + last[name] / len(plan.messages)
        return (
            times[name]
            * age
            / (measured.TOKENS_BETWEEN_NAMES + len(name) / measured.NAME_CHARS_PER_TOKEN)
        )

    return sorted(times, key=lambda name: (-worth(name), -last[name], name))


def names_in(message: Message, lexicon: Lexicon) -> set[str]:
    """The names that the user or the model uses in a message."""
    texts_with_names = [message.text if message.role == "assistant" else user_words(message)]
    texts_with_names += map(answer_of, message.results)
    for block in message.blocks:
        if isinstance(block, Text) and is_our_note(block.text):
            texts_with_names += quoted_in(block.text)
    alone: list[str] = []
    for call in message.calls:
        arguments = [argument(name, text) for name, text in named_strings(call.arguments)]
        texts_with_names += arguments
        lines = (MARK.sub("", redact(line)) for line in commands_of(call))
        words = (word for line in lines for step in steps(line) for word in step.words)
        alone += (text for text in chain(arguments, words) if not BLANK.search(text))
    return {
        word
        for texts, plain in ((texts_with_names, False), (alone, True))
        for text in texts
        for word, kind in lexicon.words(untorn(redact(text)))
        if is_name(word, kind, plain=plain)
    }


def argument(name: str, text: str) -> str:
    """An argument; empty for what its name says is a secret."""
    if not name or len(text) >= measured.LONGEST_NAME_CHARS:
        return text
    shown = redact(f"{name}={text}")
    return text if shown.endswith(text) else MARK.sub("", shown.removeprefix(f"{name}="))


def quoted_in(note: str) -> Iterator[str]:
    """The texts of a note written by us that were used, not put out by a tool; its names, too."""
    for label, start, stop in sections(note):
        if not label.startswith("[Result"):
            yield GAP.sub("", note[start:stop])


def untorn(text: str) -> str:
    """A text without words of which a search would find only a part."""
    if text.isascii():
        return text
    return RUN.sub(lambda run: " " if TORN.search(run[0]) else run[0], text)


def is_name(word: str, kind: Kind, *, plain: bool) -> bool:
    """Whether a word of a text says what is meant where it stands alone.

    Args:
        word: the word.
        kind: what it is evidence of.
        plain: whether plain words name something: where no other word stands with them in an
            argument of a tool, or of a command.
    """
    if len(word) >= measured.LONGEST_NAME_CHARS or ESCAPES.search(word):
        return False
    if kind == "number":
        return not FIGURE.fullmatch(word)
    shouted = word.isalpha() and word.isupper()
    return plain or not (shouted or BOTH.fullmatch(word))


def line(
    names: Iterable[str], texts: Iterable[str], count: Callable[[str], int], room: float
) -> str:
    """A line of those of some names that stand in none of some texts; empty where none fits.

    Args:
        names: in the order in which they are taken.
        texts: of the view.
        count: tokens of a text.
        room: tokens that the line may take, about: names are counted one by one.
    """
    view = "\n".join(texts)
    left = room - count(LABEL)
    taken: list[str] = []
    for name in islice(names, measured.MOST_NAMES_TRIED):
        if left < measured.LEAST_NAME_TOKENS or len(taken) == measured.MOST_NAMES:
            break
        if stands_in(view, name) or any(name in other or other in name for other in taken):
            continue
        tokens = count(f", {name}")
        if tokens <= left:
            left -= tokens
            taken.append(name)
    return f"{LABEL} {', '.join(taken)}" if taken else ""


def stands_in(text: str, name: str) -> bool:
    """Whether a name stands in a text, and not as a part of a longer word."""
    at = text.find(name)
    while at >= 0:
        stop = at + len(name)
        if not (text[at - 1 : at].isalnum() or text[stop : stop + 1].isalnum()):
            return True
        at = text.find(name, at + 1)
    return False


def lines_in(texts: Iterable[str]) -> Iterator[str]:
    """The lines of names in some texts."""
    return (line for text in texts for line in LINE.findall(text))

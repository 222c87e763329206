"""A line of names that a very small view lacks, so that they can be used again and searched.

`[More names used] retryPolicy, MAX_RETRIES, apps/web, --dry-run, owner/name#12`
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, islice

from context_compression.conversation.authors import is_our_note, user_words
from context_compression.conversation.labels import sections
from context_compression.conversation.messages import Message, Text, named_strings
from context_compression.evidence.facts import commands_of
from context_compression.evidence.ledger.shell import steps
from context_compression.evidence.lexicon import Lexicon
from context_compression.evidence.numbering import JOINED
from context_compression.evidence.redaction import MARK, redact
from context_compression.evidence.words import Kind, occurrences
from context_compression.planning.plan import Plan
from context_compression.strategies import measured

LABEL = "[More names used]"
LINE = re.compile(rf"^{re.escape(LABEL)} .*", re.MULTILINE)
GAP = re.compile(r"\[…[^\]\n]{0,400}\]")
"""The mark of a gap, whose ref is not a name that was used."""
TORN = re.compile(rf"(?![{JOINED}])[^\W\x00-\x7f]")
"""A letter outside ASCII, of a script with blanks between words; a word would be torn at it."""
RUN = re.compile(r"[\w./\\-]+")
BLANK = re.compile(r"\s")
BOTH = re.compile(r"[^\W\d_]+(?:[/-][^\W\d_]+)+")
"""Plain words joined by a slash or hyphen, which mostly means one or the other."""
ESCAPES = re.compile(r"\A\\(?!\\)|\\[^\w\\]|\A[^/]*+/[^\\]*+\\|\A[^\\]*+\\[^/]*+/")
"""Signs of a word that is part of an expression or a quoted text, and not a path."""
FIGURE = re.compile(r"(?!#\d{1,5}\Z)[^.]*(?:\.[^.]*)?")
"""A number that is not a name, unlike an issue (`#12`) or a version (`1.2.3`)."""


def names_of(plan: Plan) -> Sequence[str]:
    """The names that were used, the most valuable first.

    Names in many messages, names that were used recently, and short names come first. Names that
    occur only in a tool's output were not used; names in a note of this package were used once.
    Secrets that are recognised by their form are left out. (Measured on recorded sessions: in this
    order, a line holds most of the names that later steps need.)
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
    texts_with_names.append(message.said)
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
    """An argument without secrets, which are recognised by the argument's name."""
    if not name or len(text) >= measured.LONGEST_NAME_CHARS:
        return text
    shown = redact(f"{name}={text}")
    return text if shown.endswith(text) else MARK.sub("", shown.removeprefix(f"{name}="))


def quoted_in(note: str) -> Iterator[str]:
    """The quotes and names in a note of this package, except quotes of tool results."""
    for label, start, stop in sections(note):
        if not label.startswith("[Result"):
            yield GAP.sub("", note[start:stop])


def untorn(text: str) -> str:
    """A text without words that would be found only in part."""
    if text.isascii():
        return text
    return RUN.sub(lambda run: " " if TORN.search(run[0]) else run[0], text)


def is_name(word: str, kind: Kind, *, plain: bool) -> bool:
    """Whether a word of a text is understood without its context.

    Args:
        word: the word.
        kind: its kind of evidence.
        plain: whether plain words count as names, because the word is a complete argument of a tool
            or a command.
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
    """A line of the names that are in none of some texts; `""` if no name fits.

    Args:
        names: the names, in the order in which they are taken.
        texts: the texts of the view.
        count: returns the tokens of a text.
        room: about how many tokens the line may take, because names are counted one by one.
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
    """Whether a name is in a text, but not as part of a longer word."""
    return any(
        not (text[start - 1 : start].isalnum() or text[stop : stop + 1].isalnum())
        for start, stop in occurrences(name, text)
    )


def lines_in(texts: Iterable[str]) -> Iterator[str]:
    """The lines of names in some texts."""
    return (line for text in texts for line in LINE.findall(text))

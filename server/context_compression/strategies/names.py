"""Names that a very small view lacks, in one line: to be used again, and to search by.

`[More names used] retryPolicy, MAX_RETRIES, apps/web, --dry-run, owner/name#12`
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence

from context_compression.authors import answer_of, is_ours, user_words
from context_compression.evidence import commands_of
from context_compression.messages import Message, Text, named_strings
from context_compression.plan import WRITTEN_CHARS, Plan
from context_compression.redaction import redact
from context_compression.words import Kind, Lexicon

LABEL = "[More names used]"
LONGEST = 100
"""Characters from which on nobody means a name by it."""
OLDEST = 0.3
"""What it counts that a name was used last in the first message; in the last it counts 1 more."""
CHARS_PER_TOKEN, BETWEEN = 4, 1
"""About how many characters of names make a token, and tokens between two."""
LEAST = 2
"""Tokens that no name is shorter than."""
JOINED = re.compile(r"[^\W\d_]+(?:[/-][^\W\d_]+)+")
"""Plain words that a slash or a hyphen joins: mostly it is one or the other."""
ESCAPES = re.compile(r"\A\\(?!\\)|\\[^\w\\]|/.*\\|\\.*/")
"""What a word holds that is a piece of an expression, or of a quoted text, and no path."""
FIGURE = re.compile(r"(?!#\d{1,5}\Z)[^.]*(?:\.[^.]*)?")
"""A number that names nothing: no issue (`#12`), no version (`1.2.3`)."""


def names_of(plan: Plan) -> Sequence[str]:
    """The names somebody used: those in most messages, and last, before the others; long ones late.

    What only a tool put out was not used; what a note of ours tells was, once. Of secrets that are
    known by their looks there is none. (Measured on recorded sessions: so a line holds most of what
    later steps need.)
    """
    lexicon, times, last = Lexicon(), Counter[str](), dict[str, int]()
    for index, message in enumerate(plan.messages):
        used = names_in(message, lexicon)
        times.update(used)
        last |= dict.fromkeys(used, index)

    def worth(name: str) -> float:
        age = OLDEST + last[name] / len(plan.messages)
        return times[name] * age / (BETWEEN + len(name) / CHARS_PER_TOKEN)

    return sorted(times, key=lambda name: (-worth(name), -last[name], name))


def names_in(message: Message, lexicon: Lexicon) -> set[str]:
    """The names that somebody uses in a message."""
    told: list[str] = []
    said = [message.text] if message.role == "assistant" else [user_words(message)]
    said += map(answer_of, message.results)
    said += (b.text for b in message.blocks if isinstance(b, Text) and is_ours(b.text))
    for call in message.calls:
        commands = {*commands_of(call)}
        for _, text in named_strings(call.arguments):
            alone = len(text) <= WRITTEN_CHARS and (text in commands or not re.search(r"\s", text))
            (told if alone else said).append(text)
    return {
        word
        for texts, plain in ((told, True), (said, False))
        for text in texts
        for word, kind in lexicon.words(redact(text))
        if is_name(word, kind, plain=plain)
    }


def is_name(word: str, kind: Kind, *, plain: bool) -> bool:
    """Whether a word of a text says what is meant where it stands alone.

    Args:
        word: the word.
        kind: what it is evidence of.
        plain: whether plain words name something: in commands and in arguments without a blank.
    """
    if len(word) >= LONGEST or ESCAPES.search(word):
        return False
    if kind == "number":
        return not FIGURE.fullmatch(word)
    shouted = word.isalpha() and word.isupper()
    return plain or not (shouted or JOINED.fullmatch(word))


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
    told: list[str] = []
    for name in names:
        if left < LEAST:
            break
        if name in view or any(name in other or other in name for other in told):
            continue
        tokens = count(f", {name}")
        if tokens <= left:
            left -= tokens
            told.append(name)
    return f"{LABEL} {', '.join(told)}" if told else ""

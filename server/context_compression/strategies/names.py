"""Names that a very small view lacks, in one line: to be used again, and to search by.

`[Names not shown] retryPolicy, src/app.py, MAX_RETRIES, --dry-run`
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence

from context_compression.authors import answer_of, is_ours, user_words
from context_compression.messages import Message, Text, named_strings
from context_compression.plan import WRITTEN_CHARS, Plan
from context_compression.words import Lexicon

LABEL = "[Names not shown]"
LONGEST = 100
"""Characters from which on nobody means a name by it."""
OLD = 0.3
"""What a name used in the first message alone is worth; one used in the last that more than 1."""
EITHER = re.compile(r"[^\W\d_]+(?:[/-][^\W\d_]+)+")
"""Plain words that a slash joins."""
CHARS_PER_TOKEN, BETWEEN = 4, 1
"""About how many characters of names make a token, and tokens between two."""


def names_of(plan: Plan) -> Sequence[str]:
    """The names somebody used: those used most and last before the others, longer ones behind.

    What only a tool put out was not used; what a note of ours tells was, once. (Measured on
    recorded sessions: so the line holds most of what later steps need.)
    """
    lexicon, times, last = Lexicon(), Counter[str](), dict[str, int]()
    for index, message in enumerate(plan.messages):
        used = names_in(message, lexicon)
        times.update(used)
        last |= dict.fromkeys(used, index)

    def worth(name: str) -> float:
        age = OLD + last[name] / len(plan.messages)
        return times[name] * age / (BETWEEN + len(name) / CHARS_PER_TOKEN)

    return sorted(times, key=lambda name: (-worth(name), -last[name], name))


def names_in(message: Message, lexicon: Lexicon) -> set[str]:
    """The names that somebody uses in a message, each of which says alone what is meant.

    A number does not; nor do plain words that a slash joins, but in what tools are told: elsewhere
    it is mostly one or the other.
    """
    arguments = [text for call in message.calls for _, text in named_strings(call.arguments)]
    told = [text for text in arguments if len(text) <= WRITTEN_CHARS]
    said = [text for text in arguments if len(text) > WRITTEN_CHARS]
    if message.role == "assistant":
        said.append(message.text)
    else:
        notes = (block.text for block in message.blocks if isinstance(block, Text))
        said += [user_words(message), *map(answer_of, message.results), *filter(is_ours, notes)]
    found = {word for text in told for word, _ in lexicon.words(text)}
    found |= {
        word
        for text in said
        for word, kind in lexicon.words(text)
        if kind != "path" or not EITHER.fullmatch(word)
    }
    return {word for word in found if len(word) < LONGEST and not word.isdecimal()}


def line(
    names: Iterable[str], texts: Iterable[str], count: Callable[[str], int], room: float
) -> str:
    """A line of the first of some names that do not stand in some texts; empty where none fits.

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
        if name in view or any(name in longer for longer in told):
            continue
        left -= count(f", {name}")
        if left < 0:
            break
        told.append(name)
    return f"{LABEL} {', '.join(told)}" if told else ""

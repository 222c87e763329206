"""The digest that `window` leaves of the messages it drops; it takes over earlier digests."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from context_compression.conversation.authors import (
    is_host_summary,
    is_our_note,
)
from context_compression.conversation.digest_notes import (
    TITLES,
    is_digest,
    items_of,
    missing_in,
    opening,
    with_rules,
)
from context_compression.conversation.messages import (
    COMPRESSED,
    Message,
    Text,
    user,
)
from context_compression.conversation.validity import NO_START
from context_compression.planning.plan import Plan
from context_compression.planning.selection import SUMMARY_MARKS, digest
from context_compression.planning.staying import end_of_ignored
from context_compression.strategies.consequences import NOTE
from context_compression.strategies.filling.rules import rules_in, words_in
from context_compression.strategies.naming_refs import ref_of_first
from context_compression.strategies.pictures import is_mark

EMPTY_NOTES = (NO_START, NOTE.text, f"{COMPRESSED} Not shown here")
"""The beginnings of notes of this package that only say that something is missing."""


class RuleOf(NamedTuple):
    """A certain constraint of the user: the index of its message, its words, tokens to quote it."""

    message: int
    words: str
    tokens: int


def digests_in(plan: Plan) -> list[int]:
    """The indices of the digests that earlier compressions left, the oldest first."""
    return [
        index
        for index in range(plan.head, len(plan.messages))
        if not plan.messages[index].results and is_digest(plan.messages[index].text)
    ]


def is_earlier_summary(message: Message) -> bool:
    """Whether a message is a summary, or a note with quotes; digests and empty notes are not."""
    text = message.text
    if message.results or message.calls or text.startswith(EMPTY_NOTES) or is_digest(text):
        return False
    texts = [block for block in message.blocks if isinstance(block, Text)]
    known = text.startswith(SUMMARY_MARKS) or (message.role == "user" and is_host_summary(text))
    return known and not all(map(is_mark, texts))


def rules_of_user(plan: Plan, room: int) -> list[RuleOf]:
    """The certain constraints of the user in all messages after the head, the newest first.

    Args:
        plan: the plan of the conversation.
        room: the tokens that are free.
    """
    texts = [
        (index, words)
        for index in range(plan.head, len(plan.messages))
        for block in plan.messages[index].blocks
        if (words := words_in(block, plan.messages[index]))
    ]
    found: list[RuleOf] = []
    for rule in rules_in(plan, enumerate(words for _, words in texts), room):
        number, start, stop = rule.place
        if rule.sure:
            index, (text, _) = texts[number]
            found.append(RuleOf(index, text[start:stop], rule.tokens))
    return found


def digest_note(
    plan: Plan,
    kept: Mapping[int, Message],
    digests: Sequence[int],
    max_chars: int,
    rules: Sequence[RuleOf],
) -> dict[int, Message]:
    """A note with a digest of the dropped messages, by the first index of the run it replaces.

    It replaces the first dropped run that is longer than the note, if possible one that the
    provider does not ignore; empty if there is none. It always says how many messages are missing,
    and quotes the rules of dropped messages.

    Args:
        plan: the plan of the conversation.
        kept: the messages that stay, by index.
        digests: the indices of the dropped digests, the oldest first.
        max_chars: about how many characters the digest has at most, without the quoted rules.
        rules: the rules to quote if their message is dropped.
    """
    dropped = [index for index in range(plan.head, len(plan.messages)) if index not in kept]
    gone = [plan.messages[index] for index in dropped if index not in digests]
    merged = [plan.messages[index].text for index in digests]
    missing = _missing(plan, gone, merged)
    quoted = [rule.words for rule in rules if rule.message not in kept]
    ref = ref_of_first(plan, [index for index in dropped if index not in digests])
    what = opening(missing, ref, restorable=plan.archive.restorable)
    earlier = {title: _merged(title, merged) for title in TITLES}
    free = max_chars - len(opening(missing, restorable=plan.archive.restorable)) - 1
    text = digest(gone, free, earlier, {*quoted}) if free > 0 else ""
    first = f"{what}:\n{text}" if text else f"{what}{':' if quoted else '.'}"
    note = user(with_rules(first, quoted))
    tokens = plan.counter.message(note)
    places = [start for start, size in _runs(plan, kept).items() if size > tokens]
    seen = [start for start in places if start >= end_of_ignored(plan.messages)]
    place = next(iter(seen or places), None)
    return {} if place is None else {place: note}


def _merged(title: str, digests: Sequence[str]) -> list[str]:
    """The items of a section of all digests, the newest digest first."""
    return [item for text in reversed(digests) for item in items_of(title, text)]


def _missing(plan: Plan, gone: Sequence[Message], digests: Sequence[str]) -> int:
    """How many messages are not shown: by the log if there is one, else by the earlier digests."""
    now = sum(message.results != () or not is_our_note(message.text) for message in gone)
    before = plan.archive.missing
    return now + (sum(map(missing_in, digests)) if before is None else before)


def _runs(plan: Plan, kept: Mapping[int, Message]) -> dict[int, int]:
    """The tokens of each run of dropped messages, by its first message."""
    runs: dict[int, int] = {}
    start = plan.head
    for index in range(plan.head, len(plan.messages)):
        if index in kept:
            start = index + 1
        else:
            runs[start] = runs.get(start, 0) + plan.tokens[index]
    return runs

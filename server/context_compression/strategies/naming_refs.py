"""Wherever messages left a view, one of its notes names a ref that brings them back."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace

from context_compression.conversation.authors import is_our_note
from context_compression.conversation.messages import (
    COMPRESSED,
    Message,
    Text,
    texts_of,
    user,
)
from context_compression.planning.edits import Edit
from context_compression.planning.plan import Plan
from context_compression.strategies import measured
from context_compression.strategies.consequences import shrinks
from context_compression.strategies.quoting.gaps import gap_of_messages

REF = re.compile(r"\bref [0-9a-f]{12}\b")
"""A ref in a note."""


def names_a_ref(messages: Iterable[Message]) -> bool:
    """Whether one of some messages names a ref."""
    return any(
        REF.search(text)
        for message in messages
        for block in message.blocks
        for text in texts_of(block)
    )


def stands_for_more(plan: Plan, index: int) -> bool:
    """Whether a message is a note of ours with a ref: more leaves with it than its own tokens."""
    message = plan.messages[index]
    return is_our_note(message.text) and names_a_ref((message,))


def ref_of_first(plan: Plan, indices: Iterable[int]) -> str:
    """The ref of the first of some messages that was part of the input; `""` if none was."""
    sources = (plan.messages[index].source for index in indices)
    first = next((source for source in sources if source is not None), None)
    return "" if first is None else plan.archive.ref_of(first)


def lacks_a_ref(plan: Plan, edits: Sequence[Edit]) -> bool:
    """Whether more than a little left with some edits, and nothing that they write names a ref."""
    made = [edit for edit in edits if edit.needed or shrinks(plan, edit)]
    written = (message for edit in made for message in edit.becomes)
    return any(_place_of(plan, edit) for edit in made) and not names_a_ref(written)


def with_a_ref(plan: Plan, edits: Sequence[Edit]) -> Sequence[Edit]:
    """The edits with a mark that names a ref: in a note that they write, else in one of its own."""
    places = [
        (note is None, -tokens, at)
        for at, edit in enumerate(edits)
        if edit.needed or shrinks(plan, edit)
        if (tokens := _place_of(plan, edit))
        for note in (_note_in(edit),)
        if note is not None or not edit.becomes
    ]
    if not places:
        return edits
    *_, at = min(places)
    edit = edits[at]
    gone = _gone(plan, edit)
    mark = gap_of_messages(len(gone), ref_of_first(plan, gone))
    note, becomes = _note_in(edit), [*edit.becomes]
    if note is None:
        becomes, origins = [user(f"{COMPRESSED} Not shown here:\n{mark}")], (None,)
    else:
        *before, last = becomes[note].blocks
        assert isinstance(last, Text)
        becomes[note] = becomes[note].with_blocks((*before, Text(f"{last.text}\n{mark}")))
        origins = tuple(edit.origins_in(plan.messages))
    marked = replace(edit, becomes=tuple(becomes), origins=origins)
    return [*edits[:at], marked, *edits[at + 1 :]]


def _gone(plan: Plan, edit: Edit) -> list[int]:
    """The messages that an edit leaves out."""
    shown = {*edit.origins_in(plan.messages)}
    return [index for index in range(edit.start, edit.stop) if index not in shown]


def _place_of(plan: Plan, edit: Edit) -> int:
    """The tokens that leave with an edit, if they are worth a note and have a ref; else 0."""
    gone = _gone(plan, edit)
    tokens = sum(plan.tokens[index] for index in gone)
    is_worth_it = tokens > 2 * measured.NOTE_TOKENS or any(stands_for_more(plan, i) for i in gone)
    return tokens if is_worth_it and ref_of_first(plan, gone) else 0


def _note_in(edit: Edit) -> int | None:
    """Which message of an edit is a note of ours that ends with a text."""
    for at, message in enumerate(edit.becomes):
        if message.blocks and isinstance(message.blocks[-1], Text) and is_our_note(message.text):
            return at
    return None

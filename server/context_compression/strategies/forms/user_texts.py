"""Texts of role user: the user's own words are kept, the notes of a host become a few lines."""

from collections.abc import Mapping, Sequence, Set
from functools import cached_property

from context_compression.conversation.authors import (
    holds_user_words,
    is_command_output,
    is_host_note,
    is_skill,
    opening_of,
    user_spans,
)
from context_compression.conversation.messages import Message, Text
from context_compression.conversation.rendering import Span, render
from context_compression.planning.measured import TEXT_WITH_REF_CHARS
from context_compression.planning.plan import Plan
from context_compression.planning.selection import own_ref
from context_compression.strategies import measured
from context_compression.strategies.repeats import repeated_texts
from context_compression.strategies.tool_results import Slots


class UserTexts:
    """Shortens texts of role user that are not the user's own."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan

    @cached_property
    def _last_with_note(self) -> Mapping[str, int]:
        """By the text of a host's note, the last message with that note and words of the user.

        Because of the user's words, that message is in view whenever an older one is.
        """
        return {
            block.text: index
            for index, message in enumerate(self._plan.messages)
            if message.starts_turn
            and any(
                isinstance(block, Text) and holds_user_words(block.text) for block in message.blocks
            )
            for block in message.blocks
            if isinstance(block, Text)
            and is_host_note(block.text)
            and not holds_user_words(block.text)
        }

    @cached_property
    def _repeated(self) -> Set[tuple[int, int]]:
        """The message and block of each text that a later message of the user repeats."""
        messages = self._plan.messages
        return repeated_texts(messages, lambda index: is_users(messages[index]))

    def with_short_notes(self, message: Message, index: int, slots: Slots) -> Message:
        """A message with each long note of the host shortened to a few lines."""
        if message.role != "user":
            return message
        blocks = tuple(
            self.short_note(block, index, slot, slots.get((slot, ""), ()))
            if isinstance(block, Text)
            else block
            for slot, block in enumerate(message.blocks)
        )
        return message if blocks == message.blocks else message.with_blocks(blocks)

    def short_note(self, block: Text, index: int, slot: int, spans: Sequence[Span]) -> Text:
        """A few lines of a long note, and some spans; any other text unchanged."""
        text, is_note = block.text, block.by_harness or is_host_note(block.text)
        repeated = self._is_repeated(text, index, slot)
        nothing = repeated or (is_command_output(text) and index < len(self._plan.messages) - 1)
        note_chars = measured.HOST_NOTE_CHARS
        long = measured.SKILL_CHARS if is_skill(text) else note_chars if is_note else len(text)
        if len(text) <= (0 if nothing else long):
            return block
        head = opening_of(text) if nothing else note_chars // 2
        own_words = () if repeated else user_spans(text)
        shown = [(0, head), *own_words, *spans]
        return Text(render(text, shown, own_ref(text, self._plan.archive)))

    def _is_repeated(self, text: str, index: int, slot: int) -> bool:
        """Whether a later text of role user repeats this one, which is long, a skill or a note."""
        if is_host_note(text) and not is_skill(text):
            return self._last_with_note.get(text, index) > index
        long = is_skill(text) or len(text) > TEXT_WITH_REF_CHARS
        return long and (index, slot) in self._repeated


def is_instruction(text: Text) -> bool:
    """Whether a text of role user is the user's own, or a skill that is short enough to be kept.

    For a text of the assistant it is true unless the text begins like a note.
    """
    if text.by_harness:
        return False
    if is_skill(text.text):
        return len(text.text) <= measured.SKILL_CHARS
    return holds_user_words(text.text)


def is_users(message: Message) -> bool:
    """Whether a turn begins here with content of the user, not only with a note of the host."""
    return message.starts_turn and any(
        not isinstance(block, Text) or is_instruction(block) for block in message.blocks
    )

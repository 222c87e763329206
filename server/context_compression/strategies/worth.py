"""What a piece is worth beside its evidence, by who says the text: the user, a model, a host."""

from context_compression.conversation.authors import is_command_output, is_host_summary, is_skill
from context_compression.conversation.messages import Message

USER_WORTH, SKILL_WORTH, SUMMARY_WORTH = 40.0, 30.0, 4.0
"""What a piece of the user's words is worth beside its evidence, in the weights of `pieces`; of a
skill that the host loaded; of the host's summary, all that is left of what it compacted."""
ANSWER_WORTH, REMARK_WORTH = 8.0, 2.0
"""The same of what the model answers the user; of what it says beside its calls. What the user's
last words reply to (`Go with the second.`) is worth what they are."""
LAST_WORTH = 100.0
"""The same of the model's last words, where nothing came after them: they say how things are, and
that work was done which must not be done again."""
REPORT_TOKENS = 400
"""Tokens up to which such a text has all of that; a longer one no more as a whole."""
USER_WEIGHT = 1.5
"""Times which the evidence in the user's words counts."""
PRINTED_WEIGHT = 0.25
"""Times which it counts in what the host's own commands printed."""
LITTLE_CHARS = 60
"""Characters below which a text is worth less by that: `Yes.` tells little."""
TYPED_TOKENS = 1_500
"""Tokens up to which a text of the user's is taken for typed. A longer one is more likely pasted:
it tells as much as a tool's output, and as a whole is worth no more than one that was typed."""


def value_of(
    message: Message, text: str, tokens: int, *, spoken: bool, replied: bool, last: bool
) -> tuple[float, float]:
    """Times which the evidence in a text of a message counts, and what a piece is worth beside it.

    Args:
        message: whose text it is.
        text: one of its texts.
        tokens: of the text.
        spoken: whether somebody says it, neither a tool nor the host.
        replied: whether it is what the user's last words reply to.
        last: whether the message is the last of all.
    """
    match message.role:
        case "user" if spoken:
            return value_of_users(text, tokens)
        case "assistant" if spoken:
            little = min(1.0, len(text) / LITTLE_CHARS)
            said = REMARK_WORTH if message.calls else ANSWER_WORTH
            worth = LAST_WORTH if last else USER_WORTH if replied else said
            return 1.0, worth * min(little, REPORT_TOKENS / max(1, tokens))
        case "user" if is_host_summary(text):
            return 1.0, SUMMARY_WORTH
        case "user" if is_command_output(text):
            return PRINTED_WEIGHT, 0.0
        case _:
            return 1.0, 0.0


def value_of_users(text: str, tokens: int) -> tuple[float, float]:
    """The same of what the user says, or of a skill."""
    little = min(1.0, len(text) / LITTLE_CHARS)
    worth = SKILL_WORTH if is_skill(text) else USER_WORTH
    typed = tokens <= TYPED_TOKENS
    return USER_WEIGHT if typed else 1.0, worth * min(little, TYPED_TOKENS / max(1, tokens))

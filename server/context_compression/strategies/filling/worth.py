"""The worth of a piece in addition to its evidence, by its author: the user, the model, a host."""

from context_compression.conversation.authors import is_command_output, is_host_summary, is_skill
from context_compression.conversation.messages import Message
from context_compression.strategies import measured


def value_of(
    message: Message, text: str, tokens: int, *, spoken: bool, replied: bool, last: bool
) -> tuple[float, float]:
    """`(factor, worth)` of a text: the factor for its evidence, and the worth of each piece.

    Args:
        message: the message of the text.
        text: one of its texts.
        tokens: the tokens of the text.
        spoken: whether the author is the user or the model, not a tool or the host.
        replied: whether the user's last words reply to it.
        last: whether the message is the last one.
    """
    match message.role:
        case "user" if spoken:
            return value_of_users(text, tokens)
        case "assistant" if spoken:
            length = min(1.0, len(text) / measured.SHORT_TEXT_CHARS)
            usual = measured.REMARK_WORTH if message.calls else measured.ANSWER_WORTH
            worth = measured.LAST_WORTH if last else measured.USER_WORTH if replied else usual
            return 1.0, worth * min(length, measured.REPORT_TOKENS / max(1, tokens))
        case "user" if is_host_summary(text):
            return 1.0, measured.SUMMARY_WORTH
        case "user" if is_command_output(text):
            return measured.PRINTED_WEIGHT, 0.0
        case _:
            return 1.0, 0.0


def value_of_users(text: str, tokens: int) -> tuple[float, float]:
    """`(factor, worth)` of a text of the user, or of a skill."""
    length = min(1.0, len(text) / measured.SHORT_TEXT_CHARS)
    worth = measured.SKILL_WORTH if is_skill(text) else measured.USER_WORTH
    typed = tokens <= measured.TYPED_TOKENS
    return measured.USER_WEIGHT if typed else 1.0, worth * min(
        length, measured.TYPED_TOKENS / max(1, tokens)
    )

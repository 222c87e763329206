"""The worth of a piece in addition to its evidence, by its author: the user, the model, a host."""

import re
from typing import NamedTuple

from context_compression.conversation.authors import is_command_output, is_host_summary, is_skill
from context_compression.conversation.messages import Message
from context_compression.strategies import measured

LABEL = re.compile(r"\s*\[[^\]\n]*\]\s*")
"""The label or the date at the beginning of a saying."""
TIME = re.compile(
    r"\b(?:yesterday|today|tonight|tomorrow|recently|last|ago|next|since|just|weekend|night|morning"
    r"|weeks?|months?|years?|(?:mon|tues|wednes|thurs|fri|satur|sun)day"
    r"|gestern|heute|morgen|neulich|letzte\w*|nächste\w*|hier|demain|hoy|ayer|mañana)\b"
    r"|昨天|今天|明天|最近|上周|下周|上个月|下个月|去年|今年|明年|昨日|今日|明日|先週|来週|어제|오늘|내일"
    r"|вчера|сегодня|завтра|недавно",
    re.IGNORECASE,
)
"""Words that tell when something happens."""
NUMBER_OR_NAME = re.compile(r"(?<!^)\b\d|\"[^\"\n]{2,}\"|[“«「《][^“«「《”»」》\n]{2,}[”»」》]")
"""A number, or a name between quotation marks."""
SELF = re.compile(
    r"\b(?:I|we|my|our|ich|wir|je|nous|yo|mi)\b|我|わたし|私|僕|\bя\b|\bмы\b|나는|저는"
)
QUESTION = re.compile(r"[?？؟]")


class Value(NamedTuple):
    """What a text is worth.

    Attributes:
        weight: the factor for its evidence.
        worth: the worth of each of its pieces in addition to evidence.
        per_token: the worth of each token of a piece in addition to evidence.
    """

    weight: float = 1.0
    worth: float = 0.0
    per_token: float = 0.0


def value_of(
    message: Message,
    text: str,
    tokens: int,
    *,
    spoken: bool,
    calls: bool,
    replied: bool,
    last: bool,
) -> Value:
    """The value of a text by its author.

    Args:
        message: the message of the text.
        text: one of its texts.
        tokens: the tokens of the text.
        spoken: whether the author is the user or the model, not a tool or the host.
        calls: whether the message has calls.
        replied: whether the user's last words reply to it.
        last: whether the message is the last one.
    """
    match message.role:
        case "user" if spoken:
            return value_of_users(text, tokens)
        case "assistant" if spoken:
            usual = measured.REMARK_WORTH if calls else measured.ANSWER_WORTH
            worth = measured.LAST_WORTH if last else measured.USER_WORTH if replied else usual
            return value_of_models(text, tokens, worth)
        case "user" if is_host_summary(text):
            return Value(worth=measured.SUMMARY_WORTH)
        case "user" if is_command_output(text):
            return Value(measured.PRINTED_WEIGHT)
        case _:
            return Value()


def value_of_models(text: str, tokens: int, worth: float) -> Value:
    """The value of a text of the model, of which a long one is worth no more in total."""
    length = min(1.0, len(text) / measured.SHORT_TEXT_CHARS)
    return Value(worth=worth * min(length, measured.REPORT_TOKENS / max(1, tokens)))


def value_of_users(text: str, tokens: int) -> Value:
    """The value of a text of the user, or of a skill."""
    length = min(1.0, len(text) / measured.SHORT_TEXT_CHARS)
    worth = measured.SKILL_WORTH if is_skill(text) else measured.USER_WORTH
    typed = tokens <= measured.TYPED_TOKENS
    return Value(
        measured.USER_WEIGHT if typed else 1.0,
        worth * min(length, measured.TYPED_TOKENS / max(1, tokens)),
        measured.TYPED_WORTH if typed else 0.0,
    )


def value_in_talk(text: str) -> Value:
    """The value of what one of two people says, whoever says it.

    It is worth more if it tells when something happens, a number or a name, or the speaker's own
    life, and less if it asks.
    """
    label = LABEL.match(text)
    told = text[label.end() :] if label else text
    return Value(
        (measured.QUESTION_WEIGHT if QUESTION.search(text) else 1.0)
        * (measured.SELF_WEIGHT if SELF.search(text) else 1.0),
        measured.TIME_WORTH * bool(TIME.search(told))
        + measured.NUMBER_WORTH * bool(NUMBER_OR_NAME.search(told)),
    )

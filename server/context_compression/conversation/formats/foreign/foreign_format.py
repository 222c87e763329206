"""`ForeignFormat`: how a format that is no dialect is recognised, and what to do about it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

TO_ROLE_AND_CONTENT = 'Convert each to {"role": …, "content": …}'
TO_OPENAI = "Convert each to a message of OpenAI's"
ONE_AT_A_TIME = "one conversation at a time"


@dataclass(frozen=True)
class ForeignFormat:
    """A format that is no dialect of this package.

    Attributes:
        description: what the caller passed, as the beginning of a sentence.
        advice: what to do about it, as a sentence.
        shapes: what it looks like. The first key of each shape indexes it, so it must be a key that
            few messages have: every message is looked at.
        holds_messages: whether the value of that first key holds messages. If those are in a known
            foreign format, that format is named instead.
        package: the library whose objects these are, where they are not dicts.
    """

    description: str
    advice: str
    shapes: Sequence[dict[str, Any]]
    holds_messages: bool = False
    package: str = ""

    @property
    def sentence(self) -> str:
        """The text of the refusal: description and advice."""
        return f"{self.description}. {self.advice}"

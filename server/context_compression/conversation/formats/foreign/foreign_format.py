"""`ForeignFormat`: how a format that is no dialect is recognised, and the text that refuses it."""

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
        description: a sentence without its full stop that names the format.
        advice: a sentence that says what to pass instead.
        shapes: the shapes of its values. The first key of each shape is its index. It must be a key
            that few messages have, because every message is checked.
        holds_messages: whether the value of that first key holds messages. If those are in a known
            foreign format, the error names that format instead.
        package: the library whose objects have this format, if they are not dicts.
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

"""`Explanation`: why a message of the input is shown as it is, in a few plain sentences."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, TypeAlias

from context_compression.display.plurals import how_many

Kept: TypeAlias = Literal[
    "whole", "shortened", "clipped", "preview", "quoted", "one line", "summarised", "nothing"
]
"""What a view shows of a message. `shortened`: in a smaller form; `clipped`: beginning and end;
`preview`: the telling lines of its results; `quoted`: parts of it in a note; `one line`: the line
of a tool step; `summarised`: a model's summary covers it."""
SHOWN_REFS = 3
"""How many refs are named."""


@dataclass(frozen=True)
class Evidence:
    """What paid for a shown part.

    Attributes:
        kind: a kind of evidence word (`path`, `number`, …), `failure`, `decision`, `open task`,
            `words of the user` or `words of the assistant`.
        text: the word, or the beginning and end of the part.
        worth: its worth, on the scale by which `extract` weighs pieces.
    """

    kind: str
    text: str
    worth: float

    def __str__(self) -> str:
        return f'{self.kind} "{self.text}" ({self.worth:.1f})'


@dataclass(frozen=True)
class Part:
    """A part of a message that competed for the room.

    Attributes:
        message: the index of the message in the input.
        text: the beginning and end of the part.
        tokens: about how many tokens it takes.
        worth_per_token: its worth for a token; the parts with most of it are shown.
    """

    message: int
    text: str
    tokens: int
    worth_per_token: float

    def __str__(self) -> str:
        size = how_many(self.tokens, "token")
        return f'"{self.text}" ({self.worth_per_token:.2f} a token, {size})'


@dataclass(frozen=True)
class Explanation:
    """Why a message is shown as it is; `str` gives at most ten lines.

    Attributes:
        index: the index of the message in the input.
        author: its role, or `tool result`.
        tokens: its tokens in the input.
        kept: what the view shows of it.
        must_stay: why it could not be left out, in plain words; `""` if it could.
        decided_by: the strategy and the rule that decided, as in `Result.reasons`.
        evidence: what paid for the shown parts, the most worth first; empty for a message that is
            shown in full, and for strategies that weigh no evidence.
        left_out: the best parts that are not shown.
        lost_to: the least of the parts that are shown elsewhere; `None` if nothing competed.
        refs: the refs that restore the message and its long texts.
    """

    index: int
    author: str
    tokens: int
    kept: Kept
    must_stay: str = ""
    decided_by: str = ""
    evidence: tuple[Evidence, ...] = ()
    left_out: tuple[Part, ...] = ()
    lost_to: Part | None = None
    refs: tuple[str, ...] = ()

    def __str__(self) -> str:
        lines = [f"{self._beginning}."]
        if self.must_stay:
            lines.append(f"It must stay: {self.must_stay}.")
        if self.decided_by:
            lines.append(f"Decided by {self.decided_by}.")
        if self.evidence:
            lines.append(f"Paid for by {', '.join(map(str, self.evidence))}.")
        lines += [f"Left out: {part}." for part in self.left_out]
        if self.lost_to:
            lines.append(f"The least part shown elsewhere, of message {self.lost_to.message:,}: "
                         f"{self.lost_to}.")  # fmt: skip
        if self.refs:
            lines.append(f"Restored by ref {', '.join(self.refs[:SHOWN_REFS])}.")
        return "\n".join(lines)

    @property
    def line(self) -> str:
        """The same in one short line, without refs: `12 user, 35 tokens: whole; it is pinned`."""
        parts = [f"{self.index:,} {self.author}, {how_many(self.tokens, 'token')}: {self.kept}"]
        parts += [self.must_stay or self.decided_by] if self.must_stay or self.decided_by else []
        parts += [f"paid for by {self.evidence[0]}"] if self.evidence else []
        if self.left_out and self.lost_to:
            best, least = self.left_out[0].worth_per_token, self.lost_to.worth_per_token
            parts.append(f"best part left out {best:.2f} a token, least shown {least:.2f}")
        return "; ".join(parts)

    @property
    def _beginning(self) -> str:
        who = f"Message {self.index:,} ({self.author}, {how_many(self.tokens, 'token')})"
        match self.kept:
            case "whole":
                return f"{who} is shown in full"
            case "nothing":
                return f"{who} is not shown"
            case "one line":
                return f"{who} is shown in one line"
            case "preview":
                return f"{who} is shown as a preview"
            case "quoted":
                return f"{who} is quoted in part"
            case _:
                return f"{who} is {self.kept}"


class Explains(Protocol):
    """Explains the messages of one compression."""

    def __call__(self, index: int) -> Explanation:
        """The explanation of the input message at `index`, which exists."""
        ...

    def most_telling(self, most: int) -> Sequence[int]:
        """The indices of at most `most` messages whose explanations tell most, in order."""
        ...


class InFull:
    """Explains the messages of a conversation that is unchanged."""

    def __call__(self, index: int) -> Explanation:
        """It is shown in full."""
        return Explanation(index, "message", 0, "whole")

    def most_telling(self, most: int) -> Sequence[int]:
        """None of them."""
        return ()

"""`Result`: the view that a compression made, and the report on it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from context_compression.compression.loss import Loss
from context_compression.evidence.facts import Class
from context_compression.summaries.record import SummaryRecord

__all__ = ["Kept", "Loss", "Ref", "Result", "Step"]


@dataclass(frozen=True)
class Step:
    """One strategy that ran, and the tokens of the view after it."""

    strategy: str
    tokens_after: int


@dataclass(frozen=True)
class Ref:
    """What a ref stands for.

    Attributes:
        what: the original in a few words, such as `Bash result`.
        indices: of the input messages it covers.
        block: for a ref to one text, the index of the block that holds it in its message; `None`
            for complete messages.
        sha256: of the original, 64 hex digits: of its text, or of the JSON of a message.
    """

    what: str
    indices: tuple[int, ...]
    block: int | None = None
    sha256: str = ""


@dataclass(frozen=True)
class Kept:
    """What a `Keeper` reports once the originals of a compression are on disk.

    Attributes:
        files_removed: offloaded files that it deleted, because a summary covers them.
        warnings: sentences for the user.
    """

    files_removed: int = 0
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True)
class Result:
    """The compacted conversation ("the view"), and the report on how it was made.

        result = compress(messages, target_tokens=50_000)
        messages = result.messages                # send these
        full_text = result.originals["c3f9…"]     # what left, by the ref that a note names

    Attributes:
        messages: the view, in the dialect that came in; unedited messages are the same objects.
        tokens_before: tokens of the input, with system prompt and tool schemas where given.
        tokens_after: tokens of the view, likewise; at most `tokens_before`.
        messages_in: how many messages the input has.
        fixed_tokens: tokens of system prompt and tool schemas alone, which are in both.
        changed: whether the view differs from the input.
        target_tokens: the target in tokens; `None` when there was none.
        target_met: whether `tokens_after` is within the target.
        strategy: the strategy that made the view; `"none"` when nothing was due.
        steps: every strategy that ran, in order.
        system: the system prompt to send with the view: as it was given, or with a summary put in,
            changed or taken out.
        floor_tokens: the smallest target that can be met, where this one was not; else 0.
        floor: tokens of that minimum size by what they are spent on, `{"last user message": …}`.
        compressed: indices of input messages that are not in the view as they came.
        dropped: those of them of which nothing is in the view.
        first_changed: the first index at which view and input differ: up to there a prompt cache
            stays valid; `None` when nothing changed.
        thinking_dropped: how many blocks of signed thinking were dropped because the messages that
            they are bound to changed.
        reasons: why a message changed, by the index of each input message that did.
        refs: what was archived, by ref.
        originals: the archived content by ref: texts, messages as they came, lists of such
            messages; also where a store keeps it.
        previews: hashes of the texts that this compression put in place of longer ones.
        layout: how the view is made: `(start, stop)` of input messages, or a new message.
        files_removed: how many offloaded files were deleted.
        repairs: what was repaired in a broken input, in plain words.
        notes: what else the caller should know, in plain words: why nothing was compressed, or why
            the target was missed.
        method: how the tokens were counted.
        summary: the model's summary, where one was made.
    """

    messages: list[dict[str, Any]]
    tokens_before: int
    tokens_after: int
    messages_in: int
    fixed_tokens: int = 0
    changed: bool = False
    target_tokens: int | None = None
    target_met: bool = True
    strategy: str = "none"
    steps: tuple[Step, ...] = ()
    system: Any = None
    floor_tokens: int = 0
    floor: Mapping[str, int] = field(default_factory=dict[str, int])
    compressed: tuple[int, ...] = ()
    dropped: tuple[int, ...] = ()
    first_changed: int | None = None
    thinking_dropped: int = 0
    reasons: Mapping[int, str] = field(default_factory=dict[int, str])
    refs: Mapping[str, Ref] = field(default_factory=dict[str, Ref])
    originals: Mapping[str, Any] = field(default_factory=dict[str, Any], repr=False)
    previews: Sequence[str] = ()
    layout: tuple[tuple[int, int] | dict[str, Any], ...] = field(default=(), repr=False)
    files_removed: int = 0
    repairs: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    method: str = ""
    summary: SummaryRecord | None = field(default=None, repr=False)
    evidence: Callable[[], Mapping[Class, Loss]] = field(default=dict, repr=False, compare=False)

    @cached_property
    def loss(self) -> Mapping[Class, Loss]:
        """How much evidence of each class was kept; worked out at the first look."""
        return self.evidence()

    @property
    def constraints_gone(self) -> str:
        """A sentence on the user's constraints that the view lacks; empty where it has them all."""
        constraints = self.loss.get("constraints")  # an unchanged conversation has no loss report
        if constraints is None or constraints.retained == constraints.total:
            return ""
        gone, total = constraints.total - constraints.retained, constraints.total
        return f"{gone:,} of {total:,} constraints of the user are not in the compacted context"

    @property
    def messages_out(self) -> int:
        """How many messages the view has."""
        return len(self.messages)

    @property
    def messages_compressed(self) -> int:
        """How many input messages are not in the view as they came."""
        return len(self.compressed)

    @property
    def messages_kept(self) -> int:
        """How many input messages are in the view as they came."""
        return self.messages_in - self.messages_compressed

    @property
    def tokens_freed(self) -> int:
        """How many tokens the view has less than the input."""
        return self.tokens_before - self.tokens_after

    @property
    def ratio(self) -> float:
        """Tokens after / before; 1.0 for an empty conversation."""
        return self.tokens_after / self.tokens_before if self.tokens_before else 1.0

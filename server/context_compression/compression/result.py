"""`Result`: the view that a compression made, and the report on it."""

from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field, fields
from functools import cached_property, partial
from itertools import islice
from typing import Any, Generic, Literal, Protocol, Self, TypeAlias

from typing_extensions import TypeVar

from context_compression.compression.loss import Loss, MissingRule, UserSentences
from context_compression.errors import NoSuchMessage
from context_compression.evidence.facts import Class
from context_compression.plurals import how_many
from context_compression.strings import SHOWN_VALUE, one_line
from context_compression.summaries.acceptance import SummaryRecord

Shown: TypeAlias = Literal[
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
        lost_to: the least of the parts that are shown elsewhere; `None` if nothing competed. A part
            that is left out may be worth more, if it was too large for what was left of the room.
        refs: the refs that restore the message and its long texts.
    """

    index: int
    author: str
    tokens: int
    kept: Shown
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


@dataclass(frozen=True)
class Explained:
    """Explanations that are made already, by index; other messages are shown in full.

    Attributes:
        known: the explanations.
        gone: the messages that changed.
        stayed: the messages that had to stay.
    """

    known: Mapping[int, Explanation] = field(default_factory=dict[int, Explanation])
    gone: frozenset[int] = frozenset()
    stayed: frozenset[int] = frozenset()

    def __call__(self, index: int) -> Explanation:
        """The explanation of a message."""
        return self.known.get(index) or Explanation(index, "message", 0, "whole")

    def most_telling(self, most: int) -> Sequence[int]:
        """The indices of the largest that changed, and of the largest that had to stay."""
        by_size = sorted(self.known, key=lambda index: -self.known[index].tokens)
        changed = [index for index in by_size if index in self.gone][: most - most // 4]
        stayed = (index for index in by_size if index in self.stayed)
        return sorted([*changed, *islice(stayed, most // 4)])


NO_SUMMARY = "no summary: "
"""The beginning of the note on a summary that failed."""
NAMED_RULES, LONGEST_RULE = 3, 120
"""How many missing rules a sentence names, and with how many characters."""
MOST_TELLING = 20
"""How many messages a list of explanations names."""


@dataclass(frozen=True)
class StrategyStep:
    """One strategy that ran, and the tokens of the view after it."""

    strategy: str
    tokens_after: int


@dataclass(frozen=True)
class Ref:
    """The meaning of a ref.

    Attributes:
        what: the original in a few words, such as `Bash result`.
        indices: the indices of the input messages that it covers.
        block: for a ref to one text, the index of its block in the message; `None` for complete
            messages.
        sha256: the SHA-256 of the original (a text, or the JSON of a message) as 64 hex digits.
    """

    what: str
    indices: tuple[int, ...]
    block: int | None = None
    sha256: str = ""


@dataclass(frozen=True)
class Kept:
    """The report of a `Keeper` after it wrote the originals of a compression to disk.

    Attributes:
        files_removed: the paths of offloaded files it deleted because a summary covers them.
        first_kept_index: as in `Result`.
        warnings: sentences for the user.
        repeated: as in `Result`.
    """

    files_removed: tuple[str, ...] = ()
    first_kept_index: int | None = None
    warnings: tuple[str, ...] = ()
    repeated: bool = False


def the_same(report: Any) -> Any:
    """A report that is made already."""
    return report


T = TypeVar("T", default=Any)
"""The messages of a conversation: dicts, or a type of the provider's library."""


@dataclass(frozen=True, kw_only=True)
class Result(Generic[T]):
    """The compacted conversation ("the view"), and the report on how it was made.

        result = compress(messages, target_tokens=50_000)
        messages = result.messages                # send these
        full_text = result.originals["c3f9…"]     # an original, by the ref that a note names

    Attributes: What a program needs first
        messages: the view, in the dialect and of the type of the input; unedited messages are the
            same objects, the others are dicts.
        tokens_before: the tokens of the input, with system prompt and tool schemas if given, as
            `count_tokens` counts them; of a broken input, after its repair.
        tokens_after: the tokens of the view, likewise; at most `tokens_before`.
        target_met: whether `tokens_after` is within the target.
        originals: the archived content by ref: texts, input messages, and lists of input messages.
            It is filled even if a store keeps the originals.

    Attributes: What happened
        changed: whether the view differs from the input.
        system: the system prompt to send with the view. It is the given prompt, or that prompt with
            a summary added, changed or removed.
        target_tokens: the target in tokens; `None` if there was none.
        missed: why `tokens_after` is above the target, in plain words; `""` if it is not.
        strategy: the strategy that made the view; `"none"` if nothing was compressed.
        steps: every strategy that ran, in order.
        summary: the summary that was written, if there is one.
        notes: further information for the caller, in plain words: why nothing was compressed, or
            why the target was missed.
        repairs: the repairs of a broken input, in plain words.
        repeated: whether the session had this view already, so that nothing was archived again.
        files_removed: the paths of offloaded files that were deleted because a summary covers them.

    Attributes: Which messages, and why
        messages_in: the number of input messages.
        compressed: the indices of input messages that are not in the view unchanged.
        dropped: the indices of input messages that are not in the view in any form.
        first_changed: the first index at which view and input differ; `None` if nothing changed. A
            prompt cache stays valid for the messages before it.
        first_kept_index: the index of the first message that the summary does not cover: in the
            recorded history if a store keeps it, else in the input; `None` without a summary.
        reasons: the reason of each change, by the index of the input message.
        refs: the meaning of each ref that was given to archived content.
        layout: the parts of the view: `(start, stop)` of input messages, or a new message.
        previews: the hashes of the texts that this compression put in place of longer ones.
        thinking_dropped: how many signed thinking blocks were dropped because the messages that
            they are bound to changed.

    Attributes: How it was counted
        method: how the tokens were counted.
        fixed_tokens: the tokens outside the messages, which are in both counts.
        floor_tokens: the smallest target that can be met, if the target was missed; else 0.
        floor: the tokens of that minimum size by what needs them, `{"last user message": …}`.

    Attributes: Reports that are made when they are asked for
        evidence: makes the loss report; use `loss`.
        explaining: makes the explanations; use `explain`.
        said: counts the user's sentences; use `user_sentences`.
        unshown: finds the user's constraints that are not in the view; use `missing_rules`.
    """

    messages: list[T]
    tokens_before: int
    tokens_after: int
    target_met: bool = True
    originals: Mapping[str, Any] = field(default_factory=dict[str, Any])

    changed: bool = False
    system: Any = None
    target_tokens: int | None = None
    missed: str = ""
    strategy: str = "none"
    steps: tuple[StrategyStep, ...] = ()
    summary: SummaryRecord | None = None
    notes: tuple[str, ...] = ()
    repairs: tuple[str, ...] = ()
    repeated: bool = False
    files_removed: tuple[str, ...] = ()

    messages_in: int
    compressed: tuple[int, ...] = ()
    dropped: tuple[int, ...] = ()
    first_changed: int | None = None
    first_kept_index: int | None = None
    reasons: Mapping[int, str] = field(default_factory=dict[int, str])
    refs: Mapping[str, Ref] = field(default_factory=dict[str, Ref])
    layout: tuple[tuple[int, int] | dict[str, Any], ...] = ()
    previews: Sequence[str] = ()
    thinking_dropped: int = 0

    method: str = ""
    fixed_tokens: int = 0
    floor_tokens: int = 0
    floor: Mapping[str, int] = field(default_factory=dict[str, int])

    evidence: Callable[[], Mapping[Class, Loss]] = field(default=dict, compare=False)
    explaining: Callable[[], Explains] = field(default=Explained, compare=False)
    said: Callable[[], UserSentences] = field(default=UserSentences, compare=False)
    unshown: Callable[[], Sequence[MissingRule]] = field(default=tuple, compare=False)

    @property
    def no_summary(self) -> str:
        """Why there is no summary although a model was asked for one, in plain words; "" if not."""
        return next((note for note in self.notes if note.startswith(NO_SUMMARY)), "")

    def __getstate__(self) -> dict[str, Any]:
        """Plain data for `pickle`: reports that are made at their first access are made now."""
        told: dict[str, Any] = {
            "evidence": partial(the_same, self.loss),
            "said": partial(the_same, self.user_sentences),
            "unshown": partial(the_same, self.missing_rules),
            "explaining": partial(the_same, self._explained()),
        }
        return {each.name: told.get(each.name, getattr(self, each.name)) for each in fields(self)}

    def _explained(self) -> Explained:
        if not self.changed:
            return Explained()
        known = {index: self._explainer(index) for index in range(self.messages_in)}
        gone = frozenset(self.compressed)
        telling = self._explainer.most_telling(8 * self.messages_in)  # all of both kinds
        return Explained(known, gone, frozenset(telling) - gone)

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        """A copy of the data; what makes the reports never changes, so both share it."""
        makers = ("evidence", "explaining", "said", "unshown")
        values = {
            each.name: getattr(self, each.name)
            if each.name in makers
            else deepcopy(getattr(self, each.name), memo)
            for each in fields(self)
        }
        return type(self)(**values)

    def __repr__(self) -> str:
        """The sizes and the number of refs, without the messages: shown after each call."""
        sizes = (
            f"{self.messages_in:,} -> {self.messages_out:,} messages, "
            f"{self.tokens_before:,} -> {self.tokens_after:,} tokens"
        )
        missed = "" if self.target_met else f", target of {self.target_tokens:,} missed"
        refs = f", {how_many(len(self.refs), 'ref')}" if self.refs else ""
        told = f"<Result: {sizes}, strategy {self.strategy}{refs}{missed}>"
        return one_line(told, SHOWN_VALUE - 1)

    @cached_property
    def loss(self) -> Mapping[Class, Loss]:
        """How much evidence of each class was kept; computed at the first access."""
        return self.evidence()

    @cached_property
    def user_sentences(self) -> UserSentences:
        """How many sentences of the user were kept; computed at the first access."""
        return self.said()

    @property
    def unjudged(self) -> str:
        """A sentence on words of the user that may be constraints in unknown languages, or `""`."""
        said = self.user_sentences
        if not said.unjudged:
            return ""
        return (
            f"{said.unjudged:,} of {said.total:,} sentences of the user are not in the compacted "
            "context and in a language that could not be judged, so they may be constraints"
        )

    def explain(self, index: int) -> Explanation:
        """Why a message of the input is shown as it is: what stayed, what paid for it, what lost.

            print(result.explain(12))
            # Message 12 (user, 35 tokens) is shown in full.
            # It must stay: it is pinned.

        Where parts competed for the room, the first call makes the same choice once more, to record
        what competed: that takes about as long as the compression. Ask before you change the
        messages that you passed.

        Args:
            index: the index of the message in the input, from 0.

        Raises:
            NoSuchMessage: there is no message with this index.
        """
        whole_number: Any = index
        known = isinstance(whole_number, int) and not isinstance(whole_number, bool)
        if not known or not 0 <= index < self.messages_in:
            allowed = (
                f"from 0 to {self.messages_in - 1:,}" if self.messages_in else "none: it is empty"
            )
            raise NoSuchMessage(
                f"The input has no message {index!r:.40}; its messages have the indices {allowed}."
            )
        return self._explainer(index)

    @cached_property
    def _explainer(self) -> Explains:
        return self.explaining()

    def most_telling(self, most: int = MOST_TELLING) -> list[Explanation]:
        """The explanations of the messages whose fate matters most, in their order.

        These are the largest messages that changed, and the largest that had to stay: at most
        three quarters and one quarter of `most`.
        """
        return [self._explainer(index) for index in self._explainer.most_telling(most)]

    @cached_property
    def missing_rules(self) -> Sequence[MissingRule]:
        """The user's sentences that may be constraints and are not in the view, the surest first.

        Each has the ref that brings it back. Computed at the first access.
        """
        return self.unshown()

    @property
    def constraints_gone(self) -> str:
        """A sentence on the user's constraints that are not in the view; `""` if all are."""
        missing = self.missing_rules
        if not missing:
            return ""
        total = max(len(missing), self.loss["constraints"].total)
        are = "is" if len(missing) == 1 else "are"
        named = ", ".join(
            f"“{one_line(rule.words, LONGEST_RULE)}”{f' (ref {rule.ref})' if rule.ref else ''}"
            for rule in missing[:NAMED_RULES]
        )
        more = f" and {len(missing) - NAMED_RULES:,} more" if len(missing) > NAMED_RULES else ""
        return (
            f"{len(missing):,} of {total:,} sentences of the user that may be rules {are} not in "
            f"the compacted context: {named}{more}"
        )

    @property
    def messages_out(self) -> int:
        """The number of messages in the view."""
        return len(self.messages)

    @property
    def messages_compressed(self) -> int:
        """The number of input messages that are not in the view unchanged."""
        return len(self.compressed)

    @property
    def messages_kept(self) -> int:
        """The number of input messages that are in the view unchanged."""
        return self.messages_in - self.messages_compressed

    @property
    def tokens_freed(self) -> int:
        """The tokens by which the view is smaller than the input."""
        return self.tokens_before - self.tokens_after

    @property
    def ratio(self) -> float:
        """Tokens after / before; 1.0 for an empty conversation."""
        return self.tokens_after / self.tokens_before if self.tokens_before else 1.0

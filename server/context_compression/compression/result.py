"""What came out of a compression, and the account of it."""

from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from context_compression.conversation.authors import question_calls
from context_compression.conversation.messages import Message, texts_of
from context_compression.evidence.facts import CLASSES, Class, Facts, facts
from context_compression.evidence.lexicon import Lexicon
from context_compression.planning.edits import View
from context_compression.summaries.record import SummaryRecord


@dataclass(frozen=True)
class Step:
    """One strategy that was run, and the tokens of the view after it."""

    strategy: str
    tokens_after: int


@dataclass(frozen=True)
class Ref:
    """What a ref stands for.

    Attributes:
        what: in a few words.
        indices: of the messages it covers.
        block: which block's text it is, for a ref to one text; `None` for whole messages.
        sha256: of the original, 64 hex digits: of its text, or of the JSON of a message.
    """

    what: str
    indices: tuple[int, ...]
    block: int | None = None
    sha256: str = ""


@dataclass(frozen=True)
class Kept:
    """What keeping the originals of a compression led to."""

    files_removed: int = 0
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True)
class Loss:
    """What became of the evidence of one class.

    Attributes:
        total: how many distinct items the conversation held.
        retained: still in the view.
        recoverable: not in the view, but in an original under a ref.
        lost: neither.
    """

    total: int = 0
    retained: int = 0
    recoverable: int = 0
    lost: int = 0


@dataclass(frozen=True)
class Result:
    """A view and its account.

    Attributes:
        messages: the view, in the dialect that came in; unedited messages are the same objects.
        changed: whether the view differs from the input.
        tokens_before: of the input, with system prompt and tool schemas where given.
        tokens_after: of the view, likewise; at most `tokens_before`.
        fixed_tokens: of system prompt and tool schemas alone, which are in both.
        target_tokens: what was aimed at; `None` when there was none.
        target_met: whether `tokens_after` is within it.
        strategy: the one that made the view; `"none"` when nothing was due.
        steps: every strategy that ran, in order.
        system: the system prompt to send with the view: as it was given, or with a summary in it,
            changed or taken out.
        floor_tokens: the smallest target that can be met, where this one was not; else 0.
        floor: that floor by what it is spent on.
        compressed: indices of input messages that are not in the view as they came.
        dropped: those of them that left it entirely.
        first_changed: the first index at which view and input differ: up to there a prompt cache
            stays valid; `None` when nothing changed.
        thinking_dropped: how many blocks of signed thinking left because they are bound to what
            changed before them.
        reasons: why, for each input message that changed, by index.
        refs: what was archived, by ref.
        previews: hashes of the texts that this compression put in place of longer ones.
        originals: the same as content: texts, messages as they came, lists of such messages; also
            where a store keeps them.
        layout: how the view is made: `(start, stop)` of input messages, or a new message.
        files_removed: offloaded files deleted.
        repairs: what was mended in a broken input, in plain words.
        notes: what else the caller should know (falls short of its target, nothing to compress, …).
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
        """The loss report: what became of the evidence, by class; worked out when first asked."""
        return self.evidence()

    @property
    def constraints_gone(self) -> str:
        """That constraints of the user's are not in the view, in words; empty where all are."""
        rules = self.loss.get("constraints")  # of what did not change there is no report
        if rules is None or rules.retained == rules.total:
            return ""
        gone = rules.total - rules.retained
        return f"{gone:,} of {rules.total:,} constraints of the user's are not in the view"

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
        """Tokens the view has less than the input."""
        return self.tokens_before - self.tokens_after

    @property
    def ratio(self) -> float:
        """Tokens after / before; 1.0 for an empty conversation."""
        return self.tokens_after / self.tokens_before if self.tokens_before else 1.0


def loss_report(
    messages: Sequence[Message], view: View, archived: Container[int]
) -> dict[Class, Loss]:
    """What became of the evidence: retained in the view, recoverable from originals, or lost.

    Args:
        messages: the conversation before.
        view: after.
        archived: indices of the messages whose originals are kept.
    """
    covered = {index for edit in view.edits for index in range(edit.start, edit.stop)}
    lexicon, asked = Lexicon(), question_calls(messages)
    total, shown, kept = _nothing(), _nothing(), _nothing()
    for index, message in enumerate(messages):
        if message.source is None:
            continue  # put there by a repair: it is nobody's evidence
        found = facts(message, lexicon, asked)
        _add(total, found)
        if index not in covered:
            _add(shown, found)
        if index in archived:
            _add(kept, found)
    for edit in view.edits:
        for message in edit.becomes:
            _add(shown, facts(message, lexicon, asked))
    quoted = "\n".join(
        text
        for edit in view.edits
        for message in edit.becomes
        for block in message.blocks
        for text in texts_of(block)
    )
    words = {*quoted.split()}

    def is_quoted(item: str) -> bool:  # all words but the ends are asked first: that is fast
        return words.issuperset(item.split()[1:-1]) and item in quoted

    report: dict[Class, Loss] = {}
    for name in CLASSES:
        retained = total[name] & shown[name]
        if name not in ("paths", "numbers"):  # what a note of ours quotes is in view, too
            retained |= {item for item in total[name] - retained if is_quoted(item)}
        recoverable = (total[name] - retained) & kept[name]
        lost = len(total[name]) - len(retained) - len(recoverable)
        report[name] = Loss(len(total[name]), len(retained), len(recoverable), lost)
    return report


def _nothing() -> Facts:
    return {name: set() for name in CLASSES}


def _add(to: Facts, found: Facts) -> None:
    for name, items in found.items():
        to[name] |= items

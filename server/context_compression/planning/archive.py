"""What is archived of a conversation, as far as a plan needs it: refs, files, the ledger."""

from collections.abc import Callable, Container, Sequence
from dataclasses import dataclass, field

from context_compression.conversation.refs import Refs
from context_compression.evidence.ledger import Entry


def _nothing(ref: str) -> str | None:
    return None


@dataclass(frozen=True)
class Archive:
    """What receipts may promise.

    Attributes:
        restorable: whether a store keeps the originals, so that `context_restore` brings them back.
        path: where an offloaded text will lie, by ref; `None` without a store.
        restored: refs that were brought back, not a few lines; they are not offloaded again.
        refs: what is archived already.
        previews: hashes of the texts that stand in the view in place of others.
        wholes: refs of such others of which no more is known: a text that names one is believed.
        original: the text archived under a ref; `None` when it cannot be had.
        ref_of: gives refs to what is not archived yet.
        ledger: the evidence of everything compressed before.
        prompt: the user's own instruction for summaries of a name; `None` where there is none.
        settled: how many messages an earlier compression left; what was recorded since follows.
    """

    restorable: bool = False
    path: Callable[[str], str] | None = None
    restored: frozenset[str] = frozenset()
    refs: Container[str] = frozenset[str]()
    previews: Container[str] = frozenset[str]()
    wholes: Container[str] = frozenset[str]()
    original: Callable[[str], str | None] = _nothing
    ref_of: Refs = field(default_factory=Refs)
    ledger: Sequence[Entry] = ()
    prompt: Callable[[str], str | None] = _nothing
    settled: int = 0

"""What is archived of a conversation, as far as a plan needs it: refs, files, the ledger."""

from collections.abc import Callable, Container, Sequence
from dataclasses import dataclass, field

from context_compression.conversation.refs import Refs
from context_compression.evidence.ledger import Entry


def _nothing(ref: str) -> str | None:
    return None


@dataclass(frozen=True)
class Archive:
    """What a plan may know of the archive, and what receipts may promise.

    Attributes:
        restorable: whether a store keeps the originals, so that `context_restore` brings them back.
        path: where an offloaded text will lie, by ref; `None` without a store.
        restored: refs whose text was restored for a good part; they are not offloaded again.
        refs: the refs of all that is archived already.
        previews: SHA-256 of each text that stands in the view in place of a longer one.
        wholes: refs of longer texts whose preview has no known hash. A text that names one of
            these refs counts as its preview.
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

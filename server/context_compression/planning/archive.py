"""`Archive`: the archived content of a conversation, as far as a plan needs it."""

from collections.abc import Callable, Container, Sequence
from dataclasses import dataclass, field
from typing import Any

from context_compression.conversation.formats import plain
from context_compression.conversation.messages import strings_in
from context_compression.conversation.refs import Refs
from context_compression.evidence.ledger import Entry

RESTORE = "context_restore"


def offers_restore(tools: Any) -> bool:
    """Whether the tool definitions of a request offer our tool, in any dialect."""
    return any(text.endswith(RESTORE) for text in strings_in(plain(tools)))


def _nothing(ref: str) -> str | None:
    return None


@dataclass(frozen=True)
class Archive:
    """The archive as a plan sees it, and what receipts may promise.

    Attributes:
        restorable: whether `context_restore` can be called, and a store keeps the originals.
        path: takes a ref and returns the path of its offloaded text; `None` without a store.
        restored: refs whose text was restored to a large part; they are not offloaded again.
        refs: the refs of all content that is already archived.
        previews: the SHA-256 of each text that is in the view in place of a longer text.
        wholes: the refs of longer texts whose preview has no known hash. A text that names one of
            these refs counts as its preview.
        original: takes a ref and returns its archived text; `None` if the text is not available.
        ref_of: gives refs to content that is not archived yet.
        ledger: the evidence of everything that was compressed before.
        prompt: takes a name and returns the user's own instruction for summaries; `None` if there
            is none.
        settled: how many messages an earlier compression left; newer messages follow them.
        missing: how many recorded messages are not in the conversation in any form; `None` if no
            log says so.
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
    missing: int | None = None

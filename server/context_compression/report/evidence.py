"""Where the evidence of a session is now: in the context, only in the archive, or in neither."""

from collections.abc import Iterable, Sequence

from context_compression.compression.loss import Quotations, add_facts, no_facts, sorted_out
from context_compression.conversation.messages import Message
from context_compression.evidence.facts import Facts, facts
from context_compression.evidence.lexicon import Lexicon
from context_compression.progress import COMPARING, counted
from context_compression.report.measured import MeasuredStage
from context_compression.report.model import EvidenceClass


def evidence_of(
    stages: Sequence[MeasuredStage], archived: Iterable[Message]
) -> list[EvidenceClass]:
    """The evidence of all messages of a session and of its originals, by class.

    Args:
        stages: of its history.
        archived: the messages whose originals our archive holds.
    """
    lexicon = Lexicon()
    known: dict[int, Facts] = {}

    def gathered(messages: Iterable[Message]) -> Facts:
        sums = no_facts()
        for message in messages:
            key = id(message.source)  # a message that a compaction left is the same object
            if message.source is None or key not in known:
                known[key] = facts(message, lexicon)
            add_facts(sums, known[key])
        return sums

    live = stages[-1].messages
    added = [message for stage in stages for message in stage.added]
    total = gathered(counted(COMPARING, added))
    kept = gathered(archived)
    add_facts(total, kept)  # a hook may have archived a result before it came into the context
    report = sorted_out(total, gathered(live), kept, Quotations(live))
    return [
        EvidenceClass(name, loss.total, loss.retained, loss.recoverable, loss.lost)
        for name, loss in report.items()
    ]

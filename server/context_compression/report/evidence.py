"""Where the evidence of a session is now: in the context, only in the archive, or in neither."""

from collections.abc import Iterable, Sequence

from context_compression.compression.loss import Quotations, add_facts, no_facts, sorted_out
from context_compression.conversation.messages import Message
from context_compression.evidence.facts import facts
from context_compression.evidence.lexicon import Lexicon
from context_compression.progress import COMPARING, counted
from context_compression.report.measured import MeasuredStage
from context_compression.report.model import EvidenceClass
from context_compression.report.sampling import sample


def evidence_of(
    stages: Sequence[MeasuredStage], archived: Iterable[Message], share: float = 1
) -> list[EvidenceClass]:
    """The evidence of all messages of a session and of its originals, by class.

    Args:
        stages: of its history.
        archived: the messages whose originals our archive holds.
        share: of the texts, the part that is searched: see `sample`.
    """
    lexicon = Lexicon()
    total, shown, kept = no_facts(), no_facts(), no_facts()
    live = {id(message.source): message for message in stages[-1].messages}
    added = (message for stage in stages for message in stage.added)
    for message in counted(COMPARING, [*sample(added, share)]):
        evidence = facts(message, lexicon)
        add_facts(total, evidence)
        if live.pop(id(message.source), None):  # what a compaction left is the same object
            add_facts(shown, evidence)
    for message in sample(live.values(), share):
        add_facts(shown, facts(message, lexicon))
    for message in sample(archived, share):
        add_facts(kept, facts(message, lexicon))
    add_facts(total, kept)  # a hook may have archived a result before it came into the context
    report = sorted_out(total, shown, kept, Quotations(stages[-1].messages))
    return [
        EvidenceClass(name, loss.total, loss.retained, loss.recoverable, loss.lost)
        for name, loss in report.items()
    ]

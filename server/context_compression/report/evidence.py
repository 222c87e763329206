"""Where the evidence of a session is now: in the context, only in the archive, or in neither."""

from collections.abc import Iterable, Iterator, Sequence

from context_compression.compression.loss import Quotations, add_facts, no_facts, sorted_out
from context_compression.conversation.messages import Message
from context_compression.evidence.facts import facts
from context_compression.evidence.lexicon import Lexicon
from context_compression.progress import COMPARING, counted
from context_compression.report.measured import MeasuredStage
from context_compression.report.model import EvidenceClass
from context_compression.report.sampling import sample, size_of


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
    live = {id(raw): place for place, raw in enumerate(stages[-1].stage.messages)}
    added = [pick for stage in stages for pick in _picked(stage, share)]
    for stage, place in counted(COMPARING, added):
        evidence = facts(stage.messages[place], lexicon)
        add_facts(total, evidence)
        if live.pop(id(stage.stage.messages[place]), None) is not None:
            add_facts(shown, evidence)  # what a compaction left is the same object
    left = [*live.values()]
    for place in sample(left, [stages[-1].sizes[place] for place in left], share):
        add_facts(shown, facts(stages[-1].messages[place], lexicon))
    originals = [*archived]
    for message in sample(originals, [*map(size_of, originals)], share):
        add_facts(kept, facts(message, lexicon))
    add_facts(total, kept)  # a hook may have archived a result before it came into the context
    report = sorted_out(total, shown, kept, Quotations(stages[-1].messages))
    return [
        EvidenceClass(name, loss.total, loss.retained, loss.recoverable, loss.lost)
        for name, loss in report.items()
    ]


def _picked(stage: MeasuredStage, share: float) -> Iterator[tuple[MeasuredStage, int]]:
    """The messages that came in a stage and are searched, each with its place in the stage."""
    places = range(stage.stage.carried, len(stage.messages))
    for place in sample(places, stage.sizes[stage.stage.carried :], share):
        yield stage, place

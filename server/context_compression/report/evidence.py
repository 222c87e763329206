"""Where the evidence of a session is now: in the context, only in the archive, or in neither."""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any

from context_compression.compression.loss import Quotations, add_facts, no_facts, sorted_out
from context_compression.conversation.authors import question_calls
from context_compression.conversation.formats import parse
from context_compression.conversation.messages import Message, Text, ToolResult
from context_compression.errors import ContextCompressionError
from context_compression.evidence.facts import Facts, facts
from context_compression.evidence.lexicon import Lexicon
from context_compression.report.measured import MeasuredStage
from context_compression.report.model import EvidenceClass


def evidence_of(
    stages: Sequence[MeasuredStage], originals: Mapping[str, Any]
) -> list[EvidenceClass]:
    """The evidence of all messages of a session, by class.

    Args:
        stages: of its history.
        originals: what our archive holds of it, by ref.
    """
    lexicon = Lexicon()
    questions = {id for stage in stages for id in question_calls(stage.messages)}
    known: dict[int, Facts] = {}

    def gathered(messages: Iterable[Message]) -> Facts:
        sums = no_facts()
        for message in messages:
            key = id(message.source)
            if key not in known:
                known[key] = facts(message, lexicon, questions)
            add_facts(sums, known[key])
        return sums

    total = gathered(message for stage in stages for message in stage.added)
    live = stages[-1].messages
    shown = gathered(live)
    archived = [*_as_messages(originals.values())]
    kept = gathered(archived)
    report = sorted_out(total, shown, kept, Quotations(live))
    return [
        EvidenceClass(name, loss.total, loss.retained, loss.recoverable, loss.lost)
        for name, loss in report.items()
    ]


def _as_messages(originals: Iterable[Any]) -> Iterable[Message]:
    """Originals as messages; of a text it is unknown who wrote it, so it is taken for each."""
    for original in originals:
        if isinstance(original, str):
            text = Text(original)
            yield Message("tool", (ToolResult("", (text,)),), source=text)
            yield Message("assistant", (text,), source=(text,))
            yield Message("user", (text,), source=[text])
        else:
            with suppress(ContextCompressionError):
                yield from parse([original]).messages

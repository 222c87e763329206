"""A compression that drops the model's thinking and nothing else."""

from context_compression.compression.outcome import Outcome, applied
from context_compression.compression.request import CompressionRequest
from context_compression.compression.result import Result, Step
from context_compression.compression.subject import PreparedConversation
from context_compression.strategies import thinking
from context_compression.tokens.usage import for_model


def without_thinking(ask: CompressionRequest) -> Result:
    """The conversation without any thinking, whatever its size and the strategy asked for.

    Raises:
        ContextCompressionError: as `library.compress`.
    """
    subject = PreparedConversation(ask, for_model(ask.settings, ask.model), thinking.NAME)
    proposed = thinking.edits(subject.plan)
    step = Step(thinking.NAME, subject.fixed + subject.view(proposed)[1])
    return applied(subject, Outcome(proposed, thinking.NAME, (step,)))

"""A compression that drops only the model's thinking."""

from context_compression.compression.outcome import Outcome, applied
from context_compression.compression.prepared import PreparedConversation
from context_compression.compression.request import CompressionRequest
from context_compression.compression.result import Result, Step
from context_compression.strategies import thinking
from context_compression.tokens.usage import for_model


def without_thinking(request: CompressionRequest) -> Result:
    """The conversation without any thinking, whatever its size and the strategy of the request.

    Raises:
        ContextCompressionError: see `library.functions.compress`.
    """
    settings = for_model(request.settings, request.model)
    prepared = PreparedConversation(request, settings, thinking.NAME)
    edits = thinking.edits(prepared.plan)
    step = Step(thinking.NAME, prepared.fixed_tokens + prepared.view(edits)[1])
    return applied(prepared, Outcome(edits, thinking.NAME, (step,)))

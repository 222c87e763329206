"""A compression that drops every message, so that all of them are archived."""

from context_compression.compression.outcome import Outcome, changed
from context_compression.compression.prepared import PreparedConversation
from context_compression.compression.request import CompressionRequest
from context_compression.compression.result import Result
from context_compression.planning.edits import Edit, View
from context_compression.tokens.usage import for_model

NAME = "archive"


def with_all_dropped(request: CompressionRequest) -> Result:
    """A result without any message; the store of the request keeps all of them.

    Pins and the newest messages are no exception: a host that shortens its history spares nothing.

    Raises:
        StoreError: the store could not keep the originals.
    """
    settings = for_model(request.settings, request.model)
    prepared = PreparedConversation(request, settings, NAME)
    edit = Edit(0, len(prepared.planned.messages), (), "its host may drop it")
    outcome = Outcome((edit,), NAME, ())
    result = changed(prepared, outcome, View((), (), (edit,)), prepared.fixed_tokens)
    if request.store:
        request.store.keep(prepared.conversation.raw, result)
    return result

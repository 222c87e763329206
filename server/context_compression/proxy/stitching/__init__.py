"""One answer for the client, out of several responses of the provider.

A model that calls `context_restore` gets its answer from us, in a further request of the same turn.
The client sees one response: text and thinking as they come, its own calls, no call of ours, the
indices without holes, the id of the first response. Nothing here does input or output.

Usage is summed, field by field: what was paid. So a client that reads the size of its context from
the input tokens of an answer sees more than the last request had.

    stitcher = stitcher_for(api)
    ... stitcher.feed(data) ...            # goes to the client
    reply = stitcher.ended()
    if reply.goes_on:                      # it calls nothing but our tool
        stitcher.next()                    # when the further response has begun
        ...                                # feed, ended
    else:
        stitcher.finish()                  # goes to the client

stitcher.py    what all APIs have in common; `Reply`, what one response says
messages.py    Anthropic's Messages
chat.py        OpenAI's Chat Completions
responses.py   OpenAI's Responses
fields.py      JSON: fields replaced, deltas merged, usage summed
"""

from collections.abc import Mapping, Sequence
from contextlib import suppress

from context_compression.integrations.apis import CHAT, MESSAGES, RESPONSES, Api, Json
from context_compression.proxy.stitching.chat import ChatStitcher
from context_compression.proxy.stitching.messages import MessagesStitcher
from context_compression.proxy.stitching.responses import ResponsesStitcher
from context_compression.proxy.stitching.stitcher import MALFORMED, Reply, Stitcher

__all__ = ["MALFORMED", "Reply", "Stitcher", "joined", "reply_of", "stitcher_for"]

STITCHERS: Mapping[str, type[Stitcher]] = {
    MESSAGES.name: MessagesStitcher, CHAT.name: ChatStitcher, RESPONSES.name: ResponsesStitcher,
}  # fmt: skip


def stitcher_for(api: Api) -> Stitcher:
    """A stitcher for one request of a client that streams."""
    return STITCHERS[api.name]()


def reply_of(api: Api, response: Json) -> Reply:
    """What a whole response says; nothing to do with it if it does not keep to its API."""
    with suppress(*MALFORMED):
        return STITCHERS[api.name].reply_of(response)
    return Reply([], has_others=False, complete=True, _message=lambda: response)


def joined(api: Api, responses: Sequence[Json]) -> Json:
    """The one response that the client gets, out of whole responses of the provider.

    One response without a call of ours is returned as it is.
    """
    return STITCHERS[api.name].joined(responses)

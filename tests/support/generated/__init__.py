"""Conversations made by hypothesis: valid ones in every dialect, and broken ones.

`conversations()` draws the first two dialects unless told otherwise; `EVERY_DIALECT` has all. With
`spread`, what belongs together may stand in several messages: a server's call and its result with
other calls in between, a tool and the search that found it, the blocks of one answer.
`text_protocols()` draws conversations whose commands and outputs are texts.
"""

from generated.conversations import conversations
from generated.damages import broken
from generated.talk import DIALECTS, EVERY_DIALECT, Messages, dialects, rarely
from generated.text_protocols import text_protocols

__all__ = [
    "DIALECTS", "EVERY_DIALECT", "Messages", "broken", "conversations", "dialects", "rarely",
    "text_protocols",
]  # fmt: skip

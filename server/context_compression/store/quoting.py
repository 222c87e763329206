"""What stands in the JSON of a session: a text in each way it can be written, and possible refs."""

import json
import re

from context_compression.conversation.refs import DIGITS
from context_compression.store.files import to_json

HEX = re.compile(rb"[0-9a-f]{12,}")


def spellings(text: str) -> set[bytes]:
    """The forms in which `to_json` writes a text inside a string."""
    return {to_json(text)[1:-1], json.dumps(text)[1:-1].encode()}


def digits_in(data: bytes) -> set[str]:
    """All digits in JSON that could be a ref, short or long."""
    found: set[str] = set()
    for run in HEX.findall(data):
        whole = run.decode()
        found.update(whole[at : at + DIGITS] for at in range(len(whole) - DIGITS + 1))
        found.add(whole)
    return found

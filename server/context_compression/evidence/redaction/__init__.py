"""Secrets out of what goes to a model: each is replaced by `[redacted: kind]`, nothing is blocked.

Keys that carry their issuer's prefix are known by their shape; what stands behind `password=` or
`token:` must look random as well. Hashes, ids and paths are no secrets and stay. Every pattern
begins at the start of a word or at a rare one, so that a long run of letters is read once.

found.py         what a finder yields
looks.py         what a value looks like: random, a password, a placeholder
keys.py          keys with a prefix of their issuer
private_keys.py  private keys that span lines
assigned.py      values behind the name of a secret
passed.py        in headers, addresses, command lines
files.py         in files of their own format
coded.py         signs written as codes, colours between them
"""

import re
from collections.abc import Iterator

from context_compression.evidence.redaction.assigned import assigned
from context_compression.evidence.redaction.coded import CODE, Reading
from context_compression.evidence.redaction.files import in_files
from context_compression.evidence.redaction.keys import keys
from context_compression.evidence.redaction.passed import passed
from context_compression.evidence.redaction.private_keys import private_keys
from context_compression.evidence.redaction.secret import Secret

MARK = re.compile(r"\[redacted: [a-z0-9 ]{1,40}\]")
"""What stands in place of a secret."""
MARGIN = 2_000
"""Characters behind a cut that may tell what stands before it."""
FINDERS = (private_keys, keys, passed, in_files, assigned)
"""Where two find the same, the first tells what it is."""


def redact(text: str) -> str:
    """The text with `[redacted: kind]` in place of every secret; the same text if there is none.

    `redact("curl -H 'Authorization: Bearer abcDEF0123456789'")` ->
    `"curl -H 'Authorization: Bearer [redacted: bearer token]'"`
    """
    while found := _merged(_all_in(text)):
        shown: list[str] = []
        position = 0
        for start, stop, kind in found:
            shown += [text[position:start], f"[redacted: {kind}]"]
            position = stop
        text = "".join([*shown, text[position:]])
    return text


def beginning(text: str, most: int) -> str:
    """The first `most` characters of a text; where it is cut, of what is left without its secrets.

    Half a secret could not be told from other text any more.
    """
    if len(text) <= most:
        return text
    whole = redact(text[: most + MARGIN])
    at = whole.rfind("[", 0, most)
    mark = MARK.match(whole, at) if at >= 0 else None
    return whole[:at] if mark and mark.end() > most else whole[:most]


def _all_in(text: str) -> Iterator[Secret]:
    """Every secret in a text, also in what its codes stand for."""
    yield from _plain(text)
    if CODE.search(text):
        reading = Reading(text)
        for start, stop, kind in _plain(reading.text):
            yield Secret(*reading.place(start, stop), kind)


def _plain(text: str) -> Iterator[Secret]:
    # a line break in JSON is one in what it quotes; each has two characters
    if "\\" in text:
        text = text.replace("\\n", " \n").replace("\\r", " \r").replace("\\t", " \t")
    for finder in FINDERS:
        yield from finder(text)


def _merged(found: Iterator[Secret]) -> list[Secret]:
    """In order, those that overlap as one, of the kind of the one that begins first."""
    merged: list[Secret] = []
    for each in sorted(found, key=lambda each: each.start):
        if merged and each.start < merged[-1].stop:
            if each.stop > merged[-1].stop:
                merged[-1] = merged[-1]._replace(stop=each.stop)
        else:
            merged.append(each)
    return merged

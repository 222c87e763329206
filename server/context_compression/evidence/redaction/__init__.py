"""Redaction: secrets in texts for a model are replaced by `[redacted: kind]`.

Keys with a prefix of their issuer are recognised by their form. A value after `password=` or
`token:` must also look random, or like a password. Hashes, ids and paths are not secrets and are
kept. Every pattern begins at the start of a word or with a rare word, so that a long run of letters
is read only once.

looks.py         `Secret` and `SecretPlace`; whether a value looks random or like a password
keys.py          keys that are recognised by their form: key_forms.txt
values.py        values after the name of a secret; in headers, addresses and commands: places.txt
files.py         private keys, and secrets in files of particular formats
coded.py         secrets with escaped characters or colour codes
"""

import re
from collections.abc import Iterator

from context_compression.evidence.redaction.coded import CODE, DecodedLines
from context_compression.evidence.redaction.files import in_files, private_keys
from context_compression.evidence.redaction.keys import keys
from context_compression.evidence.redaction.looks import Secret
from context_compression.evidence.redaction.values import assigned, passed, placed
from context_compression.strings import in_words

MARK = re.compile(r"\[redacted: [a-z0-9 ]{1,40}\]")
"""The mark in place of a secret."""
MARGIN = 2_000
"""How many characters after a cut are read to recognise a secret at the cut."""
LONGEST_TITLE = 2_000
"""So many characters of a title are looked at."""
FINDERS = (private_keys, keys, passed, in_files, assigned, placed)
"""The finders. If several find the same secret, the first one decides its kind."""


def redact(text: str) -> str:
    """The text with `[redacted: kind]` in place of every secret; the same text if there is none.

    `redact("curl -H 'Authorization: Bearer abcDEF0123456789'")` ->
    `"curl -H 'Authorization: Bearer [redacted: bearer token]'"`
    """
    while secrets := _merged(_all_in(text)):
        shown: list[str] = []
        position = 0
        for start, stop, kind in secrets:
            shown += [text[position:start], f"[redacted: {kind}]"]
            position = stop
        text = "".join([*shown, text[position:]])
    return text


def title_line(title: str, most: int) -> str:
    """A title on a line of at most `most` characters, to be put in quotation marks; no secrets."""
    return in_words(redact(title[:LONGEST_TITLE]), most).replace('"', "'")


def beginning(text: str, most: int) -> str:
    """The first `most` characters of a text; a text that must be cut is redacted first.

    After the cut, half a secret could not be recognised. A mark is never cut; it is left out.
    """
    if len(text) <= most:
        return text
    redacted = redact(text[: most + MARGIN])
    at = redacted.rfind("[", 0, most)
    mark = MARK.match(redacted, at) if at >= 0 else None
    return redacted[:at] if mark and mark.end() > most else redacted[:most]


def _all_in(text: str) -> Iterator[Secret]:
    """Every secret in a text, also in its decoded form (see `coded`)."""
    yield from _plain(text)
    if CODE.search(text):
        reading = DecodedLines(text)
        for start, stop, kind in _plain(reading.text):
            yield Secret(*reading.place(start, stop), kind)


def _plain(text: str) -> Iterator[Secret]:
    # an escaped line break in JSON becomes a blank and a line break, which also has two characters
    if "\\" in text:
        text = text.replace("\\n", " \n").replace("\\r", " \r").replace("\\t", " \t")
    for finder in FINDERS:
        yield from finder(text)


def _merged(secrets: Iterator[Secret]) -> list[Secret]:
    """The secrets in order; overlapping secrets become one, of the kind of the first."""
    merged: list[Secret] = []
    for each in sorted(secrets, key=lambda each: each.start):
        if merged and each.start < merged[-1].stop:
            if each.stop > merged[-1].stop:
                merged[-1] = merged[-1]._replace(stop=each.stop)
        else:
            merged.append(each)
    return merged

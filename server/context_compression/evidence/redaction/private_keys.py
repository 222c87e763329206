r"""Private keys that span lines: PEM, OpenSSH, PGP, PuTTY, and those of JSON Web Keys.

A block may stand in a listing with numbers, in a diff, behind `> `, indented, or in JSON, where
its line breaks are `\n`. Of one that was cut, the lines next to the mark that is left go.
"""

import re
from collections.abc import Iterator

from context_compression.evidence.redaction.secret import Secret

KIND = "private key"
MARK = re.compile(
    r"-----?[ ]?(BEGIN|END)[ +_](?:(?:[A-Z0-9]{1,12}[ +_]){0,4}PRIVATE[ +_]KEY(?:[ +_]BLOCK)?"
    r"|OpenVPN[ ]Static[ ]key[ ]V1)[ ]?-----?"
)
LONGEST = 30_000
"""Characters of a block, with what stands before its lines."""
DENSE = 0.4
"""Share of the text between two marks from which on all of it is the key."""
PAYLOAD = re.compile(r"[A-Za-z0-9+/]{16,}")
BEFORE_LINE = (
    r"""[ \t]*(?:\d{1,6}[ \t]*[→\t:|][ \t]?)?(?:(?:[-+>#|*]|//|\\)[ \t]?){0,4}[ \t]*["'`]?"""
)
"""What stands before a line: its number, signs of a diff or a quote, blanks, a quotation mark."""
LINE = re.compile(
    rf"{BEFORE_LINE}(?:[A-Za-z0-9+/]{{40,}}={{0,2}}|[A-Za-z0-9+/]{{4,}}==?)"
    r"[\"'`,;+ \t\r\\]{0,8}$",
    re.MULTILINE,
)
"""A line of a key: a long one, or a short one that ends as the last does."""
HEADER = re.compile(
    rf"{BEFORE_LINE}(?:[A-Z][A-Za-z-]{{2,20}}: [^\n]{{1,200}}|[\"'`,;+ \r\\]*)$", re.M
)
"""`Proc-Type: 4,ENCRYPTED`, or nothing."""
PUTTY = re.compile(r"Private-Lines: ?(\d{1,3})[ \t\r\\]*\n")
JWK = re.compile(
    r"""(?P<q>\\{0,31}["'])(?:d|p|q|dp|dq|qi|k)(?P=q)\s{0,3}:\s{0,3}(?P=q)"""
    r"""(?P<value>[A-Za-z0-9_-]{16,}+)(?P=q)"""
)
NEAR = 4_000
"""Characters around a member of a JSON Web Key within which it says that it is one."""


def private_keys(text: str) -> Iterator[Secret]:
    """The private keys in a text; a mention of a header is none."""
    if "PRIVATE" in text or "OpenVPN" in text:
        yield from _blocks(text)
    if "Private-Lines" in text:
        for found in PUTTY.finditer(text):
            stop = _lines_after(text, found.end(), int(found[1]))
            if stop > found.end():
                yield Secret(found.end(), stop, KIND)
    if "kty" in text:
        for found in JWK.finditer(text):
            if text.find("kty", max(0, found.start() - NEAR), found.end() + NEAR) >= 0:
                yield Secret(*found.span("value"), KIND)


def _blocks(text: str) -> Iterator[Secret]:
    marks = list(MARK.finditer(text))
    closed = -1  # where the block before ended
    for number, mark in enumerate(marks):
        if mark[1] == "END":
            if mark.start() >= closed:
                start = _lines_before(text, mark.start())
                if start < mark.start():
                    yield Secret(start, mark.end(), KIND)
            continue
        after = marks[number + 1] if number + 1 < len(marks) else None
        start, stop = mark.end(), mark.end()
        if after and after[1] == "END" and after.start() - start <= LONGEST:
            stop = after.start()
            if sum(map(len, PAYLOAD.findall(text, start, stop))) > DENSE * (stop - start):
                yield Secret(mark.start(), after.end(), KIND)
                closed = after.end()
                continue
        end = _lines_after(text, start)
        if end > start:
            yield Secret(mark.start(), end, KIND)
        for line in LINE.finditer(text, end, stop):
            yield Secret(*line.span(), KIND)


def _lines_after(text: str, start: int, most: int = LONGEST) -> int:
    """Where the lines of a key end that begin behind a mark; where it begins if there are none."""
    at = end = start
    while most > 0 and at < min(len(text), start + LONGEST):
        stop = text.find("\n", at)
        stop = len(text) if stop < 0 else stop
        if LINE.match(text, at, stop):
            end = stop
            most -= 1
        elif not HEADER.match(text, at, stop):
            break
        at = stop + 1
    return end


def _lines_before(text: str, stop: int) -> int:
    """Where the lines of a key begin that end before a mark; where it stands if there are none."""
    at = start = text.rfind("\n", 0, stop) + 1
    if at == 0:
        return stop
    while at > max(0, stop - LONGEST):
        above = text.rfind("\n", 0, at - 1) + 1
        if not LINE.match(text, above, at - 1):
            break
        at = start = above
    return start if start < text.rfind("\n", 0, stop) + 1 else stop

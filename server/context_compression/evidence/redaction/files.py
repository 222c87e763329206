r"""Secrets in files of particular formats: private keys, netrc, pgpass, Kubernetes, mnemonics.

A block of a private key may be in a listing with line numbers, in a diff, after `> `, indented, or
in JSON, where its line breaks are `\n`. If it was cut, the lines next to the remaining mark are the
key.
"""

import re
from collections.abc import Iterator

from context_compression.evidence.redaction.looks import (
    BLANK,
    Secret,
    SecretPlace,
    could_be_password,
    each,
    is_given,
    is_placeholder,
    is_strong,
    parts_in,
    secrets_at,
)

KIND = "private key"
MARK = re.compile(
    r"-----?[ ]?(BEGIN|END)[ +_](?:(?:[A-Z0-9]{1,12}[ +_]){0,4}PRIVATE[ +_]KEY(?:[ +_]BLOCK)?"
    r"|OpenVPN[ ]Static[ ]key[ ]V1)[ ]?-----?"
)
LONGEST = 30_000
"""The most characters of a block, including the text before its lines."""
DENSE = 0.4
"""If a larger share of the text between two marks is key characters, all of it is the key."""
PAYLOAD = re.compile(r"[A-Za-z0-9+/]{16,}")
BEFORE_LINE = (
    r"""[ \t]*+(?:\d{1,6}[ \t]*[→\t:|][ \t]?)?+(?:(?:[-+>#|*]|//|\\)[ \t]?){0,4}[ \t]*+["'`]?"""
)
"""The text before a line of a key: a line number, signs of a diff or quote, a quotation mark."""
LINE = re.compile(
    rf"{BEFORE_LINE}(?:[A-Za-z0-9+/]{{40,}}={{0,2}}|[A-Za-z0-9+/]{{4,}}==?)"
    r"[\"'`,;+ \t\r\\]{0,8}$",
    re.MULTILINE,
)
"""A line of a key: a long line, or a short line that ends like the last line of a key."""
FRAGMENT = re.compile(
    r"(?<![A-Za-z0-9+/])(?:[A-Za-z0-9+/]{40,}+={0,2}|[A-Za-z0-9+/]{4,}+==?)"
    r"[\"'`,;+ \t\r\\]{0,8}$",
    re.MULTILINE,
)
"""The end of a line that is a line of a key, after any text."""
HEADER = re.compile(
    rf"{BEFORE_LINE}(?:[A-Z][A-Za-z-]{{2,20}}: [^\n]{{1,200}}|[\"'`,;+ \r\\]*)$", re.M
)
"""A line before the key: a header such as `Proc-Type: 4,ENCRYPTED`, or an empty line."""
PUTTY = re.compile(r"Private-Lines: ?(\d{1,3})[ \t\r\\]*\n")
JWK = re.compile(
    r"""(?P<q>\\{0,31}["'])(?:d|p|q|dp|dq|qi|k)(?P=q)\s{0,3}:\s{0,3}(?P=q)"""
    r"""(?P<value>[A-Za-z0-9_-]{16,}+)(?P=q)"""
)
XML = re.compile(r"<(?:D|P|Q|DP|DQ|InverseQ)>([A-Za-z0-9+/\s]{16,4000}+={0,2})</")
"""A private number of a key in XML (`RSAKeyValue`)."""
MOST_HEADERS = 20
"""How many lines between a mark and its key may be no line of the key."""
NEAR = 4_000
"""How many characters around a member of a JSON Web Key are searched for its `kty`."""


def private_keys(text: str) -> Iterator[Secret]:
    """The private keys in a text; a header without a key does not count."""
    if "PRIVATE" in text or "OpenVPN" in text:
        yield from _blocks(text)
    if "Private-Lines" in text:
        for match in PUTTY.finditer(text):
            stop = _lines_after(text, match.end(), int(match[1]))
            if stop > match.end():
                yield Secret(match.end(), stop, KIND)
    if "KeyValue>" in text:
        yield from (Secret(*match.span(1), KIND) for match in XML.finditer(text))
    if "kty" in text:
        for match in JWK.finditer(text):
            if text.find("kty", max(0, match.start() - NEAR), match.end() + NEAR) >= 0:
                yield Secret(*match.span("value"), KIND)


def _blocks(text: str) -> Iterator[Secret]:
    marks = list(MARK.finditer(text))
    closed = -1  # the end of the last complete block
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
        for line in FRAGMENT.finditer(text, end, stop):
            yield Secret(*line.span(), KIND)


def _lines_after(text: str, start: int, most: int = LONGEST) -> int:
    """The end of the key lines that begin at `start`; `start` if there are none."""
    at = end = start
    last = min(len(text), start + LONGEST)
    headers = 0
    while most > 0 and at < last and headers < MOST_HEADERS:
        stop = text.find("\n", at, last)
        stop = last if stop < 0 else stop
        if LINE.match(text, at, stop):
            end = stop
            most -= 1
        elif HEADER.match(text, at, stop):
            headers += 1
        else:
            break
        at = stop + 1
    return end


def _lines_before(text: str, stop: int) -> int:
    """The start of the key lines that end at `stop`; `stop` if there are none."""
    first = max(0, stop - LONGEST)
    at = start = line = text.rfind("\n", first, stop) + 1
    while at > first:
        above = max(first, text.rfind("\n", first, at - 1) + 1)
        if not LINE.match(text, above, at - 1):
            break
        at = start = above
    return start if start < line else stop


NETRC = re.compile(
    rf"(?<!\w)login{BLANK}{{1,16}}[^\s\"'\\]{{1,120}}{BLANK}{{1,16}}"
    rf"(?:account{BLANK}{{1,16}}[^\s\\]{{1,80}}{BLANK}{{1,16}})?"
    rf"password{BLANK}{{1,16}}([^\s\"'\\]{{3,300}})"
)
PGPASS = re.compile(
    r"(?<![^\s\"'`\t→|+>-])[\w.*-]{1,120}:(?:54\d\d|\*):[\w.*-]{1,80}:[\w.*@-]{1,80}:"
    r"([^\s:\"'`\\]{4,200})(?=[\s\"'`\\]|\Z)"
)
"""`host:port:database:user:password` with a port of PostgreSQL."""
KUBERNETES = re.compile(r"""kind(?:\\{0,31}["'])?:\s?(?:\\{0,31}["'])?(?:Sealed)?Secret\b""")
DATA = re.compile(r"""(?:\\{0,31}["'])?(?:stringD|d)ata(?:\\{0,31}["'])?:[\s\\]*+\{?""")
MEMBER = re.compile(
    r"""[ \t\d→|+>\\-]{0,20}(?P<q>\\{0,31}["'])?[\w.-]{1,120}(?(q)(?P=q)):[ ]?"""
    r"""(?P<v>\\{0,31}["'])?(?P<value>[^\s"'\\,}]{4,30000}+)(?(v)(?P=v))[ \t\\]*,?[\s\\]*"""
)
DOCUMENT = 8_000
"""How many characters around the kind of a document are searched for its data."""
MNEMONIC = re.compile(
    r"(?:nemonic|(?i:seed[ _-]?(?:phrase|words))|ecovery[ _-]?[pP]hrase)"
    r"[\"'\\]{0,9}[ \t]{0,4}[:=]?[ \t]{0,4}[\"'\\]{0,9}"
    r"((?:[a-z]{3,8}[ ]){11,23}[a-z]{3,8})"
)


DIRECTIVE = re.compile(
    r"(?:requirepass|masterauth|rootpw|bindpw|auth_pass|enable[ ](?:secret|password)"
    r"|password|secret)"
    r"(?:[ ][05789])?[ \t]{1,20}(?P<value>[^\s\"'\\:;(){}]{6,200}+)(?=[ \t]*(?:[\n\r\\]|\Z))"
)
"""A line of a configuration that is a name and a password: `requirepass …`, `password 7 …`."""
DIRECTIVES = ("requirepass", "masterauth", "rootpw", "bindpw", "auth_pass", "enable ", "password ")

FORMATS = (
    SecretPlace(("login",), NETRC, is_given),
    SecretPlace((":54", ":*:"), PGPASS, could_be_password, begins=False),
    SecretPlace(("nemonic", "seed", "ecovery"), MNEMONIC, bool, "secret"),
)


def in_files(text: str) -> Iterator[Secret]:
    """The secrets from such files in a text, in no particular order."""
    yield from secrets_at(FORMATS, text)
    if "kind" in text:
        done = 0
        for match in each(KUBERNETES, "kind", text):
            if match.start() >= done:
                start, done = _document(text, match)
                yield from _members(text, start, done)
    for part in parts_in(text, *DIRECTIVES):
        for match in each(DIRECTIVE, part, text):
            begins = text.rfind("\n", max(0, match.start() - 40), match.start()) + 1
            if not text[begins : match.start()].strip() and is_strong(match["value"]):
                yield Secret(*match.span("value"), "password")


def _document(text: str, kind: re.Match[str]) -> tuple[int, int]:
    """`(start, stop)` of the YAML document around a `kind`."""
    start = max(
        0,
        kind.start() - DOCUMENT,
        text.rfind("\n---", max(0, kind.start() - DOCUMENT), kind.start()),
    )
    stop = text.find("\n---", kind.end(), kind.end() + DOCUMENT)
    return start, min(len(text), kind.end() + DOCUMENT) if stop < 0 else stop


def _members(text: str, start: int, stop: int) -> Iterator[Secret]:
    """The values in the data of a Kubernetes Secret."""
    for data in DATA.finditer(text, start, stop):
        at = data.end()
        while member := MEMBER.match(text, at, stop):
            at = member.end()
            if not is_placeholder(member["value"]):
                yield Secret(*member.span("value"), "secret")

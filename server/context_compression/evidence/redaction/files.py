"""Secrets in files of particular formats: netrc, pgpass, Kubernetes Secrets, and mnemonics."""

import re
from collections.abc import Iterator

from context_compression.evidence.redaction.looks import (
    could_be_password,
    is_placeholder,
    is_strong,
)
from context_compression.evidence.redaction.secret import BLANK, Secret, each, parts_in

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


def in_files(text: str) -> Iterator[Secret]:
    """The secrets from such files in a text, in no particular order."""
    if "login" in text:
        for match in each(NETRC, "login", text):
            if not is_placeholder(match[1]):
                yield Secret(*match.span(1), "password")
    if ":54" in text or ":*:" in text:
        for match in PGPASS.finditer(text):
            if could_be_password(match[1]):
                yield Secret(*match.span(1), "password")
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
    for part in parts_in(text, "nemonic", "seed", "ecovery"):
        yield from (Secret(*match.span(1), "secret") for match in each(MNEMONIC, part, text))


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

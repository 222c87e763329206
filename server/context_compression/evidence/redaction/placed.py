"""Secrets without the name of one, in the places where secrets stand.

Such a place alone proves nothing, so the value must be of a kind that no name, id or hash is:
letters of both cases and digits that alternate, or a password after a user's name.
"""

import re
from collections.abc import Iterator

from context_compression.evidence.redaction.looks import (
    DIGITS,
    is_mixed,
    is_password,
    is_placeholder,
    is_random,
    is_strong,
)
from context_compression.evidence.redaction.secret import Secret, compiled, each, parts_in

QUOTE = r"(?:\\{0,31}[\"'`])?"
KEY = rf"{QUOTE}(?P<value>[A-Za-z0-9_][A-Za-z0-9_+/.~-]{{17,400}}+={{0,2}})(?![\w/:.@%$({{[<-])"
GIVEN = rf"{QUOTE}(?P<value>[^\s\"'`\\;|<>:/]{{6,100}}+)(?=[\s\"'`\\;|,)]|\Z)"
SAYS = r"(?:[ \t]|[ \t]?:[ ]?|[ ]is:?[ ])"
SIGNS = re.compile(r"[^A-Za-z0-9]+")

KEYS = (
    ("-", rf"(?<=[\s\"'])--?(?:t|k|a|p|r|tok|with)(?:[ ]|=){KEY}"),
    ("-H", rf"(?<=[\s\"'])-H[ ]?{QUOTE}[\w-]{{1,60}}:[ ]?(?:[\w-]{{1,30}}[ ])?{KEY}"),
    ("login ", rf"(?<![\w-])login[ ](?:[\w@.-]{{1,40}}[ ])?{KEY}"),
    ("auth", rf"(?<![\w-])auth(?:token|[ ]token)?[ ]{KEY}"),
    ("unseal ", rf"(?<=\s)unseal[ ]{KEY}"),
    ("service install", rf"(?<=\s)service[ ]install[ ]{KEY}"),
    ("pypi-token.", rf"pypi-token\.[\w-]{{1,40}}[ ]{KEY}"),
    ("authorize-account", rf"authorize-account[ ]\S{{1,60}}[ ]{KEY}"),
    ("mc ", rf"(?<!\w)mc[ ]config[ ]host[ ]add[ ]\S{{1,60}}[ ]\S{{1,200}}[ ]\S{{1,80}}[ ]{KEY}"),
    ("_key ", rf"(?<=\w)_key[ ]{KEY}"),
    *(
        (name, rf"{name}{QUOTE}{SAYS}{KEY}")
        for name in ("secret", "Secret", "token", "Token", "TOKEN", "SECRET")
    ),
    *((name, rf"{name}{QUOTE}{SAYS}(?P<long>){KEY}") for name in ("key", "Key", "KEY")),
    ("-D", rf"(?<=[\s\"'])-D[\w.-]{{1,60}}={KEY}"),
    *(
        (path, rf"{path}(?:[/-]password)?/{KEY}")
        for path in ("reset", "confirm", "verify", "invite", "magic", "unsubscribe")
    ),
)
"""Places of keys: a part that each holds, and a pattern whose group `value` is the key."""
PASSWORDS = (
    ("-u ", rf"(?<=\s)-u[ ]\S{{1,60}}[ ](?:[^\n;|]{{0,100}}?[ ])?-[pP][ ]{GIVEN}"),
    ("-U ", rf"(?<=\s)-U[ ]\S{{1,60}}[ ](?:[^\n;|]{{0,100}}?[ ])?-[pP][ ]{GIVEN}"),
    ("-l ", rf"(?<=\s)-l[ ]\S{{1,60}}[ ](?:[^\n;|]{{0,100}}?[ ])?-[pP][ ]{GIVEN}"),
    ("-user", rf"(?<=\s-)-user(?:name)?[ =]{QUOTE}[\w.@-]{{1,60}}:{GIVEN}"),
    ("_user ", rf"(?<=add)_user[ ][\w.@-]{{1,60}}[ ]{GIVEN}"),
    ("_password ", rf"(?<=change)_password[ ][\w.@-]{{1,60}}[ ]{GIVEN}"),
    ("login ", rf"(?<![\w-])login[ ][\w.-]{{1,60}}@[\w.-]{{1,60}}[ ]{GIVEN}"),
    ("net use ", rf"(?<!\w)net[ ]use[ ](?:\w:[ ])?\S{{1,80}}[ ]{GIVEN}(?=[ ]/user:)"),
    *((p, rf"(?<=\s){p}[ ]{GIVEN}") for p in ("-ap", "-xp")),
    *(
        (user, rf"(?<![\w./-]){user}(?::|[ ]/[ ]|[ ]and[ ](?!\w{{1,20}}[ ])){GIVEN}")
        for user in (
            "admin",
            "root",
            "administrator",
            "postgres",
            "elastic",
            "neo4j",
            "guest",
            "sa",
        )
    ),
    ("@", rf"(?<=[\w-])@[\w-]{{1,60}}(?:\.[\w-]{{1,40}}){{1,4}}(?::|[ ]/[ ]){GIVEN}"),
)
"""Places of passwords, after the name of a user or of an account."""
AT_HOST = re.compile(
    r"(?<![\w:./@-])[A-Za-z][\w.-]{0,40}:(?P<value>[^\s:/@\"'`\\<>{}$()\[\],]{6,60}+)"
    r"@(?:localhost|\d{1,3}(?:\.\d{1,3}){3}|[A-Za-z][\w-]{0,60}(?:\.[\w-]{1,60}){0,4}\.[A-Za-z]{2,12})(?![\w-])"
)
"""A password before a host, in an address without a scheme: `user:…@db.example`."""
VARIABLE = re.compile(rf"(?<![A-Za-z0-9_.$@-])(?P<name>[A-Z][A-Z0-9_]{{2,60}}+)=(?:base64:)?{KEY}")
"""A variable of the environment."""
HEXADECIMAL = re.compile(r"(?:0[xX])?(?:[0-9A-F]+|[0-9a-f]+)(?![A-Za-z0-9])")
PUBLIC = re.compile(
    r"(?:ID|HASH|SHA\d*|MD5|DIGEST|SUM|ETAG|REF|VERSION|TAG|REV|COMMIT|INTEGRITY|DATA|IMAGE|NONCE"
    r"|FINGERPRINT|UR[IL]|PATH|DIR|FILE|HOST|NAME|PUBLIC|PUB|PUBLIC_KEY|BASE64|CERT|CA|PEM)$"
)
"""The end of the name of a variable that holds no secret."""
SIGNED = re.compile(
    r"(?:jwt\.(?:sign|encode|verify|decode)|reateHmac|hmac\.new|Hmac\w{0,8})\("
    r"(?:[^()\"'\n]{0,60},|[\"'][^\"'\n]{0,40}[\"'],)?[ ]?b?"
    r"\\{0,31}[\"'](?P<value>[^\s\"'\\]{12,300}+)"
)
"""A call that signs with a key."""
COOKIE = re.compile(r"(?<=\s)-b[ ]?[\"']?[\w.-]{1,80}=(?P<value>[^\s;\"'\\]{16,400}+)")
USER = re.compile(r"(?<=\s)-[a-zA-Z]{0,5}u[ ]?[\"']?(?P<value>[A-Za-z0-9_-]{16,300}+):(?![\w$])")


def placed(text: str) -> Iterator[Secret]:
    """The secrets in a text that stand in such places, in no particular order."""
    for hint, shape in KEYS:
        if hint in text:
            for match in each(compiled(shape), hint, text):
                value = match["value"]
                if _is_key(value) and (len(value) >= 28 or "long" not in match.re.groupindex):
                    yield Secret(*match.span("value"), "secret")
    for hint, shape in PASSWORDS:
        if hint in text:
            for match in each(compiled(shape), hint, text):
                if is_strong(match["value"]) and not match["value"].endswith(".git"):
                    yield Secret(*match.span("value"), "password")
    if "@" in text:
        for match in AT_HOST.finditer(text):
            if is_password(match["value"], sure=True):
                yield Secret(*match.span("value"), "password")
    if "=" in text:
        for match in VARIABLE.finditer(text):
            if not PUBLIC.search(match["name"]) and _is_key(match["value"]):
                yield Secret(*match.span("value"), "secret")
    for hint in parts_in(text, "jwt.", "reateHmac", "hmac.new", "Hmac"):
        for match in each(SIGNED, hint, text):
            if is_random(match["value"]):
                yield Secret(*match.span("value"), "secret")
    if "curl" in text:
        for shape in (COOKIE, USER):
            for match in shape.finditer(text):
                if is_random(match["value"]):
                    yield Secret(*match.span("value"), "secret")


def _is_key(value: str) -> bool:
    """Whether a value is certainly random: letters of both cases and digits alternate."""
    letters = SIGNS.sub("", value)
    return (
        not is_placeholder(value)
        and "//" not in value
        and not HEXADECIMAL.match(value)
        and len(letters) >= 18
        and len(SIGNS.findall(value)) <= 1 + len(value) // 12
        and not letters.islower()
        and not letters.isupper()
        and len(DIGITS.findall(letters)) >= 3
        and is_mixed(letters, hexed=False)
    )

"""Values after the name of a secret, and secrets in headers, addresses and command lines.

After a name, `password = …`, `"apiKey": "…"`, `<token>…`, a value must look random, or like a
password if the name is that of a password. Where no name tells it, the place alone proves nothing:
the value must be of a kind that no name, id or hash is, letters of both cases and digits that
alternate, or a password after a user's name.
"""

import re
from base64 import b64decode
from collections.abc import Callable, Iterator, Sequence
from functools import cache, partial

from context_compression.evidence.redaction.looks import (
    BLANK,
    DIGITS,
    WORD,
    Secret,
    SecretPlace,
    compiled,
    could_be_password,
    each,
    is_key,
    is_mixed,
    is_password,
    is_placeholder,
    is_random,
    is_strong,
    parts_in,
    rows_of,
    secrets_at,
)

STEMS = {
    "pass": r"(?:[_-]?(?:word|wd|wort|phrase|code)|e)?", "pwd": "", "pw": "", "psk": "",
    "kennwort": "", "contrase": "[nñ]a", "senha": "", "wachtwoord": "", "lösenord": "",
    "parola": "", "hasł": "o", "heslo": "", "salasana": "", "şifre": "", "парол": "ь",
    "密码": "", "密碼": "", "口令": "", "パスワード": "", "비밀번호": "",
    "secret": r"(?:s|[_-]?access)?", "token": "", "cred": r"(?:ential)?s?", "key": "", "auth": "",
    "pat": "", "jwt": "", "bearer": "", "salt": "", "pepper": "", "verifier": "", "seed": "",
}  # fmt: skip
"""The ends of secrets' names in lower case: the first letters, which are searched, and the rest."""
SUFFIX = (
    r"(?:[_-]?(?:\d{1,3}|v\d|prod|production|dev|staging|test|live|base|value|b64|base64|plain|text"
    r"|hex|str|string|data)){0,2}"
)
"""The text that may follow in the name."""
QUOTE = r"""(?:\\{0,31}["'`]|[“‘])"""
"""A quotation mark; in JSON there are backslashes before it."""
BEHIND = rf"""
    {SUFFIX} (?:{QUOTE})? \]? [ \t]{{0,8}}
    (?: (?: (?::[ \t]?\w{{1,20}}[ \t]?)? ={{1,3}} | [:：]=? | => | <- ) [ \t]{{0,8}}
      | :[ ]?(?:[|>][+-]?)?[ \t\\]*\r?\n {BLANK}{{1,40}}
      | [ ](?:string|str)[ ]=[ ] (?= {QUOTE} )
      | ,?{BLANK}{{0,40}} (?:{QUOTE})? (?:value|content) (?:{QUOTE})? \s{{0,3}} [:=] \s{{0,3}}
      | (?P<row> [ \t]{{0,40}} \| [ \t]{{0,40}} )
      | (?P<said> [ \t] (?:for[ ]\w{{1,30}}[ ])? (?:is|was|es|est|ist|lautet|é|è) [ \t]?:?[ \t]
          | [ ]?[是为為は] [ ]? )
      | (?P<flag> [ \t]{{1,3}} )
      | (?P<given> ,?[ \t]{{0,3}} \(? [ \t]{{0,3}} (?= {QUOTE} ) )
      | (?P<element> (?:[ ][^<>\n]{{0,80}})? > \s{{0,20}} | </\w{{1,20}}> \s{{0,20}} <\w{{1,20}}> )
    )
    (?:base64:)?
    (?: [bfru]{{0,2}}(?P<quote>{QUOTE}) (?P<quoted> (?: (?!(?P=quote)) [^\s\\”’] ){{6,4000}}+ )
        (?: (?P=quote) | [”’] )
      | (?P<bare> [A-Za-z0-9+/_.~!@\#%^*-]{{6,4000}}+ ={{0,2}} ) (?! [\w(\[{{<`$] )
      | (?P<odd> [^\s"'`\\<>(){{}}\[\],;|&:]{{8,200}}+ ) (?= [\s"'`,;|\\] | \Z )
      | (?(element) (?P<inner> [^<>\s]{{4,4000}}+ ) \s{{0,20}} </ | (?!) )
    )
"""
"""The text from the name of a secret to its value. The value may be assigned, a YAML block, the
`value` of a name, in a table row, after a flag, an argument of a function, or in an XML element."""
QUALIFIED = re.compile(
    r"(?:api|access|account|auth|authentication|private|encrypt|encryption|decryption|cipher|crypto"
    r"|secret|client|shared|preshared|pre_shared|master|sign|signing|service|storage|app|application"
    r"|consumer|licen[sc]e|admin|deploy|session|hmac|subscription|ssh|write|server|host|functions?|jwt"
    r"|aes|webhook|integration|project|developer|root|management|bot|vault|unseal|recovery|stream"
    r"|ingest|rest|merchant|x)[ _.-]?$"
)
"""The text before `key` in the name of a secret: `api_key`, `masterKey`."""
BEFORE = 70
"""How many characters before a name are searched."""
ENVIRONMENT = re.compile(
    rf"(?<![A-Za-z0-9])(?!.{{0,{BEFORE}}}(?:PUBLIC|CACHE|SORT|PRIMARY|FOREIGN))"
    rf"[A-Z0-9_]{{1,{BEFORE}}}_$"
)
"""The beginning of a variable's name that ends with `KEY`."""
OPTION = re.compile(
    r"(?:^|[\s\"'])"
    r"(?:--?[\w-]{0,30}|(?:ENV|ARG|setenv|set(?:[ ]--?\w+){0,3}|config)[ ]\S{0,50})$"
)
"""An option, or the name in a command that sets a variable or an entry of a configuration."""
LONG_OPTION = re.compile(r"(?:^|\s)--$")
ELEMENT = re.compile(r"<[\w:.-]{0,60}(?:\s[^<>]{0,60})?>?$")
LINE = re.compile(r"(?:\A|[\n\r])[ \t\d→|+>-]*(?:export[ ]|ENV[ ]|set[ ])?[\"']?[\w.-]*\Z")
"""The beginning of a line up to a name that the line is about."""
LINE_END = re.compile(r"[ \t\\]*(?:[\n\r]|\Z|\\[nr])")
VARIABLE = re.compile(
    r"P[A-Z_]{2,20}=(?=[^\s=])|[Pp]\w{2,20}=(?=[a-z]{3,}[0-9]{1,6}(?:[;&]|[\\\s]*$))", re.M
)
"""A shell variable that holds a password."""
PASSWORDS = (
    "pass", "pwd", "pw", "psk", "kennwort", "contrase", "senha", "wachtwoord", "lösenord", "parola",
    "hasł", "heslo", "salasana", "şifre", "парол", "密", "口令", "パスワード", "비밀번호",
)  # fmt: skip
CODE = re.compile(r"==|!=|->|=>|\$\w+\Z|://|\.[a-z]+\Z")
"""A part of an expression of code, which an odd value has no part of."""
ALGORITHM = re.compile(
    r"(?i:sha|md|utf|base|argon|aes|int|uint|float|string|str|bytes?|hash|value|field|param|arg|line"
    r"|step|phase|version|http|oauth|mysql|python|varchar|char|word|row|column|item|input|option)\d"
)
"""A word with a number that is the name of something else than a password."""
PAIR = re.compile(rb"[\x20-\x7e]+:[\x20-\x7e]+")


def assigned(text: str) -> Iterator[Secret]:
    """The values after names of secrets in a text, in no particular order."""
    low = text.lower()
    if len(low) != len(text):  # `İ` grows
        low = re.sub(r"[^\x00-\x7f]", ".", text).lower()
    for stem in parts_in(low, *STEMS):
        for match in _behind(compiled(f"(?x){stem}{STEMS[stem]} {BEHIND}"), stem, low):
            group = next(name for name in ("quoted", "bare", "odd", "inner") if match[name])
            span = match.span(group)
            if _is_name(text, match) and _is_secret(text, match, text[slice(*span)], group):
                yield Secret(*span, "password" if stem in PASSWORDS else "secret")


def _behind(expression: re.Pattern[str], stem: str, low: str) -> Iterator[re.Match[str]]:
    """The matches for a stem; they may overlap, because a value may contain the next name."""
    at = low.find(stem)
    while at >= 0:
        match = expression.match(low, at)
        if match:
            yield match
        at = low.find(stem, at + len(stem))


def _is_name(text: str, match: re.Match[str]) -> bool:
    """Whether a stem is the end of a secret's name, unlike in `bypass` or in `key` alone."""
    start = match.start()
    before = text[max(0, start - BEFORE) : start]
    if match["flag"] and not OPTION.search(before):
        return False
    if match["element"] and not ELEMENT.search(before):
        return False
    if not match[0][0].isascii():
        return True
    if match[0].startswith("key"):
        named = QUALIFIED.search(before.lower())
        if match["flag"] and LONG_OPTION.search(before):
            return True
        return bool(named) or (text[start].isupper() and bool(ENVIRONMENT.search(before)))
    if match[0].startswith(("secret", "token", "pwd", "bearer")) or not before[-1:].isalpha():
        return True
    return (len(match[0]) > 5 and match[0][4:5].isalpha()) or text[start].isupper()


def _is_secret(text: str, match: re.Match[str], value: str, group: str) -> bool:
    sure = group != "bare"
    if group == "odd":
        return (
            match[0].startswith((*PASSWORDS, "secret"))
            and not CODE.search(value)
            and is_password(value, sure=False)
            and could_be_password(value)
            and any(map(str.islower, value))
            and any(map(str.isupper, value))
        )
    if match[0].startswith(PASSWORDS):
        if match["said"]:
            return could_be_password(value.rstrip(".,"))
        if group == "bare" and not match[0].startswith("pwd"):
            sure = _is_line(text, match) and ALGORITHM.match(value) is None
        is_given = match["flag"] or match["element"] or VARIABLE.match(text, match.start())
        return (
            is_random(value)
            or is_password(value, sure=sure)
            or (bool(is_given) and could_be_password(value))
        )
    if match["said"] or (
        match[0].startswith("pat") and not match["flag"] and text[match.start()].islower()
    ):
        return False
    return is_random(value) or (match[0].startswith("auth") and is_pair(value))


def _is_line(text: str, match: re.Match[str]) -> bool:
    """Whether a line holds nothing but a name and its value."""
    start = match.start()
    return (
        LINE.search(text, max(0, start - BEFORE), start) is not None
        and LINE_END.match(text, match.end()) is not None
    )


def is_pair(value: str) -> bool:
    """Whether a value is `user:password` in base64."""
    try:
        return PAIR.fullmatch(b64decode(value + "=" * (-len(value) % 4), validate=True)) is not None
    except ValueError:
        return False


AUTHORIZATION = re.compile(
    r"""(?:uthorization|UTHORIZATION)(?:\\{0,31}["'`])?\]?\s{0,3}(?:[:=,]|=>)\s{0,3}"""
    r"""(?:[frb]?\\{0,31}["'`])?"""
    r"""(?P<scheme>[A-Za-z][\w-]{0,30}[ =:]{1,2})?(?:token=|key=)?(?:\\{0,31}["'])?"""
    r"""(?P<value>[A-Za-z0-9+/._~:=|-]{8,}+)"""
)
SIGNED = re.compile(
    r"""\b(?:response|Signature|signature|nonce|cnonce)=\\{0,31}["']?([0-9a-zA-Z+/=]{16,}+)"""
)
"""The secret parts of a scheme with several parts (`Digest`, `AWS4-HMAC-SHA256`) on one line."""
BEARER = re.compile(r"(?:earer|EARER)[\s:]{1,3}([A-Za-z0-9+/._~-]{16,}+=*)")
COOKIE = re.compile(
    r"""(?:ookie|OOKIE)[sS]?(?:\\{0,31}["'])?\s{0,3}[:=]\s{0,3}(?:\\{0,31}["'])?(?=[\w.-]+=)"""
)
CRUMB = re.compile(r"""([\w.%-]{1,80})=([^;,\s"'\\]{8,}+)(?:;[ ]?)?|[^;\n"'\\]{1,200}+;[ ]?""")
IN_URL = re.compile(
    r"""://[^\s/:@'"<>{}$]{0,100}:(?!(?:password|passwd|pass|pwd|%[sdv])@)"""
    r"""([^\s/@'"<>{}$*\\]{3,200})(?=@[\w/\[$])"""
)
"""The text between `://user:` and `@`, except the placeholders of documentation."""
IN_HOST = re.compile(r"""://([A-Za-z0-9_.~%-]{12,300}+)(?=(?::[\w-]{0,40})?@\w)""")
"""A user's name in an address; it is a token if it looks random."""
OF_DRIVER = re.compile(
    r"""(?<![\w/.-])[\w.-]{1,60}[:/]([^\s:/@'"`\\]{4,200})"""
    r"""(?=@(?:tcp\(|unix\(|(?://)?[\w.-]{1,80}:1[45]\d\d[/:]))"""
)
"""The password in a driver's source: `user:password@tcp(…`, `user/password@host:1521/`."""
IN_QUERY = re.compile(
    r"""[?&;](?:(?:[Ss]ig|[Ss]ignature|[Xx]-(?:[Aa]mz|[Gg]oog)-[Ss]ignature|key|code|auth|jwt|sid"""
    r"""|session|sessionid|appid|APPID|hapikey|subscription-key|hash)=(?P<value>[A-Za-z0-9+/_.~%=-]{16,}+)"""
    r"""|(?:[Pp]assword|PASSWORD|[Pp]wd|PWD)\s?=\s?(?P<password>[^;&"'<>\s{}$\\]{4,200}+))"""
)
"""A value in a query, which must look random, or a password in a query or connection string."""

VALUE = r"""(?:\\{0,31}["'])?(?P<value>[^\s"'`\\;|<>]{3,200}+)"""
LOGIN = r"""(?:\\{0,31}["'])?[^\s:"'/$\\]{0,80}:(?:\\{0,31}["'])?(?P<value>[^\s"'`\\$]{3,200}+)"""
REST = r"(?:[^\n;|]|\\\n){0,300}?\s"
"""The text between a command and its option."""
COMMAND_OPTION = re.compile(
    r"\s(?:-[A-Za-z]{0,5}[aubpPUwkN]|--(?:proxy-)?user[= ]|--pass|--auth|--\w*-?creds|--body|--from"
    r"|-storepass|-keypass|/p[: ])"
)
"""An option of the commands; a text without such an option has none of these commands."""
GIVEN = r"""\\{0,31}["'](?P<value>[^\s"'\\]{3,200}+)\\{0,31}["']"""
PIPED = r"""\\{0,31}["']?[ ]?\|"""
TAKES = (
    r"[^\n|]{0,200}(?:\blogin\b|--with-token|-stdin\b|\bkinit\b|\bpasswd\b|--passphrase-fd"
    r"|\bsecret[ ]put\b|\bcryptsetup\b|\bsudo[ ]-S)"
)
"""The end of a command that reads a secret from its input."""
HERE = r"""[^\n;|<]{0,200}<<<[ ]?(?:\\{0,31}["'])?(?:[\w.-]{1,60}:)?"""
"""The beginning of a here-string, also of one with the user's name."""

CALLS = ("auth=(", "Auth(", "basic_auth(", "ogin(", "onnect(", "onnection(", "redential(")
CALL = re.compile(
    r"(?:auth=|(?:Basic|Digest|Proxy)?Auth|basic_auth|ogin|(?<=[cC])onnect|onnection|redential)\("
    r"(?:\\?[\"'][^\"'\n]{0,80}\\?[\"']|[\w.]{1,40}),[ ]?(?:\\?[\"'][^\"'\n]{0,80}\\?[\"'],[ ]?)?"
    r"\\?[\"'](?P<value>[^\s\"'\\]{6,200}+)\\?[\"'][ ]?[,)]"
)
"""A call with a user's name and a password: `login("bob", "…")`."""
TOLD = re.compile(
    r"(?:redentials?|creds|ogin:)(?![\w.(])(?:[ ](?:are|is))?[ ]?[:=]?[ ]?[\"'`(]?"
    r"[\w.@-]{2,40}[ ]?[/:][ ]?"
    r"(?P<value>[^\s\"'`\\<>()\[\]/]{6,100}+)"
)
"""A user's name and a password in prose: `credentials: admin:…`."""


PASSED = (
    SecretPlace(("earer", "EARER"), BEARER, is_key, "bearer token"),
    SecretPlace(("://",), IN_URL, bool, begins=False),
    SecretPlace(("://",), IN_HOST, is_random, "secret", begins=False),
    SecretPlace(("@tcp(", "@unix(", ":1"), OF_DRIVER, could_be_password, begins=False),
    SecretPlace(CALLS, CALL, is_strong),
    SecretPlace(("redentials", "creds", "ogin:"), TOLD, is_strong),
)


def passed(text: str) -> Iterator[Secret]:
    """The secrets in headers, addresses and command lines of a text, in no particular order."""
    yield from _in_headers(text)
    yield from secrets_at(PASSED, text)
    if "=" in text:
        for match in IN_QUERY.finditer(text):
            if match["value"] and is_random(match["value"]):
                yield Secret(*match.span("value"), "secret")
            elif match["password"] and not is_placeholder(match["password"]):
                yield Secret(*match.span("password"), "password")
    if " " in text:
        has_option = (" -" in text or "/p" in text) and COMMAND_OPTION.search(text)
        if has_option:
            yield from secrets_at(_places("commands", _is_argument), text)
        yield from secrets_at(_places("statements", _is_argument), text)


@cache
def _places(
    section: str, fits: Callable[[str], bool], kind: str = "password"
) -> Sequence[SecretPlace]:
    """The places in a section of `places.txt`."""
    shapes = EXPRESSIONS.items()
    rows = [row.split(" | ", 1) for row in rows_of("places.txt", shapes)[section]]
    return [SecretPlace((hint,), shape, fits, kind) for hint, shape in rows]


def _is_argument(value: str) -> bool:
    """Whether the value of an option is a secret: no placeholder, other option or variable."""
    return not is_placeholder(value) and value[0] not in "-$"


def _in_headers(text: str) -> Iterator[Secret]:
    for part in parts_in(text, "uthorization", "UTHORIZATION"):
        for match in each(AUTHORIZATION, part, text):
            yield from _authorized(text, match)
    for part in parts_in(text, "ookie", "OOKIE"):
        at = 0
        for match in each(COOKIE, part, text):
            if match.start() < at:
                continue  # it is in the header before it
            at = match.end()
            while crumb := CRUMB.match(text, at):
                at = crumb.end()
                if crumb[2] and is_random(crumb[2]):
                    yield Secret(*crumb.span(2), "cookie")


def _authorized(text: str, match: re.Match[str]) -> Iterator[Secret]:
    """The secrets in an `Authorization` header, by its scheme."""
    scheme, value = (match["scheme"] or "").strip(" =:").lower(), match["value"]
    if scheme == "basic":
        if is_pair(value) or not WORD.fullmatch(value):
            yield Secret(*match.span("value"), "basic auth")
    elif scheme in ("digest", "aws4-hmac-sha256", "oauth", "hmac"):
        stop = text.find("\n", match.end())
        for part in SIGNED.finditer(text, match.start(), len(text) if stop < 0 else stop):
            yield Secret(*part.span(1), "secret")
    elif scheme != "bearer" and is_key(value) and not is_placeholder(value):
        yield Secret(*match.span("value"), "secret")


QUOTED = r"(?:\\{0,31}[\"'`])?"
GIVEN_KEY = (
    rf"{QUOTED}(?P<value>[A-Za-z0-9_][A-Za-z0-9_+/.~-]{{17,400}}+={{0,2}})(?![\w/:.@%$({{[<-])"
)
GIVEN_PASSWORD = rf"{QUOTED}(?P<value>[^\s\"'`\\;|<>:/]{{6,100}}+)(?=[\s\"'`\\;|,)]|\Z)"
SAYS = r"(?:[ \t]|[ \t]?:[ ]?|[ ]is:?[ ])"
SIGNS = re.compile(r"[^A-Za-z0-9]+")

EXPRESSIONS = {
    "VALUE": VALUE, "LOGIN": LOGIN, "REST": REST, "GIVEN": GIVEN, "PIPED": PIPED, "TAKES": TAKES,
    "HERE": HERE, "QUOTED": QUOTED, "KEY": GIVEN_KEY, "PASSWORD": GIVEN_PASSWORD, "SAYS": SAYS,
}  # fmt: skip
"""What the names in `places.txt` stand for."""
AT_HOST = re.compile(
    r"(?<![\w:./@-])[A-Za-z][\w.-]{0,40}:(?P<value>[^\s:/@\"'`\\<>{}$()\[\],]{6,60}+)"
    r"@(?:localhost|\d{1,3}(?:\.\d{1,3}){3}|[A-Za-z][\w-]{0,60}(?:\.[\w-]{1,60}){0,4}\.[A-Za-z]{2,12})(?![\w-])"
)
"""A password before a host, in an address without a scheme: `user:…@db.example`."""
QUOTED_VARIABLE = re.compile(
    rf"(?<![A-Za-z0-9_.$@-])(?P<name>[A-Z][A-Z0-9_]{{2,60}}+)=(?:base64:)?{GIVEN_KEY}"
)
"""A variable of the environment."""
HEXADECIMAL = re.compile(r"(?:0[xX])?(?:[0-9A-F]+|[0-9a-f]+)(?![A-Za-z0-9])")
PUBLIC = re.compile(
    r"(?:ID|HASH|SHA\d*|MD5|DIGEST|SUM|ETAG|REF|VERSION|TAG|REV|COMMIT|INTEGRITY|DATA|IMAGE|NONCE"
    r"|FINGERPRINT|UR[IL]|PATH|DIR|FILE|HOST|NAME|PUBLIC|PUB|PUBLIC_KEY|BASE64|CERT|CA|PEM)$"
)
"""The end of the name of a variable that holds no secret."""
SIGNING = re.compile(
    r"(?:jwt\.(?:sign|encode|verify|decode)|reateHmac|hmac\.new|Hmac\w{0,8})\("
    r"(?:[^()\"'\n]{0,60},|[\"'][^\"'\n]{0,40}[\"'],)?[ ]?b?"
    r"\\{0,31}[\"'](?P<value>[^\s\"'\\]{12,300}+)"
)
"""A call that signs with a key."""
GIVEN_COOKIE = re.compile(r"(?<=\s)-b[ ]?[\"']?[\w.-]{1,80}=(?P<value>[^\s;\"'\\]{16,400}+)")
GIVEN_USER = re.compile(
    r"(?<=\s)-[a-zA-Z]{0,5}u[ ]?[\"']?(?P<value>[A-Za-z0-9_-]{16,300}+):(?![\w$])"
)


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


def _is_long_key(value: str) -> bool:
    return _is_key(value) and len(value) >= 28


def _is_strong(value: str) -> bool:
    """Whether a value is a password, and not the path of a repository after a user and a host."""
    return is_strong(value) and not value.endswith(".git")


PLACED = (
    SecretPlace(("@",), AT_HOST, partial(is_password, sure=True), begins=False),
    SecretPlace(("jwt.", "reateHmac", "hmac.new", "Hmac"), SIGNING, is_random, "secret"),
    SecretPlace(("curl",), GIVEN_COOKIE, is_random, "secret", begins=False),
    SecretPlace(("curl",), GIVEN_USER, is_random, "secret", begins=False),
)


def placed(text: str) -> Iterator[Secret]:
    """The secrets in a text that stand in such places, in no particular order."""
    yield from secrets_at(_places("keys", _is_key, "secret"), text)
    yield from secrets_at(_places("long keys", _is_long_key, "secret"), text)
    yield from secrets_at(_places("passwords", _is_strong), text)
    yield from secrets_at(PLACED, text)
    if "=" in text:
        for match in QUOTED_VARIABLE.finditer(text):
            if not PUBLIC.search(match["name"]) and _is_key(match["value"]):
                yield Secret(*match.span("value"), "secret")

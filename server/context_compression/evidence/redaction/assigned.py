"""Values after the name of a secret: `password = …`, `"apiKey": "…"`, `<token>…`.

The value must look random, or like a password if the name is that of a password.
"""

import re
from base64 import b64decode
from collections.abc import Iterator

from context_compression.evidence.redaction.looks import could_be_password, is_password, is_random
from context_compression.evidence.redaction.secret import BLANK, Secret, compiled, parts_in

STEMS = {
    "pass": r"(?:[_-]?(?:word|wd|wort|phrase|code)|e)?",
    "pwd": "",
    "pw": "",
    "psk": "",
    "kennwort": "",
    "contrase": "[nñ]a",
    "senha": "",
    "wachtwoord": "",
    "lösenord": "",
    "parola": "",
    "hasł": "o",
    "heslo": "",
    "salasana": "",
    "şifre": "",
    "парол": "ь",
    "密码": "",
    "密碼": "",
    "口令": "",
    "パスワード": "",
    "비밀번호": "",
    "secret": r"(?:s|[_-]?access)?",
    "token": "",
    "cred": r"(?:ential)?s?",
    "key": "",
    "auth": "",
    "pat": "",
    "jwt": "",
    "bearer": "",
    "salt": "",
    "pepper": "",
    "verifier": "",
    "seed": "",
}
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

"""Secrets out of what goes to a model: each is replaced by `[redacted: kind]`, nothing is blocked.

Keys that carry their issuer's prefix are known by their shape; what stands behind `password=` or
`token:` must look random as well. Hashes, ids and paths are no secrets and stay. Every pattern
begins at the start of a word or at a rare one, so that a long run of letters is read once.
"""

import re

KEYS = tuple(
    (kind, hint, re.compile(rf"(?:(?<![A-Za-z0-9_-])|(?<=\\[nrt])){shape}"))
    for kind, hint, shape in (
        ("anthropic key", "sk-ant-", r"sk-ant-[A-Za-z0-9_-]{20,}"),
        ("api key", "sk-proj-", r"sk-proj-[A-Za-z0-9_-]{20,}"),
        ("api key", "sk-", r"sk-[A-Za-z0-9_-]{20,}"),
        ("api key", "gsk_", r"gsk_[A-Za-z0-9]{30,}"),
        ("stripe key", "k_", r"[rs]k_(?:live|test)_[A-Za-z0-9]{16,}"),
        ("github token", "gh", r"gh[opsur]_[A-Za-z0-9]{20,}"),
        ("github token", "github_pat_", r"github_pat_[A-Za-z0-9_]{20,}"),
        ("gitlab token", "glpat-", r"glpat-[A-Za-z0-9_-]{20,}"),
        ("aws key", "IA", r"A[KS]IA[A-Z0-9]{16}(?![A-Za-z0-9])"),
        ("slack token", "xox", r"xox[a-z]-[A-Za-z0-9-]{10,}"),
        ("google key", "AIza", r"AIza[A-Za-z0-9_-]{35,}"),
        ("npm token", "npm_", r"npm_[A-Za-z0-9]{30,}"),
        ("pypi token", "pypi-", r"pypi-[A-Za-z0-9_-]{40,}"),
        ("hugging face token", "hf_", r"hf_[A-Za-z0-9]{30,}"),
        ("jwt", "eyJ", r"eyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*"),
    )
)
"""Kind, a part every such key has (looked for first: that is fast), shape."""
LIKE_WORDS = {"sk-", "pypi-", "IA"}
"""Those with which words begin, too: the rest must look like a key."""
BEARER = re.compile(r"((?:[Bb]earer|BEARER)\s{1,3})([A-Za-z0-9+/._~-]{16,}=*)")
BASIC = re.compile(r"(uthorization[\"']?\s?[:=]\s?[\"']?[Bb]asic\s)([A-Za-z0-9+/]{8,}=*)")
IN_URL = re.compile(
    r"""(://[^\s/:@'"<>{}$]{0,100}:)(?!(?:password|passwd|pass|pwd|%[sdv])@)"""
    r"""([^\s/@'"<>{}$*]{3,200})(?=@\w)"""
)
"""What stands between `://user:` and `@`, but for what documentation writes there."""
NAMES = (
    "password", "passwd", "passphrase", "pwd", "secret", "token", "credential",
    "api[_-]?[kK]ey", "access[_-]?[kK]ey", "account[_-]?[kK]ey", "auth[_-]?[kK]ey",
    "private[_-]?[kK]ey", "encryption[_-]?[kK]ey",
)  # fmt: skip
SPELLINGS = "|".join(f"{name}|{name[0].upper()}{name[1:]}|{name.upper()}" for name in NAMES)
"""Three cases of each name: five times as fast as ignoring the case."""
VALUE = r"""(?: (?P<quote>\\?["'`]) (?P<quoted>[^"'`\s\\]{8,4000}+) (?P=quote)
              | (?P<bare>[A-Za-z0-9+/_.~!@\#%^*-]{8,4000}+={0,2}) (?![\w(\[{<"'`$\\]) )"""
ASSIGNED = re.compile(
    rf"""(?P<key> {SPELLINGS} ) (?:\\?["'])?
         [ \t]{{0,3}} (?: (?::[ \t]?\w{{1,20}}[ \t]?)? = | :=? | => ) [ \t]{{0,3}} {VALUE}""",
    re.X,
)
FLAG = re.compile(rf"--(?:\w{{1,20}}-)? (?P<key> {SPELLINGS} ) [ ] {VALUE}", re.X)
PEM = re.compile(r"-----(BEGIN|END) [A-Z ]{0,40}PRIVATE KEY(?: BLOCK)?-----")
PEM_LINES = re.compile(r"(?:(?:\\[nr]|\s){0,4}+[A-Za-z0-9+/]{40,}+={0,2})*")
BASE64 = re.compile(r"[A-Za-z0-9+/]{40}")
LONGEST_PEM = 10_000
RUN = re.compile(r"[A-Za-z0-9]{8,}")
NO_SECRET = re.compile(r"[/.~$]|https?:|[a-z_]+\.[A-Za-z_]")
"""How paths, variables, addresses and dotted names begin."""
WORD = re.compile(r"[A-Z]?[a-z]*\d*")
DIGITS = re.compile(r"\d+")


def redact(text: str) -> str:
    """The text with `[redacted: kind]` in place of every secret; the same text if there is none.

    `redact("curl -H 'Authorization: Bearer abcDEF0123456789'")` ->
    `"curl -H 'Authorization: Bearer [redacted: bearer token]'"`
    """
    text = _without_private_keys(text)
    for kind, hint, shape in KEYS:
        if hint in text:
            sure, mark = hint not in LIKE_WORDS, _mark(kind)
            text = shape.sub(
                lambda m, sure=sure, mark=mark: mark if sure or _is_key(m[0]) else m[0], text
            )
    if "://" in text:
        text = IN_URL.sub(lambda m: m[1] + _mark("password"), text)
    if "--" in text:
        text = FLAG.sub(_assigned, text)
    text = BEARER.sub(lambda m: m[1] + _mark("bearer token") if _is_key(m[2]) else m[0], text)
    text = BASIC.sub(lambda m: m[0] if WORD.fullmatch(m[2]) else m[1] + _mark("basic auth"), text)
    return ASSIGNED.sub(_assigned, text)


def _mark(kind: str) -> str:
    return f"[redacted: {kind}]"


def _assigned(found: re.Match[str]) -> str:
    value = found["quoted"] or found["bare"]
    is_password = found["key"][0] in "pP" and found["key"][1] in "aAwW"
    if not (_is_random(value) or (is_password and _is_password(value, bool(found["quoted"])))):
        return found[0]
    start = found.start("quoted" if found["quoted"] else "bare") - found.start()
    after = found[0][start + len(value) :]
    return found[0][:start] + _mark("password" if is_password else "secret") + after


def _is_key(text: str) -> bool:
    """Whether it is no phrase of words: `sk-folding-cube-wrapper` is a CSS class."""
    return any(map(str.isdigit, text)) and any(not WORD.fullmatch(run) for run in RUN.findall(text))


def _is_random(value: str) -> bool:
    """Whether a value looks drawn by lot: digits strewn among letters, and it is not code."""
    if NO_SECRET.match(value) or len(value) < 12 or len(set(value)) < 6:
        return False
    if BASE64.match(value) and any(map(str.isdigit, value)) and not value.islower():
        return True
    return any(len(DIGITS.findall(run)) >= 2 and not run.isdigit() for run in RUN.findall(value))


def _is_password(value: str, quoted: bool) -> bool:
    """Whether a short value is mixed as people mix passwords; bare words may be code."""
    if NO_SECRET.match(value):
        return False
    kinds = [any(map(kind, value)) for kind in (str.islower, str.isupper, str.isdigit)]
    if all(kinds) and (quoted or len(DIGITS.findall(value)) > 1):
        return True
    return any(kinds[:2]) and kinds[2] and any(sign in "!@#%^&*+~" for sign in value)


def _without_private_keys(text: str) -> str:
    """PEM blocks replaced, also those whose end was cut off; a mention of the header is none."""
    if "PRIVATE KEY" not in text:
        return text
    marks = list(PEM.finditer(text))
    shown: list[str] = []
    position = 0
    for number, mark in enumerate(marks):
        if mark[1] == "END" or mark.start() < position:
            continue
        following = marks[number + 1] if number + 1 < len(marks) else None
        if following and following[1] == "END" and following.start() - mark.end() <= LONGEST_PEM:
            body, stop = text[mark.end() : following.start()], following.end()
        else:
            lines = PEM_LINES.match(text, mark.end())
            stop = lines.end() if lines else mark.end()
            body = text[mark.end() : stop]
        if BASE64.search(body):
            shown += [text[position : mark.start()], _mark("private key")]
            position = stop
    return "".join([*shown, text[position:]])

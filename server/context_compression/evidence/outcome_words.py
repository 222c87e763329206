"""The words with which errors, decisions and outcomes are told, by language: `outcome_words.txt`.

A text in ASCII of more than `SHORT` characters is searched for other languages than English only in
lines with one of the `HINTS`. Most texts of agents are such texts, and a search for the words of
all languages would take as long as everything else that is done with them.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from types import SimpleNamespace
from typing import Any, Literal, TypeAlias

from context_compression.conversation.labels import Span
from context_compression.evidence.rule_words import (
    PhraseIndex,
    PhrasesIn,
    Script,
    Use,
    expressions,
    folded,
    scripts_in,
    sections,
    written,
)

Field: TypeAlias = Literal[
    "error", "broke", "none", "after", "not", "decided", "passed", "failed", "skipped", "verdict",
    "exit",
]  # fmt: skip
WRONG: Sequence[Field] = ("error", "broke")
"""The fields with words that tell that something went wrong."""
COUNTED: Sequence[Field] = ("failed", "passed", "skipped")
"""The fields with words that stand beside a number of tests."""
ENDED: Sequence[Field] = (*COUNTED, "verdict")
SEARCHED: Sequence[Field] = (*WRONG, "exit", "decided", *ENDED)
"""The fields with words for which texts are searched."""
HINTS = (
    "fehl", "nicht", "abge", "verweig", "erreur", "introuvable", "fall", "rechaz", "negad",
    "no se ", "falh", "erro ", "fout", "gagal",
)  # fmt: skip
"""Parts of words with which errors in ASCII are told in languages other than English."""
LEAST_BEYOND = 100
BEYOND = re.compile("[\u00c0-\u1fff\u2c00-\u2dff\u3005-\ud7ff\uf900-\ufdff]")
SHORT = 200
"""The most characters of a text in ASCII that is searched for the words of all languages."""
BEFORE, BEHIND = 60, 40
"""How many characters before and behind a word are searched for words that take it back."""
STOP = re.compile(r"[.,;:!?()\[\]{}|。，、；：！？（）「」]|\s[-–—]\s")
"""The end of what a negation may take back."""
STATUS = re.compile(r"[\s:：=»\"'）)]{0,4}(-?\d{1,5})(?![\da-z]|\.\d)")
NAMED = re.compile(r"\s?[:：=]\s?")
NOT_BLANK = re.compile(r"\S+")
ZERO = re.compile(r"\s*0(?![\w:]|[.,]\d)")
NO_NUMBER = re.compile(
    r"\s*(?:[:：=]|is|ist|est)?\s*[(（]?0+(?![\w.,:]*\d|x)(?:\s|\W|\w{1,2}\b|\Z)"
)


@cache
def languages() -> Sequence[Any]:
    """All languages of `outcome_words.txt`: a value each, with an attribute for each field."""
    fields: Sequence[Field] = (*SEARCHED, "none", "after", "not")
    return [
        SimpleNamespace(
            name=name, folds=False, **{field: "|".join(rows.get(field, ())) for field in fields}
        )
        for name, rows in sections("outcome_words.txt")
    ]


@cache
def index_of(script: Script) -> PhraseIndex:
    """The words of one script that are searched for, in all languages."""
    return PhraseIndex(languages(), script, SEARCHED)


@cache
def any_word(script: Script, *fields: Field) -> re.Pattern[str] | None:
    """A pattern of all words of some fields in a script; `None` if there are none."""
    found = _any_of(script, fields)
    return re.compile(found) if found else None


def _any_of(script: Script, fields: Iterable[Field]) -> str:
    letter = r"\w" if _has_blanks(script) else ""
    words = [
        _bounded(word, script, letter)
        for language in languages()
        for field in fields
        for word in expressions(getattr(language, field), script, folds=False)
    ]
    return "|".join(dict.fromkeys(sorted(words, key=len, reverse=True)))


def _bounded(word: str, script: Script, letter: str) -> str:
    begin = "" if word.startswith("*") or not letter else rf"(?<!{letter})"
    end = rf"{letter}{{0,20}}" if word.endswith("*") else rf"(?!{letter})"
    end = end if letter else ""
    return f"{begin}{written(word.removeprefix('*'), script)}{end}"


def _has_blanks(script: Script) -> bool:
    return script.value.blanks


class OutcomeWords(PhrasesIn):
    """Searches parts of one text for words that tell errors and decisions, in any language."""

    def __init__(self, text: str) -> None:
        """A search in a text, of which parts are named by `(start, stop)`."""
        self._scripts = [Script.LATIN, *(scripts_in(text) - {Script.LATIN})]
        super().__init__(text, index_of, self._scripts)

    def decided(self) -> Iterator[Span]:
        """The words that tell a decision or its reason, in no order."""
        return self.spans("decided", 0, len(self._text))

    def failures(self, start: int, stop: int) -> Sequence[int]:
        """Where the words in a part stand that tell that something went wrong."""
        found = [
            at
            for at, end in self.spans("exit", start, stop)
            if (status := STATUS.match(self._text, end, stop)) and int(status[1])
        ]
        words = [(span, use) for use in WRONG for span in self.spans(use, start, stop)]
        quiet = [*filter(None, (self._taken_back(*span, use) for span, use in words))]
        inside = (any(a <= span[0] and span[1] <= b for a, b in quiet) for span, _ in words)
        return [*found, *(span[0] for (span, _), out in zip(words, inside, strict=True) if not out)]

    def _taken_back(self, start: int, stop: int, use: Use) -> Span | None:
        """The span of a word with the words around it that say that it did not happen, or `None`.

        `keine neuen Fehler`, `ошибок не обнаружено`
        """
        text = self._text
        head = text[max(0, start - BEFORE, text.rfind("\n", 0, start) + 1) : start]
        head = STOP.split(head)[-1]
        tail = text[stop : stop + BEHIND].partition("\n")[0]
        if NO_NUMBER.match(tail) or ZERO.match(head):
            return start, stop
        named = NAMED.match(tail)
        lead = named.end() if named else len(tail) - len(tail.lstrip())
        behind = STOP.split(tail[lead:], maxsplit=1)[0]
        for script in self._scripts:
            near = DIRECT if use == "broke" else NEAR
            some = _last(head, near, script)
            none, after, directly = (any_word(script, each) for each in ("none", "after", "not"))
            if (none and none.search(some)) or (directly and _ends(directly, some)):
                return start - len(head), stop
            later = _first(behind, DIRECT if named else BEHIND_IT, script)
            if use == "error" and after and (found := after.search(later)):
                return start, stop + lead + found.end()
        return None


Reach: TypeAlias = tuple[int, int]
"""How many words, and how many signs of a script without blanks, are looked at."""
NEAR: Reach = (4, 8)
DIRECT: Reach = (1, 3)
BEHIND_IT: Reach = (3, 12)


def _last(head: str, reach: Reach, script: Script) -> str:
    blanks, signs = reach
    if not script.value.blanks:
        return head[-signs:]
    words = [*NOT_BLANK.finditer(head)][-blanks:]
    return head[words[0].start() :].rstrip() if words else ""


def _first(behind: str, reach: Reach, script: Script) -> str:
    blanks, signs = reach
    if not script.value.blanks:
        return behind[:signs]
    words = [*NOT_BLANK.finditer(behind)][:blanks]
    return behind[: words[-1].end()] if words else ""


def _ends(pattern: re.Pattern[str], text: str) -> bool:
    return any(found.end() == len(text) for found in pattern.finditer(text))


DECISION_HINTS = (
    "decid", "decis", "because", "instead of", "rather than", "chose", "going ", "root cause",
    "turns out", "the fix ", "the reason ", "the problem ", "the issue ", "agreed", "settled",
    "opted", "from now on", "picked", "let's ", "won't", "will not", "we will ", "we'll ", "favo",
    "weil", "statt", "entsch", "vereinbar", "geeinigt", "porque", "en lugar", "en vez", "acord",
    "a partir d", "parce qu", "au lieu", "choisi", "omdat", "plaats", "besl", "perch", "invece",
    "karena",
)  # fmt: skip
"""Parts of words with which decisions in ASCII are told."""


def names_words(text: str) -> bool:
    """Whether a text is searched for the words of all languages, and not only by `HINTS`.

    It is if it is short, or if every hundredth character is not in ASCII and some are letters.
    """
    if text.isascii():
        return len(text) <= SHORT
    beyond = len(text) - len(text.encode("ascii", "ignore"))
    return beyond * LEAST_BEYOND >= len(text) and bool(scripts_in(text))


def exit_status_named(text: str) -> str | None:
    """The exit status that a text not in English names, as digits: `退出码：1` -> `"1"`."""
    lowered = folded(text)
    for script in sorted({Script.LATIN, *scripts_in(text)}, key=lambda script: script.name):
        pattern = any_word(script, "exit")
        for named in pattern.finditer(lowered) if pattern else ():
            if status := STATUS.match(lowered, named.end()):
                return status[1]
    return None


def lines_beyond_ascii(part: str) -> Iterator[Span]:
    """The lines of a part with letters that are not in ASCII."""
    found = None if part.isascii() else BEYOND.search(part)
    while found:
        stop = part.find("\n", found.start()) % (len(part) + 1)
        yield part.rfind("\n", 0, found.start()) + 1, stop
        found = BEYOND.search(part, stop)


UNIT = (
    r"(?:\s?(?:[个個项項条條件例次개건つ]|tests?|тест\w{0,3}|pruebas?|testes?|toetsen|essais?|casos?)"
    r"(?:\s?(?:的|の|测试用例|测试|用例|測試案例|測試|案例|テスト(?:が|に|は)?|테스트\w?))?)?"
)
"""What may stand between a number of tests and what became of them."""


class CountForms:
    """Numbers of tests in an output, in any language but English: `3 个测试失败，12 个通过`."""

    def __init__(self, script: Script) -> None:
        """The forms in one script."""
        kinds = "|".join(f"(?P<{each}>{_any_of(script, [each]) or '(?!)'})" for each in COUNTED)
        self._before = re.compile(
            rf"(?<![\w.,:-])(?P<number>\d{{1,7}}){UNIT}\s?(?:{kinds})(?=\W*$|\s*[,;|)(，；、。/）])"
        )
        self._behind = re.compile(rf"(?:{kinds}){UNIT}\s?[:：=]?\s?(?P<number>\d{{1,7}})(?![\w.%])")

    def of(self, line: str) -> Mapping[str, int]:
        """The numbers in a line in lower case, by field."""
        forms = [list(form.finditer(line)) for form in (self._before, self._behind)]
        found = min(filter(None, forms), key=lambda form: form[0].start(), default=forms[0])
        return {field: int(match["number"]) for match in found for field in COUNTED if match[field]}


@cache
def count_of(script: Script) -> CountForms:
    """The forms of numbers of tests in a script."""
    return CountForms(script)


NAMED_FIRST = re.compile(r"[^\W\d]{1,20}\s?[:：]")
LONGEST_NAME = 40
"""How many characters at the beginning of a text may name an error."""
LONGEST_COUNT = 200
"""The most characters of a line that tells how many tests failed."""


def counted(line: str) -> Mapping[str, int]:
    """The numbers of tests in a line: `{"failed": 3, "passed": 12}`; empty for other lines."""
    if len(line) > LONGEST_COUNT or not any(map(str.isdigit, line)):
        return {}
    found: dict[str, int] = {}
    for script in {Script.LATIN, *scripts_in(line)}:
        if numbers := count_of(script).of(folded(line)):
            found |= numbers
    return found


def outcomes(text: str, start: int) -> Iterator[Span]:
    """The lines of a text from a place on that tell how a run ended, not in English, in order."""
    ending = text[start:]
    lowered = ending.lower()
    hinted = any(hint in lowered for hint in HINTS)
    if not hinted and (ending.isascii() or not names_words(ending)):
        return
    words = OutcomeWords(ending)
    for at in sorted(at for use in ENDED for at, _ in words.spans(use, 0, len(ending))):
        line = ending.rfind("\n", 0, at) + 1, ending.find("\n", at) % (len(ending) + 1)
        if counted(ending[slice(*line)]) or is_verdict(ending[slice(*line)]):
            yield start + line[0], start + line[1]


def begins_with_error(text: str) -> bool:
    """Whether a text begins with a word for an error and a colon: `Fehler: …`."""
    begin = text[:LONGEST_NAME].lstrip()
    if not NAMED_FIRST.match(begin):
        return False
    named = OutcomeWords(begin).spans("error", 0, len(begin))
    return any(at == 0 and NAMED.match(begin, end) for at, end in named)


def is_verdict(line: str) -> bool:
    """Whether a line says how a build or a run of tests ended: `构建失败`."""
    text = folded(line.strip(" \t=*#-[]【】"))
    patterns = (any_word(script, "verdict") for script in {Script.LATIN, *scripts_in(line)})
    return len(line) <= LONGEST_COUNT and any(each.match(text) for each in patterns if each)

"""The words with which errors, decisions and outcomes are told, by language: `outcome_words.txt`.

Most texts of agents are English and in ASCII, and a search for the words of all languages takes as
long as everything else that is done with them. So a text in ASCII is searched for other languages
only where it has a word of one of their expressions (`Hints`).
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
    split,
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
FAILING: Sequence[Field] = (*WRONG, "exit")
"""The fields with words for which outputs are searched for errors."""
SEARCHED: Sequence[Field] = (*FAILING, "decided", *ENDED)
"""The fields with words for which texts are searched."""
LEAST_BEYOND = 100
"""Of so many characters one must be beyond ASCII in a text that is searched as a whole."""
BEYOND = re.compile("[\u00c0-\u1fff\u2c00-\u2dff\u3005-\ud7ff\uf900-\ufdff]")
BEFORE, BEHIND = 60, 40
"""How many characters before and behind a word are searched for words that take it back."""
LONGEST_WORD = 60
"""The most characters of a word for an error, with what belongs to it."""
MOST_WORDS = 1_000
"""How many words of one line are looked at, if all are taken back."""
STOP = re.compile(r"[.,;:!?()\[\]{}|。，、；：！？（）「」]|\s[-–—]\s")
"""The end of what a negation may take back."""
STATUS = re.compile(r"[\s:：=»\"'）)]{0,4}(-?\d{1,5})(?![\da-z]|\.\d)")
NAMED = re.compile(r"\s?[:：=]\s?")
NOT_BLANK = re.compile(r"\S+")
ZERO = re.compile(r"\s*0(?![\w:]|[.,]\d)")
NO_NUMBER = re.compile(
    r"\s*+(?:(?:[:：=]|is|ist|est)\s*+)?[(（]?0++(?![\w.,:]*\d|x)(?:\s|\W|\w{1,2}\b|\Z)"
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
def any_word(script: Script, field: Field) -> re.Pattern[str] | None:
    """A pattern of all words of a field in a script; `None` if there are none."""
    found = _any_of(script, field)
    return re.compile(found) if found else None


def _any_of(script: Script, field: Field) -> str:
    letter = r"\w" if script.value.blanks else ""
    words = [
        _bounded(word, script, letter)
        for language in languages()
        for word in expressions(getattr(language, field), script, folds=False)
    ]
    found = "|".join(dict.fromkeys(sorted(words, key=len, reverse=True)))
    begin = rf"(?<!{letter})"  # looked for once at each place, not once for each word
    if letter and found.count(begin) == found.count(f"|{begin}") + 1 == len({*words}):
        return f"{begin}(?:{found.removeprefix(begin).replace(f'|{begin}', '|')})"
    return found


def _bounded(word: str, script: Script, letter: str) -> str:
    begin = "" if word.startswith("*") or not letter else rf"(?<!{letter})"
    end = rf"{letter}{{0,20}}" if word.endswith("*") else rf"(?!{letter})"
    end = end if letter else ""
    return f"{begin}{written(word.removeprefix('*'), script)}{end}"


OPTIONAL_WORDS = re.compile(r"\(\?:(?: [^()]*|[^()]* )\)(?:\?|\{0,\d\})")
CHOICE = re.compile(r"\(\?:([^()]*)\)(\??)")
LOOKAROUND = re.compile(r"\(\?<?[=!](?:[^()]|\([^()]*\))*\)")
ANY_OF_LETTERS = re.compile(r"\[[^\[\]]*\]")
BETWEEN = re.compile(r"[ ':-](?!\?)")
ASCII_LETTERS = re.compile(r"[a-z]+")
WORD_IN_ASCII = re.compile(r"(?<!\\)[a-z]{2}")
MOST_SEEN = 20_000
"""How many words are remembered, so that they are looked at once."""
STEM = 4
"""The letters by which words that begin alike are found."""
LETTERS_ONLY = bytes(
    ord(chr(i).lower()) if chr(i).isalpha() and i < 128 else 32 for i in range(256)
)
"""Makes ASCII letters lower-case, and everything else a blank."""


Stem: TypeAlias = tuple[bytes, bool]
"""The letters with which a word begins, and whether more may follow."""


class Hints:
    """The words that an ASCII text has if an expression of some fields stands in it.

    They are the longest word of each expression that may be in ASCII, with its other words. No
    pattern is compiled, and a text is only taken apart into its words: that is quick enough for
    the many English texts, for which nothing else need be done.
    """

    def __init__(self, given: Iterable[str]) -> None:
        """The words of some lists of expressions."""
        self._whole: dict[bytes, set[frozenset[Stem]]] = {}
        self._begin: dict[bytes, set[tuple[bytes, frozenset[Stem]]]] = {}
        self._within: set[bytes] = set()
        self._plain: set[bytes] = set()  # words that were looked at and are in no expression
        self._known: dict[bytes, Sequence[frozenset[Stem]]] = {}  # words that are in some
        for expression in {form for each in given for word in split(each) for form in _forms(word)}:
            words = [*_stems(expression.removeprefix("*"))]
            if not words:
                continue
            longest, is_open = max(words, key=_by_length)
            others = frozenset(words) - {(longest, is_open)}
            if expression.startswith("*"):
                self._within.add(words[0][0])
            elif is_open:
                self._begin.setdefault(longest[:STEM], set()).add((longest, others))
            else:
                self._whole.setdefault(longest, set()).add(others)
        self._within = {
            word for word in self._within if not any(each in word for each in self._within - {word})
        }

    def in_text(self, text: str) -> set[str]:
        """The words of a text, in lower case, that hint at an expression."""
        letters = text.encode("ascii", "replace").translate(LETTERS_ONLY)
        words = {*letters.split()}
        if unseen := words - self._plain:
            if fresh := unseen - self._known.keys():
                self._look_at(fresh)
            return {
                word.decode()
                for word in unseen & self._known.keys()
                if any(_all_in(letters, words, others) for others in self._known[word])
            }
        return set()

    def _look_at(self, fresh: set[bytes]) -> None:
        if len(self._plain) + len(self._known) > MOST_SEEN:
            self._plain, self._known = set(), {}
        joined = b" ".join(fresh)
        inside = [each for each in self._within if each in joined]
        for word in fresh:
            may_be = word in self._whole or word[:STEM] in self._begin or inside
            if may_be and (others := [*self._others(word)]):
                self._known[word] = others
        self._plain |= fresh - self._known.keys()

    def _others(self, word: bytes) -> Iterator[frozenset[Stem]]:
        """The other words of each expression of which a word is the longest."""
        yield from self._whole.get(word, ())
        for stem, others in self._begin.get(word[:STEM], ()):
            if word.startswith(stem):
                yield others
        if any(each in word for each in self._within):
            yield frozenset()


def _by_length(word: Stem) -> tuple[bool, int]:
    stem, is_open = word
    return not is_open or len(stem) >= STEM, len(stem)


def _all_in(letters: bytes, words: set[bytes], stems: Iterable[Stem]) -> bool:
    return all(stem in (letters if is_open else words) for stem, is_open in stems)


def _forms(word: str) -> Iterator[str]:
    """An expression in ASCII without its groups, once for each choice: `(?:a|b) c` -> `a c`, `b c`.

    Words that may be there or not are left out.
    """
    found = [OPTIONAL_WORDS.sub("", ANY_OF_LETTERS.sub(r"\\w", LOOKAROUND.sub("", word)))]
    while found:
        form = OPTIONAL_WORDS.sub("", found.pop())
        group = CHOICE.search(form)
        if group:
            some = [*group[1].split("|"), *([""] if group[2] else [])]
            found += [f"{form[: group.start()]}{each}{form[group.end() :]}" for each in some]
        elif form.isascii():
            yield form


def _stems(form: str) -> Iterator[Stem]:
    """The letters with which the words of a form begin, and whether more may follow each."""
    for word in BETWEEN.split(form):
        if letters := ASCII_LETTERS.match(word):
            rest = word[letters.end() :]
            stem = letters[0][:-1] if rest[:1] in ("?", "{") else letters[0]
            yield stem.encode(), bool(rest)


@cache
def hints(fields: Sequence[Field]) -> Hints:
    """What hints at words of some fields in a language other than English."""
    given = (
        row
        for name, rows in sections("outcome_words.txt")
        if name != "English"
        for field in fields
        for row in rows.get(field, ())
        if WORD_IN_ASCII.search(row)
    )
    return Hints(given)


class OutcomeWords(PhrasesIn):
    """Searches parts of one text for words that tell errors and decisions, in any language."""

    def __init__(self, text: str) -> None:
        """A search in a text, of which parts are named by `(start, stop)`.

        Words in Latin letters are not searched in a text in another script: they are English.
        """
        self._scripts = sorted(scripts_in(text), key=lambda script: script.name) or [Script.LATIN]
        super().__init__(text, index_of, self._scripts)

    def decided(self) -> Iterator[Span]:
        """The words that tell a decision or its reason, in no order."""
        return self.spans("decided", 0, len(self._text))

    def failures(self, start: int, stop: int) -> Sequence[int]:
        """Where the words in a part stand that tell that something went wrong, at most one a line.

        Of one line `MOST_WORDS` are looked at.
        """
        found = [
            at
            for at, end in self.spans("exit", start, stop)
            if (status := STATUS.match(self._text, end, stop)) and int(status[1])
        ]
        words = sorted((*span, use) for use in WRONG for span in self.spans(use, start, stop))
        line_end, left = start - 1, 0

        @cache
        def quiet(at: int) -> Span | None:
            return self._taken_back(*words[at])

        for at, (begin, end, _) in enumerate(words):
            if begin > line_end:
                line_end, left = self._text.find("\n", begin) % (len(self._text) + 1), MOST_WORDS
            left -= 1
            if left >= 0 and not any(
                span and span[0] <= begin and end <= span[1]
                for span in map(quiet, _near(words, at))
            ):
                found.append(begin)
                left = 0
        return found

    def _taken_back(self, start: int, stop: int, use: Use) -> Span | None:
        """The span of a word with the words around it that say that it did not happen, or `None`.

        `keine neuen Fehler`, `ошибок не обнаружено`
        """
        text = self._text
        head = text[
            max(0, start - BEFORE, text.rfind("\n", start - min(start, BEFORE), start) + 1) : start
        ]
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


def _near(words: Sequence[tuple[int, int, Use]], at: int) -> Iterator[int]:
    """The word at a place, and those of which the words around them may hold it."""
    begin, end, _ = words[at]
    yield at
    for each in range(at + 1, len(words)):
        if words[each][0] - BEFORE > begin:
            break
        yield each
    for each in range(at - 1, -1, -1):
        if words[each][0] + LONGEST_WORD + BEHIND < end:
            break
        yield each


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


@cache
def english_decisions() -> re.Pattern[str]:
    """The words of English that tell a decision or its reason, in lower-case text."""
    [english] = (each for each in languages() if each.name == "English")
    words = expressions(english.decided, Script.LATIN, folds=False)
    return re.compile(rf"\b(?:{'|'.join(written(word, Script.LATIN) for word in words)})(?!\w)")


def names_words(text: str) -> bool:
    """Whether a text is searched for the words of all languages as a whole, not line by line.

    It is if every hundredth character is not in ASCII and some are letters.
    """
    beyond = 0 if text.isascii() else len(text) - len(text.encode("ascii", "ignore"))
    return beyond * LEAST_BEYOND >= max(1, len(text)) and bool(scripts_in(text))


def may_tell(text: str, fields: Sequence[Field]) -> bool:
    """Whether a text may have a word of some fields in a language other than English."""
    return names_words(text) or bool(hints(fields).in_text(text))


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
        kinds = "|".join(f"(?P<{each}>{_any_of(script, each) or '(?!)'})" for each in COUNTED)
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
    if len(line) > LONGEST_COUNT or not any(map(str.isdigit, line)) or not may_tell(line, COUNTED):
        return {}
    found: dict[str, int] = {}
    for script in {Script.LATIN, *scripts_in(line)}:
        if numbers := count_of(script).of(folded(line)):
            found |= numbers
    return found


def outcomes(text: str, start: int) -> Iterator[Span]:
    """The lines of a text from a place on that tell how a run ended, not in English, in order."""
    ending = text[start:]
    if not may_tell(ending, ENDED):
        return
    words = OutcomeWords(ending)
    for at in sorted(at for use in ENDED for at, _ in words.spans(use, 0, len(ending))):
        line = ending.rfind("\n", 0, at) + 1, ending.find("\n", at) % (len(ending) + 1)
        if counted(ending[slice(*line)]) or is_verdict(ending[slice(*line)]):
            yield start + line[0], start + line[1]


def begins_with_error(text: str) -> bool:
    """Whether a text begins with a word for an error and a colon: `Fehler: …`."""
    begin = text[:LONGEST_NAME].lstrip()
    if not NAMED_FIRST.match(begin) or not may_tell(begin, ("error",)):
        return False
    named = OutcomeWords(begin).spans("error", 0, len(begin))
    return any(at == 0 and NAMED.match(begin, end) for at, end in named)


def is_verdict(line: str) -> bool:
    """Whether a line says how a build or a run of tests ended: `构建失败`."""
    if len(line) > LONGEST_COUNT or not may_tell(line, ("verdict",)):
        return False
    text = folded(line.strip(" \t=*#-[]【】"))
    patterns = (any_word(script, "verdict") for script in {Script.LATIN, *scripts_in(line)})
    return any(each.match(text) for each in patterns if each)

"""Outcomes in the output of tools: numbers of passed and failed tests, and reported errors."""

import re

from context_compression.evidence import constraints
from context_compression.evidence import facts as evidence
from context_compression.evidence.redaction import beginning

MOST_LINES = 20
"""How many error lines are taken from one output: the last ones, because errors are at the end."""
ZERO = re.compile(r"\b(?:0|no) (?:errors?|fail(?:ed|ures?|ing)?|problems?|issues)\b", re.I)
NEEDLES = (*evidence.ERROR_WORDS, "fail:", "err!")
REPORT = re.compile(
    r"\b\w*(?:Error|Exception)\b\s*(?:[:(]|$)|\b[Ee]rror\b(?:\[\w+\]| \w+\d)?\s*[:!]|\s error\s "
    r"|\bERR!|\b(?:ERROR|FAIL|FAILED|FAILURE|Traceback)\b|\b(?:fatal|panic|undefined):|\bfailed\b"
    r"|command not found|No such file|[Pp]ermission denied|\bcannot |\bnot found\b|[✗✖]"
    r"|错误|失败|异常"
)
CODE = re.compile(
    r"^(?:\d+\s*[-+│|→]|[-+]\s|[\"'{]|\[\{|//|\*|#|--\w)"
    r"|^(?:\} )?(?:throw|return|catch|except|raise|if|for|const|let|func|def|assert|import)\b"
    r"|[;{]$|=> |\bnew Error\("
)
WORDS = {
    "failed": "failed fail failing failures failure",
    "errors": "errors error",
    "passed": "passed pass passing",
    "skipped": "skipped skip ignored pending todo",
}
NAME = {word: name for name, words in WORDS.items() for word in words.split()}
COUNT = re.compile(
    rf"\b(?<!\d,)(\d{{1,3}}(?:,\d{{3}})+|\d+) ({'|'.join(NAME)})\b"
    r"(?=\W*$|\s*[,;|)(]| in | tests?\b)",
    re.I,
)
NODE = re.compile(r"^(?:#|ℹ) (pass|fail|skipped|todo) (\d+)$", re.M)
UNITTEST = re.compile(r"^Ran (\d+) tests? in [\d.]+s\s+(?:OK|FAILED)(?: \((.*)\))?", re.M)
GO_TEST = re.compile(r"^--- (PASS|FAIL|SKIP): ", re.M)
GO_PACKAGE = re.compile(r"^(?:(ok)[ \t]+\S+[ \t]+(?:[\d.]+s|\(cached\))|FAIL\t\S)", re.M)


def test_counts(text: str) -> str:
    """`"3 failed, 12 passed"` from the output of a test runner; `""` if it has no counts.

    Known forms: pytest, unittest, jest, vitest, mocha, bun, node, cargo, go, and any `N passed`.
    """
    counts = (
        _summed_up(text)
        or {NAME[word]: int(number) for word, number in NODE.findall(text)}
        or _unittest(text)
        or _go(text)
    )
    shown = [f"{counts[name]} {name}" for name in (*WORDS, "packages ok") if counts.get(name)]
    return ", ".join(shown) or ("0 passed" if counts else "")


def _summed_up(text: str) -> dict[str, int]:
    """Numbers before words, from the line with the totals, else the last number of each word."""
    counts: dict[str, int] = {}
    final = False
    for start, stop in evidence.lines_with(text, ("pass", "fail")):
        line = beginning(text[start:stop].strip(), constraints.LONGEST_LINE)
        numbers = {NAME[w.lower()]: int(n.replace(",", "")) for n, w in COUNT.findall(line)}
        if line.startswith("test result:"):  # cargo: a line for each target
            before = counts if final else {}
            counts = before | {name: before.get(name, 0) + n for name, n in numbers.items()}
            final = True
        elif numbers and re.match(r"Tests:?\s", line):  # jest, vitest; the line before counts files
            counts, final = numbers, True
        elif not final:
            counts |= numbers
    return counts


def _unittest(text: str) -> dict[str, int]:
    if not (summary := UNITTEST.search(text)):
        return {}
    counts = {
        NAME.get(word, "skipped"): int(number)
        for word, number in re.findall(r"(?<!\w)(\w++)=(\d+)", summary[2] or "")
    }
    return counts | {"passed": int(summary[1]) - sum(counts.values())}


def _go(text: str) -> dict[str, int]:
    tests = GO_TEST.findall(text)
    packages = GO_PACKAGE.findall(text)
    counts = {NAME[word.lower()]: tests.count(word) for word in tests}
    if packages:
        counts.setdefault("failed", packages.count(""))
        if "passed" not in counts:
            counts["packages ok"] = packages.count("ok")
    return counts


def reported_errors(text: str, failed: bool) -> list[str]:
    """The last lines that report an error, in order, at most `MOST_LINES`.

    Other lines with such a word are left out: code that handles errors, help texts, `0 errors`.

    Args:
        text: the output of a tool.
        failed: whether the call failed; if it did not, a line must have the form of a report.
    """
    spans = evidence.lines_with(text, NEEDLES)
    lines = [beginning(text[a:b].strip(), constraints.LONGEST_LINE) for a, b in spans]
    lines = [line for line in lines if not (ZERO.search(line) or CODE.search(line))]
    reports = [line for line in lines if REPORT.search(line)] or (lines if failed else [])
    return list(dict.fromkeys(reversed(reports)))[:MOST_LINES][::-1]

"""The contents of a session's texts: identifiers among words, runs of words, lines."""

import re
from collections.abc import Iterable, Iterator
from typing import TypeAlias

_ENDING = (
    r"(?:go|py|pyi|ts|tsx|js|jsx|mjs|cjs|rs|java|kt|c|h|cc|cpp|hpp|cs|rb|php|swift|sh|ps1|sql|css|"
    r"scss|html|md|mdx|txt|json|jsonl|ya?ml|toml|lock|mod|sum|cfg|ini|env|xml|svg|png|proto|tf|lua|"
    r"vue|svelte|omp|snap|log|csv)"
)
_CANDIDATE = re.compile(
    r"(?P<url>https?://[^\s\"'<>)\]}\\`,]+)"
    r"|(?P<uuid>\b[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}\b)"
    r"|(?P<path>(?:~|\.{1,2}|[A-Za-z]:)?(?:[\\/]+[\w.@+-]+){2,}|\b[\w.@+-]+(?:/[\w.@+-]+)+)"
    rf"|(?P<file>\b[\w-]+(?:\.[\w-]+)*\.{_ENDING}\b)"
    r"|(?P<ticket>\b[A-Z][A-Z0-9]+-\d+\b|#\d{2,}\b)"
    r"|(?P<version>\bv?\d+\.\d+\.\d+(?:[-.]\w+)*)"
    r"|(?P<flag>(?<![\w-])--[a-z][a-z0-9-]{3,})"
    r"|(?P<word>[A-Za-z_$][A-Za-z0-9_$]*(?:(?:\.|::|->)[A-Za-z_$][A-Za-z0-9_$]*)*)"
    r"|(?P<number>\b\d{4,}\b|\b[0-9a-f]{7,40}\b)"
)
_SYMBOL = re.compile(
    r"[a-z0-9][A-Z]|[A-Za-z]_[A-Za-z0-9]|[A-Za-z]\d|^[A-Z][A-Z0-9_]{3,}$|\w(?:\.|::|->)\w"
)
_HEX = re.compile(r"(?=.*\d)[0-9a-f]{7,40}")
_MEMBER = re.compile(r"\.|::|->")
_FILE = re.compile(rf"\.{_ENDING}$")
_NO_PATHS = frozenset({"e.g", "i.e", "etc.etc", "N/A", "and/or", "yes/no", "true/false", "I/O"})
_NEIGHBOUR = re.compile(r"[A-Za-z][A-Za-z0-9]+|\d+")
_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*|\d+|[^\sA-Za-z0-9_]")
_LINE_NUMBER = re.compile(r"^\s*\d+(?:→|\t|: ?|\| ?)", re.MULTILINE)

Found: TypeAlias = tuple[str, int, int]
"""An identifier, and its range in its line."""


class Reader:
    """Finds identifiers, runs of words and lines in texts of one session, once per text."""

    def __init__(self, folder: str | None) -> None:
        bare = (folder or "").rstrip("/\\")
        escaped = bare.replace("\\", "\\\\")
        self._roots = (f"{bare}/", f"{bare}\\", f"{escaped}\\\\") if bare else ()
        self._found: dict[str, list[Found]] = {}
        self._identifiers: dict[str, frozenset[str]] = {}
        self._ngrams: dict[str, frozenset[int]] = {}

    def identifiers(self, text: str) -> frozenset[str]:
        known = self._identifiers.get(text)
        if known is None:
            lines = self.local(text).split("\n")
            known = frozenset(name for line in lines for name, *_ in self.in_line(line))
            self._identifiers[text] = known
        return known

    def ngrams(self, text: str) -> frozenset[int]:
        """Runs of four words, as hashes."""
        known = self._ngrams.get(text)
        if known is None:
            words = _WORD.findall(unnumbered(text))
            runs = zip(words, words[1:], words[2:], words[3:], strict=False)
            known = self._ngrams[text] = frozenset(map(hash, runs))
        return known

    def local(self, text: str) -> str:
        """The text, with paths relative to the session's folder."""
        for root in self._roots:
            text = text.replace(root, "")
        return text

    def in_line(self, line: str) -> list[Found]:
        found = self._found.get(line)
        if found is None:
            found = self._found[line] = [*identifiers_in(line)]
        return found

    def surroundings(
        self, text: str, wanted: Iterable[str], limit: int
    ) -> dict[str, list[frozenset[str]]]:
        """The words nearest to each occurrence of an identifier, in its line or adjacent lines."""
        around: dict[str, list[frozenset[str]]] = {name: [] for name in wanted}
        lines = ["", *self.local(text).split("\n"), ""]
        for at, line in enumerate(lines[1:-1], 1):
            pieces = [line]
            if len(line) > 2_000:
                pieces = [line[start : start + 400] for start in range(0, len(line), 400)]
            for piece in pieces:
                for name, start, stop in self.in_line(piece):
                    known = around.get(name)
                    if known is None or len(known) >= limit:
                        continue
                    left = _NEIGHBOUR.findall(piece[max(0, start - 200) : start])[-4:]
                    right = _NEIGHBOUR.findall(piece[stop : stop + 200])[:4]
                    if len(left) + len(right) < 3:
                        left += _NEIGHBOUR.findall(lines[at - 1])[-3:]
                        right += _NEIGHBOUR.findall(lines[at + 1])[:3]
                    known.append(frozenset(word.lower() for word in (*left, *right)))
        return around


def identifiers_in(line: str) -> Iterator[Found]:
    """Identifiers of a line, with the parts of dotted names and the file names of paths."""
    for match in _CANDIDATE.finditer(line):
        text, place = match.group(), match.span()
        match match.lastgroup:
            case "word":
                if len(text) >= 4:
                    yield from ((name, *place) for name in _symbols(text))
            case "path":
                yield from ((name, *place) for name in _path_names(text))
            case "url":
                yield (text.rstrip(".,;:"), *place)
            case _:
                yield (text, *place)


def _symbols(word: str) -> Iterator[str]:
    if _HEX.fullmatch(word):
        yield word
    elif _SYMBOL.search(word) or "_" in word.strip("_"):
        yield word
        parts = _MEMBER.split(word)
        if len(parts) > 1:
            yield from (part for part in parts if len(part) >= 5 and _SYMBOL.search(part))


def _path_names(path: str) -> Iterator[str]:
    path = path.replace("\\\\", "/").replace("\\", "/").rstrip("./")
    if len(path) < 5 or path in _NO_PATHS or not re.search("[A-Za-z]", path):
        return
    path = path.removeprefix("./").lstrip("/")
    yield path
    name = path.rsplit("/", 1)[-1]
    if _FILE.search(name):
        yield name


def lines_in(text: str) -> set[str]:
    """Lines of at least 12 characters, without the line numbers that file readers add."""
    return long_lines(unnumbered(text))


def long_lines(text: str) -> set[str]:
    stripped = (line.strip() for line in text.split("\n"))
    return {line for line in stripped if len(line) >= 12}


def unnumbered(text: str) -> str:
    return _LINE_NUMBER.sub("", text)

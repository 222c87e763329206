"""The part of the ledger that a view shows, and lists of files."""

from collections.abc import Callable, Iterable, Sequence

from context_compression.display.plurals import how_many
from context_compression.display.strings import in_words, one_line
from context_compression.evidence.constraints import LONGEST_LINE
from context_compression.evidence.ledger.entry import Entry, Kind
from context_compression.evidence.redaction import beginning

TITLE = "Ledger, found by code in what was compressed (newest first):"
SECTIONS: tuple[tuple[str, tuple[Kind, ...]], ...] = (
    ("Constraints of the user:", ("constraint",)),
    ("Files changed:", ("created", "modified", "deleted", "renamed")),
    ("Errors:", ("error",)),
    ("Tests:", ("test",)),
    ("Commands:", ("command",)),
    ("Files read:", ("read",)),
    ("Decisions:", ("decision",)),
    ("Addresses:", ("url",)),
    ("Ids:", ("id",)),
)
"""The sections in order of importance; the last one is left out first."""
LONGEST_SHOWN = 240
"""The most characters of an entry's text; constraints are shown up to `LONGEST_LINE`."""
LONGEST_PATH = 1_000
"""The most characters of a path in a list of files."""
SHORTEST_LINE = 5
"""The least room for a line, in the unit of the limit; with less, no line is tried."""


def render(
    entries: Sequence[Entry],
    limit: int,
    ref: str | None = None,
    *,
    measure: Callable[[str], int] = len,
) -> str:
    """The ledger as a text of at most `limit`; `""` if not even one entry fits.

    Constraints take all the room they need, and other entries are shown only if all constraints
    are. Then each section in turn takes at most half of the remaining room, so that a long section
    leaves room for others. The rest is filled in the same order.

    Args:
        entries: merged entries, the oldest first.
        limit: the size limit in the unit of `measure`: characters, or tokens with `Counter.text`.
        ref: the ref of the full ledger, shown if entries are left out.
        measure: returns the size of a line. The size of a text is the sum of its lines plus 1 for
            each newline.
    """
    sections = [(title, _lines(entries, kinds)) for title, kinds in SECTIONS]
    total = sum(len(lines) for _, lines in sections)
    room = limit - measure(TITLE) - measure(_rest(total, ref)) - 2
    chosen: list[set[int]] = [set() for _ in sections]
    for share in (2, 1):
        for number, (title, lines) in enumerate(sections):
            if number and len(chosen[0]) < len(sections[0][1]):
                break
            allowed = room // share if number else room
            for index, line in enumerate(lines):
                if allowed < SHORTEST_LINE:
                    break
                if index in chosen[number]:
                    continue
                cost = measure(line) + 1 + (0 if chosen[number] else measure(title) + 1)
                if cost <= allowed:
                    chosen[number].add(index)
                    allowed -= cost
                    room -= cost
    left_out = total - sum(map(len, chosen))
    if left_out == total:
        return ""
    shown = [TITLE]
    for (title, lines), indices in zip(sections, chosen, strict=True):
        if indices:
            shown += [title, *(lines[index] for index in sorted(indices))]
    if left_out:
        shown.append(_rest(left_out, ref))
    return "\n".join(shown)


def _rest(left_out: int, ref: str | None) -> str:
    return f"[… {how_many(left_out, 'more entry')}{f'; ref {ref}' if ref else ''}]"


def _lines(entries: Iterable[Entry], kinds: Sequence[Kind]) -> list[str]:
    lines = [_line(entry) for entry in entries if entry.kind in kinds]
    return lines[::-1]


def _line(entry: Entry) -> str:
    text, detail = in_words(entry.text, LONGEST_LINE), in_words(entry.detail, LONGEST_LINE)
    if entry.kind != "constraint" and len(text) > LONGEST_SHOWN:
        text = beginning(text, LONGEST_SHOWN - 1) + "…"
    match entry.kind:
        case "renamed":
            return f"- renamed {text} -> {detail}"
        case "created" | "modified" | "deleted":
            return f"- {entry.kind} {text}"
        case "test":
            return f"- {text}: {detail}"
        case _:
            return f"- {text} ({detail})" if detail else f"- {text}"


def file_lists(entries: Iterable[Entry]) -> tuple[list[str], list[str]]:
    """The files that were only read and the files that were changed, both sorted.

    A deleted file is `a.py (deleted)`, a renamed one `b.py (renamed from a.py)`.
    """
    read: set[str] = set()
    changed: dict[str, str] = {}
    names: dict[str, str] = {}
    for entry in entries:
        path = entry.text
        match entry.kind:
            case "read":
                read.add(path)
            case "created" | "modified":
                if path not in names:
                    changed[path] = path
            case "deleted":
                changed[path] = f"{path} (deleted)"
            case "renamed":
                changed.pop(path, None)
                first = names[entry.detail] = names.pop(path, path)
                changed[entry.detail] = f"{entry.detail} (renamed from {first})"
            case _:
                pass
    relative = {path for path in changed if not path.startswith(("/", "~"))}
    read -= changed.keys()
    only_read = (path for path in read if relative.isdisjoint(_endings(path)))
    return sorted(only_read), sorted(changed.values())


def _endings(path: str) -> list[str]:
    """`_endings("/a/b/c")` -> `["a/b/c", "b/c", "c"]`."""
    parts = path.split("/")
    return ["/".join(parts[start:]) for start in range(1, len(parts))]


def file_tags(entries: Iterable[Entry]) -> str:
    """`<read-files>` and `<modified-files>` with one path per line; `""` if there are no files."""
    read, changed = file_lists(entries)
    tags = [
        f"<{tag}>\n{chr(10).join(map(_path, paths))}\n</{tag}>"
        for tag, paths in (("read-files", read), ("modified-files", changed))
        if paths
    ]
    return "\n\n".join(tags)


def _path(path: str) -> str:
    """A path as one line that cannot be read as a closing tag."""
    return one_line(path, LONGEST_PATH).replace("</", "<\\/")

"""Fits the constants of the token counts, and reports the error of the shipped numbers.

    python benchmarks/calibrate.py          factors and constants of the Claude families
    python benchmarks/calibrate.py bytes    weights of the estimate without a tokenizer

The first reads steps of Claude Code whose full text and charge are known (../shared/data, or
CONTEXT_COMPRESSION_DATA). The second reads conversations from there, and the message catalogues of
the system in all its languages. Copy the printed numbers into tokens/counter.py and
tokens/o200k.py.
"""

import gettext
import gzip
import json
import os
import random
import re
import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from context_compression.conversation import Message, Text, ToolCall, ToolResult, strings_in
from context_compression.tokens import Counter, base_count, family_of
from context_compression.tokens.o200k import KINDS, estimate, kinds_in

BESIDE = Path(__file__).parents[2] / "shared" / "data"
DATA = Path(os.environ.get("CONTEXT_COMPRESSION_DATA", BESIDE)) / "conversations"
RUN = 40  # steps that make a run: about a conversation between two compressions
Vector = list[float]


def step(row: dict[str, Any]) -> list[Message]:
    """The two messages a row was charged for."""
    said = [Text(text) for text in row["assistant_text"]]
    calls = [ToolCall("", use["name"], use["input"]) for use in row["tool_use"]]
    answers = [
        ToolResult("", (Text(r if isinstance(r, str) else json.dumps(r, ensure_ascii=False)),))
        for r in row["tool_result"]
    ]
    return [Message("assistant", (*said, *calls)), Message("user", tuple(answers))]


def features(messages: Sequence[Message]) -> Vector:
    """o200k tokens of the text, calls, arguments of the calls."""
    calls = [call for message in messages for call in message.calls]
    texts = [
        *(message.text for message in messages),
        *(result.text for message in messages for result in message.results),
        *(text for call in calls for text in (call.name, call.arguments_text)),
    ]
    return [sum(map(base_count, texts)), len(calls), sum(len(call.arguments) for call in calls)]


def solve(rows: Sequence[Vector], targets: Vector, weights: Vector, rounds: int = 3_000) -> Vector:
    """Weighted least squares without negative solutions, one coordinate at a time."""
    width = range(len(rows[0]))
    pulled = [[w * x for x in row] for row, w in zip(rows, weights, strict=True)]
    gram = [
        [sum(p[i] * r[j] for p, r in zip(pulled, rows, strict=True)) for j in width] for i in width
    ]
    goal = [sum(p[i] * t for p, t in zip(pulled, targets, strict=True)) for i in width]
    found = [0.0 for _ in width]
    for _ in range(rounds):
        for i in width:
            if gram[i][i]:
                missing = goal[i] - sum(g * f for g, f in zip(gram[i], found, strict=True))
                found[i] = max(0.0, found[i] + missing / gram[i][i])
    return found


def percentile(values: Sequence[float], percent: int) -> float:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, len(ordered) * percent // 100)]


def report_families() -> None:
    with gzip.open(
        DATA / "calibration" / "claude_usage_deltas.jsonl.gz", "rt", encoding="utf-8"
    ) as lines:
        rows = [json.loads(line) for line in lines]
    families: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for row in rows:
        families[family_of(row["model"]).name].append(row)
    for name, members in families.items():
        charged = [float(row["delta_input_tokens"]) for row in members]
        found = solve([features(step(row)) for row in members], charged, [1 / c for c in charged])
        print(f"{name}: {len(members)} steps")
        print(
            f"  fitted    factor {found[0]:.3f}, {found[1]:.1f} for two messages, a call and its "
            f"result, {found[2]:.1f} for each argument"
        )
        family = family_of(members[0]["model"])
        constant = 2 * family.per_message + family.per_call + family.per_result
        print(f"  shipped   factor {family.factor}, {constant}, {family.per_argument}")

        counter = Counter(members[0]["model"])
        counted = [counter.messages(step(row)) for row in members]
        misses = [abs(n - c) / c for n, c in zip(counted, charged, strict=True)]
        print(
            f"  counted / charged {sum(counted) / sum(charged):.3f}, "
            f"mean error of a step {sum(misses) / len(misses):.1%}"
        )
        by_source: dict[str, list[tuple[float, int]]] = defaultdict(list)
        for row, charge, count in zip(members, charged, counted, strict=True):
            by_source[row["source"]].append((charge, count))
        ratios = [
            sum(c for c, _ in run[at : at + RUN]) / sum(n for _, n in run[at : at + RUN])
            for run in by_source.values()
            for at in range(0, len(run) - RUN + 1, RUN // 4)
        ]
        print(
            f"  charged / counted over {len(ratios)} runs of {RUN}: median "
            f"{percentile(ratios, 50):.3f}, p95 {percentile(ratios, 95):.3f}, largest "
            f"{max(ratios):.3f} (shipped upper {family.upper})"
        )


def samples() -> Iterator[tuple[str, str]]:
    """(`conversation` or language, 1,500 to 6,000 characters)."""
    for file in sorted((DATA / "uniform").glob("*.json.gz")):
        with gzip.open(file, "rt", encoding="utf-8") as whole:
            messages = json.load(whole)["messages"]
        # Half of it as text, half as JSON, the form of arguments and definitions.
        texts = "\n".join(text for text in strings_in(messages) if len(text) > 40)
        for text in (texts, json.dumps(messages, ensure_ascii=False)):
            yield from (("conversation", part) for part in cut(text, 6))
    # What the two sources below hold too little of: emoji and full-width letters.
    for first, last in ((0x1F300, 0x1F6FF), (0xFF01, 0xFF5E)):
        text = " ".join(map(chr, random.Random(first).choices(range(first, last), k=9_000)))
        yield from (("signs", part) for part in cut(text, 6))
    languages: dict[str, list[str]] = defaultdict(list)
    for file in sorted(Path("/usr/share/locale").glob("*/LC_MESSAGES/*.mo")):
        languages[re.split("[@.]", file.parts[4])[0]] += catalogue(file)
    for language, texts in languages.items():
        yield from ((language, part) for part in cut("\n".join(texts), 10))


def catalogue(file: Path) -> list[str]:
    """The translations in a message catalogue that are not ASCII."""
    try:
        with file.open("rb") as opened:
            texts = vars(gettext.GNUTranslations(opened))["_catalog"]
    except (OSError, ValueError, LookupError):  # not every catalogue is well made
        return []
    return [t for key, t in texts.items() if key and isinstance(t, str) and not t.isascii()]


def cut(text: str, number: int) -> list[str]:
    """At most `number` samples from all parts of the text."""
    choose = random.Random(len(text))
    parts: list[str] = []
    at = 0
    while len(text) - at >= 1_500:
        size = choose.randint(1_500, 6_000)
        parts.append(text[at : at + size])
        at += size
    return choose.sample(parts, min(number, len(parts)))


def report_bytes() -> None:
    known = [(kind, text, base_count(text)) for kind, text in samples()]
    # A conversation weighs as much as six samples of one of 150 languages.
    weigh = {kind: 6.0 if kind == "conversation" else 1.0 for kind, *_ in known}
    learnt, held = known[::2], known[1::2]
    found = solve(
        [[float(n) for n in kinds_in(text)] for _, text, _ in learnt],
        [float(tokens) for *_, tokens in learnt],
        [weigh[kind] / tokens**2 for kind, _, tokens in learnt],
    )
    for (kind, shipped), weight in zip(KINDS, found, strict=True):
        print(f"  {weight:.2f}  (shipped {shipped:.2f})  {kind[:12]!r}")
    for label, wanted in (("conversations", True), ("languages", False)):
        off = [
            abs(estimate(text) - tokens) / tokens
            for kind, text, tokens in held
            if (kind == "conversation") is wanted
        ]
        print(
            f"{label}: {len(off)} samples, shipped weights off by {sum(off) / len(off):.1%} on "
            f"average, p95 {percentile(off, 95):.1%}"
        )


if __name__ == "__main__":
    report_bytes() if sys.argv[1:] == ["bytes"] else report_families()

"""What `docs/benchmarks.md` shows of the demo's conversation is so.

`pytest tests/test_docs_benchmarks.py --update-examples` writes it anew.
"""

import json
import re
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

from context_compression import Session, compress

TARGETS = (40_000, 20_000, 10_000)
PAGE = Path(__file__).parents[1] / "docs" / "benchmarks.md"


def test_what_was_measured_is_measured_again(tmp_path: Path, pytestconfig: pytest.Config):
    messages = recorded()
    now = said = PAGE.read_text(encoding="utf-8")

    for target in TARGETS:
        row = measured(messages, target, tmp_path / str(target))
        now, found = re.subn(rf"(?m)^\| {target:,} \|.*$", row, now)
        assert found == 1

    hold_to(said, now, pytestconfig)


def test_what_the_agent_sees_is_seen_again(pytestconfig: pytest.Config):
    said = PAGE.read_text(encoding="utf-8")
    run = (
        r"\[Result of bash: python -m pytest -q tests/test_collapse\.py;.*?\[… \d+ messages?;.*?\]"
    )

    view = compress(recorded(), target_tokens=TARGETS[-1]).messages
    seen, *_ = re.findall(run, "\n".join(str(message["content"]) for message in view), re.DOTALL)

    now, found = re.subn(r"(?s)(?<=```text\n).*?(?=```)", lambda _: f"{seen}\n", said)
    assert found == 1
    hold_to(said, now, pytestconfig)


def test_the_readme_says_the_same_of_the_demo() -> None:
    [before, after] = re.findall(
        r"(?m)^\| 20,000 \|.*?\| ([\d,]+) → ([\d,]+) \|", PAGE.read_text("utf-8")
    )[0]

    readme = (PAGE.parents[1] / "README.md").read_text("utf-8")
    assert f"from {before} to {after} tokens" in readme


def test_other_pages_repeat_the_figures_of_the_tables() -> None:
    text = PAGE.read_text(encoding="utf-8")
    kept = text.partition("<!-- table: kept -->")[2]
    speed = text.partition("<!-- table: speed -->")[2]
    ours, plain = (first_row(kept, name) for name in ("**context-compression**", "task + last-N"))
    times = [
        first_row(speed, name)[0]
        for name in ("**context-compression**", "LangChain ClearToolUsesEdit")
    ]
    quarter, tenth, twentieth = (f"{float(figure) * 100:.0f} %" for figure in ours[:3])

    faq, comparison = (
        " ".join((PAGE.parent / name).read_text("utf-8").split())
        for name in ("faq.md", "comparison.md")
    )
    assert f"Q is {ours[1]} at a tenth of the history, against {plain[1]}" in comparison
    assert f"takes {times[1]} for 50,000 tokens, this package {times[0]}" in comparison
    assert f"{quarter} of what later steps needed is still in the context" in faq
    assert f"at a quarter of the size, {tenth} at a tenth, and {twentieth} at a twentieth" in faq
    assert f"takes {times[0]} for 50,000 tokens" in faq


def first_row(text: str, name: str) -> list[str]:
    """The figures in the first row of a method, without the sizes in brackets."""
    [row, *_] = re.findall(rf"(?m)^\| {re.escape(name)} \| (.*) \|$", text)
    return [cell.partition(" (")[0] for cell in row.split(" | ")]


def recorded() -> list[dict[str, Any]]:
    """The conversation of the demo."""
    lines = files("context_compression.cli").joinpath("conversation.jsonl").read_bytes()
    return [json.loads(line) for line in lines.splitlines()]


def hold_to(said: str, now: str, pytestconfig: pytest.Config) -> None:
    """What the page says is what is so now, or is made so."""
    if pytestconfig.getoption("update_examples"):
        PAGE.write_text(now, encoding="utf-8")
    else:
        assert said == now


def measured(messages: list[dict[str, Any]], target: int, folder: Path) -> str:
    """A row of the page's table."""
    session = Session(folder / ".compression", "session")
    result = session.compress(messages=messages, target_tokens=target)
    archived = {ref: original for ref, _, original in session.archived()}
    losses = result.loss.values()
    in_view, total = sum(loss.retained for loss in losses), sum(loss.total for loss in losses)
    restorable = sum(loss.recoverable for loss in losses)
    assert archived == result.originals
    return (
        f"| {target:,} | {result.messages_in} → {result.messages_out} "
        f"| {result.tokens_before:,} → {result.tokens_after:,} | {in_view:,} of {total:,} "
        f"| {restorable:,} of {total - in_view:,} |"
    )

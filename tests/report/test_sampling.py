"""A long session's tokens and evidence are counted in a sample, and the report says so."""

import random
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from transcripts import Row, written

from context_compression import hosts
from context_compression.report import sampling
from context_compression.report.building import report_of
from context_compression.report.model import Report
from context_compression.report.text import text
from context_compression.tokens import Counter
from context_compression.tokens.sampled import Sampled
from context_compression.workspace import Workspace

WORDS = [
    "build",
    "cache",
    "client",
    "config",
    "error",
    "fetch",
    "handler",
    "index",
    "journal",
    "render",
    "vector",
]


def output(chance: random.Random) -> str:
    """What a program prints: paths, words and numbers."""
    return "\n".join(
        f"src/{chance.choice(WORDS)}_{chance.randrange(900)}.py:{chance.randrange(2_000)}: "
        f"{' '.join(chance.choices(WORDS, k=chance.randint(3, 12)))} {chance.random():.6f}"
        for _ in range(chance.choice((1, 3, 10, 60)))
    )


def rows(steps: int, seed: int = 1) -> Iterator[Row]:
    """A session of Claude Code; its last third comes after a compaction."""
    chance, parent = random.Random(seed), None
    for n in range(steps):
        if n == steps * 2 // 3:
            about = {"subtype": "compact_boundary", "compactMetadata": {"trigger": "auto"}}
            yield {"type": "system", "uuid": "b", "parentUuid": None, "sessionId": "s", **about}
            said = {"role": "user", "content": "This session is being continued: a port."}
            yield {"type": "user", "uuid": "s", "parentUuid": "b", "sessionId": "s",
                   "isCompactSummary": True, "message": said}  # fmt: skip
            parent = "s"
        call = {"type": "tool_use", "id": f"t{n}", "name": "Bash"}
        call |= {"input": {"command": f"make {chance.choice(WORDS)}"}}
        message: dict[str, Any] = {"id": f"m{n}", "role": "assistant", "content": [call]}
        yield {"type": "assistant", "uuid": f"a{n}", "parentUuid": parent, "sessionId": "s",
               "message": message}  # fmt: skip
        result = {"type": "tool_result", "tool_use_id": f"t{n}", "content": output(chance)}
        yield {"type": "user", "uuid": f"r{n}", "parentUuid": f"a{n}", "sessionId": "s",
               "message": {"role": "user", "content": [result]}}  # fmt: skip
        parent = f"r{n}"


def reported(path: Path) -> Report:
    """The report of a file."""
    workspace = Workspace.here(store=str(path.parent / "store"), allow=[str(path.parent)])
    return report_of(workspace.of(hosts.read(path)))


@pytest.fixture
def sampled(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sessions of more than a few thousand characters are long."""
    monkeypatch.setattr(sampling, "WHOLE", 20_000)
    monkeypatch.setattr(sampling, "SAMPLE", 120_000)


def test_a_long_session_has_about_the_same_figures_and_says_that_they_are_of_a_sample(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    path = written(tmp_path / "s.jsonl", rows(600))
    whole = reported(path)
    monkeypatch.setattr(sampling, "WHOLE", 20_000)
    monkeypatch.setattr(sampling, "SAMPLE", 120_000)

    sample = reported(path)

    assert 0.02 < sample.sampled < 0.2 and whole.sampled == 1
    assert sample.used == pytest.approx(whole.used, rel=0.1)
    [ours], [exact] = sample.by_tool, whole.by_tool
    assert (ours.name, ours.calls) == (exact.name, exact.calls)
    assert ours.tokens == pytest.approx(exact.tokens, rel=0.1)
    for one, other in zip(sample.points, whole.points, strict=True):
        assert one.tokens == pytest.approx(other.tokens, rel=0.25, abs=2_000)
    paths = {each.name: each for each in sample.evidence}["paths"]
    every = {each.name: each for each in whole.evidence}["paths"]
    assert 0 < paths.total < every.total
    assert paths.in_context / paths.total == pytest.approx(every.in_context / every.total, abs=0.15)
    assert "in a sample of" in text(sample) and "pieces of a sample" in text(sample)
    assert sampling.warnings(sample.sampled)[0] in sample.warnings
    assert "sample" not in text(whole)


def test_the_same_session_gives_the_same_report(sampled: None, tmp_path: Path):
    path = written(tmp_path / "s.jsonl", rows(200))

    assert reported(path) == reported(path)


@given(
    texts=st.lists(st.text(min_size=1, max_size=3_000), min_size=1, max_size=40),
    share=st.floats(0.01, 1),
)
def test_a_text_counted_again_has_the_same_tokens(texts: Sequence[str], share: float):
    counter = Counter().sampling(share)

    first = [counter.text(each) for each in texts]

    assert [counter.text(each) for each in texts] == first
    assert all(count > 0 for count in first)


class Words:
    """Counts words, and how many characters it was given."""

    given = 0

    def text(self, text: str) -> int:
        self.given += len(text)
        return len(text.split())

    def json(self, value: Any) -> int:
        raise AssertionError("JSON is counted as a text")

    def ahead(self, texts: object) -> None:
        raise AssertionError("nothing is counted ahead")


def test_sums_of_a_sample_are_right_and_a_share_is_counted():
    chance, words = random.Random(7), Words()
    texts = [output(chance) for _ in range(2_000)]
    sample = Sampled(words, 0.05)

    tokens = sum(map(sample.text, texts))

    assert tokens == pytest.approx(sum(len(each.split()) for each in texts), rel=0.1)
    assert words.given < 0.08 * sum(map(len, texts))

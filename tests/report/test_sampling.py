"""A long session's tokens and evidence are counted in a sample, and the report says so."""

import random
from collections.abc import Iterator, Sequence
from itertools import chain, cycle
from pathlib import Path
from typing import Any

import pytest
from transcripts import Row, recordings, written

from context_compression import hosts
from context_compression.conversation import parse
from context_compression.report import building as sampling
from context_compression.report import report_of
from context_compression.report.course import measured, measured_roughly, summed
from context_compression.report.model import Report
from context_compression.report.rough import RESULTS, roughly
from context_compression.report.text import text
from context_compression.tokens import Counter
from context_compression.transcripts import Stage
from context_compression.workspace import Workspace

WORDS = [
    "build", "cache", "client", "config", "error", "fetch", "handler", "index", "journal", "render",
    "vector",
]  # fmt: skip


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


def of_tools(texts: Sequence[str], tools: Sequence[str]) -> Stage:
    """A session in which each text is the result of one of the tools, in turn."""
    messages: list[dict[str, Any]] = []
    for number, (said, tool) in enumerate(zip(texts, cycle(tools), strict=False)):
        call = {"type": "tool_use", "id": f"t{number}", "name": tool, "input": {"of": said[:50]}}
        result = {"type": "tool_result", "tool_use_id": f"t{number}", "content": said}
        messages.append({"role": "assistant", "content": [call]})
        messages.append({"role": "user", "content": [result]})
    return Stage(messages)


class Words:
    """Counts words, and how many characters it was given."""

    given = 0

    def __call__(self, text: str) -> int:
        self.given += len(text)
        return len(text.split())


def test_sums_of_a_sample_are_right_for_each_tool_and_a_share_is_counted():
    chance, words = random.Random(7), Words()
    digits = [" ".join(str(chance.randrange(10)) for _ in range(900)) for _ in range(1_500)]
    texts = [*chain.from_iterable(zip((output(chance) for _ in digits), digits, strict=True))]
    stage = of_tools(texts, ("Bash", "Numbers"))
    counter = Counter(None, words)

    rough = roughly([stage], None, counter).sampled(0.05)

    assert words.given < 0.08 * sum(map(len, texts))
    for tool, said in (("Bash", texts[::2]), ("Numbers", texts[1::2])):
        parts = [part for each in rough.parts[0] for part in each if part[0] == (RESULTS, tool)]
        counted = sum(len(each.split()) for each in said)
        assert sum(map(rough.tokens, parts)) == pytest.approx(counted, rel=0.1)


@pytest.mark.parametrize("name", [path.name for path in recordings()])
def test_a_sample_that_is_all_has_the_sizes_that_are_counted(name: str):
    [path] = [path for path in recordings() if path.name == name]
    stages, counter = hosts.history(path).stages, Counter()

    rough = roughly(stages, None, counter).sampled(1)

    counted = measured(stages, [parse(stage.messages) for stage in stages], counter)
    ours = measured_roughly(stages, None, counter, rough)
    for one, exact in zip(ours, counted, strict=True):
        assert [each.keys() for each in one.by_kind] == [each.keys() for each in exact.by_kind]
        assert [*one.messages] == [*exact.messages]
    together, all_of_them = (summed(k for s in of for k in s.by_kind) for of in (ours, counted))
    assert together == pytest.approx(all_of_them, rel=0.02, abs=50)

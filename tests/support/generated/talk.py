"""What is said and done in generated conversations, whatever the dialect."""

from typing import Any, TypeAlias, get_args

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from context_compression.testing import Dialect, Run

Messages: TypeAlias = list[dict[str, Any]]

DIALECTS: tuple[Dialect, ...] = get_args(Dialect)
EVERY_DIALECT: SearchStrategy[Dialect] = st.sampled_from(DIALECTS)
dialects: SearchStrategy[Dialect] = st.sampled_from(("anthropic", "openai"))

SENTENCES = (
    "ok",
    "Please fix src/app/main.py, but never change the tests.",
    "不要修改数据库，因为明天发布。",
    "The root cause is `parse_header`; see CORE-118 and https://example.org/a?b=1.",
    "SUMMARY of what we did so far: nothing.",
    "NODE_COMPLETE build 42",
    "[Compressed History] older words",
    "<system-reminder>be careful</system-reminder>",
    "```python\nprint('hello')\n```\n\nsecond paragraph\n\n" + "a long line without end " * 40,
)
LINES = (
    "info worker 7 handled request id=9f31bc02 in 120ms",
    "ERROR cannot open /srv/data/index.db: no such file",
    "    return self.connect(timeout=30)  # src/net/client.py:88",
    "会话超时，正在重试",
)

words = st.one_of(st.sampled_from(SENTENCES), st.text(min_size=1, max_size=60).filter(str.strip))


def rarely(times: int) -> SearchStrategy[bool]:
    """True once in so many times."""
    return st.integers(0, times - 1).map(lambda number: number == times - 1)


@st.composite
def outputs(draw: DrawFn) -> str:
    """What a tool prints: nothing, a few words, or up to some hundred lines."""
    if draw(st.booleans()):
        return draw(st.one_of(st.just(""), words))
    line, times = draw(st.sampled_from(LINES)), draw(st.integers(2, 160))
    middle = draw(st.sampled_from((*LINES, "exit code: 2", "")))
    return "\n".join([f"{n} {line}" for n in range(times)] + [middle] + [line] * (times // 2))


@st.composite
def runs(draw: DrawFn, taken: list[int]) -> list[Run]:
    """One to three parallel calls, their ids new among `taken`."""
    return [draw(one_run(taken)) for _ in range(draw(st.integers(1, 3)))]


@st.composite
def one_run(draw: DrawFn, taken: list[int], name: str = "") -> Run:
    """One call, its id new among `taken`."""
    arguments = {"path": draw(st.sampled_from(("src/a.py", "src/b.py"))), "note": draw(words)}
    name = name or draw(st.sampled_from(("Bash", "Read", "mcp__cc__context_restore")))
    failed, picture = draw(st.booleans()), draw(rarely(10))
    return Run(f"id{new(taken)}", name, arguments, draw(outputs()), failed, picture)


def new(taken: list[int]) -> int:
    """The next number, which is then among `taken`."""
    taken.append(len(taken))
    return taken[-1]

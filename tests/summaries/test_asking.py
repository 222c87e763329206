"""A summarizer may be async or plain, an object or a function; a mistake in one is told at once."""

import functools
from collections.abc import Callable
from pathlib import Path
from threading import current_thread, main_thread
from typing import Any

import anyio
import pytest

from context_compression import Result, Session, acompress, compress
from context_compression.errors import InvalidSettings
from context_compression.summaries import SummaryReply, SummaryRequest
from context_compression.testing import ScriptedSummarizer, conversation

MESSAGES = conversation(6)
TARGET = 1_500


def written(request: SummaryRequest) -> SummaryReply:
    return anyio.run(ScriptedSummarizer().summarize, request)


class Plain:
    """Writes a summary without a loop."""

    threads: tuple[Any, ...] = ()

    def summarize(self, request: SummaryRequest) -> SummaryReply:
        """The summary."""
        self.threads = (*self.threads, current_thread())
        return written(request)


class PlainText(Plain):
    """Returns the text alone."""

    def summarize(self, request: SummaryRequest) -> Any:
        """The text."""
        return written(request).text


class Later(Plain):
    """Returns something to await from a plain method."""

    def summarize(self, request: SummaryRequest) -> Any:
        """What to await."""
        return ScriptedSummarizer().summarize(request)


class Called:
    """An object that is called."""

    async def __call__(self, request: SummaryRequest) -> str:
        """The text."""
        return (await ScriptedSummarizer().summarize(request)).text


async def a_function(request: SummaryRequest) -> SummaryReply:
    return await ScriptedSummarizer().summarize(request)


def with_more(more: str, request: SummaryRequest) -> str:
    return written(request).text + more


WRITERS: dict[str, Any] = {
    "a plain method": Plain(),
    "a plain method that returns the text": PlainText(),
    "a plain method that returns a coroutine": Later(),
    "a function": written,
    "an async function": a_function,
    "an object that is called": Called(),
    "a partial": functools.partial(with_more, "\n"),
}


def by_compress(writer: Any, folder: Path) -> Result:
    return compress(MESSAGES, target_tokens=TARGET, strategy="summarize", summarizer=writer)


def by_acompress(writer: Any, folder: Path) -> Result:
    given: dict[str, Any] = {"strategy": "summarize", "summarizer": writer}
    return anyio.run(lambda: acompress(MESSAGES, target_tokens=TARGET, **given))


def by_session(writer: Any, folder: Path) -> Result:
    session = Session(folder, "s", summarizer=writer)
    session.record(*MESSAGES)
    return session.compress(target_tokens=TARGET, strategy="summarize")


def in_time(writer: Any, folder: Path) -> Result:
    given: dict[str, Any] = {"strategy": "summarize", "summarizer": writer}
    return compress(MESSAGES, target_tokens=TARGET, settings={"summary_seconds": 60}, **given)


DOORS = {
    "compress": by_compress, "acompress": by_acompress, "Session": by_session, "in time": in_time
}  # fmt: skip
each_door = pytest.mark.parametrize("door", DOORS.values(), ids=DOORS)


@pytest.mark.slow
@each_door
@pytest.mark.parametrize("writer", WRITERS.values(), ids=WRITERS)
def test_a_summarizer_of_any_kind_writes_the_summary(
    door: Callable[[Any, Path], Result], writer: Any, tmp_path: Path
) -> None:
    result = door(writer, tmp_path)

    assert result.strategy == "summarize"
    assert result.summary is not None


def test_a_plain_summarizer_runs_in_a_thread(tmp_path: Path) -> None:
    plain = Plain()

    by_compress(plain, tmp_path)

    assert plain.threads
    assert main_thread() not in plain.threads


class Asked:
    """Counts how often it is asked, and answers as it is told to."""

    def __init__(self, answer: Callable[[Any], Any]) -> None:
        self.answer, self.times = answer, 0

    async def summarize(self, request: SummaryRequest) -> Any:
        """The answer."""
        self.times += 1
        return self.answer(request)


class AskedPlainly(Asked):
    """The same with a plain method."""

    def summarize(self, request: SummaryRequest) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]  # plain on purpose
        """The answer."""
        self.times += 1
        return self.answer(request)


REPLY: Any = SummaryReply


def unwritten(request: Any) -> Any:
    raise NotImplementedError("summarize")


def misspelt(request: Any) -> Any:
    raise NameError("name 'clinet' is not defined")


def some_of(request: Any) -> Any:
    yield request


WRONG_ANSWERS: dict[str, tuple[Callable[[Any], Any], str]] = {
    "nothing": (lambda request: None, "it returned None"),
    "bytes": (lambda request: b"## Goal", "it returned a value of type bytes"),
    "a dict": (lambda request: {"text": "## Goal"}, "it returned a value of type dict"),
    "a generator": (some_of, "it returned a value of type generator"),
    "no text": (lambda request: REPLY(None), "the text of its SummaryReply is None"),
    "no number": (
        lambda request: REPLY("## Goal", input_tokens=None),
        "input_tokens of its SummaryReply is None",
    ),
    "a field of its own": (lambda request: REPLY(txt="a"), "txt"),
    "an unknown field": (lambda request: request.messages, "messages"),
    "an unknown name": (misspelt, "clinet"),
    "not written": (unwritten, "NotImplementedError"),
}


@pytest.mark.slow
@each_door
@pytest.mark.parametrize("kind", [Asked, AskedPlainly])
@pytest.mark.parametrize("wrong", WRONG_ANSWERS.values(), ids=WRONG_ANSWERS)
def test_a_mistake_in_a_summarizer_is_told_with_what_to_do_and_not_asked_for_again(
    door: Callable[[Any, Path], Result],
    kind: type[Asked],
    wrong: tuple[Callable[[Any], Any], str],
    tmp_path: Path,
) -> None:
    answer, said = wrong
    writer = kind(answer)

    result = door(writer, tmp_path)

    assert writer.times == 1
    assert result.strategy == "extract"
    assert result.target_met
    (note,) = (note for note in result.notes if note.startswith("no summary: "))
    assert said in note
    assert "returns SummaryReply(text), or the text" in note


def failing(error: BaseException) -> Callable[[Any], Any]:
    def answer(request: Any) -> Any:
        raise error

    return answer


@pytest.mark.parametrize("kind", [Asked, AskedPlainly])
@pytest.mark.parametrize(
    "error", [OSError("the line is dead"), TypeError("no choices"), KeyError("a")]
)
def test_a_failure_that_may_pass_is_asked_for_again(
    kind: type[Asked], error: Exception, tmp_path: Path
) -> None:
    writer = kind(failing(error))

    result = by_compress(writer, tmp_path)

    assert writer.times == 3
    assert any(str(error) in note for note in result.notes)


def test_a_plain_function_that_exits_ends_no_program(tmp_path: Path) -> None:
    result = by_compress(AskedPlainly(failing(SystemExit(3))), tmp_path)

    assert any("SystemExit: 3" in note for note in result.notes)


def test_a_plain_function_that_never_ends_is_left_alone(tmp_path: Path) -> None:
    from threading import Event

    ends = Event()
    settings = {"summary_seconds": 0.1, "summary_attempts": 1}

    result = compress(
        MESSAGES,
        target_tokens=TARGET,
        settings=settings,
        summarizer=lambda request: str(ends.wait()),
    )
    ends.set()

    assert result.strategy == "extract"
    assert any("No summary within 0.1 s" in note for note in result.notes)


class WithoutRequest:
    """Its method takes nothing."""

    def summarize(self) -> str:
        """A text."""
        return ""


class WithMore:
    """Its method takes more than the request."""

    async def summarize(self, system: str, prompt: str, *, model: str) -> str:
        """A text."""
        return system + prompt + model


WRONG: dict[str, tuple[Any, str]] = {
    "a class": (Plain, "summarizer is the class Plain; pass an object"),
    "a name": ("gpt-5", "it must be an object with the method summarize, or a function"),
    "an object without the method": (object(), "it must be an object with the method summarize"),
    "a method without the request": (WithoutRequest(), "cannot be called with the request alone"),
    "a method with more": (WithMore(), "cannot be called with the request alone"),
    "a function of nothing": (lambda: "", "cannot be called with the request alone"),
}


@each_door
@pytest.mark.parametrize("wrong", WRONG.values(), ids=WRONG)
def test_what_cannot_be_asked_is_refused_when_it_is_passed(
    door: Callable[[Any, Path], Result], wrong: tuple[Any, str], tmp_path: Path
) -> None:
    writer, said = wrong

    with pytest.raises(InvalidSettings, match=said):
        door(writer, tmp_path)

"""`Summarizer`, the author of a summary: its request, its reply, how it is asked, and whose it is.

Asks a summarizer of any kind: an object with the method `summarize` or a function, async or not. A
mistake in one is found when it is passed if it can be, else at its first answer. Such an answer is
not asked for again, because the next one would be the same.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, fields
from inspect import isawaitable, iscoroutinefunction, signature
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias, cast

from context_compression.errors import InvalidSettings, SummaryError
from context_compression.setting_names import Provider

if TYPE_CHECKING:
    from context_compression.settings import Settings


@dataclass(frozen=True)
class SummaryRequest:
    """A request to a model: one text, no tools.

    Attributes:
        system: instructions.
        prompt: the user message: the record of the conversation, then the instructions.
        max_tokens: the most tokens of the answer.
        model: the model of the settings, else that of the conversation, if it is known.
        attempts: the most calls for this request, including the first.
        instructions: the instructions of the prompt alone, for an agent that still has the
            conversation.
        seconds: how long the answer may take; `None` if no setting says so.
    """

    system: str
    prompt: str
    max_tokens: int
    model: str | None = None
    attempts: int = 3
    instructions: str = ""
    seconds: float | None = None


@dataclass(frozen=True)
class SummaryReply:
    """The reply to a request.

    Attributes:
        text: the summary.
        model: the id of the model that wrote it.
        input_tokens: tokens of the input that were charged, including cached tokens.
        output_tokens: tokens of the answer.
        cache_read_tokens: tokens of the input that were read from a prompt cache.
        cache_write_tokens: tokens of the input that were written into a prompt cache.
        cost: in US dollars, if the summarizer was given a price.
        stands_in: whether it only stands for a summary, in a forecast; then it is not judged.
    """

    text: str
    model: str | None = None
    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    cost: float | None = None
    stands_in: bool = False


class Summarizer(Protocol):
    """Writes summaries. It has one method, so that callers can bring their own.

    The method may be async or plain; a plain one runs in a thread. A function of the request alone
    is a summarizer, too.
    """

    def summarize(
        self, request: SummaryRequest
    ) -> Awaitable[SummaryReply | str] | SummaryReply | str:
        """The summary for a request, as a reply or as its text.

        Raises:
            SummaryError: there is no summary: an error of the provider, an empty or cut off answer,
                a refusal, or a tool call.
        """
        ...


SummaryFunction: TypeAlias = Callable[
    [SummaryRequest], Awaitable[SummaryReply | str] | SummaryReply | str
]
"""The same as a function."""


HOW = "It gets a SummaryRequest (system, prompt, …) and returns SummaryReply(text), or the text"
MISTAKES = (NameError, ImportError, NotImplementedError, SyntaxError)
"""Exceptions that come again however often a function is called."""


def why_no_summarizer(writer: Any) -> str:
    """Why an object is no summarizer, and what to do; `""` if it may be one."""
    if isinstance(writer, type):
        return f"summarizer is the class {writer.__name__}; pass an object: {writer.__name__}(…)"
    write = _function_of(writer)
    if not callable(write):
        return (
            f"summarizer is {writer!r:.80}; it must be an object with the method summarize, or a "
            'function. Settings name an API: {"summarizer": "openai", "summary_model": '
            '"gpt-5-mini"}'
        )
    try:
        signature(write).bind(None)
    except TypeError as error:
        return (
            f"summarizer {writer!r:.80} cannot be called with the request alone ({error}). Define "
            "summarize(self, request), async or plain, or a function of the request"
        )
    except ValueError:  # it has no signature, as some that are written in C
        pass
    return ""


async def asked(summarizer: Summarizer, request: SummaryRequest) -> Any:
    """The answer of a summarizer; a plain function runs in a thread, so that time limits hold.

    Raises:
        BaseException: as it raises.
    """
    write = _function_of(summarizer)
    answer = write(request) if iscoroutinefunction(write) else await _in_thread(write, request)
    return await answer if isawaitable(answer) else answer


def reply_of(answer: Any) -> SummaryReply:
    """The reply in what a summarizer returned.

    Raises:
        SummaryError: it is neither a reply nor a text.
    """
    if isinstance(answer, str):
        return SummaryReply(answer)
    if not isinstance(answer, SummaryReply):
        raise _mistake(f"it returned {_named(answer)}, not a SummaryReply or a text")
    text: Any = answer.text
    if not isinstance(text, str):
        raise _mistake(f"the text of its SummaryReply is {_named(text)}")
    for name in (each.name for each in fields(answer) if each.name.endswith("_tokens")):
        if not isinstance(tokens := getattr(answer, name), int):
            raise _mistake(f"{name} of its SummaryReply is {_named(tokens)}, not a number")
    return answer


def failure_of(error: BaseException) -> SummaryError:
    """The failure for an exception of a summarizer that is no `SummaryError`."""
    said = f"{type(error).__name__}: {error}"
    return _mistake(said) if _is_mistake(error) else SummaryError(said)


def _function_of(summarizer: Any) -> Callable[[SummaryRequest], Any]:
    """The method of an object; the object itself if it is a function."""
    return getattr(summarizer, "summarize", summarizer)


async def _in_thread(write: Callable[[SummaryRequest], Any], request: SummaryRequest) -> Any:
    """The answer of a plain function, whose thread is left alone if the time is over."""
    from anyio.to_thread import run_sync  # it imports an event loop

    failed: list[BaseException] = []

    def work() -> Any:
        try:
            return write(request)
        except BaseException as error:  # in a thread, none of them is a signal
            failed.append(error)

    answer = await run_sync(work, abandon_on_cancel=True)
    for error in failed:
        if isinstance(error, Exception):
            raise error
        raise SummaryError(f"{type(error).__name__}: {error}") from error
    return answer


def _mistake(what: str) -> SummaryError:
    return SummaryError(
        f"The summarizer has a mistake and was not asked again: {what}. {HOW}.", retryable=False
    )


def _named(value: Any) -> str:
    return "None" if value is None else f"a value of type {type(value).__name__}"


def _is_mistake(error: BaseException) -> bool:
    """Whether an exception says that a summarizer is written wrongly, not that a request failed."""
    match error:
        case AttributeError(obj=SummaryRequest() | SummaryReply()):
            return True
        case AttributeError(obj=owner):
            return callable(getattr(owner, "summarize", None))
        case TypeError():
            return SummaryReply.__name__ in str(error) or not _was_entered(error.__traceback__)
        case _:
            return isinstance(error, MISTAKES)


def _was_entered(trace: TracebackType | None) -> bool:
    """Whether an exception comes from inside a function that is called here."""
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return trace is not None and trace.tb_frame.f_code.co_filename != __file__


BY_SETTINGS: Literal["by settings"] = "by settings"
Writer: TypeAlias = Summarizer | SummaryFunction | Literal["by settings"] | None
"""A summarizer or a function; `BY_SETTINGS` for the model that the settings name; `None` for no
model."""


def summarizer_for(writer: Writer, settings: "Settings") -> Summarizer | None:
    """The summarizer to ask; `None` if no model may be asked.

    If there is no key for the model, the summary fails, and `on_summary_failure` says what follows.

    Raises:
        InvalidSettings: it is no summarizer.
    """
    if writer is None:
        return None
    if writer != BY_SETTINGS:
        return _checked(writer)
    provider = settings.provider
    return provider and summarizer_of(provider, settings.summary_model, deadline_seconds=None)


def _checked(writer: Summarizer | SummaryFunction) -> Summarizer:
    if why := why_no_summarizer(writer):
        raise InvalidSettings(f"{why}.")
    return cast("Summarizer", writer)  # `asked` takes a function, too


def summarizer_of(provider: Provider, model: str | None, **options: Any) -> Summarizer:
    """The summarizer that asks an API for the summaries of a model; its module imports sockets.

    Args:
        provider: the API.
        model: the id of the model; `None` for that of the conversation.
        options: further arguments of the summarizer.
    """
    if provider == "openai":
        from context_compression.summaries.chat_completions import OpenAISummarizer

        return OpenAISummarizer(model, **options)
    from context_compression.summaries.anthropic import AnthropicSummarizer

    return AnthropicSummarizer(model, **options)

"""The doors of the adapters: the messages of a framework, made of ours, as far as it has such."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from door import Ask, Door, Request, of_session, session_in
from generated import Messages

from context_compression.integrations.translation import Translation, fit
from context_compression.testing import Dialect

INTEGRATIONS = "context_compression.integrations"


def _adapter(
    translation: Callable[[Sequence[Any]], Translation[Any]],
    dialect: Dialect,
    messages: Messages,
    asked: Ask,
    folder: Path,
) -> Iterator[Request]:
    given = [*_made(translation(()), messages)]
    session = session_in(folder, asked)
    for so_far, system in asked.growing([translation(given).read(each) or {} for each in given]):
        grouped = asked.regroups is not None  # then there are other messages than at first
        history = [*_made(translation(()), so_far)] if grouped else given[: len(so_far)]
        translated = translation(history)
        view = fit(session, history, translated, system=system)
        read: list[Any] = [[*map(translated.read, each)] for each in (history, view)]
        if all(message is not None for each in read for message in each):
            given_to_us, sent = read
            yield Request(given_to_us, sent, of_session(session), (history, view))


def _made(translation: Translation[Any], messages: Messages) -> Iterator[Any]:
    for message in messages:
        try:
            made = translation.write(message)
            if translation.read(made) is not None:
                yield made
        except (KeyError, TypeError, ValueError, AttributeError):
            continue  # the framework has no such message


def _of_langchain(history: Sequence[Any]) -> Translation[Any]:
    return import_module(f"{INTEGRATIONS}.langchain_messages").translation(history)


def _of_pydantic_ai(history: Sequence[Any]) -> Translation[Any]:
    read = import_module(f"{INTEGRATIONS}.pydantic_ai_messages").TranslatedHistory(history)
    return Translation(read.read, read.write)


def _of_google_adk(history: Sequence[Any]) -> Translation[Any]:
    return import_module(f"{INTEGRATIONS}.google_adk").CONTENTS


_ADAPTERS: Sequence[tuple[str, Any, Dialect]] = (
    ("langchain_core", _of_langchain, "vercel"),
    ("pydantic_ai", _of_pydantic_ai, "anthropic"),
    ("google.adk", _of_google_adk, "gemini"),
)


def _is_there(package: str) -> bool:
    try:
        return find_spec(package) is not None
    except ModuleNotFoundError:
        return False


OF_FRAMEWORKS = tuple(
    Door(
        f"adapter of {package}", partial(_adapter, of), grows=True, dialects=(dialect,),
        is_slow=True, answers=True, takes_system=True,
    )
    for package, of, dialect in _ADAPTERS
    if _is_there(package)
)  # fmt: skip
"""Those whose frameworks are installed here."""

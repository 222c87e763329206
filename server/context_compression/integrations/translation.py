"""A framework's own messages, fitted by way of dicts that we read, with what persons said.

    view = fit(session, messages, Translation(read=to_dict, write=to_message))

A message that did not change comes back as the very object, with all that it carries. A message
that `read` does not know is passed through as it is, and `session.status()` warns of its kind.

A framework often knows who speaks only for a moment: when a call was rejected, or an interrupt was
answered. `Spoken` keeps that by the call. A message is marked with it when it is read, and loses
the mark when it is written, because no provider knows it.
"""

from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from threading import Lock
from typing import Any, Generic, TypeVar

from context_compression.conversation.authors import BY_USER
from context_compression.session import Session

MOST = 10_000
"""How many calls are remembered; a session of ours keeps what is said in each with its message."""


class Spoken:
    """The words of persons in the results of calls, by the ids of the calls."""

    def __init__(self) -> None:
        self._words: OrderedDict[str, str] = OrderedDict()
        self._lock = Lock()

    def __contains__(self, call_id: str) -> bool:
        return call_id in self._words

    def note(self, call_id: str, words: str) -> None:
        """Remember what a person said; only what then stands in the result is believed."""
        with self._lock:
            self._words[call_id] = words
            if len(self._words) > MOST:
                self._words.popitem(last=False)

    def marked(self, part: Mapping[str, Any], call_id: object) -> dict[str, Any]:
        """The dict of a result, with the words if there are some."""
        words = self._words.get(str(call_id))
        return {**part, BY_USER: words} if words else dict(part)


Message = TypeVar("Message")
Response = TypeVar("Response")


@dataclass(frozen=True)
class Translation(Generic[Message]):
    """How the messages of one framework become dicts of a dialect, and dicts its messages.

    Attributes:
        read: the dict of a message; `None` if it is unknown. The same message always gives an
            equal dict.
        write: a message for a dict that was edited or is new.
    """

    read: Callable[[Message], dict[str, Any] | None]
    write: Callable[[Mapping[str, Any]], Message]


def fit(
    session: Session, messages: Sequence[Message], translation: Translation[Message], **beside: Any
) -> list[Message]:
    """`Session.fit` for a framework's own messages.

    Args:
        session: the session of the agent or thread.
        messages: its history.
        translation: reads and writes its messages.
        beside: `system` and `tools` of the request, as `Session.fit` takes them.
    """
    given = _read(messages, translation)
    return _written(session.fit(given, **beside), given, messages, translation)


async def afit(
    session: Session, messages: Sequence[Message], translation: Translation[Message], **beside: Any
) -> list[Message]:
    """`fit` for an event loop."""
    given = _read(messages, translation)
    return _written(await session.afit(given, **beside), given, messages, translation)


def recovering(session: Session, ask: Callable[[], Response]) -> Response:
    """What `ask` returns, which fits a request and sends it; asks once more if it was too long."""
    try:
        return ask()
    except Exception as error:
        if session.recover(error) is None:
            raise
        return ask()


async def arecovering(session: Session, ask: Callable[[], Awaitable[Response]]) -> Response:
    """`recovering` for an event loop."""
    try:
        return await ask()
    except Exception as error:
        if await session.arecover(error) is None:
            raise
        return await ask()


def parts_of(content: Any) -> Sequence[dict[str, Any]]:
    """The content of a dict as parts; a text is one."""
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def _read(messages: Sequence[Message], translation: Translation[Message]) -> list[Any]:
    """The dicts of messages; the message itself where it is unknown."""
    dicts = map(translation.read, messages)
    return [
        message if read is None else read for message, read in zip(messages, dicts, strict=True)
    ]


def _written(
    view: Sequence[Any],
    given: Sequence[Any],
    messages: Sequence[Message],
    translation: Translation[Message],
) -> list[Message]:
    """The messages of a view: those that were given, or new ones for other dicts."""
    originals = dict(zip(map(id, given), messages, strict=True))
    return [
        originals[id(each)] if id(each) in originals else translation.write(each) for each in view
    ]

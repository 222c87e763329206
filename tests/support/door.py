"""What a law may ask of every door: its requests, what they told, and what a ref brings back."""

import tempfile
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

from generated import DIALECTS, Messages
from talks import Talk

from context_compression import Session, count_tokens, restore_tool
from context_compression.conversation import canonical, is_by_model
from context_compression.errors import ContextCompressionError, UnknownRef
from context_compression.session import Outgoing
from context_compression.store import Store
from context_compression.summaries import BY_SETTINGS
from context_compression.testing import Dialect

REQUESTS = 4
"""How many requests a door that grows makes at most."""
BLOCKED = "no folder can be here"
STORE = "store"
"""The name of the store in the folder of a door."""


@dataclass(frozen=True)
class Ask:
    """What a caller asks for.

    Attributes:
        share: of the history's tokens, for doors that take a target.
        settings: of the call or session.
        restores: whether the tool `context_restore` is among those of a session.
        crowded: the system prompt of one request more behind the last, and of none after it.
        tokens: the target, in place of a share.
        has_model: whether the model that the settings name writes summaries.
        regroups: makes other borders between the messages of a history, which is then sent again.
    """

    share: float = 0.5
    settings: Mapping[str, Any] = field(default_factory=dict[str, Any])
    restores: bool = False
    crowded: str = ""
    tokens: int = 0
    has_model: bool = False
    regroups: Callable[[Messages], Messages] | None = None

    def target(self, messages: Messages) -> int:
        """The target in tokens."""
        return self.tokens or max(1, int(count_tokens(messages) * self.share))

    def growing(self, messages: Messages) -> Iterator[tuple[Messages, str]]:
        """The histories of some requests, with the system prompt of each; the last is all.

        They follow the user's words or results.
        """
        behind = range(1, len(messages))
        ends = [end for end in behind if not is_by_model(messages[end - 1])]
        for end in (*ends[:: max(1, len(ends) // REQUESTS)], len(messages)):
            yield messages[:end], ""
            if self.regroups:
                yield self.regroups(messages[:end]), ""
        if self.crowded:
            yield messages, self.crowded
            yield messages, ""


def nothing(ref: str) -> str:
    """What a ref brings back where nothing was archived."""
    raise UnknownRef(f"Nothing is archived under {ref}.")


def no_tool(ref: str) -> str | None:
    """What a model is shown of a ref where it has no tool to ask for it."""
    return None


@dataclass(frozen=True)
class About:
    """What a caller can learn about a request.

    Attributes:
        told: what it can read: repairs, notes, warnings.
        restore: brings back the original under a ref as a text, in a process of its own.
        recorded: what else is kept of the history, as it came.
        limit: the tokens that the view was to have at most.
        shown: what a model is shown that asks for a ref; `None` if it has no tool for it.
        refusal: of the target, before the one that was met; "" if there was none.
        written: what was archived when the target was refused.
    """

    told: Sequence[str] = ()
    restore: Callable[[str], str] = nothing
    recorded: Callable[[], Messages] = list
    limit: int | None = None
    shown: Callable[[str], str | None] = no_tool
    refusal: str = ""
    written: Sequence[Path] = ()


@dataclass(frozen=True)
class Request:
    """What one request sends.

    Attributes:
        history: what the caller had.
        view: what goes out for it.
        about: what the caller can learn about it.
        objects: what the caller passed, and what it got, where they are no dicts.
    """

    history: Messages
    view: Messages
    about: About = field(default_factory=About)
    objects: tuple[Sequence[Any], Sequence[Any]] | None = None


Send: TypeAlias = Callable[[Dialect, Messages, Ask, Path], Iterator[Request]]


@dataclass(frozen=True)
class Door:
    """One way into the package.

    Attributes:
        name: of the door.
        send: makes its requests; the folder is empty and belongs to them.
        grows: whether it is given a growing history.
        dialects: those that it takes.
        is_slow: whether a request of it takes long, so that a law should try fewer examples.
        makes_own: whether it makes the messages anew, so that nothing is the very object.
        replaces: whether one text or notice takes the place of all, however small.
        tells: whether its caller can read what was repaired.
        answers: whether a request goes out whatever happens, as nobody can take a refusal.
        takes_system: whether a system prompt is part of its requests.
        is_refused: whether its requests are refused as too long, however small.
    """

    name: str
    send: Send
    grows: bool = False
    dialects: Sequence[Dialect] = DIALECTS
    is_slow: bool = False
    makes_own: bool = False
    replaces: bool = False
    tells: bool = True
    answers: bool = False
    takes_system: bool = False
    is_refused: bool = False

    @contextmanager
    def opened(self, talk: Talk, asked: Ask, *, blocked: bool = False) -> Generator[list[Request]]:
        """The requests for a conversation, while their store is there.

        Args:
            talk: the conversation.
            asked: what the caller asks for.
            blocked: whether the store cannot be written.
        """
        with tempfile.TemporaryDirectory() as folder:
            if blocked:
                (Path(folder) / STORE).write_text(BLOCKED)
            yield [*self.send(*talk, asked, Path(folder))]

    def requests(self, talk: Talk, asked: Ask) -> list[Request]:
        """The requests for a conversation, whose store is gone."""
        with self.opened(talk, asked) as requests:
            return requests


def session_in(folder: Path, asked: Ask) -> Session:
    """A new object for the session of a door."""
    writer = BY_SETTINGS if asked.has_model else None
    session = Session(folder / STORE, "one", settings=asked.settings, summarizer=writer)
    session.tools = [restore_tool(session).anthropic] if asked.restores else None
    return session


def of_session(session: Session, kept: Messages | None = None, *, in_memory: bool = False) -> About:
    """What a request of a session has beside history and view.

    Args:
        session: the session.
        kept: what its program keeps, if not the session.
        in_memory: whether its refs end with it.
    """
    place, id = session.store, session.id

    def again() -> Session:
        return session if in_memory else Session(Store(place.folder), id)

    def restore(ref: str) -> str:
        return again().restore(ref, note=False)

    def shown(ref: str) -> str:
        return restore_tool(again()).answer({"ref": ref})

    def recorded() -> Messages:
        own = [] if in_memory else Session(Store(place.folder), id).state().recorded
        return own if kept is None else [*own, *only_repaired(kept)]

    warnings, window = session.status().warnings, session.settings.token_budget
    return About(warnings, restore, recorded, window, shown)


def only_repaired(history: Messages) -> Messages:
    """The messages that a repair changes by itself; a program that keeps its history has them."""
    sent = {*map(canonical, Outgoing().of(history, drops_thinking=True).messages)}
    return [message for message in history if canonical(message) not in sent]


def in_store(folder: Path, told: Sequence[str], limit: int | None = None) -> About:
    """The same for a store in which the session has a name that nobody knows."""

    def restore(ref: str) -> str:
        log = Store(folder).locate(ref)
        return nothing(ref) if log is None else Session(folder, log.id).restore(ref, note=False)

    def shown(ref: str) -> str:
        log = Store(folder).locate(ref)
        return (
            nothing(ref)
            if log is None
            else restore_tool(Session(folder, log.id)).answer({"ref": ref})
        )

    def recorded() -> Messages:
        ids = Store(folder).sessions()
        return [each for id in ids for each in Session(folder, id).state().recorded]

    return About(told, restore, recorded, limit, shown)


def archived_in(folder: Path) -> Sequence[Path]:
    """The archives of compressions in the store of a door."""
    return [*(folder / STORE).rglob("compact-*")]


def is_refusal(error: Exception) -> bool:
    """Whether an error is a refusal in our words."""
    return isinstance(error, ContextCompressionError) and "Traceback" not in str(error)

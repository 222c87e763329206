"""What of ours is put into a host's files: its entry of a server, its hooks, a script."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from context_compression.conversation.messages import is_array, is_object
from context_compression.setup import jsonc
from context_compression.setup.machine import PROGRAM

Value = dict[str, Any]
HOOKS = "hooks"
OURS = ("type", "command", "args", "cmd")
"""What an entry has to say in our words; the rest of it is the user's once it is there."""


class Format(Protocol):
    """How entries are read, put in and taken out. Each of our modules for a format is one.

    Texts that cannot be understood raise `ValueError`.
    """

    def holds(self, text: str, under: str) -> bool:
        """Whether there is a place for entries."""
        ...

    def entry_in(self, text: str, under: str, name: str) -> Any:
        """What the entry says."""
        ...

    def with_entry(self, text: str, under: str, name: str, value: Mapping[str, Any]) -> str:
        """The text with the entry."""
        ...

    def without_entry(self, text: str, under: str, name: str, *, tidy: bool) -> str:
        """The text without it."""
        ...


class Piece(Protocol):
    """Something of ours in a file. A file that is not there is an empty text.

    Texts that cannot be understood raise `ValueError`; the message says what is wrong.
    """

    @property
    def path(self) -> Path:
        """The file."""
        ...

    def is_in(self, text: str) -> bool:
        """Whether it is there, in whatever version."""
        ...

    def put(self, text: str) -> str:
        """The text with it, in this version; the very same text if it is there like that."""
        ...

    def taken(self, text: str, before: str | None) -> str:
        """The text without it, and without what had to be made for it.

        Args:
            text: with it.
            before: how the file was before, where that is known.
        """
        ...


@dataclass(frozen=True)
class Entry:
    """The entry that makes a host start our server.

    Attributes:
        path: of the file.
        format: of the file.
        under: where the entries stand in it.
        wanted: ours.
        strict: whether the host takes JSON without comments only.
    """

    path: Path
    format: Format
    under: str
    wanted: Value
    strict: bool = False

    def found(self, text: str) -> Value | None:
        """What the entry says now."""
        checked(text, strict=self.strict)
        found = self.format.entry_in(text, self.under, PROGRAM)
        if found is not None and not is_object(found):
            raise ValueError(f"its {PROGRAM} is no entry of a server")
        return None if found is None else dict(found)

    def is_in(self, text: str) -> bool:
        """Whether there is one of our name."""
        return self.found(text) is not None

    def put(self, text: str) -> str:
        """The text with it; what a user added to an earlier one is kept."""
        known = self.found(text)
        ours = {name: value for name, value in self.wanted.items() if name in OURS}
        entry = {**self.wanted, **(known or {}), **ours}
        if known == entry:
            return text
        new = self.format.with_entry(text, self.under, PROGRAM, entry)
        if self.found(new) != entry:
            raise ValueError("it is written so that no entry can be added by a program")
        return new

    def taken(self, text: str, before: str | None) -> str:
        """The text without it."""
        tidy = before is not None and not self.format.holds(before, self.under)
        return self.format.without_entry(text, self.under, PROGRAM, tidy=tidy)


@dataclass(frozen=True)
class Hooks:
    """Hooks in a JSON file, as Claude Code and Codex have them: lists of groups by event.

    Attributes:
        path: of the file.
        groups: ours, by event.
        strict: whether the host takes JSON without comments only.
    """

    path: Path
    groups: Mapping[str, Sequence[Any]]
    strict: bool = True

    def is_in(self, text: str) -> bool:
        """Whether a group there is ours."""
        return any(any(map(is_ours, groups)) for groups in self._there(text).values())

    def put(self, text: str) -> str:
        """The text with all of them, behind those of others."""
        there = self._there(text)
        ours = {event: [g for g in groups if is_ours(g)] for event, groups in there.items()}
        if {event: groups for event, groups in ours.items() if groups} == self.groups:
            return text
        text = self.taken(text, None)
        for event, groups in self.groups.items():
            for group in groups:
                text = jsonc.with_item(text, (HOOKS, event), group)
        return text

    def taken(self, text: str, before: str | None) -> str:
        """The text without them."""
        for event in self._there(text):
            path = (HOOKS, event)
            keep = len(path)
            if before is not None:
                keep = sum(jsonc.value_at(before, path[:n]) is not None for n in (1, 2))
            text = jsonc.without_items(text, path, is_ours, keep=keep)
        return text

    def _there(self, text: str) -> dict[str, Sequence[Any]]:
        checked(text, strict=self.strict)
        found: Any = jsonc.value_at(text, (HOOKS,)) or {}
        if not is_object(found) or not all(is_array(groups) for groups in found.values()):
            raise ValueError(f'its "{HOOKS}" are no lists of hooks by event')
        return dict(found)


@dataclass(frozen=True)
class Script:
    """A file that is all ours: a program that the host runs inside itself.

    Attributes:
        path: of the file.
        content: of it.
    """

    path: Path
    content: str

    def is_in(self, text: str) -> bool:
        """Whether there is anything: its name says whose it is."""
        return bool(text)

    def put(self, text: str) -> str:
        """The script, whatever was there."""
        del text
        return self.content

    def taken(self, text: str, before: str | None) -> str:
        """Nothing."""
        del text, before
        return ""


def is_ours(group: Any) -> bool:
    """Whether a group of hooks asks our server."""
    hooks = group.get("hooks") if is_object(group) else None
    asked = (hook.get("server") for hook in hooks if is_object(hook)) if is_array(hooks) else ()
    return PROGRAM in asked


def checked(text: str, *, strict: bool) -> None:
    """Raises `ValueError` for a text that a host which takes plain JSON only cannot read."""
    if not strict or not text.strip():
        return
    try:
        json.loads(text)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    except ValueError as error:
        raise ValueError(f"it is not JSON: {error}") from None

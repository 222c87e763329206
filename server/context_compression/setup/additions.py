"""Additions to a host's files: the entry of our server, hooks, a script."""

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
OWN_KEYS = ("type", "command", "args", "cmd")
"""The keys of an entry that `install` overwrites; all others belong to the user."""


class FileFormat(Protocol):
    """Reads, adds and removes entries. The modules jsonc, toml and yaml are formats.

    All methods raise `ValueError` for a text that cannot be parsed.
    """

    def holds(self, text: str, under: str) -> bool:
        """Whether the text has a section for entries."""
        ...

    def entry_in(self, text: str, under: str, name: str) -> Any:
        """The entry's value; `None` if there is none."""
        ...

    def with_entry(self, text: str, under: str, name: str, value: Mapping[str, Any]) -> str:
        """The text with the entry."""
        ...

    def without_entry(self, text: str, under: str, name: str, *, tidy: bool) -> str:
        """The text without the entry; with `tidy`, also without a section that became empty."""
        ...


class Addition(Protocol):
    """An entry, hooks or a script that we add to a file. A missing file counts as an empty text.

    All methods raise `ValueError` for a text that cannot be parsed; the message gives the reason.
    """

    @property
    def path(self) -> Path:
        """The file."""
        ...

    def is_in(self, text: str) -> bool:
        """Whether the text has the addition, in any version."""
        ...

    def added_to(self, text: str) -> str:
        """The text with this version of the addition; `text` itself if it has it already."""
        ...

    def removed_from(self, text: str, before: str | None) -> str:
        """The text without the addition, and without the sections that were made for it.

        Args:
            text: the text with the addition.
            before: the text before it was added, if known.
        """
        ...


@dataclass(frozen=True)
class ConfigurationEntry:
    """The entry that makes a host start our server.

    Attributes:
        path: the file.
        format: the format of the file.
        under: the section that holds the entries.
        our_entry: the value that the entry should have.
        strict: whether the host accepts JSON without comments only.
    """

    path: Path
    format: FileFormat
    under: str
    our_entry: Value
    strict: bool = False

    def current(self, text: str) -> Value | None:
        """The entry in a text; `None` if there is none.

        Raises:
            ValueError: the text cannot be parsed, or the value is not an object.
        """
        checked(text, strict=self.strict)
        current = self.format.entry_in(text, self.under, PROGRAM)
        if current is not None and not is_object(current):
            raise ValueError(f"its {PROGRAM} is not the entry of a server")
        return None if current is None else dict(current)

    def is_in(self, text: str) -> bool:
        """Whether there is an entry with our name, be it an empty one."""
        if self.current(text) is not None:
            return True
        return self.format.without_entry(text, self.under, PROGRAM, tidy=False) != text

    def added_to(self, text: str) -> str:
        """The text with the entry; keys that the user added to the entry stay."""
        known = self.current(text)
        own = {name: value for name, value in self.our_entry.items() if name in OWN_KEYS}
        entry = {**self.our_entry, **(known or {}), **own}
        if known == entry:
            return text
        new = self.format.with_entry(text, self.under, PROGRAM, entry)
        if self.current(new) != entry:
            raise ValueError("it is written in a way that no program can add an entry to")
        return new

    def removed_from(self, text: str, before: str | None) -> str:
        """The text without the entry."""
        tidy = before is not None and not self.format.holds(before, self.under)
        return self.format.without_entry(text, self.under, PROGRAM, tidy=tidy)


@dataclass(frozen=True)
class Hooks:
    """Hooks in a JSON file, as Claude Code and Codex have them: lists of groups by event.

    Attributes:
        path: the file.
        groups: our groups, by event.
        strict: whether the host accepts JSON without comments only.
    """

    path: Path
    groups: Mapping[str, Sequence[Any]]
    strict: bool = True

    def is_in(self, text: str) -> bool:
        """Whether any group in it is ours."""
        return any(any(map(is_our_group, groups)) for groups in self._groups_in(text).values())

    def added_to(self, text: str) -> str:
        """The text with our groups at the end of each event's list."""
        there = self._groups_in(text)
        own = {event: [g for g in groups if is_our_group(g)] for event, groups in there.items()}
        if {event: groups for event, groups in own.items() if groups} == self.groups:
            return text
        text = self.removed_from(text, None)
        for event, groups in self.groups.items():
            for group in groups:
                text = jsonc.with_item(text, (HOOKS, event), group)
        return text

    def removed_from(self, text: str, before: str | None) -> str:
        """The text without our groups."""
        for event in self._groups_in(text):
            path = (HOOKS, event)
            keep = len(path)
            if before is not None:
                keep = sum(jsonc.value_at(before, path[:n]) is not None for n in (1, 2))
            text = jsonc.without_items(text, path, is_our_group, keep=keep)
        return text

    def _groups_in(self, text: str) -> dict[str, Sequence[Any]]:
        checked(text, strict=self.strict)
        hooks: Any = jsonc.value_at(text, (HOOKS,)) or {}
        if not is_object(hooks) or not all(is_array(groups) for groups in hooks.values()):
            raise ValueError(f'its "{HOOKS}" is not an object with a list for each event')
        return dict(hooks)


@dataclass(frozen=True)
class Script:
    """A file of our own: a program that the host runs.

    Attributes:
        path: the file.
        content: its content.
    """

    path: Path
    content: str

    def is_in(self, text: str) -> bool:
        """Whether the file exists; its name shows that it is ours."""
        return bool(text)

    def added_to(self, text: str) -> str:
        """The script."""
        del text
        return self.content

    def removed_from(self, text: str, before: str | None) -> str:
        """An empty text."""
        del text, before
        return ""


def is_our_group(group: Any) -> bool:
    """Whether a group of hooks calls our server."""
    hooks = group.get("hooks") if is_object(group) else None
    servers = (hook.get("server") for hook in hooks if is_object(hook)) if is_array(hooks) else ()
    return PROGRAM in servers


def checked(text: str, *, strict: bool) -> None:
    """Check that a host that accepts plain JSON only can read the text.

    Raises:
        ValueError: `strict` is set, and the text is neither empty nor plain JSON.
    """
    if not strict or not text.strip():
        return
    try:
        json.loads(text)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    except ValueError as error:
        raise ValueError(f"it is not JSON: {error}") from None

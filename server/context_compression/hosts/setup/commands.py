"""The command by which a host starts our server: which store it names, and how it is shown.

A command may hold the address of a database, and that a password. People are shown neither.
"""

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from itertools import pairwise

from context_compression.errors import StoreError
from context_compression.store.location import PLACE, TENANT, database_address, folder_named

STORE_OPTION = "--store"
HIDDEN = "postgresql://…"
"""What is shown for an address that cannot be read."""
_ADDRESS = re.compile(r"postgres(?:ql)?(?:\+\w+)?:/.*", re.I | re.S)
_QUOTED = re.compile(r"postgres(?:ql)?(?:\+\w+)?:/[^\s\"']*", re.I)


def place_of(command: Sequence[str], environ: Mapping[str, str]) -> str:
    """The place of the store that a server uses; "" if it looks for one itself."""
    return _given(command, STORE_OPTION) or environ.get(PLACE, "")


def tenant_of(command: Sequence[str], environ: Mapping[str, str]) -> str | None:
    """The tenant whose part of the store a server uses; `None` if none is named."""
    return _given(command, "--tenant") or environ.get(TENANT) or None


def shown(command: Sequence[str]) -> str:
    """A command as people may see it: an address in it is shown without user and password."""
    values = {at for at, _ in _values(command, STORE_OPTION)}
    return " ".join(_word(word, at in values) for at, word in enumerate(command))


def without_addresses(text: str) -> str:
    """A text, such as a change to a configuration, without users and passwords of databases."""
    return _QUOTED.sub(lambda found: _shown(found[0]), text)


def _given(command: Sequence[str], option: str) -> str:
    """The value of an option, the last; "" if it is not given."""
    return ([""] + [value for _, value in _values(command, option)])[-1]


def _values(command: Sequence[str], option: str) -> list[tuple[int, str]]:
    """The values of an option, each with the place of the word that holds it."""
    follows = [
        (at, word) for at, (before, word) in enumerate(pairwise(command), 1) if before == option
    ]
    joined = [
        (at, word.partition("=")[2])
        for at, word in enumerate(command)
        if word.startswith(f"{option}=")
    ]
    return sorted(follows + joined)


def _word(word: str, is_place: bool) -> str:
    if found := _ADDRESS.search(word):
        return f"{word[: found.start()]}{_shown(found[0])}"
    if is_place and word.removeprefix(f"{STORE_OPTION}="):
        try:
            folder_named(word.removeprefix(f"{STORE_OPTION}="))
        except StoreError:  # a mistyped address
            return f"{STORE_OPTION}={HIDDEN}" if word.startswith(f"{STORE_OPTION}=") else HIDDEN
    return word


def _shown(address: str) -> str:
    with suppress(StoreError, ImportError):  # a mistyped one, or an extra is missing
        from context_compression.store.postgres.connections import Address

        if url := database_address(address):
            return Address.read(url).shown
    return HIDDEN

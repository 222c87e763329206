"""What a shell may complete: hosts, settings, conversations, refs.

A completion never fails and prints nothing else: where something cannot be read, there is nothing
to complete. Modules are imported when they are used, because the user waits.
"""

import re
from collections.abc import Callable, Mapping
from functools import wraps
from typing import TYPE_CHECKING, TypeAlias

import click
from click.shell_completion import CompletionItem

from context_compression.shell.last_listing import last_listing

if TYPE_CHECKING:
    from context_compression.store import Store

Complete: TypeAlias = Callable[[click.Context, click.Parameter, str], list[CompletionItem]]
MOST = 200
"""How many refs are offered."""
PLAIN = re.compile(r"[\w.:=@%+/-]+")
"""What a shell takes as it is. A shell may insert a value unquoted, and would run `$(…)` in it."""


def _completing(candidates: Callable[[click.Context], Mapping[str, str]]) -> Complete:
    """Offers those candidates that begin with what was typed, each with its help."""

    @wraps(candidates)
    def complete(
        ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        try:
            found = candidates(ctx)
        except Exception:  # a broken store or a missing folder: nobody asked for it
            return []
        return items(found, incomplete)

    return complete


def items(candidates: Mapping[str, str], incomplete: str) -> list[CompletionItem]:
    """The candidates that begin with what was typed, with help; none a shell would read."""
    return [
        CompletionItem(value, help=_shown(help))
        for value, help in candidates.items()
        if value.startswith(incomplete) and PLAIN.fullmatch(value)
    ]


def _shown(help: str) -> str:
    from context_compression.strings import in_words

    return in_words(help, 60)


@_completing
def hosts(ctx: click.Context) -> Mapping[str, str]:
    """The hosts that can be installed in."""
    from context_compression.hosts.configurations import HOSTS

    return {host.name: host.title for host in HOSTS}


@_completing
def settings(ctx: click.Context) -> Mapping[str, str]:
    """The settings, with their descriptions."""
    return _settings()


@_completing
def settings_with_values(ctx: click.Context) -> Mapping[str, str]:
    """The settings, each followed by `=`."""
    return {f"{name}=": help for name, help in _settings().items()}


@_completing
def refs(ctx: click.Context) -> Mapping[str, str]:
    """The refs of this store, those of the newest session first."""
    store = _store(ctx)
    found: dict[str, str] = {}
    for id in store.sessions():
        about = store.session(id).refs()
        found |= {ref: f"{entry.get('what', '')}, {id}" for ref, entry in about.items()}
        if len(found) > MOST:
            break
    return found


@_completing
def recorded(ctx: click.Context) -> Mapping[str, str]:
    """The ids of the sessions in this store, the one written last first."""
    return dict.fromkeys(_store(ctx).sessions(), "")


@_completing
def sessions(ctx: click.Context) -> Mapping[str, str]:
    """The numbers and ids of the sessions that `sessions` listed last."""
    listed = last_listing().values()
    by_number = {str(each.number): f"{each.host}: {each.title}" for each in listed}
    return by_number | {each.id: f"{each.host}: {each.title}" for each in listed}


def _store(ctx: click.Context) -> "Store":
    import os
    from pathlib import Path

    from context_compression.store import Store

    if folder := ctx.find_root().params.get("store"):
        return Store(folder)
    return Store.find(Path.cwd(), home=Path.home(), environ=os.environ)


def _settings() -> Mapping[str, str]:
    from context_compression.settings import Settings

    fields = Settings.model_fields.items()
    return {name: (field.description or "").partition(". ")[0] for name, field in fields}


def sessions_or_files(
    ctx: click.Context, param: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """The sessions that `sessions` listed last, and files."""
    return [*sessions(ctx, param, incomplete), CompletionItem(incomplete, type="file")]


BY_PARAMETER: Mapping[str | None, Complete] = {
    "conversation": sessions_or_files,
    "ref": refs,
    "session": recorded,
}
"""The completions that change, by the parameters that have them."""

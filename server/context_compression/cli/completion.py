"""`completion` prints the script for a shell; and what a shell may complete: hosts, settings, refs.

A completion never fails and prints nothing else: where something cannot be read, there is nothing
to complete. Modules are imported when they are used, because the user waits.
"""

import os
import re
from collections.abc import Callable, Mapping
from functools import wraps
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, TypeAlias

import click
from click.shell_completion import CompletionItem, get_completion_class

from context_compression.cli.app import PROGRAM, Refused, examples, main
from context_compression.cli.last_listing import last_listing
from context_compression.cli.terminal import write
from context_compression.strings import in_words

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
        CompletionItem(value, help=in_words(help, 60))
        for value, help in candidates.items()
        if value.startswith(incomplete) and PLAIN.fullmatch(value)
    ]


@_completing
def hosts(ctx: click.Context) -> Mapping[str, str]:
    """The hosts that can be installed in."""
    from context_compression.hosts.table import INSTALLABLE

    return {host.name: host.title for host in INSTALLABLE}


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


SHELLS = ("bash", "zsh", "fish")
VARIABLE = "_CONTEXT_COMPRESSION_COMPLETE"
"""Set by the script; with it, the command prints what can be completed."""

WHERE = """
\b
Put this line into the file with which your shell starts:
  bash: ~/.bashrc                   eval "$(context-compression completion bash)"
  zsh:  ~/.zshrc, behind compinit   eval "$(context-compression completion zsh)"
  fish: ~/.config/fish/config.fish  context-compression completion fish | source
"""


@click.command(
    short_help="Print the script that completes this command in a shell.",
    epilog=examples(("completion bash", "the script for bash")) + "\n" + WHERE,
)
@click.argument("shell", required=False, type=click.Choice(SHELLS))
def completion(shell: str | None) -> None:
    """Print the script with which SHELL completes commands, options, hosts, settings and sessions.

    SHELL is by default the one that $SHELL names.
    """
    name = shell or PurePath(os.environ.get("SHELL", "")).name
    if name not in SHELLS:
        raise Refused(
            f"$SHELL names no shell that can be completed: {', '.join(SHELLS)}. Name one: "
            f"`{PROGRAM} completion bash`."
        )
    made = get_completion_class(name)
    assert made
    write(made(main, {}, PROGRAM, VARIABLE).source().encode())

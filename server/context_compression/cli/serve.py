"""The command `serve`: over stdio for one host, or over HTTP for several clients or tenants."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import click
from click.core import ParameterSource

from context_compression.cli.app import Options, Refused, examples
from context_compression.cli.arguments import FiniteRange
from context_compression.cli.terminal import is_at_terminal, say, stdin_is_closed
from context_compression.hosts.events import HOSTS as HOOKED

if TYPE_CHECKING:
    from context_compression.mcp_server.serving import HttpOptions

Option: TypeAlias = Callable[[Callable[..., Any]], Callable[..., Any]]
MOST = 1_000_000
"""Requests; the largest number of any limit."""
MOST_SECONDS = 3_600
OF_TENANTS = {
    "at_once": (click.IntRange(1, MOST), "N", "requests of one tenant at a time. Default: 16."),
    "per_minute": (
        click.IntRange(1, MOST), "N", "requests of one tenant in a minute. Default: 1,200.",
    ),
    "in_all": (
        click.IntRange(1, MOST), "N",
        "requests of all tenants at a time. Default: four times as many as of one.",
    ),
    "workers": (
        click.IntRange(1, 1_000), "N",
        "processes that answer, each one request at a time; one tenant gets half of them. "
        "Default: 8.",
    ),
    "seconds": (
        FiniteRange(1, MOST_SECONDS), "SECONDS",
        "how long one request may take; its process is ended then. Default: 300.",
    ),
    "megabytes": (
        click.IntRange(1, 1_024), "N", "how large one request may be, in MiB. Default: 64.",
    ),
}  # fmt: skip
"""Options that go only with tokens of tenants: the values that each takes, and its help."""


def address(port: int) -> tuple[Option, ...]:
    """Where a server listens, by default at this port."""
    return (
        click.option(
            "--host", default="127.0.0.1", show_default=True, metavar="ADDRESS",
            help="Address for HTTP.",
        ),
        click.option(
            "--port", default=port, show_default=True, type=click.IntRange(0, 65535),
            metavar="PORT", help="Port for HTTP; 0 takes a free one.",
        ),
    )  # fmt: skip


WHO_MAY_ASK = (
    click.option(
        "--tokens", metavar="FILE",
        help="Tenants and their tokens, one of each in a line; a changed file is read again. Also "
        "CONTEXT_COMPRESSION_TOKENS.",
    ),
    click.option(
        "--allow-host", metavar="NAME", multiple=True,
        help="A further name by which clients address this server, such as that of a proxy. "
        "Repeatable.",
    ),
)  # fmt: skip
"""Whose tokens count, and under which names the server is asked."""
ITS_END = (
    click.option(
        "--drain", type=FiniteRange(0, MOST_SECONDS), metavar="SECONDS",
        help="How long requests are taken after SIGTERM, while /readyz says that the server ends. "
        "Default: 5 with --tokens, else 0.",
    ),
    click.option(
        "--access-log", is_flag=True,
        help="Log each HTTP request to stderr as JSON, without any content.",
    ),
)  # fmt: skip
"""How it ends, and what it logs."""
HTTP_OPTIONS = (
    *address(8765),
    click.option(
        "--token", metavar="TOKEN",
        help="Bearer token that HTTP clients have to send. Other users of this machine can see it "
        "here; CONTEXT_COMPRESSION_TOKEN keeps it private.",
    ),
    *WHO_MAY_ASK,
    *(
        click.option(
            f"--{name.replace('_', '-')}", type=values, metavar=metavar,
            help=f"With --tokens: {help}",
        )
        for name, (values, metavar, help) in OF_TENANTS.items()
    ),
    *ITS_END,
)  # fmt: skip


def with_options(*options: Option) -> Option:
    """What gives a command these options, in their order."""

    def given(command: Callable[..., Any]) -> Callable[..., Any]:
        for option in reversed(options):
            command = option(command)
        return command

    return given


@click.command(
    epilog=examples(
        ("serve", "over stdio, as hosts start it"),
        ("serve --http --port 8765", "several clients, over HTTP"),
        ("serve --http --tokens tokens.txt", "several tenants, each with its own archive"),
    )
)
@click.option("--http", is_flag=True, help="Serve several clients over HTTP instead of stdio.")
@with_options(*HTTP_OPTIONS)
@click.option(
    "--protocol",
    type=click.Choice(["auto", "legacy"]),
    default="auto",
    show_default=True,
    help="legacy is for clients that fail with a server that knows the newest protocol.",
)
@click.option(
    "--hooks",
    type=click.Choice(list(HOOKED)),
    hidden=True,
    help="Answer this host's hooks too, with a seventh tool; the host's plugin sets this.",
)
@click.pass_obj
def serve(
    options: Options,
    http: bool,
    protocol: Literal["auto", "legacy"],
    hooks: str | None,
    **of_http: Any,
) -> None:
    """Serve the six tools to an agent (MCP)."""
    from context_compression import mcp_server

    if http and hooks:
        raise click.UsageError(
            "--hooks goes only with stdio, because a host starts its own server. Leave out --http."
        )
    if http and protocol == "legacy":
        raise click.UsageError(
            "--protocol legacy goes only with stdio; over HTTP both protocols are answered. Leave "
            "out one of the two."
        )
    if not http and (given := [name for name in of_http if _is_given(name)]):
        option = given[0].replace("_", "-")
        raise click.UsageError(f"--{option} goes only with HTTP. Add --http, or leave it out.")
    workspace = options.workspace()
    if http:
        mcp_server.serve_http(workspace, options=_read(of_http))
        return
    if stdin_is_closed():
        raise Refused(
            "Stdin is closed, but an MCP client writes to it. Keep it open, or serve with --http."
        )
    if is_at_terminal():
        say("Waiting for an MCP client on stdin. Ctrl-C ends; context-compression --help helps.")
    mcp_server.serve_stdio(workspace, protocol=protocol, hooks=hooks)


def _is_given(name: str) -> bool:
    """Whether the user has typed an option."""
    source = click.get_current_context().get_parameter_source(name)
    return source is ParameterSource.COMMANDLINE


def _read(given: dict[str, Any]) -> "HttpOptions":
    """The options of `serve --http` as `serve_http` takes them."""
    from context_compression.mcp_server.serving import HttpOptions
    from context_compression.mcp_server.web.gate import RequestLimits

    limits = {name: given.pop(name) for name in OF_TENANTS}
    chosen = {name: value for name, value in limits.items() if value is not None}
    hosts, drain = given.pop("allow_host"), given.pop("drain")
    return HttpOptions(
        **given,
        allow_hosts=hosts,
        drain_seconds=drain,
        limits=RequestLimits(**chosen) if chosen else None,
    )

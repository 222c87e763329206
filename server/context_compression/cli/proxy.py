"""The command `proxy`: between any client and its provider."""

from collections.abc import Sequence
from typing import Any

import click

from context_compression.cli.app import Options, examples
from context_compression.cli.serve import ITS_END, WHO_MAY_ASK, address, with_options


@click.command(
    epilog=examples(
        ("proxy", "then start a client with ANTHROPIC_BASE_URL=http://127.0.0.1:8788"),
        ("proxy --upstream http://127.0.0.1:4000", "everything goes to a gateway of your own"),
        ("proxy --host 0.0.0.0 --tokens tokens.txt", "for a team, each with its own archive"),
    )
)
@with_options(
    *address(8788),
    click.option(
        "--upstream", metavar="URL",
        help="Where all requests go. Default: ANTHROPIC_BASE_URL and OPENAI_BASE_URL in the "
        "proxy's own environment, else Anthropic and OpenAI.",
    ),
    click.option(
        "--token", metavar="TOKEN",
        help="The proxy's own token, which clients send in Proxy-Authorization, beside the key "
        "for their provider. Other users of this machine can see it here; "
        "CONTEXT_COMPRESSION_TOKEN keeps it private.",
    ),
    *WHO_MAY_ASK,
    *ITS_END,
)  # fmt: skip
@click.pass_obj
def proxy(options: Options, allow_host: Sequence[str], drain: float | None, **given: Any) -> None:
    """Compact what any client sends to its provider.

    It stands between them: set the client's address of the API to that of the proxy. Requests go
    on as they came until the conversation is too long; then it is compacted, and nothing of it is
    lost. Keys pass through, and are never kept.
    """
    from context_compression.proxy import ProxyOptions, serve_proxy

    chosen = ProxyOptions(**given, allow_hosts=allow_host, drain_seconds=drain)
    serve_proxy(options.workspace(), chosen)

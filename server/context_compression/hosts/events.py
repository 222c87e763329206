"""Answers to the events of hosts' hooks: a tool result, a request, a compaction.

A hook must not stop the host. After an error the answer is `NOTHING`, and the host continues as it
would without us.
"""

import json
import logging
from collections.abc import Awaitable, Callable, Generator, Mapping
from contextlib import contextmanager
from typing import Any, TypeAlias

from context_compression.conversation.formats.parts import without_halves
from context_compression.errors import ContextCompressionError
from context_compression.hosts.claude_code import hooks as claude_code
from context_compression.hosts.codex import host as codex
from context_compression.hosts.gemini_cli import host as gemini_cli
from context_compression.hosts.opencode import host as opencode
from context_compression.hosts.pi import host as pi
from context_compression.strings import harmless
from context_compression.workspace import Workspace
from context_compression.workspace.guard import in_our_words

__all__ = ["HOSTS", "NOTHING", "Answer", "Event", "answer", "answered", "never_failing"]

Event: TypeAlias = Mapping[str, Any]
"""The JSON of a host's hook, with the host's own names."""
Answer: TypeAlias = Mapping[str, Any] | str
"""The JSON that the host expects, or a text if it expects one."""

HOSTS: Mapping[str, Callable[[Workspace, Event], Awaitable[Answer]]] = {
    "claude-code": claude_code.answer,
    "codex": codex.answer,
    "gemini-cli": gemini_cli.answer,
    "opencode": opencode.answer,
    "pi": pi.answer,
}
NOTHING = "{}"
"""The answer that changes nothing."""

logger = logging.getLogger(__name__)


async def answer(host: str, workspace: Workspace, event: Event) -> str:
    """The answer to a hook, in the host's own form; `NOTHING` after an error."""
    with never_failing(host):
        reply = await answered(host, workspace, event)
        return reply if isinstance(reply, str) else json.dumps(reply, ensure_ascii=True)
    return NOTHING


async def answered(host: str, workspace: Workspace, event: Event) -> Answer:
    """The answer to a hook, with U+FFFD for each half character: no provider takes halves."""
    return without_halves(await HOSTS[host](workspace, event))


@contextmanager
def never_failing(host: str) -> Generator[None]:
    """Turns every error in a hook into a warning on stderr, so that the host continues."""
    try:
        with in_our_words():
            yield
    except ContextCompressionError as error:
        reason = harmless(str(error))
        logger.warning("context-compression: no answer to a hook of %s: %s", host, reason)

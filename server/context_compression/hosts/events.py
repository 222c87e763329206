"""What agent hosts ask while they work: may this tool result enter, what remains of this history?

A hook must never be in the way: whatever goes wrong, the answer is that all shall stay as it is.
"""

import json
import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeAlias

from context_compression.errors import ContextCompressionError
from context_compression.hosts.claude_code import hooks as claude_code
from context_compression.hosts.codex import hooks as codex
from context_compression.hosts.gemini_cli import hooks as gemini_cli
from context_compression.hosts.opencode import hooks as opencode
from context_compression.hosts.pi import hooks as pi
from context_compression.workspace import Workspace
from context_compression.workspace.guard import in_our_words

__all__ = ["HOSTS", "NOTHING", "Answer", "Event", "answer"]

Event: TypeAlias = Mapping[str, Any]
"""What a host says: the JSON of its hooks, with the host's own names."""
Answer: TypeAlias = Mapping[str, Any] | str
"""What it is told: its own JSON, or a text where it takes one."""

HOSTS: Mapping[str, Callable[[Workspace, Event], Awaitable[Answer]]] = {
    "claude-code": claude_code.answer,
    "codex": codex.answer,
    "gemini-cli": gemini_cli.answer,
    "opencode": opencode.answer,
    "pi": pi.answer,
}
NOTHING = "{}"
"""Leaves all as it is."""

logger = logging.getLogger(__name__)


async def answer(host: str, workspace: Workspace, event: Event) -> str:
    """What a host is told, as it reads it; `NOTHING` where something went wrong."""
    try:
        with in_our_words():
            told = await HOSTS[host](workspace, event)
    except ContextCompressionError as error:  # the host shall go on; the reason is on stderr
        logger.warning("no answer to a hook of %s: %s", host, error)
        return NOTHING
    return told if isinstance(told, str) else json.dumps(told, ensure_ascii=True)

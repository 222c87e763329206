"""Answers to the events of hosts' hooks: a tool result, a request, a compaction.

A hook must not stop the host. After an error the answer is `NOTHING`, and the host continues as it
would without us.
"""

import json
import logging
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from functools import partial
from importlib import import_module
from inspect import iscoroutinefunction
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from context_compression.errors import ContextCompressionError
from context_compression.guard import in_our_words
from context_compression.strings import harmless

if TYPE_CHECKING:
    from context_compression.workspace import Workspace

__all__ = ["HOSTS", "NOTHING", "Answer", "Event", "answer", "answered", "never_failing"]

Event: TypeAlias = Mapping[str, Any]
"""The JSON of a host's hook, with the host's own names."""
Answer: TypeAlias = Mapping[str, Any] | str
"""The JSON that the host expects, or a text if it expects one."""


class Hooks(NamedTuple):
    """The hooks of a host.

    Attributes:
        module: in this package; its `ANSWERS` has a function for each event, from a workspace and
            the event to the answer; `{}` changes nothing. A hook's process imports no other.
        events: the names of those that may have an answer. For others it imports nothing.
    """

    module: str
    events: tuple[str, ...]


HOSTS: Mapping[str, Hooks] = {
    "claude-code": Hooks(
        "claude_code.hooks", ("PostToolUse", "session.compact", "PreCompact", "SessionStart")
    ),
    "codex": Hooks("codex", ("PostToolUse", "PreCompact", "SessionStart")),
    "gemini-cli": Hooks("gemini_cli", ("AfterTool", "BeforeModel", "SessionStart")),
    "opencode": Hooks(
        "opencode", ("tool.execute.after", "messages.transform", "session.compacting")
    ),
    "pi": Hooks("pi", ("tool_result", "context", "session_before_compact")),
}
STARTS = ("startup", "clear")
"""The `source` of a `SessionStart` event of a session that begins with nothing in its context. All
hosts have the same answer to it, in `hosts.earlier`, which imports no code that compresses."""
SHORTENS = frozenset({
    "PreCompact", "session.compact", "session.compacting", "session_before_compact",
})  # fmt: skip
"""The events after which a host may shorten what it has of a conversation."""
NOTHING = "{}"
"""The answer that changes nothing."""

logger = logging.getLogger(__name__)


def may_be_answered(host: str, event: Event) -> bool:
    """Whether an event is one that the host's hooks answer."""
    return event.get("hook_event_name") in HOSTS[host].events


async def answer(host: str, workspace: "Workspace", event: Event) -> str:
    """The answer to a hook, in the host's own form; `NOTHING` after an error."""
    with never_failing(host):
        reply = await answered(host, workspace, event)
        return reply if isinstance(reply, str) else json.dumps(reply, ensure_ascii=True)
    return NOTHING


async def answered(host: str, workspace: "Workspace", event: Event) -> Answer:
    """The answer to a hook, with U+FFFD for each half character: no provider takes halves."""
    if not may_be_answered(host, event):
        return {}
    from context_compression.conversation.formats.parts import without_halves
    from context_compression.threads import in_thread

    if event["hook_event_name"] in SHORTENS:
        await in_thread(partial(_keep, host, workspace, event))
    at_start = event["hook_event_name"] == "SessionStart" and event.get("source") in STARTS
    module = "earlier" if at_start else HOSTS[host].module
    reply = import_module(f"context_compression.hosts.{module}").ANSWERS[event["hook_event_name"]]
    if iscoroutinefunction(reply):
        return without_halves(await reply(workspace, event))
    return without_halves(await in_thread(partial(reply, workspace, event)))


def _keep(host: str, workspace: "Workspace", event: Event) -> None:
    """Keep the session as it is, if the user keeps sessions; the host is answered all the same."""
    from context_compression.workspace.kept import keeps

    if keeps(workspace):
        from context_compression.hosts.keeping import keep_before

        with never_failing(host):
            keep_before(workspace, host, event)


@contextmanager
def never_failing(host: str) -> Generator[None]:
    """Turns every error in a hook into a warning on stderr, so that the host continues."""
    try:
        with in_our_words():
            yield
    except ContextCompressionError as error:
        reason = harmless(str(error))
        logger.warning("context-compression: no answer to a hook of %s: %s", host, reason)

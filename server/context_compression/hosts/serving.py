"""Answers the events of a host that keeps this process, because starting Python takes too long.

A request is a line of JSON, and so is its answer. Answers come when they are ready, in any order.

    {"id": 1, "event": {…}}  ->  {"id": 1, "answer": {…}}  or  {"id": 1, "error": "what was wrong"}
"""

import json
import re
from collections.abc import Mapping
from typing import Any, BinaryIO

from anyio import Semaphore, create_task_group
from anyio.to_thread import run_sync

from context_compression.conversation.messages import is_object
from context_compression.errors import ContextCompressionError
from context_compression.guard import in_our_words
from context_compression.hosts.events import answered
from context_compression.strings import harmless, one_line
from context_compression.workspace import Workspace

MOST_AT_ONCE = 4
"""Events that are answered at the same time. The others wait in the pipe, not in memory."""
LONGEST = 64_000_000
"""Bytes of a request. The longest are whole conversations, which are seldom above 4 MB."""
BEGINNING = re.compile(rb'\s*\{\s*"id"\s*:\s*(\d{1,15})\s*,')
"""The id of a request that cannot be read as a whole; its host waits for the answer."""
FORM = 'Write {"id": 1, "event": {…}} on one line.'


async def serve_events(
    host: str, workspace: Workspace, requests: BinaryIO, answers: BinaryIO
) -> None:
    """Answer the requests of a host until there are no more."""
    places = Semaphore(MOST_AT_ONCE)

    async def reply(line: bytes) -> None:
        try:
            told = await _reply(host, workspace, line)
        finally:
            places.release()
        answers.write(json.dumps(told, ensure_ascii=True).encode() + b"\n")
        answers.flush()

    async with create_task_group() as group:
        while line := await run_sync(_next_line, requests):
            await places.acquire()
            group.start_soon(reply, line)


def _next_line(requests: BinaryIO) -> bytes:
    """The next line; of a line that is too long only its beginning. Empty at the end."""
    line = rest = requests.readline(LONGEST)
    while rest and not rest.endswith(b"\n"):
        rest = requests.readline(LONGEST)
    return line


async def _reply(host: str, workspace: Workspace, line: bytes) -> Mapping[str, Any]:
    try:
        request = json.loads(line)
    except (ValueError, RecursionError) as error:
        begun = BEGINNING.match(line)
        long = f" It may have {LONGEST:,} bytes." if len(line) >= LONGEST else ""
        reason = f"The line is not JSON: {one_line(str(error))}. {FORM}{long}"
        return {"id": int(begun[1]) if begun else None, "error": reason}
    event = request.get("event") if is_object(request) else None
    id = request.get("id") if is_object(request) else None
    if not is_object(event):
        return {"id": id, "error": f"The line has no event. {FORM}"}
    try:
        with in_our_words():
            return {"id": id, "answer": await answered(host, workspace, event)}
    except ContextCompressionError as error:
        return {"id": id, "error": harmless(str(error))}

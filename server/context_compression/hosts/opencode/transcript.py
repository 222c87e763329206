"""opencode's sessions: the database `~/.local/share/opencode/opencode.db`, or a JSON export.

session   id, directory, title, parent_id (of a subagent), revert {messageID, partID}, time_updated
message   id, session_id, time_created, time_updated, data: {role, parentID, modelID, tokens, …}
part      id, message_id, session_id, time_updated, data: {type, …}

An export is `{"info": session, "messages": [{"info": …, "parts": […]}, …]}`; that of opencode 2 has
messages as `second_messages.py` tells. The path of a session is the path of the database, followed
by the session's id: `…/opencode.db/ses_1fe1…`.

Parts: text, reasoning, tool {tool, callID, state {status, input, output, time.compacted}}, file
{mime, url}, compaction {tail_start_id}, subtask, step-start, step-finish, patch, snapshot, agent.
A compaction is a part of a user message. The assistant message that answers it (`summary`) holds
the summary. Earlier messages leave the context, except those from `tail_start_id` on. Seen in
versions 1.2 and 1.18; checked against the messages that 1.18 itself selects.
"""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from context_compression.conversation.messages import as_object, is_array, is_object, objects
from context_compression.hosts.opencode.about import NAME
from context_compression.hosts.opencode.compactions import (
    compactions_among,
    place_of,
    requests_among,
)
from context_compression.hosts.opencode.context import Context, charged
from context_compression.hosts.opencode.live import (
    Object,
    StoredMessage,
    live_messages,
    not_reverted,
)
from context_compression.hosts.opencode.second_messages import as_stored
from context_compression.transcripts.history import Compaction
from context_compression.transcripts.lines import string
from context_compression.transcripts.transcript import (
    Transcript,
    counted,
    folder_name,
    id_from_name,
)


def is_export(document: Any) -> bool:
    """Whether a JSON value is an exported session."""
    about = as_object(document)
    return is_object(about.get("info")) and is_array(about.get("messages"))


def read_document(path: Path, document: Any) -> Transcript:
    """The live conversation of an exported session."""
    session, messages = _held(document)
    return transcript_of(path, session, reversed(messages), compactions_among(messages))


def before_compactions(path: Path, document: Any) -> Mapping[int | None, Transcript]:
    """The conversation before each compaction in an exported session, by the compaction's place."""
    return before_each(path, *_held(document))


def _held(document: Any) -> tuple[Object, list[StoredMessage]]:
    """The session's record, and its messages without reverted ones."""
    about = as_object(document)
    session = as_object(about.get("info"))
    revert = as_object(session.get("revert"))
    held = objects(about.get("messages"))
    if any("info" in message for message in held):
        messages = [
            StoredMessage(string(info, "id"), info, objects(message.get("parts")))
            for message in held
            if (info := as_object(message.get("info")))
        ]
        left = not_reverted(reversed(messages), revert)
        return session, [*left][::-1]
    ids = [string(message, "id") for message in held]
    first = string(revert, "messageID")
    kept = held[: ids.index(first)] if first in ids else held
    read = (as_stored(string(m, "id"), string(m, "type"), m) for m in kept)
    place = as_object(session.get("location"))
    return {**place, **session}, [message for message in read if message is not None]


def before_each(
    path: Path, session: Object, messages: Sequence[StoredMessage]
) -> dict[int | None, Transcript]:
    """The conversation before each compaction, by the compaction's place.

    Args:
        path: the path that the transcripts name.
        session: the session's record.
        messages: the session's messages without reverted ones, the oldest first.
    """
    requested = requests_among(messages)
    return {
        place_of(message): transcript_of(
            path, session, reversed(messages[:at]), compactions_among(messages[:at])
        )
        for at, message in enumerate(messages)
        if message.id in requested
    }


def transcript_of(
    path: Path,
    session: Object,
    newest_first: Iterable[StoredMessage],
    compactions: Sequence[Compaction],
) -> Transcript:
    """The live context of a session.

    Args:
        path: the path that the transcript names.
        session: the session's record: `id`, `title`, `directory`.
        newest_first: the session's messages without reverted ones; only those that may be live are
            consumed.
        compactions: those among all messages.
    """
    live, new = live_messages(newest_first)
    context, carried = Context(), 0
    for message in live:
        context.add(message, newest=message is live[-1])
        if message.id not in new:
            carried = len(context.messages)
    usage, model = charged([message for message in live if message.id in new], context)
    id = string(session, "id")
    gone = counted("Results that opencode cleared are not stored any more", context.gone)
    return Transcript(
        path=path,
        host=NAME,
        session_id=folder_name(id) if id else id_from_name(path),
        messages=context.messages,
        usage=usage,
        model=model,
        project=string(session, "directory"),
        title=string(session, "title"),
        compactions=compactions,
        carried=carried,
        times=context.times,
        requests=[request for request in context.requests if request.messages >= carried],
        cleared=context.cleared,
        missing=gone,
        warnings=[
            *gone,
            *counted(
                "Parts of types we do not know are carried along as they are", context.unknown
            ),
        ],
    )

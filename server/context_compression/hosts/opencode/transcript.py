"""opencode's sessions: the database `~/.local/share/opencode/opencode.db`, or a JSON export.

session   id, directory, title, parent_id (of a subagent), revert {messageID, partID}, time_updated
message   id, session_id, time_created, time_updated, data: {role, parentID, modelID, tokens, …}
part      id, message_id, session_id, time_updated, data: {type, …}

An export is `{"info": session, "messages": [{"info": …, "parts": […]}, …]}`; that of opencode 2 has
messages as `second.py` tells. The path of a session is the path of the database, followed
by the session's id: `…/opencode.db/ses_1fe1…`.

Parts: text, reasoning, tool {tool, callID, state {status, input, output, time.compacted}}, file
{mime, url}, compaction {tail_start_id}, subtask, step-start, step-finish, patch, snapshot, agent.
A compaction is a part of a user message. The assistant message that answers it (`summary`) holds
the summary. Earlier messages leave the context, except those from `tail_start_id` on. Seen in
versions 1.2 and 1.18; checked against the messages that 1.18 itself selects.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from context_compression.conversation.messages import as_object, is_array, is_object, objects
from context_compression.hosts.opencode.context import (
    NAME,
    SHAPES,
    Object,
    OpencodeContext,
    StoredMessage,
    charged,
    compactions_among,
    listed,
    live_messages,
    not_reverted,
    place_of,
    requests_among,
    unread,
)
from context_compression.hosts.opencode.second import SEALED, as_stored, is_sealed, reverted_in
from context_compression.transcripts.lines import string
from context_compression.transcripts.transcript import (
    Compaction,
    DocumentFormat,
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
    transcript = transcript_of(path, session, reversed(messages), compactions_among(messages))
    sealed = any(map(is_sealed, objects(as_object(document).get("messages"))))
    notes = [*reverted_in(session)[1], *([SEALED] if sealed else [])]
    return replace(transcript, warnings=[*notes, *transcript.warnings])


def before_compactions(path: Path, document: Any) -> Mapping[int | None, Transcript]:
    """The conversation before each compaction in an exported session, by the compaction's place."""
    return before_each(path, *_held(document))


def _held(document: Any) -> tuple[Object, list[StoredMessage]]:
    """The session's record, and its messages without reverted ones."""
    about = as_object(document)
    session = as_object(about.get("info"))
    held = listed(about.get("messages"))
    if any("info" in message for message in objects(held)):
        messages = map(_first_message, held)
        left = not_reverted(reversed([*messages]), as_object(session.get("revert")))
        return session, [*left][::-1]
    ids = [string(as_object(message), "id") for message in held]
    first, _ = reverted_in(session)
    kept = held[: ids.index(first)] if first in ids else held
    read = map(_second_message, kept)
    place = as_object(session.get("location"))
    return {**place, **session}, [message for message in read if message is not None]


def _first_message(message: Any) -> StoredMessage:
    """A message of opencode 1 in an export."""
    about = as_object(message)
    if not (info := as_object(about.get("info"))):
        return _unread_message(message)
    parts = listed(about.get("parts"))
    known = [part if is_object(part) else unread("part", part) for part in parts]
    return StoredMessage(string(info, "id"), info, known)


def _second_message(message: Any) -> StoredMessage | None:
    """A message of opencode 2 in an export; `None` if no request holds it."""
    if not is_object(message):
        return _unread_message(message)
    return as_stored(string(message, "id"), string(message, "type"), message)


def _unread_message(message: Any) -> StoredMessage:
    return StoredMessage("", {"role": "user"}, [unread("message", message)])


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
    places = [at for at, message in enumerate(messages) if message.id in requested]
    compactions = compactions_among(messages)
    return {
        place_of(messages[at]): transcript_of(
            path, session, (messages[n] for n in range(at - 1, -1, -1)), compactions[:number]
        )
        for number, at in enumerate(places)
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
    context, carried = OpencodeContext(), 0
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


FORMATS = (DocumentFormat(is_export, read_document, before_compactions, SHAPES),)

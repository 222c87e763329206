"""A session of opencode as a transcript, from its messages; the export holds all of them."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from context_compression.hosts.base import Transcript, counted, folder_name, name_of
from context_compression.hosts.lines import as_object, string
from context_compression.hosts.opencode.context import Context, charged
from context_compression.hosts.opencode.live import (
    Message,
    Object,
    live_messages,
    not_reverted,
    objects,
)
from context_compression.messages import is_array, is_object

NAME = "opencode"


def is_export(document: Any) -> bool:
    """Whether a JSON value is an exported session."""
    about = as_object(document)
    return is_object(about.get("info")) and is_array(about.get("messages"))


def read_document(path: Path, document: Any) -> Transcript:
    """An exported session."""
    about = as_object(document)
    messages = [
        Message(string(info, "id"), info, objects(message.get("parts")))
        for message in objects(about.get("messages"))
        if (info := as_object(message.get("info")))
    ]
    return transcript_of(path, as_object(about.get("info")), reversed(messages))


def transcript_of(path: Path, session: Object, newest_first: Iterable[Message]) -> Transcript:
    """The live context of a session.

    Args:
        path: what to call it by.
        session: what is known of it.
        newest_first: its messages; only those that may be live are taken.
    """
    live, new = live_messages(not_reverted(newest_first, as_object(session.get("revert"))))
    context = Context()
    for message in live:
        context.add(message, newest=message is live[-1])
    usage, model = charged([message for message in live if message.id in new], context)
    id = string(session, "id")
    return Transcript(
        path=path,
        host=NAME,
        session_id=folder_name(id) if id else name_of(path),
        messages=context.messages,
        usage=usage,
        model=model,
        warnings=[
            *counted("Parts of types we do not know are carried along as they are", context.unknown)
        ],
    )

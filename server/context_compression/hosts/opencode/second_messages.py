"""Messages of opencode 2 as messages of opencode 1, which the reader knows.

A message of opencode 2 is one JSON object with its `type`:

user        text, files [{mime, data, source {type, uri}, name}], skills [{text}]
assistant   model {id}, content [text | reasoning | tool], tokens, error, time {created, completed}
compaction  status, reason, summary, recent; takes the place of all before it when it is completed
synthetic, system, skill   text that the host sends the model
shell       command, output {output}: a command that the user ran
agent-switched, model-switched, location-switched, idle, display, invocation

A tool {id, name, state {status, input, content [text | file {uri, mime}], error {type, message}}}
holds its call and its result. (From the host's own schema and its request of 2.0; not yet seen in
a session of ours.)
"""

import base64
import binascii
import json
from collections.abc import Iterator
from typing import Any

from context_compression.conversation.messages import as_object, is_array, is_object, objects
from context_compression.hosts.opencode.live import Object, StoredMessage
from context_compression.transcripts.lines import string

SILENT = frozenset({"agent-switched", "model-switched", "idle", "display", "invocation"})
"""Types that no request holds."""
UNFINISHED = frozenset({"running", "failed"})
SHOWN = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp", "application/pdf"})
"""The media types of a user's files that the host sends as they are."""
WRITTEN = {"text/plain": "file", "application/x-directory": "directory"}
"""Those that it sends as text."""


def as_stored(id: str, kind: str, data: Object) -> StoredMessage | None:
    """A message of opencode 2 as one of opencode 1; `None` if no request holds it.

    A message of an unknown type, or of an unknown shape, becomes a part of an unknown type.
    """
    if kind in SILENT or (kind == "compaction" and _is_passed_over(data)):
        return None
    about: dict[str, Any] = {"role": "user", "time": data.get("time")}
    match kind, data:
        case "assistant", {"content": content} if _are_objects(content):
            about |= {"role": "assistant", "tokens": data.get("tokens")}
            about["modelID"] = string(as_object(data.get("model")), "id")
            parts = [part for item in objects(content) for part in _spoken(item)]
        case "user", {"text": str(said)}:
            parts = [*_skills(data), *([_text(said)] if said else []), *_files(data)]
        case "synthetic" | "system", {"text": str(said)}:
            parts = [_noted(said), *_files(data)]
        case "skill", {"text": str(said)}:
            parts = [_skill(string(data, "name"), said)]
        case "location-switched", {"location": {"directory": str(folder)}}:
            parts = [_noted(f"The working directory is now {folder}.")]
        case "shell", {"command": str(command)}:
            parts = list(_shell(command, data))
        case "compaction", {"summary": str(summary)}:
            about["checkpoint"] = string(data, "reason")
            parts = [_checkpoint(summary, string(data, "recent"))]
        case _:
            parts = [{**data, "type": kind}]
    return StoredMessage(id, about, parts)


def is_sealed(data: Object) -> bool:
    """Whether a compaction's result is kept in the form of a provider, which only it can read."""
    return bool(data.get("providerContext"))


def _are_objects(value: Any) -> bool:
    return is_array(value) and all(map(is_object, value))


def _is_passed_over(data: Object) -> bool:
    return data.get("status") in UNFINISHED or is_sealed(data)


def _text(said: str) -> Object:
    return {"type": "text", "text": said}


def _noted(said: str) -> Object:
    """A text of the host, marked as such; nobody takes it for the user's."""
    tag = "system-reminder"
    return _text(said if said.lstrip().startswith(f"<{tag}") else f"<{tag}>\n{said}\n</{tag}>")


def _skill(name: str, said: str) -> Object:
    return _text(f"<skill>\n<name>{name}</name>\n{said}\n</skill>")


def _skills(data: Object) -> Iterator[Object]:
    for skill in objects(data.get("skills")):
        if said := string(skill, "text"):
            yield _skill(string(skill, "name") or string(skill, "id"), said)


def _shell(command: str, data: Object) -> Iterator[Object]:
    if as_object(data.get("metadata")).get("background") is True:
        return  # its result comes as a message of its own
    output = string(as_object(data.get("output")), "output")
    tag = "user_shell_command"
    yield _text(
        f"<{tag}>\n<command>\n{command}\n</command>\n<result>\n{output}\n</result>\n</{tag}>"
    )


def _checkpoint(summary: str, recent: str) -> Object:
    kept = f"\n<recent-context>\n{recent}\n</recent-context>" if recent else ""
    held = f"<summary>\n{summary}\n</summary>{kept}"
    return _text(f"<conversation-checkpoint>\n{held}\n</conversation-checkpoint>")


def _files(data: Object) -> Iterator[Object]:
    """The files that a user attached."""
    for file in objects(data.get("files")):
        mime, held = string(file, "mime"), string(file, "data")
        uri = string(as_object(file.get("source")), "uri") or string(file, "uri")
        name = string(file, "name") or uri or "without a name"
        if mime in WRITTEN:
            yield _noted(f"Attached {WRITTEN[mime]} {name}:\n{_decoded(held)}")
        elif mime in SHOWN:
            yield {
                "type": "file",
                "mime": mime,
                "url": f"data:{mime};base64,{held}" if held else uri,
            }
        elif not mime:
            yield {**file, "type": "file of no type"}


def _decoded(data: str) -> str:
    try:
        return base64.b64decode(data).decode("utf-8", "replace")
    except (binascii.Error, ValueError):
        return data


def _spoken(item: Object) -> Iterator[Object]:
    """A part of an assistant message."""
    match item:
        case {"type": "reasoning", "text": str(said)}:
            yield {"type": "reasoning", "text": said, "metadata": {"": item.get("state")}}
        case {"type": "tool", "id": str(id), "name": str(name), "state": state} if is_object(state):
            texts, files, strange = _contents(state)
            result = {"status": string(state, "status"), "input": state.get("input")}
            if result["status"] == "error":
                result["error"] = "\n".join(filter(None, [_reason(state.get("error")), *texts]))
            else:
                result |= {"output": "\n".join(texts), "attachments": files}
            yield {"type": "tool", "callID": id, "tool": name, "state": result}
            yield from strange
        case _:
            yield item


def _contents(state: Object) -> tuple[list[str], list[Object], list[Object]]:
    """The texts of a result, its files, and what is of neither kind."""
    texts: list[str] = []
    files: list[Object] = []
    strange: list[Object] = []
    held = state.get("content")
    for item in [_text(held)] if isinstance(held, str) else objects(held):
        match item:
            case {"type": "text", "text": str(said)}:
                texts.append(said)
            case {"type": "file", "uri": str(uri)}:
                files.append({"url": uri, "mime": string(item, "mime")})
            case _:
                strange.append({**item, "type": string(item, "type") or "none"})
    if not (texts or files or strange):  # early versions kept a value in place of content
        values = map(state.get, ("output", "result", "structured"))
        texts += [
            v if isinstance(v, str) else json.dumps(v, ensure_ascii=False) for v in values if v
        ][:1]
    return texts, files, strange


def _reason(error: Any) -> str:
    return error if isinstance(error, str) else string(as_object(error), "message")

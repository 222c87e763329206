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

from context_compression.conversation.messages import as_object, is_array, is_object
from context_compression.hosts.opencode.cells import listed, unread
from context_compression.hosts.opencode.live import Object, StoredMessage
from context_compression.transcripts.lines import string

SILENT = frozenset({"agent-switched", "model-switched", "idle", "display", "invocation"})
"""Types that no request holds."""
RESULT = {"status", "input", "content", "error", "output", "result", "structured"}
UNFINISHED = ("running", "failed")
COMPLETED = ("completed", None)
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
        case "assistant", {"content": content} if is_array(content) or isinstance(content, str):
            about |= {"role": "assistant", "tokens": data.get("tokens")}
            about["modelID"] = string(as_object(data.get("model")), "id")
            items = [_text(content)] if isinstance(content, str) else content
            parts = [part for item in items for part in _spoken(item)]
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
        case "compaction", {"summary": str(summary)} if data.get("status") in COMPLETED:
            about["checkpoint"] = string(data, "reason")
            recent, strange = _said(data, "recent")
            parts = [_checkpoint(summary, recent), *strange]
        case _:
            parts = [unread(kind or "none", data)]
    return StoredMessage(id, about, parts)


def is_sealed(data: Object) -> bool:
    """Whether a compaction's result is kept in the form of a provider, which only it can read."""
    return bool(data.get("providerContext"))


def _said(data: Object, name: str, inner: str = "") -> tuple[str, list[Object]]:
    """A text, which may be that of `inner` in an object; and what stands there and is none."""
    match data.get(name):
        case str(said):
            return said, []
        case {**about} if isinstance(about.get(inner), str):
            return about[inner], []
        case None:
            return "", []
        case odd:
            return "", [unread(name, odd)]


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
    for skill in listed(data.get("skills")):
        match skill:
            case {"text": str(said)} if isinstance(skill.get("name"), str | None):
                yield _skill(string(skill, "name") or string(skill, "id"), said)
            case _:
                yield unread("skill", skill)


def _shell(command: str, data: Object) -> Iterator[Object]:
    if as_object(data.get("metadata")).get("background") is True:
        return  # its result comes as a message of its own
    output, strange = _said(data, "output", "output")
    tag = "user_shell_command"
    yield _text(
        f"<{tag}>\n<command>\n{command}\n</command>\n<result>\n{output}\n</result>\n</{tag}>"
    )
    yield from strange


def _checkpoint(summary: str, recent: str) -> Object:
    kept = f"\n<recent-context>\n{recent}\n</recent-context>" if recent else ""
    held = f"<summary>\n{summary}\n</summary>{kept}"
    return _text(f"<conversation-checkpoint>\n{held}\n</conversation-checkpoint>")


def _files(data: Object) -> Iterator[Object]:
    """The files that a user attached."""
    for file in listed(data.get("files")):
        about = as_object(file)
        mime, held = string(about, "mime"), string(about, "data")
        uri = string(as_object(about.get("source")), "uri") or string(about, "uri")
        name = string(about, "name") or uri or "without a name"
        if mime in WRITTEN and isinstance(about.get("data"), str | None):
            yield _noted(f"Attached {WRITTEN[mime]} {name}:\n{_decoded(held)}")
        elif mime in SHOWN and (held or uri):
            url = f"data:{mime};base64,{held}" if held else uri
            yield {"type": "file", "mime": mime, "url": url}
        else:
            yield unread(f"file of {mime or 'no type'}", file)


def _decoded(data: str) -> str:
    try:
        return base64.b64decode(data).decode("utf-8", "replace")
    except (binascii.Error, ValueError):
        return data


def _spoken(item: Any) -> Iterator[Object]:
    """A part of an assistant message."""
    match item:
        case {"type": "text", "text": str()}:
            yield item
        case {"type": "reasoning", "text": str(said)}:
            yield {"type": "reasoning", "text": said, "metadata": {"": item.get("state")}}
        case {"type": "tool", "id": str(id), "name": str(name), "state": state} if is_object(state):
            texts, files, strange = _contents(state)
            result: dict[str, Any] = {"input": state.get("input"), "attachments": files}
            result["status"] = string(state, "status")
            if result["status"] == "error":
                reason, odd = _said(state, "error", "message")
                result["error"] = "\n".join(filter(None, [reason, *texts]))
                strange += odd
            else:
                result["output"] = "\n".join(texts)
            if state and RESULT.isdisjoint(state):
                strange.append(unread("state of a call", state))
            yield {"type": "tool", "callID": id, "tool": name, "state": result}
            yield from strange
        case _:
            yield unread(string(as_object(item), "type") or "content", item)


def _contents(state: Object) -> tuple[list[str], list[Object], list[Object]]:
    """The texts of a result, its files, and what is of neither kind."""
    texts: list[str] = []
    files: list[Object] = []
    strange: list[Object] = []
    held = state.get("content")
    for item in [_text(held)] if isinstance(held, str) else listed(held):
        match item:
            case {"type": "text", "text": str(said)}:
                texts.append(said)
            case {"type": "file", "uri": str(uri)}:
                files.append({"url": uri, "mime": string(item, "mime")})
            case _:
                strange.append(unread(string(as_object(item), "type") or "content", item))
    if not (texts or files):  # early versions kept a value in place of content
        values = map(state.get, ("output", "result", "structured"))
        texts += [
            v if isinstance(v, str) else json.dumps(v, ensure_ascii=False) for v in values if v
        ][:1]
    return texts, files, strange

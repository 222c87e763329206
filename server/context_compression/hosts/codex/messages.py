"""Codex's names and folders, and its items as Anthropic messages."""

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

from context_compression.conversation.messages import as_object, is_array, is_object
from context_compression.transcripts.exporter import call, linked, result, text, thinking, unread
from context_compression.transcripts.lines import string
from context_compression.transcripts.transcript import Seen, Shape, Shapes, within

NAME = "codex"
TITLE = "Codex"
SEEN = "0.169.0"
"""The version that transcripts, hooks and exports were last seen working with."""

HOME_VARIABLE = "CODEX_HOME"
"""Replaces `~/.codex`. Codex passes it on to a server only if the entry's `env_vars` lists it."""
THREAD_VARIABLE = "CODEX_THREAD_ID"
"""Set for the commands that Codex runs: the id of their thread."""


def home_folder(environ: Mapping[str, str], home: Path) -> Path:
    """`~/.codex`, or the folder that CODEX_HOME names."""
    return Path(environ.get(HOME_VARIABLE) or home / ".codex")


def sessions_folder(environ: Mapping[str, str], home: Path) -> Path:
    """`~/.codex/sessions`: a folder for each year, month and day, with that day's new rollouts."""
    return home_folder(environ, home) / "sessions"


Item: TypeAlias = Mapping[str, Any]
T = TypeVar("T")

CALLS = {"function_call", "custom_tool_call", "local_shell_call", "tool_search_call"}
OUTPUTS = {"function_call_output", "custom_tool_call_output", "tool_search_output"}
MODEL_ITEMS = {  # by the model, in addition to its messages and calls
    "reasoning", "web_search_call", "image_generation_call", "compaction", "context_compaction",
}  # fmt: skip
FROM_CODEX = (
    "# AGENTS.md instructions", "<environment_context>", "<user_instructions>", "<skill>",
    "<user_shell_command>", "<turn_aborted>", "<subagent_notification>", "<hook_prompt",
    "<agent_message",
)  # fmt: skip
"""The beginnings of texts that Codex itself puts into the user's role."""
SETTINGS = (
    "<permissions instructions>", "<model_switch>", "<collaboration_mode>", "<multi_agent_mode>",
    "<environments_instructions>", "<plugins_instructions>", "<skills_instructions>",
    "<personality_spec>", "<token_budget>", "<context_window", "<rollout_budget>",
)  # fmt: skip
"""The same for the developer's role. Codex repeats them before a turn if they changed."""

TEXTS = ("type", "role", "name", "namespace", "call_id", "encrypted_content", "author", "recipient")
ITEM: Shape = dict.fromkeys(TEXTS, str)
WORDS = """
action arguments changes content dynamic_tools error git input instructions
invocation last_agent_message message output query result stderr stdout summary
text text_elements tools
"""
"""Fields with words that were seen beside those that are read."""
SHAPES = Shapes(
    TITLE,
    {
        "session_meta": {"payload": {"id": str, "base_instructions": {"text": str}}},
        "response_item": {"payload": ITEM},
        "compacted": {"payload": {"message": None, "replacement_history": [ITEM]}},
        "event_msg": {"payload": {"type": str}},
    },
    Seen(WORDS, SEEN, lambda row: string(within(row, "session_meta", "payload"), "cli_version")),
)
"""The shapes of what rows hold."""


class Messages:
    """The messages that items make."""

    def __init__(self, items: Sequence[Item]) -> None:
        self.made: list[dict[str, Any]] = []
        self.unknown: Counter[str] = Counter()
        self.orphans = 0
        calls = (item for item in items if string(item, "type") in CALLS)
        self._called = {string(item, "call_id") for item in calls}
        self._results: list[Any] | None = None  # of the calls just made
        self._places = [self._place(item) for item in items]

    def holding(self, items: int) -> int:
        """The number of messages that the first `items` items make."""
        return min(self._places[items - 1] + 1, len(self.made)) if items else 0

    def answered_at(self, item: int) -> int:
        """The number of messages before the one that an item is in, or will be in."""
        return self._places[item] if item < len(self._places) else len(self.made)

    def first_of(self, values: Sequence[T]) -> list[T | None]:
        """For each message, the value of the first item in it, of a value for each item."""
        found: list[T | None] = [None] * len(self.made)
        for place, value in zip(reversed(self._places), reversed(values), strict=True):
            if place < len(found):
                found[place] = value
        return found

    def _place(self, item: Item) -> int:
        """Add an item to the message it belongs to, and return that message's index."""
        kind = string(item, "type")
        if kind in OUTPUTS:
            if string(item, "call_id") in self._called:
                self._give(item)
            else:  # Codex does not send it either
                self.orphans += 1
        elif is_the_models(item):
            return self._say(_blocks_of_model(item))
        elif kind == "agent_message" and (said := _of_agent(item)):
            self._put("user", said)
        elif kind == "message":
            role = "developer" if item.get("role") == "developer" else "user"
            self._put(role, _parts(item.get("content")))
        else:
            self.unknown[kind or "none"] += 1
            self._put("user", [item])
        return max(0, len(self.made) - 1)

    def _put(self, role: str, content: list[Any]) -> None:
        if content:
            self.made.append({"role": role, "content": content})
            self._results = None

    def _say(self, blocks: list[Any]) -> int:
        if self.made and self.made[-1]["role"] == "assistant":
            self.made[-1]["content"] += blocks
        elif blocks:
            self._put("assistant", blocks)
        else:
            return len(self.made)  # the index of the message that will hold the rest of the answer
        return len(self.made) - 1

    def _give(self, output: Item) -> None:
        if self._results is None:
            self._results = []
            self.made.append({"role": "user", "content": self._results})
        self._results.append(result(string(output, "call_id"), _output(output)))


def is_the_models(item: Item) -> bool:
    """Whether an item is from the model."""
    kind = string(item, "type")
    return (
        kind in MODEL_ITEMS
        or kind in CALLS
        or (kind == "message" and item.get("role") == "assistant")
    )


def _blocks_of_model(item: Item) -> list[Any]:
    """An item of the model as blocks."""
    match string(item, "type"):
        case "message":
            return _parts(item.get("content"))
        case "reasoning":
            return _reasoning(item)
        case "function_call":
            return [call(string(item, "call_id"), _name(item), item.get("arguments"))]
        case "custom_tool_call":
            given = {"input": item.get("input", "")}
            return [call(string(item, "call_id"), _name(item), given)]
        case "local_shell_call":
            return [call(string(item, "call_id"), "local_shell", item.get("action"))]
        case "tool_search_call" if item.get("call_id"):
            return [call(string(item, "call_id"), "tool_search", item.get("arguments"))]
        case _:  # run by the provider: the call and its result are one item
            return [item]


def _of_agent(item: Item) -> list[Any]:
    """What another agent of the same run wrote, marked as such; empty if it is encrypted."""
    parts = _parts(item.get("content"))
    texts = [part["text"] for part in parts if part.get("type") == "text"]
    if not texts or len(texts) < len(parts):
        return []
    about = f"from {string(item, 'author')} to {string(item, 'recipient')}"
    return [text("\n".join([f"<agent_message {about}>", *texts, "</agent_message>"]))]


def _reasoning(item: Item) -> list[Any]:
    summary, sealed = item.get("summary"), string(item, "encrypted_content")
    if sealed:
        return [thinking("", sealed) | ({"summary": summary} if summary else {})]
    texts = [string(as_object(part), "text") for part in summary] if is_array(summary) else []
    return [thinking("\n\n".join(texts))] if any(texts) else []


def _name(item: Item) -> str:
    """The name as other hosts write it: `mcp__probe__echo` for `echo` of `mcp__probe`."""
    namespace, name = string(item, "namespace"), string(item, "name")
    return f"{namespace}__{name.removeprefix('_')}" if namespace else name


def _output(item: Item) -> Any:
    """The output of a tool: a text, or a list of parts."""
    given = item.get("output", item.get("tools"))
    if is_object(given):  # before autumn 2025
        given = given.get("content", given)
    if isinstance(given, str):
        return given
    return _parts(given)


def _parts(content: Any) -> list[Any]:
    if isinstance(content, str):
        return [text(content)]
    if content is None:
        return []
    return [*map(_part, content if is_array(content) else [content])]


def _part(part: Any) -> Any:
    match part:
        case {"type": "input_text" | "output_text" | "text", "text": str(shown)}:
            return text(shown)
        case {"type": "input_image", "image_url": str(url)}:
            return linked(url)
        case {"type": str()}:
            return part
        case _:
            return unread(part)


def begins_turn(item: Item) -> bool:
    """Whether an item is from the user, and not a text that Codex put into the user's role."""
    return item.get("role") == "user" and not _begins_with(item, FROM_CODEX)


def is_repeated(item: Item) -> bool:
    """Whether an item is a text that Codex repeats before a turn if it changed."""
    beginnings = {"user": FROM_CODEX, "developer": SETTINGS}.get(string(item, "role"))
    return bool(beginnings) and _begins_with(item, beginnings)


def _begins_with(item: Item, starts: tuple[str, ...]) -> bool:
    content = item.get("content")
    texts = [string(as_object(p), "text") for p in content] if is_array(content) else []
    return any(part.lstrip().startswith(starts) for part in texts)

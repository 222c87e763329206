"""Codex: `~/.codex/sessions/YYYY/MM/DD/rollout-<time>-<thread id>.jsonl`, a row per line.

{"timestamp": …, "type": …, "payload": …}      and the payload by type:

session_meta        id (of the thread), cwd, cli_version, base_instructions.text: the system prompt.
                    A fork has its parent's behind its own.
turn_context        model, cwd
response_item       what was sent to the model or came from it, as the Responses API has it
compacted           replacement_history: items that stand in place of everything before
event_msg           task_started {model_context_window}; thread_rolled_back {num_turns};
                    token_count {info: {last_token_usage, total_token_usage, model_context_window}},
                    written once the response's tools have run; after a compaction with zeros
token_usage_record  usage, thread_token_usage: the same, directly behind the response (0.169)

Items become Anthropic messages: what the model said between two inputs is one message, and the
outputs of its calls are the next. Reasoning is a thinking block; where it is encrypted that is the
signature, and `summary` stands beside it. Seen in versions 0.139 to 0.169.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

from context_compression.hosts.base import Load, Row, Transcript, counted, folder_name, name_of
from context_compression.hosts.blocks import call, linked, result, text, thinking
from context_compression.hosts.lines import At, as_object, string
from context_compression.messages import is_array, is_object

NAME = "codex"
KNOWN = {
    "session_meta", "turn_context", "response_item", "compacted", "event_msg", "token_usage_record",
    "world_state", "inter_agent_communication",
}  # fmt: skip
CALLS = {"function_call", "custom_tool_call", "local_shell_call", "tool_search_call"}
OUTPUTS = {"function_call_output", "custom_tool_call_output", "tool_search_output"}
SAID = {  # by the model, beside its messages and calls
    "reasoning", "web_search_call", "image_generation_call", "compaction", "context_compaction",
}  # fmt: skip
NOT_SENT = {"ghost_snapshot", "compaction_trigger", "other"}
FROM_CODEX = (
    "# AGENTS.md instructions", "<environment_context>", "<user_instructions>", "<skill>",
    "<user_shell_command>", "<turn_aborted>", "<subagent_notification>", "<hook_prompt",
)  # fmt: skip
"""How texts begin that Codex puts into the user's role itself."""
SETTINGS = (
    "<permissions instructions>", "<model_switch>", "<collaboration_mode>", "<multi_agent_mode>",
    "<environments_instructions>", "<plugins_instructions>", "<skills_instructions>",
    "<personality_spec>", "<token_budget>", "<context_window", "<rollout_budget>",
)  # fmt: skip
"""The same for the developer's role: told again before a turn when they changed."""


def recognises(row: Mapping[str, Any]) -> bool:
    """Whether the row is one of Codex's."""
    return string(row, "type") in KNOWN and is_object(row.get("payload")) and "role" not in row


def reader() -> "CodexReader":
    """For one rollout file: a thread, which may be a subagent's."""
    return CodexReader()


Item: TypeAlias = Mapping[str, Any]


@dataclass(frozen=True)
class Charged:
    """What a request cost with its answer, and how many items, from the first on, those are."""

    tokens: int
    items: int


@dataclass
class CodexReader:
    """The live history, kept as Codex keeps it."""

    items: list[Item] = field(default_factory=list[Item])
    """What the next request would begin with."""
    _charged: list[Charged] = field(default_factory=list[Charged])
    _answer: int | None = None  # the item the answer begins with whose usage is not known yet
    _total: Any = None  # tokens of the whole thread: the same usage is written more than once
    _meta: Mapping[str, Any] = field(default_factory=dict[str, Any])
    _model: str | None = None
    _window: int | None = None
    _turns: int = 0  # since the last compaction
    _guessed: int = 0
    _unknown: Counter[str] = field(default_factory=Counter[str])

    def add(self, row: Row, at: At) -> None:
        """Take a row into account."""
        kind, payload = string(row, "type"), as_object(row.get("payload"))
        match kind:
            case "session_meta":
                self._meta = self._meta or payload
            case "turn_context":
                self._model = string(payload, "model") or self._model
            case "response_item":
                self._add_item(payload)
            case "compacted":
                self._compact(payload)
            case "token_usage_record":
                self._charge(payload.get("usage"), payload.get("thread_token_usage"))
            case "event_msg":
                self._add_event(payload)
            case _ if kind not in KNOWN:
                self._unknown[kind or "none"] += 1
            case _:
                pass

    def _add_item(self, item: Item) -> None:
        if string(item, "type") in NOT_SENT or item.get("role") == "system":
            return
        if _is_the_models(item) and self._answer is None:
            self._answer = len(self.items)
        self._turns += _begins_turn(item)
        self.items.append(item)

    def _compact(self, payload: Mapping[str, Any]) -> None:
        history = payload.get("replacement_history")
        if is_array(history):
            self.items = [item for item in history if is_object(item)]
        else:  # before late 2025
            summary = {"type": "input_text", "text": string(payload, "message")}
            message = {"type": "message", "role": "user", "content": [summary]}
            self.items = [*filter(_begins_turn, self.items), message]
        self._charged, self._answer, self._turns = [], None, 0

    def _add_event(self, event: Mapping[str, Any]) -> None:
        match string(event, "type"):
            case "task_started":
                self._see_window(event)
            case "token_count":
                info = as_object(event.get("info"))
                self._see_window(info)
                self._charge(info.get("last_token_usage"), info.get("total_token_usage"))
            case "thread_rolled_back":
                self._roll_back(event.get("num_turns"))
            case _:
                pass

    def _see_window(self, about: Mapping[str, Any]) -> None:
        window = about.get("model_context_window")
        self._window = window if isinstance(window, int) and window > 0 else self._window

    def _charge(self, usage: Any, total: Any) -> None:
        asked, said = (as_object(usage).get(part) for part in ("input_tokens", "output_tokens"))
        if total == self._total or not isinstance(asked, int) or asked <= 0:
            return
        self._total = total
        items = len(self.items) if self._answer is None else self._answer
        while items < len(self.items) and _is_the_models(self.items[items]):
            items += 1  # outputs of its calls may stand behind it already
        self._charged.append(Charged(asked + (said if isinstance(said, int) else 0), items))
        self._answer = None

    def _roll_back(self, turns: Any) -> None:
        """Forget the last turns, with what Codex had told the model just before them."""
        begins = [index for index, item in enumerate(self.items) if _begins_turn(item)]
        if not isinstance(turns, int) or turns <= 0 or not begins:
            return
        self._guessed += turns > self._turns
        self._turns = max(0, self._turns - turns)
        cut = begins[max(0, len(begins) - turns)]
        while cut > begins[0] and _is_told_again(self.items[cut - 1]):
            cut -= 1
        del self.items[cut:]
        self._charged = [charged for charged in self._charged if charged.items <= cut]
        self._answer = None

    def transcript(self, path: Path, load: Load) -> Transcript:
        """The live context now."""
        messages = Messages(self.items)
        usage = None
        if self._charged:
            newest = self._charged[-1]
            usage = (newest.tokens, messages.holding(newest.items))
        told = string(as_object(self._meta.get("base_instructions")), "text")
        thread = string(self._meta, "id")
        return Transcript(
            path=path,
            host=NAME,
            session_id=folder_name(thread) if thread else name_of(path),
            messages=messages.made,
            usage=usage,
            window=self._window,
            model=self._model,
            system=told or None,
            warnings=[
                *counted("Rows of types we do not know were skipped", self._unknown),
                *counted(
                    "Items of types we do not know are carried along as they are", messages.unknown
                ),
                *counted(
                    "Outputs of calls that are no longer in the context were left out",
                    {"outputs": messages.orphans},
                ),
                *counted(
                    "Turns were taken back that began before the last compaction; what is left is "
                    "a guess",
                    {"times": self._guessed},
                ),
            ],
        )


class Messages:
    """Items as messages."""

    def __init__(self, items: Sequence[Item]) -> None:
        self.made: list[dict[str, Any]] = []
        self.unknown: Counter[str] = Counter()
        self.orphans = 0
        self._called = {string(item, "call_id") for item in items if item.get("type") in CALLS}
        self._results: list[Any] | None = None  # of the calls just made
        self._places = [self._place(item) for item in items]

    def holding(self, items: int) -> int:
        """How many messages the first `items` make."""
        return self._places[items - 1] + 1 if items else 0

    def _place(self, item: Item) -> int:
        """Put an item where it belongs; the index of the message it is in."""
        kind = string(item, "type")
        if kind in OUTPUTS:
            if string(item, "call_id") in self._called:
                self._give(item)
            else:  # nor does Codex send it
                self.orphans += 1
        elif _is_the_models(item):
            return self._say(_said(item))
        elif kind == "message":
            role = "developer" if item.get("role") == "developer" else "user"
            self._put(role, _parts(item.get("content")))
        else:
            self.unknown[kind or "none"] += 1
            self._put("user", [item])
        return max(0, len(self.made) - 1)

    def _put(self, role: str, content: list[Any]) -> None:
        self.made.append({"role": role, "content": content})
        self._results = None

    def _say(self, blocks: list[Any]) -> int:
        if self.made and self.made[-1]["role"] == "assistant":
            self.made[-1]["content"] += blocks
        elif blocks:
            self._put("assistant", blocks)
        else:
            return len(self.made)  # of the message that the rest of the answer will be in
        return len(self.made) - 1

    def _give(self, output: Item) -> None:
        if self._results is None:
            results: list[Any] = []
            self._put("user", results)
            self._results = results
        self._results.append(result(string(output, "call_id"), _output(output)))


def _is_the_models(item: Item) -> bool:
    kind = string(item, "type")
    return kind in SAID or kind in CALLS or (kind == "message" and item.get("role") == "assistant")


def _said(item: Item) -> list[Any]:
    """What an item of the model is as blocks."""
    match string(item, "type"):
        case "message":
            return _parts(item.get("content"))
        case "reasoning":
            return _reasoning(item)
        case "function_call":
            return [call(string(item, "call_id"), _name(item), item.get("arguments"))]
        case "custom_tool_call":
            given = {"input": string(item, "input")}
            return [call(string(item, "call_id"), _name(item), given)]
        case "local_shell_call":
            return [call(string(item, "call_id"), "local_shell", item.get("action"))]
        case "tool_search_call" if item.get("call_id"):
            return [call(string(item, "call_id"), "tool_search", item.get("arguments"))]
        case _:  # run by the provider: the call and what came of it are one
            return [item]


def _reasoning(item: Item) -> list[Any]:
    summary, sealed = item.get("summary"), string(item, "encrypted_content")
    if sealed:
        return [thinking("", sealed) | ({"summary": summary} if summary else {})]
    texts = [string(as_object(part), "text") for part in summary] if is_array(summary) else []
    return [thinking("\n\n".join(texts))] if any(texts) else []


def _name(item: Item) -> str:
    """`echo` of the namespace `mcp__probe` is `mcp__probe__echo`, as other hosts call it."""
    namespace, name = string(item, "namespace"), string(item, "name")
    return f"{namespace}__{name.removeprefix('_')}" if namespace else name


def _output(item: Item) -> Any:
    """What a tool gave: a text, or a list of parts."""
    given = item.get("output", item.get("tools"))
    if is_object(given):  # before autumn 2025
        given = given.get("content")
    if isinstance(given, str):
        return given
    return _parts(given)


def _parts(content: Any) -> list[Any]:
    if isinstance(content, str):
        return [text(content)]
    return [_part(part) for part in content if is_object(part)] if is_array(content) else []


def _part(part: Mapping[str, Any]) -> Any:
    match part:
        case {"type": "input_text" | "output_text" | "text", "text": str(said)}:
            return text(said)
        case {"type": "input_image", "image_url": str(url)}:
            return linked(url)
        case _:
            return part


def _begins_turn(item: Item) -> bool:
    """Whether the user says something in it, and not Codex in the user's name."""
    return item.get("role") == "user" and not _begins_with(item, FROM_CODEX)


def _is_told_again(item: Item) -> bool:
    told = {"user": FROM_CODEX, "developer": SETTINGS}.get(string(item, "role"))
    return bool(told) and _begins_with(item, told)


def _begins_with(item: Item, starts: tuple[str, ...]) -> bool:
    content = item.get("content")
    texts = [string(as_object(p), "text") for p in content] if is_array(content) else []
    return any(said.lstrip().startswith(starts) for said in texts)

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

    messages.py   the messages that items make
    current.py    which rollout belongs to the host that started us
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from context_compression.conversation.messages import as_object, is_array, is_object
from context_compression.hosts.codex.about import NAME
from context_compression.hosts.codex.messages import (
    FROM_CODEX,
    Item,
    Messages,
    begins_turn,
    is_repeated,
    is_the_models,
)
from context_compression.transcripts.lines import At, string
from context_compression.transcripts.transcript import (
    Load,
    Row,
    Transcript,
    counted,
    folder_name,
    id_from_name,
)

__all__ = ["FROM_CODEX", "NAME", "CodexReader", "reader", "recognises"]

KNOWN = {
    "session_meta", "turn_context", "response_item", "compacted", "event_msg", "token_usage_record",
    "world_state", "inter_agent_communication",
}  # fmt: skip
NOT_SENT = {"ghost_snapshot", "compaction_trigger", "other"}


def recognises(row: Mapping[str, Any]) -> bool:
    """Whether the row is one of Codex's."""
    return string(row, "type") in KNOWN and is_object(row.get("payload")) and "role" not in row


def reader() -> "CodexReader":
    """For one rollout file: a thread, which may be a subagent's."""
    return CodexReader()


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
        if is_the_models(item) and self._answer is None:
            self._answer = len(self.items)
        self._turns += begins_turn(item)
        self.items.append(item)

    def _compact(self, payload: Mapping[str, Any]) -> None:
        history = payload.get("replacement_history")
        if is_array(history):
            self.items = [item for item in history if is_object(item)]
        else:  # before late 2025
            summary = {"type": "input_text", "text": string(payload, "message")}
            message = {"type": "message", "role": "user", "content": [summary]}
            self.items = [*filter(begins_turn, self.items), message]
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
        prompt, answer = (as_object(usage).get(part) for part in ("input_tokens", "output_tokens"))
        if total == self._total or not isinstance(prompt, int) or prompt <= 0:
            return
        self._total = total
        items = len(self.items) if self._answer is None else self._answer
        while items < len(self.items) and is_the_models(self.items[items]):
            items += 1  # outputs of its calls may stand behind it already
        self._charged.append(Charged(prompt + (answer if isinstance(answer, int) else 0), items))
        self._answer = None

    def _roll_back(self, turns: Any) -> None:
        """Forget the last turns, with what Codex had told the model just before them."""
        begins = [index for index, item in enumerate(self.items) if begins_turn(item)]
        if not isinstance(turns, int) or turns <= 0 or not begins:
            return
        self._guessed += turns > self._turns
        self._turns = max(0, self._turns - turns)
        cut = begins[max(0, len(begins) - turns)]
        while cut > begins[0] and is_repeated(self.items[cut - 1]):
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
        instructions = string(as_object(self._meta.get("base_instructions")), "text")
        thread = string(self._meta, "id")
        return Transcript(
            path=path,
            host=NAME,
            session_id=folder_name(thread) if thread else id_from_name(path),
            messages=messages.made,
            usage=usage,
            window=self._window,
            model=self._model,
            system=instructions or None,
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

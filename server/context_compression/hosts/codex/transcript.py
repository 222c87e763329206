"""Codex's transcripts: `~/.codex/sessions/YYYY/MM/DD/rollout-<time>-<thread id>.jsonl`.

Each line is a row: `{"timestamp": …, "type": …, "payload": …}`. The payload by type:

session_meta        id (of the thread), cwd, cli_version, base_instructions.text: the system prompt.
                    A fork also has its parent's row, after its own. history_base: see `lineage`.
turn_context        model, cwd
response_item       an item sent to the model or received from it, as in the Responses API
compacted           replacement_history: items that replace everything before
event_msg           task_started {model_context_window}; thread_rolled_back {num_turns};
                    token_count {info: {last_token_usage, total_token_usage, model_context_window}},
                    written once the response's tools have run; after a compaction with zeros
token_usage_record  usage, thread_token_usage: the same, directly after the response (0.169)

Items become Anthropic messages. All items of the model between two inputs are one message, and the
outputs of its calls are the next. Reasoning becomes a thinking block. Encrypted reasoning becomes
the block's signature, next to `summary` if there is one. Seen in versions 0.139 to 0.169.

    rollouts.py   the files of a thread
    lineage.py    the rows that a file goes on from, in other files
    messages.py   the messages that items make
    current.py    finds the rollout of the conversation that calls us
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from context_compression.conversation.messages import as_object, is_array, is_object
from context_compression.hosts.codex.about import NAME, TITLE
from context_compression.hosts.codex.lineage import earlier
from context_compression.hosts.codex.messages import (
    FROM_CODEX,
    SHAPES,
    Item,
    Messages,
    begins_turn,
    is_repeated,
    is_the_models,
)
from context_compression.transcripts.blocks import unread
from context_compression.transcripts.compaction_log import CompactionLog
from context_compression.transcripts.generations import Generations, named, within
from context_compression.transcripts.history import Compaction, Request
from context_compression.transcripts.later import Later
from context_compression.transcripts.lines import At, string
from context_compression.transcripts.times import seconds
from context_compression.transcripts.transcript import (
    Load,
    Row,
    Transcript,
    counted,
    folder_name,
    id_from_name,
)

__all__ = [
    "FROM_CODEX", "GENERATIONS", "NAME", "SHAPES", "CodexReader", "earlier", "reader", "recognises",
]  # fmt: skip

KNOWN = {
    "session_meta", "turn_context", "response_item", "compacted", "event_msg", "token_usage_record",
    "world_state", "inter_agent_communication",
}  # fmt: skip
CHARGED = ("input_tokens", "cached_input_tokens", "output_tokens")
GENERATIONS = Generations(
    TITLE,
    "history_mode",
    frozenset({"legacy", "paginated"}),
    lambda row: named(within(row, "session_meta", "payload").get("history_mode")),
)
NOT_SENT = {"ghost_snapshot", "compaction_trigger", "other"}


def recognises(row: Mapping[str, Any]) -> bool:
    """Whether the row is one of Codex's."""
    return string(row, "type") in KNOWN and is_object(row.get("payload")) and "role" not in row


def reader() -> "CodexReader":
    """A reader for one rollout file: a thread, which may be a subagent's."""
    return CodexReader()


@dataclass(frozen=True)
class Charged:
    """A request that was answered.

    Attributes:
        tokens: of the request and its answer.
        items: the number of items that they cover.
        answer: the first item of the answer.
        request: what is known of it; its `messages` are set later.
    """

    tokens: int
    items: int
    answer: int
    request: Request


@dataclass
class CodexReader:
    """The live history, kept as Codex keeps it."""

    items: list[Item] = field(default_factory=list[Item])
    """The items with which the next request would begin."""
    _log: CompactionLog = field(default_factory=CompactionLog)
    _written: list[Any] = field(default_factory=list[Any])  # when each of the items was
    _carried: int = 0  # items that the last compaction left
    _time: Any = None  # of the newest row, as the file says it
    _charged: list[Charged] = field(default_factory=list[Charged])
    _answer: int | None = None  # the first item of the answer whose usage is not known yet
    _total: Any = None  # the thread's total: the same usage is written more than once
    _meta: Mapping[str, Any] = field(default_factory=dict[str, Any])
    _model: str | None = None
    _window: int | None = None
    _turns: int = 0  # since the last compaction
    _guessed: int = 0
    _unknown: Counter[str] = field(default_factory=Counter[str])

    def add(self, row: Row, at: At) -> None:
        """Add the next row of the file."""
        kind, payload = string(row, "type"), as_object(row.get("payload"))
        self._time = row.get("timestamp")
        match kind:
            case "session_meta":
                self._meta = self._meta or payload
            case "turn_context":
                self._model = string(payload, "model") or self._model
            case "response_item":
                self._add_item(payload)
            case "compacted":
                self._compact(payload, at)
            case "token_usage_record":
                self._charge(payload.get("usage"), payload.get("thread_token_usage"))
            case "event_msg":
                self._add_event(payload)
            case _ if kind not in KNOWN:
                self._unknown[kind or "none"] += 1
            case _:
                pass

    def before(self, row: Row, path: Path, load: Load) -> Transcript | None:
        """The conversation before a compaction."""
        return self.transcript(path, load) if row.get("type") == "compacted" else None

    def _add_item(self, item: Item) -> None:
        if string(item, "type") in NOT_SENT or item.get("role") == "system":
            return
        if is_the_models(item) and self._answer is None:
            self._answer = len(self.items)
        self._turns += begins_turn(item)
        self.items.append(item)
        self._written.append(self._time)

    def _compact(self, payload: Mapping[str, Any], at: At) -> None:
        history = payload.get("replacement_history")
        if history is None:  # before late 2025
            message = {"type": "message", "role": "user", "content": payload.get("message", "")}
            self.items = [*filter(begins_turn, self.items), message]
        else:
            items = history if is_array(history) else [history]
            self.items = [item if is_object(item) else unread(item) for item in items]
        self._log.add(Compaction(time=seconds(self._time), by=NAME, place=at.offset))
        self._written, self._carried = [None] * len(self.items), len(self.items)
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
        about = as_object(usage)
        prompt, cached, answer = (_count(about, part) for part in CHARGED)
        if not prompt:  # an estimate that follows a compaction
            self._log.measured(_count(about, "total_tokens"))
        if total == self._total or prompt <= 0:
            return
        self._total = total
        self._log.answered(prompt, answer, self._model)
        items = first = len(self.items) if self._answer is None else self._answer
        while items < len(self.items) and is_the_models(self.items[items]):
            items += 1  # outputs of its calls may already follow it
        request = Request(0, seconds(self._time), self._model or "", prompt, cached, 0, answer)
        self._charged.append(Charged(prompt + answer, items, first, request))
        self._answer = None

    def _roll_back(self, turns: Any) -> None:
        """Remove the last turns, and the texts that Codex put just before them."""
        begins = [index for index, item in enumerate(self.items) if begins_turn(item)]
        if not isinstance(turns, int) or turns <= 0 or not begins:
            return
        self._guessed += turns > self._turns
        self._turns = max(0, self._turns - turns)
        cut = begins[max(0, len(begins) - turns)]
        while cut > begins[0] and is_repeated(self.items[cut - 1]):
            cut -= 1
        del self.items[cut:], self._written[cut:]
        self._carried = min(self._carried, cut)
        self._charged = [charged for charged in self._charged if charged.items <= cut]
        self._answer = None

    def transcript(self, path: Path, load: Load) -> Transcript:
        """The live conversation, as of the last row added."""
        messages = Messages(self.items)
        usage = None
        if self._charged:
            newest = self._charged[-1]
            usage = (newest.tokens, messages.holding(newest.items))
        instructions = string(as_object(self._meta.get("base_instructions")), "text")
        charged, written = [*self._charged], [*self._written]
        thread = string(self._meta, "id")
        return Transcript(
            path=path,
            host=NAME,
            session_id=folder_name(thread) if thread else id_from_name(path),
            messages=messages.made,
            usage=usage,
            window=self._window,
            largest=self._log.largest.of(self._model),
            model=self._model,
            system=instructions or None,
            project=string(self._meta, "cwd"),
            compactions=[*self._log.compactions],
            carried=messages.holding(self._carried),
            times=Later(lambda: [*map(seconds, messages.first_of(written))]),
            requests=Later(
                lambda: [
                    replace(each.request, messages=messages.answered_at(each.answer))
                    for each in charged
                ]
            ),
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


def _count(about: Mapping[str, Any], name: str) -> int:
    number = about.get(name)
    return number if isinstance(number, int) else 0

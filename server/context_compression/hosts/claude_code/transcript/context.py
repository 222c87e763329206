"""Messages from live rows: what the model was sent, as far as the transcript records it."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from context_compression.conversation.authors import is_host_note
from context_compression.conversation.messages import as_object, is_array
from context_compression.hosts.claude_code.transcript.branch import Branch
from context_compression.hosts.claude_code.transcript.compactions import begins_context
from context_compression.hosts.claude_code.transcript.row import (
    PROMPT_TOKENS,
    SYNTHETIC,
    Row,
    blocks,
    blocks_of,
    is_compaction,
    is_summary,
    message_id,
    prompt_tokens,
)
from context_compression.hosts.claude_code.transcript.speakers import with_speaker
from context_compression.transcripts.history import Request
from context_compression.transcripts.lines import string
from context_compression.transcripts.times import seconds
from context_compression.transcripts.transcript import ClearedResult, whole_text

LOCAL = "local"
"""The source of rows with what a command of the host itself printed, such as the table of
`/context`, which has no tags (2.1.329). Nobody asks for anything in them."""
CLEARED = "[Old tool result content cleared]"  # the model sees this instead of the result


@dataclass
class AnsweredMessage:
    """An assistant message, and the user message after it with the results of its calls."""

    message: dict[str, Any]
    row: Row
    """The newest row of the assistant message."""
    answer: dict[str, Any] = field(default_factory=lambda: {"role": "user", "content": []})

    @property
    def results(self) -> list[Any]:
        """The content of the user message, to which results are added."""
        return self.answer["content"]


def _tool_of(call: str, step: AnsweredMessage) -> str:
    """The name of the tool that a step called with an id; empty if there is no such call."""
    calls = blocks_of(step.message["content"])
    return next((string(each, "name") for each in calls if each.get("id") == call), "")


class Context:
    """The messages of a branch.

    The transcript has a row for each block of an assistant message. The results of its calls follow
    in any order, with other rows in between. Here the blocks are one message, and the results are
    the next message, in the order of the calls.
    """

    def __init__(self, branch: Branch, replaced: Mapping[str, str]) -> None:
        self.messages: list[dict[str, Any]] = []
        self.rows: list[list[str]] = []
        """The uuids of the rows that each message was made of."""
        self.extra_system: list[Mapping[str, Any]] = []
        """Text blocks of system messages in the course of the conversation."""
        self.textless: Counter[str] = Counter()
        """How many attachments have no text in the file, by their type."""
        self.cleared: list[ClearedResult] = []
        """The results that the host cleared."""
        self._branch = branch
        self._made_of: dict[int, list[Row]] = {}  # by the `id()` of a message
        self._steps: dict[str, AnsweredMessage] = {}  # by message id
        self._calls: dict[str, AnsweredMessage] = {}  # by call id, in the order of the calls
        cleared = _cleared(branch.rows)
        self._shown = {**replaced, **dict.fromkeys(cleared, CLEARED)}
        self._words_them = False  # whether the host writes the text of attachments (`rendered`)
        for row in branch.rows:
            match row["type"]:
                case "user":
                    self._add_user(row)
                case "assistant" if not row.get("isApiErrorMessage"):  # by the host, never sent
                    self._add_assistant(row)
                case "attachment" if row["uuid"] not in cleared:
                    self._add_attachment(row)
                case _:
                    pass
        self._finish()

    @property
    def usage(self) -> tuple[int, int] | None:
        """Prompt tokens of the newest request, and how many messages that request held.

        `None` if no request was made since the context last changed (compaction,
        microcompaction).
        """
        for row in reversed(self._branch.rows):
            if row["uuid"] in self._branch.kept or row.get("subtype") == "microcompact_boundary":
                return None  # earlier requests held another context
            step = self._steps.get(message_id(row)) if row["type"] == "assistant" else None
            before = self._before.get(id(step.message)) if step else None
            if before is not None and (tokens := prompt_tokens(row)):
                return tokens, before
        return None

    @property
    def times(self) -> list[float | None]:
        """When each message was written, in seconds since 1970."""
        return [*map(seconds, self._written)]

    @property
    def requests(self) -> list[Request]:
        """The requests since the last compaction that the model answered."""
        placed = ((self._before.get(id(step.message), -1), step) for step in self._steps.values())
        made = (_request(step.row, place) for place, step in placed if place >= self.carried)
        return [request for request in made if request]

    def _add_user(self, row: Row) -> None:
        content = row["message"]["content"]
        calls = [string(result, "tool_use_id") for result in blocks(row, "tool_result")]
        owner = next((self._calls[call] for call in calls if call in self._calls), None)
        if owner is None:
            own = content if isinstance(content, str) else [*content]  # a copy: blocks may be added
            if row.get("rowSource") == LOCAL:
                own = _printed(own)
            self._add({"role": "user", "content": own}, row)
            return
        for block in content:
            call = string(block, "tool_use_id")
            results = self._calls.get(call, owner).results
            if not call or all(call != result.get("tool_use_id") for result in results):
                shown = self._shown.get(call)
                if shown is not None:
                    self._note_cleared(block, owner)
                tool = _tool_of(call, owner) if block.get("is_error") else ""
                spoken = with_speaker(block, tool, row)
                results.append(spoken if shown is None else {**block, "content": shown})
        self._note(owner.answer, row)

    def _note_cleared(self, result: Mapping[str, Any], step: AnsweredMessage) -> None:
        if text := whole_text(result.get("content")):
            tool = _tool_of(string(result, "tool_use_id"), step)
            self.cleared.append(ClearedResult(tool, text))

    def _add(self, message: dict[str, Any], row: Row) -> None:
        self.messages.append(message)
        self._note(message, row)

    def _note(self, message: Mapping[str, Any], row: Row) -> None:
        self._made_of.setdefault(id(message), []).append(row)

    def _add_assistant(self, row: Row) -> None:
        content = row["message"]["content"]
        step = self._steps.get(message_id(row))
        if step is None:
            step = self._steps[message_id(row)] = AnsweredMessage(
                {"role": "assistant", "content": content}, row
            )
            self.messages += [step.message, step.answer]
        else:
            there = blocks_of(step.message["content"])  # a row may be written twice
            new = [block for block in blocks_of(content) if block not in there]
            step.message["content"] = [*there, *new]
            step.row = row
        self._note(step.message, row)
        for call in blocks(row, "tool_use"):
            self._calls.setdefault(string(call, "id"), step)

    def _add_attachment(self, row: Row) -> None:
        """Add a text that the host put into the conversation, as system or as user.

        Only the newest models accept system messages in the middle of a conversation. Their text is
        therefore passed on with the system prompt. Text in the user's role, such as a file that the
        user mentioned, is added to the message before it.
        """
        about, rendered = as_object(row.get("attachment")), row.get("rendered")
        role = row.get("renderedRole")
        self._words_them |= "rendered" in row
        if not self._words_them:
            rendered, role = _worded(about), "user"
        if about.get("type") == "queued_command":  # typed by the user while the agent was working
            prompt = about.get("prompt")
            readable = bool(prompt) and (isinstance(prompt, str) or is_array(prompt))
            prompt = [*prompt] if is_array(prompt) else prompt  # a copy: blocks may be added
            self._add({"role": "user", "content": prompt if readable else []}, row)
        elif not rendered or not is_array(rendered):
            self.textless[string(about, "type") or "none"] += 1
        else:
            parts = [blocks_of(as_object(part).get("content")) for part in rendered]
            texts = [block for part in parts for block in part]
            if role != "user":
                self.extra_system += texts
            elif not self.messages:
                self._add({"role": "user", "content": texts}, row)
            else:
                last = self.messages[-1]
                if isinstance(last["content"], str):
                    last["content"] = blocks_of(last["content"])
                last["content"] += texts  # in place: results may be added to the same list

    def _finish(self) -> None:
        if self._words_them:
            self.textless.clear()  # attachments without `rendered` were not shown to the model
        order = {call: number for number, call in enumerate(self._calls)}
        for step in self._steps.values():
            step.results.sort(key=lambda block: order.get(string(block, "tool_use_id"), len(order)))
        self.messages = [message for message in self.messages if message["content"] != []]
        made_of = [self._made_of.get(id(message), []) for message in self.messages]
        self.rows = [[row["uuid"] for row in rows] for rows in made_of]
        self._written = [rows[0].get("timestamp") if rows else None for rows in made_of]
        self.carried = self._count_carried()
        self._before = {id(message): count for count, message in enumerate(self.messages)}

    def _count_carried(self) -> int:
        """How many messages, from the first on, the last compaction kept or wrote."""
        rows, kept = self._branch.rows, self._branch.kept
        is_compacted = bool(rows) and is_compaction(rows[0])
        ends = [
            end
            for end, row in enumerate(rows, 1)
            if row["uuid"] in kept or begins_context(row) or (is_compacted and is_summary(row))
        ]
        end = max(ends, default=0)
        while 0 < end < len(rows) and rows[end]["type"] == "attachment":  # files it gives again
            end += 1
        old = {row["uuid"] for row in rows[:end]}
        places = [n for n, uuids in enumerate(self.rows, 1) if not old.isdisjoint(uuids)]
        count = max(places, default=0)
        answers = [id(step.answer) for step in self._steps.values()]
        results = self.messages[count : count + 1] if count else []
        return count + any(id(message) in answers for message in results)


def _cleared(rows: Sequence[Row]) -> set[str]:
    """The ids of calls and attachments whose content the host removed (microcompaction)."""
    ids: set[str] = set()
    for row in rows:
        about = as_object(row.get("microcompactMetadata"))
        for key in ("compactedToolIds", "clearedAttachmentUUIDs"):
            named = about.get(key)
            ids.update(map(str, named) if is_array(named) else ())
    return ids


def _printed(content: Any) -> list[Mapping[str, Any]]:
    """What a command of the host printed, in the tags in which the host puts most of it."""
    return [
        {**block, "text": f"<local-command-stdout>{block['text']}</local-command-stdout>"}
        if isinstance(block.get("text"), str) and not is_host_note(block["text"])
        else block
        for block in blocks_of(content)
    ]


def _worded(about: Mapping[str, Any]) -> list[Mapping[str, str]]:
    """The text of an attachment as a `<system-reminder>`, in our own wording."""
    content = about.get("content")
    match string(about, "type"):
        case "file":
            title = string(about, "filename")
            texts = [string(as_object(as_object(content).get("file")), "content")]
        case "nested_memory":
            title, texts = string(about, "path"), [string(as_object(content), "content")]
        case "hook_additional_context":
            title = f"{string(about, 'hookName')} hook"
            texts = [text for text in content if isinstance(text, str)] if is_array(content) else []
        case _:
            return []
    body = "\n".join(texts).strip()
    reminder = f"<system-reminder>\n{title}:\n{body}\n</system-reminder>"
    return [{"content": reminder}] if body else []


def _request(row: Row, messages: int) -> Request | None:
    """The request that a row answers; `None` if the host wrote the answer, or copied it."""
    message = as_object(row.get("message"))
    usage, model = as_object(message.get("usage")), string(message, "model")
    if model == SYNTHETIC or (usage and not prompt_tokens(row)):
        return None
    _, read, written = (n if isinstance(n := usage.get(part), int) else 0 for part in PROMPT_TOKENS)
    answer = usage.get("output_tokens")
    return Request(
        messages=messages,
        time=seconds(row.get("timestamp")),
        model=model,
        input_tokens=prompt_tokens(row) or None,
        cache_read_tokens=read,
        cache_write_tokens=written,
        output_tokens=answer if isinstance(answer, int) else 0,
    )

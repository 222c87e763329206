"""Messages from live rows: what the model was sent, with compactions and what the user said.

What the user said in a tool result of Claude Code, by what no tool can write into its row. Newer
versions (seen in 2.1.217 to 2.1.332) record that the user rejected a call (`toolDenialKind`), and
the comment (`userFeedback`), beside the message. Older ones only write a sentence into the result.
The results of MCP servers are their own text, also when they fail; those of the host's own tools,
if they fail, begin with words of the host (`Exit code 1`, `<tool_use_error>`, `ENOENT: …`). So its
sentence is believed in these alone.

The compactions that led to a context of Claude Code.

compact_boundary        compactMetadata {trigger, preTokens, postTokens}
microcompact_boundary   microcompactMetadata {trigger, preTokens, tokensSaved}: only the content of
                        old tool results is removed

The outline of a transcript: a short form of every row, enough to find the live branch. Rows may be
large and many, but few are live: the rows after the last compaction, and the rows it kept. The
branch is searched among these first, and among all rows only if it leads out of them.
"""

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from context_compression.conversation.authors import BY_USER, is_host_note, reason_in
from context_compression.conversation.messages import COMPRESSED, as_object, is_array, is_object
from context_compression.conversation.refs import REF
from context_compression.hosts.claude_code.about import NAME
from context_compression.hosts.claude_code.transcript.rows import (
    PROMPT_TOKENS,
    SYNTHETIC,
    Branch,
    Row,
    blocks,
    blocks_of,
    is_clearing,
    is_compaction,
    is_summary,
    kept_by,
    live_branch,
    message_id,
    prompt_tokens,
)
from context_compression.transcripts.limits import LargestUse
from context_compression.transcripts.lines import At, string
from context_compression.transcripts.sessions import seconds
from context_compression.transcripts.transcript import (
    OURS,
    AnsweredRequest,
    ClearedResult,
    Compaction,
    whole_text,
)

REJECTED = "user-rejected"
SENTENCE = "The user doesn't want to proceed with this tool use. The tool use was rejected"
"""How the result of a call that the user rejected begins, in all versions."""
OF_SERVERS = "mcp__"
"""How the names of the tools of MCP servers begin."""


def with_speaker(result: Mapping[str, Any], tool: str, row: Row) -> Mapping[str, Any]:
    """A result, marked with the reason if the user rejected its call.

    Args:
        result: the block.
        tool: the name of the called tool; empty if it is not known.
        row: the row with the result.
    """
    if result.get("is_error") is not True:
        return result
    text = result.get("content")
    kind = row.get("toolDenialKind")
    sentence = isinstance(text, str) and text.startswith(SENTENCE)
    own = bool(tool) and not tool.startswith(OF_SERVERS)
    if kind != REJECTED and not (kind is None and sentence and own):
        return result
    words = string(row, "userFeedback") or (reason_in(text) if isinstance(text, str) else "")
    return {**result, BY_USER: words} if words else result


class Compactions:
    """All compactions in a transcript; `of` selects those that led to a branch."""

    def __init__(self) -> None:
        self._known: dict[str, Compaction] = {}  # by the uuid of their row
        self._before: dict[str, list[Compaction]] = {}  # by the same: those that led to it
        self._newest = ""  # whose first answer has not come yet
        self._summarised = False  # whether a summary of the host follows it

    def add(self, row: Row, at: At, branch: Callable[[], Branch]) -> None:
        """Add a row that `begins_context`, before which `branch` was the live branch."""
        uuid = row["uuid"]
        if uuid not in self._known:
            self._before[uuid] = self.of(branch())
            self._known[uuid] = _compaction(row, at)
            self._newest, self._summarised = uuid, False

    def go_on(self, kind: str, row: Row) -> None:
        """Learn about the newest compaction from a new message that follows it."""
        if not self._newest:
            return
        known = self._known[self._newest]
        if kind == "user":
            is_ours = is_of_our_view(blocks_of(as_object(row.get("message")).get("content")))
            self._summarised |= is_summary(row) and not is_ours
            if is_ours and not self._summarised:
                self._known[self._newest] = replace(known, by=OURS)
        elif kind == "assistant" and (tokens := prompt_tokens(row)):
            if known.tokens_after is None:
                self._known[self._newest] = replace(known, tokens_after=tokens)
            self._newest = ""

    def of(self, branch: Branch) -> list[Compaction]:
        """The compactions that led to the end of a branch, the oldest first."""
        found: list[Compaction] = []
        for row in branch.rows:
            if row["uuid"] in self._known and row["uuid"] not in branch.kept:
                found = found or [*self._before[row["uuid"]]]
                found.append(self._known[row["uuid"]])
        return found


MARK = re.compile(rf"; ref {REF}\]")
"""The end of the mark in a text that this package shortened."""


def is_of_our_view(blocks: Sequence[Mapping[str, Any]]) -> bool:
    """Whether a user message after a compaction is our note, or has a result that we shortened."""
    if blocks and string(blocks[0], "text").startswith(COMPRESSED):
        return True
    results = (block for block in blocks if block.get("type") == "tool_result")
    return any(MARK.search(whole_text(result.get("content"))) for result in results)


def begins_context(row: Row) -> bool:
    """Whether a row changes what of the rows before it is in the context."""
    return is_compaction(row) or is_clearing(row)


def _compaction(row: Row, at: At) -> Compaction:
    about = as_object(row.get("compactMetadata") or row.get("microcompactMetadata"))
    before, after, saved = map(about.get, ("preTokens", "postTokens", "tokensSaved"))
    before = before if isinstance(before, int) else None
    if before is not None and isinstance(saved, int):
        after = before - saved
    return Compaction(
        time=seconds(row.get("timestamp")),
        trigger=string(about, "trigger"),
        by=NAME,
        tokens_before=before,
        tokens_after=after if isinstance(after, int) else None,
        cleared=is_clearing(row),
        place=at.offset,
    )


IDS, WITH_IDS = ("type", "id", "tool_use_id"), ("tool_use", "tool_result")
LINKS = ("parentUuid", "isSidechain", "subtype", "compactMetadata", "isCompactSummary")


class Outline:
    """The short rows of a conversation by uuid, and separately those of its subagents."""

    def __init__(self) -> None:
        self._main: dict[str, Row] = {}
        self._side: dict[str, Row] = {}
        self._recent: dict[str, Row] = {}  # from the last compaction on
        self._compactions = Compactions()
        self._largest = LargestUse(), LargestUse()  # the second one: of subagents
        self._branch: Branch | None = None  # the live one, until a row is added
        self._older: set[str] = set()  # ids of the messages before it
        self._is_rewritten = False  # whether one of those was written again after it

    def compactions(self, branch: Branch) -> list[Compaction]:
        """The compactions that led to a branch, the oldest first."""
        return self._compactions.of(branch)

    def largest(self, model: str | None) -> int:
        """Tokens of the largest request that a model answered in the conversation."""
        return self._largest[not self._main].of(model)

    @property
    def model(self) -> str | None:
        """The model that answered last, before a compaction too."""
        return self._largest[not self._main].newest

    @property
    def subagents(self) -> int:
        """The number of subagents' rows; 0 if the file holds no other rows."""
        return len(self._side) if self._main else 0

    def add(self, kind: str, row: Row, at: At) -> None:
        """Add a row. A row that is written twice keeps its first place and its last content."""
        short = {**_short(kind, row), "at": at}
        uuid = row["uuid"]
        if kind == "system" and begins_context(short):
            self._compactions.add({**row, **short}, at, self.branch)
        self._branch = None
        if tokens := prompt_tokens(row):
            model = string(as_object(row.get("message")), "model")
            self._largest[bool(row.get("isSidechain"))].add(tokens, model)
        if row.get("isSidechain"):
            self._side[uuid] = short
            return
        if uuid not in self._main and is_compaction(short):
            self._older.update(message_id(r) for r in self._recent.values() if "message" in r)
            self._recent, self._is_rewritten = {}, False
        if uuid not in self._main or uuid in self._recent:
            self._recent[uuid] = short
            is_rewritten = message_id(short) in self._older
            self._is_rewritten |= is_rewritten
            if not is_rewritten:
                self._compactions.go_on(kind, row)
        self._main[uuid] = short

    def branch(self) -> Branch:
        """The live branch, made of short rows."""
        self._branch = self._branch or self._live()
        return self._branch

    def _live(self) -> Branch:
        rows = self._main or self._side
        boundary = next(iter(self._recent.values()), None)
        if boundary is not None and is_compaction(boundary) and not self._is_rewritten:
            kept = kept_by(boundary, rows)
            near = live_branch({**{uuid: rows[uuid] for uuid in kept}, **self._recent})
            if near.rows and near.rows[0] is boundary and not near.gaps:
                return near
        return live_branch(rows)


def _short(kind: str, row: Row) -> dict[str, Any]:
    short: dict[str, Any] = {key: row[key] for key in LINKS if row.get(key)}
    short |= {"type": kind, "uuid": row["uuid"]}
    if kind in ("user", "assistant"):
        message: Mapping[str, Any] = as_object(row.get("message"))
        content = message.get("content")
        ids = [
            {key: block[key] for key in IDS if key in block}
            for block in (content if is_array(content) else ())
            if is_object(block) and block.get("type") in WITH_IDS
        ]
        short["message"] = {"id": string(message, "id"), "content": ids}
    return short


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
    def requests(self) -> list[AnsweredRequest]:
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


def _request(row: Row, messages: int) -> AnsweredRequest | None:
    """The request that a row answers; `None` if the host wrote the answer, or copied it."""
    message = as_object(row.get("message"))
    usage, model = as_object(message.get("usage")), string(message, "model")
    if model == SYNTHETIC or (usage and not prompt_tokens(row)):
        return None
    _, read, written = (n if isinstance(n := usage.get(part), int) else 0 for part in PROMPT_TOKENS)
    answer = usage.get("output_tokens")
    return AnsweredRequest(
        messages=messages,
        time=seconds(row.get("timestamp")),
        model=model,
        input_tokens=prompt_tokens(row) or None,
        cache_read_tokens=read,
        cache_write_tokens=written,
        output_tokens=answer if isinstance(answer, int) else 0,
    )

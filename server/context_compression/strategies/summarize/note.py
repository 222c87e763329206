"""The message with the summary: fenced, with the last request, the file lists and the ledger."""

import re
from collections.abc import Iterable, Sequence

from context_compression.conversation.authors import user_words
from context_compression.conversation.messages import COMPRESSED, Message, Text
from context_compression.conversation.system_prompt import MARK
from context_compression.display.fences import sealed
from context_compression.display.plurals import how_many
from context_compression.evidence.ledger import Entry, Kind, file_tags, render
from context_compression.evidence.redaction import redact
from context_compression.planning.plan import Plan
from context_compression.planning.selection import clip_redacted
from context_compression.strategies import measured

OPENING = f"{MARK} of the conversation so far, written by a program, not by the user."
SUMMARY = re.compile(rf"{re.escape(OPENING)}\n\n<summary>\n(.*?)\n</summary>", re.S)
FILES = re.compile(
    r"<(read|modified)-files>\n((?:[^<]|<(?!(?:read|modified)-files>))*?)\n</\1-files>", re.S
)
FILE_KINDS = {"read", "created", "modified", "deleted", "renamed"}


def previous_summary(message: Message) -> str | None:
    """The summary in a message of this package, without the parts that code added.

    `None` if the message holds no summary.
    """
    texts = (block.text for block in message.blocks if isinstance(block, Text))
    summary = next(filter(None, map(SUMMARY.match, texts)), None)
    return summary[1] if summary else None


def files_listed(messages: Iterable[Message]) -> list[Entry]:
    """The files that earlier summaries list, which without a store are all that a ledger leaves."""
    listed: list[Entry] = []
    for message in messages:
        if previous_summary(message):
            for tag, paths in FILES.findall(message.text):
                kind: Kind = "read" if tag == "read" else "modified"
                listed += (Entry(kind, path) for path in paths.split("\n"))
    return listed


def summary_message(
    plan: Plan,
    text: str,
    last_request: str,
    ledger: Sequence[Entry],
    ref: str,
    room: int,
    mark: str,
) -> Message:
    """The message with the summary: fenced, with last request, file lists and ledger.

    Args:
        plan: the plan of the conversation.
        text: the summary.
        last_request: the user's last request that is summarised; `""` if there is none.
        ledger: the full ledger.
        ref: the ref that restores the full ledger.
        room: the most tokens of the ledger; the file lists take at most half as many in addition.
        mark: names the messages that are summarised.
    """
    count = plan.counter.text
    parts = [OPENING, f"<summary>\n{sealed(text, 'summary')}\n</summary>"]
    if last_request:
        quote = sealed(last_request, "quote")
        parts.append(f"The last request summarised, verbatim:\n<quote>\n{quote}\n</quote>")
    if tags := _newest_files(plan, ledger, room // 2, ref):
        parts.append(tags)
    if shown := redact(render(ledger, room, ref, measure=count)):
        parts.append(f"<ledger>\n{sealed(shown, 'ledger')}\n</ledger>")
    parts.append(mark)
    # Anthropic has no system message inside a conversation; a summary for the system prompt is
    # moved there later
    role = "user" if plan.rules.user_first else plan.settings.summary_role
    return Message(role, (Text("\n\n".join(parts)),))


def _newest_files(plan: Plan, ledger: Sequence[Entry], max_tokens: int, ref: str) -> str:
    """The file lists in at most `max_tokens`; files that were named first are left out first."""
    count = plan.counter.text
    named = [entry for entry in ledger if entry.kind in FILE_KINDS]
    taken: list[Entry] = []
    for entry in reversed(named):
        max_tokens -= count(entry.text) + 1
        if max_tokens < 0:
            break
        taken.insert(0, entry)
    if not taken:
        return ""
    left_out = len(named) - len(taken)
    more = f"\n[{how_many(left_out, 'more file')}: ref {ref}]" if left_out else ""
    return redact(file_tags(taken)) + more


def last_request_in(messages: Iterable[Message]) -> str:
    """The user's last request in some messages, which are given with the newest first.

    `""` if there is none. A long request is redacted and clipped.
    """
    most = measured.LAST_REQUEST_CHARS
    for message in messages:
        if words := user_words(message).strip():
            if words.startswith(COMPRESSED):
                return ""
            return words if len(words) <= most else clip_redacted(redact(words), most)
    return ""

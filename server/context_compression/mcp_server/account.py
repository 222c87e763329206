"""A compression carried out, and what is worth saying of it."""

from collections.abc import Sequence
from typing import Any

from mcp.types import CallToolResult

from context_compression.mcp_server.answers import answer
from context_compression.mcp_server.arguments import Messages
from context_compression.mcp_server.call import Call
from context_compression.mcp_server.opening import beside_messages
from context_compression.plan import canonical
from context_compression.result import Ref, Result
from context_compression.workspace import Opened

REFS = 10  # named in an answer


def headline(result: Result) -> str:
    """`45 → 25 messages, 120,000 → 60,000 tokens, 60,000 freed, 3 files removed`."""
    return (
        f"{result.messages_in:,} → {result.messages_out:,} messages, "
        f"{result.tokens_before:,} → {result.tokens_after:,} tokens, "
        f"{result.tokens_freed:,} freed, {result.files_removed:,} files removed"
    )


async def compressed(
    call: Call,
    opened: Opened,
    messages: Messages | None,
    *,
    dry_run: bool = False,
    target_tokens: int | None = None,
    strategy: str = "auto",
    pins: Sequence[int | str] = (),
    focus: str | None = None,
) -> CallToolResult:
    """Compress a conversation and give an account of it, never the text that was removed.

    `messages` is the conversation where the caller holds it: the new view is then part of the
    answer. A dry run changes nothing. The other arguments are those of `compress`.
    """
    session, transcript = opened.session, opened.transcript
    elsewhere = messages if transcript is None else transcript.messages
    options: dict[str, Any] = {
        "target_tokens": target_tokens, "strategy": strategy, "pins": pins, "focus": focus,
        "force": target_tokens is None,
    }  # fmt: skip

    def work() -> CallToolResult:
        if dry_run:
            result = session.preview(session.view(elsewhere), **options)
        else:
            result = session.compress(
                messages=elsewhere, before_writing=call.before_writing, **options
            )
        aimed = target_tokens is not None or strategy != "offload"
        return _answer(result, opened, dry_run=dry_run, held=messages is not None, aimed=aimed)

    return await call.working("counting and compressing", work)


def _answer(
    result: Result, opened: Opened, *, dry_run: bool, held: bool, aimed: bool
) -> CallToolResult:
    said = {
        "changed": result.changed and not dry_run,
        "messages_before": result.messages_in,
        "messages_after": result.messages_out,
        "tokens_before": result.tokens_before,
        "tokens_after": result.tokens_after,
        "tokens_freed": result.tokens_freed,
        "files_removed": result.files_removed,
    }
    warnings = [*result.repairs, *(opened.transcript.warnings if opened.transcript else ())]
    more: dict[str, Any] = {}
    first = headline(result)
    if not result.changed:
        first = (
            f"history unchanged: {'; '.join(result.notes)}. The view has {result.messages_in:,} "
            f"messages, {result.tokens_before:,} tokens"
        )
        said = {
            "changed": False,
            "messages_after": result.messages_in,
            "tokens_after": result.tokens_before,
        }
    else:
        warnings += result.notes if aimed or result.target_met else ()
        if dry_run:
            first = f"dry run, nothing was changed: {first}"
        else:
            more |= {"note": _what_now(opened, held), "session": opened.session.id}
    if aimed and result.target_tokens is not None:
        more |= {"target_tokens": result.target_tokens, "target_met": result.target_met}
    if aimed and not result.target_met:
        more |= {"floor_tokens": result.floor_tokens or None, "floor": dict(result.floor)}
    if result.changed:
        more |= _how(result)
    if beside := beside_messages(opened):
        more["not_counted"] = f"the host's system prompt, tools and the like: {beside:,} tokens"
    more |= {"counted_by": result.method, "warnings": warnings}
    hidden = {"messages": result.messages} if held else {}
    return answer(first, said, more, **hidden)


def _what_now(opened: Opened, held: bool) -> str:
    """Whose history changed, and what the agent can do with the view."""
    session = opened.session
    place = f"session {session.id} of {session.store.folder}"
    if held:
        return "The new view is in the structured content, under messages."
    if opened.transcript is None:
        return "This is now the session's view; undo takes it back."
    if opened.transcript.host == "messages":
        return f"The file is unchanged. The compressed view is kept in {place}."
    return (
        "The host's own history is unchanged: no tool can change it. The compressed view is kept "
        f"in {place}. Ways to use it: a fresh chat in which context_summary and context_restore "
        "bring back what is needed; or the host's own /compact or /clear, after which every ref "
        "here can still be restored."
    )


def _how(result: Result) -> dict[str, Any]:
    """How it came about, what became of the evidence, what can be restored."""
    texts = {about.indices[0] for about in result.refs.values() if about.block is not None}

    def rank(ref: str) -> tuple[bool, int]:  # a message after its texts, which say it more plainly
        about = result.refs[ref]
        said_by_texts = about.block is None and about.indices[0] in texts
        return said_by_texts, -_size(result.originals[ref])

    largest = sorted(result.refs, key=rank)
    refs = {ref: _described(result, ref, result.refs[ref]) for ref in largest[:REFS]}
    if rest := len(largest) - len(refs):
        refs[f"+{rest:,} more"] = "context_status detailed"
    return {
        "strategy": result.strategy,
        "tokens_after_each_step": {step.strategy: step.tokens_after for step in result.steps},
        "first_changed_message": result.first_changed,
        "evidence": {
            name: {"in view": loss.retained, "restorable": loss.recoverable, "lost": loss.lost}
            for name, loss in result.loss.items()
            if loss.total
        },
        "refs_total": len(result.refs),
        "refs": refs,
    }


def _described(result: Result, ref: str, about: Ref) -> str:
    place = "" if about.block is None else f" of message {about.indices[0]:,}"
    return f"{about.what}{place}, {_size(result.originals[ref]):,} characters"


def _size(original: Any) -> int:
    return len(original if isinstance(original, str) else canonical(original))

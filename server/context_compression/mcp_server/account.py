"""A compression carried out, and what is worth saying of it."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from mcp.types import CallToolResult

from context_compression.compression.forecast import Forecast, cache_sentence, forecast_summary
from context_compression.compression.request import SMALLEST_TARGET
from context_compression.compression.result import Ref, Result
from context_compression.compression.target import ALL_RECENT
from context_compression.conversation.refs import canonical, ref_of
from context_compression.conversation.system_prompt import summary_in
from context_compression.display.plurals import how_many
from context_compression.display.strings import one_line
from context_compression.mcp_server.answers import answer
from context_compression.mcp_server.arguments import Messages
from context_compression.mcp_server.call import Call
from context_compression.session import Session
from context_compression.summaries.summarizer import Summarizer
from context_compression.tokens import Counter
from context_compression.workspace import Opened

REFS = 10  # named in an answer


def headline(result: Result) -> str:
    """`45 → 25 messages, 120,000 → 60,000 tokens, 60,000 freed, 3 files removed`."""
    return (
        f"{result.messages_in:,} → {how_many(result.messages_out, 'message')}, "
        f"{result.tokens_before:,} → {how_many(result.tokens_after, 'token')}, "
        f"{result.tokens_freed:,} freed, {how_many(result.files_removed, 'file')} removed"
    )


@dataclass(frozen=True)
class Writer:
    """Who writes a summary where one is due; nobody by default.

    Attributes:
        model: asks a model.
        caller: whether the agent that calls us does.
        warning: why a model that somebody named is not asked.
    """

    model: Summarizer | None = None
    caller: bool = False
    warning: str | None = None


NOBODY = Writer()


async def compressed(
    call: Call,
    opened: Opened,
    messages: Messages | None,
    *,
    writer: Writer = NOBODY,
    dry_run: bool = False,
    **options: Any,
) -> CallToolResult:
    """Compress a conversation and give an account of it, never the text that was removed.

    Args:
        call: the call.
        opened: the conversation.
        messages: the same where the caller holds it: the new view is then part of the answer.
        writer: writes a summary where one is due.
        dry_run: change nothing, and ask no model.
        options: those of `Session.compress`.
    """
    session = opened.session
    elsewhere = messages if opened.transcript is None else opened.transcript.messages
    held = messages is not None
    if dry_run:

        def rehearse() -> CallToolResult:
            view = session.view() if elsewhere is None else elsewhere
            result, foreseen = rehearsed(session, view, writer, options)
            return account(result, opened, options, writer, held=held, dry_run=True, of=foreseen)

        return await call.working("counting", rehearse)
    if writer.model:
        session.summarizer = writer.model
        await call.saying("Compacting …")
        result = await session.acompress(messages=elsewhere, **options)
        return account(result, opened, options, writer, held=held)

    def work() -> CallToolResult:
        result = session.compress(messages=elsewhere, before_writing=call.before_writing, **options)
        return account(result, opened, options, writer, held=held)

    return await call.working("counting and compressing", work)


def rehearsed(
    session: Session, view: Messages, writer: Writer, options: Mapping[str, Any]
) -> tuple[Result, Forecast | None]:
    """What a compression would do, and what a summary in it would take; asks nobody."""
    if not (writer.model or writer.caller):
        return session.preview(view, **options), None
    return forecast_summary(
        session.preview,
        view,
        options,
        counter=Counter(session.model, session.counter),
        most=session.settings.summary_tokens,
        by_caller=writer.caller,
    )


def account(
    result: Result,
    opened: Opened,
    options: Mapping[str, Any],
    writer: Writer = NOBODY,
    *,
    held: bool,
    dry_run: bool = False,
    of: Forecast | None = None,
    view: Messages | None = None,
) -> CallToolResult:
    """What is said of a compression.

    Args:
        result: of it.
        opened: the conversation.
        options: what was asked for.
        writer: who was there to write a summary.
        held: whether the caller holds the conversation, and gets the view.
        dry_run: whether it was a rehearsal.
        of: what a summary would take, in a rehearsal.
        view: for the caller, in place of the result's.
    """
    all_large = options.get("strategy") == "offload" and result.target_tokens == SMALLEST_TARGET
    aimed = not all_large  # else nobody named a target that it could fall short of
    said = {
        "changed": result.changed and not dry_run,
        "messages_before": result.messages_in,
        "messages_after": result.messages_out,
        "tokens_before": result.tokens_before,
        "tokens_after": result.tokens_after,
        "tokens_freed": result.tokens_freed,
        "files_removed": result.files_removed,
    }
    warnings = [
        *result.repairs,
        *filter(None, [writer.warning]),
        *(opened.transcript.warnings if opened.transcript else ()),
    ]
    more: dict[str, Any] = {}
    first = headline(result)
    if not result.changed:
        why = "; ".join(map(one_line, _reasons(opened, result, aimed=aimed)))
        first = (
            f"history unchanged: {why}. The view has "
            f"{how_many(result.messages_in, 'message')}, {how_many(result.tokens_before, 'token')}"
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
            more |= {"note": _what_now(opened, result, held), "session": opened.session.id}
    if aimed and result.target_tokens is not None:
        more |= {"target_tokens": result.target_tokens, "target_met": result.target_met}
        if fixed := result.fixed_tokens:
            more["of_it_fixed"] = (
                f"system prompt and tool schemas, which stay: {how_many(fixed, 'token')}"
            )
    if aimed and not result.target_met:
        more |= {"floor_tokens": result.floor_tokens or None, "floor": dict(result.floor)}
    if result.changed:
        more |= _how(result, opened, dry_run=dry_run)
        if gone := result.constraints_gone:
            warnings.append(
                f"{gone}; context_restore brings them back, and a larger target keeps them"
            )
    if of is not None:
        more |= {"summary_would_take": _foreseen(of), "prompt_cache": cache_sentence(of)}
    elif result.summary and not dry_run:
        more["summary"] = _written(result)
    if beside := opened.not_counted:
        told = f"the host's system prompt, tools and the like: {how_many(beside, 'token')}"
        with_them = result.tokens_after + beside
        budget = opened.session.settings.token_budget
        fits = "" if with_them <= budget else f"; with them the view is larger than {budget:,}"
        more["not_counted"] = f"{told}, {with_them:,} with the view{fits}"
    more |= {"counted_by": result.method, "warnings": warnings}
    hidden: dict[str, Any] = {}
    if held:
        hidden["messages"] = result.messages if view is None else view
        if summary_in(result.system):
            hidden["system"] = result.system
    return answer(first, said, more, **hidden)


def _reasons(opened: Opened, result: Result, *, aimed: bool) -> Iterator[str]:
    """Why nothing went, and what would let something go."""
    if not aimed:
        least = how_many(opened.session.settings.offload_min_tokens, "token")
        yield result.notes[0]
        yield f"results below {least}, those of the newest step and restored ones stay"
    else:
        yield from result.notes
        if ALL_RECENT in result.notes:
            yield "with target_tokens more can go"


def _what_now(opened: Opened, result: Result, held: bool) -> str:
    """Whose history changed, and what the agent can do with the view."""
    session = opened.session
    place = f"session {session.id} of {session.store.folder}"
    if held:
        return "The new view is in the structured content, under messages (and system, if there)."
    if opened.transcript is None:
        return "This is now the session's view; undo takes it back."
    if opened.transcript.host == "messages":
        return (
            f"The file is unchanged. The compressed view is kept in {place}. The command "
            f"`context-compression export {session.id} --host HOST` writes it as a session for "
            "Claude Code, Codex or Pi; `compress FILE --output VIEW`, with the same options, as "
            "messages."
        )
    fresh = (
        "a fresh chat in which context_summary and context_restore bring back what is needed"
        if result.summary
        else f"the command `context-compression export {session.id} --host HOST`, which writes it "
        "as a session for Claude Code, Codex or Pi to resume, where context_restore brings back "
        "the rest"
    )
    return (
        "The host's own history is unchanged: a tool alone cannot change it. The compressed view "
        f"is kept in {place}. Ways to use it: {fresh}; or the host's own /compact or /clear, after "
        "which every ref here can still be restored."
    )


def _how(result: Result, opened: Opened, *, dry_run: bool) -> dict[str, Any]:
    """How it came about, what became of the evidence, what can be restored, or could be."""
    texts = {about.indices[0] for about in result.refs.values() if about.block is not None}

    def rank(ref: str) -> tuple[bool, int]:  # a message after its texts, which say it more plainly
        about = result.refs[ref]
        said_by_texts = about.block is None and not texts.isdisjoint(about.indices)
        return said_by_texts, -_size(result.originals[ref])

    largest = sorted(result.refs, key=rank)
    refs = {ref: _described(result, ref, result.refs[ref]) for ref in largest[:REFS]}
    rest = len(largest) - len(refs)
    named = f'conversation="{opened.session.id}", response_format="detailed"'
    others = f"{rest:,}" if dry_run else f"{rest:,}; context_status({named}) lists the newest"
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
        "other_refs": others if rest else None,
    }


def _foreseen(found: Forecast) -> dict[str, Any]:
    left_out = ("cached", "written_anew", "pays_after")  # said of the prompt cache
    return {name: n for name, n in asdict(found).items() if name not in left_out}


def _written(result: Result) -> dict[str, Any]:
    """Of a summary: where it is, what it took, what was struck from it."""
    summary = result.summary
    if summary is None:
        return {}
    by = sorted({reply.model for reply in summary.replies if reply.model})
    told = {
        "ref": ref_of(summary.text),
        "shown_by": "context_summary",
        "written_by": ", ".join(by),
        **summary.usage,
        "struck_as_unverified": len(summary.unverified),
    }
    return {name: value for name, value in told.items() if value}


def _described(result: Result, ref: str, about: Ref) -> str:
    place = "" if about.block is None else f" of message {about.indices[0]:,}"
    return f"{one_line(about.what)}{place}, {how_many(_size(result.originals[ref]), 'character')}"


def _size(original: Any) -> int:
    return len(original if isinstance(original, str) else canonical(original))

"""The report of a compression: the answer to an agent. It never contains the removed texts."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from mcp.types import CallToolResult

from context_compression.compression.forecast import Forecast, cache_sentence
from context_compression.compression.prepared import SMALLEST_TARGET
from context_compression.compression.result import Ref, Result
from context_compression.conversation.refs import canonical, ref_of
from context_compression.conversation.system_prompt import summary_in
from context_compression.hosts.compaction_words import next_request
from context_compression.mcp_server.calls import Messages, answer
from context_compression.plurals import how_many
from context_compression.session.following import new_events
from context_compression.strings import one_line
from context_compression.workspace import Opened


def of_host(opened: Opened) -> bool:
    """Whether a host keeps the conversation, in a history that only the host can change."""
    return opened.transcript is not None and opened.transcript.host != "messages"


def history_kept(opened: Opened) -> str:
    """A sentence for every answer about a transcript: no tool changes it. "" without one."""
    if opened.transcript is None:
        return ""
    if of_host(opened):
        return "The host's own history is unchanged, because a tool cannot change it."
    return "The file is unchanged."


def replaced_compressions(opened: Opened, history: Sequence[Mapping[str, Any]] | None) -> int:
    """How many earlier compressions a new one replaces, because it begins with the full history.

    A caller that passes the compacted context continues with it, and none is replaced.
    """
    state = opened.session.state()
    if history is None or not state.compressions:
        return 0
    return sum(event["type"] == "undo" for event in new_events(state, history, from_start=True))


def next_steps(opened: Opened, result: Result, *, messages_passed: bool, replaced: int) -> str:
    """Whether the history itself changed, and how the agent or the user continues.

    Args:
        opened: the conversation.
        result: the result of its compression, which changed it.
        messages_passed: whether the caller passed the messages.
        replaced: how many earlier compressions it replaces.
    """
    session = opened.session
    earlier = f" It replaces that of {how_many(replaced, 'earlier compression')}." * bool(replaced)
    if messages_passed:
        return (
            "The compacted context is in the structured content, under messages (and system, where "
            f"present).{earlier}"
        )
    if opened.transcript is None:
        return "The session continues with the compacted context; undo takes the compression back."
    kept = (
        f"{history_kept(opened)} The compacted context is kept in session {session.id} of "
        f"{session.store.name}.{earlier}"
    )
    export = f"`context-compression export {session.id} --host HOST`"
    if not of_host(opened):
        return (
            f"{kept} The command {export} writes it as a session for Claude Code, Codex or Pi; "
            "`context-compression compress FILE --output NEW_FILE`, with the same options, writes "
            "it as messages."
        )
    way = (
        "start a new chat, in which context_summary and context_restore bring back what is needed"
        if result.summary
        else f"run the command {export}, which writes it as a session for Claude Code, Codex or Pi "
        "to resume, in which context_restore brings back the rest"
    )
    return (
        f"{kept} To use it, {way}; or use the host's own /compact or /clear, after which every ref "
        "here can still be restored."
    )


def unchanged_note(opened: Opened, *, messages_passed: bool) -> str:
    """What is true where nothing was compressed, or only in a dry run."""
    if messages_passed:
        return "The messages stay as you passed them, so they are not repeated here."
    kept = opened.session.id if opened.transcript and opened.session.state().compressions else ""
    stays = f" The compacted context that an earlier call kept in session {kept} stays." * bool(
        kept
    )
    return f"{history_kept(opened)}{stays}"


REFS = 10  # named in a report
REPORT_FACTS: Mapping[str, type] = {
    "changed": bool,
    "session": str,
    "messages_before": int,
    "messages_after": int,
    "tokens_before": int,
    "tokens_after": int,
    "tokens_freed": int,
    "refs_of_this_call": int,
    "refs": dict,
    "note": str,
}
"""What programs find in a report."""
LONGEST_LINE = 240  # characters of an explanation
SHOWN_IN_PROMPT_CACHE = ("cached", "written_anew", "pays_after")  # parts of a forecast


@dataclass(frozen=True)
class ReportedCompression:
    """A compression to report.

    Attributes:
        result: its result.
        opened: the conversation.
        options: the options of `Session.compress`.
        messages_passed: whether the caller passed the messages; then the compacted context is in
            the structured content.
        dry_run: whether it was a dry run.
        explain: whether the most telling messages are explained.
        forecast: the expected calls and tokens of a summary, in a dry run.
        warning: why a model that was named did not write the summary.
        messages: for the caller, instead of the result's messages.
        replaced: how many earlier compressions it replaces.
    """

    result: Result
    opened: Opened
    options: Mapping[str, Any]
    messages_passed: bool
    dry_run: bool = False
    explain: bool = False
    forecast: Forecast | None = None
    warning: str | None = None
    messages: Messages | None = None
    replaced: int = 0

    @property
    def has_target(self) -> bool:
        """Whether there is a target; a call that offloads all large tool results has none."""
        offloads = self.options.get("strategy") == "offload"
        return not (offloads and self.result.target_tokens == SMALLEST_TARGET)


def report(compression: ReportedCompression) -> CallToolResult:
    """The answer to a call that compressed a conversation, or tried to."""
    result, beside = compression.result, compression.opened.tokens_beside
    if result.changed:
        headline, headline_facts = _changed_headline(compression)
    else:
        headline, headline_facts = _unchanged_headline(compression)
    facts = {
        **_next_steps(compression),
        **_target(compression),
        **(_details(compression) if result.changed else {}),
        **_summary(compression),
        **_explanations(compression),
        "host_tokens": beside or None,
        "next_request": next_request(result.tokens_after, beside, compression.opened.host),
        "counted_by": result.method,
        "warnings": _warnings(compression),
    }
    return answer(headline, headline_facts, facts, **_for_programs(compression))


def headline(result: Result, *, freed: bool = True) -> str:
    """`45 → 25 messages, 120,000 → 60,000 tokens, 60,000 freed, 3 files removed`."""
    return (
        f"{result.messages_in:,} → {how_many(result.messages_out, 'message')}, "
        f"{result.tokens_before:,} → {how_many(result.tokens_after, 'token')}, "
        f"{f'{result.tokens_freed:,} freed, ' * freed}"
        f"{how_many(len(result.files_removed), 'file')} removed"
    )


def _changed_headline(compression: ReportedCompression) -> tuple[str, dict[str, Any]]:
    """The first line of the report and its facts."""
    result, dry_run = compression.result, compression.dry_run
    facts = {
        "changed": not dry_run,
        "messages_before": result.messages_in,
        "messages_after": result.messages_out,
        "tokens_before": result.tokens_before,
        "tokens_after": result.tokens_after,
        "tokens_freed": result.tokens_freed,
        "files_removed": list(result.files_removed),
    }
    dry = "dry run, nothing was changed: " * dry_run
    if not of_host(compression.opened):
        return f"{dry}{headline(result)}", facts
    copy = f"a compacted copy: {headline(result, freed=False)}"
    facts["tokens_freed"] = 0  # the host still sends its whole history
    return f"{dry}{copy}; 0 tokens are freed in the host, whose history is unchanged", facts


def _unchanged_headline(compression: ReportedCompression) -> tuple[str, dict[str, Any]]:
    """The first line and its facts, if nothing was changed."""
    result = compression.result
    reasons = "; ".join(map(one_line, _reasons(compression)))
    facts = {
        "changed": False,
        "messages_after": result.messages_in,
        "tokens_after": result.tokens_before,
    }
    return (
        f"history unchanged: {reasons}. The conversation has "
        f"{how_many(result.messages_in, 'message')}, {how_many(result.tokens_before, 'token')}",
        facts,
    )


def _reasons(compression: ReportedCompression) -> Iterator[str]:
    """Why nothing was removed, and which call would remove something."""
    notes = compression.result.notes
    if compression.has_target:
        yield from notes
    else:
        least = how_many(compression.opened.session.settings.offload_min_tokens, "token")
        yield notes[0]
        yield (
            f"tool results below {least}, those of the newest step and restored ones are not "
            "offloaded"
        )


def _next_steps(compression: ReportedCompression) -> dict[str, Any]:
    result, opened = compression.result, compression.opened
    passed = compression.messages_passed
    replaced = 0 if result.repeated else compression.replaced
    if not result.changed or compression.dry_run:
        return {"note": unchanged_note(opened, messages_passed=passed and not result.changed)}
    note = next_steps(opened, result, messages_passed=passed, replaced=replaced)
    return {"note": note, "session": opened.session.id}


def _target(compression: ReportedCompression) -> dict[str, Any]:
    """The target, whether it was met, and the minimum size if it was not."""
    result = compression.result
    if not compression.has_target:
        return {}
    facts: dict[str, Any] = {}
    if result.target_tokens is not None:
        facts |= {"target_tokens": result.target_tokens, "target_met": result.target_met}
        facts |= {"fixed_tokens": result.fixed_tokens or None}
    if not result.target_met:
        facts |= {"floor_tokens": result.floor_tokens or None, "floor": dict(result.floor)}
    return facts


def _details(compression: ReportedCompression) -> dict[str, Any]:
    """The strategies that ran, where the evidence is now, and the largest refs."""
    result, session = compression.result, compression.opened.session
    largest = _largest_first(result)
    refs = {ref: _described(result, ref, result.refs[ref]) for ref in largest[:REFS]}
    rest = len(largest) - len(refs)
    status_call = f'context_status(conversation="{session.id}", response_format="detailed")'
    others = f"{rest:,}" if compression.dry_run else f"{rest:,}; {status_call} lists the newest"
    return {
        "strategy": result.strategy,
        "tokens_after_each_step": {step.strategy: step.tokens_after for step in result.steps},
        "first_changed_message": result.first_changed,
        "evidence": {
            name: {"in view": loss.retained, "restorable": loss.recoverable, "lost": loss.lost}
            for name, loss in (
                *result.loss.items(),
                ("user sentences", result.user_sentences),
            )
            if loss.total
        },
        "user_sentences_unjudged": result.user_sentences.unjudged or None,
        "refs_of_this_call": len(result.refs),
        "refs": refs,
        "other_refs": others if rest else None,
    }


def _largest_first(result: Result) -> list[str]:
    """The refs by size; messages whose texts have refs of their own come last."""
    texts = {about.indices[0] for about in result.refs.values() if about.block is not None}

    def rank(ref: str) -> tuple[bool, int]:
        about = result.refs[ref]
        has_text_refs = about.block is None and not texts.isdisjoint(about.indices)
        return has_text_refs, -_size(result.originals[ref])

    return sorted(result.refs, key=rank)


def _described(result: Result, ref: str, about: Ref) -> str:
    place = "" if about.block is None else f" of message {about.indices[0]:,}"
    return f"{one_line(about.what)}{place}, {how_many(_size(result.originals[ref]), 'character')}"


def _size(original: Any) -> int:
    return len(original if isinstance(original, str) else canonical(original))


def _summary(compression: ReportedCompression) -> dict[str, Any]:
    """The summary that was written, or a forecast of one."""
    if forecast := compression.forecast:
        summary = {n: v for n, v in asdict(forecast).items() if n not in SHOWN_IN_PROMPT_CACHE}
        return {"summary_would_take": summary, "prompt_cache": cache_sentence(forecast)}
    if compression.result.summary is None or compression.dry_run:
        return {}
    return {"summary": _written_summary(compression.result)}


def _written_summary(result: Result) -> dict[str, Any]:
    """Where the summary is, its tokens and cost, and how many claims were removed from it."""
    summary = result.summary
    if summary is None:
        return {}
    models = sorted({reply.model for reply in summary.replies if reply.model})
    facts = {
        "ref": ref_of(summary.text),
        "shown_by": "context_summary",
        "written_by": ", ".join(models),
        **summary.usage,
        "struck_as_unverified": len(summary.unverified),
    }
    return {name: value for name, value in facts.items() if value}


def _explanations(compression: ReportedCompression) -> dict[str, Any]:
    """Why the most telling messages stayed or went, a line each, if that was asked for."""
    if not compression.explain:
        return {}
    lines = [one_line(each.line, LONGEST_LINE) for each in compression.result.most_telling()]
    return {"explanations": lines}


def _warnings(compression: ReportedCompression) -> list[str]:
    result, transcript = compression.result, compression.opened.transcript
    warnings = [
        *result.repairs,
        *filter(None, [compression.warning]),
        *(transcript.warnings if transcript else ()),
    ]
    budget = compression.opened.session.settings.token_budget
    request = result.tokens_after + compression.opened.tokens_beside
    if request > budget:
        warnings.append(f"{request:,} tokens are more than the budget of {budget:,}")
    if result.changed and (compression.has_target or result.target_met):
        warnings += result.notes
    if result.changed and (gone := result.constraints_gone):
        warnings.append(f"{gone}; context_restore brings each back, a larger target keeps more")
    if result.changed and (unjudged := result.unjudged):
        warnings.append(f"{unjudged}; context_restore brings them back")
    return warnings


def _for_programs(compression: ReportedCompression) -> dict[str, Any]:
    """The compacted context, for a caller that passed the messages and has another now."""
    if not compression.messages_passed or not compression.result.changed:
        return {}
    result, messages = compression.result, compression.messages
    values: dict[str, Any] = {"messages": result.messages if messages is None else messages}
    if summary_in(result.system):
        values["system"] = result.system
    return values

"""The output for programs (`--json`), as JSON values. `text_output` has the same for people.

What the MCP tools tell too has the same name here as in their structured content.
"""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from context_compression.compression.forecast import Forecast
from context_compression.compression.result import Result
from context_compression.conversation.system_prompt import summary_in
from context_compression.hosts.compaction_words import due_words
from context_compression.session import Session, Status
from context_compression.store import Store
from context_compression.tokens import Counter
from context_compression.transcripts.transcript import Compaction
from context_compression.workspace import Opened

Record = dict[str, Any]


def report(result: Result, forecast: Forecast | None = None, *, opened: Opened) -> Record:
    """The report of a compression: its result without messages and originals.

    Args:
        result: of the compression.
        forecast: the calls and tokens that a summary would take, in a dry run.
        opened: the conversation.
    """
    return {
        "summary": _summary(result),
        "summary_would_take": asdict(forecast) if forecast else None,
        "changed": result.changed,
        "messages_before": result.messages_in,
        "messages_after": result.messages_out,
        "messages_compressed": result.messages_compressed,
        "messages_kept": result.messages_kept,
        "tokens_before": result.tokens_before,
        "tokens_after": result.tokens_after,
        "tokens_freed": result.tokens_freed,
        "fixed_tokens": result.fixed_tokens,
        "host_tokens": opened.tokens_beside,
        "next_request_tokens": result.tokens_after + opened.tokens_beside,
        "ratio": round(result.ratio, 4),
        "target_tokens": result.target_tokens,
        "target_met": result.target_met,
        "strategy": result.strategy,
        "steps": [asdict(step) for step in result.steps],
        "compressed": list(result.compressed),
        "dropped": list(result.dropped),
        "first_changed_message": result.first_changed,
        "reasons": {str(index): reason for index, reason in result.reasons.items()},
        "files_removed": list(result.files_removed),
        "first_kept_index": result.first_kept_index,
        "floor_tokens": result.floor_tokens,
        "floor": dict(result.floor),
        "loss": {name: asdict(loss) for name, loss in result.loss.items()},
        "user_sentences": asdict(result.user_sentences),
        "refs_of_this_call": len(result.refs),
        "refs": {
            ref: {"what": about.what, "messages": list(about.indices)}
            for ref, about in result.refs.items()
        },
        "repairs": list(result.repairs),
        "notes": list(result.notes),
        "counted_by": result.method,
        **({"system": result.system} if summary_in(result.system) else {}),
    }


def explanations(result: Result) -> list[Record]:
    """The explanations of the most telling messages, in the order of the messages."""
    return [asdict(each) for each in result.most_telling()]


def _summary(result: Result) -> Record | None:
    """The summary that was written, with its tokens and cost."""
    summary = result.summary
    if summary is None:
        return None
    return {
        "text": summary.text,
        "models": sorted({reply.model for reply in summary.replies if reply.model}),
        **summary.usage,
        "unverified": list(summary.unverified),
        "read_files": list(summary.read_files),
        "modified_files": list(summary.modified_files),
    }


def status(opened: Opened, status: Status) -> Record:
    """How full the context of a conversation is, and what fills it."""
    usage = status.usage
    return {
        "session": opened.session.id,
        "used_tokens": int(usage.used_tokens),
        "used_tokens_upper": usage.used_tokens.upper,
        "counted_by": usage.used_tokens.method,
        "host_tokens": opened.tokens_beside,
        "total_budget": usage.total_budget,
        "usage_percent": usage.usage_percent,
        "remaining": usage.remaining,
        "compression_due": status.due.now,
        "due_from_tokens": usage.threshold_tokens,
        "compression_is": due_words(
            status.due.reason, usage.threshold_tokens, opened.host, opened.compacts_at
        ),
        "host_compacts_at_tokens": opened.compacts_at or None,
        "messages": status.messages,
        "messages_recorded": status.messages_recorded,
        "messages_compressed": status.messages_compressed,
        "compressions": status.compressions,
        "host_compactions": [_compaction(each) for each in status.host_compactions],
        "tokens_saved": status.tokens_saved,
        "requests": status.savings.requests,
        "tokens_over_all_requests": status.savings.as_answer(),
        "offload_would_free_tokens": status.could_free,
        "tokens_by_kind": status.by_kind,
        "largest": [asdict(item) for item in status.largest],
        "refs_total": len(status.refs),
        "refs": dict(status.refs),
        "warnings": list(status.warnings),
    }


def _compaction(compaction: Compaction) -> Record:
    about = asdict(compaction)
    del about["place"]  # means something only to the reader of the file
    return about


def sessions(store: Store, ids: Sequence[str]) -> list[Record]:
    """An overview of each session."""
    records: list[Record] = []
    for id in ids:
        events = store.session(id).events().items
        state = Session(store, id).state()
        savings = state.tally.savings(state.freed, Counter().text)
        records.append(
            {
                "session": id,
                "last_written": events[-1].get("created_at") if events else None,
                "messages": len(state.view),
                "messages_recorded": len(state.recorded),
                "compressions": len(state.compressions),
                "tokens_saved_net": savings.net,
                "unsent": savings.unsent,
            }
        )
    return records

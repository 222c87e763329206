"""The facts of a compression and of a status, as every door tells them: one vocabulary.

Structured content of the tools, `--json` of the commands and the texts of both are made of these.
They never contain the removed texts.
"""

import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

from context_compression.compression.forecast import Forecast, cache_sentence
from context_compression.compression.prepared import SMALLEST_TARGET
from context_compression.compression.result import Ref, Result
from context_compression.conversation.messages import is_array, is_object
from context_compression.conversation.refs import canonical, ref_of
from context_compression.hosts.sentences import due_words, in_words, next_request, outdated_hooks
from context_compression.hosts.setup.machine import Machine
from context_compression.plurals import how_many
from context_compression.session import Status
from context_compression.session.following import new_events
from context_compression.session.state import State
from context_compression.settings import GUARDED, NAMES, Settings
from context_compression.strings import one_line, with_halves_spelled
from context_compression.tokens.usage import count_tokens
from context_compression.workspace import Opened, Workspace

Record = dict[str, Any]

EMPTY: tuple[Any, ...] = (None, "", [], {}, ())
LONGEST_FACT = 1_000  # characters of a string; a path may be long
LONGEST_LINE = 240  # characters of an explanation
REFS = 10  # named in a report
NEWEST_REFS = {False: 5, True: 100}
"""How many refs a status names, and how many in detail."""
ITEMS = {False: 3, True: 10}
"""The same for the largest blocks."""
STATUS = (
    "compression_is", "warnings", "next_request", "messages", "tokens_by_kind", "largest",
    "offload_would_free_tokens", "host_compactions", "compressions", "messages_compressed",
    "tokens_saved", "compacted_copy", "compacted_context", "refs_total", "settings", "session",
    "counted_by", "used_tokens_upper", "next_call",
)  # fmt: skip
"""What the text of a status tells, the most needed first; the others are in a detailed one."""
SAID_BY_COMPRESSION = {"due_from_tokens", "host_compacts_at_tokens"}
"""Numbers for programs, which `compression_is` has in its words."""
SHOWN_IN_PROMPT_CACHE = ("cached", "written_anew", "pays_after")  # parts of a forecast
LABELS = {
    "floor_tokens": "minimum size in tokens",
    "floor": "parts of the minimum size",
    "fixed_tokens": "tokens of system prompt, tools and the like, which stay",
    "host_tokens": "tokens that the host adds to each request, in no target",
    "used_tokens_upper": "used tokens at most",
    "refs_of_this_call": "originals of this call",
    "other_refs": "more originals",
    "refs_total": "originals in all",
    "newest_refs": "the newest",
    "compression_is": "compression",
}
"""Labels in the text, where the name of the fact would not read well."""


class Facts(NamedTuple):
    """The facts of one answer.

    Attributes:
        headline: the first line of a text.
        stated: the facts that the headline states, which a text does not repeat.
        more: all other facts, by names that read well; empty ones are left out.
        told: the names of those that a text tells, in this order and without zeros; `None` if it
            tells all as they are.
    """

    headline: str
    stated: Mapping[str, Any]
    more: Mapping[str, Any]
    told: Sequence[str] | None = None

    @property
    def shown(self) -> Record:
        """The facts below the headline."""
        return {name: value for name, value in self.more.items() if value not in EMPTY}

    @property
    def text(self) -> Record:
        """Those of them that a text tells."""
        if self.told is None:
            return self.shown
        named = {name: self.shown[name] for name in self.told if name in self.shown}
        return {name: value for name, value in named.items() if not _is_zero(value)}

    @property
    def record(self) -> Record:
        """All of them, for programs: structured content and `--json`."""
        return _sendable({"headline": self.headline, **self.stated, **self.shown})


def _is_zero(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and value == 0


def _sendable(value: Any) -> Any:
    if isinstance(value, str):
        return with_halves_spelled(value)
    if is_object(value):
        return {with_halves_spelled(str(name)): _sendable(part) for name, part in value.items()}
    if is_array(value):
        return [_sendable(part) for part in value]
    return value


def label(name: str) -> str:
    """The words for the name of a fact in a text."""
    return LABELS.get(name, name.replace("_", " "))


def inline(value: Any, most: int = LONGEST_FACT) -> str:
    """`{"paths": 3000, "met": True}` -> `"paths 3,000, met yes"`; clips strings to `most`.

    Line breaks in strings are escaped, because a stored string can come from any source.
    """
    if value is None:
        return "unset"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if is_object(value):
        return ", ".join(f"{one_line(n)} {inline(part, most)}" for n, part in value.items())
    if is_array(value):
        return "; ".join(inline(part, most) for part in value) or "none"
    return one_line(value, most)


def of_host(opened: Opened) -> bool:
    """Whether a host keeps the conversation, in a history that only the host can change."""
    return opened.transcript is not None and opened.transcript.host != "messages"


def history_kept(opened: Opened) -> str:
    """A sentence for every answer about a transcript: no call changes it. "" without one."""
    if opened.transcript is None:
        return ""
    if of_host(opened):
        return "The host's own history is unchanged, because a tool cannot change it."
    return "The file is unchanged."


def replaced_compressions(opened: Opened) -> int:
    """How many earlier compressions a new one replaces, because it begins with the full history.

    A caller that passes the compacted context continues with it, and none is replaced.
    """
    if opened.shown is None or not opened.before.compressions:
        return 0
    view = opened.session.fitting.read(opened.before.view)
    events = new_events(opened.before, opened.shown, from_start=True, view=view)
    return sum(event["type"] == "undo" for event in events)


def next_steps(opened: Opened, result: Result, *, messages_passed: bool, replaced: int) -> str:
    """Whether a compression changed the history itself, and how the agent or the user continues."""
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


def headline(result: Result, *, freed: bool = True) -> str:
    """`45 → 25 messages, 120,000 → 60,000 tokens, 60,000 freed, 3 files removed`."""
    return (
        f"{result.messages_in:,} → {how_many(result.messages_out, 'message')}, "
        f"{result.tokens_before:,} → {how_many(result.tokens_after, 'token')}, "
        f"{f'{result.tokens_freed:,} freed, ' * freed}"
        f"{how_many(len(result.files_removed), 'file')} removed"
    )


@dataclass(frozen=True)
class ReportedCompression:
    """A compression to tell of.

    Attributes:
        result: its result.
        opened: the conversation.
        options: the options of `Session.compress`.
        messages_passed: whether the caller passed the messages.
        dry_run: whether it was a dry run.
        explain: whether the most telling messages are explained.
        forecast: the expected calls and tokens of a summary, in a dry run.
        warning: why a model that was named did not write the summary.
        replaced: how many earlier compressions it replaces.
    """

    result: Result
    opened: Opened
    options: Mapping[str, Any]
    messages_passed: bool = False
    dry_run: bool = False
    explain: bool = False
    forecast: Forecast | None = None
    warning: str | None = None
    replaced: int = 0

    @property
    def has_target(self) -> bool:
        """Whether there is a target; a call that offloads all large tool results has none."""
        offloads = self.options.get("strategy") == "offload"
        return not (offloads and self.result.target_tokens == SMALLEST_TARGET)

    @property
    def facts(self) -> Facts:
        """What every door tells of it."""
        result, beside = self.result, self.opened.tokens_beside
        more = {
            **self._note(),
            **self._target(),
            **(self._details() if result.changed else {}),
            **self._summary(),
            "explanations": [*self._explanations()] if self.explain else None,
            "host_tokens": beside or None,
            "next_request": next_request(result.tokens_after, beside, self.opened.host),
            "counted_by": result.method,
            "warnings": [*self._warnings()],
        }
        return Facts(*self._headline(), more)

    def _headline(self) -> tuple[str, Record]:
        result = self.result
        stated: Record = {
            "changed": result.changed and not self.dry_run,
            "messages_before": result.messages_in,
            "messages_after": result.messages_out,
            "tokens_before": result.tokens_before,
            "tokens_after": result.tokens_after,
        }
        if not result.changed:
            reasons = "; ".join(map(one_line, self._reasons()))
            return (
                f"history unchanged: {reasons}. The conversation has "
                f"{how_many(result.messages_in, 'message')}, "
                f"{how_many(result.tokens_before, 'token')}",
                stated,
            )
        stated |= {"tokens_freed": result.tokens_freed, "files_removed": [*result.files_removed]}
        each = {step.strategy: step.tokens_after for step in result.steps}
        stated |= {"tokens_after_each_step": each} if each else {}
        dry = "dry run, nothing was changed: " * self.dry_run
        if not of_host(self.opened):
            return f"{dry}{headline(result)}", stated
        copy = f"a compacted copy: {headline(result, freed=False)}"
        stated["tokens_freed"] = 0  # the host still sends its whole history
        return f"{dry}{copy}; 0 tokens are freed in the host, whose history is unchanged", stated

    def _reasons(self) -> Iterator[str]:
        """Why nothing was removed, and which call would remove something."""
        notes = self.result.notes
        if self.has_target:
            yield from notes or ("nothing was changed",)
        else:
            least = how_many(self.opened.session.settings.offload_min_tokens, "token")
            yield notes[0]
            yield (
                f"tool results below {least}, those of the newest step and restored ones are not "
                "offloaded"
            )

    def _note(self) -> Record:
        result, opened, passed = self.result, self.opened, self.messages_passed
        if not result.changed or self.dry_run:
            return {"note": unchanged_note(opened, messages_passed=passed)}
        replaced = 0 if result.repeated else self.replaced
        note = next_steps(opened, result, messages_passed=passed, replaced=replaced)
        return {"note": note, "session": opened.session.id}

    def _target(self) -> Record:
        """The target, whether it was met, and the minimum size if it was not."""
        result = self.result
        if not self.has_target:
            return {}
        facts: Record = {}
        if result.target_tokens is not None:
            facts |= {"target_tokens": result.target_tokens, "target_met": result.target_met}
            facts |= {"fixed_tokens": result.fixed_tokens or None}
        if not result.target_met:
            facts |= {"floor_tokens": result.floor_tokens or None, "floor": dict(result.floor)}
        return facts

    def _details(self) -> Record:
        """The strategies that ran, where the evidence is now, and the largest refs."""
        result, session = self.result, self.opened.session
        largest = _largest_first(result)
        rest = len(largest) - REFS
        status_call = f'context_status(conversation="{session.id}", response_format="detailed")'
        others = f"{rest:,}" if self.dry_run else f"{rest:,}; {status_call} lists the newest"
        sentences = result.user_sentences
        return {
            "strategy": result.strategy,
            "steps": steps_in_words(result),
            "first_changed_message": result.first_changed,
            "evidence": {
                name: {"in context": of.retained, "restorable": of.recoverable, "lost": of.lost}
                for name, of in (*result.loss.items(), ("user sentences", sentences))
                if of.total
            },
            "user_sentences_unjudged": sentences.unjudged or None,
            "refs_of_this_call": len(result.refs),
            "refs": {ref: _described(result, ref, result.refs[ref]) for ref in largest[:REFS]},
            "other_refs": others if rest > 0 else None,
        }

    def _summary(self) -> Record:
        """The summary that was written, or a forecast of one."""
        if self.forecast:
            parts = asdict(self.forecast).items()
            return {
                "summary_would_take": {n: v for n, v in parts if n not in SHOWN_IN_PROMPT_CACHE},
                "prompt_cache": cache_sentence(self.forecast),
            }
        summary = self.result.summary
        if summary is None or self.dry_run:
            return {}
        facts = {
            "ref": ref_of(summary.text),
            "shown_by": "context_summary",
            "written_by": ", ".join(sorted({r.model for r in summary.replies if r.model})),
            **summary.usage,
            "struck_as_unverified": len(summary.unverified),
        }
        return {"summary": {name: value for name, value in facts.items() if value}}

    def _explanations(self) -> Iterator[str]:
        """Why the most telling messages stayed or went, a line each."""
        telling = self.result.most_telling()
        yield from (one_line(each.line, LONGEST_LINE) for each in telling)
        if not telling:
            yield "every message is shown in full"

    def _warnings(self) -> Iterator[str]:
        result, opened = self.result, self.opened
        yield from result.repairs
        if self.warning:
            yield self.warning
        yield from opened.transcript.warnings if opened.transcript else ()
        budget = opened.session.settings.token_budget
        request = result.tokens_after + opened.tokens_beside
        if request > budget:
            yield f"{request:,} tokens are more than the budget of {budget:,}"
        if not result.changed:
            return
        if self.has_target or result.target_met:
            yield from result.notes
        if gone := result.constraints_gone:
            yield f"{gone}; context_restore brings each back, a larger target keeps more"
        if unjudged := result.unjudged:
            yield f"{unjudged}; context_restore brings them back"


def steps_in_words(result: Result) -> str | None:
    """What each of several strategies left, and why a later one left more; `None` for one alone.

    `offload left 19,007 tokens, 993 below the target; extract filled 981 with evidence`
    """
    parts, target, last = list[str](), result.target_tokens or 0, result.tokens_before
    for step in result.steps:
        more, room = step.tokens_after - last, target - last
        if not more:
            parts.append(f"{step.strategy} freed nothing")
        elif parts and 0 < more <= room:
            parts[-1] += f", {room:,} below the target"
            parts.append(f"{step.strategy} filled {more:,} with evidence")
        else:
            parts.append(f"{step.strategy} left {how_many(step.tokens_after, 'token')}")
        last = step.tokens_after
    return "; ".join(parts) if len(parts) > 1 else None


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


def details(result: Result) -> Record:
    """What only a program asks for: every message and ref of a compression, and why."""
    return {
        "compressed": list(result.compressed),
        "dropped": list(result.dropped),
        "reasons": {str(index): reason for index, reason in result.reasons.items()},
        "refs": {
            ref: {"what": about.what, "messages": list(about.indices)}
            for ref, about in result.refs.items()
        },
        "explanations": [asdict(each) for each in result.most_telling()],
    }


def undone(opened: Opened, state: State, view: Sequence[Mapping[str, Any]]) -> Facts:
    """The facts of an undo, with the state before it and the view that `Session.undo` returned."""
    session = opened.session

    def size(view: Sequence[Mapping[str, Any]]) -> int:
        model, system, tools = session.model, session.system, session.tools
        return int(count_tokens(view, model=model, system=system, tools=tools))

    before = [*state.view, *session.state().recorded[len(state.recorded) :]]
    stated = {
        "messages_before": len(before),
        "messages_after": len(view),
        "tokens_before": size(before),
        "tokens_after": size(view),
    }
    headline = (
        f"undone: {len(before)} → {how_many(len(view), 'message')}, "
        f"{stated['tokens_before']:,} → {how_many(stated['tokens_after'], 'token')}; refs can "
        "still be restored"
    )
    return Facts(headline, stated, {"note": history_kept(opened), "session": session.id})


def status_facts(
    workspace: Workspace,
    opened: Opened,
    status: Status,
    *,
    detailed: bool,
    next_call: str | None = None,
    offered: bool = False,
    readable: Sequence[str] = (),
) -> Facts:
    """How full the context of a conversation is, what fills it, and what is archived.

    Args:
        workspace: the call works in it.
        opened: the conversation.
        status: of its session.
        detailed: whether more refs and items, all settings and all other facts are told.
        next_call: what the reader of this door calls next.
        offered: whether the model of this conversation is offered our six tools.
        readable: folders in which the tools may read files, at a door that is one of the tools.
    """
    used, session, transcript = status.usage, opened.session, opened.transcript
    beside = opened.tokens_beside
    more = {
        "session": session.id,
        "transcript": f"{transcript.path} ({transcript.host})" if transcript else None,
        "store": session.store.name,
        "files_may_be_read_in": readable,
        "next_request": next_request(used.used_tokens - beside, beside, opened.host),
        "host_tokens": beside or None,
        "due_from_tokens": used.threshold_tokens,
        "compression_is": due_words(
            status.due.reason, used.threshold_tokens, opened.host, opened.compacts_at
        ),
        "host_compacts_at_tokens": opened.compacts_at or None,
        "counted_by": used.used_tokens.method,
        "used_tokens_upper": used.used_tokens.upper,
        "messages": status.messages,
        "tokens_by_kind": status.by_kind,
        "largest": [
            f"message {item.message:,}, {one_line(item.what)}: {how_many(item.tokens, 'token')}"
            for item in status.largest[: ITEMS[detailed]]
        ],
        "offload_would_free_tokens": status.could_free,
        "host_compactions": (transcript and in_words(transcript.compactions, time.time())) or None,
        **_recorded(opened, status, detailed=detailed, offered=offered),
        "settings": _settings(workspace, session.settings, all_of_them=detailed),
        "warnings": [
            *dict.fromkeys((*status.warnings, *workspace.doubts(session.settings))),
            *(transcript.warnings if transcript else ()),
            *_outdated_hooks(workspace),
        ],
        "next_call": next_call,
    }
    told = [name for name in more if name not in SAID_BY_COMPRESSION] if detailed else STATUS
    return Facts(*_fullness(status), more, told)


def _fullness(status: Status) -> tuple[str, Record]:
    """The headline of a status, and the facts in it."""
    used = status.usage
    stated = {
        "used_tokens": int(used.used_tokens),
        "total_budget": used.total_budget,
        "usage_percent": used.usage_percent,
        "remaining": used.remaining,
        "compression_due": status.due.now,
    }
    headline = (
        f"{used.used_tokens:,} of {used.total_budget:,} tokens used ({used.usage_percent} %), "
        f"{used.remaining:,} remaining; compression {'is due' if status.due.now else 'is not due'}"
    )
    return headline, stated


def _recorded(opened: Opened, status: Status, *, detailed: bool, offered: bool) -> Record:
    """What our record of the conversation holds, and what it saved."""
    savings = status.savings
    if offered:
        savings = savings.offering_tools(opened.session.model)
    over_all_requests = savings.as_answer()
    newest = list(status.refs)[: -NEWEST_REFS[detailed] - 1 : -1]
    return {
        "compressions": status.compressions,
        "messages_compressed": status.messages_compressed,
        "tokens_saved": status.tokens_saved,
        "compacted_copy": _copy(status, opened),
        "requests": savings.requests or None,
        "tokens_over_all_requests": None if over_all_requests == {"net": 0} else over_all_requests,
        "compacted_context": "not sent yet" if savings.unsent else None,
        "refs_total": len(status.refs),
        "newest_refs": {ref: one_line(status.refs[ref]) for ref in newest},
    }


def _copy(status: Status, opened: Opened) -> str | None:
    """The compacted context in our record, if the transcript does not have it."""
    if not status.not_taken_over:
        return None
    smaller = how_many(status.not_taken_over, "token")
    return f"{smaller} smaller, kept in session {opened.session.id}. {history_kept(opened)}"


def _outdated_hooks(workspace: Workspace) -> list[str]:
    if workspace.tenant is not None:  # its hosts are on other machines
        return []
    machine = Machine(sys.platform, workspace.environ, workspace.home, workspace.cwd)
    return outdated_hooks(machine)


def _settings(workspace: Workspace, settings: Settings, *, all_of_them: bool) -> Mapping[str, Any]:
    """All settings, or only those that the user set, so without a budget that the model gives."""
    names = NAMES if all_of_them else workspace.settings().model_fields_set
    return settings.model_dump(mode="json", include={*names}.difference(GUARDED))

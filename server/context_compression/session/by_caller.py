"""Summaries that the calling agent writes: one call requests a summary, the next call brings it.

Meanwhile the compression is a plan in the log. It runs again from its start with each summary.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from secrets import token_hex
from typing import TYPE_CHECKING, Any

from context_compression.compression.result import Result
from context_compression.compression.steps import start
from context_compression.conversation.refs import digest_of
from context_compression.errors import InvalidSettings, PlanError, SummaryError
from context_compression.listening import RunningCompaction, heard
from context_compression.session.compressing import origin_now, request_that_archives, settings_for
from context_compression.session.events import age_of, timestamp, undo_of
from context_compression.session.following import new_events
from context_compression.session.state import State
from context_compression.strings import one_line
from context_compression.summaries.summarizer import SummaryReply
from context_compression.threads import about_to_write

if TYPE_CHECKING:
    from context_compression.session.session import Session
PLAN_SECONDS = 3_600
"""How many seconds a caller may take to write a summary."""
ONE_TRY = {"on_summary_failure": "skip", "summary_attempts": 1}
"""Settings of a plan: an unusable summary of the caller is an error, and there is no second
attempt.
"""


@dataclass(frozen=True)
class SummaryAssignment:
    """A summary that the caller should write.

    Attributes:
        plan_id: to pass back with the summary.
        instructions: what to write.
        prompt: the instructions together with the conversation they are about.
        part: which of the plan's summaries this is, from 1.
        messages: how many messages the plan covers.
    """

    plan_id: str
    instructions: str
    prompt: str
    part: int
    messages: int


def no_plan(plan_id: str, where: str) -> str:
    """The error text for an unknown plan, with advice."""
    return (
        f"There is no plan {plan_id[:40]!r} in {where}. Call context_compress without plan_id to "
        "get one, and pass the plan_id of its answer with the summary."
    )


def assign_summary(
    conversation: "Session",
    messages: Sequence[Mapping[str, Any]] | None,
    options: Mapping[str, Any],
) -> SummaryAssignment | Result:
    """Start a plan; see `Session.ask` for the arguments."""
    if not isinstance(options.get("strategy"), str | None):
        raise InvalidSettings(
            "A plan is kept on disk, so its strategy must be the name of one of ours. Pass your "
            "own to `compress`. Nothing was changed."
        )
    with conversation.log.locked():
        state, later = conversation.state(), conversation.state()
        pending = [] if messages is None else new_events(state, messages, from_start=True)
        recorded = [event for event in pending if event["type"] != "undo"]
        for event in pending:
            state.replay(event)
        for event in recorded:
            later.replay(event)
        plan = {
            "type": "plan",
            "created_at": timestamp(),
            "plan_id": token_hex(6),
            "messages_in": len(state.view),
            "covered": digest_of(state.view),
            "undoes": len(later.compressions) - len(state.compressions),
            "options": {name: value for name, value in options.items() if value is not None},
        }
        if origin := origin_now(conversation, state):
            plan["origin"] = origin
        same = None if recorded else _same_plan(plan, state)
        outcome = _run(same or plan, conversation, state, pending, [])
        if isinstance(outcome, SummaryAssignment) and not same:
            about_to_write()
            conversation.log.append(*recorded, plan)
        return outcome


def take_summary(
    conversation: "Session",
    plan_id: str,
    summary: str,
) -> SummaryAssignment | Result:
    """Continue a plan with a summary; see `Session.answer` for the arguments."""
    with conversation.log.locked():
        state = conversation.state()
        plan = state.plans.get(plan_id)
        if plan is None:
            raise PlanError(no_plan(plan_id, conversation.id))
        if age_of(plan) > PLAN_SECONDS:
            raise PlanError(
                f"Plan {one_line(plan_id)} has expired: it was made more than "
                f"{PLAN_SECONDS // 60} minutes ago. Call context_compress without plan_id to "
                "get a new one."
            )
        pending = _undo_replaced(plan, state)
        covered = digest_of(state.view[: plan["messages_in"]])
        if covered != plan["covered"]:
            raise PlanError(
                f"What plan {one_line(plan_id)} covers has changed since it was made, so its "
                "summary does not fit any more. Call context_compress without plan_id to get "
                "a new one."
            )
        summaries = [*state.answers.get(plan_id, []), summary]
        outcome = _run(plan, conversation, state, pending, summaries)
        if isinstance(outcome, SummaryAssignment):
            event = {"type": "answer", "created_at": timestamp(), "plan_id": plan_id}
            conversation.log.append({**event, "text": summary})
        return outcome


def planned_view(conversation: "Session", plan_id: str) -> list[dict[str, Any]]:
    """The messages that a plan covers: the view without compressions that the plan replaces."""
    state = conversation.state()
    plan = state.plans[plan_id]
    _undo_replaced(plan, state)
    return state.view[: plan["messages_in"]]


def _same_plan(plan: Mapping[str, Any], state: State) -> Mapping[str, Any] | None:
    """The plan that an earlier call made with the same arguments, if most of its time is left.

    A plan of which a part is written already is not started again.
    """
    asked = [name for name in plan if name not in ("plan_id", "created_at")]
    for earlier in reversed(state.plans.values()):
        same = all(earlier.get(name) == plan[name] for name in asked)
        is_begun = earlier["plan_id"] in state.answers
        if same and not is_begun and age_of(earlier) < PLAN_SECONDS / 2:
            return earlier
    return None


def _undo_replaced(plan: Mapping[str, Any], state: State) -> list[dict[str, Any]]:
    """The events that undo the compressions a plan replaces; they are also applied to `state`."""
    undoes, now = plan.get("undoes", 0), timestamp()
    replaced = state.compressions if undoes == len(state.compressions) else []
    events = [undo_of(last, now) for last in reversed(replaced)]
    for event in events:
        state.replay(event)
    return events


def _run(
    plan: Mapping[str, Any],
    conversation: "Session",
    state: State,
    pending: Sequence[dict[str, Any]],
    summaries: Sequence[str],
) -> SummaryAssignment | Result:
    """Run a plan with the summaries written so far, up to the next assignment or the result."""
    options = dict(plan["options"])
    settings = settings_for(conversation, options.pop("settings", None)).changed(ONE_TRY)
    covered = state.view[: plan["messages_in"]]
    options |= {"settings": settings, "has_summarizer": True}
    steps = start(request_that_archives(conversation, state, pending, covered, **options))
    with heard(RunningCompaction("manual", conversation, conversation.model)) as end:
        try:
            request = next(steps)
            for text in summaries:
                request = steps.send(SummaryReply(text, "caller"))
        except StopIteration as done:
            result: Result = done.value
            if summaries and not result.changed:
                raise SummaryError("; ".join(result.notes)) from None
            end(result)
            return result
        part = len(summaries) + 1
        assignment = SummaryAssignment(
            plan["plan_id"], request.instructions, request.prompt, part, len(covered)
        )
        end(assignment)
        return assignment

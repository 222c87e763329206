"""A summary that the caller writes: one call asks for it, the next one brings it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from secrets import token_hex
from typing import Any

from context_compression.compression.result import Result
from context_compression.compression.steps import start
from context_compression.conversation.refs import digest_of
from context_compression.display.strings import one_line
from context_compression.errors import PlanError, SummaryError
from context_compression.session.recorded import Recorded
from context_compression.session.state import State, age_of, new_messages, timestamp, undoing
from context_compression.summaries.summarizer import SummaryReply

PLAN_SECONDS = 3_600
"""How long a caller may take to write a summary."""


@dataclass(frozen=True)
class SummaryAssignment:
    """A summary that the caller is asked to write.

    Attributes:
        plan_id: to be given back with it.
        instructions: what to write.
        prompt: the same with the record of what it shall be written of.
        part: which of the plan's summaries it is, from 1.
        messages: how many messages the plan looks at.
    """

    plan_id: str
    instructions: str
    prompt: str
    part: int
    messages: int


def no_plan(plan_id: str, where: str) -> str:
    """What to do where a plan is not known."""
    return (
        f"There is no plan {plan_id[:40]!r} in {where}. Call context_compress without plan_id to "
        "get one, and pass the plan_id of its answer with the summary."
    )


class ByCaller(Recorded):
    """A conversation whose summaries the caller may write."""

    def ask(
        self,
        *,
        messages: Sequence[Mapping[str, Any]] | None = None,
        before_writing: Callable[[], object] = lambda: None,
        **options: Any,
    ) -> SummaryAssignment | Result:
        """Compress, but let the caller write the summary: what it is asked for, or the result.

        Takes the arguments of `compress`. The plan is kept on disk; `answer` continues it. Until
        then the view is the one there was, with what is new.

        Raises:
            ContextCompressionError: as `compress`; the conversation is as it was.
        """
        with self._log.locked():
            state, later = self.state(), self.state()
            news = [] if messages is None else new_messages(state, messages, anew=True)
            recorded = [event for event in news if event["type"] != "undo"]
            for event in news:
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
            if origin := self._origin_now(state, options.get("not_counted", 0)):
                plan["origin"] = origin
            asked = self._continued(plan, state, news, [], before_writing)
            if isinstance(asked, SummaryAssignment):
                before_writing()
                self._log.append(*recorded, plan)
            return asked

    def answer(
        self, plan_id: str, summary: str, *, before_writing: Callable[[], object] = lambda: None
    ) -> SummaryAssignment | Result:
        """Continue a plan with the summary it asked for; asks on where it takes several.

        Raises:
            PlanError: the plan is unknown, has expired, or what it covers has changed.
            SummaryError: the summary cannot be used; the plan waits for a better one.
        """
        with self._log.locked():
            state = self.state()
            plan = state.plans.get(plan_id)
            if plan is None:
                raise PlanError(no_plan(plan_id, self.id))
            if age_of(plan) > PLAN_SECONDS:
                raise PlanError(
                    f"Plan {one_line(plan_id)} has expired: it was made more than "
                    f"{PLAN_SECONDS // 60} minutes ago. Call context_compress without plan_id to "
                    "get a new one."
                )
            news = self._undoing_for(plan, state)
            covered = digest_of(state.view[: plan["messages_in"]])
            if not covered.startswith(plan["covered"]):  # of which older versions kept 12 digits
                raise PlanError(
                    f"What plan {one_line(plan_id)} covers has changed since it was made, so its "
                    "summary does not fit any more. Call context_compress without plan_id to get "
                    "a new one."
                )
            answers = [*state.answers.get(plan_id, []), summary]
            asked = self._continued(plan, state, news, answers, before_writing)
            if isinstance(asked, SummaryAssignment):
                event = {"type": "answer", "created_at": timestamp(), "plan_id": plan_id}
                self._log.append({**event, "text": summary})
            return asked

    def planned(self, plan_id: str) -> list[dict[str, Any]]:
        """The view that a plan looks at: without the compressions that its result replaces."""
        state = self.state()
        plan = state.plans[plan_id]
        self._undoing_for(plan, state)
        return state.view[: plan["messages_in"]]

    def _undoing_for(self, plan: Mapping[str, Any], state: State) -> list[dict[str, Any]]:
        """The events that take back what a plan replaces; the state is as they leave it."""
        undoes, now = plan.get("undoes", 0), timestamp()
        replaced = state.compressions if undoes == len(state.compressions) else []
        events = [undoing(last, now) for last in reversed(replaced)]
        for event in events:
            state.replay(event)
        return events

    def _continued(
        self,
        plan: Mapping[str, Any],
        state: State,
        news: Sequence[dict[str, Any]],
        answers: Sequence[str],
        before_writing: Callable[[], object],
    ) -> SummaryAssignment | Result:
        """Run a plan with the answers given so far, up to the next request or the end."""
        options = dict(plan["options"])
        wanted = {"on_summary_failure": "skip", "summary_attempts": 1}
        changed = self._settings(options.pop("settings", None)).changed(wanted)
        covered = state.view[: plan["messages_in"]]
        options |= {"settings": changed, "has_summarizer": True}
        run = start(self._kept(state, news, before_writing, covered, **options))
        try:
            request = next(run)
            for text in answers:
                request = run.send(SummaryReply(text, "caller"))
        except StopIteration as done:
            result: Result = done.value
            if answers and not result.changed:
                raise SummaryError("; ".join(result.notes)) from None
            return result
        part, seen = len(answers) + 1, len(covered)
        return SummaryAssignment(plan["plan_id"], request.instructions, request.prompt, part, seen)

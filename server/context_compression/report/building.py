"""`build_report`: the facts of one session's report, from its history and our record of it."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path

from context_compression import hosts
from context_compression.conversation.formats import parse
from context_compression.report.archived import archived, health_of, originals_of
from context_compression.report.consumers import by_file, by_tool, repeated, uses_of
from context_compression.report.costs import cost_of
from context_compression.report.course import course_of
from context_compression.report.evidence import evidence_of
from context_compression.report.measured import MeasuredStage, measured, summed
from context_compression.report.model import LISTED, Report
from context_compression.report.sampling import share_of, warnings
from context_compression.session import Session
from context_compression.session.status import history_of
from context_compression.tokens import Anchor, Counter, anchor_in, anchored
from context_compression.tokens.usage import BESIDE, Usage, adding_up_to
from context_compression.transcripts.history import History
from context_compression.workspace.opened import Opened


@dataclass(frozen=True)
class Prices:
    """US dollars per million tokens; `None` if the user named none."""

    input: float | None = None
    output: float | None = None


NO_PRICES = Prices()


def report_of(
    opened: Opened,
    prices: Prices = NO_PRICES,
    history: Callable[[Path], History] = hosts.history,
) -> Report:
    """The report of a conversation that a caller named. Nothing is written.

    Args:
        opened: the conversation.
        prices: for amounts in dollars.
        history: reads the whole conversation in the file of a host.
    """
    return build_report(
        whole(opened, history),
        opened.session,
        anchor=opened.anchor,
        prices=prices,
    )


def whole(opened: Opened, history: Callable[[Path], History] = hosts.history) -> History:
    """The whole conversation: from the file of its host, else from our record.

    A file of messages does not say that it was compressed; our record of it does.
    """
    transcript = opened.transcript
    if transcript is None or (transcript.host == "messages" and _is_compressed(opened)):
        return history_of(opened.session)
    return history(transcript.path)


def _is_compressed(opened: Opened) -> bool:
    """Whether the messages in a file are those of our record, which was compressed."""
    state, transcript = opened.session.state(), opened.transcript
    return bool(state.compressions and transcript and state.recorded == transcript.messages)


def build_report(
    history: History,
    session: Session,
    *,
    anchor: Anchor | None = None,
    prices: Prices = NO_PRICES,
) -> Report:
    """The report of a session. Nothing is written.

    Args:
        history: the whole conversation.
        session: our record of it, which may be empty.
        anchor: the tokens that the host's provider charged for the last request, if known.
        prices: for amounts in dollars.
    """
    state, (stages, counter, share) = session.state(), _measured(history, session)
    usage = _usage(stages[-1], session, counter, anchor)
    by_kind = adding_up_to(int(usage.used_tokens), summed(stages[-1].by_kind))
    course = course_of(stages, by_kind.get(BESIDE, 0), state.tally.outside)
    uses = uses_of(stages, counter, history.project)
    originals = originals_of(session, state)
    titles = {use.call_id: use.again or ", ".join(use.files) for use in uses}
    live = stages[-1].stage.messages
    left = archived(session, state, originals, counter.text, live, titles)
    times = [time for stage in history.stages for time in stage.times if time is not None]
    return Report(
        session=history.session_id,
        host=history.host,
        project=history.project,
        title=history.title,
        model=history.model or session.model or "",
        began=min(times, default=None),
        ended=max(times, default=None),
        messages=sum(len(stage.added) for stage in stages),
        window=usage.total_budget,
        threshold=usage.threshold_tokens,
        used=int(usage.used_tokens),
        by_kind=by_kind,
        points=course.points,
        compactions=course.marks,
        by_tool=by_tool(uses),
        by_file=by_file(uses),
        repeated=repeated(uses),
        archived=left[:LISTED],
        archived_total=len(left),
        archived_tokens=sum(entry.tokens for entry in left),
        archived_restored=sum(entry.restored > 0 for entry in left),
        cost=cost_of(
            course.sent,
            usage.total_budget,
            input_price=prices.input,
            output_price=prices.output,
        ),
        evidence=evidence_of(stages, chain.from_iterable(originals.messages.values()), share),
        store=health_of(session, originals),
        warnings=[*dict.fromkeys((*warnings(share), *history.warnings, *state.warnings))],
        sampled=share,
    )


def _measured(history: History, session: Session) -> tuple[list[MeasuredStage], Counter, float]:
    """The stages with their sizes, what counted them, and the share of texts that it counts."""
    conversations = [parse(stage.messages) for stage in history.stages]
    share = share_of(history.stages, conversations)
    counter = Counter(session.model, session.counter)
    if share < 1:
        counter = counter.sampling(share)
    return measured(history.stages, conversations, counter), counter, share


def _usage(live: MeasuredStage, session: Session, counter: Counter, anchor: Anchor | None) -> Usage:
    """How full the context is now, as `Session.status` counts it; what is counted already, once."""
    anchor = anchor or anchor_in(live.conversation)
    usage = session.usage([])
    if anchor is None or anchor.messages > len(live.messages):
        used = counter.count(int(usage.used_tokens) + sum(live.sizes))
    else:
        used = anchored(counter, live.messages, anchor)
    return replace(usage, used_tokens=used)

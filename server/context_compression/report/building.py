"""`build_report`: the facts of one session's report, from its history and our record of it."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path

from context_compression import hosts
from context_compression.conversation.formats import anthropic, parse
from context_compression.conversation.formats.dialect import detect
from context_compression.report.archived import archived, health_of, originals_of
from context_compression.report.consumers import (
    asked_in,
    by_file,
    by_tool,
    in_proportion,
    repeated,
    uses_of,
)
from context_compression.report.costs import cost_of
from context_compression.report.course import course_of
from context_compression.report.evidence import evidence_of
from context_compression.report.measured import (
    MeasuredStage,
    measured,
    measured_roughly,
    summed,
)
from context_compression.report.model import LISTED, Report
from context_compression.report.rough import Rough, roughly
from context_compression.report.sampling import CALLS, share_of, warnings
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
    state, counter = session.state(), Counter(session.model, session.counter)
    stages, rough, share = _measured(history, counter)
    usage = _usage(stages[-1], session, counter, anchor)
    by_kind = adding_up_to(int(usage.used_tokens), summed(stages[-1].by_kind))
    course = course_of(stages, by_kind.get(BESIDE, 0), state.tally.outside)
    originals = originals_of(session, state)
    asked = [*asked_in(history.stages, rough)]
    most = CALLS if share < 1 and not originals.total else None
    uses, times = uses_of(asked, history.project, most)
    titles = {use.call_id: use.again or ", ".join(use.files) for use in uses}
    live = stages[-1].stage.messages
    left = archived(session, state, originals, counter.text, live, titles)
    moments = [time for stage in history.stages for time in stage.times if time is not None]
    return Report(
        session=history.session_id,
        host=history.host,
        project=history.project,
        title=history.title,
        model=history.model or session.model or "",
        began=min(moments, default=None),
        ended=max(moments, default=None),
        messages=sum(len(stage.messages) - stage.carried for stage in history.stages),
        window=usage.total_budget,
        threshold=usage.threshold_tokens,
        used=int(usage.used_tokens),
        by_kind=by_kind,
        points=course.points,
        compactions=course.marks,
        by_tool=by_tool(asked),
        by_file=in_proportion(by_file(uses), times),
        repeated=in_proportion(repeated(uses), times),
        archived=left[:LISTED],
        archived_total=len(left),
        archived_tokens=sum(entry.tokens for entry in left),
        archived_restored=sum(entry.restored > 0 for entry in left),
        cost=cost_of(
            course.sent, usage.total_budget, input_price=prices.input, output_price=prices.output
        ),
        evidence=evidence_of(stages, chain.from_iterable(originals.messages.values()), share),
        store=health_of(session, originals),
        warnings=[
            *dict.fromkeys((*warnings(share, 1 / times), *history.warnings, *state.warnings))
        ],
        sampled=share,
    )


def _measured(history: History, counter: Counter) -> tuple[list[MeasuredStage], Rough, float]:
    """The stages with their sizes, their parts, and the share of all texts that was counted."""
    stages = history.stages
    by_raw = all(detect(stage.messages) is anthropic.FORMAT for stage in stages)
    values = None if by_raw else [parse(stage.messages) for stage in stages]
    rough = roughly(stages, values, counter)
    share = share_of(rough.chars)
    if share < 1:
        rough = rough.sampled(share)
        return measured_roughly(stages, values, counter, rough), rough, share
    values = values or [parse(stage.messages) for stage in stages]
    return measured(stages, values, counter), rough, share


def _usage(live: MeasuredStage, session: Session, counter: Counter, anchor: Anchor | None) -> Usage:
    """How full the context is now, as `Session.status` counts it; what is counted already, once."""
    raw = live.stage.messages
    if anchor is None and any("usage" in message for message in raw):
        anchor = anchor_in(parse(raw))
    usage = session.usage([])
    if anchor is None or anchor.messages > len(live.messages):
        used = counter.count(int(usage.used_tokens) + sum(live.sizes))
    else:
        used = anchored(counter, live.messages, anchor)
    return replace(usage, used_tokens=used)

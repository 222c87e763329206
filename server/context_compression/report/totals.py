"""The totals of all sessions on this machine: tokens, money and compactions, by project and week.

Each session is read as a whole, because what it cost is in all of its requests; the newest first,
and no more than asked for. Texts are counted by a small sample, and only where a host records no
usage. A session that cannot be read is named, and the others are told all the same.
"""

from collections.abc import Callable, Iterable, Iterator, MutableMapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from itertools import chain
from typing import TypeAlias

from context_compression.errors import ContextCompressionError
from context_compression.guard import in_our_words
from context_compression.hosts import Readings
from context_compression.hosts.conversations import Conversations
from context_compression.hosts.listing import (
    FoundSession,
    belongs,
    found_sessions,
    host_of,
    in_few_words,
)
from context_compression.listening import LISTING, advance
from context_compression.report.building import course_in
from context_compression.report.course import cost_of
from context_compression.session.status import history_of
from context_compression.tokens.prices import prices_of
from context_compression.transcripts.transcript import OURS
from context_compression.workspace.kept import kept_in

NEWEST = 1_000
"""How many sessions are read unless the user asks for more."""


@dataclass(frozen=True)
class SessionTotal:
    """What one session was in all.

    Attributes:
        session: its id.
        host: the host that keeps it; see `host_of`.
        project: the folder that the agent worked in; empty if it is not known.
        last: when its last request was answered, in seconds since 1970.
        requests: how many requests.
        input: tokens of all input, cached or not.
        output: tokens of all answers.
        dollars: of both; `None` if the price of a model is not known.
        models: those whose prices are not known.
        compactions: how often its context was compacted, by its host or by us.
        by_us: how many of them this package did.
        measured: whether the provider's own counts were used.
    """

    session: str
    host: str
    project: str
    last: float
    requests: int
    input: int
    output: int
    dollars: float | None
    models: Sequence[str]
    compactions: int
    by_us: int
    measured: bool

    @property
    def week(self) -> str:
        """The ISO week of its last request, in UTC: `"2026-W48"`."""
        year, week, _ = datetime.fromtimestamp(self.last, UTC).isocalendar()
        return f"{year}-W{week:02}"


@dataclass(frozen=True)
class Total:
    """Several sessions together.

    Attributes:
        name: the week, the project or the host that they have in common.
        sessions: how many they are.
        requests: how many requests they had.
        input: tokens of all input, cached or not.
        output: tokens of all answers.
        dollars: of the sessions whose prices are known; `None` if none is.
        unpriced: how many sessions have no known price.
        unpriced_tokens: of their input and answers.
        compactions: how often their contexts were compacted.
        by_us: how many of them this package did.
        estimated: how many sessions have no counts of a provider.
    """

    name: str
    sessions: int = 0
    requests: int = 0
    input: int = 0
    output: int = 0
    dollars: float | None = None
    unpriced: int = 0
    unpriced_tokens: int = 0
    compactions: int = 0
    by_us: int = 0
    estimated: int = 0


@dataclass(frozen=True)
class AllSessions:
    """The totals of all sessions.

    Attributes:
        all: of all sessions that were read.
        weeks: by the ISO week of the last request, in UTC; the newest first.
        projects: by the folder that the agent worked in; the one with the most tokens first.
        hosts: by host, likewise.
        models: the models whose prices are not known.
        prices: the day of which the prices are, as `2026-11-30`.
        older: how many older sessions were not read.
        problems: what could not be read, in sentences for the user.
    """

    all: Total
    weeks: Sequence[Total]
    projects: Sequence[Total]
    hosts: Sequence[Total]
    models: Sequence[str]
    prices: str
    older: int = 0
    problems: Sequence[str] = field(default_factory=list[str])


Known: TypeAlias = MutableMapping[str, tuple[float, SessionTotal]]
"""Sessions that were read before, by host and place; each with the time when it was written."""


def all_sessions(
    conversations: Conversations, limit: int = NEWEST, known: Known | None = None
) -> AllSessions:
    """The totals of the newest sessions of this user.

    Args:
        conversations: of this workspace.
        limit: how many sessions are counted at most.
        known: sessions that need not be read again unless they were written since. Those that are
            read are added, and those that are no longer there are taken out.
    """
    known = {} if known is None else known
    found, problems = found_sessions(conversations)
    for gone in known.keys() - {_key(each, conversations) for each in found}:
        del known[gone]
    read: list[SessionTotal] = []
    older = tried = 0
    for place, each in enumerate(found):
        if tried == limit:
            older = len(found) - place
            break
        if not belongs(each, conversations):
            continue
        tried += 1
        key = _key(each, conversations)
        written_at, before = known.get(key, (0.0, None))
        try:
            if before is None or written_at != each.written_at:
                with in_our_words():  # one session that nobody foresaw does not hide the others
                    before = _total(each, conversations)
                known[key] = each.written_at, before
            read.append(before)
        except ContextCompressionError as error:
            name = each.candidate.path if each.host else each.candidate.id
            problems.append(f"{name} cannot be read: it {in_few_words(error, each.candidate.path)}")
        advance(LISTING, tried, min(limit, len(found)))
    return summed_up(read, older, problems)


def _key(found: FoundSession, conversations: Conversations) -> str:
    """The host and the place of a session, by which it is known."""
    host = found.host.name if found.host else conversations.workspace.store.name
    return f"{host} {found.candidate.path} {found.candidate.id}"


def summed_up(
    read: Sequence[SessionTotal], older: int = 0, problems: Sequence[str] = ()
) -> AllSessions:
    """The totals of sessions."""
    return AllSessions(
        all=_together("all", read),
        weeks=sorted(_groups(read, lambda one: one.week), key=lambda one: one.name, reverse=True),
        projects=sorted(_groups(read, lambda one: one.project), key=_by_weight),
        hosts=sorted(_groups(read, lambda one: one.host), key=_by_weight),
        models=sorted({*chain.from_iterable(one.models for one in read)} - {""}),
        prices=prices_of().isoformat(),
        older=older,
        problems=[*problems],
    )


def _by_weight(total: Total) -> tuple[int, str]:
    return -total.input, total.name


def _groups(read: Iterable[SessionTotal], by: Callable[[SessionTotal], str]) -> Iterator[Total]:
    groups: dict[str, list[SessionTotal]] = {}
    for one in read:
        groups.setdefault(by(one), []).append(one)
    for name, several in groups.items():
        yield _together(name, several)


def _together(name: str, several: Sequence[SessionTotal]) -> Total:
    unpriced = [one for one in several if one.dollars is None and one.input + one.output]
    dollars = [one.dollars for one in several if one.dollars is not None]
    return Total(
        name=name,
        sessions=len(several),
        requests=sum(one.requests for one in several),
        input=sum(one.input for one in several),
        output=sum(one.output for one in several),
        dollars=sum(dollars) if dollars else None,
        unpriced=len(unpriced),
        unpriced_tokens=sum(one.input + one.output for one in unpriced),
        compactions=sum(one.compactions for one in several),
        by_us=sum(one.by_us for one in several),
        estimated=sum(not one.measured for one in several),
    )


def _total(found: FoundSession, conversations: Conversations) -> SessionTotal:
    """What a session was in all.

    Raises:
        ContextCompressionError: it cannot be read.
    """
    if found.host is None:
        session = conversations.open(found.candidate.id).session
        folder = conversations.workspace.store.backend.folder
        history = replace(history_of(session), project=str(folder.parent) if folder else "")
    else:
        kept = kept_in(conversations.workspace)
        path = kept.unpacked(found.kept, []) if found.kept else found.candidate.path
        readings = Readings(whole=True)
        session = conversations.workspace.of(readings.look(path)).session
        history = readings.history(path)
        if found.kept:
            kept.drop_copy(found.kept)
    sent = course_in(history, session).sent
    cost = cost_of(sent, session.settings.token_budget, history.model or session.model or "")
    times = [one.request.time for one in sent if one.request.time is not None]
    by_us = sum(each.by == OURS for each in history.compactions)
    dollars = None if cost.dollars is None else cost.dollars + (cost.output_dollars or 0)
    return SessionTotal(
        session=session.id,
        host=host_of(found),
        project=history.project or found.candidate.project,
        last=max(times, default=found.written_at),
        requests=cost.requests,
        input=cost.input,
        output=cost.output,
        dollars=dollars,
        models=tuple(cost.unpriced),
        compactions=len(history.compactions),
        by_us=by_us,
        measured=cost.measured,
    )

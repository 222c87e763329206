"""Lists the sessions on this machine: those that hosts keep, and those recorded in our store."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

from context_compression.conversation.authors import first_words
from context_compression.conversation.formats import parse
from context_compression.errors import ContextCompressionError, StoreError
from context_compression.guard import in_our_words
from context_compression.hosts import read
from context_compression.hosts.conversations import Conversations
from context_compression.hosts.host import Host
from context_compression.hosts.projects import (
    FoundSession,
    kept_beside,
    sessions_of_hosts,
    worked_in,
)
from context_compression.hosts.reading import glance
from context_compression.hosts.table import KEEPING
from context_compression.listening import LISTING, advance
from context_compression.session.state import state_of
from context_compression.store import Store
from context_compression.store.files import collecting
from context_compression.store.kept import KeptSession
from context_compression.tokens import Counter, anchored
from context_compression.transcripts.opening import PACKED_NAMES
from context_compression.transcripts.reading import how_often
from context_compression.transcripts.sessions import OF_NAME, CandidateConversation, is_same_folder
from context_compression.transcripts.transcript import PROXY
from context_compression.workspace import Opened

RECORDED = "recorded"
"""Stands for the host of a session that a program recorded with this package."""
LISTED_HOSTS = (*(host.name for host in KEEPING), PROXY, RECORDED)

LONGEST_READ = 64 * 1024 * 1024
"""Bytes of a transcript that is read as a whole for the listing."""


@dataclass(frozen=True)
class ListedSession:
    """A session in the listing.

    Attributes:
        host: see `host_of`.
        id: the host's id of it, or ours.
        path: the path of its transcript; `None` for a session that only we have.
        written_at: when it was last written, in seconds since 1970.
        project: the folder that the agent worked in; empty if that is not known.
        title: the title of the session, or the user's first words.
        tokens: the size of its context; `None` if it cannot be read.
        window: the size of the model's context window, or the budget that the user set.
        compactions: how often its context was compacted; `None` if that is not known.
        archived: whether our store holds originals of it.
        originals: how many it holds.
        subagents: how many transcripts of subagents belong to it.
        problem: why it cannot be read; empty if it can.
        missing: what of it is in no file that could be read, in sentences for the user.
        kept: whether its host has it no longer, and we do.
    """

    host: str
    id: str
    path: Path | None
    written_at: float
    project: str = ""
    title: str = ""
    tokens: int | None = None
    window: int | None = None
    compactions: int | None = None
    archived: bool = False
    originals: int = 0
    subagents: int = 0
    problem: str = ""
    missing: Sequence[str] = ()
    kept: bool = False

    @property
    def name(self) -> str:
        """The name by which a command can open it."""
        return str(self.path) if self.path else self.id

    @property
    def share(self) -> float | None:
        """The used share of the window; `None` if it is not known."""
        return None if self.tokens is None or not self.window else self.tokens / self.window


@dataclass(frozen=True)
class Listing:
    """The newest sessions.

    Attributes:
        sessions: the one written last comes first.
        older: how many older ones were not looked at, because the limit was reached.
        problems: hosts whose sessions cannot be listed, in sentences for the user.
    """

    sessions: Sequence[ListedSession]
    older: int = 0
    problems: Sequence[str] = field(default_factory=list[str])


def list_sessions(
    conversations: Conversations,
    *,
    hosts: Iterable[str] = LISTED_HOSTS,
    only_here: bool = False,
    limit: int | None = None,
) -> Listing:
    """The newest sessions of this user; only those listed are read.

    Args:
        conversations: of this workspace.
        hosts: the hosts whose sessions are listed.
        only_here: list only sessions of the working directory.
        limit: how many at most; `None` for all.
    """
    found, problems = found_sessions(conversations, set(hosts))
    listed: list[ListedSession] = []
    for index, each in enumerate(found):
        if limit is not None and len(listed) == limit:
            return Listing(listed, len(found) - index, problems)
        if belongs(each, conversations, only_here):
            listed.append(described(each, conversations))
            advance(LISTING, len(listed), min(limit or len(found), len(found)))
    return Listing(listed, 0, problems)


def found_sessions(
    conversations: Conversations, hosts: Iterable[str] = LISTED_HOSTS
) -> tuple[list[FoundSession], list[str]]:
    """All sessions, the one written last first, and why some hosts have none."""
    found, problems = sessions_of_hosts(conversations.workspace)
    with collecting(problems):
        kept = kept_beside(conversations.workspace, found)
        found += [each for each in kept if not each.is_older]
    kept_by_hosts = {each.candidate.id for each in found}
    found = [each for each in found if each.host and each.host.name in hosts]
    if {PROXY, RECORDED} & {*hosts}:
        ours = _recorded(conversations, kept_by_hosts)
        found += [each for each in ours if host_of(each) in hosts]
    return sorted(found, key=lambda each: each.written_at, reverse=True), problems


def _recorded(conversations: Conversations, kept_by_hosts: set[str]) -> Iterator[FoundSession]:
    """The sessions of our store that are no record of a host's session on this machine."""
    store = conversations.workspace.store
    for id in conversations.recorded():
        log = store.session(id)
        if id not in kept_by_hosts and id[:OF_NAME] not in kept_by_hosts and (stamp := log.stamp()):
            written_at = stamp[1] / 1e9
            yield FoundSession(written_at, CandidateConversation(log.place, written_at, id=id))


def host_of(each: FoundSession) -> str:
    """The host that keeps a session, as in `Transcript`; `PROXY` or `RECORDED` of one of ours."""
    if each.host:
        return each.host.name
    return PROXY if each.candidate.id.startswith(f"{PROXY}-") else RECORDED


def is_side_call(id: str, store: Store) -> bool:
    """Whether a session is of one request through the proxy, of which nothing is archived.

    Clients ask so for a title, or whether they can reach a model. A conversation is listed from its
    second request on.
    """
    if not id.startswith(f"{PROXY}-"):
        return False
    with suppress(StoreError):  # a damaged one is listed, with the reason
        state = state_of(store.session(id))
        return not state.tally.requests and not state.refs
    return False


def belongs(each: FoundSession, conversations: Conversations, only_here: bool = False) -> bool:
    """Whether a session is listed: no subagent's, and of this project if only those are."""
    if each.host is None:
        return not is_side_call(each.candidate.id, conversations.workspace.store)
    if only_here and not _is_here(each, str(conversations.workspace.cwd)):
        return False
    return not each.is_subagent


def _is_here(each: FoundSession, here: str) -> bool:
    """Whether a session worked in a folder; also if its file cannot be unpacked to see it."""
    folders = [*worked_in(each, [here])]
    is_known = folders or each.candidate.path.suffix not in PACKED_NAMES
    return not is_known or any(is_same_folder(folder, here) for folder in folders)


def described(each: FoundSession, conversations: Conversations) -> ListedSession:
    """A session as it is listed; it is read, unless only we have it."""
    candidate, host = each.candidate, each.host
    if each.kept:
        return _described_when_kept(each.kept, conversations)
    about = ListedSession(
        host=host_of(each),
        id=candidate.id,
        path=candidate.path if host else None,
        written_at=each.written_at,
        project=candidate.project,
        title=candidate.about,
        subagents=host.stored.subagents(candidate) if host else 0,
    )
    try:
        with in_our_words():  # one session that nobody foresaw does not hide the others
            if host is None:
                return _with_record(about, conversations)
            return _with_transcript(about, host, conversations)
    except ContextCompressionError as error:
        return replace(about, problem=in_few_words(error, candidate.path))


def _described_when_kept(kept: KeptSession, conversations: Conversations) -> ListedSession:
    """The session as it was when it was kept."""
    store, originals = conversations.workspace.store, 0
    with suppress(StoreError):
        originals = len(store.session(kept.id).refs()) if kept.id in store.sessions() else 0
    return ListedSession(
        kept.host, kept.id, None, kept.written_at, kept.project, kept.title, kept.tokens,
        kept.window, kept.compactions, originals > 0, originals, kept.subagents, kept=True,
    )  # fmt: skip


def _with_record(about: ListedSession, conversations: Conversations) -> ListedSession:
    """The session with what our record says about it."""
    opened = conversations.open(about.id)
    state, folder = opened.session.state(), conversations.workspace.store.backend.folder
    return replace(
        about,
        project=str(folder.parent) if folder else "",
        title=first_words(parse(state.recorded).messages),
        tokens=_size(opened),
        window=opened.session.settings.token_budget,
        compactions=len(state.compressions),
        archived=bool(state.refs),
        originals=len(state.refs),
    )


def _with_transcript(
    about: ListedSession, host: Host, conversations: Conversations
) -> ListedSession:
    """The session with what its transcript says; of a large one, only the ends are read."""
    assert about.path
    ends = glance(about.path)
    if ends is None:
        transcript = read(about.path, max_bytes=LONGEST_READ)
        compactions = len(transcript.compactions)
    else:
        transcript, marks = ends.transcript, host.stored.compaction_marks
        counted = sum(how_often(marks, *file) for file in ends.files)
        compactions = max(len(transcript.compactions), counted) if marks else None
    opened = conversations.workspace.of(transcript)
    if ends is not None:
        window = opened.session.settings.token_budget
        if largest := host.stored.largest_use(about.path, transcript.model, window):
            opened = conversations.workspace.of(replace(transcript, largest=largest))
    readings = conversations.readings
    title = about.title or readings.title(about.path, transcript, is_whole=ends is None)
    originals = 0
    with suppress(StoreError):  # of a damaged record, which does not hide the session
        originals = len(opened.before.refs) if opened.session.log.exists() else 0
    return replace(
        about,
        id=opened.session.id,
        project=transcript.project or about.project,
        title=title,
        tokens=_size(opened) if ends is None or transcript.usage else None,
        window=opened.session.settings.token_budget,
        compactions=compactions,
        archived=originals > 0,
        originals=originals,
        missing=[*transcript.missing],
    )


def in_few_words(error: ContextCompressionError, path: Path) -> str:
    """The reason in an error, without the path and without what to do."""
    return str(error).replace(f"{path} ", "").partition(". ")[0]


def _size(opened: Opened) -> int:
    session, anchor = opened.session, opened.anchor
    shown = session.view() if opened.shown is None else opened.shown
    if anchor is None:
        return session.usage(shown).used_tokens
    return anchored(Counter(session.model), parse(shown).messages, anchor)


def below_home(folder: str, home: Path) -> str:
    """`below_home("/home/ana/shop", Path("/home/ana"))` -> `"~/shop"`; other folders as given."""
    if folder and Path(folder).is_relative_to(home):
        return str(Path("~") / Path(folder).relative_to(home))
    return folder

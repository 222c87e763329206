"""`Opened`: a conversation as its session, with the transcript it is read from.

Sessions of this package, `KEPT_IN`, contain no conversation, but texts archived without one.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from context_compression.conversation.formats import Conversation, parse
from context_compression.conversation.refs import digest_of
from context_compression.session import Session
from context_compression.session.outgoing import system_for
from context_compression.session.state import State
from context_compression.settings import Settings
from context_compression.tokens import Anchor, Counter, window_of
from context_compression.tokens.usage import Messages, count_tokens
from context_compression.transcripts.compaction_points import OURS_COMES_FIRST, limits_of
from context_compression.transcripts.limits import LargestUse, holding
from context_compression.transcripts.transcript import OURS, Transcript

OFFLOADED = "offloaded"
"""The session of texts that belong to no conversation."""
CHECKPOINT = "checkpoint"
"""The session of summaries that belong to no conversation."""
KEPT_IN = {OFFLOADED: "offloaded texts", CHECKPOINT: "checkpoints"}
"""The content of each of these sessions, by its id."""
LEAST_THRESHOLD = 8_000
"""Tokens; a host that compacts below that leaves no conversation to compress."""


@dataclass(frozen=True)
class Opened:
    """A conversation that a caller named.

    Attributes:
        session: our record of it. It has the system prompt and tools that a file of messages hands
            in; those of a host are the host's share.
        transcript: the file in which another program keeps it; `None` for a session that was
            recorded with this package, whose own history a compression changes.
        compacts_at: the size at which the host itself compacts, in tokens; 0 if it does not, or it
            is unknown.
        passed: its messages, if the caller passed them.
        recorded_beside: tokens outside the messages in each request of the program, if the session
            knows them.
    """

    session: Session
    transcript: Transcript | None = None
    compacts_at: int = 0
    passed: Messages | None = None
    recorded_beside: int = 0

    @property
    def host(self) -> str:
        """The name of the program that keeps the conversation, as in `Transcript`."""
        if self.transcript is not None:
            return self.transcript.host
        return self.session.origin().get("host", OURS)

    @cached_property
    def shown(self) -> Conversation | None:
        """The messages that another program keeps, parsed once; `None` if only our record has them.

        Raises:
            InvalidConversation: messages that the caller passed are in no format we know.
        """
        if self.passed is not None:
            return parse(self.passed)
        transcript = self.transcript
        return transcript and (transcript.conversation or parse(transcript.messages))

    @cached_property
    def before(self) -> State:
        """The state of its record before this call changes it. It must not be changed."""
        return self.session.state()

    @cached_property
    def anchor(self) -> Anchor | None:
        """How many tokens the host's provider charged; `None` if that is not known.

        Without a charge: our count of the messages, and the tokens known to be beside them.
        """
        if self.transcript is not None and self.transcript.usage:
            return Anchor(*self.transcript.usage)
        if not (beside := self.recorded_share):
            return None
        shown = self.before.view if self.shown is None else self.shown
        return Anchor(self._counted(shown) + beside, len(shown))

    @cached_property
    def tokens_beside(self) -> int:
        """The tokens of each request that are no part of the conversation and of no target of it.

        They are the host's share: its system prompt and tools, and whatever else its provider
        charges beyond our count of the conversation. 0 if nothing says how many they are.
        """
        usage = self.transcript.usage if self.transcript else None
        if self.shown is None or usage is None:
            return self.recorded_share
        tokens, messages = usage
        charged = self._counted(self.shown.first(messages))
        return max(self.recorded_share, tokens - charged)

    @cached_property
    def recorded_share(self) -> int:
        """The tokens of the host's system prompt and tools, as far as they are recorded."""
        if self.transcript is None:
            return self.recorded_beside
        if self.transcript.host == "messages":
            return 0
        counter = Counter(self.session.model, self.session.counter)
        recorded = counter.system(self.transcript.system) + counter.tools(self.transcript.tools)
        if self.transcript.usage or not self.transcript.compactions:
            return recorded
        beside = self.before.origin.get("beside", 0)  # measured before the compaction
        return max(recorded, beside or self._measured_before())

    def _measured_before(self) -> int:
        """The tokens beside the messages in the last request that was charged; 0 if none was."""
        for before in reversed(self.transcript.replaced if self.transcript else ()):
            if before.usage:
                tokens, messages = before.usage
                return max(0, tokens - self._counted(before.messages[:messages]))
        return 0

    def _counted(self, messages: Messages) -> int:
        """Tokens of messages, with the system prompt and tools that were handed in with them."""
        session = self.session
        return int(
            count_tokens(
                messages, system=system_for(session, self.before), tools=session.tools,
                model=session.model, counter=session.counter,
            )
        )  # fmt: skip

    def archive_cleared(self) -> None:
        """Archive the results that the host has cleared already, as far as its file has them."""
        if self.transcript is not None:
            archive_cleared(self.session, self.transcript)

    def origin(self) -> dict[str, Any]:
        """Where the conversation comes from, as a compression records it."""
        transcript, session = self.transcript, self.session
        if transcript is None:
            return {}
        counter = Counter(session.model, session.counter)
        used, told = largest_in(transcript)
        handed_in = counter.system(session.given_system) + counter.tools(session.tools)
        return {
            "host": transcript.host,
            "model": transcript.model,
            "window": transcript.window,
            "beside": handed_in + self.tokens_beside,
            **({"used": used} if used else {}),
            **({"told": told} if told else {}),
            **({"project": transcript.project} if transcript.project else {}),
        }


def largest_in(transcript: Transcript) -> tuple[int, int]:
    """Tokens of the largest request that was answered, and of the largest context compacted.

    The second number is the host's, which may hold more than was ever sent.
    """
    largest = LargestUse()
    for request in transcript.requests:
        largest.add(request.input_tokens or 0, request.model)
    used = max(transcript.largest, largest.of(transcript.model), *(transcript.usage or (0,))[:1])
    return used, max((c.tokens_before or 0 for c in transcript.compactions), default=0)


def archive_cleared(session: Session, transcript: Transcript) -> None:
    """Archive the results that a host has cleared, each once."""
    if not transcript.cleared:
        return
    known = {about.get("sha256") for about in session.state().refs.values()}
    for cleared in transcript.cleared:
        if digest_of(cleared.text) not in known:
            session.offload(cleared.text, what=f"output of {cleared.tool}, which the host cleared")


def settings_in(
    origin: Mapping[str, Any],
    settings: Settings,
    model: str | None,
    environ: Mapping[str, str],
    home: Path,
) -> tuple[Settings, int]:
    """The settings, adapted to a host's conversation: the one source of its window and threshold.

    The window is that of the model named here, or the one that the host records, or that of its
    model, and no smaller than a request that was answered. The host may use less of it. Settings
    that the user has set count instead. A compression is due where the host itself compacts; before
    that where our plugin shortens its requests.

    Args:
        origin: `host`, `window`, `model`, `project` of the conversation, and `used` and `told`, as
            `largest_in` gives them; all as far as they are known.
        settings: the user's settings.
        model: the model that the caller names.
        environ: the environment variables.
        home: the user's home folder.

    Returns:
        The settings, and the size at which the host itself compacts; 0 if none is known.
    """
    host, given = origin.get("host", "messages"), settings.model_fields_set
    changed: dict[str, Any] = {}
    if host != "messages" and settings.summary_role != "user":
        changed["summary_role"] = "user"  # the host has its own system prompt
    window = None if model else origin.get("window")
    window = window or window_of(model or origin.get("model")) or settings.token_budget
    if "token_budget" in given:
        window = max(window, settings.token_budget)  # a smaller budget is not the host's window
    window = holding(window, origin.get("used") or 0, origin.get("told") or 0)
    project = Path(origin["project"]) if origin.get("project") else None
    limits = limits_of(host, window, environ, home, model or origin.get("model"), project)
    if "token_budget" not in given and (
        host != "messages" or limits.window != settings.token_budget
    ):
        changed["token_budget"] = limits.window
    settings = settings.changed(changed)
    share = limits.compacts_at / settings.token_budget
    usage, trigger = settings.target_usage, settings.trigger_threshold
    is_within = share <= (trigger if host in OURS_COMES_FIRST else 1)
    if "trigger_threshold" not in given and is_within and limits.compacts_at >= LEAST_THRESHOLD:
        if "target_usage" not in given:  # below the threshold by as much as without the host
            usage = min(usage, share * usage / trigger)
        taken: dict[str, Any] = {"trigger_threshold": share, "target_usage": usage}
        if "reserve_tokens" not in given:
            taken["reserve_tokens"] = min(
                settings.reserve_tokens, settings.token_budget - limits.compacts_at
            )
        settings = settings.changed(taken)
    return settings, limits.compacts_at


def is_own_session(id: str) -> bool:
    """Whether an id names such a session. Case is ignored, because some disks ignore it."""
    return id.lower() in KEPT_IN

"""`Opened`: a conversation as its session, with the transcript it is read from."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from context_compression.conversation.formats import parse
from context_compression.session import Session
from context_compression.settings import Settings
from context_compression.tokens import Anchor, Counter
from context_compression.transcripts.transcript import Transcript


@dataclass(frozen=True)
class Opened:
    """A conversation that a caller named.

    Attributes:
        session: our record of it.
        transcript: the file in which another program keeps it; `None` for a session that was
            recorded with this package, whose own history a compression changes.
        overhead_tokens: tokens outside the messages in each request of the program, if the session
            knows them.
    """

    session: Session
    transcript: Transcript | None = None
    overhead_tokens: int = 0

    @property
    def shown(self) -> Sequence[Mapping[str, Any]] | None:
        """The messages in the file of another program; `None` without a transcript."""
        if self.transcript is None:
            return None
        return self.transcript.conversation or self.transcript.messages

    @property
    def anchor(self) -> Anchor | None:
        """How many tokens the host's provider charged; `None` if that is not known.

        For a session without transcript: how many tokens the provider would charge for the view, if
        the session knows the tokens outside its messages.
        """
        if self.overhead_tokens:
            view, session = self.session.view(), self.session
            counter = Counter(session.model, session.counter)
            counted = counter.messages(parse(view).messages) + counter.system(session.system)
            return Anchor(counted + self.overhead_tokens, len(view))
        usage = self.transcript.usage if self.transcript else None
        return Anchor(*usage) if usage else None

    @property
    def not_counted(self) -> int:
        """Tokens the host's provider charged beyond our count, such as system prompt and tools.

        0 if the transcript does not say what was charged. For a session without transcript: all
        tokens outside its messages.
        """
        if self.transcript is None or (anchor := self.anchor) is None:
            return self.overhead_tokens
        session = self.session
        counter = Counter(session.model, session.counter)
        charged = parse(self.transcript.messages[: anchor.messages]).messages
        counted = counter.messages(charged) + counter.system(session.system)
        return max(0, anchor.tokens - counted - counter.tools(session.tools))


def settings_in(origin: Mapping[str, Any], settings: Settings, model: str | None) -> Settings:
    """The settings, adapted to a host's conversation."""
    window = origin.get("window")
    if window and model is None and "token_budget" not in settings.model_fields_set:
        settings = settings.changed({"token_budget": window})
    if origin.get("host", "messages") != "messages" and settings.summary_role != "user":
        settings = settings.changed({"summary_role": "user"})  # the host has its own system prompt
    return settings

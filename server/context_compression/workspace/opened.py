"""A conversation that is open: our session for it, and the transcript that it is read from."""

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
    """A conversation somebody asked for.

    Attributes:
        session: our record of it.
        transcript: the file another program keeps it in; `None` for a session recorded with us,
            whose history a compression really changes.
        beside: tokens that the requests of the program hold beside the messages, where a session
            tells of it.
    """

    session: Session
    transcript: Transcript | None = None
    beside: int = 0

    @property
    def shown(self) -> Sequence[Mapping[str, Any]] | None:
        """What the file of another program holds, read already where it had to be."""
        if self.transcript is None:
            return None
        return self.transcript.conversation or self.transcript.messages

    @property
    def anchor(self) -> Anchor | None:
        """What the host's provider really charged, where the transcript says so.

        Of a session alone: what it would charge for the view.
        """
        if self.beside:
            view, session = self.session.view(), self.session
            counter = Counter(session.model, session.counter)
            counted = counter.messages(parse(view).messages) + counter.system(session.system)
            return Anchor(counted + self.beside, len(view))
        usage = self.transcript.usage if self.transcript else None
        return Anchor(*usage) if usage else None

    @property
    def not_counted(self) -> int:
        """Tokens the host's provider charged beyond our count: system prompt, tools and the like.

        0 where the transcript does not say what was charged. Of a session alone, which has neither,
        all that stands beside its messages.
        """
        if self.transcript is None or (anchor := self.anchor) is None:
            return self.beside
        session = self.session
        counter = Counter(session.model, session.counter)
        charged = parse(self.transcript.messages[: anchor.messages]).messages
        counted = counter.messages(charged) + counter.system(session.system)
        return max(0, anchor.tokens - counted - counter.tools(session.tools))


def settings_in(origin: Mapping[str, Any], settings: Settings, model: str | None) -> Settings:
    """The settings as a host's conversation needs them."""
    window = origin.get("window")
    if window and model is None and "token_budget" not in settings.model_fields_set:
        settings = settings.changed({"token_budget": window})
    if origin.get("host", "messages") != "messages" and settings.summary_role != "user":
        settings = settings.changed({"summary_role": "user"})  # it has a system prompt of its own
    return settings

"""The kept messages of a view in their forms, with which each attempt to fill its room begins."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from context_compression.conversation.messages import Message, texts_of
from context_compression.planning.plan import Plan
from context_compression.strategies import measured
from context_compression.strategies.forms import Form, Forms
from context_compression.strategies.quoting import Quoting


@dataclass(frozen=True)
class Beside:
    """A note that a view has anyway: the summary, beside which pieces are shown.

    Attributes:
        notes: the note, by an index in the run of messages that it replaces.
        covered: messages that it replaces completely: earlier summaries, which it updates.
    """

    notes: Mapping[int, Message] = field(default_factory=dict[int, Message])
    covered: frozenset[int] = frozenset()


@dataclass(frozen=True)
class KeptMessages:
    """The messages that stay, and the room of their view.

    Attributes:
        forms: the forms of the messages of a plan.
        kept: the form of each message that stays, by its index.
        shown: these messages in their forms, with all of their pictures.
        room: the tokens that the view may take.
        first: from this index on, texts of the model may be messages of the view.
        beside: a note that the view has anyway.
    """

    forms: Forms
    kept: Mapping[int, Form]
    shown: Mapping[int, Message]
    room: int
    first: int
    beside: Beside = Beside()

    @property
    def plan(self) -> Plan:
        """The plan of the conversation."""
        return self.forms.plan

    @property
    def quoting(self) -> Quoting:
        """The object that quotes the other messages."""
        return self.forms.quoting

    def may_lose_pictures(self, index: int) -> bool:
        """Whether pictures of a message need not be shown."""
        return self.kept.get(index) not in (Form.FULL, Form.RESULTS)

    @property
    def lacks_much(self) -> bool:
        """Whether the view lacks so many files and names that it has lines for them."""
        return (
            self.room in measured.SMALL_ROOM_TOKENS
            and self.plan.total >= measured.LONG_CONVERSATION_TOKENS
        )

    def with_added(self, added: Mapping[int, Form]) -> "KeptMessages":
        """These messages and more, each in its form."""
        shown = {index: self.forms.plain(index, form) for index, form in added.items()}
        return replace(self, kept={**self.kept, **added}, shown={**self.shown, **shown})


def texts_in(view: Mapping[int, Message]) -> Iterator[str]:
    """All texts of some messages."""
    return (
        text for message in view.values() for block in message.blocks for text in texts_of(block)
    )

"""What a compression is about: the conversation as it came, read, mended, counted."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import chain
from typing import Any

from context_compression.compression.request import CompressionRequest
from context_compression.conversation import validity
from context_compression.conversation.formats import Conversation, parse
from context_compression.conversation.messages import Message, Text, ToolResult
from context_compression.conversation.provider_rules import ProviderRules
from context_compression.conversation.system_prompt import carried
from context_compression.conversation.validity import Repaired
from context_compression.evidence.facts import is_talk
from context_compression.planning import edits
from context_compression.planning.archive import Archive
from context_compression.planning.cuts import Cutter, cutter_for, keep
from context_compression.planning.edits import Edit, View
from context_compression.planning.pins import pinned
from context_compression.planning.plan import Plan
from context_compression.planning.steps import owner_of, reasoning_of
from context_compression.settings import Settings
from context_compression.strategies.consequences import (
    takes_turns,
    with_consequences,
    without_bound,
    without_stale_thinking,
)
from context_compression.strategies.summarize import previous_summary
from context_compression.tokens import (
    Count,
    Counter,
    anchor_in,
    anchored,
    takes_thinking_anywhere,
)

COMPETING = ("auto", "offload", "extract")
"""Strategies that choose among the pieces of texts."""
SURELY_LONG = 6
"""Characters for each token of the target beyond which a conversation is taken for longer: hardly
any text has so many to a token."""


class PreparedConversation:
    """A conversation that shall be compressed.

    Attributes:
        ask: what is asked for.
        settings: those that count, the model's window among them.
        strategy: by name, or `auto`.
        conversation: the messages as they were read.
        repaired: those mended, so that a provider takes them.
        mended: those without what the system prompt takes over: what strategies see.
        prompt: that system prompt.
        beside: tokens of what stands beside the messages, by what it is.
        fixed: their sum.
        plan: for doing all that can be done: without a room to keep to.
        before: tokens of all of it.
        warnings: what of the request came to nothing.
    """

    def __init__(self, ask: CompressionRequest, settings: Settings, strategy: str) -> None:
        """Read, mend and count.

        Raises:
            InvalidConversation: not a conversation in a format we know.
            InvalidCounter: the counter gives no number of tokens.
        """
        self.ask, self.settings, self.strategy = ask, settings, strategy
        self.counter = Counter(ask.model, ask.counter)
        self.conversation: Conversation = parse(ask.messages)
        self.rules = self._rules()
        self.repaired = self._repaired()
        self.mended, self.prompt = carried(self.repaired, ask.system)
        self.beside = {
            "system prompt": self.counter.system(self.prompt.bare),
            "tool schemas": self.counter.tools(ask.tools),
        }
        self.fixed = sum(self.beside.values())
        self.warnings: list[str] = []
        messages = self.mended.messages
        self.plan = Plan(
            messages,
            self._counted(messages),
            self.counter,
            settings,
            pins=self._pins(),
            rules=self.rules,
            drops_thinking=self.drops_thinking,
            archive=ask.store.archive if ask.store else Archive(),
            focus=ask.focus,
            model=ask.model,
        )
        whole = View(messages, tuple(range(len(messages))), ())
        self._viewed: tuple[Sequence[Edit], View, int] = (), whole, self._tokens(whole)
        self.before = self.fixed + self._viewed[2]

    def _rules(self) -> ProviderRules:
        """What the provider refuses; roles alternate where the user, or model and input, say so."""
        rules, wanted = self.conversation.format.rules, self.settings.alternate_roles
        if wanted is None:
            apart = rules.results_role == "tool"
            strict = self.ask.model is not None and self.counter.family.name == "other" and apart
            wanted = strict and takes_turns(self.conversation.messages)
        return replace(rules, alternates=rules.alternates or wanted)

    @property
    def drops_thinking(self) -> bool:
        """Whether signed thinking goes with what it is bound to: by the settings, or the model."""
        wanted = self.settings.thinking
        anywhere = wanted == "auto" and takes_thinking_anywhere(self.ask.model)
        return not (wanted == "keep" or anywhere)

    def _repaired(self) -> Repaired:
        """The conversation as a provider takes it; thinking behind a repair goes with it."""
        conversation = self.conversation
        repaired = validity.repair(conversation.messages, self.rules, conversation.without_halves)
        if not repaired.repairs or not self.drops_thinking:
            return repaired
        return without_stale_thinking(conversation.messages, repaired)

    def _counted(self, messages: Sequence[Message]) -> tuple[int, ...]:
        """Tokens of each message.

        Long texts are counted in a thread. Where they are surely too long, the results of tools are
        cut meanwhile: nearly all of them are going to compete.
        """
        if counting := self.counter.ahead(messages):
            target = self.ask.target_tokens or self.settings.threshold_tokens
            competes = self.strategy in COMPETING and not self.ask.can_ask
            try:
                if competes and counting.chars > SURELY_LONG * target:
                    for result in chain.from_iterable(message.results for message in messages):
                        self.cutter(result.text)
            finally:
                counting.finish()
        return tuple(map(self.counter.message, messages))

    @cached_property
    def cutter(self) -> Cutter:
        """The cutter for the texts, which are held no longer than it takes to find it."""
        blocks = chain.from_iterable(message.blocks for message in self.mended.messages)
        texts = [block.text for block in blocks if isinstance(block, Text | ToolResult)]
        return cutter_for(texts, prose=is_talk(self.mended.messages))

    def release(self) -> None:
        """Give the cutter back, if there is one: the next compression may know its texts."""
        if cutter := vars(self).pop("cutter", None):
            keep(cutter)

    def _pins(self) -> frozenset[int]:
        """The pinned messages among the mended ones, with their call and result partners."""
        messages = self.conversation.messages
        self.warnings += (
            f"pin {pin!r} matches no message"
            for pin in self.ask.pins
            if not pinned(messages, [pin])
        )
        wanted = pinned(messages, self.ask.pins)
        found = {i for i, origin in enumerate(self.mended.origins) if origin in wanted}
        if self.rules.reasoning_apart:  # what is pinned needs its reasoning, and that its owner
            mended = self.mended.messages
            found |= {owner_of(mended, index) for index in found}
            found |= {before for index in found for before in reasoning_of(mended, index)}
        return frozenset(found)

    @cached_property
    def used(self) -> Count:
        """How full the context is; what a provider really charged counts before our count."""
        at = None if self.prompt.at is not None else anchor_in(self.conversation.raw)
        if self.ask.counter is None and at:
            return anchored(self.counter, self.conversation.messages, at)
        beside = self.before - self.counter.messages(self.conversation.messages)
        return self.counter.total(self.conversation.messages, beside + self.ask.not_counted)

    @property
    def beyond(self) -> int:
        """Tokens that are charged and not counted here, as somebody says or as `used` shows."""
        return self.ask.not_counted or max(0, self.used - self.before)

    @property
    def in_system(self) -> bool:
        """Whether a new summary goes to the system prompt: Anthropic has no other system role."""
        claude = self.counter.family.name.startswith("claude")  # plain texts may be anybody's
        wanted = self.settings.summary_role == "system" and self.conversation.format.system_apart
        return wanted and (claude or self.ask.system is not None)

    def view(self, proposed: Sequence[Edit]) -> tuple[View, int]:
        """What edits lead to, and its tokens; the last answer is remembered."""
        if self._viewed[0] is not proposed:
            messages, count = self.mended.messages, self.counter.message
            settled = with_consequences(self.plan, proposed)
            view = edits.apply(messages, settled, count, self.rules)
            binds = self.plan.bound and self.plan.drops_thinking
            if binds and self.placed(view)[1] is not self.ask.system:
                settled = without_bound(self.plan, settled, first=0)
                view = edits.apply(messages, settled, count, self.rules)
            self._viewed = proposed, view, self._tokens(view)
        return self._viewed[1:]

    def placed(self, view: View) -> tuple[list[Message], Any]:
        """Messages and system prompt of a view, as they are sent."""
        made = (m for e in view.edits if e.record for m in e.becomes if previous_summary(m))
        return self.prompt.placed(
            view.messages, view.origins, next(made, None) if self.in_system else None
        )

    def _tokens(self, view: View) -> int:
        """Of its messages, and of a summary in its system prompt."""
        messages, system = self.placed(view)
        summary = self.counter.system(system) - self.beside["system prompt"]
        known, count = self._known, self.counter.message
        return summary + sum(known[id(m)] if id(m) in known else count(m) for m in messages)

    @cached_property
    def _known(self) -> Mapping[int, int]:
        """Tokens of the messages of the plan, by their `id`: those live as long as the plan."""
        return dict(zip(map(id, self.plan.messages), self.plan.tokens, strict=True))

    def parts(self, of_messages: dict[str, int]) -> dict[str, int]:
        """Tokens by what they are spent on, with what stands beside the messages."""
        return of_messages | {name: tokens for name, tokens in self.beside.items() if tokens}

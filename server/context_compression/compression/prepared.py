"""`PreparedConversation`: what strategies get to work on: read, repaired, counted, planned."""

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
"""Characters for each token of the target from which on a conversation is surely over the target:
hardly any text has so many characters to a token."""


class PreparedConversation:
    """A conversation that is ready to be compressed.

    Attributes:
        request: the arguments of this compression.
        settings: those that apply, the model's window among them.
        strategy: by name, or `auto`.
        counter: counts in the model's tokens.
        conversation: the messages as they were read.
        rules: what the provider refuses.
        repaired: the messages as a provider takes them.
        planned: the same with an earlier summary, which the system prompt held, as one of the
            messages. Strategies see these.
        prompt: the system prompt, apart from that summary.
        overhead: tokens outside the messages: of the system prompt and of the tool schemas, by
            name.
        fixed_tokens: the sum of these.
        plan: without a limit of tokens.
        tokens_before: of the messages and the overhead.
        warnings: for the caller, in plain words: pins that match nothing, summaries that failed.
    """

    def __init__(self, request: CompressionRequest, settings: Settings, strategy: str) -> None:
        """Read, repair, count and plan.

        Raises:
            InvalidConversation: not a conversation in a format we know.
            InvalidCounter: the counter gives no number of tokens.
        """
        self.request, self.settings, self.strategy = request, settings, strategy
        self.counter = Counter(request.model, request.counter)
        self.conversation: Conversation = parse(request.messages)
        self.rules = self._rules()
        self.repaired = self._repaired()
        self.planned, self.prompt = carried(self.repaired, request.system)
        self.overhead = {
            "system prompt": self.counter.system(self.prompt.bare),
            "tool schemas": self.counter.tools(request.tools),
        }
        self.fixed_tokens = sum(self.overhead.values())
        self.warnings: list[str] = []
        messages = self.planned.messages
        self.plan = Plan(
            messages,
            self._counted(messages),
            self.counter,
            settings,
            pins=self._pins(),
            rules=self.rules,
            drops_thinking=self.drops_thinking,
            archive=request.store.archive if request.store else Archive(),
            focus=request.focus,
            model=request.model,
        )
        unedited = View(messages, tuple(range(len(messages))), ())
        self._last_view: tuple[Sequence[Edit], View, int] = (), unedited, self._tokens(unedited)
        self.tokens_before = self.fixed_tokens + self._last_view[2]

    def _rules(self) -> ProviderRules:
        """What the provider refuses.

        Roles have to alternate where the settings say so. Where they say nothing: for a model of
        another family in the dialect of OpenAI Chat, if the roles of the input alternate already.
        """
        rules, alternate = self.conversation.format.rules, self.settings.alternate_roles
        if alternate is None:
            others_model = self.request.model is not None and self.counter.family.name == "other"
            strict = others_model and rules.results_role == "tool"
            alternate = strict and takes_turns(self.conversation.messages)
        return replace(rules, alternates=rules.alternates or alternate)

    @property
    def drops_thinking(self) -> bool:
        """Whether signed thinking goes with what it is bound to: by the settings, or the model."""
        thinking = self.settings.thinking
        anywhere = thinking == "auto" and takes_thinking_anywhere(self.request.model)
        return not (thinking == "keep" or anywhere)

    def _repaired(self) -> Repaired:
        """The conversation as a provider takes it, without the thinking that a repair breaks."""
        conversation = self.conversation
        repaired = validity.repair(conversation.messages, self.rules, conversation.without_halves)
        if not repaired.repairs or not self.drops_thinking:
            return repaired
        return without_stale_thinking(conversation.messages, repaired)

    def _counted(self, messages: Sequence[Message]) -> tuple[int, ...]:
        """Tokens of each message.

        A thread counts long texts. Where the conversation is surely over the target, tool results
        are cut into pieces meanwhile: nearly all of them are going to compete.
        """
        if counting := self.counter.ahead(messages):
            target = self.request.target_tokens or self.settings.threshold_tokens
            competes = self.strategy in COMPETING and not self.request.has_summarizer
            try:
                if competes and counting.chars > SURELY_LONG * target:
                    for result in chain.from_iterable(message.results for message in messages):
                        self.cutter(result.text)
            finally:
                counting.finish()
        return tuple(map(self.counter.message, messages))

    @cached_property
    def cutter(self) -> Cutter:
        """The cutter that knows most of the texts; the texts themselves are not kept for it."""
        blocks = chain.from_iterable(message.blocks for message in self.planned.messages)
        texts = [block.text for block in blocks if isinstance(block, Text | ToolResult)]
        return cutter_for(texts, prose=is_talk(self.planned.messages))

    def release(self) -> None:
        """Give the cutter back, if there is one: the next compression may have the same texts."""
        if cutter := vars(self).pop("cutter", None):
            keep(cutter)

    def _pins(self) -> frozenset[int]:
        """Indices of the pinned messages in the plan, with what they need to be valid."""
        messages = self.conversation.messages
        self.warnings += (
            f"pin {pin!r} matches no message"
            for pin in self.request.pins
            if not pinned(messages, [pin])
        )
        origins = pinned(messages, self.request.pins)
        pins = {i for i, origin in enumerate(self.planned.origins) if origin in origins}
        if self.rules.reasoning_apart:  # a pinned item needs its reasoning, and that its owner
            planned = self.planned.messages
            pins |= {owner_of(planned, index) for index in pins}
            pins |= {before for index in pins for before in reasoning_of(planned, index)}
        return frozenset(pins)

    @cached_property
    def used(self) -> Count:
        """How many tokens the context holds; a provider's own number goes before our count."""
        anchor = None if self.prompt.at is not None else anchor_in(self.conversation.raw)
        if self.request.counter is None and anchor:
            return anchored(self.counter, self.conversation.messages, anchor)
        messages = self.conversation.messages
        overhead = self.tokens_before - self.counter.messages(messages)
        return self.counter.total(messages, overhead + self.request.not_counted)

    @property
    def uncounted_tokens(self) -> int:
        """Tokens that a provider charges beyond our count: as the request says, or as `used` is."""
        return self.request.not_counted or max(0, self.used - self.tokens_before)

    @property
    def summary_in_system(self) -> bool:
        """Whether a new summary goes to the system prompt: Anthropic has no other system role."""
        claude = self.counter.family.name.startswith("claude")  # plain texts fit other dialects
        possible = self.conversation.format.system_apart
        by_settings = self.settings.summary_role == "system" and possible
        return by_settings and (claude or self.request.system is not None)

    def view(self, proposed: Sequence[Edit]) -> tuple[View, int]:
        """The view that edits make, and the tokens of its messages; the last one is remembered."""
        if self._last_view[0] is not proposed:
            messages, count = self.planned.messages, self.counter.message
            settled = with_consequences(self.plan, proposed)
            view = edits.apply(messages, settled, count, self.rules)
            binds = self.plan.bound and self.plan.drops_thinking
            if binds and self.placed(view)[1] is not self.request.system:
                settled = without_bound(self.plan, settled, first=0)
                view = edits.apply(messages, settled, count, self.rules)
            self._last_view = proposed, view, self._tokens(view)
        return self._last_view[1:]

    def placed(self, view: View) -> tuple[list[Message], Any]:
        """Messages and system prompt of a view, as they are sent."""
        new = (m for e in view.edits if e.record for m in e.becomes if previous_summary(m))
        summary = next(new, None) if self.summary_in_system else None
        return self.prompt.placed(view.messages, view.origins, summary)

    def _tokens(self, view: View) -> int:
        """Tokens of a view's messages, and of a summary in its system prompt."""
        messages, system = self.placed(view)
        summary = self.counter.system(system) - self.overhead["system prompt"]
        counted, count = self._counted_by_id, self.counter.message
        return summary + sum(counted[id(m)] if id(m) in counted else count(m) for m in messages)

    @cached_property
    def _counted_by_id(self) -> Mapping[int, int]:
        """Tokens of the plan's messages, by their `id`: those live as long as the plan."""
        return dict(zip(map(id, self.plan.messages), self.plan.tokens, strict=True))

    def with_overhead(self, parts: Mapping[str, int]) -> dict[str, int]:
        """Tokens of messages by what they are spent on, and those of the overhead."""
        return {**parts, **{name: tokens for name, tokens in self.overhead.items() if tokens}}

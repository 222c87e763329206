"""The context in each request of a session, its compactions, and what it all cost."""

from collections import Counter as Tally
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from types import MappingProxyType
from typing import Any, NamedTuple, Protocol, TypeVar

from context_compression.conversation.formats import Conversation
from context_compression.conversation.messages import Message, as_object, is_by_model
from context_compression.report.model import CompactionMark, Cost, Point
from context_compression.report.rough import Reading, Rough
from context_compression.tokens import Counter
from context_compression.tokens.prices import Price, price_of, prices_of
from context_compression.tokens.usage import adding_up_to, breakdown
from context_compression.transcripts.reading import answers_among
from context_compression.transcripts.transcript import AnsweredRequest, Compaction, Stage


@dataclass(frozen=True)
class MeasuredStage:
    """A stage of a history, with its messages as values, and their tokens by kind of content."""

    stage: Stage
    messages: Sequence[Message]
    by_kind: Sequence[Mapping[str, int]]

    @cached_property
    def sizes(self) -> Sequence[int]:
        """Tokens of each message."""
        return [sum(kinds.values()) for kinds in self.by_kind]


def measured(
    stages: Sequence[Stage], conversations: Sequence[Conversation], counter: Counter
) -> list[MeasuredStage]:
    """All stages of a history. A message that a compaction left as it was is not counted again."""
    known: dict[int, Mapping[str, int]] = {}
    made: list[MeasuredStage] = []
    for stage, conversation in zip(stages, conversations, strict=True):
        messages = conversation.messages
        if ahead := counter.ahead(m for m in messages if id(m.source) not in known):
            ahead.finish()
        for source, message in zip(stage.messages, messages, strict=True):
            if id(source) not in known:
                known[id(source)] = breakdown([message], counter)
        made.append(MeasuredStage(stage, messages, [known[id(raw)] for raw in stage.messages]))
    return made


def measured_roughly(
    stages: Sequence[Stage],
    conversations: Sequence[Conversation] | None,
    counter: Counter,
    rough: Rough,
) -> list[MeasuredStage]:
    """All stages of a long history, with sizes by the characters of the texts.

    `conversations` are the messages of each stage as values, if they were read.
    """
    made: list[MeasuredStage] = []
    for place, (stage, parts) in enumerate(zip(stages, rough.parts, strict=True)):
        by_kind = [rough.by_kind(each, counter.family.per_message) for each in parts]
        read = conversations[place].messages if conversations else Reading(stage.messages)
        made.append(MeasuredStage(stage, read, by_kind))
    return made


def summed(by_kind: Iterable[Mapping[str, int]]) -> dict[str, int]:
    """Tokens by kind of several messages together, the largest first."""
    sums: Tally[str] = Tally()
    for kinds in by_kind:
        sums.update(kinds)
    return dict(sums.most_common())


NOTHING: Mapping[str, int] = MappingProxyType({})
MOST_POINTS = 600
"""About how many points a report has; a page could not show more of them side by side."""


@dataclass(frozen=True)
class Sent:
    """One request, with its context.

    Attributes:
        request: as it was recorded, or as its answer shows it.
        number: of the request, from 1.
        tokens: of its context.
        counted: tokens of its messages by kind of content, as we count them.
        first: whether it is the first after a compaction.
        removed: tokens that compactions and hooks kept out of its context.
        answer: tokens of the answer.
    """

    request: AnsweredRequest
    number: int
    tokens: int
    counted: Mapping[str, int]
    first: bool
    removed: int
    answer: int

    @property
    def point(self) -> Point:
        """Its context."""
        by_kind = adding_up_to(self.tokens, self.counted)
        return Point(self.number, self.request.time, by_kind, self.request.input_tokens)


@dataclass(frozen=True)
class Course:
    """The course of a session: its requests, and its compactions among them."""

    sent: Sequence[Sent]
    marks: Sequence[CompactionMark]

    @property
    def points(self) -> list[Point]:
        """The context in each request; thinned out if there are more than `MOST_POINTS`."""
        beside = {mark.after for mark in self.marks}
        kept = thinned(self.sent, {*beside, *(number + 1 for number in beside)})
        return [sent.point for sent in kept]


def course_of(
    stages: Sequence[MeasuredStage], beside: int = 0, kept_out: Mapping[str, int] = NOTHING
) -> Course:
    """The course of a session.

    Args:
        stages: of its history.
        beside: tokens outside the messages in each request; those that a provider charged beyond
            our count replace it.
        kept_out: tokens that a hook kept out of a tool result, by the id of its call.
    """
    sent: list[Sent] = []
    marks: list[CompactionMark] = []
    removed = before = 0
    for place, stage in enumerate(stages):
        requests = requests_of(stage)
        after = sum(stage.sizes[: stage.stage.carried]) + _beside(stage, requests[:1], beside)
        if place:
            removed = max(0, removed + before - after)
        if began := stage.stage.began:
            marks.append(_mark(began, len(sent), before or beside, after))
        left_out = [*_left_out(stage, kept_out)]
        sent += _sent(stage, requests, len(sent), removed, max(0, beside), left_out)
        removed += sum(left_out)
        beside = _beside(stage, requests[-1:], beside)
        before = sum(stage.sizes) + beside
    return Course(sent, marks)


def _beside(stage: MeasuredStage, requests: Sequence[AnsweredRequest], known: int) -> int:
    """Tokens that a request was charged beyond our count of its messages; else `known`.

    A compaction changes them, too: its host may bring back files that its transcript does not
    hold, or clear results that were in the context before the file begins.
    """
    for request in requests:
        if request.input_tokens is not None:
            return request.input_tokens - sum(stage.sizes[: request.messages])
    return known


def _mark(began: Compaction, after: int, counted_before: int, counted_after: int) -> CompactionMark:
    """A compaction at its place, with its sizes as we counted them where the host told none.

    The sizes of one that only cleared tool results are those of the results (Claude Code 2.1.22).
    """
    told = (None, None) if began.cleared else (began.tokens_before, began.tokens_after)
    before, left = told
    if before is None and after:
        before = counted_before
    sizes = {"tokens_before": before, "tokens_after": counted_after if left is None else left}
    return CompactionMark(after, replace(began, **sizes))


def _sent(
    stage: MeasuredStage,
    requests: Sequence[AnsweredRequest],
    number: int,
    removed: int,
    beside: int,
    left_out: Sequence[int],
) -> Iterator[Sent]:
    """The requests of a stage; each message is added to the sums once."""
    sums: dict[str, int] = {}
    counted = 0
    place, first = 0, stage.stage.carried > 0
    for request in requests:
        number += 1
        for kinds in stage.by_kind[place : request.messages]:
            for kind, tokens in kinds.items():
                sums[kind] = sums.get(kind, 0) + tokens
        counted += sum(stage.sizes[place : request.messages])
        removed += sum(left_out[place : request.messages])
        place = max(place, request.messages)
        charged = request.input_tokens
        size = counted + beside if charged is None else charged
        beside = max(0, size - counted)
        yield Sent(
            request=request,
            number=number,
            tokens=size,
            counted={**sums},
            first=first,
            removed=removed,
            answer=_size_of_answer(request, sum(stage.sizes[place : _answered(stage, place)])),
        )
        first = False


def _left_out(stage: MeasuredStage, kept_out: Mapping[str, int]) -> Iterator[int]:
    """For each message of a stage: tokens that were kept out of it when it came."""
    if not kept_out:
        yield from [0] * len(stage.messages)
        return
    for place, message in enumerate(stage.messages):
        came = place >= stage.stage.carried
        yield sum(kept_out.get(result.call_id, 0) for result in message.results) if came else 0


def requests_of(stage: MeasuredStage) -> Sequence[AnsweredRequest]:
    """The requests of a stage, in their order; without a record of them, one for each answer."""
    of, messages = stage.stage, stage.stage.messages
    requests = of.requests or answers_among(messages, of.carried, of.times)
    return [
        _charged(request, messages[request.messages])
        if request.input_tokens is None and request.messages < len(messages)
        else request
        for request in sorted(requests, key=lambda request: request.messages)
    ]


def _charged(request: AnsweredRequest, answer: Mapping[str, Any]) -> AnsweredRequest:
    """A request with the tokens in the `usage` of its answer, if the answer has one."""
    usage = as_object(answer.get("usage"))
    read = _tokens(usage, "cache_read_input_tokens")
    written = _tokens(usage, "cache_creation_input_tokens")
    charged = _tokens(usage, "input_tokens") + read + written
    if total := _tokens(usage, "prompt_tokens"):  # of OpenAI, which includes cached tokens
        charged = total
        read = _tokens(as_object(usage.get("prompt_tokens_details")), "cached_tokens")
    if not charged:
        return request
    return replace(
        request,
        input_tokens=charged,
        cache_read_tokens=read,
        cache_write_tokens=written,
        output_tokens=_tokens(usage, "output_tokens") or _tokens(usage, "completion_tokens"),
    )


def _tokens(usage: Mapping[str, Any], name: str) -> int:
    value = usage.get(name)
    return value if isinstance(value, int) else 0


def _size_of_answer(request: AnsweredRequest, counted: int) -> int:
    """Tokens of an answer; streamed answers are often recorded with a placeholder like 1 or 8."""
    recorded = request.output_tokens
    return recorded if 2 * recorded >= counted else counted


def _answered(stage: MeasuredStage, place: int) -> int:
    """The end of the answer that begins at `place`."""
    end, messages = place, stage.stage.messages
    while end < len(messages) and is_by_model(messages[end]):
        end += 1
    return end


class HasNumber(Protocol):
    """A request with its number and its size."""

    @property
    def number(self) -> int:
        """Of the request, from 1."""
        ...

    @property
    def tokens(self) -> int:
        """Of its context."""
        ...


Numbered = TypeVar("Numbered", bound=HasNumber)


def thinned(
    requests: Sequence[Numbered], numbers: set[int], most: int = MOST_POINTS
) -> list[Numbered]:
    """At most about `most` requests: the largest of each span, the first, the last, `numbers`."""
    if len(requests) <= most:
        return [*requests]
    kept = {each.number for each in (requests[0], requests[-1])}
    kept |= numbers & {each.number for each in requests}
    spans = max(1, most - len(kept))
    for span in range(spans):
        start, stop = span * len(requests) // spans, (span + 1) * len(requests) // spans
        kept.add(max(requests[start:stop], key=lambda each: each.tokens).number)
    return [each for each in requests if each.number in kept]


class Input(NamedTuple):
    """The tokens of a request's input, by what the provider's cache had to do with them."""

    plain: float
    read: float
    written: float

    def plus(self, other: "Input") -> "Input":
        """Both together."""
        return Input(*(a + b for a, b in zip(self, other, strict=True)))

    def times(self, share: float) -> "Input":
        """A share of each."""
        return Input(*(share * tokens for tokens in self))


NOTHING_SENT = Input(0, 0, 0)
WEIGHTS = Price(1_000_000, 0)
"""What turns tokens into those that a report counts: dollars at a dollar for each."""


@dataclass(frozen=True)
class Paid:
    """A request with its input as it was paid, and as it would have been if nothing had left.

    Attributes:
        sent: the request.
        paid: its input.
        without: its input if nothing had left, up to the window.
        full: tokens of that input before it was cut to the window.
        most: the tokens that it was cut to.
    """

    sent: Sent
    paid: Input
    without: Input
    full: int
    most: int


def cost_of(sent: Sequence[Sent], window: int, model: str = "") -> Cost:
    """The cost of all requests.

    "Without" is each request with the tokens that left the context before it. Its cache behaves as
    it did: what left is read from the cache if the request read anything from it.

    Args:
        sent: the requests.
        window: the size of the model's context window.
        model: that of requests which do not name theirs.
    """
    paid = [*_paid(sent, window)]
    charged = sum(one.request.input_tokens is not None for one in sent)
    cost = Cost(
        requests=len(sent),
        with_us=round(sum(WEIGHTS.of_input(*each.paid, 0) for each in paid)),
        without=round(sum(WEIGHTS.of_input(*each.without, 0) for each in paid)),
        output=sum(one.answer for one in sent),
        measured=charged > len(sent) / 2,
        impossible=sum(each.full > each.most for each in paid),
        input=round(sum(sum(each.paid) for each in paid)),
    )
    return _in_dollars(cost, paid, model)


def _in_dollars(cost: Cost, paid: Sequence[Paid], model: str) -> Cost:
    """The cost with dollars, if the prices of all its models are known."""
    models = {each.sent.request.model or model for each in paid}
    known = {name: price for name in models if (price := price_of(name))}
    if len(known) < len(models) or not models:
        return replace(cost, unpriced=sorted(models - known.keys()))
    dollars = without = output = 0.0
    for each in paid:
        of_model, size = known[each.sent.request.model or model], each.sent.tokens
        dollars += of_model.of_input(*each.paid, size)
        without += of_model.of_input(*each.without, min(each.full, each.most))
        output += of_model.of_output(each.sent.answer, size)
    return replace(
        cost,
        dollars=dollars,
        dollars_without=without,
        output_dollars=output,
        prices=prices_of().isoformat(),
    )


def _paid(sent: Sequence[Sent], window: int) -> Iterator[Paid]:
    """All requests with their input."""
    caches = any(one.request.cache_read_tokens for one in sent) or not any(
        one.request.input_tokens is not None for one in sent
    )
    before = full_before = 0
    for one in sent:
        size = one.tokens
        full = size + one.removed
        paid = _recorded(one) if one.request.input_tokens is not None else None
        if paid is None:  # estimated: a compaction leaves nothing that the cache could hold
            paid = _split(size, 0 if one.first else before, caches)
        if (one.first and caches) or one.request.input_tokens is None:
            without = _split(full, full_before, caches)
        else:
            without = paid.plus(_at_the_beginning(one, full - size))
        most = max(window, size)  # a window that is known wrongly did not stop the request
        without = without.times(min(1, most / full)) if full else NOTHING_SENT
        yield Paid(one, paid, without, full, most)
        before, full_before = size, full


def _recorded(one: Sent) -> Input:
    """The input of a request as its provider charged it."""
    read, written = one.request.cache_read_tokens, one.request.cache_write_tokens
    return Input(max(0, (one.request.input_tokens or 0) - read - written), read, written)


def _split(size: int, cached: int, caches: bool) -> Input:
    """The input of a request whose first tokens the provider's cache holds."""
    if not caches:
        return Input(size, 0, 0)
    read = min(size, cached)
    return Input(0, read, size - read)


def _at_the_beginning(one: Sent, tokens: int) -> Input:
    """More tokens at the beginning of a request, which a cache holds first."""
    if one.request.cache_read_tokens:
        return Input(0, tokens, 0)
    return Input(0, 0, tokens) if one.request.cache_write_tokens else Input(tokens, 0, 0)

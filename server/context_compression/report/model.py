"""The facts of a report. Counts are in tokens of the session's model, times in seconds since 1970.

Strings come from the conversation, so whoever shows them escapes them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from context_compression.transcripts.transcript import Compaction


@dataclass(frozen=True)
class Point:
    """The context in one request.

    Attributes:
        number: of the request, from 1.
        time: when it was answered; `None` if that is unknown.
        by_kind: tokens by kind of content, as in `Status.by_kind`; they add up to the context.
        charged: the input that the provider charged; `None` if that is unknown.
    """

    number: int
    time: float | None
    by_kind: Mapping[str, int]
    charged: int | None = None

    @property
    def tokens(self) -> int:
        """The size of the context."""
        return sum(self.by_kind.values())


@dataclass(frozen=True)
class CompactionMark:
    """A compaction, at its place in the course of the session.

    Attributes:
        after: the number of the last request before it; 0 if there was none.
        compaction: its facts; sizes that the host does not record are counted by us.
    """

    after: int
    compaction: Compaction


@dataclass(frozen=True)
class Consumer:
    """What put tokens into the context: a tool, or a file.

    Attributes:
        name: of the tool, or the path of the file.
        tokens: of its calls and results, over the whole session, each once.
        calls: how many calls.
        largest: tokens of the largest result.
    """

    name: str
    tokens: int
    calls: int
    largest: int


@dataclass(frozen=True)
class Repeated:
    """A file, command or search whose result came into the context again and again.

    Attributes:
        name: the path or the command.
        times: how many times its result came.
        tokens: of all those results.
        again: of the results after the first: the lines that had come before.
        tool: the tool that was called.
        kind: whether `name` is a file, a command, or the words of a search.
    """

    name: str
    times: int
    tokens: int
    again: int
    tool: str = ""
    kind: Literal["file", "command", "search"] = "file"


@dataclass(frozen=True)
class Archived:
    """An original that left the context and can be restored.

    Attributes:
        ref: its ref.
        what: a description in a few words.
        tokens: of the original.
        time: when it was archived; `None` if that is unknown.
        restored: how many times it was brought back into the context, in whole or in part.
        original: its text, at most `LONGEST_TEXT` characters.
        shown: what the model sees in its place, cut likewise; empty if nothing.
        cut: how many characters of the original are left out here.
    """

    ref: str
    what: str
    tokens: int
    time: float | None
    restored: int
    original: str
    shown: str
    cut: int = 0


LONGEST_TEXT = 20_000
MILLION = 1_000_000


@dataclass(frozen=True)
class Cost:
    """What the session's requests cost: in tokens, and in US dollars where prices are known.

    Weighted tokens of input are those of a price list: a cache write counts 1.25, a cache read 0.1.
    "Without" is what the input would have been if nothing had left the context, up to the window:
    beyond it there would have been no request at all.

    Attributes:
        requests: how many requests.
        with_us: the weighted input as it was sent.
        without: the weighted input if nothing had left.
        output: tokens of all answers.
        measured: whether the provider's own counts were used; else both are estimated.
        impossible: how many requests would not have fitted the window without a compaction.
        input_price: US dollars per million tokens of input, if the user named it.
        output_price: US dollars per million tokens of output, if the user named it.
        input: tokens of all input, cached or not, each counted as one.
        dollars: of the input as it was sent; `None` if the price of a model is not known.
        dollars_without: of the input if nothing had left.
        output_dollars: of all answers; `None` also if the user named a price of input alone.
        prices: the day of which the prices are, as `2026-11-30`; empty if the user named them, or
            none is known.
        unpriced: the models whose prices are not known.
    """

    requests: int
    with_us: int
    without: int
    output: int
    measured: bool
    impossible: int = 0
    input_price: float | None = None
    output_price: float | None = None
    input: int = 0
    dollars: float | None = None
    dollars_without: float | None = None
    output_dollars: float | None = None
    prices: str = ""
    unpriced: Sequence[str] = ()

    def at(self, input_price: float | None, output_price: float | None) -> "Cost":
        """The same at prices that the user named, in US dollars per million tokens."""
        cost = replace(self, input_price=input_price, output_price=output_price)
        if input_price is not None:
            weighted = (self.with_us, self.without)
            dollars, without = (tokens * input_price / MILLION for tokens in weighted)
            cost = replace(cost, dollars=dollars, dollars_without=without, output_dollars=None)
            cost = replace(cost, prices="", unpriced=())
        if output_price is not None:
            cost = replace(cost, output_dollars=self.output * output_price / MILLION)
        return cost

    @property
    def compared(self) -> tuple[float, float]:
        """The input as it was and if nothing had left: in dollars if known, else in tokens."""
        if self.dollars is None or self.dollars_without is None:
            return self.with_us, self.without
        return self.dollars, self.dollars_without

    @property
    def is_same(self) -> bool:
        """Whether it makes no difference that can be shown."""
        one, other = (f"{amount:,.2f}" for amount in self.compared)
        return one == other


@dataclass(frozen=True)
class EvidenceClass:
    """Where the evidence of one class is now; the three parts add up to `total`.

    Attributes:
        name: of the class: `paths`, `commands`, ...
        total: how many pieces the whole session holds.
        in_context: how many of them the model sees now.
        restorable: how many are only in our archive.
        lost: how many are neither in the context nor in our archive; the host's own file may still
            hold them.
    """

    name: str
    total: int
    in_context: int
    restorable: int
    lost: int


@dataclass(frozen=True)
class StoreHealth:
    """The state of the store that keeps the session's originals.

    Attributes:
        folder: where it is.
        bytes: the size of this session in it; 0 if it keeps nothing of it.
        refs: how many originals it keeps of this session.
        proven: how many of them were read back and match their SHA-256.
        problems: what is damaged or distrusted, in sentences.
    """

    folder: str
    bytes: int
    refs: int
    proven: int
    problems: Sequence[str] = ()


@dataclass(frozen=True)
class Report:
    """The report of one session.

    Attributes:
        session: its id.
        host: the host that keeps it; `messages` for a file of messages, or our own session.
        project: the folder that the agent worked in; empty if that is unknown.
        title: the session's title, or the user's first words; may be empty.
        model: the model of the last request; empty if that is unknown.
        began: when it began; `None` if that is unknown.
        ended: when its last message was written; `None` if that is unknown.
        messages: how many messages the whole session has, each once.
        window: the size of the model's context window.
        threshold: from how many tokens on a compression is due.
        used: the size of the context now.
        by_kind: the context now by kind of content, which add up to `used`.
        points: the context in each request, in their order; a long session is thinned out, and
            every point beside a compaction stays.
        compactions: all of them, in their order.
        by_tool: the largest consumers by tool.
        by_file: the largest consumers by file.
        repeated: what came again and again, the most costly first.
        archived: what left and can be restored, the largest first; at most `LISTED`.
        archived_total: how many originals are archived, each with a ref of its own.
        archived_tokens: of all of them.
        archived_restored: how many of them were brought back, in whole or in part.
        cost: of the requests.
        evidence: where it is now, by class.
        store: its health.
        warnings: what could not be read, in sentences.
        sampled: the share of the texts in which tokens and evidence were counted; 1 for all.
        cleared: how many old tool results of the context its host has cleared.
        cleared_tokens: of all of them, before.
    """

    session: str
    host: str
    project: str
    title: str
    model: str
    began: float | None
    ended: float | None
    messages: int
    window: int
    threshold: int
    used: int
    points: Sequence[Point]
    compactions: Sequence[CompactionMark]
    by_tool: Sequence[Consumer]
    by_file: Sequence[Consumer]
    repeated: Sequence[Repeated]
    archived: Sequence[Archived]
    archived_total: int
    cost: Cost
    evidence: Sequence[EvidenceClass]
    store: StoreHealth
    warnings: Sequence[str] = field(default_factory=list[str])
    by_kind: Mapping[str, int] = field(default_factory=dict[str, int])
    archived_tokens: int = 0
    archived_restored: int = 0
    sampled: float = 1
    cleared: int = 0
    cleared_tokens: int = 0


LISTED = 100

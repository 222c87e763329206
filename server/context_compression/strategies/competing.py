"""The texts that compete for the room beside kept messages, and what their parts are worth."""

import re
from array import array
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain, compress, islice
from typing import NamedTuple

from context_compression.conversation.arguments import long_texts_in, texts_in
from context_compression.conversation.authors import (
    holds_excerpts,
    is_command_output,
    is_host_summary,
    is_our_note,
    is_skill,
    speech_spans,
)
from context_compression.conversation.authors.speech import general_spans
from context_compression.conversation.labels import Span, sections
from context_compression.conversation.messages import (
    Block,
    Message,
    Opaque,
    Text,
    ToolCall,
    ToolResult,
    texts_of,
)
from context_compression.evidence.facts import commands_of, outcome_lines
from context_compression.evidence.open_tasks import UNDO
from context_compression.listening import SELECTING, advance
from context_compression.planning.pieces import Choice, Cutter, Place, Pool, Source
from context_compression.planning.plan import Plan
from context_compression.planning.selection import end_of_output, tokens_of_text
from context_compression.strategies import measured
from context_compression.strategies.forms import Form, Forms, is_instruction
from context_compression.strategies.last_lines import NAMES_LABEL
from context_compression.strategies.pictures import is_mark
from context_compression.strategies.quoting import QuotedText, Quoting, weight_of
from context_compression.strategies.repeated import fullness, repeated_texts, with_repeated


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


def texts_in_view(view: Mapping[int, Message]) -> Iterator[str]:
    """All texts of some messages."""
    return (
        text for message in view.values() for block in message.blocks for text in texts_of(block)
    )


OPENING = re.compile(r"\s*(?:[\[(【][^\])】\n]{4,60}[\])】]|[^\n]{4,60}(?=\n))")
"""A text in brackets, or a short first line, at the beginning of a message."""
DATE = re.compile(
    r"\b(?:19|20)\d\d\b|\b\d{1,2}[./-]\d{1,2}[./-]\d{2,4}\b|\d{1,2}\s*[月日]"
    r"|\b(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]* \d{1,2}\b"
    r"|\b\d{1,2}\.? (?:jan|feb|m[aä]r|apr|ma[iy]|jun|jul|aug|sep|o[ck]t|nov|de[cz])",
    re.IGNORECASE,
)
MOST_LETTERS = 24
"""The most letters of a line that is only a date, such as `Session on Wednesday, 12 September`."""


def with_dates(base: KeptMessages, pool: Pool, chosen: Iterable[Place]) -> Iterator[Place]:
    """The chosen places of a talk, and the date that opens each stretch with anything shown.

    A stretch goes from one message that begins with a date to the next one.
    """
    places = [*chosen]
    yield from places
    dated = _dated(base.plan, pool)
    if not dated:
        return
    starts = [*dated]
    shown = {pool.sources[number].message for number, start, _ in places if start == 0}
    needed: set[int] = set()
    messages = {pool.sources[number].message for number, _, _ in places}
    for index in (*messages, *base.kept):
        opened = bisect_right(starts, index)
        if opened and starts[opened - 1] not in shown and starts[opened - 1] not in base.kept:
            needed.add(starts[opened - 1])
    yield from (dated[index] for index in sorted(needed))


def _is_date(opening: str) -> bool:
    """Whether the beginning of a message is a date, and says hardly anything else."""
    letters = sum(map(str.isalpha, opening))
    return letters <= MOST_LETTERS and DATE.search(opening) is not None


def _dated(plan: Plan, pool: Pool) -> dict[int, Place]:
    """By message, in order: the place of the date with which it begins."""
    dated: dict[int, Place] = {}
    for number, source in enumerate(pool.sources) if plan.cutter.prose else ():
        block = plan.messages[source.message].blocks[source.slot]
        if source.message in dated or not isinstance(block, Text) or source.slot:
            continue
        opening = OPENING.match(source.text)
        if opening and source.start == 0 and _is_date(opening[0]):
            dated[source.message] = number, 0, opening.end()
    return dated


def newest_outcome(base: KeptMessages, pool: Pool, left: int) -> tuple[Sequence[Place], int]:
    """The place of the line that tells how the last run ended, and the tokens to quote it.

    There is none in a large room, if the kept messages show it, or if it would take much of the
    room.

    Args:
        base: the kept messages.
        pool: the texts that compete.
        left: the tokens of the room that the kept messages leave.
    """
    plan = base.plan
    at = plan.last_outcome
    if at is None or base.room > measured.OUTCOME_ROOM_TOKENS:
        return (), 0
    for number in range(len(pool.sources) - 1, -1, -1):
        source = pool.sources[number]
        block = plan.messages[at].blocks[source.slot] if source.message == at else None
        if not isinstance(block, ToolResult) or block.text != source.text:
            continue
        for start, stop in outcome_lines(source.text)[-1:]:
            words = source.text[start:stop]
            tokens = plan.counter.text(words) + source.opening
            if not _shows(base, at, words) and tokens <= measured.OUTCOME_SHARE * left:
                return [(number, start, stop)], tokens
        break
    return (), 0


def _shows(base: KeptMessages, index: int, words: str) -> bool:
    message = base.shown.get(index)
    texts = (text for block in message.blocks for text in texts_of(block)) if message else ()
    return any(words in text for text in texts)


LABEL = re.compile(r"\s*\[[^\]\n]*\]\s*")
"""The label or the date at the beginning of a saying."""
TIME = re.compile(
    r"\b(?:yesterday|today|tonight|tomorrow|recently|last|ago|next|since|just|weekend|night|morning"
    r"|weeks?|months?|years?|(?:mon|tues|wednes|thurs|fri|satur|sun)day"
    r"|gestern|heute|morgen|neulich|letzte\w*|nächste\w*|hier|demain|hoy|ayer|mañana)\b"
    r"|昨天|今天|明天|最近|上周|下周|上个月|下个月|去年|今年|明年|昨日|今日|明日|先週|来週|어제|오늘|내일"
    r"|вчера|сегодня|завтра|недавно",
    re.IGNORECASE,
)
"""Words that tell when something happens."""
NUMBER_OR_NAME = re.compile(
    r"(?<!^)(?<![\da-zA-Z_])\d|\"[^\"\n]{2,}\"|[“«「《][^“«「《”»」》\n]{2,}[”»」》]"
)
"""A number, or a name between quotation marks."""
SELF = re.compile(
    r"\b(?:I|we|my|our|ich|wir|je|nous|yo|mi)\b|我|わたし|私|僕|\bя\b|\bмы\b|나는|저는"
)
QUESTION = re.compile(r"[?？؟]")


class TextValue(NamedTuple):
    """What a text is worth.

    Attributes:
        weight: the factor for its evidence.
        worth: the worth of each of its pieces in addition to evidence.
        per_token: the worth of each token of a piece in addition to evidence.
        typed: whether the user said it.
    """

    weight: float = 1.0
    worth: float = 0.0
    per_token: float = 0.0
    typed: bool = False


def value_of(
    message: Message,
    text: str,
    tokens: int,
    *,
    spoken: bool,
    calls: bool,
    replied: bool,
    last: bool,
    prose: bool,
) -> TextValue:
    """The value of a text by its author.

    Args:
        message: the message of the text.
        text: one of its texts.
        tokens: the tokens of the text.
        spoken: whether the author is the user or the model, not a tool or the host.
        calls: whether the message has calls.
        replied: whether the user's last words reply to it.
        last: whether the message is the last one.
        prose: whether the conversation is in prose.
    """
    match message.role:
        case "user" if spoken:
            return value_of_users(text, tokens, prose=prose)
        case "assistant" if spoken:
            usual = measured.REMARK_WORTH if calls else measured.ANSWER_WORTH
            worth = measured.LAST_WORTH if last else measured.USER_WORTH if replied else usual
            return value_of_models(text, tokens, worth)
        case "user" if is_host_summary(text):
            return TextValue(worth=measured.SUMMARY_WORTH)
        case "user" if is_command_output(text):
            return TextValue(measured.PRINTED_WEIGHT)
        case _:
            return TextValue()


def value_of_models(text: str, tokens: int, worth: float) -> TextValue:
    """The value of a text of the model, of which a long one is worth no more in total."""
    return TextValue(worth=worth * min(fullness(text), measured.REPORT_TOKENS / max(1, tokens)))


def value_of_users(text: str, tokens: int, *, prose: bool) -> TextValue:
    """The value of a text of the user, or of a skill; in prose, facts add to it as in a talk."""
    worth = measured.SKILL_WORTH if is_skill(text) else measured.USER_WORTH
    typed = tokens <= measured.TYPED_TOKENS
    weight = measured.USER_WEIGHT if typed else 1.0
    worth *= min(fullness(text), measured.TYPED_TOKENS / max(1, tokens))
    if prose:
        weight *= measured.PROSE_QUESTION_WEIGHT if QUESTION.search(text) else 1.0
        worth += _worth_of_facts(text)
    return TextValue(weight, worth, measured.TYPED_WORTH if typed else 0.0, typed=True)


def _worth_of_facts(text: str) -> float:
    """The worth of a saying that tells when something happens, or a number or a name."""
    label = LABEL.match(text)
    told = text[label.end() :] if label else text
    dated, named = bool(TIME.search(told)), bool(NUMBER_OR_NAME.search(told))
    return measured.TIME_WORTH * dated + measured.NUMBER_WORTH * named


def value_in_talk(text: str) -> TextValue:
    """The value of what one of two people says, whoever says it.

    It is worth more if it tells when something happens, a number or a name, or the speaker's own
    life, and less if it asks.
    """
    return TextValue(
        (measured.QUESTION_WEIGHT if QUESTION.search(text) else 1.0)
        * (measured.SELF_WEIGHT if SELF.search(text) else 1.0),
        _worth_of_facts(text),
    )


def quotes_in(note: Source, plan: Plan) -> Iterator[Source]:
    """The quotes of a note of this package, each worth what its original is worth.

    So a conversation that is compressed five times keeps what one compression keeps.
    """
    position = 0
    for label, start, stop in sections(note.text):
        stop = stop if note.end is None else min(stop, note.end)
        if position < start:
            yield note._replace(start=position, end=start, worth=0.0, spoken=())
        author = label.strip("[]").partition(";")[0]
        value = _value_of_quote(author, note.text[start:stop], plan) or TextValue(
            note.weight, note.worth
        )
        yield note._replace(
            start=start, end=stop, opening=measured.LABEL_TOKENS,
            weight=value.weight, worth=value.worth, per_token=value.per_token, typed=value.typed,
        )  # fmt: skip
        position = stop
    if position < len(note.text) and note.end is None:
        yield note._replace(start=position)


def tokens_in_play(source: Source) -> float:
    """About how many tokens of a text compete: all, or those of one quote of a note."""
    stop = len(source.text) if source.end is None else source.end
    return source.tokens * (stop - source.start) / max(1, len(source.text))


def with_less_worth(source: Source, general: Sequence[Span]) -> Iterator[Source]:
    """A text of the user in parts, of which those with general instructions are worth less."""
    position = 0
    for start, stop in general:
        if position < start:
            yield source._replace(start=position, end=start)
        yield source._replace(
            start=start,
            end=stop,
            worth=0.0,
            per_token=0.0,
            weight=measured.PRINTED_WEIGHT,
            spoken=(),
        )
        position = stop
    if position < len(source.text):
        yield source._replace(start=position)


def _value_of_quote(author: str, quote: str, plan: Plan) -> TextValue | None:
    """The value of a quote by its author; `None` for others than user and assistant."""
    if author not in ("User", "Assistant"):
        return None
    tokens, prose = plan.counter.text(quote), plan.cutter.prose
    if plan.is_talk_of_two:
        value = value_in_talk(quote)
    elif author == "User":
        value = value_of_users(quote, tokens, prose=prose)
    else:
        value = value_of_models(quote, tokens, measured.ANSWER_WORTH)
    return value._replace(worth=value.worth + measured.CHOSEN_WORTH * prose)


DONE_ONCE = re.compile(
    r"\b(?:git (?:-\S+ \S+ ){0,5}(?:commit|push|merge|revert)"
    r"|(?:gh|glab) \w+ (?:create|merge|comment|close|edit|review)"
    r"|(?:npm|pnpm|yarn|cargo|twine|docker) (?:publish|push|upload)|(?:kubectl|terraform) apply)"
    r"(?![-\w])(?!.{0,400}--dry-run)"
)
"""Commands that must not be repeated, because they reach other people or commit work."""
FILES = r"\[(?:Other f|F)iles\b"
LINES = re.compile(rf"(?:\n{FILES}[^\n]*)?\n{re.escape(NAMES_LABEL)}[^\n]*\Z|\n{FILES}[^\n]*\Z")
"""The lines of files and names at the end of a note of this package."""


def competition(base: KeptMessages) -> tuple[Pool, Choice]:
    """All pieces that compete for the room, and the choice among them."""
    plan, competing = base.plan, Competing(base)
    kept = [b.text for m in base.shown.values() for b in m.blocks if isinstance(b, Text)]
    sources, repeated = with_repeated(competing.sources(), kept)
    cutter, used = plan.cutter, plan.used
    for number, source in enumerate(sources):
        cutter(source.text)
        advance(SELECTING, len(sources) + number, 3 * len(sources))
    for text in (*kept, *repeated):  # the cutter keeps what it cuts before texts with repeated ones
        cutter(text)
    whole = [*chain.from_iterable(cutter(text, repeated.get(text, ())) for text in kept)]
    for text, spans in repeated.items():
        cutter(text, spans)
    shown = words_shown(base, cutter)
    cutter.match()
    cutter.numbering.pack()  # all words are known now, and the pool needs memory
    pool, outdated = Pool(cutter), plan.outdated
    for number, source in enumerate(sources):
        advance(SELECTING, 2 * len(sources) + number, 3 * len(sources))
        block = competing.block_of(source)
        old = outdated.spans(block, source.text)
        old = [*old, *outdated.unchanged(block, source.text)]
        marked = chain(plan.due.spans(block, source.text), competing.marked_latest(source))
        pool.add(source, old, [*marked])
    return pool, pool.choice(shown, used, whole)


def words_shown(base: KeptMessages, cutter: Cutter) -> "array[int]":
    """The evidence words that are in view before anything is chosen, by number."""
    texts = (
        text
        for message in chain(base.shown.values(), base.beside.notes.values())
        if not message.starts_turn  # words that the user mentions are needed, not covered
        for block in message.blocks
        for text in texts_of(block)
    )
    return array("I", chain.from_iterable(map(cutter.numbering.numbers, texts)))


@dataclass(frozen=True)
class Competing:
    """The texts of a conversation that compete for the room that the kept messages leave."""

    base: KeptMessages

    @cached_property
    def calling(self) -> frozenset[int]:
        """The indices of the messages with calls; each of many texts of a message asks."""
        return frozenset(i for i, message in enumerate(self.base.plan.messages) if message.calls)

    @cached_property
    def at_hand(self) -> frozenset[str]:
        """The ids of the newest calls on files whose texts fit a share of the room.

        The next edit needs lines of them verbatim.
        """
        plan = self.base.plan
        results, left = plan.outdated.results, measured.AT_HAND_SHARE * self.base.room
        ids: set[str] = set()
        newest = plan.outdated.latest(measured.AT_HAND_AMONG)
        for call in islice(newest, measured.AT_HAND_CALLS):
            blocks: list[Block] = [call, *filter(None, [results.get(call.id)])]
            tokens = sum(map(plan.counter.block, blocks))
            if tokens <= left:
                left -= tokens
                ids.add(call.id)
        return frozenset(ids)

    def _rate(self, block: Block, key: str, value: TextValue) -> float:
        """The worth of each token of a text in addition to its evidence."""
        id = block.id if isinstance(block, ToolCall) else getattr(block, "call_id", "")
        at_hand = key != "line" and id in self.at_hand
        return value.per_token + measured.AT_HAND_WORTH * at_hand

    def sources(self) -> Sequence[Source]:
        """The texts that compete; of a text that is repeated with role user only the newest.

        The words of the user's finished requests are worth less, the more of the room they would
        take: evidence must then decide, or they would come before all answers and results.
        """
        plan = self.base.plan
        again = repeated_texts(plan.messages, lambda _: True)
        sources: list[Source] = []
        for index in range(plan.head, len(plan.messages)):
            advance(SELECTING, index, 3 * len(plan.messages))
            sources += (s for s in self.of_message(index) if (index, s.slot) not in again)
        if plan.is_talk_of_two:
            return sources
        done = [source.typed and source.message < plan.request for source in sources]
        tokens = sum(map(tokens_in_play, compress(sources, done)))
        share = min(1.0, measured.DONE_SHARE * self.base.room / max(1, tokens))
        rate = 1.0 if plan.is_chat else share
        return [
            source._replace(worth=share * source.worth, per_token=rate * source.per_token)
            if is_done
            else source
            for source, is_done in zip(sources, done, strict=True)
        ]

    def block_of(self, source: Source) -> Block:
        """The block to which a source belongs."""
        return self.base.plan.messages[source.message].blocks[source.slot]

    def of_message(self, index: int) -> Iterator[Source]:
        """The texts of a message that compete, each with the cost of showing any of it."""
        base, quoting = self.base, self.base.quoting
        message, shown = base.plan.messages[index], base.shown.get(index)
        if shown is message or base.kept.get(index) is Form.FULL or index in base.beside.covered:
            return
        unshortened = {id(block) for block in shown.blocks} if shown else ()
        calls = {call.id: call for call in shown.calls} if shown else {}
        for slot, block in enumerate(message.blocks):
            if id(block) in unshortened or is_mark(block):
                continue
            parts = clipped(block, calls) if shown else quoting.parts(block)
            for part in parts:
                source = self._source(index, message, slot, block, part)
                yield from self._parts_of(source, message, block)

    def _parts_of(self, source: Source, message: Message, block: Block) -> Iterator[Source]:
        """A source, or the parts of it that are worth different things."""
        if not isinstance(block, Text):
            yield source
        elif holds_excerpts(block.text):
            yield from quotes_in(source, self.base.plan)
        elif message.role == "user" and (spans := general_spans(block.text)):
            yield from with_less_worth(source, spans)
        else:
            yield source

    def _source(
        self, index: int, message: Message, slot: int, block: Block, part: QuotedText
    ) -> Source:
        """A text of a block, with the worth and the cost of its pieces."""
        text, key, opening, weight = part
        plan = self.base.plan
        end = end_of_output(text) if isinstance(block, ToolResult) else end_of_note(text)
        tokens = plan.counter.text(text) if key else tokens_of_text(block, plan.counter)
        spoken = isinstance(block, Text) and is_instruction(block)
        said = isinstance(block, ToolResult | Opaque) and bool(block.said)
        if said:
            value = value_of_users(text, tokens, prose=plan.cutter.prose)
        elif plan.is_talk_of_two and spoken:
            value = value_in_talk(text)
        else:
            value = value_of(
                message, text, tokens,
                spoken=spoken, calls=index in self.calling, replied=index == plan.replied_to,
                last=index == len(plan.messages) - 1, prose=plan.cutter.prose,
            )  # fmt: skip
        worth = value.worth
        if isinstance(block, ToolCall) and key == "line":
            worth = self.worth_of_call(block)
        failed = (
            not said
            and isinstance(block, ToolResult)
            and block.call_id in self.base.quoting.outcomes
        )
        if index in plan.refused:
            weight, worth, failed = measured.PRINTED_WEIGHT * weight, 0.0, False
        return Source(
            index, slot, text, tokens, opening, weight * value.weight, key,
            [(0, len(text))] if said else speech_spans(block, spoken=spoken),
            worth, 0, end, failed, self._rate(block, key, value), value.typed,
        )  # fmt: skip

    def marked_latest(self, source: Source) -> Iterator[Span]:
        """The spans that tell what was last: how a run ended, and what took changes back."""
        plan, block = self.base.plan, self.block_of(source)
        if isinstance(block, ToolResult) and source.message == plan.last_outcome:
            yield from outcome_lines(source.text)
        elif isinstance(block, ToolCall) and block.id == plan.last_undo:
            yield from (undo.span() for undo in UNDO.finditer(source.text))

    def worth_of_call(self, call: ToolCall) -> float:
        """The worth of a call's line in addition to its evidence."""
        if call.id == self.base.plan.last_undo:
            return measured.UNDO_WORTH
        if any(map(DONE_ONCE.search, commands_of(call))):
            return measured.DONE_WORTH
        last_changes = self.base.plan.outdated.files.last_changes
        return measured.CHANGE_WORTH if call.id in last_changes else 0.0


def clipped(block: Block, shown: Mapping[str, ToolCall]) -> Iterator[QuotedText]:
    """The texts of a block that a form may shorten; for a call the key is the text itself.

    Arguments that are whole in the calls of the shown message, by id, do not compete.
    """
    match block:
        case ToolCall():
            call = shown.get(block.id)
            whole = set(texts_in(call)) if call else set[str]()
            for name, text in long_texts_in(block, measured.ARGUMENT_CHARS):
                if text not in whole:
                    yield QuotedText(text, text, measured.SHOWN_CALL_TOKENS, weight_of(name))
        case Text() | ToolResult() if block.text.strip():
            yield QuotedText(block.text, "", measured.SHOWN_TEXT_TOKENS)
        case _:
            return


def end_of_note(text: str) -> int | None:
    """The start of the lines of files and names in a note of this package, which new lines replace.

    `None` if there are no such lines.
    """
    lines = LINES.search(text) if is_our_note(text) else None
    return lines.start() if lines else None

"""The content of a session's history that later steps need, and the share that a view still holds.

A session is cut before an answer. The next ten steps of the assistant (its texts and the arguments
of its tool calls), and the texts that the user types meanwhile, are compared with the history
before the cut:

    needed identifiers   paths, symbols, numbers, flags, ids used in a step that are in the
                         history, and in no tool result since
    far                  those of them that are not in the history's last 6,000 tokens
    FRR                  share of the needed identifiers that are in the view
    GFRR                 the same, but with the words around them in the history: bare lists of
                         identifiers are worth nothing
    NGR                  share of needed runs of four words that are in the view
    VAR                  share of lines needed verbatim, to anchor an edit, that are in the view
    UIS                  share of the sentences typed by the user that are in the view verbatim
    Q                    0.35 GFRR + 0.25 GFRR far + 0.20 NGR + 0.20 UIS

Two more measures show whether a reader can later see what was tried and why:

    failures             share of failed calls of which a line about the failure is in the view
    decisions            share of the assistant's sentences with a reason or an alternative that are
                         in the view verbatim

If a step looks up content again because it was lost, that is no need: the recorded session had it
in view.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import Any

from estimate import block_text, message_tokens
from recordings import STEPS_AHEAD, Cut, Message, Messages, Recording
from texts import Reader, lines_in, long_lines

from context_compression.conversation import is_array, is_object

FAR_TOKENS = 6_000
LEAST_TOKENS, LEAST_NEEDED = 12_000, 5  # of a history that is worth a measurement
SHORT_MESSAGE = 1_500  # tokens; what is longer was pasted, not typed
SHARES = ("FRR", "FRR far", "GFRR", "GFRR far", "NGR", "VAR", "UIS", "failures", "decisions")
WEIGHTS = {"GFRR": 0.35, "GFRR far": 0.25, "NGR": 0.20, "UIS": 0.20}

_SENTENCE_END = re.compile(r"(?<=[.!?])\s+|\n")
_NOT_TYPED = ("<system-reminder", "<command-", "<local-command", "Caveat:")
_EXITED = re.compile(r"\bexit(?:ed with)? (?:code|status):? [1-9]", re.IGNORECASE)
_TROUBLE = re.compile(
    r"error|exception|traceback|fail|fatal|panic|denied|not found|no such|cannot", re.IGNORECASE
)
_WHY = re.compile(r"\b(?:because|instead of|rather than|decided|root cause|turns out)\b", re.I)
_LINE_START = 80  # characters by which a line is known again
_OLD_TEXT = ("old_string", "oldText", "old_str", "oldString")


@dataclass(frozen=True)
class Group:
    """A message alone, or a tool step: the calls of an answer with their results."""

    messages: Messages

    @cached_property
    def tokens(self) -> float:
        return sum(map(message_tokens, self.messages))

    @cached_property
    def as_sent(self) -> str:
        """Its text with the arguments of calls as JSON."""
        return "\n".join(block_text(b) for m in self.messages for b in m["content"])

    @cached_property
    def as_read(self) -> str:
        """Its text with the arguments of calls as plain lines."""
        return "\n".join(
            _spelled(b["input"]) if b["type"] == "tool_use" else block_text(b)
            for m in self.messages
            for b in m["content"]
        )

    @property
    def typed(self) -> str:
        """The text in it that a person typed."""
        alone = len(self.messages) == 1 and self.messages[0]["role"] == "user"
        return _typed(self.messages[0]) if alone else ""


def groups(messages: Sequence[Message]) -> list[Group]:
    """The messages, with each tool step as one group; text beside results is a separate group."""
    found: list[Group] = []
    rest = iter([*messages, None])
    message = next(rest)
    while message is not None:
        following = next(rest)
        results = _results(following) if following and message["role"] == "assistant" else []
        if following and results:
            texts = [block for block in following["content"] if block["type"] == "text"]
            found.append(Group([message, {"role": "user", "content": results}]))
            if texts:
                found.append(Group([{"role": "user", "content": texts}]))
            following = next(rest)
        else:
            found.append(Group([message]))
        message = following
    return found


@dataclass(frozen=True)
class Need:
    """The content of a history that the steps after a cut need.

    Attributes:
        identifiers: all that are needed.
        far: those not in the history's last 6,000 tokens.
        used_in: the text of the step that needs an identifier first.
        around: the words around each identifier in the history, newest first.
        typed: sentences of the user.
        failures: for each failed call, the lines that report the failure.
        decisions: sentences of the assistant that give a reason.
    """

    identifiers: frozenset[str]
    far: frozenset[str]
    used_in: Mapping[str, str]
    around: Mapping[str, Sequence[frozenset[str]]]
    ngrams: frozenset[int]
    lines: frozenset[str]
    typed: frozenset[str]
    failures: Sequence[frozenset[str]]
    decisions: frozenset[str]


def need(reader: Reader, recording: Recording, cut: Cut) -> Need | None:
    """The need of the steps after a cut; `None` if it is too small to measure."""
    history = groups(cut.history)
    if sum(group.tokens for group in history) < LEAST_TOKENS:
        return None
    known = frozenset[str]().union(*(reader.identifiers(group.as_sent) for group in history))
    known_ngrams = frozenset[int]().union(*(reader.ngrams(group.as_sent) for group in history))
    known_lines = {line for group in history for line in lines_in(group.as_read)}
    used_in: dict[str, str] = {}
    ngrams, lines = set[int](), set[str]()
    seen, seen_ngrams, seen_lines = set[str](), set[int](), set[str]()
    for message in following(recording, cut):
        if message["role"] == "assistant":
            said = said_in(message)
            names, runs = reader.identifiers(said), reader.ngrams(said)
            ngrams |= (runs & known_ngrams) - seen_ngrams
            lines |= {
                line for text in _anchors(message) for line in text if line in known_lines
            } - seen_lines
            seen_ngrams |= runs
        else:
            said = _typed(message)
            names = reader.identifiers(said)
        used_in |= dict.fromkeys((names & known) - seen, said)
        seen |= names
        if message["role"] != "assistant":
            shown = _shown(message)
            seen |= reader.identifiers(shown)
            seen_ngrams |= reader.ngrams(shown)
            seen_lines |= lines_in(shown)
    newest_first = "\n".join(group.as_read for group in reversed(history))
    around = reader.surroundings(newest_first, used_in, 400)
    # one that never stands among words (in JSON, say) could not be seen to be kept
    needed = frozenset(name for name in used_in if any(len(words) > 1 for words in around[name]))
    if len(needed) < LEAST_NEEDED:
        return None
    return Need(
        needed,
        needed - _near(reader, history),
        used_in,
        around,
        frozenset(ngrams),
        frozenset(lines),
        frozenset(
            sentence
            for group in history
            if group.typed.strip() and group.tokens <= SHORT_MESSAGE
            for sentence in _sentences(group.typed)
        ),
        [told for message in cut.history for told in _failures(message)],
        frozenset(
            sentence
            for message in cut.history
            if message["role"] == "assistant"
            for text in _texts(message)
            for sentence in _sentences(text)
            if _WHY.search(sentence)
        ),
    )


def score(reader: Reader, need: Need, view: Sequence[Message]) -> dict[str, float | None]:
    """The share of each kind of need that a view holds; `None` if nothing of a kind is needed."""
    shown = groups(view)
    text = "\n".join(["", *(group.as_read for group in shown)])
    held = frozenset[str]().union(*(reader.identifiers(group.as_sent) for group in shown))
    ngrams = frozenset[int]().union(*(reader.ngrams(group.as_sent) for group in shown))
    lines = {line for group in shown for line in lines_in(group.as_read)}
    around = reader.surroundings(text, need.identifiers, 60)
    grounded = {name for name in need.identifiers if _grounded(around[name], need.around[name])}
    far = need.far if len(need.far) >= 3 else frozenset[str]()
    return {
        "FRR": _share(need.identifiers, held),
        "FRR far": _share(far, held),
        "GFRR": _share(need.identifiers, grounded),
        "GFRR far": _share(far, grounded),
        "NGR": _share(need.ngrams, ngrams) if len(need.ngrams) >= 20 else None,
        "VAR": _share(need.lines, lines),
        "UIS": _share(need.typed, {sentence for sentence in need.typed if sentence in text}),
        "failures": _share(
            frozenset(need.failures), [f for f in need.failures if any(map(text.__contains__, f))]
        ),
        "decisions": _share(need.decisions, [each for each in need.decisions if each in text]),
    }


def _share(wanted: frozenset[Any], held: Iterable[Any]) -> float | None:
    return len(wanted.intersection(held)) / len(wanted) if wanted else None


def _grounded(here: Sequence[frozenset[str]], there: Sequence[frozenset[str]]) -> bool:
    """Whether an occurrence has words around it that are around one in the history, too."""
    return any(
        len(words) > 1 and any(len(words & others) >= max(2, 0.6 * len(words)) for others in there)
        for words in here
    )


def _near(reader: Reader, history: Sequence[Group]) -> frozenset[str]:
    """Identifiers of the newest groups that have no more than 6,000 tokens together."""
    names, tokens = frozenset[str](), 0.0
    for group in reversed(history):
        tokens += group.tokens
        if tokens > FAR_TOKENS:
            break
        names |= reader.identifiers(group.as_sent)
    return names


def following(recording: Recording, cut: Cut) -> Iterator[Message]:
    """The messages from the cut to the last of the steps that count."""
    steps = 0
    for message in islice(recording.messages, cut.at, cut.stop):
        yield message
        steps += message["role"] == "assistant"
        if steps == STEPS_AHEAD:
            return


def said_in(message: Message) -> str:
    """The text of the assistant, including the arguments of its calls."""
    blocks = [block for block in message["content"] if block["type"] != "tool_result"]
    return "\n".join(
        block["text"] if block["type"] == "text" else _spelled(block["input"]) for block in blocks
    )


def _typed(message: Message) -> str:
    """The text in a message that a person typed."""
    return "\n".join(text for text in _texts(message) if not text.lstrip().startswith(_NOT_TYPED))


def _shown(message: Message) -> str:
    """The results of tools and the additions of the host."""
    reminders = (text for text in _texts(message) if text.lstrip().startswith(_NOT_TYPED[0]))
    results = "\n".join(block_text(block) for block in _results(message))
    return f"{results}\n" + "\n".join(reminders)


def _texts(message: Message) -> list[str]:
    return [block["text"] for block in message["content"] if block["type"] == "text"]


def _results(message: Message) -> list[dict[str, Any]]:
    if message["role"] != "user":
        return []
    return [block for block in message["content"] if block["type"] == "tool_result"]


def _failures(message: Message) -> Iterator[frozenset[str]]:
    """For each failed call in a message, the beginnings of the lines that report the failure."""
    for result in _results(message):
        text = block_text(result)
        if result.get("is_error") or _EXITED.search(text[:300]) or _EXITED.search(text[-300:]):
            lines = (line.strip()[:_LINE_START] for line in text.split("\n"))
            if told := frozenset(line for line in lines if _TROUBLE.search(line)):
                yield told


def _anchors(message: Message) -> Iterator[set[str]]:
    """Lines that an edit needs verbatim: the text to replace, the context of a patch."""
    for call in message["content"]:
        if call["type"] != "tool_use":
            continue
        old = next((call["input"][name] for name in _OLD_TEXT if call["input"].get(name)), None)
        patch = call["input"].get("input" if call["name"] == "apply_patch" else "patchText")
        if isinstance(old, str):
            yield long_lines(old)
        if isinstance(patch, str):
            yield long_lines(
                "\n".join(line[1:] for line in patch.split("\n") if line[:1] in (" ", "-"))
            )


def _sentences(text: str) -> set[str]:
    stripped = (sentence.strip() for sentence in _SENTENCE_END.split(text))
    return {sentence for sentence in stripped if len(sentence) >= 20}


def _spelled(value: Any) -> str:
    """The strings in parsed JSON, one per line."""
    if isinstance(value, str):
        return value
    if is_object(value):
        return "\n".join(map(_spelled, value.values()))
    if is_array(value):
        return "\n".join(map(_spelled, value))
    return json.dumps(value)

"""Our work before and after a compaction that a host does itself, and the size a user names for it.

The size is named after the host's command: `keep 30k`, `to 40,000 tokens`. It may be anywhere after
an English verb or preposition. In other languages it stands at an end of a short clause: `behalte
30k`, `保留30k`. A number inside a sentence is no size: `explain the 8k limit` is what the summary
should stress.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from typing import Any

from context_compression.compression.run import with_all_dropped
from context_compression.conversation.authors import user_words
from context_compression.conversation.formats import parse
from context_compression.conversation.labels import SEARCH
from context_compression.conversation.messages import Message
from context_compression.conversation.refs import digest_of
from context_compression.errors import StoreError
from context_compression.evidence.ledger import Entry, render
from context_compression.plurals import MOST, exact_number, how_many, short_number
from context_compression.session import Session
from context_compression.session.archive import archive_of
from context_compression.session.compressing import request_that_archives
from context_compression.session.events import origin_of, timestamp, undo_of
from context_compression.session.following import new_events
from context_compression.session.state import State
from context_compression.store.session_files import original_of
from context_compression.strings import fenced, one_line
from context_compression.tokens import Counter
from context_compression.transcripts.transcript import Transcript
from context_compression.workspace import Workspace
from context_compression.workspace.opened import archive_cleared

LEDGER_TOKENS = 1_500  # tokens of the ledger in the message after a compaction
CLIPPED = 1_500  # characters of a request or a result in that message
REFS = 12  # how many refs that message lists, the newest ones

_INSTRUCTIONS = """\
Keep word for word: what the user asked for and ruled out, names of files and of what was changed \
in them, commands with their results, errors that are still open, decisions with their reasons.
Keep refs: a line like [Bash: 9,034 tokens, …; ref 0123456789ab; …] stands for an output that is \
archived, and context_restore brings it back by its ref. Name each ref that later work may need, \
with what is behind it.
{archived}, so leave whole files and outputs out."""


def instructions(missing: Sequence[str]) -> str:
    """Instructions for the model that writes the host's summary.

    Args:
        missing: what of the conversation is in no file, and so not archived, in sentences.
    """
    archived = "The conversation up to here is archived"
    if missing:
        archived = "What the transcript has of the conversation is archived"
    return " ".join([_INSTRUCTIONS.format(archived=archived), *missing])


def archive_all(session: Session, contexts: Sequence[Transcript]) -> None:
    """Archive complete conversations before the host shortens its history.

    Every message is archived, and every one that the host cleared or summarised earlier, as far as
    its file still has them. The view stays: the compression that archives is undone at once.

    Args:
        session: our record of the conversation.
        contexts: the conversation before each earlier compaction, and as it is now.
    """
    for context in contexts:
        archive_messages(session, context.messages)
        archive_cleared(session, context)


def archive_messages(session: Session, messages: Sequence[Mapping[str, Any]]) -> None:
    """Archive every message of a conversation; the view stays."""
    with session.log.locked():
        _archive(session, messages)


def _archive(session: Session, messages: Sequence[Mapping[str, Any]]) -> None:
    state = session.state()
    known = {about.get("sha256") for about in state.refs.values()}
    if known.issuperset(map(digest_of, messages)):
        return  # the host announces some compactions twice
    pending = new_events(state, messages, from_start=True)
    for event in pending:
        state.replay(event)
    with_all_dropped(
        request_that_archives(session, state, pending, state.view, settings=session.settings)
    )
    session.log.append(undo_of(session.state().compressions[-1], timestamp()))


def answer_after_compaction(
    workspace: Workspace, id: str, host: str, elsewhere: Callable[[], Sequence[str]] = tuple
) -> dict[str, Any]:
    """The answer to a `SessionStart` event after a compaction, with a line that the user sees.

    After a summary of the host, there is a message for the model, too. `{}` if nothing is archived.
    Claude Code, Codex and Gemini CLI take the same answer.

    Args:
        workspace: the workspace with the store.
        id: the id of our session for this conversation.
        host: what people call the host.
        elsewhere: gives the sentences on what of the conversation is in no file (see
            `Transcript.missing`).
    """
    session = Session(workspace.store, id)
    state = session.state()
    if not state.refs:
        return {}
    if _is_ours(state):
        return {"systemMessage": _line(state, host)}
    missing, lacks = _missing(session, state), [*elsewhere()]
    told = _notice(session, missing, lacks)
    output = {"hookEventName": "SessionStart", "additionalContext": told}
    restorable = f"{how_many(len(state.refs), 'original')} restorable"
    archived = "what this summary replaces is archived"
    if missing:
        messages = how_many(len(state.recorded), "message")
        archived = f"{missing:,} of {messages} could not be archived"
    if lacks:
        archived = f"{archived}, as far as the transcript has it: {lacks[0]}"
    return {"systemMessage": f"{archived}, {restorable}", "hookSpecificOutput": output}


def _missing(session: Session, state: State) -> int:
    """How many messages of the host's conversation cannot be brought back from the archive."""
    read = cache(session.log.read_originals)
    restorable: set[str] = set()
    for about in state.refs.values():
        with suppress(StoreError, KeyError, IndexError):
            restorable.add(digest_of(original_of(about, lambda file, at: read(file)[at])))
    return sum(digest_of(message) not in restorable for message in state.recorded)


def _line(state: State, host: str) -> str:
    """`156K -> 38K tokens, 184 originals restorable`, after a compaction that our view answered.

    A size that the user named and that was not reached is told, with the reason.
    """
    newest, origin = state.compressions[-1], origin_of(state.compressions[-1])
    beside = origin.get("beside", 0)
    before, after = (newest[f"tokens_{at}"] + beside for at in ("before", "after"))
    restorable = f"{how_many(len(state.refs), 'original')} restorable"
    line = f"{short_number(before)} -> {short_number(after)} tokens, {restorable}"
    asked = origin.get("asked")
    return f"{line}; {_why_not(asked, after, beside, host)}" if asked and after > asked else line


def _why_not(asked: int, after: int, beside: int, host: str) -> str:
    """Why a size that the user named was not reached: `30K could not be reached: …`."""
    why = f"{host} itself adds {exact_number(beside)}"
    if after - beside > beside:
        why = f"goal, rules and newest results take {exact_number(after - beside)}"
    return f"{exact_number(asked)} could not be reached: {why}"


def _notice(session: Session, missing: int, lacks: Sequence[str]) -> str:
    """What the model is told after a summary of its host: goal, rules, newest result, and refs.

    Args:
        session: our record of the conversation, in which all of it is archived.
        missing: how many messages of it are not.
        lacks: what of it is in no file, in sentences.
    """
    state = session.state()
    known = archive_of(session.store, session.log, state).ledger
    texts = [ref for ref, about in state.refs.items() if about.get("text") or about["block"]]
    newest = (texts or [*state.refs])[: -REFS - 1 : -1]
    refs = how_many(len(state.refs), "original")
    removed = f"All that this compaction removed is archived ({refs})."
    if missing:
        messages = how_many(missing, "message")
        removed = f"What this compaction removed is archived ({refs}), except {messages}."
    elif lacks:
        removed = f"What the transcript has of it is archived ({refs}). {' '.join(lacks)}"
    return "\n".join(
        [
            f"{removed} context_restore(ref=…) brings an original back; {SEARCH} searches.",
            fenced(digest(parse(state.recorded).messages, known)),
            *(["The newest texts:"] if newest else []),
            *(f"- ref {ref}: {one_line(state.refs[ref]['what'])}" for ref in newest),
        ]
    )


def digest(messages: Sequence[Message], known: Sequence[Entry]) -> str:
    """What a conversation was about: what was asked and answered, and its ledger, both bounded."""
    ledger = render(known, LEDGER_TOKENS, measure=Counter().text)
    return "\n\n".join(filter(None, [*_milestones(messages), ledger]))


def _milestones(messages: Sequence[Message]) -> list[str]:
    """The first and the newest request of the user, and the newest result, each clipped."""
    asked = [words for message in messages if (words := user_words(message).strip())]
    told = (message for message in reversed(messages) if message.role == "assistant")
    said = next((text for message in told if (text := message.text.strip())), "")
    results = (result.text.strip() for message in reversed(messages) for result in message.results)
    parts = {
        "First request": asked[0] if asked else "",
        "Newest request": asked[-1] if len(asked) > 1 else "",
        "Newest answer": said,
        "Newest tool result": next(filter(None, results), ""),
    }
    return [f"{name}: {_clipped(text)}" for name, text in parts.items() if text]


def _clipped(text: str) -> str:
    """A text of at most `CLIPPED` characters: its beginning and its end."""
    if len(text) <= CLIPPED:
        return text
    return f"{text[: CLIPPED * 2 // 3]} … {text[-CLIPPED // 3 :]}"


def _is_ours(state: State) -> bool:
    """Whether our view answered the newest compaction; `archive_all` undoes its compression."""
    return bool(state.compressions) and state.compressions[-1]["n"] == max(state.numbers)


NUMBER = r"(?P<number>\d{1,3}(?:[,.'_\u00a0\u202f ]\d{3})+|\d+(?:[.,]\d+)?)"
TOKENS = r"(?:tokens?|tok|toks|jetons?|токен\w*|トークン|토큰|令牌|词元)"
GROUPED = re.compile(r"\d{1,3}(?:[,.'_\u00a0\u202f ]\d{3})+")
UNIT = (
    r"\s?(?:(?P<percent>%|percent\b|per cent\b)"
    rf"|(?P<times>[kкm](?![A-Za-z0-9а-яА-Я-]))?(?P<tokens>\s?{TOKENS})?(?<![\d\s]))"
)
ABOUT = r"(?:(?:about|around|roughly|only|just|the|last|newest|at|most|up|to|~|≈|<|<=|≤)\s*)*"
KEEP = r"\b(?:keep(?:ing)?|leave|leaving|retain|preserve)\b"
SHORTEN = (
    r"(?:compact|compress|reduce|shrink|shorten|cut|bring|get)(?: (?:it|this|everything|all"
    r"|(?:the )?(?:context|conversation|history)))?"
)
DOWN_TO = (
    rf"(?:^|(?<=[,;.:!?\n])\s*|\b{SHORTEN} |\b(?=down ))(?:down )?"
    r"(?:to|into|under|below|within)\b"
)
AFTER = (
    r"(?=\s*(?:$|[.,;:!?)–—\n]"
    r"|(?:and|but|of|with|in|for|focus\w*|total|please|overall|then|max)\b))"
)
ENGLISH = re.compile(rf"(?:{KEEP}|{DOWN_TO})[\s:=]*{ABOUT}{NUMBER}{UNIT}{AFTER}", re.IGNORECASE)
CLAUSE = re.compile(r"(?:[^,;.\n!?。，；、]|(?<=\d)[,.](?=\d))+")
WHOLE = re.compile(rf"(?P<before>\D*){NUMBER}{UNIT}(?P<after>.*)", re.IGNORECASE | re.DOTALL)
LOOKED_AT = 300  # characters; a text that is pasted behind them names no size
WORDS = 2  # at most, beside the number in a clause that names a size in another language
LEFT_OVER = re.compile(
    r"^(?:[\s,;.:–—-]|(?:and|but)\b)+"
    r"|(?<![\s,;:–—-])(?<!\band)(?<!\bbut)(?:[\s,;:–—-]|\b(?:and|but))+$"
)
SAID_ANYWAY = re.compile(rf"(?:please|{SHORTEN})", re.IGNORECASE)
"""What is left beside a size and is no focus."""


@dataclass(frozen=True)
class NamedSize:
    """What the user typed after the command.

    Attributes:
        tokens: the size in tokens; `None` if none is named.
        share: the size as a share of the present one; `None` if none is named.
        focus: the other words.
    """

    tokens: int | None = None
    share: float | None = None
    focus: str = ""

    def of(self, present: int) -> int | None:
        """The size in tokens for a context that has `present` tokens; `None` if none is named."""
        return self.tokens if self.share is None else max(1, int(self.share * present))


def named_size(words: str) -> NamedSize:
    """`named_size("keep 30k, focus on tests")` -> 30,000 tokens, and the focus "focus on tests"."""
    looked_at = words[:LOOKED_AT]
    found = ENGLISH.search(looked_at) or _alone(looked_at)
    tokens, share = _value(found) if found else (None, None)
    if found is None or not (tokens or share):
        return NamedSize(focus=words.strip())
    rest = (LEFT_OVER.sub("", part) for part in (words[: found.start()], words[found.end() :]))
    focus = ", ".join(part for part in rest if part and not SAID_ANYWAY.fullmatch(part))
    return NamedSize(tokens, share, focus)


def _alone(words: str) -> re.Match[str] | None:
    """The clause with a size and hardly anything else; the size has an end, or says `tokens`."""
    for clause in CLAUSE.finditer(words):
        for found in WHOLE.finditer(words, clause.start(), clause.end()):
            before, after = found["before"].strip(), found["after"].strip()
            at_an_end = not before or not after or found["tokens"]
            if at_an_end and len(f"{before} {after}".split()) <= WORDS:
                return found
    return None


def _value(found: re.Match[str]) -> tuple[int | None, float | None]:
    """The tokens, or the share of the present size, that a match names; neither if impossible."""
    digits, unit = found["number"], (found["times"] or "").lower()
    groups = len(re.findall(r"\D", digits)) if GROUPED.fullmatch(digits) else 0
    if groups > 1 or (groups and not unit):  # 1.234k is a decimal number
        digits = re.sub(r"\D", "", digits)
    number = float(re.sub(r"[^\d.]", "", digits.replace(",", ".")))
    if found["percent"]:
        return None, number / 100 if 0 < number < 100 else None
    times = {"k": 1_000, "к": 1_000, "m": 1_000_000}.get(unit, 1)
    tokens = int(min(number * times, MOST))
    return tokens or None, None

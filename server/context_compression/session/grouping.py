"""Two histories compared by their blocks: borders between messages of one role do not count.

Programs join what they wrote apart (two results that came one by one, a user's text and the results
before it), or write apart what was joined. The same blocks in the same order are the same history.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from context_compression.conversation.cache_marks import without_marks
from context_compression.conversation.formats import plain
from context_compression.conversation.formats.plain import why_not_json
from context_compression.conversation.messages import is_array, is_object
from context_compression.conversation.refs import canonical

Raw: TypeAlias = Mapping[str, Any]
CONTENTS = ("content", "parts")
"""The keys of a message's blocks."""
CALLS = "tool_calls"
"""The key of calls that are not among the blocks."""
SPACE = re.compile(r"\s+")
"""What stands between texts that were joined."""
EMPTY: tuple[Any, ...] = (None, "", [], {})
TEXTS = ("text", "input_text", "output_text")


@dataclass(frozen=True)
class Atom:
    """One block of a message.

    Attributes:
        of: the role, and what else a message says of itself, in one form.
        text: of a block that is a text and nothing else; `None` for others.
        value: any other block.
    """

    of: str
    text: str | None
    value: Any = None


@dataclass
class Shared:
    """What a history has in common with messages that are known, from the start.

    Attributes:
        known: how many of the known messages are there.
        read: how many messages of the history they take.
        rest: what is left of the last of those, as a message; empty if nothing is.
        places: for each of those known messages its place in the history.
        regrouped: the known messages whose borders are elsewhere in the history.
    """

    known: int = 0
    read: int = 0
    rest: list[Raw] = field(default_factory=list[Raw])
    places: list[int] = field(default_factory=list[int])
    regrouped: set[int] = field(default_factory=set[int])

    def new(self, history: Sequence[Any]) -> list[Any]:
        """The messages of the history that follow."""
        return [*self.rest, *history[self.read :]]


def regroup(shared: Shared, known: Sequence[Raw], history: Sequence[Any]) -> bool:
    """Go on behind `shared`, block by block, until a border of both; changes `shared`.

    Returns:
        Whether at least one more known message is in the history.
    """
    ours, theirs = _Reader(known, shared.known), _Reader(history, shared.read)
    border: tuple[int, int] | None = None
    while ours.atom and theirs.atom:
        if not _take_same(ours, theirs):
            break
        if ours.is_at_border and theirs.is_between:
            last = theirs.at - (theirs.taken == 0)
            shared.places += [last] * (ours.at - shared.known)
            shared.regrouped |= {*range(shared.known, ours.at)}
            shared.known, border = ours.at, (theirs.at, theirs.taken)
            if theirs.taken == 0:
                break
    if border is None:
        return False
    shared.read, taken = border
    if taken:
        shared.rest = [_without_first(plain([history[shared.read]])[0], taken)]
        shared.read += 1
    return True


class _Reader:
    """Reads the blocks of messages, one after another.

    Attributes:
        at: the index of the message.
        taken: how many of its blocks were taken.
        offset: how many characters of the next block, a text, were taken.
    """

    def __init__(self, messages: Sequence[Any], at: int) -> None:
        self._messages, self.at, self.taken, self.offset = messages, at, 0, 0
        self._atoms = self._read()
        self._skip_empty()

    @property
    def atom(self) -> Atom | None:
        """The next block; `None` at the end."""
        return self._atoms[self.taken] if self.taken < len(self._atoms) else None

    @property
    def is_between(self) -> bool:
        """Whether no block is taken in part."""
        return self.offset == 0

    @property
    def is_at_border(self) -> bool:
        """Whether no block of the message is taken."""
        return self.taken == 0 and self.offset == 0

    def take(self) -> None:
        """Take the next block, or what is left of it."""
        self.taken, self.offset = self.taken + 1, 0
        self._skip_empty()

    def take_text(self, text: str, left: str) -> bool:
        """Take a part of the next text, and the space behind it; whether that is there.

        Args:
            text: the next text.
            left: the part, without the space at its end.
        """
        if not text.startswith(left, self.offset):
            return False
        end = self.offset + len(left)
        space = SPACE.match(text, end)
        if space is None or space.end() == len(text):
            return False
        self.offset = space.end()
        return True

    def _read(self) -> Sequence[Atom]:
        if self.at >= len(self._messages):
            return ()
        return _atoms(plain([self._messages[self.at]])[0])

    def _skip_empty(self) -> None:
        while self.at < len(self._messages) and self.taken >= len(self._atoms):
            self.at, self.taken = self.at + 1, 0
            self._atoms = self._read()


def _take_same(ours: _Reader, theirs: _Reader) -> bool:
    """Take the next block of both if it is the same; texts may be joined in one of them.

    A text that only became longer is not the same.
    """
    one, other = ours.atom, theirs.atom
    if not one or not other or one.of != other.of:
        return False
    if one.text is None or other.text is None:
        if (one.text, one.value) != (other.text, other.value):
            return False
        ours.take()
        theirs.take()
        return True
    left = len(one.text) - ours.offset, len(other.text) - theirs.offset
    shorter, longer = (ours, theirs) if left[0] <= left[1] else (theirs, ours)
    text, longer_text = (one.text, other.text) if shorter is ours else (other.text, one.text)
    rest = text[shorter.offset :]
    if left[0] == left[1] and longer_text.endswith(rest):
        ours.take()
        theirs.take()
        return True
    if not longer.take_text(longer_text, rest.rstrip()):
        return False
    shorter.take()
    return shorter.atom is not None


def _atoms(message: Any) -> list[Atom]:
    """The blocks of a message, without marks for a cache; a message without blocks is one."""
    if not is_object(message) or why_not_json(message):
        return [Atom("", None, object())]  # like no other
    bare = without_marks(message)
    key = next((key for key in CONTENTS if key in bare), None)
    content = bare.get(key) if key else None
    calls = bare.get(CALLS)
    if key is None and not is_array(calls):
        return [Atom("", None, bare)]
    about = {
        name: each for name, each in bare.items()
        if name not in (key, CALLS) and _says(each) and (name, each) != ("type", "message")
    }  # fmt: skip
    if not is_array(content):
        content = [content] if content not in EMPTY else []
    of = canonical(about)
    blocks = [*content, *([{CALLS: [call]} for call in calls] if is_array(calls) else [])]
    return [_atom(of, block) for block in blocks]


def _atom(of: str, block: Any) -> Atom:
    if isinstance(block, str):
        return Atom(of, block)
    if is_object(block) and isinstance(text := block.get("text"), str):
        others = {key for key, each in block.items() if key != "text" and _says(each)}
        if not others or (others == {"type"} and block["type"] in TEXTS):
            return Atom(of, text)
    return Atom(of, None, block)


def _says(value: Any) -> bool:
    """Whether a value says anything: options that are empty do not."""
    if is_object(value):
        return any(map(_says, value.values()))
    return not any(value is each or value == each for each in EMPTY)


def _without_first(message: Raw, taken: int) -> Raw:
    """A message without its first blocks."""
    key = next((key for key in CONTENTS if key in message), None)
    content = message.get(key) if key else None
    left: dict[str, Any] = dict(message)
    kept: list[Any] = [*content] if is_array(content) else []
    if key and content not in EMPTY:
        own = [each for each in (kept or [content]) if _is_there(each)]
        left[key] = own[taken:] or (None if CALLS in message else [])
        taken = max(0, taken - len(own))
    if taken and is_array(calls := message.get(CALLS)):
        left[CALLS] = [*calls][taken:]
    return left


def _is_there(block: Any) -> bool:
    """Whether a block is more than a mark for a cache."""
    return bool(without_marks([block]))

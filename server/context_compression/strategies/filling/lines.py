"""Two lines behind the last note of a small view: the files and the names that it lacks."""

from bisect import bisect
from collections.abc import Mapping

from context_compression.conversation.messages import Message, user
from context_compression.strategies import measured, names
from context_compression.strategies.filling.kept import KeptMessages, texts_in


class Lines:
    """The room of the two lines: of the files that were worked on, and of names that were used.

    Attributes:
        for_files: tokens of the line of files; 0 where the view has none.
        for_names: tokens of the line of names, likewise.
        more: tokens that are left over at last, added to the names where there are any, else to the
            files; `None` until they are known.
    """

    def __init__(self, base: KeptMessages) -> None:
        """Room for the files and names that the kept messages do not mention."""
        self._base = base
        self.for_names = self._tokens_for_names()
        self.for_files = self._tokens_for_files()
        self.more: float | None = None

    def __bool__(self) -> bool:
        return bool(self.for_files or self.for_names)

    def drop(self) -> None:
        """Have no lines any more."""
        self.for_files = self.for_names = 0.0

    def _tokens_for_files(self) -> float:
        base = self._base
        if not base.lacks_much:
            return 0.0
        count, room = base.plan.counter.text, measured.FILES_SHARE * base.room
        return count(base.quoting.files.line(texts_in(base.shown), count, room))

    def _tokens_for_names(self) -> float:
        """Those of the line; lines of names in earlier notes take from the same share."""
        base = self._base
        if not base.lacks_much or base.room >= measured.VERY_SMALL_SHARE * base.plan.total:
            return 0.0
        count, texts = base.plan.counter.text, [*texts_in(base.shown)]
        room = measured.NAMES_SHARE * base.room - sum(map(count, names.lines_in(texts)))
        return count(names.line(base.quoting.names, texts, count, room))

    def appended(
        self, view: Mapping[int, Message], notes: Mapping[int, Message]
    ) -> Mapping[int, Message]:
        """The last note that stays smaller than what it stands for, with the lines.

        By the index of the note; empty where there are no lines, or no note has room for them.
        """
        if not self or not notes:
            return {}
        plan = self._base.plan
        lines = self._lines([*texts_in({**view, **notes})])
        stops = [*sorted(view), len(plan.messages)]
        for start in sorted(notes, reverse=True) if lines else ():
            note = user("\n".join([notes[start].text, *lines]))
            replaced = plan.tokens[start : stops[bisect(stops, start)]]
            if plan.counter.message(note) < sum(replaced):
                return {start: note}
        return {}

    def _lines(self, texts: list[str]) -> list[str]:
        """The lines of what some texts lack; none that is empty."""
        count, quoting, more = self._base.plan.counter.text, self._base.quoting, self.more or 0.0
        lines: list[str] = []
        if self.for_files:
            room = self.for_files if self.for_names else self.for_files + more
            lines.append(quoting.files.line(texts, count, room))
        if self.for_names:
            room = self.for_names + more
            lines.append(names.line(quoting.names, texts + lines, count, room))
        return [*filter(None, lines)]

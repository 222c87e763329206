"""Two lines at the end of the last note of a small view: the files and the names that it lacks."""

from bisect import bisect
from collections.abc import Mapping

from context_compression.conversation.messages import Message, user
from context_compression.strategies import measured, names
from context_compression.strategies.files import Files
from context_compression.strategies.filling.kept import KeptMessages, texts_in


class FilesAndNames:
    """The room of the two lines: of files that were worked on, and of names that were used.

    Attributes:
        for_files: the tokens of the line of files; 0 if the view has no such line.
        for_names: the tokens of the line of names; 0 if the view has no such line.
        more: the tokens that are left over in the end; `None` until they are known. They are added
            to the line of names if there is one, else to the line of files.
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
        """Remove the lines."""
        self.for_files = self.for_names = 0.0

    def _tokens_for_files(self) -> float:
        base = self._base
        count, room = base.plan.counter.text, measured.FILES_SHARE * base.room
        return count(self._files.line(texts_in(base.shown), count, room))

    @property
    def _files(self) -> Files:
        """The changed files; in a small view of a long conversation also those that were read."""
        files = self._base.quoting.files
        return files if self._base.lacks_much else files.changed

    def _tokens_for_names(self) -> float:
        """The tokens of the line of names; lines in earlier notes take from the same share."""
        base = self._base
        if not base.lacks_much or base.room >= measured.VERY_SMALL_SHARE * base.plan.total:
            return 0.0
        count, texts = base.plan.counter.text, [*texts_in(base.shown)]
        room = measured.NAMES_SHARE * base.room - sum(map(count, names.lines_in(texts)))
        return count(names.line(base.quoting.names, texts, count, room))

    def appended(
        self, view: Mapping[int, Message], notes: Mapping[int, Message]
    ) -> Mapping[int, Message]:
        """The last note that stays smaller than its messages with the lines, by its index.

        Empty if there are no lines, or if no note has room for them.
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
        """The lines of the files and names that some texts lack, without empty lines."""
        count, quoting, more = self._base.plan.counter.text, self._base.quoting, self.more or 0.0
        lines: list[str] = []
        if self.for_files:
            room = self.for_files if self.for_names else self.for_files + more
            lines.append(self._files.line(texts, count, room))
        if self.for_names:
            room = self.for_names + more
            lines.append(names.line(quoting.names, texts + lines, count, room))
        return [*filter(None, lines)]

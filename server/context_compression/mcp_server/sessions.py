"""The earlier sessions of this project, for a new chat: listed, chosen, and what one was about.

A session that ended without a checkpoint can be taken up, too: by the number it has in the list, a
title, words of one, or its id. Nothing is kept of it; the answer is made from its transcript.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from pathlib import Path

from context_compression.conversation.authors import is_host_summary
from context_compression.conversation.formats import parse
from context_compression.conversation.labels import SEARCH
from context_compression.evidence.ledger import entries
from context_compression.evidence.redaction import redact
from context_compression.hooks.host_compaction import digest
from context_compression.hosts import read
from context_compression.hosts.earlier import TitledSession, titled
from context_compression.hosts.projects import FoundSession, sessions_of
from context_compression.session import pages
from context_compression.strings import fenced, one_line
from context_compression.workspace import Workspace

LISTED = 5
"""How many sessions are listed, the newest ones."""
TITLED = 50
"""How many of the newest are read to find words in their titles."""
SHORTEST_ID = 4
"""How many first characters of an id are enough."""
SHOWN_ID = 13
"""How many are shown: ids that begin with a time differ after eight."""
LONGEST_SUMMARY = 8_000
"""Characters of a summary that are told."""
NUMBER = re.compile(r"s([0-9]{1,3})", re.IGNORECASE)
"""How the list numbers them; a number alone is that of a checkpoint."""


@dataclass(frozen=True)
class EarlierSessions:
    """The sessions of the project of a workspace, the one written last first.

    Attributes:
        workspace: whose working directory is of the project.
        current: gives the transcript of the conversation that asks, which does not count.
    """

    workspace: Workspace
    current: Callable[[], Path | None] = lambda: None

    @cached_property
    def found(self) -> Sequence[FoundSession]:
        """All of them; none has been read."""
        kept = sessions_of(self.workspace)
        own = self.current() if kept else None
        return [each for each in kept if each.candidate.path != own]

    def titled(self) -> Iterator[TitledSession]:
        """Those that have a title; each is read when it is asked for."""
        return titled(self.found)

    def listed(self, does: str) -> str:
        """The newest ones in lines of a list, under a line with the call that takes one; or "".

        Args:
            does: what takes one: `context_summary(conversation="s1") digests one`.
        """
        named = [
            f"s{number} {header(each)}"
            for number, each in enumerate(islice(self.titled(), LISTED), 1)
        ]
        head = f"Earlier sessions of this project; {does}, {SEARCH} searches them:"
        return "\n".join([head, *named]) if named else ""

    def fitting(self, wanted: str) -> Iterator[TitledSession]:
        """The sessions that a person may mean, the best first.

        Args:
            wanted: a number of the list, the beginning of an id, a title, or words of a title.
        """
        words = wanted.casefold().strip(" \"'“”「」").split()
        one = words[0] if len(words) == 1 else ""
        if number := NUMBER.fullmatch(one):
            yield from islice(self.titled(), max(0, int(number[1]) - 1), int(number[1]))
            return
        if len(one) >= SHORTEST_ID:
            named = [each for each in self.found if each.candidate.id.casefold().startswith(one)]
            if named:
                yield from (next(titled([each]), TitledSession(each, "")) for each in named)
                return
        known = [*islice(self.titled(), TITLED)] if words else []
        exact = [each for each in known if each.title.casefold().split() == words]
        yield from exact or (e for e in known if all(word in e.title.casefold() for word in words))

    def told(self, session: TitledSession) -> str:
        """What a new chat needs of a session: its newest summary, and a digest of it; quoted.

        Raises:
            TranscriptError: its transcript cannot be read.
        """
        transcript = read(session.session.candidate.path)
        messages = parse(transcript.messages).messages
        id = self.workspace.of(transcript).session.id
        kept = self.workspace.store.summaries(session=id, limit=1)
        summaries = [str(kept[0].get("content", ""))] if kept else []
        if not summaries and messages and is_host_summary(messages[0].text):
            summaries = [messages[0].text]
        parts = [*(pages.beginning(each, LONGEST_SUMMARY).text for each in summaries)]
        parts.append(digest(messages, entries(messages)))
        return f"{header(session)}\n{fenced(redact(chr(10).join(parts)))}"


def header(session: TitledSession) -> str:
    """`"Fix the dates" · Claude Code · 2026-11-28 · id 3f1c0d52-05ae`."""
    host = session.session.host
    parts = [
        f'"{session.title}"',
        host and host.title,
        session.day,
        f"id {one_line(session.id[:SHOWN_ID])}",
    ]
    return " · ".join(part for part in parts if part)

"""How much of what people ask later about meetings and chats is in a compressed view of them.

    python benchmarks/talk.py [--shares 0.5,0.25,0.1] [--peers]

Some recordings are talk, and come with questions that a person asked about them. For a meeting, the
answers and the messages that contain them are known: the view should contain the words of an answer
that are in these messages. For a chat, only the questions are known: the view should contain the
words of the message that has most of the question's words, and of the next message. Only words in
few messages count, weighted by rarity; in a script without spaces, pairs of characters are words.
Means are taken over questions, then recordings.

Our view and those of plain rules (with --peers, those of other tools, too) are compared with a view
of random messages: a method that is worse does not choose at all.
"""

import argparse
import gzip
import json
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from math import log
from pathlib import Path
from statistics import mean
from typing import Any

import recordings
from comparison import OURS, Figure, Table, block
from estimate import message_tokens
from field.methods import ours
from field.view import View, share_of
from peer_processes import Failed, everyone, install
from peers import Peer
from plain_rules import PLAIN, RANDOM
from recordings import Messages

GO_ON = {"role": "user", "content": [{"type": "text", "text": "Go on."}]}
WORD = re.compile(r"[a-z][a-z'-]{3,}|\d[\d.,]*\d|\d")
RUN = re.compile(r"[\u4e00-\u9fff]{2,}")
FEW = 0.1  # of all messages may hold a word that counts; three in any case


class Talk:
    """A recording of talk.

    Attributes:
        kind: `meetings` or `chats`, with the language if there are two.
        messages: the complete recording; ends with a message of the user.
    """

    def __init__(self, recording: dict[str, Any]) -> None:
        messages: Messages = recording["messages"]
        language = recording["meta"].get("lang")
        self.kind = f"chats ({language})" if language else "meetings"
        self.messages = messages if messages[-1]["role"] == "user" else [*messages, GO_ON]
        self._said = [frozenset(words_in([message])) for message in messages]
        self._held_by = Counter(word for said in self._said for word in said)
        self._questions: list[dict[str, Any]] = recording.get("qa", [])
        self._unanswered: list[str] = recording.get("questions", [])

    def wanted(self) -> Iterator[dict[str, float]]:
        """The words that the answer to each question should contain, with their weights."""
        for each in self._questions:
            told = self._among(each["evidence"])
            yield self._rare(words_of(each["answer"]) & told - words_of(each["question"]))
        for question in self._unanswered:
            asked = self._rare(words_of(question))
            held = [sum(asked.get(word, 0) for word in said) for said in self._said]
            if asked:
                best = held.index(max(held))
                yield self._rare(self._among((best, best + 1)))

    def _among(self, indices: Iterable[int]) -> frozenset[str]:
        held = (self._said[index] for index in indices if index < len(self._said))
        return frozenset[str]().union(*held)

    def _rare(self, words: Iterable[str]) -> dict[str, float]:
        count = len(self._said)
        most = max(3, FEW * count)
        held = ((word, self._held_by[word]) for word in sorted(words))
        return {word: log(count / by) for word, by in held if 0 < by <= most}


def words_in(messages: Iterable[dict[str, Any]]) -> set[str]:
    blocks = (block for m in recordings.plain([*messages]) for block in m["content"])
    return {word for block in blocks for word in words_of(block.get("text", ""))}


def words_of(text: str) -> set[str]:
    pairs = (run[at : at + 2] for run in RUN.findall(text) for at in range(len(run) - 1))
    return {*WORD.findall(text.lower()), *pairs}


def share_in(view: Messages, talk: Talk) -> float:
    """The share of the wanted words that a view contains: the mean over questions."""
    held = words_in(view)
    return mean(
        sum(worth for word, worth in words.items() if word in held) / sum(words.values())
        for words in talk.wanted()
        if words
    )


def talks(limit: int | None = None) -> Iterator[Talk]:
    for path in recordings.paths()[:limit]:
        recording = read(path)
        if recording.get("qa") or recording.get("questions"):
            yield Talk(recording)


def read(path: Path) -> dict[str, Any]:
    with gzip.open(path, "rt", encoding="utf-8") as file:
        return json.load(file)


def tables(
    shares: Sequence[float], *, tools_too: bool = False, limit: int | None = None
) -> Iterator[Table]:
    """One table of all methods; a column for each kind of talk and each share."""
    found = [*talks(limit)]
    peers = [peer for peer in everyone(tools_too=tools_too) if peer.has_budget]
    methods = [Peer(OURS, ours), *peers, Peer(RANDOM, PLAIN[RANDOM])]
    columns = {
        f"{kind}, {100 * share:g} %": (kind, share)
        for kind in sorted({talk.kind for talk in found})
        for share in shares
    }
    rows: dict[str, dict[str, Figure]] = {}
    notes: list[str] = []
    for method in methods:
        print(f"talk: {method.name}", file=sys.stderr, flush=True)
        rows[method.name] = {}
        for column, (kind, share) in columns.items():
            those = [talk for talk in found if talk.kind == kind]
            try:
                figures = [shown(method, talk, share) for talk in those]
            except Failed as error:
                notes.append(f"{method.name} gave no view ({column}): {error}.")
                continue
            size = mean(figure.size or 0 for figure in figures)
            rows[method.name][column] = Figure(mean(f.value for f in figures), size)
    if columns:
        yield Table("talk", "% of what is asked later", [*columns], rows, notes=notes)


def shown(method: Peer, talk: Talk, share: float) -> Figure:
    """What a view of a talk holds, and its size."""
    messages: Messages = json.loads(json.dumps(talk.messages))
    target = share * sum(map(message_tokens, messages))
    view = recordings.plain(method.view(messages, target))
    return Figure(share_in(view, talk), share_of(View(view), View(talk.messages)))


def main() -> None:
    parser = argparse.ArgumentParser(description="What of meetings and chats stays in view.")
    parser.add_argument("--shares", default="0.5,0.25,0.1", help="of the tokens, for views")
    parser.add_argument("--peers", action="store_true", help="install and measure other tools, too")
    options = parser.parse_args()
    if options.peers:
        install()
    shares = [float(share) for share in options.shares.split(",")]
    print(block([*tables(shares, tools_too=options.peers)]))


if __name__ == "__main__":
    main()

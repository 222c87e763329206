"""The recordings of the gates, and where they are cut.

A folder holds `mini` (software tasks with tool blocks), `minitext` (the same kind of sessions in
which results come as texts of the user), `locomo` (two people talk) and `beam` (long chats with an
assistant), each as `NAME.jsonl.gz` with a conversation on each line. The talks come with questions.
"""

import gzip
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import recordings
from estimate import message_tokens
from plain_rules import tokens_of
from recordings import Messages

FOLDER = recordings.FOLDER.parents[1] / "field"
KINDS = ("mini", "minitext", "locomo", "beam")
NOT_ABOUT_FACTS = ("summarization", "instruction_following", "preference_following")
"""Kinds of questions whose evidence is not what a search would be asked for."""


@dataclass(frozen=True)
class Question:
    """A question about a talk.

    Attributes:
        evidence: indices of the messages that are needed to answer it.
        kind: what it asks for, in the words of its collection.
    """

    text: str
    evidence: tuple[int, ...]
    kind: str = ""


@dataclass(frozen=True)
class Conversation:
    """A recording; its messages hold blocks only, and results are texts."""

    id: str
    kind: str
    messages: Messages
    questions: tuple[Question, ...] = ()

    def before(self, share: float) -> Messages:
        """The history before the first answer after this share of the tokens."""
        left = share * tokens_of(self.messages)
        for at, message in enumerate(self.messages):
            if left <= 0 and message["role"] == "assistant":
                return self.messages[:at]
            left -= message_tokens(message)
        return self.messages[:-1]


def load(folder: Path, kind: str) -> list[Conversation]:
    """The recordings of one kind; none if the folder has no such file."""
    path = folder / f"{kind}.jsonl.gz"
    if not path.exists():
        return []
    with gzip.open(path, "rt", encoding="utf-8") as file:
        return [conversation(json.loads(line), kind) for line in file]


def conversation(saved: Mapping[str, Any], kind: str) -> Conversation:
    questions = (
        Question(each["q"], tuple(each["ev"]), each.get("kind", ""))
        for each in saved.get("qa") or ()
    )
    messages = recordings.plain(saved["messages"])
    return Conversation(saved["id"], kind, messages, tuple(questions))

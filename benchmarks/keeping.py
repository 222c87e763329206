"""Ways to keep a conversation in its window, request by request."""

from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from comparison import OURS
from plain_rules import MASKING, TASK_AND_LAST, USERS, tokens_of, users_and_masked
from recordings import Block, Message, Messages

from context_compression import Session, Settings
from context_compression.tokens import Counter

UNCOMPRESSED = "uncompressed"
KEPT_RESULTS = 3
CLEARED = "[Old tool result content cleared]"


class Loop(Protocol):
    """The part of an agent's loop that decides what is sent."""

    def request(self, came: Messages) -> Messages:
        """The next request, given the messages since the last one."""
        ...


class Ours:
    """A session without a model."""

    def __init__(self, folder: Path, window: int) -> None:
        # receipts name the store's folder: whatever it lies in, it is always called the same
        store = folder / ".compression"
        self._session = Session(store, "replayed", settings={"token_budget": window})

    def request(self, came: Messages) -> Messages:
        self._session.record(*came)
        return self._session.prepare()


class Uncompressed:
    """Everything is sent, even if it does not fit the window."""

    def __init__(self) -> None:
        self._messages: Messages = []

    def request(self, came: Messages) -> Messages:
        self._messages += came
        return self._messages


class Trimming:
    """The oldest steps are dropped, except for the first message.

    Args:
        tokens: counts the tokens of a message.
        threshold: size in tokens from which trimming is due.
        target: size in tokens after trimming, at most.
    """

    def __init__(self, tokens: Callable[[Message], int], threshold: int, target: int) -> None:
        self._tokens, self._threshold, self._target = tokens, threshold, target
        self._messages: Messages = []

    def request(self, came: Messages) -> Messages:
        self._messages += came
        total = sum(map(self._tokens, self._messages))
        if total >= self._threshold:
            self._messages = self.shortened(self._messages, total)
        return self._messages

    def shortened(self, messages: Messages, total: int) -> Messages:
        """What is left of messages with so many tokens."""
        stop = 1
        for at, message in enumerate(messages[1:-1], 1):
            if message["role"] == "assistant":  # with it a step begins
                stop = at
                if total <= self._target:
                    break
            total -= self._tokens(message)
        return [*messages[:1], *messages[stop:]]


class Clearing:
    """All tool results except the newest are cleared, and stay cleared.

    This is what the Messages API does (`clear_tool_uses_20250919`), with the same threshold as the
    other loops.
    """

    def __init__(self, tokens: Callable[[Message], int], threshold: int) -> None:
        self._tokens, self._threshold = tokens, threshold
        self._messages: Messages = []

    def request(self, came: Messages) -> Messages:
        self._messages += came
        if sum(map(self._tokens, self._messages)) >= self._threshold:
            newest = KEPT_RESULTS
            for at in range(len(self._messages) - 1, -1, -1):
                message = self._messages[at]
                results = sum(block["type"] == "tool_result" for block in message["content"])
                if results and newest <= 0:
                    self._messages[at] = _cleared(message)
                newest -= results
        return self._messages


class Masking(Trimming):
    """The rule "users + masked results", whenever the threshold is reached."""

    def shortened(self, messages: Messages, total: int) -> Messages:
        """The rule counts in another estimate, so its target is scaled to the tokens here."""
        return users_and_masked(messages, tokens_of(messages) / total * self._target)


def _cleared(message: Message) -> Message:
    content: list[Block] = [
        {**block, "content": CLEARED} if block["type"] == "tool_result" else block
        for block in message["content"]
    ]
    return message if content == message["content"] else {**message, "content": content}


def loops(tokens: Callable[[Message], int], window: int, folder: Path) -> dict[str, Loop]:
    """All loops, by name, with the same window and the same threshold."""
    threshold, target = threshold_of(window), Settings(token_budget=window).target_tokens
    return {
        OURS: Ours(folder, window),
        f"{TASK_AND_LAST}, down to half at once": Trimming(tokens, threshold, target),
        f"{TASK_AND_LAST}, as much as fits": Trimming(tokens, threshold, threshold - 1),
        MASKING: Clearing(tokens, threshold),
        USERS: Masking(tokens, threshold, target),
        UNCOMPRESSED: Uncompressed(),
    }


def threshold_of(window: int) -> int:
    """The size in tokens from which compression is due; ours uses its count's upper bound."""
    doubt = Counter().count(window).upper / window
    return int(Settings(token_budget=window).threshold_tokens / doubt)

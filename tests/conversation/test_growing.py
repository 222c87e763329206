"""A conversation that grows is repaired as if it were read anew each time, and only once."""

from typing import Any

from generated import Messages
from hypothesis import given
from talks import broken_talks

from context_compression.conversation.formats import parse
from context_compression.conversation.formats.reading import parse as reading
from context_compression.conversation.validity import growing as module
from context_compression.conversation.validity.growing import GrowingRepair
from context_compression.testing import Run, tool_step


@given(talk=broken_talks())
def test_what_grows_is_repaired_as_what_is_read_anew(talk: tuple[Any, Messages]) -> None:
    _, messages = talk
    growing = GrowingRepair()
    for end in range(1, len(messages) + 1):
        history = messages[:end]

        sendable, _ = growing.sendable(history)

        anew, _ = GrowingRepair().sendable(history)
        whole = module.repair(
            (read := parse(history)).messages, read.format.rules, read.without_halves
        )
        assert [*sendable.origins] == [*anew.origins] == [*whole.origins]
        assert said(sendable.messages) == said(anew.messages)
        assert said(sendable.messages) == said(read.render(whole.messages))


def said(messages: Any) -> Any:
    """The messages without a type that all messages of OpenAI Responses have, written or not."""
    return [
        {key: each for key, each in message.items() if (key, each) != ("type", "message")}
        for message in messages
    ]


def test_only_the_end_is_read_again(monkeypatch: Any) -> None:
    read: list[int] = []

    def counted(messages: Any) -> Any:
        read.append(len(messages))
        return reading(messages)

    monkeypatch.setattr(module, "parse", counted)
    history: Messages = [{"role": "user", "content": "Look."}]
    growing = GrowingRepair()
    for number in range(20):
        history += tool_step([Run(f"c{number}", "Bash", {"n": number}, "ok")], "openai")
        growing.sendable(history)

    assert len(read) <= 2

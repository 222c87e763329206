"""A conversation that grows is repaired as if it were read anew each time, and only once."""

from typing import Any

import pytest
from generated import Messages
from hypothesis import given
from talks import broken_talks

from context_compression.conversation import parse
from context_compression.conversation import parse as reading
from context_compression.conversation.validity import growing as module
from context_compression.conversation.validity.growing import GrowingRepair
from context_compression.testing import Run, tool_step

pytestmark = pytest.mark.slow


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


def test_a_call_without_an_id_stays_one_beside_half_of_a_character() -> None:
    history: Messages = [{"role": "user", "content": "Look."}]
    for arguments in ("{}", '{"path": "\ud83d'):
        call = {"name": "look", "arguments": arguments}
        history.append({"role": "assistant", "content": None, "function_call": call})
        history.append({"role": "function", "name": "look", "content": "seen"})

    sendable, _ = GrowingRepair().sendable(history)

    assert sendable.messages[3]["function_call"]["name"] == "look"


def test_a_beginning_of_system_messages_only_is_no_beginning_of_the_talk() -> None:
    step = tool_step([Run("c1", "Bash", {}, "ok")], "vercel")
    history: Messages = [{"role": "system", "content": "Be short."}, *step]
    growing = GrowingRepair()
    growing.sendable(history)

    sendable, _ = growing.sendable([*history, {"role": "assistant", "content": "Done."}])

    assert sendable.origins == [0, None, 1, 2, 3]  # a note comes before the first call


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

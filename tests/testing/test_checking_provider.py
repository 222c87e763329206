"""The checking provider refuses what a real one refuses, and sees what the model misses."""

from typing import Self

import httpx2
import pytest
from checking_provider import CheckingProvider
from scripted_agent import AgentModel, file_text, task
from wires import CHAT, MESSAGES, RESPONSES, Json, Wire

TOOL = {"name": "logs"}


class Talk:
    """A client that sends what a test makes of its history; it runs inside `with`."""

    def __init__(self, wire: Wire, window: int = 200_000) -> None:
        self.wire = wire
        self.provider = CheckingProvider(wire, AgentModel(9), window)
        self.history: list[Json] = [{"role": "user", "content": task("a7")}]

    def __enter__(self) -> Self:
        self.provider.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        self.provider.__exit__()

    def ask(self) -> Json:
        """The provider's answer to the history."""
        body = {"model": "m", self.wire.field: self.history, "tools": [TOOL]}
        return httpx2.post(self.provider.url + self.wire.path, json=body).json()

    def refusal(self) -> str:
        """Why it refuses the history; "" if it does not."""
        error = self.ask().get("error") or {"message": ""}
        return error["message"]

    def steps(self, count: int) -> Self:
        """Tool steps that are answered."""
        for number in range(1, count + 1):
            self.history += self._items(self.ask(), file_text("a7", number), f"read_a7_{number}")
        return self

    def _items(self, said: Json, text: str, id: str) -> list[Json]:
        if self.wire is MESSAGES:
            result = {"type": "tool_result", "tool_use_id": id, "content": text}
            assistant = {"role": "assistant", "content": said["content"]}
            return [assistant, {"role": "user", "content": [result]}]
        if self.wire is CHAT:
            result = {"role": "tool", "tool_call_id": id, "content": text}
            return [said["choices"][0]["message"], result]
        return [*said["output"], {"type": "function_call_output", "call_id": id, "output": text}]


@pytest.mark.parametrize("wire", [MESSAGES, CHAT, RESPONSES])
def test_a_history_that_grows_is_answered_and_its_prefix_kept(wire: Wire):
    with Talk(wire) as talk:
        work = talk.steps(5).provider.work("a7")

    assert (work.requests, work.unbroken, work.prefix, work.faults) == (5, 1, 1, [])
    assert work.files == 4


@pytest.mark.parametrize("wire", [MESSAGES, CHAT, RESPONSES])
def test_a_call_without_its_result_is_refused(wire: Wire):
    with Talk(wire) as talk:
        talk.steps(2).history[-1] = talk.history[0]

        assert "read_a7_2" in talk.refusal()


@pytest.mark.parametrize("wire", [MESSAGES, CHAT, RESPONSES])
def test_a_prompt_over_the_window_is_refused(wire: Wire):
    with Talk(wire, window=6_000) as talk:
        talk.steps(2)
        assert not talk.refusal()
        talk.history[0]["content"] += file_text("b8", 1)

        assert "context" in talk.refusal() or "too long" in talk.refusal()


@pytest.mark.parametrize("change", ["another task", "a thought left out", "a result cut"])
def test_a_thought_behind_a_change_is_refused(change: str):
    with Talk(MESSAGES) as talk:
        task_, said, results, *_ = talk.steps(3).history
        if change == "another task":
            task_["content"] += " "
        elif change == "a thought left out":
            said["content"].pop(0)
        else:
            results["content"][0]["content"] = "[cut]"

        assert "bound to a different conversation" in talk.refusal()


def test_a_mark_of_the_cache_is_no_change():
    with Talk(MESSAGES) as talk:
        talk.steps(3).history[2]["content"][0]["cache_control"] = {"type": "ephemeral"}

        assert not talk.refusal()


def test_an_item_without_its_reasoning_is_refused():
    with Talk(RESPONSES) as talk:
        talk.steps(2).history.pop(1)

        assert "without its required 'reasoning' item" in talk.refusal()


def test_what_the_model_misses_is_noted():
    with Talk(CHAT) as talk:
        talk.steps(1).history[0]["content"] = "Work on build-a7."
        talk.ask()
        talk.history[2]["content"] = "file 1 of build-a7\n[… 100 lines]"
        talk.ask()

    faults = " ".join(talk.provider.work("a7").faults)
    assert "the goal is gone" in faults
    assert "the rule is gone" in faults
    assert "has lost its last line" in faults
    assert "is cut, and has no ref" in faults

"""What comes in after a compression: a text that was asked for is whole, an output is a preview."""

import re
from pathlib import Path
from typing import Any

import pytest

from context_compression import Session, plurals, restore_tool
from context_compression.conversation import BY_USER
from context_compression.testing import Run, said_by_user, tool_step

SOURCE = Path(plurals.__file__).read_text("utf-8") * 2


def log(number: int, lines: int = 150) -> str:
    return "\n".join(f"src/{n % 7}.c:{n}: warning: unused v{number}_{n}" for n in range(lines))


class Loop:
    """A program that offers our tool, after its first compression."""

    def __init__(self, folder: Path, **settings: Any) -> None:
        self.session = Session(folder, "s", settings={"token_budget": 20_000, **settings})
        self.tool = restore_tool(self.session)
        self.history = [said_by_user("Go through it.", "openai")]
        self.number = 0
        while not self.session.state().compressions:
            self.ask("logs", {"n": self.number}, log(self.number))

    def ask(self, name: str, arguments: dict[str, Any], text: str) -> str:
        """What the model is shown of an answer."""
        self.number += 1
        self.history += tool_step([Run(f"c{self.number}", name, arguments, text)], "openai")
        return self.session.fit(self.history, tools=[self.tool.openai])[-1]["content"]


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("read_file", {"path": "a.py"}),
        ("view", {"n": 1}),
        ("bash", {"command": "cd src && sed -n 1,400p a.py"}),
        ("shell", {"command": ["bash", "-lc", "cat a.py"]}),
        ("get_ticket", {"id": 4}),
        ("ask_somebody", {"n": 4}),
    ],
)
def test_what_was_asked_for_is_whole(tmp_path: Path, name: str, arguments: dict[str, Any]) -> None:
    assert Loop(tmp_path).ask(name, arguments, SOURCE) == SOURCE


def test_a_question_that_is_asked_again_gets_the_whole(tmp_path: Path) -> None:
    loop, text = Loop(tmp_path), log(99)

    first = loop.ask("bash", {"command": "make"}, text)
    other = loop.ask("bash", {"command": "make all"}, log(98))
    again = loop.ask("bash", {"command": "make"}, text)

    assert "context_restore(ref=" in first
    assert "context_restore(ref=" in other
    assert again == text


def test_a_tool_whose_previews_are_restored_is_shortened_no_more(tmp_path: Path) -> None:
    loop = Loop(tmp_path)
    shown = [loop.ask("bash", {"command": f"make {n}"}, log(n)) for n in range(20, 24)]
    [ref] = re.findall(r"ref=\"(\w+)\"", shown[0])

    loop.session.restore(ref)

    assert loop.ask("bash", {"command": "make more"}, log(30)) == log(30)
    assert loop.ask("ci", {"command": "make more"}, log(31)) != log(31)


@pytest.mark.parametrize("tool", ["ask_user", "mcp__desk__AskUserQuestion", "human_input"])
def test_an_answer_of_the_users_is_whole_whatever_the_settings_say(
    tmp_path: Path, tool: str
) -> None:
    loop = Loop(tmp_path, offload_at_source=f"{tool}=500")

    assert loop.ask(tool, {"question": "What does it print?"}, log(50)) == log(50)
    assert loop.ask("bash", {"command": "make"}, log(50)) != log(50)


def test_an_output_is_not_shortened_where_the_users_words_would_leave(tmp_path: Path) -> None:
    loop, words = Loop(tmp_path), "The blue one, on Tuesday."
    text = f"{log(60)}\nThe operator: {words}\n{log(61)}"
    loop.history += tool_step([Run("said", "deploy", {"command": "all"}, text)], "openai")
    loop.history[-1] |= {BY_USER: words}

    shown = loop.session.fit(loop.history, tools=[loop.tool.openai])[-1]["content"]

    assert words in shown


def test_limits_of_the_user_hold_from_the_first_result_on(tmp_path: Path) -> None:
    session = Session(tmp_path, "s", settings={"offload_at_source": "read*=500, ci=0"})
    tool = restore_tool(session)
    history = [said_by_user("Go through it.", "openai")]
    shown: list[str] = []
    for name in ("read_file", "ci"):
        history += tool_step([Run(name, name, {"path": "a.py"}, SOURCE)], "openai")
        shown.append(session.fit(history, tools=[tool.openai])[-1]["content"])

    assert "context_restore(ref=" in shown[0]
    assert shown[1] == SOURCE


def test_a_session_that_keeps_the_history_shortens_the_same(tmp_path: Path) -> None:
    session = Session(tmp_path, "s", settings={"token_budget": 20_000})
    session.tools = [restore_tool(session).openai]
    session.record(said_by_user("Go through it.", "openai"))
    number = 0

    def ask(name: str, arguments: dict[str, Any], text: str) -> str:
        nonlocal number
        number += 1
        session.record(*tool_step([Run(f"c{number}", name, arguments, text)], "openai"))
        return session.prepare()[-1]["content"]

    while not session.state().compressions:
        ask("logs", {"n": number}, log(number))

    assert ask("read_file", {"path": "a.py"}, SOURCE) == SOURCE
    assert "context_restore(ref=" in ask("bash", {"command": "make"}, log(77))
    assert session.prepare() == session.view()

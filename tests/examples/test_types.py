"""Programs with their clients' own types need no cast, under pyright in strict mode."""

import asyncio
import json
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from shutil import copy
from typing import Any

import pytest
import typed_programs as programs
from anthropic import Anthropic, AsyncAnthropic
from examples import EXAMPLES
from openai import AsyncOpenAI, OpenAI
from scripted_model import ScriptedModel

from context_compression import Session
from context_compression.testing.messages_api import Answer, MessagesAPI

PROGRAMS = Path(programs.__file__)
LOOPS = ("anthropic_fit.py", "openai_fit.py", "openai_responses_fit.py")
REFUSED = {
    'compress([{"role": "user", "content": "a"}], strategy="beest")': "beest",
    'compress("a text")': "str",
    'Session("store", "s").compress(strategy="beest")': "beest",
    'Settings(strategy="beest")': "beest",
    "Settings(token_budgt=5)": "token_budgt",
    'session.fit(["a"]).append(5)': "str",
}
"""Programs that are wrong, and what a checker names."""

pytestmark = pytest.mark.slow


def pyright(folder: Path, files: int) -> Sequence[dict[str, Any]]:
    """What pyright finds in strict mode in the files of a folder, which are so many."""
    pytest.importorskip("pyright", reason="pyright is in the extra `dev`")
    config = folder / "pyrightconfig.json"
    config.write_text('{"typeCheckingMode": "strict"}', encoding="utf-8")
    ended = subprocess.run(
        [sys.executable, "-m", "pyright", "--outputjson", "--pythonpath", sys.executable,
         "--project", str(config)],
        capture_output=True, text=True, timeout=300, check=False, cwd=folder,
    )  # fmt: skip
    told = json.loads(ended.stdout)
    assert told["summary"]["filesAnalyzed"] == files, ended.stdout
    return told["generalDiagnostics"]


def test_the_loops_of_tutorials_need_no_cast(tmp_path: Path) -> None:
    loops = [EXAMPLES / name for name in LOOPS]

    for file in (*loops, PROGRAMS):
        copy(file, tmp_path)

    found = pyright(tmp_path, len(loops) + 1)

    assert [each["message"] for each in found] == []
    for loop in loops:
        assert not re.search(r"\bcast\b|\bAny\b|# (type|pyright):", loop.read_text("utf-8")), loop


def test_a_checker_names_a_wrong_strategy_setting_or_message(tmp_path: Path) -> None:
    begin = "from context_compression import Session, Settings, compress\n"
    begin += 'session = Session("store", "s")\n'
    files = [tmp_path / f"wrong_{n}.py" for n in range(len(REFUSED))]
    for file, line in zip(files, REFUSED, strict=True):
        file.write_text(f"{begin}{line}\nprint(session, Settings, compress)\n", "utf-8")

    found = pyright(tmp_path, len(files))

    for file, (line, named) in zip(files, REFUSED.items(), strict=True):
        messages = [each["message"] for each in found if each["file"] == str(file)]
        assert any(named in message for message in messages), (line, messages)


def test_the_typed_programs_run(tmp_path: Path) -> None:
    said: Any = [{"role": "user", "content": "Hello."}]
    session = Session(tmp_path, "anthropic")
    with MessagesAPI([Answer("Hi.")] * 9) as api:
        keys: dict[str, Any] = {"api_key": "any", "base_url": api.base_url}
        programs.of_anthropic(Anthropic(**keys), session, said)
        with ScriptedModel(["Hi."]) as model:
            theirs: dict[str, Any] = {"api_key": "any", "base_url": f"{model.url}/v1"}
            asyncio.run(
                programs.in_an_event_loop(
                    AsyncAnthropic(**keys),
                    AsyncOpenAI(**theirs),
                    Session(tmp_path, "awaited"),
                    said,
                )
            )
            programs.of_openai(OpenAI(**theirs), Session(tmp_path, "chat"), said)
            programs.of_responses(OpenAI(**theirs), Session(tmp_path, "items"), said)

    def send(**request: Any) -> dict[str, Any]:
        return {"content": [{"type": "text", "text": str(len(request["tools"]))}]}

    assert programs.of_its_own(Session(tmp_path, "own"), said) == [*said, *said]
    assert programs.plain_dicts(Session(tmp_path, "dicts"), send, "Hello.") == "2"
    assert programs.with_settings().token_budget == 60_000

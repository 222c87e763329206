"""Each request in `docs/http.md` has the answer that the page shows."""

import json
import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from replicas import replicas

from context_compression.conversation import is_array, is_object

PAGE = Path(__file__).parents[1] / "docs" / "http.md"
BLOCKS = re.compile(r"(?ms)^```(bash|json)\n(.*?)^```$")
LONGEST_NAME = 40
"""The tokens of the name of a store."""
TOKEN = "a-token-for-tests"


@pytest.mark.slow
def test_each_request_has_the_answer_that_the_page_shows(tmp_path: Path) -> None:
    _begin, *blocks = BLOCKS.findall(PAGE.read_text("utf-8"))
    environ = {**os.environ, "CONTEXT_COMPRESSION_TOKEN": TOKEN}
    defined, said, shown = "set -e\n", "", 0
    with replicas(tmp_path, "--token", TOKEN) as (server,):
        for kind, block in blocks:
            if kind == "bash":
                commands = block.replace("http://127.0.0.1:8765", server.base)
                said = subprocess.run(
                    ["bash", "-c", defined + commands], cwd=tmp_path, env=environ,
                    capture_output=True, text=True, timeout=120, check=True,
                ).stdout  # fmt: skip
                defined += commands if commands.startswith("ask()") else ""
            else:
                shown += 1
                assert not list(differences(json.loads(block), json.loads(said))), block
    assert shown == 5


def differences(shown: Any, answer: Any, path: str = "") -> Iterator[tuple[str, Any, Any]]:
    """What the page shows and the answer has not; an ellipsis stands for the rest of a text.

    The name of the store is in a note, so a token count may differ a little.
    """
    if is_object(shown):
        for name, value in shown.items():
            yield from differences(value, answer.get(name), f"{path}.{name}")
    elif is_array(shown) and is_array(answer):
        for at, value in enumerate(shown):
            yield from differences(value, answer[at], f"{path}[{at}]")
    elif isinstance(shown, str) and shown.endswith("…") and str(answer).startswith(shown[:-1]):
        return
    elif path.endswith("tokens_after"):
        if abs(shown - answer) > LONGEST_NAME:
            yield path, shown, answer
    elif shown != answer:
        yield path, shown, answer

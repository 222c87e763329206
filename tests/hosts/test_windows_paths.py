"""Transcripts with Windows paths are read as those with others: drives, spaces, shares of WSL.

They are recorded ones with the path of their project replaced, and are read on this system.
"""

import json
from pathlib import Path
from typing import Any

import pytest
from transcripts import FIXTURES, rows_of, written

from context_compression import hosts
from context_compression.conversation.messages import is_array, is_object
from context_compression.hosts.claude_code.about import project_folder_name

PATHS = [
    "C:\\Users\\Me\\My Project",
    "d:\\code",
    "\\\\wsl$\\Ubuntu\\home\\me\\app",
    "\\\\wsl.localhost\\Debian\\srv\\a b",
    "C:/Users/me/slashes",
    "C:\\Users\\张三\\项目",
]
RECORDED = [
    path
    for host in ("claude_code", "codex", "pi", "copilot_cli")
    for path in sorted((FIXTURES / host).glob("*.jsonl"))
    if b'"cwd"' in path.read_bytes()
]


def replaced(value: Any, old: str, new: str) -> Any:
    """A value of JSON in which every string has another path."""
    if isinstance(value, str):
        return value.replace(old, new)
    if is_object(value):
        return {name: replaced(part, old, new) for name, part in value.items()}
    return [replaced(part, old, new) for part in value] if is_array(value) else value


@pytest.mark.parametrize("project", PATHS)
@pytest.mark.parametrize("recorded", RECORDED, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_a_transcript_with_windows_paths_reads_as_the_recorded_one(
    recorded: Path, project: str, tmp_path: Path
) -> None:
    before = hosts.read(recorded)
    if not before.project:
        pytest.skip("this transcript names no project")
    file = written(tmp_path / recorded.name, replaced(rows_of(recorded), before.project, project))

    after = hosts.read(file)

    assert after.project == project
    assert after.messages == replaced(before.messages, before.project, project)
    assert (after.title, after.usage, after.rows) == (before.title, before.usage, before.rows)
    assert replaced(after.warnings, project, "") == replaced(before.warnings, before.project, "")
    assert json.dumps(project) in file.read_text("utf-8")


def test_claude_codes_folder_of_a_windows_project_is_known() -> None:
    """The rule of version 2.1.329: each character that is no letter or digit is a dash."""
    assert project_folder_name("C:\\Users\\Me\\My Project") == "C--Users-Me-My-Project"
    assert project_folder_name("\\\\wsl$\\Ubuntu\\home\\me") == "--wsl--Ubuntu-home-me"

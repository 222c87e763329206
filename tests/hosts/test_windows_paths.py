"""Transcripts with Windows paths are read as those with others: drives, spaces, shares of WSL.

They are recorded ones with the path of their project replaced, and are read on this system.
"""

import json
from collections.abc import Callable
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from opencode_database import Host
from transcripts import FIXTURES, rows_of, written

from context_compression import hosts
from context_compression.conversation import is_array, is_object
from context_compression.hosts import Conversations, list_sessions
from context_compression.hosts.claude_code.about import project_folder_name
from context_compression.hosts.pi.transcript import sessions_folder
from context_compression.hosts.table import KEEPING
from context_compression.transcripts import is_same_folder
from context_compression.workspace import Workspace

PATHS = [
    "C:\\Users\\Me\\My Project", "d:\\code", "\\\\wsl$\\Ubuntu\\home\\me\\app",
    "\\\\wsl.localhost\\Debian\\srv\\a b", "C:/Users/me/slashes", "C:\\Users\\张三\\项目",
]  # fmt: skip
RECORDED = [
    path
    for host in ("claude_code", "codex", "pi", "copilot_cli")
    for path in sorted((FIXTURES / host).glob("*.jsonl"))
    if b'"cwd"' in path.read_bytes()
]


AGAIN = {
    "C:\\Users\\Me\\My Project": ["c:\\users\\me\\my project", "C:/Users/Me/My Project"],
    "\\\\wsl$\\Ubuntu\\home\\me\\app": [
        "\\\\wsl.localhost\\Ubuntu\\home\\me\\app",
        "//wsl$/Ubuntu/home/me/app",
    ],
    "d:\\code": ["D:\\Code", "\\\\?\\D:\\code"],
}
"""Other ways in which hosts, shells and editors write the same folders."""


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


def of_claude_code(home: Path, project: str) -> None:
    folder = home / ".claude" / "projects" / project_folder_name(project)
    keep(
        "claude_code/session.jsonl",
        folder / f"{'1' * 8}-0000-4000-8000-000000000000.jsonl",
        project,
    )


def of_codex(home: Path, project: str) -> None:
    name = "rollout-2026-11-01T10-00-00-00000000-0000-4000-8000-00000000cafe.jsonl"
    keep("codex/session.jsonl", home / ".codex/sessions/2026/11/01" / name, project)


def of_gemini_cli(home: Path, project: str) -> None:
    """Its registry has paths in small letters on Windows (seen in the source of 0.61)."""
    gemini = home / ".gemini"
    keep(
        "gemini_cli/session.jsonl", gemini / "tmp/app/chats/session-2026-11-01T10-00-53ba0000.jsonl"
    )
    about = {"projects": {project.lower(): "app"}}
    (gemini / "projects.json").write_text(json.dumps(about), encoding="utf-8")


def of_gemini_cli_by_hash(home: Path, project: str) -> None:
    name = sha256(project.encode()).hexdigest()
    file = f".gemini/tmp/{name}/chats/session-2025-11-01T10-00-53ba0000.json"
    keep("gemini_cli/until-2026.json", home / file)


def of_gemini_cli_by_mark(home: Path, project: str) -> None:
    folder = home / ".gemini/tmp/app"
    keep("gemini_cli/session.jsonl", folder / "chats/session-2026-11-01T10-00-53ba0000.jsonl")
    (folder / ".project_root").write_text(project, encoding="utf-8")


def of_opencode(home: Path, project: str) -> None:
    database = home / ".local/share/opencode/opencode.db"
    database.parent.mkdir(parents=True)
    host = Host(database)
    host.keep("session")
    host.db.execute("UPDATE session SET directory = ?", (project,))
    host.db.commit()


def of_pi(home: Path, project: str) -> None:
    folder = sessions_folder({}, home, Path(project))
    keep("pi/session.jsonl", folder / "2026-11-01T10-00-00-000Z_cafe.jsonl", project)


def of_copilot_cli(home: Path, project: str) -> None:
    keep("copilot_cli/session.jsonl", home / ".copilot/session-state/cafe/events.jsonl", project)


def keep(fixture: str, file: Path, project: str | None = None) -> None:
    """Puts a fixture where its host would keep it, in a project or as it is."""
    file.parent.mkdir(parents=True)
    recorded = FIXTURES / fixture
    if project is None:
        file.write_bytes(recorded.read_bytes())
    else:
        rows, before = rows_of(recorded), hosts.read(recorded).project
        written(
            file,
            replaced(rows, before, project) if before else [r | {"cwd": project} for r in rows],
        )


STORED = {host.name: host.stored for host in KEEPING}
KEPT: dict[str, tuple[str, Callable[[Path, str], None]]] = {
    "claude-code": ("claude-code", of_claude_code),
    "codex": ("codex", of_codex),
    "gemini-cli": ("gemini-cli", of_gemini_cli),
    "gemini-cli, until 2026": ("gemini-cli", of_gemini_cli_by_hash),
    "gemini-cli, by its mark": ("gemini-cli", of_gemini_cli_by_mark),
    "opencode": ("opencode", of_opencode),
    "pi": ("pi", of_pi),
    "copilot-cli": ("copilot-cli", of_copilot_cli),
}


@pytest.mark.parametrize("project", PATHS)
@pytest.mark.parametrize(("host", "kept"), KEPT.values(), ids=KEPT)
def test_sessions_of_a_windows_folder_are_found_here_and_not_elsewhere(
    host: str, kept: Callable[[Path, str], None], project: str, tmp_path: Path
) -> None:
    kept(tmp_path, project)
    [found] = STORED[host].sessions({}, tmp_path)

    def is_of(folder: str) -> bool:
        return any(is_same_folder(each, folder) for each in STORED[host].folders(found, [folder]))

    assert is_of(project)
    assert not is_of(project + "2")
    assert not is_of("/work/app")
    by_hash = found.path.suffix == ".json"
    for again in [] if by_hash else AGAIN.get(project, []):
        assert is_of(again), again


@pytest.mark.parametrize("project", PATHS)
@pytest.mark.parametrize(("host", "kept"), KEPT.values(), ids=KEPT)
def test_the_listing_here_has_the_session_with_its_windows_folder(
    host: str, kept: Callable[[Path, str], None], project: str, tmp_path: Path
) -> None:
    kept(tmp_path, project)
    workspace = Workspace.here(environ={}, cwd=tmp_path, home=tmp_path)
    conversations = Conversations(replace(workspace, cwd=Path(project)))

    [listed] = list_sessions(conversations, only_here=True).sessions

    assert (listed.host, listed.problem) == (host, "")
    assert listed.title and not listed.title.startswith("<")
    told = listed.project.lower() == project.lower()
    assert told or found_by_hash(listed.project, listed.path)


def found_by_hash(project: str, path: Path | None) -> bool:
    """Whether only the hash of the folder's path is known."""
    return not project and path is not None and path.suffix == ".json"


def test_folders_of_other_systems_differ_by_case() -> None:
    assert is_same_folder("/App", "/App")
    assert not is_same_folder("/App", "/app")
    assert not is_same_folder("C:\\app", "/app")
    assert not is_same_folder("C:\\app", "D:\\app")
    assert not is_same_folder("", "C:\\app")
    assert is_same_folder("\\\\wsl$\\Ubuntu\\a", "//wsl.localhost/ubuntu/a/")
    assert is_same_folder("\\\\?\\UNC\\host\\share\\a", "\\\\host\\share\\a")

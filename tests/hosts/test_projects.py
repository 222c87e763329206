"""Whose sessions are seen from a folder: those of its repository and worktrees, and no others'."""

import json
import os
import subprocess
from collections.abc import Sequence
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

import pytest
from opencode_database import Host
from transcripts import FIXTURES, Row, rows_of, written

from context_compression.hosts.claude_code.about import project_folder_name
from context_compression.hosts.pi.transcript import sessions_folder
from context_compression.hosts.projects import folder_of, folders_of, is_below, sessions_of
from context_compression.workspace import Workspace


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "home").mkdir()
    return tmp_path / "home"


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    """A repository with one commit, beside the home folder."""
    folder = tmp_path / "shop"
    folder.mkdir()
    git(folder, "init", "-q")
    git(folder, "commit", "-q", "--allow-empty", "-m", "first")
    return folder


def git(folder: Path, *arguments: str) -> None:
    who = [
        "-c",
        "user.name=A",
        "-c",
        "user.email=a@example.org",
        "-c",
        "protocol.file.allow=always",
    ]
    environ = {"PATH": os.environ["PATH"], "HOME": str(folder)}
    subprocess.run(["git", *who, *arguments], cwd=folder, env=environ, check=True)


def claude_session(home: Path, folder: Path | str, id: str = "a", *more: Row) -> Path:
    """A session of Claude Code that began in a folder."""
    place = home / ".claude/projects" / project_folder_name(str(folder))
    place.mkdir(parents=True, exist_ok=True)
    rows = [row | {"cwd": str(folder)} for row in rows_of(FIXTURES / "claude_code/session.jsonl")]
    return written(place / f"{id}.jsonl", [*rows, *more])


def in_all_hosts(home: Path, folder: Path) -> Host:
    """A session of each host that began in a folder, and one of a host's subagent."""
    name = str(folder)
    claude_session(home, folder)
    codex = home / ".codex/sessions/2026/11/01"
    about: Row = {"type": "session_meta", "payload": {"cwd": name}}
    helper: Row = {"type": "session_meta", "payload": {"cwd": name, "thread_source": "subagent"}}
    for row, id in ((about, "cafe"), (helper, "beef")):
        file = f"rollout-2026-11-01T10-00-00-00000000-0000-4000-8000-00000000{id}.jsonl"
        codex.mkdir(parents=True, exist_ok=True)
        written(codex / file, [row])
    gemini = home / ".gemini/tmp" / sha256(name.encode()).hexdigest() / "chats"
    gemini.mkdir(parents=True)
    (gemini / "session-2025-11-01T10-00-53ba0000.json").write_text("{}", encoding="utf-8")
    pi = sessions_folder({}, home, folder)
    pi.mkdir(parents=True)
    written(pi / "2026_cafe.jsonl", [{"type": "session", "cwd": name}])
    copilot = home / ".copilot/session-state/cafe"
    copilot.mkdir(parents=True)
    started: Row = {"type": "session.start", "data": {"context": {"cwd": name}}}
    written(copilot / "events.jsonl", [started])
    data = home / ".local/share/opencode"
    data.mkdir(parents=True)
    host = Host(data / "opencode.db")
    host.keep("session")
    host.db.execute("UPDATE session SET directory = ?", (name,))
    host.db.commit()
    return host


def of(cwd: Path, home: Path, folders: Sequence[Path] | None = None) -> list[str]:
    """The names of the hosts with sessions of the project in a working folder."""
    workspace = replace(Workspace.here(environ={}, cwd=home, home=home), cwd=cwd)
    return [each.host.name for each in sessions_of(workspace, folders) if each.host]


def ids(cwd: Path, home: Path) -> set[str]:
    workspace = replace(Workspace.here(environ={}, cwd=home, home=home), cwd=cwd)
    return {each.candidate.id for each in sessions_of(workspace)}


EVERY = {"claude-code", "codex", "gemini-cli", "opencode", "pi", "copilot-cli"}


def test_the_sessions_of_all_hosts_are_found_and_no_subagents(home: Path, shop: Path) -> None:
    host = in_all_hosts(home, shop)

    found = of(shop, home)

    assert sorted(found) == sorted(EVERY)
    assert of(shop.with_name("shop2"), home) == []
    host.db.close()


def test_each_host_tells_the_folder_of_a_session(home: Path, shop: Path) -> None:
    host = in_all_hosts(home, shop)
    workspace = replace(Workspace.here(environ={}, cwd=home, home=home), cwd=shop)

    told = {each.host.name: folder_of(each) for each in sessions_of(workspace) if each.host}

    assert told == dict.fromkeys(EVERY, str(shop)) | {"gemini-cli": ""}  # which kept a hash
    host.db.close()


def test_a_session_of_a_sub_folder_is_one_of_its_repository(home: Path, shop: Path) -> None:
    (shop / "web/css").mkdir(parents=True)
    claude_session(home, shop / "web", "in-web")
    claude_session(home, shop / ".claude/worktrees/gone", "in-a-worktree-that-is-gone")

    assert ids(shop / "web/css", home) == {"in-web", "in-a-worktree-that-is-gone"}


def test_a_repository_inside_another_is_a_project_of_its_own(home: Path, shop: Path) -> None:
    inner = shop / "vendor/lib"
    inner.mkdir(parents=True)
    git(inner, "init", "-q")
    claude_session(home, inner, "in-the-inner-one")
    claude_session(home, shop / "vendor", "in-the-outer-one")

    assert ids(shop, home) == {"in-the-outer-one"}
    assert ids(inner, home) == {"in-the-inner-one"}


def test_folders_whose_names_claude_code_does_not_tell_apart_are_kept_apart(
    home: Path, tmp_path: Path
) -> None:
    for name, id in (("a/b", "below"), ("a-b", "beside")):
        (tmp_path / name).mkdir(parents=True)
        claude_session(home, tmp_path / name, id)

    assert ids(tmp_path / "a/b", home) == {"below"}
    assert ids(tmp_path / "a-b", home) == {"beside"}


@pytest.mark.parametrize("move", ["relocatedCwd", "cwd"])
def test_a_session_that_also_worked_elsewhere_is_none_of_the_project(
    home: Path, shop: Path, tmp_path: Path, move: str
) -> None:
    secret = str(tmp_path / "secret")
    if move == "cwd":  # the host went on in the file of another folder
        path = claude_session(home, secret, "s")
        first = json.loads(path.read_text("utf-8").splitlines()[0]) | {"cwd": str(shop)}
        written(path, [first, *({"type": "user", "cwd": secret} for _ in range(3))])
    else:
        claude_session(home, shop, "s", {"type": "relocated", move: secret})

    assert ids(shop, home) == set()
    assert ids(tmp_path / "secret", home) == set()


def test_a_repository_and_its_worktrees_are_one_project(
    home: Path, shop: Path, tmp_path: Path
) -> None:
    linked, other = tmp_path / "linked", tmp_path / "other"
    for each in (linked, other):
        git(shop, "worktree", "add", "-q", str(each))
        (each / "deep").mkdir()

    for cwd in (shop, linked, other / "deep"):
        assert set(folders_of(cwd, home)) == {shop, linked, other}


def test_the_worktrees_of_a_bare_repository_are_one_project(
    home: Path, shop: Path, tmp_path: Path
) -> None:
    git(shop, "clone", "-q", "--bare", ".", str(tmp_path / "bare.git"))
    for name in ("one", "two"):
        git(tmp_path / "bare.git", "worktree", "add", "-q", str(tmp_path / name))

    assert set(folders_of(tmp_path / "one", home)) == {tmp_path / "one", tmp_path / "two"}


def test_a_submodule_is_a_project_of_its_own_and_seen_from_above(home: Path, shop: Path) -> None:
    git(shop, "submodule", "--quiet", "add", str(shop), "inner")
    claude_session(home, shop, "above")
    claude_session(home, shop / "inner", "inner")

    assert folders_of(shop / "inner", home) == (shop / "inner",)
    assert ids(shop / "inner", home) == {"inner"}
    assert ids(shop, home) == {"above", "inner"}


def test_a_forged_file_of_git_shows_no_other_project(
    home: Path, shop: Path, tmp_path: Path
) -> None:
    """A worktree is believed if its repository names it, and a repository if the worktree does."""
    linked, forged = tmp_path / "linked", tmp_path / "forged"
    git(shop, "worktree", "add", "-q", str(linked))
    forged.mkdir()
    for claimed in (shop / ".git/worktrees/linked", shop / ".git", home):
        (forged / ".git").write_text(f"gitdir: {claimed}\n", encoding="utf-8")
        assert folders_of(forged, home) == (forged,)
    (forged / ".git").write_text("gitdir: own/worktrees/x\n", encoding="utf-8")
    own = forged / "own/worktrees"
    for name, root in (("x", forged), ("y", shop), ("z", linked)):
        (own / name).mkdir(parents=True)
        (own / name / "gitdir").write_text(f"{root}/.git\n", encoding="utf-8")
        (own / name / "commondir").write_text("../..\n", encoding="utf-8")
    assert folders_of(forged, home) == (forged,)
    (forged / ".git").unlink()
    (forged / ".git").symlink_to(shop / ".git")
    assert folders_of(forged, home) == (forged,)


def test_a_broken_file_of_git_further_up_makes_no_project_of_all_below(
    home: Path, tmp_path: Path
) -> None:
    (tmp_path / ".git").write_text("gitdir: nowhere\n", encoding="utf-8")
    (tmp_path / "app").mkdir()

    assert folders_of(tmp_path / "app", home) == (tmp_path / "app",)


def test_outside_a_repository_a_folder_and_what_is_below_it_are_a_project(
    home: Path, tmp_path: Path
) -> None:
    for name in ("notes", "notes/2026", "notes2", "."):
        (tmp_path / name).mkdir(exist_ok=True)
        claude_session(home, (tmp_path / name).resolve(), name.replace("/", "-"))

    assert ids(tmp_path / "notes", home) == {"notes", "notes-2026"}


def test_in_the_home_folder_and_above_it_only_sessions_of_exactly_that_folder_are_seen(
    home: Path, tmp_path: Path
) -> None:
    git(home, "init", "-q")  # as some keep their settings
    (home / "app").mkdir()
    claude_session(home, home, "home")
    claude_session(home, home / "app", "app")
    claude_session(home, tmp_path, "above")
    claude_session(home, "/", "root")

    assert ids(home, home) == {"home"}
    assert ids(tmp_path, home) == {"above"}
    assert ids(Path("/"), home) == {"root"}
    assert ids(home / "app", home) == {"app"}


def test_windows_paths_of_one_folder_are_one_folder(home: Path) -> None:
    app = [Path("C:\\Work\\App")]

    assert is_below("c:/work/app", app, home)
    assert is_below("\\\\?\\C:\\work\\app\\src", app, home)
    assert not is_below("C:\\Work\\App2", app, home)
    assert not is_below("C:\\Work\\App\\..\\Secret", app, home)
    assert not is_below("/work/app", app, home)
    assert not is_below("/work/app/../secret", [Path("/work/app")], home)
    assert not is_below("", [Path("/work/app")], home)
    assert not is_below("app", [Path("/work/app")], home)


def test_no_session_is_seen_where_transcripts_may_not_be_read(home: Path, shop: Path) -> None:
    claude_session(home, shop)
    off = {"CONTEXT_COMPRESSION_READ_HOST_TRANSCRIPTS": "false"}

    assert sessions_of(Workspace.here(environ=off, cwd=shop, home=home)) == []
    assert sessions_of(Workspace.here(environ={}, cwd=shop, home=home).of_tenant("ana")) == []
    assert len(sessions_of(Workspace.here(environ={}, cwd=shop, home=home))) == 1


def test_the_session_written_last_comes_first(home: Path, shop: Path) -> None:
    for age, id in enumerate(("new", "older", "oldest")):
        os.utime(claude_session(home, shop, id), (1e9 - age, 1e9 - age))
    workspace = Workspace.here(environ={}, cwd=shop, home=home)

    assert [each.candidate.id for each in sessions_of(workspace)] == ["new", "older", "oldest"]

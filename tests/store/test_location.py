"""Where the store of some work lies: real repositories, real worktrees."""

import os
import subprocess
from pathlib import Path

import pytest

from context_compression import Session, compress
from context_compression.errors import StoreError
from context_compression.store import Store
from context_compression.store.location import main_worktree, store_folder_for


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "home").mkdir()
    return tmp_path / "home"


@pytest.fixture
def main(home: Path) -> Path:
    """A repository with one commit."""
    folder = home / "main"
    (folder / "deep").mkdir(parents=True)
    (folder / "deep/a.py").write_text("x = 1\n", encoding="utf-8")
    git(folder, "init", "-q")
    git(folder, "add", ".")
    git(folder, "commit", "-qm", "first")
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


def found(start: Path, home: Path, **environ: str) -> Path:
    return store_folder_for(start, home=home, environ=environ)


def test_a_linked_worktree_has_the_store_of_the_main_one(home: Path, main: Path) -> None:
    linked = home / "linked"
    git(main, "worktree", "add", "-q", str(linked))

    assert found(linked, home) == found(main, home) == main / ".compression"
    assert found(linked / "deep", home) == main / ".compression"


def test_taking_a_worktree_down_takes_nothing_along(home: Path, main: Path) -> None:
    linked = home / "linked"
    git(main, "worktree", "add", "-q", str(linked))
    ref = Session(Store(found(linked / "deep", home)), "s").offload("a text")

    git(main, "worktree", "remove", "--force", str(linked))

    assert not linked.exists()
    assert Session(Store(found(main, home)), "s").restore(ref) == "a text"


def test_a_store_further_down_in_the_main_worktree_is_that_of_the_same_folder(
    home: Path, main: Path
) -> None:
    linked = home / "linked"
    git(main, "worktree", "add", "-q", str(linked))
    (main / "deep/.compression").mkdir()

    assert found(linked / "deep", home) == main / "deep/.compression"
    assert found(linked, home) == main / ".compression"


def test_a_store_that_lies_in_a_linked_worktree_already_goes_on_working(
    home: Path, main: Path
) -> None:
    linked = home / "linked"
    git(main, "worktree", "add", "-q", str(linked))
    (linked / ".compression").mkdir()

    assert found(linked / "deep", home) == linked / ".compression"


def test_a_submodule_and_a_worktree_of_a_bare_repository_have_their_own(
    home: Path, main: Path
) -> None:
    git(main, "submodule", "--quiet", "add", str(main), "inner")
    git(main, "clone", "-q", "--bare", ".", str(home / "bare.git"))
    git(home / "bare.git", "worktree", "add", "-q", str(home / "of-bare"))

    assert found(main / "inner", home) == main / "inner/.compression"
    assert found(home / "of-bare", home) == home / "of-bare/.compression"


@pytest.mark.parametrize("back", ["", "/somewhere/else/.git", "../../../elsewhere/.git"])
def test_a_file_that_claims_to_be_a_worktree_is_believed_only_if_that_is_known_there(
    home: Path, back: str
) -> None:
    target, clone = home / "target", home / "clone"
    (target / ".git/worktrees/clone").mkdir(parents=True)
    clone.mkdir()
    (clone / ".git").write_text(f"gitdir: {target}/.git/worktrees/clone\n", encoding="utf-8")
    if back:
        for name, text in (("gitdir", back), ("commondir", "../..")):
            (target / ".git/worktrees/clone" / name).write_text(f"{text}\n", encoding="utf-8")

    assert main_worktree(clone) is None
    assert found(clone, home) == clone / ".compression"


@pytest.mark.parametrize("text", ["", "gitdir: ", "gitdir: \0", "x" * 20_000, "gitdir: ../clone"])
def test_nonsense_in_store_folder_for_git_is_no_worktree(home: Path, text: str) -> None:
    clone = home / "clone"
    clone.mkdir()
    (clone / ".git").write_text(text, encoding="utf-8")

    assert found(clone, home) == clone / ".compression"


def test_the_user_may_have_a_folder_for_each_project_among_his_own_data(
    home: Path, main: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    linked, other = home / "linked", home / "other"
    other.mkdir()
    git(main, "worktree", "add", "-q", str(linked))
    monkeypatch.setenv("XDG_DATA_HOME", str(home / "data"))

    places = [
        found(start, home, CONTEXT_COMPRESSION_DIR="user")
        for start in (main, main / "deep", linked, other)
    ]

    assert len({*places}) == 2
    assert {*places[:3]} == {places[0]}
    assert places[0].parent == home / "data/context-compression"
    assert places[0].name.startswith("main-")
    assert not places[0].exists()


URLS = ["mysql://someone:a-password@host/db", "s3://bucket/archive", "file:///tmp/archive"]


@pytest.mark.parametrize("url", URLS)
@pytest.mark.parametrize("kind", [str, Path])
def test_a_url_is_refused_and_its_password_is_not_repeated(
    url: str, kind: type[str] | type[Path], home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(home)

    for opening in (
        lambda: Store(kind(url)),
        lambda: Session(kind(url), "a"),
        lambda: compress([{"role": "user", "content": "Hi."}], store=kind(url)),
        lambda: Store.find(home, home=home, environ={"CONTEXT_COMPRESSION_DIR": url}),
    ):
        with pytest.raises(StoreError, match=r"this is a URL: [a-z0-9]+://… Pass the path") as told:
            opening()
        assert "a-password" not in str(told.value)
    assert [*home.iterdir()] == []


@pytest.mark.parametrize("drive", ["C:/work", "C:\\work", "notes: today", "./a:/b"])
def test_a_path_that_only_looks_a_little_like_a_url_is_a_folder(drive: str) -> None:
    assert Store(drive).folder == Path(drive)

"""Where the store of some work lies: real repositories, real worktrees."""

import os
import subprocess
import traceback
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from context_compression import Session, compress
from context_compression.errors import StoreError
from context_compression.store import Store, store_folder_for
from context_compression.store.location import main_worktree


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
        "-c", "user.name=A", "-c", "user.email=a@example.org", "-c", "protocol.file.allow=always",
    ]  # fmt: skip
    environ = {"PATH": os.environ["PATH"], "HOME": str(folder)}
    subprocess.run(["git", *who, *arguments], cwd=folder, env=environ, check=True)


def openings(place: str) -> tuple[Callable[[], object], ...]:
    """The ways in which a program opens the store at a place."""
    return (
        lambda: Store(place),
        lambda: Session(place, "a"),
        lambda: compress([{"role": "user", "content": "Hi."}], store=place),
    )


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


@pytest.mark.parametrize("empty", ["", "  ", "\n"])
def test_an_empty_name_does_not_make_the_working_folder_the_store(
    empty: str, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(home)

    for opening in openings(empty):
        with pytest.raises(StoreError, match=r'folder is empty.*"\." is the working folder'):
            opening()
    assert [*home.iterdir()] == []
    assert Store(".").folder == Store(Path()).folder == Path()


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("/abs/postgres:/x", "A folder of such a name cannot be used"),
        ("x/mysql:/y", "A folder of such a name cannot be used"),
        ("mysql:/y", "A folder of such a name cannot be used"),
        ("file:store", "looks like an address.* pass the absolute path"),
        ("release:1.2@stable", "looks like an address.* pass the absolute path"),
        ("s3:/bucket", "this is a URL.* pass the absolute path"),
    ],
)
def test_who_has_a_folder_whose_name_looks_like_an_address_is_told_what_helps(
    name: str, says: str
) -> None:
    with pytest.raises(StoreError, match=says):
        Store(name)
    if "absolute" in says:
        assert Store(Path(name).absolute()).folder == Path(name).absolute()


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


SECRET = "u:a-password@h/db"


@pytest.mark.parametrize(
    "address",
    [
        f"<postgresql://{SECRET}>", f"jdbc:postgresql://{SECRET}", f"postgresql:{SECRET}",
        f"postgresql:/{SECRET}", f"postgresql//{SECRET}", f"postgresql:\\\\{SECRET}",
        f"postgresql:\\/\\/{SECRET}", f"\ufeffpostgresql://{SECRET}", f"PLACE=postgresql://{SECRET}",
        f"postgresql+psycopg2://{SECRET}", f"postgresql ://{SECRET}", f"postgresql://{SECRET}>\0",
        SECRET, f" {SECRET}\n", f"//{SECRET}", "u:a/a-password@h/db", ":a-password@h",
        "host=h port=1 password=a-password dbname=x", "host=h dbname=x", "password = a-password",
        "Server=h;Uid=u;Pwd=a-password", "sqlite:x.db", "postgresql%3A%2F%2Fu%3Aa-password%40h",
        f"mysql:{SECRET}", f"postgresql://{SECRET}\0",
    ],
)  # fmt: skip
@pytest.mark.parametrize("name", ["CONTEXT_COMPRESSION_STORE", "CONTEXT_COMPRESSION_DIR"])
def test_an_address_that_is_a_little_wrong_is_refused_and_not_repeated(
    address: str, name: str, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(home)

    by_variable = partial(Store.find, home, home=home, environ={name: address})
    for opening in (*openings(address), by_variable):
        with pytest.raises(StoreError) as told:
            opening()
        shown = "".join(traceback.format_exception(told.value.with_traceback(None)))
        assert "a-password" not in shown
        assert "address" in shown or "URL" in shown
    assert [*home.iterdir()] == []


@pytest.mark.parametrize(
    ("address", "mend"),
    [
        (
            Path("postgresql://u:a-password@h/db"),
            "with two slashes; pass it as a str, because a Pa",
        ),
        ("postgresql:/u:a-password@h/db", "with two slashes"),
        ("postgresql+psycopg2://u:a-password@h/db", r"without \+psycopg2"),
        (Path("postgresql://u:a-password@h/db").absolute(), "with nothing before or after it"),
        ("jdbc:postgresql://u:a-password@h/db", "with nothing before or after it"),
    ],
)
def test_it_is_told_how_an_address_is_written(address: str | Path, mend: str) -> None:
    with pytest.raises(StoreError, match=mend):
        Store(address)


def test_an_address_in_the_variable_for_a_folder_is_told_the_other_variable(home: Path) -> None:
    environ = {"CONTEXT_COMPRESSION_DIR": "postgresql://u:a-password@h/db"}

    with pytest.raises(StoreError, match="Give the address in CONTEXT_COMPRESSION_STORE") as told:
        Store.find(home, home=home, environ=environ)
    assert "a-password" not in str(told.value)


@pytest.mark.parametrize(
    "name",
    [
        "C:/work", "C:\\work", "C:\\Users\\me@work\\a", "notes: today", "./a:/b", "a:b",
        "day=2026-01-01",
        "my folder", "a=b c=d", "user=alice", "~/archive", "archive@2", "git@host:repo", "postgres",
        "postgres/data", "postgresql-data", "2026:11:26", "for me: mail@home",
        "/data/user=alice/host=web", "/runs/12:30/me@host", "/a:b@c/d", "/images/postgres:16/x",
    ],
)  # fmt: skip
def test_a_path_that_only_looks_a_little_like_an_address_is_a_folder(name: str) -> None:
    assert Store(name).folder == Path(name)
    assert Store(Path(name)).folder == Path(name)


@pytest.mark.parametrize(
    "written",
    ["postgresql://h/db", "POSTGRESQL://h/db", " postgresql://h/db", "postgresql://h/db\r\n",
     '"postgresql://h/db"', "'PostgreSQL://h/db' "],
)  # fmt: skip
def test_an_address_may_have_white_space_and_quotes_around_it(written: str, home: Path) -> None:
    found = Store.find(home, home=home, environ={"CONTEXT_COMPRESSION_STORE": written})

    assert found.name == Store(written).name == "postgresql://h/db"

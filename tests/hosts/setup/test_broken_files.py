"""Every file of every host, broken in every way: all of us goes in, or nothing; all goes out."""

import json
import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from context_compression.cli import main
from context_compression.hosts import INSTALLABLE, Host, Machine, Server, doctor
from context_compression.hosts.claude_code.install_plugin import StatusLine
from context_compression.hosts.doctor.checks import Finding
from context_compression.hosts.host import ConfigurationEntry
from context_compression.hosts.setup.machine import PROGRAM

pytestmark = [
    pytest.mark.skipif(sys.platform == "win32", reason="making links needs rights there"),
    pytest.mark.slow,
]
CONTENT: Mapping[str, bytes] = {
    "comments": b'{\n // mine\n "theme": "dark"\n}\n',
    "a byte order mark": b'\xef\xbb\xbf{"theme": "dark"}',
    "cut": b'{"theme": ',
    "another encoding": '{"theme": "é"}'.encode("latin-1"),
    "two bytes a character": '{"theme": 1}'.encode("utf-16"),
    "zeros": b"\0\0\0\0",
    "a list": b"[]",
    "nothing": b"",
    "hooks that are a list": b'{"hooks": []}',
    "an event that is an object": b'{"hooks": {"PreCompact": {}}}',
    "a group that is a number": b'{"hooks": {"PreCompact": [3]}}',
    "a status line that is a text": b'{"statusLine": "mine"}',
}
SECTION: Mapping[str, tuple[str, str, str]] = {
    ".toml": ("{under} = []\n", '{under} = "x"\n', "[{under}]\n{own} = []\n"),
    ".yaml": ("{under}:\n  - a\n", "{under}: x\n", "{under}:\n  {own}: x\n"),
    ".json": ('{{"{under}": []}}', '{{"{under}": "x"}}', '{{"{under}": {{"{own}": []}}}}'),
}
"""A value of the wrong type at the place of our entry, by the ending of a file's name."""


def to_folder(path: Path) -> None:
    (path.parent / "a folder").mkdir()
    path.symlink_to("a folder")


def to_file(path: Path) -> None:
    (path.parent / "elsewhere").write_bytes(b"")
    path.symlink_to("elsewhere")


def below_a_file(path: Path) -> None:
    if not any(path.parent.iterdir()):
        path.parent.rmdir()
        path.parent.write_bytes(b"x")


PLACED: Mapping[str, Callable[[Path], object]] = {
    "a folder": Path.mkdir,
    "a pipe": os.mkfifo,
    "a link to a file": to_file,
    "a link to nowhere": lambda path: path.symlink_to("gone"),
    "a link to itself": lambda path: path.symlink_to(path),
    "a link to a folder": to_folder,
    "a link to a device": lambda path: path.symlink_to("/dev/zero"),
    "below a file": below_a_file,
    "read-only": lambda path: (path.write_bytes(b""), path.chmod(0o400)),
    "in a folder that is read-only": lambda path: path.parent.chmod(0o500),
}
WRONG_TYPES = ("a section that is a list", "a section that is a text", "an entry that is none")
KINDS = (*CONTENT, *WRONG_TYPES, *PLACED)


def break_it(path: Path, host: Host, kind: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    if kind in CONTENT:
        path.write_bytes(CONTENT[kind])
    elif kind in PLACED:
        PLACED[kind](path)
    else:
        forms = SECTION.get(path.suffix, SECTION[".json"])
        text = forms[WRONG_TYPES.index(kind)].format(under=host.under, own=PROGRAM)
        path.write_text(text, encoding="utf-8")


def mend_rights(folder: Path) -> None:
    for path in (folder, *folder.rglob("*")):
        if path.is_dir() and not path.is_symlink():
            path.chmod(0o700)


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home folder on a machine on which no host's program is on the PATH."""
    home = tmp_path / "home"
    (home / "project").mkdir(parents=True)
    for name in os.environ:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    monkeypatch.chdir(home / "project")
    return home


def run(command: str, host: Host) -> Result:
    done = CliRunner().invoke(main, [command, host.name])
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    return done


def files_of(host: Host) -> list[Path]:
    """All files that `install` writes to."""
    machine, server = Machine.here(), Server(PROGRAM)
    entry: list[ConfigurationEntry] = [host.server_entry(machine, server)]
    paths = [entry[0].path, *(each.path for each in host.hook_additions(machine, server))]
    return [*paths, StatusLine.on(machine).path] if host.name == "claude-code" else paths


def everything(folder: Path) -> dict[str, bytes | str | None]:
    """What is there, by path: content of files, targets of links, `None` for the rest."""
    return {
        str(path): os.readlink(path)
        if path.is_symlink()
        else (path.read_bytes() if path.is_file() else None)
        for path in folder.rglob("*")
    }


NUMBERS = [
    pytest.param(host, number, id=f"{host.name}-{number}")
    for host in INSTALLABLE
    for number in range(1 + len(host.hooks) + (host.name == "claude-code"))
]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("host", "number"), NUMBERS)
def test_install_puts_in_all_or_nothing_and_says_which_file_is_in_the_way(
    home: Path, host: Host, number: int, kind: str
) -> None:
    path = files_of(host)[number]
    break_it(path, host, kind)
    before = everything(home)

    done = run("install", host)

    if done.exit_code:
        assert str(path) in done.stderr or str(path.parent) in done.stderr
        assert any(word in done.stderr for word in ("run this again", "Correct"))
    else:
        assert run("uninstall", host).exit_code == 0
    mend_rights(home)
    assert everything(home) == before


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("host", "number"), NUMBERS)
def test_uninstall_takes_away_what_it_can_and_names_once_what_is_left(
    home: Path, host: Host, number: int, kind: str
) -> None:
    path = files_of(host)[number]
    assert run("install", host).exit_code == 0
    break_it(path, host, kind)

    done = run("uninstall", host)

    mend_rights(home)
    left = [line for line in done.stderr.splitlines() if line.startswith("Not removed: ")]
    assert len(left) <= 1
    assert all(str(path) in line or str(path.parent) in line for line in left)
    assert done.exit_code == (1 if left else 0)
    found = [
        Path(name)
        for name, content in everything(home).items()
        if isinstance(content, bytes) and PROGRAM.encode() in content
    ]
    ours = [each for each in found if "installed" not in each.parts]
    stay = [path, Path(os.path.realpath(path))]  # a link to itself has an end here
    if kind == "in a folder that is read-only":  # nor can others be taken out of it
        stay += path.parent.glob("*")  # root took the folder away
    assert not [each for each in ours if each not in stay]


@pytest.mark.parametrize(
    ("host", "number"),
    [
        pytest.param(host, number, id=f"{host.name}-{number}")
        for host in INSTALLABLE
        for number in range(len(host.hooks))
    ],
)
@pytest.mark.parametrize("how", ["gone", "empty", "of another"])
def test_the_doctor_fails_where_a_file_with_hooks_is_missing(
    home: Path, host: Host, number: int, how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def untried(*_: object) -> list[Finding]:
        return []

    monkeypatch.setattr(doctor, "check_server", untried)  # it starts; the hooks are no part of it
    assert run("install", host).exit_code == 0
    path = files_of(host)[1 + number]
    path.unlink()
    if how != "gone":
        path.write_bytes(b"" if how == "empty" else b'{"hooks": {}}')

    done = CliRunner().invoke(main, ["doctor", host.name, "--json"])

    [findings] = json.loads(done.stdout).values()
    [hooks] = [finding for finding in findings if finding["check"] == "hooks"]
    assert (done.exit_code, hooks["ok"]) == (1, False)
    assert str(path) in hooks["says"]
    assert hooks["mend"] == f"{PROGRAM} install {host.name}"

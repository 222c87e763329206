"""A thread of Codex whose beginning is in no file says so at every door."""

import asyncio
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner
from codex_rollouts import CodexFolder, Written, called, charged, id_of, said
from mcp_door import ask, connected, workspace_in
from transcripts import shown

from context_compression import hosts
from context_compression.cli import main
from context_compression.errors import TranscriptError
from context_compression.hosts import answer
from context_compression.workspace import Workspace

FIRST, SECOND, LAST = map(id_of, (1, 2, 3))
TALK = [
    said("user", "Find the port of the gateway."),
    *called("c1", "listening on 7441\n" * 300),
    said("assistant", "It is 7441."),
    charged(9_000),
]
LATER = [said("user", "And the host?"), *called("c2", "localhost\n" * 200), charged(9_100)]


Case = Callable[[CodexFolder], Written]
Door = Callable[[Written], str]


def packed(path: Path) -> Path:
    """The file, packed as Codex packs old ones."""
    subprocess.run(["zstd", "-q", "--rm", path], check=True)
    return path.with_name(f"{path.name}.zst")


def cut(path: Path) -> None:
    """Leave of a packed file less than its first block."""
    path.write_bytes(path.read_bytes()[:90])


def a_base_is_gone(codex: CodexFolder) -> Written:
    base = codex.write(FIRST, TALK)
    fork = codex.write(LAST, LATER, base=base.base())
    base.path.unlink()
    return fork


def the_base_of_the_base_is_gone(codex: CodexFolder) -> Written:
    base = codex.write(FIRST, TALK, archived=True)
    between = codex.write(SECOND, [said("user", "Which one?")], base=base.base(), archived=True)
    fork = codex.write(LAST, LATER, base=between.base())
    base.path.unlink()
    return fork


def it_goes_on_from_itself(codex: CodexFolder) -> Written:
    base = codex.write(FIRST, TALK, base={"thread_id": LAST, "end_ordinal_exclusive": 3})
    return codex.write(LAST, LATER, base=base.base(), thread=FIRST)


def the_base_is_named_in_another_way(codex: CodexFolder) -> Written:
    codex.write(FIRST, TALK)
    return codex.write(LAST, LATER, base={"segments": [FIRST]})


def its_end_is_named_in_another_way(codex: CodexFolder) -> Written:
    codex.write(FIRST, TALK)
    return codex.write(LAST, LATER, base={"thread_id": FIRST, "end_turn": 1})


def the_base_is_cut_off(codex: CodexFolder) -> Written:
    base = codex.write(FIRST, TALK, archived=True)
    fork = codex.write(LAST, LATER, base=base.base())
    base.path.write_bytes(b"".join(base.path.read_bytes().splitlines(keepends=True)[:2]))
    return fork


def the_packed_base_is_cut_in_its_first_block(codex: CodexFolder) -> Written:
    base = codex.write(FIRST, TALK)
    fork = codex.write(LAST, LATER, base=base.base())
    cut(packed(base.path))
    return fork


CASES: dict[Case, str] = {
    a_base_is_gone: "is not in",
    the_base_of_the_base_is_gone: "is not in",
    it_goes_on_from_itself: "goes on from itself",
    the_base_is_named_in_another_way: "in a way not known",
    its_end_is_named_in_another_way: "in a way not known",
    the_base_is_cut_off: "ends at row 1",
    the_packed_base_is_cut_in_its_first_block: "damaged or cut off",
}


@pytest.fixture
def codex(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> CodexFolder:
    made = CodexFolder(tmp_path / "home" / ".codex", tmp_path / "project")
    made.project.mkdir()
    for name in ("CODEX_THREAD_ID", "CONTEXT_COMPRESSION_DIR", "XDG_STATE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("CODEX_HOME", str(made.folder))
    monkeypatch.chdir(made.project)
    return made


def command(*given: str) -> Door:
    """What the command tells, with the file of the thread as its last argument."""

    def told(thread: Written) -> str:
        ran = CliRunner().invoke(main, [*given, str(thread.path)])
        assert ran.exit_code == 0, ran.output
        return " ".join(ran.output.split())

    return told


def listing(*options: str) -> Door:
    def told(thread: Written) -> str:
        ran = CliRunner().invoke(main, ["sessions", *options])
        assert ran.exit_code == 0, ran.output
        return " ".join(ran.output.split())

    return told


def workspace(thread: Written) -> Workspace:
    """That of the project, which may read Codex's sessions."""
    given = {"CODEX_HOME": str(thread.path.parents[4]), "CONTEXT_COMPRESSION_ALLOWED_PATHS": "/"}
    return workspace_in(Path.cwd().parent, given)


def hook(event: str, **fields: str) -> Door:
    """The answer to an event, after the one before a compaction."""

    def told(thread: Written) -> str:
        said, about = "", {"session_id": thread.thread, "transcript_path": str(thread.path)}
        asked = [{"hook_event_name": "PreCompact"}, {"hook_event_name": event, **fields}]
        for each in asked:
            said = asyncio.run(answer("codex", workspace(thread), about | each))
        return said

    return told


def tool(name: str) -> Door:
    """What a tool tells of the file."""

    def told(thread: Written) -> str:
        async def called() -> str:
            async with connected(workspace(thread)) as client:
                return (await ask(client, name, conversation=str(thread.path))).text

        return asyncio.run(called())

    return told


DOORS: dict[str, Door] = {
    "sessions": listing(),
    "sessions --json": listing("--json"),
    "status": command("status"),
    "status --json": command("status", "--json"),
    "compress": command("compress", "--target-tokens", "500"),
    "compress --json": command("compress", "--json", "--target-tokens", "500"),
    "report": command("report"),
    "report --json": command("report", "--json"),
    "export": command("export", "--host", "codex"),
    "export --json": command("export", "--json", "--host", "pi"),
    "before a compaction": hook("PreCompact"),
    "after a compaction": hook("SessionStart", source="compact"),
    "context_status": tool("context_status"),
    "context_compress": tool("context_compress"),
}


@pytest.mark.slow
@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__)
def test_what_is_missing_is_said_at_every_door(codex: CodexFolder, case: Case, door: str):
    thread = case(codex)

    assert CASES[case] in DOORS[door](thread)


def test_a_packed_rollout_cut_in_its_first_block_is_damaged_and_not_empty(codex: CodexFolder):
    path = packed(codex.write(FIRST, TALK).path)
    cut(path)

    for door in ("status", "compress", "report"):
        ran = CliRunner().invoke(main, [door, str(path)])
        assert ran.exit_code and "damaged" in ran.output and "empty" not in ran.output, door
    assert "damaged" in CliRunner().invoke(main, ["sessions"]).output


@pytest.mark.parametrize("left", [0, 3, 5, 12, 60])
@pytest.mark.parametrize("name", [".zst", ".gz"])
def test_however_little_is_left_of_a_packed_file_it_is_damaged(
    codex: CodexFolder, left: int, name: str
):
    made = codex.write(FIRST, TALK).path
    path = made.with_name(f"{made.name}{name}")
    pack = {".zst": ["zstd", "-qc"], ".gz": ["gzip", "-c"]}[name]
    path.write_bytes(subprocess.run([*pack, made], check=True, stdout=-1).stdout[:left])

    with pytest.raises(TranscriptError, match="damaged"):
        hosts.read(path)


def test_a_base_that_cannot_be_unpacked_is_named_with_the_command_that_unpacks_it(
    codex: CodexFolder, monkeypatch: pytest.MonkeyPatch
):
    base = codex.write(FIRST, TALK, archived=True)
    fork = codex.write(LAST, LATER, base=base.base())
    path = packed(base.path)
    assert "Find the port" in str(shown(hosts.read(fork.path)))
    for name in ("compression.zstd", "backports.zstd", "backports"):
        monkeypatch.setitem(sys.modules, name, None)

    for door, told in DOORS.items():
        assert f"zstd-d--keep{path.name}" in "".join(told(fork).split()), door
    here = CliRunner().invoke(main, ["sessions", "--here"]).output
    assert f"zstd -d --keep {path.name}" in here


def test_a_packed_thread_that_cannot_be_unpacked_is_listed_here_with_the_command(
    codex: CodexFolder, monkeypatch: pytest.MonkeyPatch
):
    path = packed(codex.write(FIRST, TALK).path)
    for name in ("compression.zstd", "backports.zstd", "backports"):
        monkeypatch.setitem(sys.modules, name, None)

    for options in ([], ["--here"], ["--json"], ["--here", "--json"]):
        told = CliRunner().invoke(main, ["sessions", *options]).output
        assert f"zstd -d --keep {path.name}" in " ".join(told.split())

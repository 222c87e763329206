"""No home, no working directory, NUL characters: whatever a door stands in, it answers in words."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from mcp_door import ask, connected, workspace_in

from context_compression import Session
from context_compression.cli import main
from context_compression.errors import ContextCompressionError, StoreNotDurable
from context_compression.hosts import answer
from context_compression.hosts.events import HOSTS
from context_compression.store import Store
from context_compression.workspace import Workspace

pytestmark = pytest.mark.slow

COMMANDS = (
    ("status",), ("status", "chat.json"), ("compress", "chat.json"),
    ("export", "chat.json", "--host", "codex"), ("restore", "c3f9"),
    ("restore", "--query", "words"), ("summaries",), ("config",), ("config", "keep_recent=5"),
    ("install",), ("install", "codex"), ("uninstall", "codex"), ("doctor", "codex"), ("serve",),
    ("serve", "--http"),
)  # fmt: skip
NUL = "a\0b"

HOMELESS = """
import pwd, sys
def nobody(_): raise KeyError("no such user")
pwd.getpwuid = nobody  # as in a container that runs with a number nobody was given
from context_compression.cli import main
main(sys.argv[1:])
"""


def run(
    command: Sequence[str],
    cwd: Path,
    environ: Mapping[str, str],
    before: str = "",
    stdin: str = "{}",
) -> subprocess.CompletedProcess[str]:
    kept = {"PATH": os.environ["PATH"], **environ}
    return subprocess.run(
        ["sh", "-c", f'{before} exec "$@"', "sh", sys.executable, *command],
        cwd=cwd, env=kept, input=stdin, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip


def in_words(done: subprocess.CompletedProcess[str], *said: str) -> None:
    assert done.returncode == 2, done.stderr
    assert done.stderr.startswith("Error: ")
    assert "Traceback" not in done.stderr and "nobody foresaw" not in done.stderr
    for part in said:
        assert part in done.stderr


@pytest.mark.skipif(os.name == "nt", reason="Windows keeps folders that somebody works in")
@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_in_a_deleted_working_directory_every_command_says_so(
    tmp_path: Path, command: Sequence[str]
) -> None:
    done = run(
        ["-m", "context_compression", *command], tmp_path, {"HOME": str(tmp_path)},
        before="mkdir gone; cd gone; rmdir ../gone;",
    )  # fmt: skip

    in_words(done, "The working directory cannot be had", "Change to a folder that is there")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(os.name == "nt", reason="there the home folder is found in other ways")
@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_without_any_home_every_command_says_so(tmp_path: Path, command: Sequence[str]) -> None:
    done = run(["-c", HOMELESS, *command], tmp_path, {})

    in_words(done, "No home folder is known", "Set HOME")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(os.name == "nt", reason="as above")
@pytest.mark.parametrize("host", HOSTS)
def test_a_hook_lets_the_host_go_on_wherever_it_stands(tmp_path: Path, host: str) -> None:
    event = json.dumps({"hook_event_name": HOSTS[host].events[0]})
    homeless = run(["-c", HOMELESS, "hook", host], tmp_path, {}, stdin=event)
    lost = run(
        ["-m", "context_compression", "hook", host], tmp_path, {"HOME": str(tmp_path)},
        before="mkdir gone; cd gone; rmdir ../gone;", stdin=event,
    )  # fmt: skip

    for done, said in ((homeless, "No home folder"), (lost, "The working directory")):
        assert (done.returncode, done.stdout) == (0, "")
        assert said in done.stderr and "Traceback" not in done.stderr


@pytest.mark.parametrize(
    "command",
    [
        ("status", NUL),
        ("status", f"{NUL}.json"),
        ("compress", NUL),
        ("compress", "chat.json", "--output", NUL),
        ("compress", "chat.json", "--strategy", NUL),
        ("compress", "chat.json", "--plan-id", "1", "--summary", NUL),
        ("compress", "chat.json", "--focus", NUL, "--pin", NUL, "--model", NUL, "--undo"),
        ("export", NUL, "--host", "pi"),
        ("restore", NUL),
        ("restore", "c3f9", "--session", NUL),
        ("restore", "--query", "words", "--session", NUL),
        ("summaries", "--session", NUL),
        ("config", f"summary_model={NUL}", "--reset", NUL),
        ("--store", NUL, "status"),
        ("--store", NUL, "install"),
        ("--store", NUL, "doctor"),
        ("--allow", NUL, "status"),
        ("--allow", NUL, "install", "codex"),
        ("serve", "--http", "--host", NUL),
        ("serve", "--http", "--token", NUL),
    ],
    ids=repr,
)
def test_a_nul_typed_anywhere_is_refused_in_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: Sequence[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    messages = [{"role": "user", "content": "hello"}]
    Path("chat.json").write_text(json.dumps(messages), encoding="utf-8")

    done = CliRunner().invoke(main, [*command], prog_name="context-compression")

    assert done.exit_code == 2, done.output
    assert isinstance(done.exception, SystemExit)
    assert "Error: " in done.stderr
    assert "nobody foresaw" not in done.stderr


CALLS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("context_status", {"conversation": NUL}),
    ("context_status", {"conversation": f"/{NUL}/chat.jsonl"}),
    ("context_compress", {"conversation": NUL}),
    ("context_compress", {"conversation": f"{NUL}.json", "target_tokens": 9}),
    ("context_compress", {"messages": [{"role": "user", "content": "hi"}], "conversation": NUL}),
    ("context_compress", {"plan_id": NUL, "summary": "words"}),
    ("context_compress", {"conversation": NUL, "undo": True}),
    ("context_config", {"summary_template": NUL}),
    ("context_config", {"reset": [NUL]}),
    ("context_offload", {"path": NUL}),
    ("context_offload", {"conversation": NUL}),
    ("context_restore", {"ref": NUL}),
    ("context_restore", {"ref": "c3f9", "cursor": NUL}),
    ("context_restore", {"query": "words", "conversation": NUL}),
    ("context_summary", {"conversation": NUL}),
)


@pytest.mark.anyio
@pytest.mark.parametrize(("tool", "arguments"), CALLS, ids=repr)
async def test_a_nul_in_any_argument_of_a_tool_is_answered_in_words(
    tmp_path: Path, tool: str, arguments: dict[str, Any]
) -> None:
    async with connected(workspace_in(tmp_path)) as client:
        answered = await ask(client, tool, **arguments)

    assert answered.failed
    assert "nobody foresaw" not in answered.text


@pytest.mark.parametrize("name", ["CONTEXT_COMPRESSION_DIR", "CONTEXT_COMPRESSION_ALLOWED_PATHS"])
def test_a_nul_in_a_value_of_the_environment_is_refused_in_words(tmp_path: Path, name: str) -> None:
    with pytest.raises(ContextCompressionError, match="NUL"):
        workspace_in(tmp_path, {name: NUL}).settings()


@pytest.mark.anyio
@pytest.mark.parametrize("name", ["session_id", "transcript_path", "cwd", "hook_event_name"])
@pytest.mark.parametrize("host", HOSTS)
async def test_a_nul_in_the_event_of_a_hook_is_no_traceback(
    tmp_path: Path, host: str, name: str, caplog: pytest.LogCaptureFixture
) -> None:
    event: dict[str, Any] = {
        "hook_event_name": "PreCompact",
        "event": "compact",
        "messages": [],
        name: NUL,
    }

    assert isinstance(await answer(host, workspace_in(tmp_path), event), str)
    assert "Traceback" not in caplog.text


@pytest.mark.anyio
async def test_what_nobody_foresaw_is_told_with_its_path_and_without_a_traceback(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied", "/etc/a/path")

    monkeypatch.setattr(Store, "summaries", broken)
    monkeypatch.chdir(tmp_path)
    async with connected(workspace_in(tmp_path)) as client:
        told = await ask(client, "context_summary")
    typed = CliRunner().invoke(main, ["summaries"])

    assert told.failed and "/etc/a/path: Permission denied" in told.text
    assert typed.exit_code == 2
    assert "Error: /etc/a/path: Permission denied" in typed.stderr
    assert "Nothing was changed" not in typed.stderr


def without_synced_folders(monkeypatch: pytest.MonkeyPatch) -> None:
    """The disk keeps what is in files, and refuses to keep names."""
    real = os.fsync

    def fsync(descriptor: int) -> None:
        if os.path.isdir(f"/proc/self/fd/{descriptor}"):
            raise OSError(5, "Input/output error")
        real(descriptor)

    monkeypatch.setattr(os, "fsync", fsync)


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="needs to know what is synced")
def test_a_name_that_may_not_survive_is_told_and_what_was_written_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = Store(tmp_path / "store")
    store.session("before").append({"type": "note"})
    log = store.session("chat")
    (log.folder).mkdir()
    with monkeypatch.context() as broken:
        without_synced_folders(broken)
        with pytest.raises(StoreNotDurable) as line:
            log.append({"type": "note", "created_at": "2026-01-01T00:00:00Z"})
        with pytest.raises(StoreNotDurable) as document:
            store.update_config(lambda _: {"keep_recent": 5})
        with pytest.raises(StoreNotDurable) as folder:
            log.write_offloaded("c3f9", "a text")
        with pytest.raises(StoreNotDurable) as originals:
            log.write_originals(1, "2026-01-01T00:00:00Z", [{"role": "user", "content": "hi"}])

    for refused, name in (
        (line, "events.jsonl"),
        (document, "config.json"),
        (folder, "offloaded"),
        (originals, "compact-2026-01-01T00-00-00Z-1.json"),
    ):
        said = str(refused.value)
        assert name in said and "may not survive a power cut" in said and "stays" in said
        assert "Nothing was changed" not in said
    assert [event["type"] for event in log.events().items] == ["note"]
    assert store.read_config() == {"keep_recent": 5}
    assert log.read_originals("compact-2026-01-01T00-00-00Z-1.json")
    assert store.verify() == []


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="as above")
def test_originals_stay_where_the_log_tells_of_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = Store(tmp_path / "store").session("chat")
    log.append({"type": "note"})
    events = log.folder / "events.jsonl"
    events.unlink()  # the next line makes the file anew
    real = os.fsync
    synced: list[int] = []

    def fsync(descriptor: int) -> None:
        if os.path.isdir(f"/proc/self/fd/{descriptor}"):
            synced.append(descriptor)
            if len(synced) == 2:  # first the file of originals, then the log
                raise OSError(5, "Input/output error")
        real(descriptor)

    monkeypatch.setattr(os, "fsync", fsync)
    with pytest.raises(StoreNotDurable, match=r"events\.jsonl is written and stays"):
        log.write_originals(1, "2026-01-01T00:00:00Z", [{"role": "user", "content": "hi"}])

    assert log.read_originals("compact-2026-01-01T00-00-00Z-1.json")
    assert log.problems() == []


PROMPTS: dict[str, Callable[[Path], object]] = {
    "bytes that are no text": lambda path: path.write_bytes(b"\xff\xfe\x00"),
    "a folder": lambda path: path.mkdir(),
    "a link": lambda path: path.symlink_to("/etc/hostname"),
    "nothing in it": lambda path: path.write_text(""),
    "a NUL": lambda path: path.write_text("a\0b {target_tokens} {nothing} {"),
}


@pytest.mark.parametrize("what", PROMPTS)
@pytest.mark.parametrize("name", ["system", "summary", "update", "turn-prefix", "technical"])
def test_a_prompt_file_that_is_none_is_borne_or_refused_in_words(
    tmp_path: Path, name: str, what: str
) -> None:
    session = Session(tmp_path / "store", "chat")
    for role in ("user", "assistant", "user"):
        session.record({"role": role, "content": "So it went on. " * 200})
    (tmp_path / "store" / "prompts").mkdir()
    PROMPTS[what](tmp_path / "store" / "prompts" / f"{name}.md")

    try:
        session.ask(strategy="summarize", target_tokens=700)
    except ContextCompressionError as error:
        assert f"{name}.md" in str(error)


def test_a_workspace_of_wrong_types_in_config_says_which(tmp_path: Path) -> None:
    (tmp_path / ".compression").mkdir()
    (tmp_path / ".compression" / "config.json").write_text('{"keep_recent": [1]}', encoding="utf-8")

    with pytest.raises(ContextCompressionError, match="keep_recent"):
        Workspace.here(environ={}, cwd=tmp_path, home=tmp_path).settings()

"""Where hosts keep their configuration on each system, and how our server is started."""

import re
from pathlib import Path

import pytest

from context_compression.errors import SetupError
from context_compression.hosts import BY_NAME, INSTALLABLE, Host, Machine, Server
from context_compression.hosts.host import command_of, environ_of
from context_compression.hosts.setup.machine import is_temporary, this_server

HOME = Path("/home/me")
ROAMING = "/home/me/AppData/Roaming"
FILES = {
    "linux": {
        "claude-code": ".claude.json",
        "claude-desktop": ".config/Claude/claude_desktop_config.json",
        "codex": ".codex/config.toml",
        "gemini-cli": ".gemini/settings.json",
        "opencode": ".config/opencode/opencode.json",
        "pi": ".pi/agent/mcp.json",
        "cursor": ".cursor/mcp.json",
        "vscode": ".config/Code/User/mcp.json",
        "zed": ".config/zed/settings.json",
        "goose": ".config/goose/config.yaml",
    },
    "darwin": {
        "claude-desktop": "Library/Application Support/Claude/claude_desktop_config.json",
        "opencode": ".config/opencode/opencode.json",
        "vscode": "Library/Application Support/Code/User/mcp.json",
        "zed": ".config/zed/settings.json",
        "goose": ".config/goose/config.yaml",
    },
    "win32": {
        "claude-desktop": "AppData/Roaming/Claude/claude_desktop_config.json",
        "codex": ".codex/config.toml",
        "opencode": ".config/opencode/opencode.json",
        "vscode": "AppData/Roaming/Code/User/mcp.json",
        "zed": "AppData/Roaming/Zed/settings.json",
        "goose": "AppData/Roaming/Block/goose/config/config.yaml",
    },
}
MOVED = {
    "claude-code": ("CLAUDE_CONFIG_DIR", ".claude.json"),
    "codex": ("CODEX_HOME", "config.toml"),
    "gemini-cli": ("GEMINI_CLI_HOME", ".gemini/settings.json"),
    "goose": ("GOOSE_PATH_ROOT", "config/config.yaml"),
    "opencode": ("OPENCODE_CONFIG_DIR", "opencode.json"),
    "pi": ("PI_CODING_AGENT_DIR", "mcp.json"),
    "zed": ("XDG_CONFIG_HOME", "zed/settings.json"),
    "vscode": ("XDG_CONFIG_HOME", "Code/User/mcp.json"),
}
SERVER = Server("/opt/bin/context-compression")


def machine(system: str = "linux", home: Path = HOME, /, **environ: str) -> Machine:
    return Machine(system, environ, home, home / "project")


@pytest.mark.parametrize(
    ("system", "name", "file"),
    [(system, name, file) for system, files in FILES.items() for name, file in files.items()],
)
def test_every_host_is_looked_for_in_its_place(system: str, name: str, file: str) -> None:
    here = machine(system, APPDATA=ROAMING) if system == "win32" else machine(system)

    assert BY_NAME[name].file(here) == HOME / file


@pytest.mark.parametrize("name", MOVED)
def test_a_folder_moved_by_an_environment_variable_is_found(name: str) -> None:
    variable, file = MOVED[name]

    assert BY_NAME[name].file(machine(**{variable: "/elsewhere"})) == Path("/elsewhere") / file
    assert BY_NAME[name].file(machine(**{variable: ""})) == BY_NAME[name].file(machine())


def test_the_packaged_claude_desktop_of_windows_has_a_folder_of_its_own(tmp_path: Path) -> None:
    own = tmp_path / "Packages" / "Claude_pzs8sxrjxfjjc" / "LocalCache" / "Roaming" / "Claude"
    (tmp_path / "Packages" / "Claude_pzs8sxrjxfjjc").mkdir(parents=True)

    found = BY_NAME["claude-desktop"].file(machine("win32", LOCALAPPDATA=str(tmp_path)))

    assert found == own / "claude_desktop_config.json"


def test_opencode_uses_the_file_that_is_there(tmp_path: Path) -> None:
    here = machine("linux", tmp_path)
    for folder in (tmp_path / ".config/opencode", here.cwd):
        folder.mkdir(parents=True)
        (folder / "opencode.jsonc").write_text("{}", encoding="utf-8")

    assert BY_NAME["opencode"].file(here).name == "opencode.jsonc"
    assert BY_NAME["opencode"].file(here, in_project=True) == here.cwd / "opencode.jsonc"


def test_transcripts_are_looked_for_where_hosts_keep_them() -> None:
    here = machine(CODEX_HOME="/c", CLAUDE_CONFIG_DIR="/a", XDG_DATA_HOME="/d")
    found = {host.name: host.transcripts(here)[0] for host in INSTALLABLE if host.transcripts}

    assert found == {
        "claude-code": Path("/a"),
        "codex": Path("/c"),
        "gemini-cli": HOME / ".gemini",
        "opencode": Path("/d/opencode"),
        "pi": HOME / ".pi/agent",
    }


def test_a_host_without_files_in_projects_says_so() -> None:
    with pytest.raises(SetupError, match="leave out --project"):
        BY_NAME["goose"].file(machine(), in_project=True)


def test_a_host_is_found_by_its_folder_or_its_program(tmp_path: Path) -> None:
    program = tmp_path / "bin" / "codex"
    program.parent.mkdir()
    program.touch(0o755)

    nowhere = machine("linux", tmp_path, PATH="/nowhere")
    assert not any(host.is_here(nowhere) for host in INSTALLABLE)
    assert BY_NAME["codex"].is_here(machine("linux", tmp_path, PATH=str(program.parent)))
    (tmp_path / ".cursor").mkdir()
    assert BY_NAME["cursor"].is_here(machine("linux", tmp_path, PATH="/nowhere"))


@pytest.mark.parametrize("host", INSTALLABLE, ids=lambda host: host.name)
def test_every_entry_says_the_command_in_a_way_we_read_again(host: Host) -> None:
    entry = host.server_entry(machine(), SERVER).our_entry
    alone = host.server_entry(machine(), SERVER, hooks=False).our_entry

    asked = ["--hooks", "codex"] if host.name == "codex" else []
    assert command_of(entry) == [SERVER.command, "serve", *asked]
    assert command_of(alone) == [SERVER.command, "serve"]
    assert environ_of(entry) == {}


def test_the_script_that_was_started_is_what_hosts_start(tmp_path: Path) -> None:
    script = tmp_path / "context-compression"
    script.touch(0o755)

    started = this_server(machine(), str(script), "/usr/bin/python3", ("--store", "/s"))

    assert started == Server(str(script), ("--store", "/s"))


def test_started_as_a_module_the_script_beside_python_is_taken(tmp_path: Path) -> None:
    script = tmp_path / "context-compression"
    script.touch(0o755)

    started = this_server(machine(), "/x/__main__.py", str(tmp_path / "python"), ())

    assert started.command == str(script)


def test_without_any_script_the_module_is_started() -> None:
    started = this_server(machine(PATH="/nowhere"), "/x/__main__.py", "/nowhere/python", ())

    assert started == Server("/nowhere/python", ("-m", "context_compression"))


CACHES: tuple[tuple[str, dict[str, str]], ...] = (
    ("/home/me/.cache/uv/archive-v0/x1/bin/python", {}),
    ("/home/me/.cache/uv/environments-v2/tool-1/bin/python", {}),
    ("/big/disk/cache/archive-v12/x1/bin/python", {}),
    ("/fast/uv/anything/bin/python", {"UV_CACHE_DIR": "/fast/uv"}),
    ("/home/me/.cache/pipx/0123abc/bin/python", {}),
    ("/home/me/.local/share/pipx/.cache/0123abc/bin/python", {}),
    ("/Users/me/Library/Caches/pipx/0123abc/bin/python", {}),
    ("/opt/px/.cache/0123abc/bin/python", {"PIPX_HOME": "/opt/px"}),
)


@pytest.mark.parametrize(("python", "environ"), CACHES, ids=[python for python, _ in CACHES])
def test_a_cache_that_may_be_emptied_is_no_place_to_start_from(
    python: str, environ: dict[str, str]
) -> None:
    with pytest.raises(SetupError, match="may be emptied any day"):
        this_server(machine(**environ), "/x/__main__.py", python, ())


def test_a_command_in_a_cache_is_none_to_start_either(tmp_path: Path) -> None:
    script = tmp_path / "uv" / "archive-v0" / "x1" / "bin" / "context-compression"
    script.parent.mkdir(parents=True)
    script.touch(0o755)

    with pytest.raises(SetupError, match="in a clone of its repository"):
        this_server(machine(), str(script), "/usr/bin/python3", ())


@pytest.mark.parametrize(
    "place",
    ["/opt/uv/venv", "/home/me/.local/share/uv/tools/context-compression", "/srv/archive-view",
     "/home/me/.local/share/pipx/venvs/context-compression", "/home/me/pipx"],
)  # fmt: skip
def test_what_is_installed_to_stay_is_started_from_there(place: str) -> None:
    found = this_server(machine(PATH="/nowhere"), "/x/__main__.py", f"{place}/bin/python", ())

    assert found.command == f"{place}/bin/python"
    assert is_temporary(found.command, machine()) is False


@pytest.mark.parametrize(
    ("command", "environ"),
    [
        ("/tmp/clone/.venv/bin/context-compression", {}),
        ("/var/tmp/clone/.venv/bin/context-compression", {}),
        ("/private/tmp/clone/bin/context-compression", {}),
        ("/var/folders/x1/T/clone/bin/context-compression", {}),
        ("/scratch/me/clone/bin/context-compression", {"TMPDIR": "/scratch/me"}),
    ],
)
def test_a_temporary_folder_is_known(command: str, environ: dict[str, str]) -> None:
    assert is_temporary(command, machine(**environ))


FETCHES = re.compile(
    r"\b(?:uvx|uv\s+(?:tool\s+(?:run|install)|pip\s+install|add|run\s+--with)|pipx\s+(?:run|install)"
    r"|pip3?\s+(?:install|download)|npx|bunx|npm\s+(?:install|i|exec)|pnpm\s+dlx|easy_install)\b"
    r"[^\n`'&|;]*?['\"]?(?<![\w./:-])(?:context[-_]compression|\{PROGRAM\})(?![\w/:-])"
)


def test_nothing_of_ours_fetches_the_package_by_its_name() -> None:
    """Whoever registers the name at an index would be run."""
    root = Path(__file__).parents[2]
    folders = ("server", "examples", "benchmarks", ".ci", "docs")
    files = [path for folder in folders for path in (root / folder).rglob("*") if path.is_file()]
    files += [root / name for name in ("README.md", "mcp.json.example", "pyproject.toml")]
    texts = {path: path.read_bytes().decode("utf-8", "ignore") for path in files}

    found = [(path.name, FETCHES.findall(text)) for path, text in texts.items()]

    assert [each for each in found if each[1]] == []
    assert FETCHES.search("exec uvx context-compression serve")
    assert FETCHES.search("pipx install context-compression")
    assert FETCHES.search("uv tool install --force context-compression")
    assert FETCHES.search("pip install 'context-compression[openai]'")
    assert not FETCHES.search("pip install . && .venv/bin/context-compression demo")

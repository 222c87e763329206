"""A release has all of its parts, they say what is so, and the bundle for hosts works.

`pytest tests/mcp_server/test_packages.py --update-examples` writes what they say of the server.
"""

import hashlib
import json
import os
import re
import subprocess
import sys
import tarfile
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pytest
from jsonschema import ValidationError, validate
from mcp import Client, StdioServerParameters
from mcp.types import TextContent
from mcp_door import ask, connected
from real_hosts import CLAUDE_CODE, HOSTS, Environment, Package

from context_compression.workspace import Workspace

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

ROOT = Path(__file__).parents[2]
PACKAGES = ROOT / ".ci" / "packages"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
MCPB = Package("mcpb", "@anthropic-ai/mcpb", "2.1.2")
UV = Environment("uv", ("uv==0.13.9",))
FROM_THE_ARCHIVE = ("resume",)
"""Prompts whose text is not known before they are asked for: the host gets them from the server."""


def read(name: str) -> dict[str, Any]:
    return json.loads((PACKAGES / name).read_bytes())


async def test_the_manifest_lists_the_servers_own_tools_and_prompts(
    workspace: Workspace, pytestconfig: pytest.Config
) -> None:
    said = read("manifest.json")

    async with connected(workspace) as client:
        tools = (await client.list_tools()).tools
        prompts = (await client.list_prompts()).prompts
        so = said | {
            "version": PROJECT["version"],
            "tools": [
                {"name": tool.name, "description": first_sentence(tool.description)}
                for tool in tools
            ],
            "prompts": [
                {
                    "name": prompt.name,
                    "description": prompt.description,
                    "arguments": [argument.name for argument in prompt.arguments or []],
                    "text": await template(client, prompt.name, prompt.arguments or []),
                }
                for prompt in prompts
                if prompt.name not in FROM_THE_ARCHIVE
            ],
            "prompts_generated": True,
        }

    if pytestconfig.getoption("update_examples"):
        text = json.dumps(so, indent=2, ensure_ascii=False)
        (PACKAGES / "manifest.json").write_text(f"{text}\n", "utf-8")
    else:
        assert said == so


def first_sentence(text: str | None) -> str:
    first, _, _ = (text or "").partition(". ")
    return f"{first.removesuffix('.')}."


async def template(client: Client, prompt: str, arguments: list[Any]) -> str:
    """The text of a prompt, with a host's placeholders for its arguments."""
    placeholders = {each.name: f"${{arguments.{each.name}}}" for each in arguments}
    [message] = (await client.get_prompt(prompt, placeholders)).messages
    assert isinstance(message.content, TextContent)
    return message.content.text


@pytest.fixture(scope="session")
def release(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder that `.ci/packages/release` makes in a clean clone of the last commit."""
    tools = Path(sys.executable).parent
    if missing := [name for name in ("mkdocs", "twine", "hadolint") if not (tools / name).exists()]:
        pytest.skip(f"a release needs {', '.join(missing)}: pip install '.[dev,docs]'")
    place = tmp_path_factory.mktemp("release")
    subprocess.run(["git", "clone", "--quiet", ROOT, place / "clone"], check=True)
    ended = released(place / "clone", VERSION, f"{REPOSITORY}/", place / "made")
    assert ended.returncode == 0, ended.stdout + ended.stderr
    changed = ["git", "-C", place / "clone", "status", "--porcelain"]
    assert subprocess.run(changed, capture_output=True, text=True, check=True).stdout == ""
    return place / "made"


VERSION, REPOSITORY = "7.8rc1", "https://github.com/Some-One/context"
TAG, SEMANTIC = "v7.8rc1", "7.8.0-rc.1"


def released(clone: Path, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    tools = [str(Path(sys.executable).parent)]
    if os.environ.get(HOSTS):
        tools += [str(package.installed().parent) for package in (MCPB, CLAUDE_CODE)]
    path = os.pathsep.join([*tools, os.environ["PATH"]])
    command = ["bash", clone / ".ci" / "packages" / "release", *arguments]
    environ = os.environ | {"PATH": path}
    return subprocess.run(command, env=environ, capture_output=True, text=True, check=False)


def test_a_release_has_all_of_its_parts_with_their_sums(release: Path) -> None:
    parts = {path.name for path in release.iterdir()}

    assert parts == {
        "context_compression-7.8rc1-py3-none-any.whl", "context_compression-7.8rc1.tar.gz",
        "context-compression-7.8rc1.mcpb", "context-compression-7.8rc1-image.tar.gz",
        "server.json", "marketplace.json", "llms.txt", "docs", "SHA256SUMS",
    }  # fmt: skip
    lines = (release / "SHA256SUMS").read_text("utf-8").splitlines()
    sums = {name: sha for sha, _, name in (line.partition("  ") for line in lines)}
    assert sums.keys() == parts - {"docs", "SHA256SUMS"}
    for name, told in sums.items():
        assert hashlib.sha256((release / name).read_bytes()).hexdigest() == told


def test_the_wheel_has_the_version_and_addresses_that_lead_to_its_tag(release: Path) -> None:
    with ZipFile(release / "context_compression-7.8rc1-py3-none-any.whl") as wheel:
        [name] = [name for name in wheel.namelist() if name.endswith("/METADATA")]
        about = wheel.read(name).decode()
        [plugin] = [name for name in wheel.namelist() if name.endswith("/plugin.json")]
        version = json.loads(wheel.read(plugin))["version"]

    assert "\nVersion: 7.8rc1\n" in about
    assert f"\nProject-URL: Source, {REPOSITORY}\n" in about
    assert "\nProject-URL: Documentation, https://some-one.github.io/context/\n" in about
    assert "<!-- mcp-name: io.github.Some-One/context-compression -->" in about
    assert re.findall(r"\]\((?!https?:|#)[^)]*\)", about) == []
    assert f"({REPOSITORY}/blob/{TAG}/docs/hosts.md)" in about
    assert f"({REPOSITORY}/raw/{TAG}/docs/pictures/" in about
    assert version == SEMANTIC


def test_the_entry_for_the_registry_names_this_version_and_agrees_with_its_schema(
    release: Path,
) -> None:
    entry = json.loads((release / "server.json").read_bytes())
    [package] = entry["packages"]
    schema = read("server.schema.json")

    validate(entry, schema)
    assert entry["name"] == "io.github.Some-One/context-compression"
    assert (entry["version"], package["version"]) == (SEMANTIC, VERSION)
    assert entry["repository"] == {"url": REPOSITORY, "source": "github"}
    assert package["identifier"] == PROJECT["name"]
    assert package["identifier"] in PROJECT["scripts"]  # what uvx starts
    assert package["packageArguments"] == [{"type": "positional", "value": "serve"}]
    wrongs: tuple[dict[str, Any], ...] = (
        {"name": "nobody"},
        {"title": "t" * 101},
        {"packages": []},
    )
    for wrong in wrongs:
        with pytest.raises(ValidationError):
            validate(entry | wrong, schema)


def test_the_marketplace_finds_the_plugin_at_the_tag(release: Path) -> None:
    market = json.loads((release / "marketplace.json").read_bytes())
    [plugin] = market["plugins"]

    assert market["owner"] == {"name": "Some-One"}
    assert plugin["source"] == {
        "source": "git-subdir", "url": f"{REPOSITORY}.git", "ref": TAG,
        "path": "server/context_compression/hosts/claude_code/plugin",
    }  # fmt: skip


def test_the_list_for_models_names_every_page_by_its_address(release: Path) -> None:
    text = (release / "llms.txt").read_text("utf-8")
    pages = re.findall(r"(?m)^- \[[^\]]+\]\((\S+)\)", text)

    there = f"{REPOSITORY}/raw/{TAG}/docs/"
    docs = ROOT / "docs"
    assert set(pages) == {there + p.relative_to(docs).as_posix() for p in docs.rglob("*.md")}
    assert text.startswith("# context-compression\n\n> ")
    assert f"- [Hosts]({there}hosts.md): your host" in text
    assert (release / "docs" / "llms.txt").read_text("utf-8") == text


def test_the_pages_know_where_they_stand(release: Path) -> None:
    page = (release / "docs" / "hosts" / "index.html").read_text("utf-8")

    assert '<link rel="canonical" href="https://some-one.github.io/context/hosts/">' in page
    assert f'href="{REPOSITORY}"' in page


def test_the_context_of_the_image_has_only_what_is_built_from(release: Path) -> None:
    with tarfile.open(release / "context-compression-7.8rc1-image.tar.gz") as context:
        names = context.getnames()
        dockerfile = context.extractfile("Dockerfile")
        assert dockerfile
        written = dockerfile.read().decode()

    tops = {name.partition("/")[0] for name in names}
    assert tops == {
        ".dockerignore", "Dockerfile", "LICENSE", "README.md", "data", "pyproject.toml", "server",
    }  # fmt: skip
    assert not [name for name in names if "__pycache__" in name]
    assert f'org.opencontainers.image.source="{REPOSITORY}"' in written


def test_the_bundle_of_a_release_has_its_version(release: Path) -> None:
    with ZipFile(release / "context-compression-7.8rc1.mcpb") as packed:
        assert json.loads(packed.read("manifest.json"))["version"] == SEMANTIC
        assert b'version = "7.8rc1"' in packed.read("pyproject.toml")


@pytest.mark.parametrize(
    ("version", "repository", "said"),
    [
        ("new", REPOSITORY, "'new' is no version"),
        ("v1.0", REPOSITORY, "'v1.0' is written 1.0"),
        ("1.0-rc1", REPOSITORY, "'1.0-rc1' is written 1.0rc1"),
        ("1.0+here", REPOSITORY, "cannot be published"),
        ("1.0", "github.com/someone/context", "Write https://github.com/OWNER/NAME"),
        ("1.0", "https://github.com/someone", "Write https://github.com/OWNER/NAME"),
        ("9" * 5_000, REPOSITORY, "is no version"),
        ("1.0", "https://github.com/someone/..", "Write https://github.com/OWNER/NAME"),
        ("1.0", "https://me:word@github.com/someone/context", "'https://…@github.com/"),
        ("1.0", REPOSITORY, "is not empty"),
    ],
)
def test_what_cannot_be_released_is_said_at_once(
    tmp_path: Path, version: str, repository: str, said: str
) -> None:
    (tmp_path / "kept").touch()

    ended = released(ROOT, version, repository, tmp_path)

    assert ended.returncode == 1
    assert said in ended.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["kept"]


def test_a_file_is_no_folder_for_a_release_and_a_site_is_an_address(tmp_path: Path) -> None:
    (tmp_path / "file").touch()

    for place in ("file", "file/below"):
        ended = released(ROOT, "1.0", REPOSITORY, tmp_path / place)
        assert f"release: {tmp_path / 'file'} is a file." in ended.stderr
    ended = released(ROOT, "1.0", REPOSITORY, tmp_path / "new", "--site", "x: y")
    assert ended.stderr.startswith("release: 'x: y' is no address of pages.")


def test_both_name_the_same_variables_and_hide_the_key() -> None:
    manifest, [package] = read("manifest.json"), read("server.json")["packages"]
    variables = {each["name"]: each for each in package["environmentVariables"]}

    assert manifest["server"]["mcp_config"]["env"].keys() == variables.keys()
    assert variables["ANTHROPIC_API_KEY"]["isSecret"]
    assert manifest["user_config"]["anthropic_api_key"]["sensitive"]


def test_the_icon_of_the_bundle_is_a_picture_of_512_by_512() -> None:
    head = (PACKAGES / read("manifest.json")["icon"]).read_bytes()[:24]

    assert head.startswith(b"\x89PNG")
    assert head[16:] == (512).to_bytes(4) * 2


@pytest.fixture
def bundle(tmp_path: Path) -> Path:
    """The bundle of the tree as it is, unpacked as a host does it."""
    mcpb = MCPB.installed()
    packed = tmp_path / "context-compression.mcpb"
    subprocess.run([sys.executable, PACKAGES / "bundle.py", tmp_path], check=True)
    for command in (["validate", PACKAGES / "manifest.json"], ["unpack", packed, "unpacked"]):
        ended = subprocess.run([mcpb, *command], cwd=tmp_path, capture_output=True, check=False)
        assert ended.returncode == 0, ended.stdout + ended.stderr
    return tmp_path / "unpacked"


async def test_the_bundle_starts_as_its_manifest_says(
    bundle: Path, tmp_path: Path, substituted: Callable[[str], str]
) -> None:
    config = json.loads((bundle / "manifest.json").read_bytes())["server"]["mcp_config"]
    kept = UV.installed().parent
    environ = {
        "HOME": str(tmp_path / "home"),
        "PATH": f"{UV.installed()}{os.pathsep}{os.environ['PATH']}",
        "UV_CACHE_DIR": str(kept / "cache"),
        "UV_PROJECT_ENVIRONMENT": str(kept / "bundle"),
        "UV_PYTHON": sys.executable,
    }
    server = StdioServerParameters(
        command=config["command"],
        args=[substituted(argument) for argument in config["args"]],
        env=os.environ
        | environ
        | {name: substituted(value) for name, value in config["env"].items()},
    )

    async with Client(server, mode="legacy") as client:
        tools = {tool.name for tool in (await client.list_tools()).tools}
        archived = await ask(client, "context_offload", content="a text")
        status = await ask(client, "context_status", messages=[{"role": "user", "content": "hi"}])

    archive = tmp_path / "home" / ".context-compression"
    assert tools == {tool["name"] for tool in read("manifest.json")["tools"]}
    assert not archived.failed and not status.failed
    assert Path(status.facts["store"]).is_relative_to(archive)
    assert list(archive.rglob(f"*{archived.facts['ref']}*"))


@pytest.fixture
def substituted(bundle: Path, tmp_path: Path) -> Callable[[str], str]:
    """What a host fills in for a user who has changed nothing."""
    user = json.loads((bundle / "manifest.json").read_bytes())["user_config"]
    values = {f"user_config.{name}": about["default"] for name, about in user.items()}
    values |= {"__dirname": str(bundle), "HOME": str(tmp_path / "home")}

    def substitute(text: str) -> str:
        for name, value in values.items():
            text = text.replace(f"${{{name}}}", value)
        return text

    return substitute

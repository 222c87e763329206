"""The bundle for hosts and the entry for the registry say what is so, and the bundle works.

`pytest tests/mcp_server/test_packages.py --update-examples` writes what they say of the server.
"""

import json
import os
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pytest
from mcp import Client, StdioServerParameters
from mcp.types import TextContent
from mcp_door import ask, connected
from real_hosts import Environment, Package

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


def test_the_entry_for_the_registry_names_this_version_and_the_readme_proves_it() -> None:
    entry = read("server.json")
    [package] = entry["packages"]

    assert entry["version"] == package["version"] == PROJECT["version"]
    assert package["identifier"] == PROJECT["name"]
    assert package["identifier"] in PROJECT["scripts"]  # what uvx starts
    assert f"<!-- mcp-name: {entry['name']} -->" in (ROOT / "README.md").read_text("utf-8")


def test_the_entry_for_the_registry_has_the_shape_of_its_schema() -> None:
    """The schema of 2025-12-11, as far as our entry uses it."""
    entry = read("server.json")
    [package] = entry["packages"]

    namespace, name = entry["name"].split("/")
    assert "." in namespace and name == PROJECT["name"]
    assert 1 <= len(entry["description"]) <= 100
    assert 1 <= len(entry["title"]) <= 100
    assert (package["registryType"], package["transport"]) == ("pypi", {"type": "stdio"})
    assert package["packageArguments"] == [{"type": "positional", "value": "serve"}]
    inputs = {"name", "description", "format", "default", "isRequired", "isSecret"}
    assert all(variable.keys() <= inputs for variable in package["environmentVariables"])


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
    """The bundle, built and unpacked as a host does it."""
    environ = os.environ | {"PATH": f"{MCPB.installed().parent}{os.pathsep}{os.environ['PATH']}"}
    command = ["bash", PACKAGES / "bundle", tmp_path]
    built = subprocess.run(command, env=environ, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stdout + built.stderr
    with ZipFile(tmp_path / "context-compression.mcpb") as packed:
        packed.extractall(tmp_path / "unpacked")
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
    assert str(archive) in status.text
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

"""Real hosts in tests, other than Claude Code: Codex, Gemini CLI, opencode and Pi.

    with ScriptedModel([calling("exec_command", cmd="seq 9"), "done"]) as model:
        codex.ask(model, "Count to nine.")

The environment or the command line names the scripted model. So the configuration of a host
contains only what a test, or `install`, puts there.
"""

import json
import os
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import pytest
from real_hosts import Desk, Ended, Environment, Package
from scripted_model import ScriptedModel

from context_compression.conversation import is_object

CODEX = Package("codex", "@openai/codex", "0.169.0")
GEMINI = Package("gemini", "@google/gemini-cli", "0.61.0")
OPENCODE = Package("opencode", "opencode-ai", "1.18.33")
PI = Package("pi", "@earendil-works/pi-coding-agent", "0.87.1")
NODE = Package("node22", "node", "22.23.3")
"""Pi and the tools of the protocol require a newer node than some systems have."""

ON_DEMAND = "CONTEXT_COMPRESSION_ALL_HOSTS"
SERVER = (sys.executable, "-m", "context_compression")


def with_node() -> dict[str, str]:
    """The environment of this process, with this node first on the PATH."""
    return os.environ | {"PATH": f"{NODE.installed().parent}{os.pathsep}{os.environ['PATH']}"}


def on_demand(host: Package | Environment) -> Path:
    """A host that runs only if all hosts were requested."""
    if not os.environ.get(ON_DEMAND):
        pytest.skip(f"{ON_DEMAND} is not set: {host.name} is tried on demand only")
    return host.installed()


class Address(Protocol):
    """Where a host finds its model: a scripted model, or what stands before it."""

    @property
    def url(self) -> str:
        """The address before `/v1`."""
        ...


@dataclass
class Codex:
    """Codex without a terminal, with approvals and sandbox off.

    Attributes:
        options: of every start, before those of the call.
    """

    command: Path
    desk: Desk
    options: tuple[str, ...] = ()

    @property
    def config(self) -> Path:
        return self.desk.home / ".codex" / "config.toml"

    def ask(self, model: Address, prompt: str, *options: str, session: str | None = None) -> Ended:
        """One prompt, in a new session or in an earlier one, until the model has answered."""
        resumed = ("resume", session) if session else ()
        ended = self.run(
            "exec",
            *resumed,
            *("--json", "--skip-git-repo-check"),
            *(part for name, value in self.told(model) for part in ("-c", f"{name}={value}")),
            *self.options,
            *options,
            prompt,
            FAKE_KEY="sk-test",
        )
        assert ended.code == 0, (ended.code, ended.stdout[-2000:], ended.stderr[-2000:])
        return ended

    def run(self, *arguments: str, **environ: str) -> Ended:
        """Any command of the host."""
        self.config.parent.mkdir(exist_ok=True)
        return self.desk.run(self.command, *arguments, **environ)

    def told(self, model: Address) -> list[tuple[str, str]]:
        """Settings for the command line: the model, and nothing that asks or calls home."""
        provider = {
            "name": "scripted", "base_url": f"{model.url}/v1", "env_key": "FAKE_KEY",
            "wire_api": "responses", "request_max_retries": 0, "stream_max_retries": 0,
        }  # fmt: skip
        return [
            ("model", '"scripted"'),
            ("model_provider", '"scripted"'),
            ("model_providers.scripted", _toml(provider)),
            ("approval_policy", '"never"'),
            ("sandbox_mode", '"danger-full-access"'),
            ("check_for_update_on_startup", "false"),
            ("analytics.enabled", "false"),
            ("feedback.enabled", "false"),
        ]

    def rollouts(self) -> list[Path]:
        """The files of its sessions, the oldest first."""
        return sorted((self.desk.home / ".codex" / "sessions").glob("*/*/*/*.jsonl"))


def _toml(value: Any) -> str:
    """JSON's strings, numbers and lists are valid TOML; its objects are not."""
    if is_object(value):
        return "{" + ", ".join(f"{name} = {_toml(v)}" for name, v in value.items()) + "}"
    return json.dumps(value)


@dataclass
class Pi:
    """Pi without a terminal.

    Attributes:
        window: tokens of the model's context window.
    """

    command: Path
    desk: Desk
    window: int = 200_000
    settings: dict[str, Any] = field(default_factory=dict[str, Any])

    @property
    def agent(self) -> Path:
        return self.desk.home / ".pi" / "agent"

    def ask(self, model: ScriptedModel, prompt: str, *options: str | Path) -> Ended:
        """One prompt, until the model has answered without calling a tool."""
        self.agent.mkdir(parents=True, exist_ok=True)
        about = {"id": "scripted", "contextWindow": self.window, "maxTokens": 8_000}
        provider = {
            "baseUrl": f"{model.url}/v1", "api": "openai-completions", "apiKey": "sk-test",
            "models": [about],
        }  # fmt: skip
        (self.agent / "models.json").write_text(
            json.dumps({"providers": {"scripted": provider}}), encoding="utf-8"
        )
        (self.agent / "settings.json").write_text(json.dumps(self.settings), encoding="utf-8")
        path = f"{NODE.installed().parent}{os.pathsep}{Path(sys.executable).parent}"
        quiet = {"PI_OFFLINE": "1", "PI_SKIP_VERSION_CHECK": "1", "PI_TELEMETRY": "0"}
        ended = self.desk.run(
            self.command,
            *("--offline", "--mode", "json", "--model", "scripted/scripted"),
            *options,
            *("-p", prompt),
            PATH=f"{path}{os.pathsep}{os.environ['PATH']}",
            **quiet,
        )
        assert ended.code == 0, (ended.code, ended.stdout[-2000:], ended.stderr[-2000:])
        return ended

    def sessions(self) -> list[Path]:
        """The files of its sessions, the oldest first."""
        return sorted((self.agent / "sessions").rglob("*.jsonl"))


@dataclass
class OpenCode:
    """opencode without a terminal, with all permissions.

    Attributes:
        window: tokens of the model's context window.
    """

    command: Path
    desk: Desk
    window: int = 200_000

    @property
    def config(self) -> Path:
        """Its folder for all projects."""
        return self.desk.home / ".config" / "opencode"

    def ask(self, model: ScriptedModel, prompt: str, *options: str | Path) -> Ended:
        """One prompt, until the model has answered without calling a tool."""
        about = {
            "name": "scripted", "tool_call": True,
            "limit": {"context": self.window, "output": 4_000},
        }  # fmt: skip
        provider = {
            "npm": "@ai-sdk/openai-compatible", "name": "scripted",
            "options": {"baseURL": f"{model.url}/v1", "apiKey": "sk-test"},
            "models": {"scripted": about},
        }  # fmt: skip
        told = {
            "model": "scripted/scripted", "small_model": "scripted/scripted",
            "autoupdate": False, "share": "disabled", "enabled_providers": ["scripted"],
            "provider": {"scripted": provider}, "permission": {"*": "allow"},
        }  # fmt: skip
        config = self.desk.folder / "opencode.json"
        config.write_text(json.dumps(told), encoding="utf-8")
        quiet = ("AUTOUPDATE", "MODELS_FETCH", "LSP_DOWNLOAD", "DEFAULT_PLUGINS", "PRUNE")
        ended = self.desk.run(
            self.command,
            *("run", "--format", "json", *options, prompt),
            OPENCODE_CONFIG=str(config),
            npm_config_offline="true",  # it would install a package for each plugin
            npm_config_fetch_retries="0",
            **{f"OPENCODE_DISABLE_{name}": "1" for name in quiet},
        )
        assert ended.code == 0, (ended.code, ended.stdout[-2000:], ended.stderr[-2000:])
        return ended


@dataclass
class GeminiCLI:
    """Gemini CLI without a terminal, with all approvals."""

    command: Path
    desk: Desk

    @property
    def config(self) -> Path:
        return self.desk.home / ".gemini"

    def ask(
        self, model: ScriptedModel, prompt: str, *options: str | Path, stdin: str = ""
    ) -> Ended:
        """One prompt, after the text on stdin, until the model has answered."""
        self.config.mkdir(exist_ok=True)
        key, trusted = {"selectedType": "gemini-api-key"}, {"enabled": False}
        told = {
            "security": {"auth": key, "folderTrust": trusted},
            "general": {"enableAutoUpdate": False},
            "privacy": {"usageStatisticsEnabled": False},
        }  # fmt: skip
        settings = self.config / "settings.json"
        there: dict[str, Any] = json.loads(settings.read_text()) if settings.exists() else {}
        settings.write_text(json.dumps(there | told), encoding="utf-8")
        ended = self.desk.run(
            self.command,
            *("-m", "gemini-2.5-pro", "--output-format", "stream-json", "--skip-trust"),
            *("--approval-mode", "yolo", *options, "-p", prompt),
            stdin=stdin,
            GEMINI_API_KEY="sk-test",
            GOOGLE_GEMINI_BASE_URL=model.url,
            GEMINI_CLI_TRUST_WORKSPACE="true",
            GEMINI_SANDBOX="false",
            NO_BROWSER="1",
        )
        assert ended.code == 0, (ended.code, ended.stdout[-2000:], ended.stderr[-2000:])
        return ended


def noting_starts(desk: Desk) -> Path:
    """Makes hosts at a desk start our command through a script; the file that notes its options."""
    notes, script = desk.folder / "starts", desk.folder / "noting"
    ours = Path(sys.executable).parent / "context-compression"
    text = f'#!/bin/sh\necho "$@" >> "{notes}"\nexec "{ours}" "$@"\n'
    script.write_text(text, encoding="utf-8")
    script.chmod(0o700)
    desk.environ["CONTEXT_COMPRESSION_COMMAND"] = str(script)
    return notes

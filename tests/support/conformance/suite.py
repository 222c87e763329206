"""The protocol's conformance suite, run against a server in this process."""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import anyio
import yaml
from mcp.server import MCPServer
from other_hosts import with_node
from real_hosts import Package
from served import served

SUITE = Package("conformance", "@modelcontextprotocol/conformance", "0.2.0-alpha.12")
REVISIONS = ("2025-11-25", "2026-07-28")


async def failures(
    server: MCPServer, folder: Path, wanted: Mapping[str, Iterable[str]], *, unaided: bool = False
) -> dict[str, list[str]]:
    """What a server does against the protocol, by scenario and revision; empty if nothing.

    The suite runs all scenarios that a revision requires. Those that are not wanted count only with
    the messages that no schema of the protocol allows. The suite waits half a second for some
    answers, so a scenario that failed is tried once more, alone.

    Args:
        server: the server to try.
        folder: for the suite's results.
        wanted: the names of the scenarios that must pass, by revision.
        unaided: whether the server lacks the suite's fixtures; then checks that need one do not
            count.
    """
    environ = with_node()  # the test is skipped here, before anything runs
    found: dict[str, list[str]] = {}

    async def run(url: str, revision: str, names: Iterable[str]) -> None:
        await _suite(environ, url, folder / revision, "--requirements", revision)
        seen = _results(folder / revision)
        for name in names:
            if _failed(seen.get(name), unaided):
                again = folder / f"{revision}-{name}"
                await _suite(environ, url, again, "--scenario", name, "--spec-version", revision)
                seen[name] = _results(again).get(name, [])
        for name in {*seen, *names}:
            only = None if name in names else "wire-schema-valid"
            if failed := _failed(seen.get(name), unaided, only):
                found[f"{name} in {revision}"] = failed

    async with served(server) as url, anyio.create_task_group() as running:
        for revision, names in wanted.items():
            running.start_soon(run, url, revision, names)
    return found


def required(revision: str) -> list[str]:
    """The names of the scenarios that a revision requires of a server, from the suite itself."""
    package = SUITE.installed().parents[1] / SUITE.package
    listed = yaml.safe_load((package / "requirements" / f"{revision}.yaml").read_text("utf-8"))
    return listed["server"]


async def _suite(environ: Mapping[str, str], url: str, folder: Path, *options: str) -> None:
    command = [str(SUITE.installed()), "server", "--url", url, "-o", str(folder), *options]
    await anyio.run_process(command, env=environ, check=False)


def _results(folder: Path) -> dict[str, list[dict[str, Any]]]:
    """From folders with names such as `server-tools-list-2026-11-26T05-34-09-569Z`."""
    found = folder.glob("server-*-????-??-??T*/checks.json")
    return {
        path.parent.name.removeprefix("server-")[: -len("-2026-11-26T05-34-09-569Z")]: json.loads(
            path.read_bytes()
        )
        for path in found
    }


def _failed(
    checks: list[dict[str, Any]] | None, unaided: bool, only: str | None = None
) -> list[str]:
    if not checks:
        return ["did not run"]
    return [
        f"{check['id']}: {check.get('errorMessage')}"
        for check in checks
        if check["status"] == "FAILURE"
        and only in (None, check["id"])
        and not (unaided and check.get("details", {}).get("untestable"))
    ]

"""What the containers of `compose.yaml` run: its very commands, as plain processes."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import anyio
import postgres
import psycopg
import pytest
import yaml
from mcp_door import ask
from replicas import client_of, replicas, write_tokens

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

ROOT = Path(__file__).parents[2]
VALUES = {
    "KEEPER_PASSWORD": "a-k", "POSTGRES_PASSWORD": "a-p", "SERVER_NAME": "a.example",
    "WORKER_PASSWORD": "a-w",
}  # fmt: skip
STORE = "CONTEXT_COMPRESSION_STORE"
COMPOSE = re.compile(r"\$\{(\w+)(?::[-?][^}]*)?\}")


def compose() -> dict[str, Any]:
    """`compose.yaml`, with the variables of an `.env`."""
    text = (ROOT / "compose.yaml").read_text(encoding="utf-8")
    return yaml.safe_load(COMPOSE.sub(lambda match: VALUES[match[1]], text))


def test_the_example_of_an_environment_names_each_variable_of_the_containers() -> None:
    named = re.findall(r"(?m)^(\w+)=", (ROOT / ".env.example").read_text(encoding="utf-8"))
    used = COMPOSE.findall((ROOT / "compose.yaml").read_text(encoding="utf-8"))

    assert set(named) == set(used) == VALUES.keys()


def test_the_secrets_of_the_containers_are_not_committed() -> None:
    ignored = (ROOT / ".gitignore").read_text(encoding="utf-8").split()

    assert {".env", "/tokens/"} <= {*ignored}
    assert not re.search(r"password=.", (ROOT / ".env.example").read_text(encoding="utf-8"), re.I)


def test_no_server_has_more_rights_than_it_needs_and_the_proxy_knows_all() -> None:
    services = compose()["services"]
    servers = {name: each for name, each in services.items() if name.startswith("server-")}
    proxied = re.search(
        r"reverse_proxy (.*) \{", (ROOT / "containers/Caddyfile").read_text(encoding="utf-8")
    )

    assert proxied and proxied[1].split() == [f"{name}:8765" for name in servers]
    assert len(servers) == 2
    for each in servers.values():
        assert each["read_only"] and each["cap_drop"] == ["ALL"] and "ports" not in each
    assert "USER 10001" in (ROOT / "Dockerfile").read_text(encoding="utf-8")
    assert "ports" not in services["database"] and services["database"]["networks"] == ["back"]


def test_the_image_is_built_from_what_the_package_needs() -> None:
    given = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    let_in = {line[1:] for line in given if line.startswith("!")}

    assert let_in == {"LICENSE", "README.md", "data/tokenizer", "pyproject.toml", "server"}


async def test_the_commands_of_the_containers_serve_a_real_client(tmp_path: Path) -> None:
    if postgres.programs() is None:
        pytest.skip("PostgreSQL is not installed")
    services = compose()["services"]
    server, tables = services["server-1"], services["tables"]
    (tmp_path / "tokens").mkdir()
    write_tokens(tmp_path / "tokens" / "tokens", "ann")
    command = [word.replace("/run/tokens", str(tmp_path / "tokens")) for word in server["command"]]
    with postgres.running() as database:
        _make_archive(database)
        here = f"@127.0.0.1:{database.port}"
        owner, url = (
            each["environment"][STORE].replace("@database", here) for each in (tables, server)
        )
        await anyio.run_process(
            [sys.executable, "-m", "context_compression", *tables["command"]],
            env=os.environ | {STORE: owner},
        )
        with replicas(tmp_path, *command[2:], number=2, environ={STORE: url}) as started:
            port = started[0].base.rpartition(":")[2]
            await anyio.run_process(_health_check(port))
            async with client_of("ann", started) as client:
                kept = await ask(client, "context_offload", content="from a container")
                back = await ask(client, "context_restore", ref=kept.facts["ref"])
        with psycopg.connect(database.admin) as connection:
            tenants = connection.execute(
                "SELECT DISTINCT tenant FROM context_compression.sessions"
            ).fetchall()
        with psycopg.connect(url) as connection:
            passed = connection.execute(
                "SELECT tenant FROM context_compression.lexemes UNION "
                "SELECT tenant FROM context_compression.sessions"
            ).fetchall()

    assert command[:2] == ["serve", "--http"]
    assert back.pages == ["from a container"]
    assert tenants == [("ann",)]
    assert passed == []


def _make_archive(database: postgres.Server) -> None:
    """Runs the script that the image of PostgreSQL runs at its first start."""
    with psycopg.connect(
        database.admin.replace("/archive", "/postgres"), autocommit=True
    ) as connection:
        connection.execute("DROP DATABASE archive")
        connection.execute("DROP ROLE worker")
    where = {"PGHOST": "127.0.0.1", "PGPORT": str(database.port), "POSTGRES_USER": "admin"}
    environ = VALUES | where | {"PATH": f"{postgres.programs()}:{os.environ['PATH']}"}
    subprocess.run(["bash", str(ROOT / "containers/database.sh")], env=environ, check=True)


def _health_check(port: str) -> list[str]:
    """The check of the image, for another port."""
    lines = (ROOT / "Dockerfile").read_text(encoding="utf-8")
    words = json.loads(re.findall(r"CMD (\[.*?\])", lines)[0].replace("8765", port))
    return [sys.executable, *words[1:]]

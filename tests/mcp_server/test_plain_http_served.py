"""Plain HTTP behind the gate of `serve --http`: tokens, tenants, limits, workers, log, drain."""

import json
import signal
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx2
import pytest
from frameworks import environment_for
from replicas import Replica, replicas, token_of, write_tokens

from context_compression.testing import conversation

HELLO = [{"role": "user", "content": "Why is the build red?"}]
TENANTS = ("ann", "bob")
CHECKER = ("schemathesis==4.32.5", "openapi-spec-validator==0.9.0")
"""What checks the OpenAPI document, and the server against it."""
LENIENT = "negative_data_rejection,positive_data_acceptance"
"""Checks that do not hold: 7 is understood where "7" is sent, and not every list of objects is a
conversation."""

pytestmark = pytest.mark.slow


@pytest.fixture
def servers(tmp_path: Path) -> Iterator[list[Replica]]:
    """Two replicas for tenants, with workers."""
    tokens = write_tokens(tmp_path / "tokens", *TENANTS)
    with replicas(tmp_path, "--tokens", str(tokens), "--access-log", number=2) as servers:
        yield servers


def client(server: Replica, tenant: str | None = None, token: str = "") -> httpx2.Client:
    token = token or (token_of(tenant) if tenant else "")
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    return httpx2.Client(base_url=server.base, headers=headers, timeout=120, verify=False)


def error_of(response: httpx2.Response) -> tuple[int, str]:
    error = response.json()["error"]
    assert {*error} <= {"type", "message", "retry_after"}, error
    return response.status_code, error["type"]


def test_a_tenant_sees_nothing_of_another_from_any_replica(servers: list[Replica]) -> None:
    first, second = servers
    secret = f"SECRET {'word ' * 3_000}"
    talk = [{"role": "user", "content": secret}, *conversation(12)[1:]]
    with client(first, "ann") as ann:
        sent = ann.post("/v1/compress", json={"messages": talk, "target_tokens": 6_000}).json()
        ann.post("/v1/fit", json={"session": "build", "messages": talk})
    id, ref = sent["session"], next(iter(sent["refs"]))

    with client(second, "ann") as ann, client(second, "bob") as bob:
        own = ann.post("/v1/restore", json={"ref": ref, "session": id})
        refused = [
            bob.post("/v1/restore", json={"ref": ref}),
            bob.post("/v1/restore", json={"ref": ref, "session": id}),
            bob.post("/v1/restore", json={"query": "SECRET", "session": id}),
            bob.get("/v1/status", params={"session": "build"}),
        ]
        found = bob.post("/v1/restore", json={"query": "SECRET"})
        status = bob.get("/v1/status")
        same_name = bob.post("/v1/fit", json={"session": "build", "messages": HELLO})
        again = bob.get("/v1/status", params={"session": "build"})

    assert own.status_code == 200 and own.json()["ref"] == ref
    assert {each.status_code for each in refused} == {404}
    assert not any(word in each.text for each in refused for word in ("SECRET w", id + '"'))
    assert (found.json()["hits"], status.json()["sessions_total"]) == ([], 0)
    assert same_name.json()["messages"] == HELLO
    assert again.json()["messages"] == 1


def test_two_workers_of_a_tenant_keep_one_session(servers: list[Replica]) -> None:
    talk = conversation(6)

    def fit(server: Replica) -> Any:
        with client(server, "ann") as ann:
            return ann.post("/v1/fit", json={"session": "both", "messages": talk})

    with ThreadPoolExecutor(8) as pool:
        answers = [*pool.map(fit, servers * 4)]

    assert {each.status_code for each in answers} == {200}
    with client(servers[0], "ann") as ann:
        assert ann.get("/v1/status?session=both").json()["messages"] == len(talk)


@pytest.mark.parametrize("path", ["/v1/compress", "/v1/status", "/v1/nothing", "/openapi.json"])
def test_without_a_token_nobody_is_answered_and_the_error_has_the_form_of_all(
    servers: list[Replica], path: str
) -> None:
    for token in ("", "a-token-of-nobody"):
        with client(servers[0], token=token) as nobody:
            refused = nobody.get(path)
        assert error_of(refused) == (401, "Unauthorized")
        assert refused.headers["WWW-Authenticate"] == "Bearer"


def test_tenants_get_and_post_but_mcp_only_posts(servers: list[Replica]) -> None:
    with client(servers[0], "ann") as ann:
        assert ann.get("/openapi.json").status_code == 200
        assert ann.head("/v1/status").status_code == 200
        assert error_of(ann.get("/v1/fit")) == (405, "MethodNotAllowed")
        assert error_of(ann.get("/v1/none")) == (404, "NotFound")
        assert ann.get("/mcp").json() == {"error": "only POST"}


def test_limits_and_sizes_are_those_of_mcp(tmp_path: Path) -> None:
    tokens = write_tokens(tmp_path / "tokens", *TENANTS)
    limits = ["--per-minute", "3", "--megabytes", "1"]
    with (
        replicas(tmp_path, "--tokens", str(tokens), *limits) as (server,),
        client(server, "ann") as ann,
    ):
        large = ann.post("/v1/compress", json={"messages": HELLO, "system": "a" * 2**20})
        answers = [ann.get("/v1/status") for _ in range(3)]

    assert error_of(large) == (413, "BodyTooLarge")
    assert [each.status_code for each in answers] == [200, 200, 429]
    assert error_of(answers[-1]) == (429, "TooManyRequests")
    assert answers[-1].headers["Retry-After"] == str(answers[-1].json()["error"]["retry_after"])


def test_a_store_that_is_away_is_told(tmp_path: Path) -> None:
    environ = {"CONTEXT_COMPRESSION_STORE": "postgresql://nobody:none@127.0.0.1:9/none"}
    token = "a-token-for-tests"
    with (
        replicas(tmp_path, "--token", token, environ=environ) as (server,),
        client(server, token=token) as one,
    ):
        answers = [
            one.post("/v1/compress", json={"messages": conversation(9), "target_tokens": 5_000}),
            one.post("/v1/fit", json={"messages": HELLO, "session": "s"}),
            one.post("/v1/restore", json={"ref": "0123456789ab"}),
            one.get("/v1/status"),
            one.get("/v1/status?session=s"),
        ]

    assert [error_of(each) for each in answers] == [(503, "StoreUnreachable")] * 5
    assert {each.headers["Retry-After"] for each in answers} == {"1"}


def test_the_log_names_the_path_and_nothing_that_a_client_wrote(servers: list[Replica]) -> None:
    first, second = servers
    with client(first, "ann") as ann:
        ann.post("/v1/fit", json={"session": "SECRET", "messages": HELLO})
        ann.post("/v1/fit", json={"session": "SECRET-2", "messages": [*HELLO, {"SECRET": 1}]})
        ann.get("/v1/SECRET")
    first.send(signal.SIGTERM)
    with client(second, "ann") as ann:  # the other goes on
        assert ann.get("/v1/status?session=SECRET").json()["messages"] == 1

    assert first.end() == 0
    assert [(each["path"], each["status"]) for each in first.logged()] == [
        ("/v1/fit", 200), ("/v1/fit", 200), ("other", 404),
    ]  # fmt: skip
    assert "SECRET" not in "".join(first.stderr)


def test_the_document_is_valid_and_the_server_keeps_to_it(tmp_path: Path) -> None:
    python = environment_for("schemathesis", CHECKER)
    token = "a-token-for-tests"
    with replicas(tmp_path, "--token", token) as (server,), client(server, token=token) as one:
        (tmp_path / "openapi.json").write_text(json.dumps(one.get("/openapi.json").json()))
        runs = (
            [python, "-m", "openapi_spec_validator", "openapi.json"],
            [python.with_name("schemathesis"), "run", f"{server.base}/openapi.json",
             "--header", f"Authorization: Bearer {token}", "--exclude-checks", LENIENT,
             "--phases", "coverage,fuzzing", "--max-examples", "12", "--seed", "1",
             "--generation-database", "none", "--no-color"],
        )  # fmt: skip
        for command in runs:
            ended = subprocess.run(
                [*map(str, command)], cwd=tmp_path, capture_output=True, text=True, timeout=300,
                check=False,
            )  # fmt: skip
            assert ended.returncode == 0, ended.stdout[-3_000:] + ended.stderr[-1_000:]

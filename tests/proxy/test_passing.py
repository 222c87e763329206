"""What goes through the proxy, as the provider and the client see it on their sockets."""

import gzip
import json
import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event
from typing import Any

import httpx2
import pytest
from raw_provider import PATIENCE, Exchange, RawProvider
from replicas import Replica, replicas

pytestmark = pytest.mark.slow

KEY = "sk-ant-secret-of-a-user"
BODY = b'{"model":"m","max_tokens":1e1,"messages":[{"role":"user","content":"\\u00e4 \xc3\xa4"}] }'
STREAM = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"


def chunk(data: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(data), data)


@pytest.fixture
def client(proxy: Replica) -> Iterator[httpx2.Client]:
    with httpx2.Client(base_url=proxy.url, timeout=PATIENCE, headers={"x-api-key": KEY}) as client:
        yield client


def connected(proxy: Replica) -> socket.socket:
    return socket.create_connection(("127.0.0.1", int(proxy.url.rpartition(":")[2])), PATIENCE)


def test_a_request_and_its_answer_pass_byte_for_byte(
    provider: RawProvider, client: httpx2.Client
) -> None:
    provider.answer = (
        b"HTTP/1.1 200 OK\r\nrequest-id: r1\r\ncontent-length: 10\r\n\r\n\x00\xff{1.0e5 }"
    )

    answer = client.post("/v1/files/a%2Fb%7E~?beta=true&x=%20+", content=BODY)

    asked = provider.next()
    assert asked.line == "POST /v1/files/a%2Fb%7E~?beta=true&x=%20+ HTTP/1.1"
    assert asked.body == BODY
    assert (answer.status_code, answer.content) == (200, b"\x00\xff{1.0e5 }")
    assert answer.headers == {"request-id": "r1", "content-length": "10"}


def test_the_provider_sees_the_headers_of_the_client_alone(
    provider: RawProvider, proxy: Replica
) -> None:
    with connected(proxy) as client:
        client.sendall(
            b"POST /v1/embeddings HTTP/1.1\r\nHost: localhost:1\r\nx-api-key: k\r\n"
            b"Connection: close, X-Hop\r\nX-Hop: 1\r\nTE: trailers\r\nUpgrade: h2c\r\n"
            b"Proxy-Authorization: Basic YTpi\r\nKeep-Alive: 5\r\nExpect: 100-continue\r\n"
            b"anthropic-beta: a\r\nanthropic-beta: b\r\nX-Forwarded-For: 1.2.3.4\r\n"
            b"Content-Length: 2\r\n\r\n"
        )
        assert client.recv(100).startswith(b"HTTP/1.1 100")
        client.sendall(b"{}")
        asked = provider.next()

    host = provider.base_url.removeprefix("http://")
    assert asked.headers == [
        ("host", host), ("x-api-key", "k"), ("anthropic-beta", "a"), ("anthropic-beta", "b"),
        ("x-forwarded-for", "1.2.3.4"), ("content-length", "2"),
    ]  # fmt: skip


@pytest.mark.parametrize("status", [200, 204, 302, 304, 400, 401, 404, 413, 429, 500, 503, 529])
def test_what_the_provider_answers_reaches_the_client_as_it_is(
    provider: RawProvider, client: httpx2.Client, status: int
) -> None:
    body = b"" if status in (204, 304) else b'{"error": {"type": "overloaded_error"}}'
    length = b"content-length: %d\r\n" % len(body) if status not in (204, 304) else b""
    provider.answer = (
        b"HTTP/1.1 %d Whatever\r\nretry-after: 7\r\nlocation: http://evil.example/\r\n"
        b"set-cookie: a=1\r\nset-cookie: b=2\r\nx-should-retry: true\r\ndate: then\r\n"
        b"server: theirs\r\nconnection: close, x-hop\r\nx-hop: 1\r\n%b\r\n%b"
    ) % (status, length, body)

    answer = client.get("/v1/models")

    assert (answer.status_code, answer.content) == (status, body)
    assert [each for each in answer.headers.multi_items() if each[0] != "content-length"] == [
        ("retry-after", "7"), ("location", "http://evil.example/"), ("set-cookie", "a=1"),
        ("set-cookie", "b=2"), ("x-should-retry", "true"), ("date", "then"), ("server", "theirs"),
    ]  # fmt: skip
    client.get("/v1/models")
    provider.next()
    assert provider.next().header("cookie") == "a=1; b=2"  # the client's own


def test_cookies_of_one_client_never_reach_another(provider: RawProvider, proxy: Replica) -> None:
    provider.answer = b"HTTP/1.1 200 OK\r\nset-cookie: a=1; path=/\r\ncontent-length: 0\r\n\r\n"

    for _ in range(2):
        httpx2.get(f"{proxy.url}/v1/models")
        assert provider.next().header("cookie") == ""


def test_a_compressed_answer_stays_compressed(
    provider: RawProvider, proxy: Replica, client: httpx2.Client
) -> None:
    packed = gzip.compress(b"many words " * 1_000)
    provider.answer = (
        b"HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: %d\r\n\r\n%b"
    ) % (len(packed), packed)

    with client.stream("GET", "/v1/models", headers={"accept-encoding": "gzip, br"}) as answer:
        assert b"".join(answer.iter_raw()) == packed

    assert answer.headers["content-encoding"] == "gzip"
    assert provider.next().header("accept-encoding") == "gzip, br"


@pytest.mark.parametrize("method", ["GET", "HEAD", "DELETE", "PUT", "PATCH", "OPTIONS"])
def test_any_method_passes(provider: RawProvider, client: httpx2.Client, method: str) -> None:
    provider.answer = b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\n" + b"hello" * (
        method != "HEAD"
    )

    answer = client.request(method, "/v1/batches/b1")

    assert provider.next().line == f"{method} /v1/batches/b1 HTTP/1.1"
    assert answer.headers["content-length"] == "5"
    assert answer.text == ("" if method == "HEAD" else "hello")


def test_each_part_of_an_answer_arrives_before_the_next_is_written(
    provider: RawProvider, client: httpx2.Client
) -> None:
    arrived = Event()

    def answer(exchange: Exchange) -> None:
        exchange.read()
        exchange.send(STREAM)
        for number in range(3):
            exchange.send(chunk(b"data: %d\n\n" % number))
            assert arrived.wait(PATIENCE)
            arrived.clear()
        exchange.send(b"0\r\n\r\n")

    provider.answer = answer
    parts: list[bytes] = []
    with client.stream("POST", "/v1/completions", content=BODY) as response:
        for part in response.iter_raw():
            parts.append(part)
            arrived.set()

    assert parts == [b"data: 0\n\n", b"data: 1\n\n", b"data: 2\n\n"]


def test_each_part_of_an_upload_arrives_before_the_next_is_sent(
    provider: RawProvider, client: httpx2.Client
) -> None:
    arrived = Event()
    parts: list[bytes] = []

    def answer(exchange: Exchange) -> None:
        while part := exchange.read_chunk():
            parts.append(part)
            arrived.set()
        exchange.send(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n")

    def content() -> Iterator[bytes]:
        for number in range(3):
            yield b"part %d" % number
            assert arrived.wait(PATIENCE)
            arrived.clear()

    provider.answer = answer
    assert client.post("/v1/files", content=content()).status_code == 200
    assert b"".join(parts) == b"part 0part 1part 2"
    assert len(parts) == 3


def test_a_large_body_passes_both_ways(provider: RawProvider, client: httpx2.Client) -> None:
    large = bytes(range(256)) * 130_000  # 33 MB

    def answer(exchange: Exchange) -> None:
        size = int(exchange.header("content-length"))
        exchange.send(b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n" % size)
        exchange.send(exchange.read())

    provider.answer = answer

    assert client.post("/v1/files", content=large).content == large


@pytest.mark.parametrize("path", ["/v1/messages", "/v1/completions"])
@pytest.mark.parametrize("begun", [False, True])
def test_who_goes_away_ends_the_request_at_the_provider(
    provider: RawProvider, proxy: Replica, path: str, *, begun: bool
) -> None:
    left: list[bool] = []
    done = Event()

    def answer(exchange: Exchange) -> None:
        exchange.read()
        if begun:
            exchange.send(STREAM + chunk(b"data: 1\n\n"))
        left.append(exchange.is_left())
        done.set()

    provider.answer = answer
    with connected(proxy) as client:
        head = f"POST {path} HTTP/1.1\r\nHost: localhost:1\r\nContent-Length: {len(BODY)}\r\n\r\n"
        client.sendall(head.encode() + BODY)
        provider.next()
        if begun:
            assert client.recv(1000)

    assert done.wait(PATIENCE)
    assert left == [True]


def test_who_goes_away_while_sending_ends_the_request_too(
    provider: RawProvider, proxy: Replica
) -> None:
    done = Event()

    def answer(exchange: Exchange) -> None:
        exchange.connection.settimeout(PATIENCE)
        while exchange.connection.recv(65536):
            pass
        done.set()

    provider.answer = answer
    with connected(proxy) as client:
        client.sendall(
            b"POST /v1/files HTTP/1.1\r\nHost: localhost:1\r\nContent-Length: 99\r\n\r\nab"
        )
        provider.next()

    assert done.wait(PATIENCE)


@pytest.mark.parametrize(
    "head", [STREAM + chunk(b"data: 1\n\n"), b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nhalf"]
)
def test_an_answer_that_breaks_off_breaks_off_for_the_client(
    provider: RawProvider, client: httpx2.Client, head: bytes
) -> None:
    provider.answer = head

    with pytest.raises(httpx2.RemoteProtocolError), client.stream("GET", "/v1/models") as answer:
        answer.read()


def test_a_provider_that_hangs_up_is_an_error_in_the_form_of_its_api(
    provider: RawProvider, client: httpx2.Client
) -> None:
    provider.answer = Exchange.read

    anthropic = client.get("/v1/models")
    openai = httpx2.get(f"{client.base_url}/v1/models")

    for answer in (anthropic, openai):
        assert answer.status_code == 502
        assert provider.base_url in answer.json()["error"]["message"]
        assert answer.json()["error"]["type"] == "api_error"
    assert anthropic.json()["type"] == "error"
    assert openai.json()["error"]["code"] is None


def test_a_provider_that_is_not_there_is_an_error_too(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        nobody = f"http://127.0.0.1:{free.getsockname()[1]}"
    with replicas(tmp_path, "--upstream", nobody, command=["proxy"]) as [proxy]:
        answer = httpx2.post(f"{proxy.url}/v1/messages", content=BODY, headers={"x-api-key": KEY})

    assert answer.status_code == 502
    assert f"got no answer from {nobody}: " in answer.json()["error"]["message"]
    assert "--upstream" in answer.json()["error"]["message"]


def test_50_clients_are_answered_at_once(provider: RawProvider, client: httpx2.Client) -> None:
    together = Event()
    count = iter(range(1, 51))

    def answer(exchange: Exchange) -> None:
        body = exchange.read()
        if next(count) == 50:
            together.set()
        assert together.wait(PATIENCE)
        exchange.send(STREAM + chunk(body) + b"0\r\n\r\n")

    def ask(number: int) -> str:
        body = b'{"input": "%d"}' % number
        return client.post("/v1/embeddings", content=body).text

    provider.answer = answer
    with ThreadPoolExecutor(50) as pool:
        answers = [*pool.map(ask, range(50))]

    assert answers == [f'{{"input": "{number}"}}' for number in range(50)]


def test_nothing_of_a_request_is_written_anywhere_but_what_the_log_may_say(tmp_path: Path) -> None:
    options = ("--access-log", "--upstream")
    with (
        RawProvider() as provider,
        replicas(tmp_path, *options, provider.base_url, command=["proxy"]) as [proxy],
    ):
        headers = {"x-api-key": KEY, "authorization": f"Bearer {KEY}"}
        for path in ("/v1/chat/completions?key=secret", "/v1/secret", "/v1/messages/secret"):
            httpx2.post(f"{proxy.url}{path}", content=b"secret words", headers=headers)
        proxy.process.terminate()
        code = proxy.end()

    log: list[dict[str, Any]] = proxy.logged()
    assert code == 0
    assert "secret" not in "".join(proxy.stderr)
    assert [entry["api"] for entry in log] == ["chat/completions", "other", "other"]
    assert {*log[0]} == {
        "time", "tenant", "http_method", "api", "status", "bytes_in", "bytes_out", "milliseconds",
    }  # fmt: skip
    kept = [each for each in tmp_path.rglob("*") if each.is_file()]
    assert not [each for each in kept if b"secret" in each.read_bytes()]
    assert json.loads(json.dumps(log)) == log

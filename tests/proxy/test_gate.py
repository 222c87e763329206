"""Who may use the proxy, under which names, and to where: as raw sockets see it."""

import socket
from collections.abc import Iterator
from pathlib import Path
from queue import Queue

import httpx2
import pytest
from raw_provider import PATIENCE, Exchange, RawProvider
from replicas import Replica, replicas, token_of, write_tokens

pytestmark = pytest.mark.slow


def answered(proxy: Replica, request: bytes) -> bytes:
    """Everything that comes back on a connection."""
    port = int(proxy.url.rpartition(":")[2])
    with socket.create_connection(("127.0.0.1", port), PATIENCE) as client:
        client.sendall(request)
        answer = b""
        while part := client.recv(65536):
            answer += part
    return answer


def head(line: bytes, *headers: bytes, host: bytes = b"127.0.0.1:8788") -> bytes:
    return b"\r\n".join([line, b"Host: " + host, b"Connection: close", *headers, b"", b""])


OTHERS = {
    "absolute form": (head(b"GET http://evil.example/v1/models HTTP/1.1"), 421, b"HTTP_PROXY"),
    "absolute form with our name": (
        head(b"GET http://127.0.0.1:8788/v1/models HTTP/1.1"), 421, b"ANTHROPIC_BASE_URL",
    ),
    "another scheme": (head(b"GET file:///etc/passwd HTTP/1.1"), 421, b"upstream"),
    "CONNECT": (head(b"CONNECT evil.example:443 HTTP/1.1"), 421, b"HTTP_PROXY"),
    "CONNECT to a path": (head(b"CONNECT /v1/messages HTTP/1.1"), 421, b"upstream"),
    "an asterisk": (head(b"OPTIONS * HTTP/1.1"), 421, b"upstream"),
    "no slash": (head(b"GET evil.example/v1 HTTP/1.1"), 421, b"upstream"),
    "another host": (
        head(b"GET /v1/models HTTP/1.1", host=b"evil.example"), 421, b"--allow-host",
    ),
    "another host that begins as ours": (
        head(b"GET /v1/models HTTP/1.1", host=b"127.0.0.1.evil.example:8788"), 421, b"Host",
    ),
    "a page of another origin": (
        head(b"POST /v1/messages HTTP/1.1", b"Origin: https://evil.example"), 403, b"web page",
    ),
    "a sandboxed page": (head(b"POST /v1/messages HTTP/1.1", b"Origin: null"), 403, b"web page"),
    "a picture in a page": (
        head(b"GET /v1/models HTTP/1.1", b"Sec-Fetch-Site: cross-site"), 403, b"web page",
    ),
    "a web socket": (
        b"GET /v1/responses HTTP/1.1\r\nHost: localhost:1\r\nUpgrade: websocket\r\n"
        b"Connection: Upgrade\r\nSec-WebSocket-Key: YQ==\r\nSec-WebSocket-Version: 13\r\n\r\n",
        426, b"WebSocket",
    ),
    "two lengths": (
        head(
            b"POST /v1/messages HTTP/1.1", b"Content-Length: 3", b"Transfer-Encoding: chunked"
        ) + b"0\r\n\r\nGET /v1/models HTTP/1.1\r\nHost: localhost:1\r\n\r\n",
        400, b"Content-Length",
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", OTHERS)
def test_what_is_not_meant_for_this_proxy_reaches_no_provider(
    provider: RawProvider, proxy: Replica, what: str
) -> None:
    request, status, word = OTHERS[what]

    answer = answered(proxy, request)

    assert answer.startswith(b"HTTP/1.1 %d " % status), answer
    assert word in answer
    assert answer.count(b"HTTP/1.1 ") == 1
    assert provider.exchanges.empty()


MALFORMED = {
    "two other lengths": b"Content-Length: 3\r\nContent-Length: 4\r\n\r\nabcd",
    "a length that is none": b"Content-Length: +3\r\n\r\nabc",
    "two codings": b"Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n",
    "a hidden coding": b"Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n",
    "a space before the colon": b"Content-Length : 3\r\n\r\nabc",
    "a folded header": b"X-A: b\r\n c\r\nTransfer-Encoding:\r\n chunked, x\r\n\r\n",
    "two hosts": b"Host: localhost:1\r\n\r\n",
}


@pytest.mark.parametrize("how", MALFORMED)
def test_a_request_that_two_servers_would_read_in_two_ways_is_refused(
    provider: RawProvider, proxy: Replica, how: str
) -> None:
    request = b"POST /v1/files HTTP/1.1\r\nHost: localhost:1\r\n" + MALFORMED[how]

    answer = answered(proxy, request)

    assert answer[:10] in (b"HTTP/1.1 4", b"HTTP/1.1 5", b""), answer
    assert provider.exchanges.empty()


def test_a_body_that_breaks_the_rules_of_chunks_ends_on_both_sides(
    provider: RawProvider, proxy: Replica
) -> None:
    left: Queue[bool] = Queue()

    def answer(exchange: Exchange) -> None:
        left.put(exchange.read_chunk() == b"abc" and exchange.is_left())

    provider.answer = answer
    port = int(proxy.url.rpartition(":")[2])
    with socket.create_connection(("127.0.0.1", port), PATIENCE) as client:
        coded = head(b"POST /v1/files HTTP/1.1", b"Transfer-Encoding: chunked")
        client.sendall(coded + b"3\r\nabc\r\n")
        provider.next()
        client.sendall(
            b"zz\r\nabc\r\n0\r\n\r\nGET /v1/models HTTP/1.1\r\nHost: localhost:1\r\n\r\n"
        )

        assert left.get(timeout=PATIENCE)
        assert b" 200 " not in client.recv(65536)
    assert provider.exchanges.empty()


def test_a_path_that_looks_like_an_address_stays_a_path(
    provider: RawProvider, proxy: Replica
) -> None:
    for path in (
        b"//evil.example/v1/models", b"/@evil.example/", b"/http://evil.example/", b"/a%0d%0aB:c",
    ):  # fmt: skip
        assert answered(proxy, head(b"GET " + path + b" HTTP/1.1")).startswith(b"HTTP/1.1 200")
        assert provider.next().line == f"GET {path.decode()} HTTP/1.1"


@pytest.mark.parametrize(
    "host", [b"127.0.0.1:1", b"localhost:8788", b"[::1]:8788", b"localhost", b"[::1]"]
)
def test_the_names_of_this_machine_are_taken(
    provider: RawProvider, proxy: Replica, host: bytes
) -> None:
    page = b"Origin: http://localhost:3000"
    request = head(b"GET /v1/models HTTP/1.1", page, host=host)

    assert answered(proxy, request).startswith(b"HTTP/1.1 200")
    assert provider.next().header("origin") == "http://localhost:3000"


def test_java_offers_another_version_of_http_and_is_answered_in_this_one(
    provider: RawProvider, proxy: Replica
) -> None:
    answer = answered(
        proxy,
        b"GET /v1/models HTTP/1.1\r\nHost: localhost:1\r\nUpgrade: h2c\r\nHTTP2-Settings: AAEA\r\n"
        b"Connection: Upgrade, HTTP2-Settings, close\r\n\r\n",
    )

    assert answer.startswith(b"HTTP/1.1 200")
    assert [name for name, _ in provider.next().headers] == ["host"]


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[RawProvider, Replica]]:
    """A proxy for two tenants, at all addresses of this machine."""
    folder: Path = tmp_path_factory.mktemp("guarded")
    tokens = write_tokens(folder / "tokens", "ann", "bob")
    options = ("--host", "0.0.0.0", "--tokens", str(tokens), "--allow-host", "llm.example")
    with (
        RawProvider() as provider,
        replicas(
            folder, *options, "--access-log", "--upstream", provider.base_url, command=["proxy"]
        ) as [proxy],
    ):
        yield provider, proxy


def test_its_own_token_opens_it_and_goes_no_further(guarded: tuple[RawProvider, Replica]) -> None:
    provider, proxy = guarded
    key = {"authorization": "Bearer of-the-provider"}
    ours = {"proxy-authorization": f"Bearer {token_of('ann')}"}

    answer = httpx2.get(f"{proxy.url}/v1/models", headers=key | ours)

    assert answer.status_code == 200
    asked = provider.next()
    assert asked.header("authorization") == "Bearer of-the-provider"
    assert asked.header("proxy-authorization") == ""


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"proxy-authorization": "Bearer wrong"},
        {"proxy-authorization": f"Basic {token_of('ann')}"},
        {"authorization": f"Bearer {token_of('ann')}"},
        {"x-api-key": token_of("ann")},
    ],
)
def test_without_its_token_nothing_goes_out(
    guarded: tuple[RawProvider, Replica], headers: dict[str, str]
) -> None:
    provider, proxy = guarded

    answer = httpx2.post(f"{proxy.url}/v1/messages", headers=headers, content=b"{}")

    assert answer.status_code == 407
    assert answer.headers["proxy-authenticate"] == "Bearer"
    assert "Proxy-Authorization: Bearer TOKEN" in answer.json()["error"]["message"]
    assert provider.exchanges.empty()


def test_its_health_is_answered_without_a_token(guarded: tuple[RawProvider, Replica]) -> None:
    provider, proxy = guarded

    for path, name in (("/healthz", "lives"), ("/readyz", "ready")):
        assert httpx2.get(f"{proxy.url}{path}").json() == {name: True}
    assert provider.exchanges.empty()


def test_a_further_name_is_taken_where_the_user_allows_it(
    guarded: tuple[RawProvider, Replica],
) -> None:
    ours = {"proxy-authorization": f"Bearer {token_of('bob')}", "host": "llm.example"}

    assert httpx2.get(f"{guarded[1].url}/v1/models", headers=ours).status_code == 200


def test_it_warns_of_a_network_and_says_what_clients_send(
    guarded: tuple[RawProvider, Replica],
) -> None:
    """The lines after the first, which names the variables."""
    _, proxy = guarded
    httpx2.get(f"{proxy.url}/v1/models")

    said = "".join(proxy.stderr)
    assert "Each client also sends the header Proxy-Authorization: Bearer TOKEN\n" in said
    assert "Warning: other machines can reach 0.0.0.0, and this proxy has no TLS" in said

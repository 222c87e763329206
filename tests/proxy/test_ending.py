"""The end of the proxy: what is being answered is answered."""

import signal
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event

import httpx2
import pytest
from raw_provider import PATIENCE, Exchange, RawProvider
from replicas import Replica, replicas

pytestmark = pytest.mark.slow
STREAM = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
BEGIN, END = b"8\r\ndata: 1\n\r\n", b"8\r\ndata: 2\n\r\n0\r\n\r\n"


class Held:
    """An answer whose second part waits until a test lets it go."""

    def __init__(self) -> None:
        self.begun, self.free = Event(), Event()

    def __call__(self, exchange: Exchange) -> None:
        exchange.read()
        exchange.send(STREAM + BEGIN)
        self.begun.set()
        assert self.free.wait(PATIENCE)
        exchange.send(END)


@pytest.fixture
def held() -> Iterator[Held]:
    held = Held()
    yield held
    held.free.set()


def ask(proxy: Replica) -> tuple[int, bytes]:
    answer = httpx2.post(f"{proxy.url}/v1/messages", content=b"{}", timeout=PATIENCE)
    return answer.status_code, answer.content


def test_a_stream_goes_on_after_sigterm_and_then_the_proxy_ends(tmp_path: Path, held: Held) -> None:
    with (
        RawProvider(held) as provider,
        replicas(tmp_path, "--upstream", provider.base_url, command=["proxy"]) as [proxy],
        ThreadPoolExecutor() as pool,
    ):
        asked = pool.submit(ask, proxy)
        assert held.begun.wait(PATIENCE)
        proxy.send(signal.SIGTERM)
        while is_listening(proxy):
            pass
        held.free.set()

        assert asked.result(PATIENCE) == (200, b"data: 1\ndata: 2\n")
        assert proxy.end() == 0
    assert len(proxy.stderr) == 1  # only the line of its start


def test_while_it_drains_it_takes_requests_and_says_so(tmp_path: Path) -> None:
    options = ("--drain", "600", "--upstream")
    with (
        RawProvider() as provider,
        replicas(tmp_path, *options, provider.base_url, command=["proxy"]) as [proxy],
    ):
        proxy.send(signal.SIGTERM)
        while (ready := httpx2.get(f"{proxy.url}/readyz")).status_code == 200:
            pass
        meanwhile = httpx2.post(f"{proxy.url}/v1/messages", content=b"{}")
        proxy.send(signal.SIGTERM)

        assert proxy.end() == 0
    assert (ready.status_code, ready.json()["ready"]) == (503, False)
    assert (meanwhile.status_code, meanwhile.headers["connection"]) == (200, "close")


def test_ctrl_c_ends_it(tmp_path: Path) -> None:
    with replicas(tmp_path, command=["proxy"]) as [proxy]:
        proxy.send(signal.SIGINT)

        assert proxy.end() == 130
    assert "Traceback" not in "".join(proxy.stderr)


def is_listening(proxy: Replica) -> bool:
    try:
        return httpx2.get(f"{proxy.url}/healthz").status_code == 200
    except httpx2.TransportError:
        return False

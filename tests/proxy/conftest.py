"""What tests of the proxy may ask for."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from raw_provider import OK, RawProvider
from replicas import Replica, replicas


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[RawProvider, Replica]]:
    """A provider and a proxy in front of it, for the tests of one module."""
    folder: Path = tmp_path_factory.mktemp("proxy")
    with (
        RawProvider() as provider,
        replicas(folder, "--upstream", provider.base_url, command=["proxy"]) as [proxy],
    ):
        yield provider, proxy


@pytest.fixture
def provider(shared: tuple[RawProvider, Replica]) -> RawProvider:
    provider, _ = shared
    provider.answer = OK
    provider.exchanges.queue.clear()
    return provider


@pytest.fixture
def proxy(shared: tuple[RawProvider, Replica]) -> Replica:
    return shared[1]

"""The command `proxy`, before it listens: what is wrong ends with 2 and says what to do."""

import socket
from collections.abc import Iterator

import pytest

from .conftest import Desk


@pytest.fixture
def taken() -> Iterator[int]:
    """A port at which somebody listens."""
    with socket.create_server(("127.0.0.1", 0)) as other:
        yield other.getsockname()[1]


@pytest.fixture
def free() -> int:
    with socket.create_server(("127.0.0.1", 0)) as other:
        return other.getsockname()[1]


def refused(desk: Desk, *options: str, **env: str) -> str:
    done = desk.run("proxy", *options, env=env)
    told = done.stderr.decode()
    assert done.returncode == 2, told
    assert "Traceback" not in told
    return " ".join(told.split())


def test_a_port_in_use_is_named_with_what_to_do(desk: Desk, taken: int) -> None:
    told = refused(desk, "--port", str(taken))

    assert f"Cannot listen on 127.0.0.1, port {taken}: " in told
    assert "Choose another with --port or --host." in told


@pytest.mark.parametrize("name", ["ANTHROPIC_BASE_URL", "OPENAI_BASE_URL"])
def test_a_variable_that_points_at_the_proxy_itself_is_refused(
    desk: Desk, free: int, name: str
) -> None:
    told = refused(desk, "--port", str(free), **{name: f"http://localhost:{free}/v1"})

    assert f"{name} is http://localhost:{free}, which is this proxy itself" in told
    assert "Say where requests go with --upstream, such as --upstream https://api." in told
    assert f"or start it without {name}, which only its clients need." in told


def test_an_upstream_that_is_the_proxy_itself_is_refused(desk: Desk, free: int) -> None:
    url = f"http://127.0.0.1:{free}"

    told = refused(desk, "--port", str(free), "--upstream", url)

    assert f"--upstream is {url}, which is this proxy itself" in told


def test_an_address_with_a_password_is_refused_without_showing_it(desk: Desk) -> None:
    told = refused(desk, "--upstream", "https://me:hunter22@api.example")

    assert "--upstream is no address of an API." in told
    assert "hunter22" not in told


@pytest.mark.parametrize("host", ["0.0.0.0", "192.0.2.1", "llm.example"])
def test_other_machines_need_a_token(desk: Desk, host: str) -> None:
    told = refused(desk, "--host", host)

    assert f"Other machines can reach {host}, so you have to choose a token" in told
    assert "CONTEXT_COMPRESSION_TOKEN" in told


@pytest.mark.parametrize(
    ("options", "env", "said"),
    [
        (("--token", "short"), {}, "A token needs at least 16 characters"),
        (("--tokens", "missing.txt"), {}, "cannot be read"),
        (("--tokens", "a.txt", "--token", "x" * 20), {}, "Leave out one of them"),
        (("--allow-host", "https://llm.example"), {}, "is no name of a host"),
        (("--port", "70000"), {}, "70000 is not in the range"),
        (("--upstream",), {}, "requires an argument"),
        (("--at-once", "3"), {}, "No such option"),
        (("--upstream", "localhost:4000"), {}, "Write one as https://api.anthropic.com"),
        ((), {"OPENAI_BASE_URL": "api.openai.com"}, "OPENAI_BASE_URL is no address of an API"),
        ((), {"HTTPS_PROXY": "ftp://proxy.example"}, "HTTPS_PROXY"),
    ],
)
def test_options_that_cannot_be_are_refused(
    desk: Desk, options: tuple[str, ...], env: dict[str, str], said: str
) -> None:
    assert said in refused(desk, *options, **env)


def test_the_help_names_the_variables_of_clients(desk: Desk) -> None:
    told = desk.does("proxy", "--help").stdout.decode()

    assert "ANTHROPIC_BASE_URL=http://127.0.0.1:8788" in told
    assert "--upstream URL" in told
    assert "Proxy-" in told

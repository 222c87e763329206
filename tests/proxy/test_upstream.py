"""Where a request goes, and with which headers."""

import pytest

from context_compression.errors import InvalidSettings
from context_compression.proxy.upstream import (
    ANTHROPIC,
    OPENAI,
    Upstreams,
    answer_headers,
    api_of,
    request_headers,
)

KEY = {"x-api-key": "sk-ant-1"}
BEARER = {"authorization": "Bearer sk-proj-1"}


def to(path: str, headers: dict[str, str] | None = None, given: str | None = None, **env: str):
    return Upstreams.read(given, env).of(path, headers or BEARER)


@pytest.mark.parametrize(
    ("path", "headers", "url"),
    [
        ("/v1/messages", {}, "https://api.anthropic.com/v1/messages"),
        ("/v1/messages?beta=true", KEY, "https://api.anthropic.com/v1/messages?beta=true"),
        ("/v1/messages/count_tokens", BEARER, "https://api.anthropic.com/v1/messages/count_tokens"),
        ("/v1/v1/messages", KEY, "https://api.anthropic.com/v1/messages"),
        ("/messages", KEY, "https://api.anthropic.com/v1/messages"),
        ("/v1/models", KEY, "https://api.anthropic.com/v1/models"),
        ("/v1/models", {"anthropic-version": "2023-06-01"}, "https://api.anthropic.com/v1/models"),
        ("/api/oauth/usage", {"anthropic-beta": "o"}, "https://api.anthropic.com/api/oauth/usage"),
        (
            "/api/hello",
            {"authorization": "Bearer sk-ant-o1"},
            "https://api.anthropic.com/api/hello",
        ),
        ("/v1/models", BEARER, "https://api.openai.com/v1/models"),
        ("/v1/chat/completions", BEARER, "https://api.openai.com/v1/chat/completions"),
        ("/chat/completions", BEARER, "https://api.openai.com/v1/chat/completions"),
        ("/responses?a=1&b=%2F", BEARER, "https://api.openai.com/v1/responses?a=1&b=%2F"),
        ("/v1/threads/t/messages", BEARER, "https://api.openai.com/v1/threads/t/messages"),
        ("/v1/messages-of-mine", BEARER, "https://api.openai.com/v1/messages-of-mine"),
        ("/v1beta/models/x", BEARER, "https://api.openai.com/v1beta/models/x"),
        ("//evil.example/v1/messages", BEARER, "https://api.openai.com//evil.example/v1/messages"),
        ("/@evil.example", BEARER, "https://api.openai.com/@evil.example"),
    ],
)
def test_a_request_goes_to_the_provider_whose_api_it_speaks(
    path: str, headers: dict[str, str], url: str
) -> None:
    assert Upstreams.read(None, {}).of(path, headers) == url


@pytest.mark.parametrize("end", ["", "/", "/v1", "/v1/"])
@pytest.mark.parametrize("path", ["/v1/{}", "/{}"])
def test_an_address_counts_with_its_version_and_without(end: str, path: str) -> None:
    base = f"http://gate.example{end}"
    chat, messages = path.format("chat/completions"), path.format("messages")

    assert to(chat, OPENAI_BASE_URL=base) == "http://gate.example/v1/chat/completions"
    assert to(messages, ANTHROPIC_BASE_URL=base) == "http://gate.example/v1/messages"
    assert to(chat, given=base) == "http://gate.example/v1/chat/completions"
    assert to(messages, given=base) == "http://gate.example/v1/messages"


@pytest.mark.parametrize(
    ("base", "path", "url"),
    [
        ("https://z.example/api/paas/v4", "/v1/chat/completions", "/api/paas/v4/chat/completions"),
        ("https://z.example/v1beta/openai/", "/v1/models", "/v1beta/openai/models"),
        ("https://z.example/openai/v1", "/v1/responses", "/openai/v1/responses"),
        ("https://z.example/api/anthropic", "/v1/messages?x", "/api/anthropic/v1/messages?x"),
        ("https://z.example/v1", "/api/tags", "/api/tags"),
        ("https://z.example/under", "/api/tags", "/under/api/tags"),
    ],
)
def test_an_address_with_a_path_keeps_it_as_its_sdk_would(base: str, path: str, url: str) -> None:
    assert to(path, given=base) == f"https://z.example{url}"


@pytest.mark.parametrize(
    "url",
    [
        "", "api.example", "ftp://api.example", "https://", "https:///v1", "https://me:key@api.example",
        "https://key@api.example", "https://api.example?key=1", "https://api.example#a",
        "https://api.example:x", "https://api.example:99999", "https://api.example:0", "file:///etc",
        "https://api.exa mple", "https://api.example\r\nX: 1", "https://äpi.example", "https://[::1",
    ],
)  # fmt: skip
def test_what_is_no_address_of_an_api_is_refused_and_never_shown(url: str) -> None:
    with pytest.raises(InvalidSettings) as error:
        Upstreams.read(url, {})

    assert "--upstream is no address of an API. Write one as https://" in str(error.value)
    assert "key" not in str(error.value)


def test_the_variable_that_is_wrong_is_named() -> None:
    with pytest.raises(InvalidSettings, match=r"^OPENAI_BASE_URL is no address"):
        Upstreams.read(None, {OPENAI: "localhost:4000"})


def test_an_empty_variable_is_none() -> None:
    assert to("/v1/messages", ANTHROPIC_BASE_URL=" ") == "https://api.anthropic.com/v1/messages"


@pytest.mark.parametrize(
    "host", ["127.0.0.1", "localhost", "LOCALHOST", "127.1.2.3", "[::1]", "0.0.0.0", "box.example"]
)
@pytest.mark.parametrize("name", [ANTHROPIC, OPENAI])
def test_an_upstream_that_is_the_proxy_itself_is_refused(host: str, name: str) -> None:
    upstreams = Upstreams.read(None, {name: f"http://{host}:8788/v1"})

    with pytest.raises(InvalidSettings) as error:
        upstreams.refuse_ourselves(["127.0.0.1", "box.example"], 8788)

    assert f"{name} is http://{host}:8788, which is this proxy itself" in str(error.value)
    assert f"or start it without {name}" in str(error.value)


@pytest.mark.parametrize(
    "url", ["http://127.0.0.1:4000", "https://api.example", "http://other:8788"]
)
def test_another_port_or_machine_is_no_proxy(url: str) -> None:
    Upstreams.read(url, {}).refuse_ourselves(["127.0.0.1"], 8788)


def test_headers_of_a_connection_stay_behind() -> None:
    sent = [
        (b"host", b"127.0.0.1:8788"),
        (b"connection", b"keep-alive, X-Mine , http2-settings"),
        (b"connection", b"TE"),
        (b"keep-alive", b"timeout=5"),
        (b"proxy-authorization", b"Bearer ours"),
        (b"proxy-connection", b"keep-alive"),
        (b"te", b"trailers"),
        (b"trailer", b"x-sum"),
        (b"transfer-encoding", b"chunked"),
        (b"upgrade", b"h2c"),
        (b"http2-settings", b"AAA"),
        (b"x-mine", b"1"),
        (b"expect", b"100-continue"),
        (b"content-length", b"5"),
        (b"x-api-key", b"k"),
        (b"anthropic-beta", b"a"),
        (b"anthropic-beta", b"b"),
        (b"accept-encoding", b"gzip, br"),
    ]

    assert request_headers(sent) == sent[-4:]  # a length beside chunks is none
    assert request_headers([each for each in sent if each[0] != b"transfer-encoding"]) == sent[-5:]
    assert request_headers(sent, is_read=True) == [
        *sent[-4:-1], (b"accept-encoding", b"identity"),
    ]  # fmt: skip


def test_an_answer_keeps_the_providers_headers() -> None:
    sent = [
        (b"Date", b"now"),
        (b"Connection", b"close, X-Hop"),
        (b"X-Hop", b"1"),
        (b"Transfer-Encoding", b"chunked"),
        (b"Set-Cookie", b"a=1"),
        (b"Set-Cookie", b"b=2"),
        (b"anthropic-ratelimit-tokens-remaining", b"7"),
        (b"retry-after", b"3"),
        (b"content-encoding", b"gzip"),
        (b"Content-Length", b"9"),
    ]
    kept = [(name.lower(), value) for name, value in (sent[0], *sent[4:])]

    assert answer_headers(sent) == kept
    assert answer_headers(sent, is_changed=True) == kept[:-2]


def test_an_api_is_known_by_the_end_of_a_path() -> None:
    assert api_of("/openai/deployments/x/chat/completions") == "chat/completions"
    assert api_of("/v1/responses") == "responses"
    assert api_of("/v1/messages/count_tokens") is None
    assert api_of("/v1/messages-batch") is None

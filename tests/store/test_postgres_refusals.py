"""What a database refuses is told in a sentence, and nothing secret with it."""

import base64
import logging
import secrets
import traceback
from collections.abc import Callable
from urllib.parse import quote, quote_plus

import psycopg
import pytest
from postgres import DATABASE, Server

from context_compression import Session, Store, compress
from context_compression.errors import StoreError, StoreUnreachable, StoreUnwritable
from context_compression.store import PostgresBackend
from context_compression.store.postgres import database
from context_compression.testing import conversation

pytestmark = pytest.mark.slow

MESSAGE = {"type": "message", "message": {"role": "user", "content": "hello"}}
PASSWORD = "s3cr€t/p@ss w:rd%?#&+ü"


@pytest.fixture
def guest(postgres_server: Server) -> str:
    """A role of its own, with a password of all kinds of characters, that may use the tables."""
    name = f"g{secrets.token_hex(4)}"
    Store(postgres_server.url).sessions()
    with psycopg.connect(postgres_server.admin, autocommit=True) as admin:
        for statement in (
            f"CREATE ROLE {name} LOGIN PASSWORD '{PASSWORD}'",
            f"GRANT USAGE ON SCHEMA context_compression TO {name}",
            f"GRANT ALL ON ALL TABLES IN SCHEMA context_compression TO {name}",
        ):
            admin.execute(statement.encode())
    return name


def url_of(server: Server, guest: str, password: str = PASSWORD, name: str = DATABASE) -> str:
    return f"postgresql://{guest}:{quote(password, safe='')}@127.0.0.1:{server.port}/{name}"


def alter(server: Server, guest: str, change: str) -> None:
    with psycopg.connect(server.admin, autocommit=True) as admin:
        admin.execute(f"ALTER ROLE {guest} {change}".encode())


def forms_of(secret: str) -> set[str]:
    """A secret as it is, and as an address, a header or a literal would hold it."""
    raw = secret.encode()
    plain = {secret, repr(secret)[1:-1], ascii(secret)[1:-1], raw.hex(), str(raw)[2:-1]}
    coded = {base64.b64encode(raw).decode(), quote(secret), quote(secret, safe="")}
    return {*plain, *coded, quote_plus(secret), "p@ss", "s3cr"}


def test_a_role_that_only_reads_reads(postgres_server: Server, guest: str) -> None:
    tenant = f"t-{guest}"
    Store(PostgresBackend(postgres_server.url, tenant)).session("s").append(MESSAGE)
    alter(postgres_server, guest, "SET default_transaction_read_only = on")
    log = Store(PostgresBackend(url_of(postgres_server, guest), tenant)).session("s")

    assert len(log.events().items) == 1
    with pytest.raises(StoreUnwritable, match=r"refused: .* read-only transaction\. Nothing was"):
        log.append(MESSAGE)
    assert len(log.events().items) == 1


def test_a_full_disk_is_told_at_once(postgres_server: Server) -> None:
    backend = PostgresBackend(postgres_server.url, f"t-{secrets.token_hex(4)}")

    def full(connection: database.Connection) -> None:
        connection.execute(
            "DO $$ BEGIN RAISE 'could not extend file: No space left on device' "
            "USING ERRCODE = 'disk_full'; END $$"
        )

    with pytest.raises(StoreUnwritable, match=r"No space left on device\. Nothing was changed"):
        backend.database.write(backend.tenant, full)


def test_a_server_with_too_many_connections_is_told(
    postgres_server: Server, guest: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database, "RETRY_SECONDS", 0.05)
    alter(postgres_server, guest, "CONNECTION LIMIT 0")

    with pytest.raises(StoreUnreachable, match="too many connections for role"):
        Store(url_of(postgres_server, guest)).sessions()


def test_an_agent_goes_on_without_its_database_and_is_told(
    postgres_server: Server, guest: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database, "RETRY_SECONDS", 0.05)
    monkeypatch.setattr(database, "AWAY_SECONDS", 0.0)
    history = conversation(12)
    tenant = f"t-{guest}"
    backend = PostgresBackend(url_of(postgres_server, guest), tenant)
    session = Session(Store(backend), "talk", settings={"token_budget": 6_000})
    session.fit(history[:4])

    alter(postgres_server, guest, "CONNECTION LIMIT 0")
    backend.database.close()
    view = session.fit(history)
    status = session.status()
    with pytest.raises(StoreError, match="too many connections"):
        compress(history, target_tokens=2_000, store=url_of(postgres_server, guest))
    alter(postgres_server, guest, "CONNECTION LIMIT -1")
    again = session.fit(history)

    assert 0 < len(view) <= len(history)
    assert again
    assert status.messages == len(view)
    assert status.usage.used_tokens > 0
    assert status.warnings[0].startswith("The database ")
    [warning] = session.status().warnings
    assert "a request was made without the store" in warning
    assert "too many connections" in warning
    near = Session(Store(PostgresBackend(postgres_server.url, tenant)), "talk")
    assert near.state().recorded == history


@pytest.mark.parametrize(
    "address",
    [
        "postgresql://worker:p@ss/w@localhost/archive",
        "postgresql://worker:p@ss@localhost/archive",
        "postgresql://worker:12/p@ss@localhost/archive",
        "postgresql://worker:12/s3cr?t@localhost/archive",
        "postgresql://worker:%ZZs3cr@localhost/archive",
        "postgresql://worker:s3cr/t",
        "postgresql://worker:s3cr@localhost/arch\0ive",
        "postgresql://worker:s3cr%E4t@localhost/archive",
    ],
)
def test_an_address_in_which_a_password_was_not_encoded_is_refused_unquoted(address: str) -> None:
    with pytest.raises(StoreError, match="write other characters") as caught:
        Store(address)

    shown = "".join(traceback.format_exception(caught.value))
    assert "p@ss" not in str(caught.value)
    assert "s3cr" not in str(caught.value)
    assert caught.value.__cause__ is None
    assert "ProgrammingError" not in shown


@pytest.mark.parametrize(
    ("parameter", "words"),
    [
        ("sslmode=require", "does not support SSL"),
        ("service=nowhere", 'service "nowhere" not found'),
        ("target_session_attrs=read-only", "is not read-only"),
        ("target_session_attrs=standby", "is not in hot standby mode"),
        ("sslmode=nonsense", "invalid sslmode value"),
        ("require_auth=md5", "server requested SASL"),
        ("channel_binding=require", "channel binding required"),
        ("options=-c%20nonsense%3D1", 'unrecognized configuration parameter "nonsense"'),
    ],
)
def test_a_parameter_with_which_nobody_gets_in_is_no_server_that_is_away(
    postgres_server: Server, parameter: str, words: str
) -> None:
    with pytest.raises(StoreUnwritable, match=rf"refused: .*{words}"):
        Store(f"{postgres_server.url}?{parameter}").sessions()


def test_a_host_whose_name_has_words_of_a_refusal_is_away(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database, "RETRY_SECONDS", 0.05)
    monkeypatch.setattr(database, "PROBE_SECONDS", 0)

    with pytest.raises(StoreUnreachable, match=r"postgresql://certificate\.invalid/x does not"):
        Store("postgresql://certificate.invalid/x").sessions()


@pytest.mark.parametrize(
    ("hosts", "shown"),
    [
        ("[::1]:5432", "[::1]:5432"), ("[fe80::1]", "[fe80::1]"), ("a:1,b:2", "a:1,b:2"),
        ("a,b", "a,b"), ("a,b:2", "a,b:2"), ("[::1]:1,b.example", "[::1]:1,b.example"),
    ],
)  # fmt: skip
def test_hosts_are_shown_each_with_its_port(hosts: str, shown: str) -> None:
    assert Store(f"postgresql://u:s3cr@{hosts}/db").name == f"postgresql://{shown}/db"


def test_no_attribute_of_a_backend_is_its_address() -> None:
    backend = PostgresBackend("postgresql://u:s3cr@h/db")

    assert "s3cr" not in f"{vars(backend)} {vars(backend.of_tenant('other'))}"


def test_no_error_log_or_name_shows_a_password(
    postgres_server: Server,
    guest: str,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(database, "RETRY_SECONDS", 0.05)
    caplog.set_level(logging.DEBUG)
    good = url_of(postgres_server, guest)
    wrong = f"wrong{PASSWORD}"
    places = (
        (good, "no "),
        (url_of(postgres_server, guest, wrong), "password authentication failed"),
        (url_of(postgres_server, guest, name="nowhere"), "does not exist"),
        (good.replace(f":{postgres_server.port}", ":1"), "Connection refused"),
        (f"{good}?sslmode=require", "does not support SSL"),
        (f"{good}?sslrootcert=/{quote(PASSWORD, safe='')}&sslmode=verify-full", ""),
    )
    shown: list[str] = []
    for place, words in places:
        store = Store(place)
        backend = store.backend
        assert isinstance(backend, PostgresBackend)
        about: tuple[object, ...] = (
            store, backend, backend.database, backend.database.address, store.name,
        )  # fmt: skip
        shown += map(repr, about)
        calls: tuple[Callable[[], object], ...] = (
            lambda store=store: store.session("s").append(MESSAGE),
            lambda store=store: store.sessions(),
            lambda store=store: store.session("s").locked(timeout=0).__enter__(),
        )
        for call in calls:
            try:
                call()
            except StoreError as error:
                assert words in str(error)
                shown += ["".join(traceback.format_exception(error)), repr(error)]
        shown += store.verify()
        Session(store, "s").fit(conversation(3))
        backend.database.close()
    shown += [record.getMessage() for record in caplog.records]
    shown += capfd.readouterr()

    text = "\n".join(shown)
    assert "password authentication failed" in text
    assert not [form for form in forms_of(PASSWORD) if form in text]

"""What the doctor says of a store in a database."""

from postgres import Server

from context_compression import Store
from context_compression.hosts import check_database
from context_compression.hosts.doctor.checks import check_variables
from context_compression.store import PLACE


def test_a_database_is_found_and_a_role_that_the_policies_do_not_bind_is_told(
    postgres_server: Server,
) -> None:
    Store(postgres_server.url).sessions()  # makes the tables
    [found] = check_database(postgres_server.guest())
    assert (found.check, found.ok) == ("store", True)
    assert found.says.startswith(f"postgresql://127.0.0.1:{postgres_server.port}/archive, ")

    _, tenants = check_database(postgres_server.url)
    assert (tenants.check, tenants.ok) == ("tenants", None)
    assert "the role owns the tables" in tenants.says
    _, tenants = check_database(postgres_server.admin)
    assert (tenants.check, tenants.ok) == ("tenants", None)
    assert "the role is a superuser" in tenants.says


def test_a_database_that_lets_us_not_in_is_told_without_the_password(
    postgres_server: Server,
) -> None:
    wrong = postgres_server.url.replace(postgres_server.password, "not%2Fit")

    [found] = check_database(wrong)

    assert (found.check, found.ok) == ("store", False)
    assert "password authentication failed" in found.says
    assert "not/it" not in found.says
    assert "not%2Fit" not in found.says


def test_the_variable_that_names_a_store_is_known() -> None:
    [found] = check_variables({PLACE: "postgresql://localhost/archive"})

    assert (found.ok, found.says) == (True, PLACE)

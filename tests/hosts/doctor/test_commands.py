"""What the doctor reads in a host's command, and what people are shown of it."""

import pytest

from context_compression.hosts.setup.machine import place_of, shown, tenant_of, without_addresses

FULL = "postgresql://worker:a-password@db:5432/archive?sslpassword=a-password"
SHOWN = "postgresql://db:5432/archive"


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        (["cc", "--store", FULL, "serve"], f"cc --store {SHOWN} serve"),
        (["cc", f"--store={FULL}", "serve"], f"cc --store={SHOWN} serve"),
        (["env", f"PLACE={FULL}", "cc"], f"env PLACE={SHOWN} cc"),
        (["cc", "--store", "postgresql://u:a-password"], "cc --store postgresql://…"),
        (["cc", "--store", "postgresql:/u:a-password@h/d"], "cc --store postgresql://…"),
        (["cc", "--store=u:a-password@h/d"], "cc --store=postgresql://…"),
        (["cc", "--store", "u:a-password@h/d"], "cc --store postgresql://…"),
        (["cc", "--store", "/a/folder", "serve"], "cc --store /a/folder serve"),
        (["npx", "package@1:2@x", "--store"], "npx package@1:2@x --store"),
    ],
)
def test_a_command_is_shown_without_user_and_password(command: list[str], expected: str) -> None:
    assert shown(command) == expected


def test_a_change_to_a_configuration_is_shown_without_user_and_password() -> None:
    text = f'-  "args": ["--store", "{FULL}", "serve"]\n+  "args": ["serve"]\n'

    assert without_addresses(text) == text.replace(FULL, SHOWN)


def test_what_a_command_names_counts_more_than_the_environment() -> None:
    environ = {"CONTEXT_COMPRESSION_STORE": "/of/all", "CONTEXT_COMPRESSION_TENANT": "all"}

    for command in (
        ["cc", "--store", FULL, "--tenant=a"],
        ["cc", f"--store={FULL}", "--tenant", "a"],
    ):
        assert (place_of(command, environ), tenant_of(command, environ)) == (FULL, "a")
    assert (place_of(["cc"], environ), tenant_of(["cc"], environ)) == ("/of/all", "all")
    assert (place_of(["cc"], {}), tenant_of(["cc"], {})) == ("", None)

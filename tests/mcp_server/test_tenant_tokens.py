"""Whose a token is: lines of a file, or of a variable, that may change at any time."""

import os
from hashlib import sha256
from pathlib import Path

import pytest

from context_compression.errors import InvalidSettings
from context_compression.mcp_server.web.tenants import TenantTokens

ANN, BOB, NEW = b"token-of-ann-1234567", b"token-of-bob-1234567", b"token-of-ann-another"


def hashed(token: bytes) -> str:
    return f"sha256:{sha256(token).hexdigest()}"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "tokens of a team"
    path.write_text(f"# ours\n\nann\t{ANN.decode()} # builds\n bob  {hashed(BOB)}\n")
    return path


def test_a_token_is_that_of_its_line_plain_or_hashed(file: Path) -> None:
    tokens = TenantTokens(str(file))

    assert [tokens.tenant_of(each) for each in (ANN, BOB)] == ["ann", "bob"]
    for wrong in (b"", b"ann", ANN[:-1], ANN + b"x", hashed(BOB).encode(), b"\xff"):
        assert tokens.tenant_of(wrong) is None


def test_a_variable_may_hold_the_lines_themselves() -> None:
    tokens = TenantTokens(f"ann {ANN.decode()}\nbob {hashed(BOB).upper().replace('SHA', 'sha')}")

    assert [tokens.tenant_of(each) for each in (ANN, BOB)] == ["ann", "bob"]


def test_several_tokens_of_a_tenant_are_valid_until_their_lines_are_gone(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tokens = TenantTokens(str(file))

    file.write_text(f"ann {ANN.decode()}\nann {hashed(NEW)}\n", encoding="utf-8")
    both = [tokens.tenant_of(each) for each in (ANN, NEW, BOB)]
    file.write_text(f"ann {hashed(NEW)}\n", encoding="utf-8")
    rotated = [tokens.tenant_of(each) for each in (ANN, NEW, BOB)]

    assert both == ["ann", "ann", None]
    assert rotated == [None, "ann", None]
    assert capsys.readouterr().err == ""


def test_a_file_of_the_same_size_and_time_that_replaces_it_is_read(file: Path) -> None:
    tokens = TenantTokens(str(file))
    before = file.stat()
    other = file.with_name("other")
    other.write_bytes(file.read_bytes().replace(ANN, NEW))
    os.utime(other, ns=(before.st_atime_ns, before.st_mtime_ns))
    os.replace(other, file)

    assert tokens.tenant_of(ANN) is None
    assert tokens.tenant_of(NEW) == "ann"


@pytest.mark.parametrize("damage", ["half", "empty", "missing", "binary"])
def test_tokens_damaged_meanwhile_change_nothing_and_it_is_said_once(
    file: Path, capsys: pytest.CaptureFixture[str], damage: str
) -> None:
    tokens, good = TenantTokens(str(file)), file.read_bytes()
    if damage == "missing":
        file.unlink()
    else:
        file.write_bytes({"half": good[:40] + b"\nbob", "empty": b"", "binary": b"\xff"}[damage])

    kept = [tokens.tenant_of(each) for each in (ANN, BOB, ANN)]
    said = capsys.readouterr().err
    file.write_text(f"bob {hashed(NEW)}\n", encoding="utf-8")
    mended = tokens.tenant_of(NEW)

    assert kept == ["ann", "bob", "ann"]
    assert said.count("\n") == 1
    assert "The tokens of before stay valid." in said
    assert ANN.decode() not in said
    assert mended == "bob"


WRONG = {
    f"ann {ANN.decode()}\n../bob {BOB.decode()}": "Line 2 of the tokens in .* names no tenant",
    f".ann {ANN.decode()}": "names no tenant",
    f"{'a' * 129} {ANN.decode()}": "names no tenant: a name has 1 to 128 characters",
    "builds sha256:<64 hex digits>": "has no token",
    "support <token>": "has no token",
    f"ann {hashed(b'test')}": "Line 1 .* has a token of an example",
    f"ann {ANN.decode()}\nbob {hashed(b'foo').upper().replace('SHA', 'sha')}": "Line 2 .* example",
    "ann X3vQd0ZyQ1l0m8cW2rJt5uLk": "a token of an example",
    "ann short": "has no token: it needs at least 16",
    "ann": "has no token",
    f"ann {ANN.decode()} more": "has no token",
    f"ann sha256:{'0' * 63}g": "has no token",
    f"ann {ANN.decode()}\nbob {hashed(ANN)}": "gives bob a token of ann",
    f"ann {ANN.decode()}\nAnn {NEW.decode()}": "names Ann, and another line ann",
    f"ann {ANN.decode()}\nann. {NEW.decode()}": "names ann., and another line ann",
    "# nothing\n": "There are no tokens in",
}


@pytest.mark.parametrize("text", WRONG)
def test_a_wrong_line_is_told_without_its_token(tmp_path: Path, text: str) -> None:
    file = tmp_path / "tokens"
    file.write_text(text)

    with pytest.raises(InvalidSettings, match=WRONG[text]) as refused:
        TenantTokens(str(file))

    assert ANN.decode() not in str(refused.value)


@pytest.mark.parametrize("given", ["no/such/file", "nul\0", ANN.decode()])
def test_a_value_that_is_no_file_is_told_but_not_its_name_which_may_be_a_token(given: str) -> None:
    with pytest.raises(InvalidSettings, match="cannot be read") as refused:
        TenantTokens(given)

    assert given not in str(refused.value)


@pytest.mark.parametrize("named", ["no/such/file", "{folder}/no-such-file-here", "{folder}"])
def test_a_file_that_an_option_names_is_named_when_it_cannot_be_read(
    tmp_path: Path, named: str
) -> None:
    folder = tmp_path / "a folder" if named == "{folder}" else tmp_path
    folder.mkdir(exist_ok=True)
    named = named.format(folder=folder)

    with pytest.raises(InvalidSettings, match="cannot be read") as refused:
        TenantTokens(named, is_file=True)

    assert f"The tokens in {named} cannot be read" in str(refused.value)


@pytest.mark.parametrize(
    "given",
    [
        "builds {token}", "builds {token}\nsupport {token}", "{token}", "a/{token}", "/{token}",
        "nul\0{token}",
    ],
)  # fmt: skip
def test_lines_or_a_token_in_the_place_of_a_file_are_not_shown(given: str) -> None:
    with pytest.raises(InvalidSettings, match="Pass the path of a file") as refused:
        TenantTokens(given.format(token=ANN.decode()), is_file=True)

    assert ANN.decode() not in str(refused.value)


def test_a_tenant_may_have_any_name_that_the_option_tenant_takes() -> None:
    name = "a" * 128

    assert TenantTokens(f"{name} {ANN.decode()}").tenant_of(ANN) == name

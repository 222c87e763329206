"""Encryption of what a store keeps: `Seal`."""

import subprocess
import sys
from base64 import urlsafe_b64encode

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from context_compression.errors import InvalidSettings, MissingExtra, StoreDamaged, StoreTooNew
from context_compression.store.sealing import Seal, seal_from

OLD, NEW, OTHER = (bytes([each]) * 32 for each in (1, 2, 3))
SEAL = Seal([NEW, OLD])
CONTENTS = st.binary(max_size=300)


def written(*keys: bytes) -> str:
    return ",".join(urlsafe_b64encode(key).decode() for key in keys)


@given(CONTENTS, CONTENTS)
def test_what_was_sealed_is_unsealed(data: bytes, about: bytes) -> None:
    assert SEAL.unseal(SEAL.seal(data, about), about) == data


@given(CONTENTS, CONTENTS, st.data())
def test_a_change_of_any_byte_is_refused(data: bytes, about: bytes, draw: st.DataObject) -> None:
    sealed = bytearray(SEAL.seal(data, about))
    position = draw.draw(st.integers(0, len(sealed) - 1))
    sealed[position] ^= draw.draw(st.integers(1, 255))

    with pytest.raises((StoreDamaged, StoreTooNew)):
        SEAL.unseal(bytes(sealed), about)


@given(CONTENTS, st.data())
def test_a_part_of_what_was_sealed_is_refused(data: bytes, draw: st.DataObject) -> None:
    sealed = SEAL.seal(data, b"here")
    end = draw.draw(st.integers(0, len(sealed) - 1))

    with pytest.raises(StoreDamaged):
        SEAL.unseal(sealed[:end], b"here")


@given(CONTENTS, CONTENTS, CONTENTS)
def test_data_that_were_put_elsewhere_are_refused(data: bytes, about: bytes, other: bytes) -> None:
    assume(about != other)

    with pytest.raises(StoreDamaged, match="was changed after it was sealed, or belongs elsewhere"):
        SEAL.unseal(SEAL.seal(data, about), other)


@given(st.binary(min_size=8, max_size=300))
def test_nothing_of_the_data_or_of_the_keys_is_in_what_was_sealed(data: bytes) -> None:
    sealed = SEAL.seal(data, data)

    shown = {sealed[start : start + 8] for start in range(len(sealed) - 7)}
    for secret in (data, OLD, NEW):
        assert not shown & {secret[start : start + 8] for start in range(len(secret) - 7)}
    assert len(sealed) == len(data) + 33


def test_the_same_data_are_sealed_to_other_bytes_each_time() -> None:
    assert len({SEAL.seal(b"same", b"") for _ in range(100)}) == 100


def test_a_new_key_seals_and_old_ones_still_unseal() -> None:
    old = Seal([OLD]).seal(b"text", b"row")
    new = SEAL.seal(b"text", b"row")

    assert SEAL.unseal(old, b"row") == Seal([NEW]).unseal(new, b"row") == b"text"


def test_a_key_that_is_not_given_is_told_by_its_id() -> None:
    sealed = Seal([OTHER]).seal(b"text", b"row")

    with pytest.raises(StoreDamaged, match=r"CONTEXT_COMPRESSION_KEY has no such key") as raised:
        SEAL.unseal(sealed, b"row")
    assert sealed[1:5].hex() in str(raised.value)
    assert SEAL.seal(b"", b"")[1:5].hex() in str(raised.value)


def test_data_of_a_newer_version_are_not_called_damaged() -> None:
    with pytest.raises(StoreTooNew, match="newer context-compression"):
        SEAL.unseal(b"\x02" + SEAL.seal(b"text", b"")[1:], b"")


@given(st.text(), st.text())
def test_a_blinded_word_is_one_word_that_says_nothing(word: str, other: str) -> None:
    blinded = SEAL.blind(word)

    assert len(blinded) == 24 and set(blinded) <= set("abcdefghijklmnop")
    assert (blinded == SEAL.blind(other)) == (word == other)
    assert blinded != Seal([OTHER]).blind(word)


@given(CONTENTS)
def test_equal_contents_have_one_digest_that_only_the_key_gives(data: bytes) -> None:
    assert SEAL.digest(data) == Seal([NEW]).digest(data) != Seal([OTHER]).digest(data)
    assert SEAL.digest(data).hex()[:24] != SEAL.blind(data.hex())
    assert len(SEAL.digest(data)) == 32


def test_after_a_new_key_older_contents_are_still_found() -> None:
    assert SEAL.digests(b"text") == [Seal([NEW]).digest(b"text"), Seal([OLD]).digest(b"text")]


def test_words_digests_and_ids_of_one_key_stay_the_same_in_later_versions() -> None:
    seal = Seal([OLD])
    sealed = "01f0e4dcec9b9574e2eb9052b398cd18b6154d0c8bff16666e3cdfc3274ec0048ed74f44e7"
    digest = "86570013df2d591ec9b46a0832aee8d706a3524ac7c7938d5a566bb9d0b63d0a"

    assert seal.unseal(bytes.fromhex(sealed), b"row") == b"text"
    assert seal.blind("word") == "opmhbejdmboaljnmjjilappk"
    assert seal.digest(b"text").hex() == digest


@pytest.mark.parametrize("between", [",", " ", "\n", " ,\n"])
def test_keys_come_from_the_environment_the_newest_first(between: str) -> None:
    keys = written(NEW, OLD).replace(",", between).replace("=", "")

    seal = seal_from({"CONTEXT_COMPRESSION_KEY": f" {keys}\n"})

    assert seal is not None
    assert seal.digests(b"text") == SEAL.digests(b"text")


def test_without_a_key_nothing_is_sealed() -> None:
    assert seal_from({}) is None
    assert seal_from({"CONTEXT_COMPRESSION_KEY": " \n"}) is None


@pytest.mark.parametrize(
    "wrong", ["hunter2", written(OLD)[:-3], written(OLD * 2), "ä" * 43, "+" * 43, written(OLD)[1:]]
)
def test_a_bad_key_is_told_with_the_way_to_make_one_and_not_shown(wrong: str) -> None:
    with pytest.raises(InvalidSettings, match="Make one with: python -c ") as alone:
        seal_from({"CONTEXT_COMPRESSION_KEY": wrong})
    with pytest.raises(InvalidSettings, match="Key 2 of 2 in CONTEXT_COMPRESSION_KEY is") as second:
        seal_from({"CONTEXT_COMPRESSION_KEY": f"{written(NEW)},{wrong}"})

    for raised in (alone, second):
        assert wrong not in str(raised.value)
        assert written(NEW) not in str(raised.value)


def test_the_command_in_the_error_makes_a_key() -> None:
    with pytest.raises(InvalidSettings) as raised:
        seal_from({"CONTEXT_COMPRESSION_KEY": "x"})
    command = str(raised.value).partition("Make one with: python ")[2]
    made = subprocess.check_output(f"{sys.executable} {command}", shell=True, text=True)

    assert seal_from({"CONTEXT_COMPRESSION_KEY": made}) is not None


def test_a_seal_takes_one_key_or_more_of_32_bytes() -> None:
    with pytest.raises(InvalidSettings, match="at least one key"):
        Seal([])
    with pytest.raises(InvalidSettings, match="32 bytes, and this one has 16"):
        Seal([OLD[:16]])


def test_a_seal_does_not_show_its_keys() -> None:
    assert "1" * 8 not in repr(SEAL) and repr(NEW) not in repr(vars(SEAL))


def test_without_its_package_a_key_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cryptography.hazmat.primitives.ciphers.aead", None)

    with pytest.raises(MissingExtra, match=r'pip install "\.\[encryption\]"'):
        seal_from({"CONTEXT_COMPRESSION_KEY": written(OLD)})

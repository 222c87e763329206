"""Encryption of what a store keeps, with keys from the environment.

    seal = seal_from(os.environ)
    sealed = seal.seal(b"text", about=b"acme/session-7/12")
    seal.unseal(sealed, about=b"acme/session-7/12")

The first key seals and all unseal, so a new key is put in front and old ones stay. What is sealed
has 33 bytes more: a version, the id of the key, a random nonce, and what AES-256-GCM adds.

    byte    0        1-4       5-16     17 …
            version  key id    nonce    ciphertext and tag
"""

import hmac
import re
from base64 import urlsafe_b64decode
from collections.abc import Mapping, Sequence
from secrets import token_bytes

from context_compression.errors import InvalidSettings, StoreDamaged, StoreTooNew
from context_compression.extras import extra
from context_compression.plurals import SIGNS

VARIABLE = "CONTEXT_COMPRESSION_KEY"
KEY_BYTES, ID_BYTES, NONCE_BYTES, TAG_BYTES = 32, 4, 12, 16
VERSION = 1
HEADER_BYTES = 1 + ID_BYTES
LETTERS = str.maketrans("0123456789abcdef", "abcdefghijklmnop")
BLIND_BYTES = 12
"""Of a blinded word: in ten million words, two are taken for one with odds of 1 to 10^15."""
MAKE_A_KEY = (
    "python -c 'import base64, secrets; "
    "print(base64.urlsafe_b64encode(secrets.token_bytes(32)).decode())'"
)


class Seal:
    """Encrypts contents so that only who has a key can read, change or guess them.

    It needs the extra `encryption`. A key may seal 2^32 contents, as NIST SP 800-38D limits random
    nonces; put a new one in front long before.

    Args:
        keys: one or more, of 32 bytes each, the newest first.

    Raises:
        InvalidSettings: there is no key, or one has another length.
        MissingExtra: the extra is not installed.
    """

    def __init__(self, keys: Sequence[bytes]) -> None:
        if not keys:
            raise InvalidSettings("A seal needs at least one key, and none is given.")
        self._keys = [_Key(key) for key in dict.fromkeys(keys)]
        self._by_id = {key.id: key for key in self._keys}

    @property
    def ids(self) -> list[str]:
        """The ids of the keys, newest first; they tell nothing of the keys."""
        return [key.id.hex() for key in self._keys]

    def seal(self, data: bytes, about: bytes) -> bytes:
        """`data` encrypted under the newest key, 33 bytes longer; each call returns other bytes.

        Args:
            data: of any length below 2 GiB.
            about: what the data belong to, such as their tenant and row. It is not kept; the same
                bytes must be given to `unseal`, so that nobody can put the data elsewhere.
        """
        key = self._keys[0]
        header = bytes([VERSION]) + key.id
        nonce = token_bytes(NONCE_BYTES)
        return header + nonce + key.cipher.encrypt(nonce, data, header + about)

    def unseal(self, data: bytes, about: bytes) -> bytes:
        """What was given to `seal`.

        Raises:
            StoreDamaged: the data were changed, belong to something else, or need a key that is not
                given.
            StoreTooNew: a newer version of this package sealed them.
        """
        from cryptography.exceptions import InvalidTag

        header, rest = data[:HEADER_BYTES], data[HEADER_BYTES:]
        if data[:1] > bytes([VERSION]):
            raise StoreTooNew("This was sealed by a newer context-compression: upgrade.")
        if len(rest) < NONCE_BYTES + TAG_BYTES or data[:1] != bytes([VERSION]):
            raise _damaged("is not sealed, or not all of it is here")
        key = self._by_id.get(header[1:])
        if key is None:
            raise StoreDamaged(
                f"This was sealed with the key {header[1:].hex()}, and {VARIABLE} has no such key, "
                f"only {', '.join(each.id.hex() for each in self._keys)}. Add that key to the "
                "variable, behind the newest."
            )
        nonce, ciphertext = rest[:NONCE_BYTES], rest[NONCE_BYTES:]
        try:
            return key.cipher.decrypt(nonce, ciphertext, header + about)
        except InvalidTag:
            raise _damaged("was changed after it was sealed, or belongs elsewhere") from None

    def blind(self, word: str) -> str:
        """24 letters of a to p that stand for a word, under the newest key."""
        digest = hmac.digest(
            self._keys[0].blinding, word.encode("utf-8", "surrogatepass"), "sha256"
        )
        return digest[:BLIND_BYTES].hex().translate(LETTERS)

    def digest(self, data: bytes) -> bytes:
        """32 bytes that stand for contents, under the newest key, in place of their SHA-256.

        Who has no key cannot tell whether contents that he guesses are there.
        """
        return self.digests(data)[0]

    def digests(self, data: bytes) -> list[bytes]:
        """`digest` under every key, newest first: older contents are found under older keys."""
        return [hmac.digest(key.digesting, data, "sha256") for key in self._keys]


class _Key:
    """The keys for each use, derived from one, and the id that is written beside what it seals."""

    def __init__(self, key: bytes) -> None:
        with extra("encryption"):
            from cryptography.hazmat.primitives.ciphers.aead import AESGCM
        if len(key) != KEY_BYTES:
            raise InvalidSettings(f"A key has {KEY_BYTES} bytes, and this one has {len(key)}.")
        self.id = _derived(key, b"id")[:ID_BYTES]
        self.cipher = AESGCM(_derived(key, b"seal"))
        self.blinding = _derived(key, b"blind")
        self.digesting = _derived(key, b"digest")


def seal_from(environ: Mapping[str, str]) -> Seal | None:
    """The seal with the keys of `CONTEXT_COMPRESSION_KEY`; `None` if it is not set or empty.

    Args:
        environ: the variable holds 32 bytes in base64url, or several such keys with commas or white
            space between them, the newest first.

    Raises:
        InvalidSettings: a key is not 32 bytes in base64url. The message does not show it.
        MissingExtra: the extra `encryption` is not installed.
    """
    written = [each for each in re.split(rf"[\s{SIGNS}]+", environ.get(VARIABLE, "")) if each]
    if not written:
        return None
    return Seal([_key(each, position, len(written)) for position, each in enumerate(written, 1)])


def _key(written: str, position: int, count: int) -> bytes:
    bare = written.rstrip("=")
    if re.fullmatch(r"[A-Za-z0-9_-]{43}", bare):
        return urlsafe_b64decode(bare + "=")
    which = f"Key {position} of {count} in {VARIABLE}" if count > 1 else VARIABLE
    raise InvalidSettings(
        f"{which} is not {KEY_BYTES} bytes in base64url, which are 43 characters of A-Z a-z 0-9 - "
        f"_ and perhaps a final =; it has {len(written)} characters. Make one with: {MAKE_A_KEY}"
    )


def _derived(key: bytes, use: bytes) -> bytes:
    """The key of 32 bytes for one use. The first key is random, so one HMAC is enough."""
    return hmac.digest(key, b"context-compression " + use, "sha256")


def _damaged(problem: str) -> StoreDamaged:
    return StoreDamaged(
        f"This {problem}. It was left as it is. If you have a backup, bring it back from there."
    )

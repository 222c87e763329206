"""Secrets out, everything else as it was. The secrets here were drawn by lot and open nothing."""

import gzip
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from context_compression.evidence import redact

LETTERS = "aZ3kQ9xW7bR2mT5vY8cL1nP4sD6fG0hJ"
PEM = "\n".join(
    ["-----BEGIN RSA PRIVATE KEY-----", *[LETTERS * 2] * 3, "qw==", "-----END RSA PRIVATE KEY-----"]
)
SECRETS = {
    "anthropic key": "sk-ant-api03-" + LETTERS,
    "api key": "sk-proj-" + LETTERS,
    "github token": "ghp_" + LETTERS + "abCD",
    "gitlab token": "glpat-" + LETTERS[:20],
    "aws key": "AKIA" + "Q3EGRZ7XNP2WKD5T",
    "slack token": "xoxb-" + "1234567890-" + LETTERS,
    "google key": "AIza" + LETTERS + "abc",
    "npm token": "npm_" + LETTERS + "abCD",
    "pypi token": "pypi-" + LETTERS + LETTERS,
    "hugging face token": "hf_" + LETTERS,
    "stripe key": "sk_live_" + LETTERS,
    "jwt": f"eyJ{LETTERS}.eyJ{LETTERS}.{LETTERS}",
    "private key": PEM,
}
MORE = {
    "github_pat_11ABCDEFG0" + LETTERS: "github token",
    "gho_" + LETTERS + "abCD": "github token",
    "sk-" + "0123456789abcdef" * 2: "api key",
    "gsk_" + LETTERS: "api key",
    "sk-ant-api03-" + "a" * 30: "anthropic key",
    "sk-proj-" + "abcdefghij" * 3: "api key",
    "ghp_" + "a" * 36: "github token",
    "glpat-" + "abcdefghij" * 2: "gitlab token",
    "hf_" + "abcdefghij" * 3: "hugging face token",
}
ASSIGNED = {
    'password = "Tr4vel-Sum9er"': 'password = "[redacted: password]"',
    "DB_PASSWORD=k3x9QmZ2vL": "DB_PASSWORD=[redacted: password]",
    "--password hunter2hunter2": "--password [redacted: password]",
    'pwd: "s3cret!pw"': 'pwd: "[redacted: password]"',
    '"apiKey": "a8f5f167f44f4964e6c998de"': '"apiKey": "[redacted: secret]"',
    'const token: string = "q8Zx27Lm91Kd";': 'const token: string = "[redacted: secret]";',
    "client_secret: 9f86d081884c7d659a2feaa0": "client_secret: [redacted: secret]",
    "auth_key=0a1b2c3d4e5f6a7b8c9d0a1b2c3d4e5f6a7b8c9d": "auth_key=[redacted: secret]",
    "export GITHUB_TOKEN=0a1b2c3d4e5f6a7b": "export GITHUB_TOKEN=[redacted: secret]",
    "?access_token=2YotnFZFEjr1zCsicMWpAA&state=xyz": "?access_token=[redacted: secret]&state=xyz",
    "aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCYzQ4LtYu8Kd": (
        "aws_secret_access_key = [redacted: secret]"
    ),
    '{\\"token\\": \\"a8f5f167f44f4964\\"}': '{\\"token\\": \\"[redacted: secret]\\"}',
    "--api-key a8f5f167f44f4964": "--api-key [redacted: secret]",
    "Authorization: Bearer a8f5f167f44f4964Zz": "Authorization: Bearer [redacted: bearer token]",
    "authorization: basic dXNlcjpwYXNzd29yZA==": "authorization: basic [redacted: basic auth]",
    "postgres://app:tiger77@db.local/x": "postgres://app:[redacted: password]@db.local/x",
    "redis://:s3cr3t@cache:6379": "redis://:[redacted: password]@cache:6379",
}
HARMLESS = """
commit 8aa665af2b1c0d9e8f7a6b5c4d3e2f1a0b9c8d7e
Merge: 1907929 d05bd02
task_id: 550e8400-e29b-41d4-a716-446655440000
sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08
"integrity": "sha512-dXNlcjpwYXNzd29yZA9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0==",
def login(self, password: str, token: Token | None = None) -> Session:
    password = hashed_password2(user.password)
    secret = os.environ["CLIENT_SECRET"]
    token = await self.tokens.refresh_token(session_id="a1b2c3d4e5f6")
    api_key: str = settings.provider.api_key
    max_tokens=4096, total_tokens: 123456, token_count = 98765432
    private_key: /etc/ssl/private/Server1-2026.pem
    accessKey = rust_openssl.hpke.MLKEM768X25519PrivateKey
const token = useAuth2Token(); let secret: Uint8Array;
const tokenizer = "o200k_base"; // sha256_digest
password: string; passwordHash: "pbkdf2"; PASSWORD_MIN_LENGTH = 12
token: ${{ secrets.GITHUB_TOKEN }}  password=$DB_PASSWORD  secret: <your-secret-1a2b3c4d>
postgres://user:password@localhost  https://user:${PASS}@host  git@github.com:owner/repo2.git
http://localhost:8080/path@2x.png  https://registry.npmjs.org/@scope/pkg/-/pkg-1.2.3.tgz
.sk-folding-cube .sk-loading-spinner-container { animation-delay: 0.2s }
npm_config_registry=https://registry.npmjs.org npm_package_version_1_2_3_is_long_enough_for_it
Authorization: Bearer <token>  "Bearer authentication"  Basic authentication is required
if text.startswith("-----BEGIN RSA PRIVATE KEY-----"): raise ValueError("no private keys here")
/Users/dana/Work/wordcount/devenv/cli/cmd/wordcount/cli/strategy/auto_commit_test.go:1127
data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk
toolu_01A09q90qw90lq917835lq9 msg_01XFDUDYJgAACzvnptvVoYEL call_8mWq2kfPz0LxYvN1dGtR7cHs
"""


@pytest.mark.parametrize(
    ("kind", "secret"), [*SECRETS.items(), *((kind, secret) for secret, kind in MORE.items())]
)
def test_a_key_is_known_by_its_shape_wherever_it_stands(kind: str, secret: str) -> None:
    for before, after in (
        ("", ""),
        ("key=", "\n"),
        ('{"k":"', '"}'),
        ("使用", "。"),
        ("\\n", "\\n"),
    ):
        assert redact(f"{before}{secret}{after}") == f"{before}[redacted: {kind}]{after}"


@pytest.mark.parametrize(("text", "expected"), ASSIGNED.items())
def test_what_is_assigned_to_a_secrets_name_goes_when_it_looks_random(
    text: str, expected: str
) -> None:
    assert redact(text) == expected


@pytest.mark.parametrize("line", HARMLESS.strip().split("\n"))
def test_hashes_ids_paths_and_code_stay(line: str) -> None:
    assert redact(line) == line


def test_a_private_key_whose_end_was_cut_off_goes_too() -> None:
    cut = PEM[: PEM.index("qw==")]

    assert redact(f"see\n{cut}\n... [truncated] ...") == (
        "see\n[redacted: private key]\n\n... [truncated] ..."
    )


def test_a_private_key_in_json_or_with_line_numbers_goes_whole() -> None:
    numbered = "\n".join(f"{n:6}→{line}" for n, line in enumerate(PEM.split("\n"), 1))

    assert redact(PEM.replace("\n", "\\n")) == "[redacted: private key]"
    assert redact(numbered) == "     1→[redacted: private key]"


def test_two_keys_are_two_hits_and_what_is_between_stays() -> None:
    assert redact(f"{PEM}\nand\n{PEM}") == "[redacted: private key]\nand\n[redacted: private key]"


def test_a_whole_log_without_secrets_comes_back_as_it_was() -> None:
    assert redact(HARMLESS) == HARMLESS


parts = st.one_of(
    st.sampled_from([*SECRETS.values(), *MORE, *ASSIGNED, *HARMLESS.split("\n")]),
    st.sampled_from(
        ["token=", '"', "'", ": ", "=", " ", "\n", "\\", "Bearer ", "://a:", "@", "--"]
    ),
    st.text(alphabet="aB1-_=:/@'\" \n[]", max_size=30),
)


def test_a_key_right_behind_another_is_not_left_over() -> None:
    run = "aZ3kQ9xW7bR2mT5vY8cL1nP4sD6fG0hJ"

    assert redact(f"AIza{run}abcsk-ant-api03-{run}") == "[redacted: google key]"


@given(st.lists(parts, max_size=12).map("".join))
def test_redacting_again_changes_nothing(text: str) -> None:
    once = redact(text)

    assert redact(once) == once


@given(st.lists(st.sampled_from([*SECRETS.values(), *MORE]), min_size=1, max_size=6))
def test_no_key_is_left_over(secrets: list[str]) -> None:
    text = redact("\n".join(f"- {secret}" for secret in secrets))

    assert not any(secret in text for secret in secrets)
    assert text.count("[redacted: ") == len(secrets)


def test_real_conversations_that_were_cleaned_before_stay_as_they_are(data_folder: Path) -> None:
    files = sorted((data_folder / "conversations" / "uniform").glob("*.json.gz"))
    for file in files[::10]:
        text = gzip.decompress(file.read_bytes()).decode()

        assert redact(text) == text, file.name

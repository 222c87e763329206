"""A real server of S3's protocol in tests: moto's, in an environment of its own.

    with object_storage() as storage:
        storage.set(monkeypatch)
        objects = objects_at(f"s3://{BUCKET}/prefix")

It checks the keys and what they allow. It is kept in `$CONTEXT_COMPRESSION_FRAMEWORKS/moto`;
without that variable the tests are skipped, so that running the tests does not download it.
"""

import os
import re
import subprocess
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Thread
from urllib.parse import urlencode
from urllib.request import ProxyHandler, Request, build_opener

import pytest
from environments import environment
from frameworks import FRAMEWORKS

PACKAGES = ("moto[s3,server]>=5.2,<6",)
BUCKET = "archive"
SETUP = 4  # calls whose keys the server does not check
EVERYTHING = (
    '{"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "*", "Resource": "*"}]}'
)


@dataclass(frozen=True)
class ObjectStorage:
    """A server that runs, with an empty bucket, and keys that may do everything there."""

    url: str
    key: str
    secret: str

    def set(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Set the variables that name the server and hold the keys, and no others."""
        for name in [name for name in os.environ if name.startswith("AWS_")]:
            monkeypatch.delenv(name)
        for name, value in {
            "AWS_ENDPOINT_URL": self.url, "AWS_REGION": "us-east-1", "AWS_ACCESS_KEY_ID": self.key,
            "AWS_SECRET_ACCESS_KEY": self.secret, "NO_PROXY": "127.0.0.1",
        }.items():  # fmt: skip
            monkeypatch.setenv(name, value)


def installed() -> Path:
    """The Python that has the server. The test is skipped if it cannot be installed."""
    named = os.environ.get(FRAMEWORKS)
    if not named:
        pytest.skip(f"{FRAMEWORKS} names no folder to keep {PACKAGES[0]} in")
    return environment(Path(named).absolute() / "moto", PACKAGES)


@contextmanager
def object_storage() -> Generator[ObjectStorage]:
    """A server, until the end of the block. The test is skipped if it cannot be installed."""
    command = [str(installed()), "-u", "-m", "moto.server", "-H", "127.0.0.1", "-p", "0"]
    environ = {**os.environ, "INITIAL_NO_AUTH_ACTION_COUNT": str(SETUP)}
    with subprocess.Popen(command, env=environ, stderr=subprocess.PIPE, text=True) as server:
        assert server.stderr
        try:
            said = ""
            while not (found := re.search(r"http://\S+\d", said)):
                line = server.stderr.readline()
                assert line, said
                said += line
            Thread(target=server.stderr.read, daemon=True).start()  # a full pipe would stop it
            yield _set_up(found[0])
        finally:
            server.kill()


def _set_up(url: str) -> ObjectStorage:
    _ask(url, "iam", Action="CreateUser", UserName="agent")
    _ask(url, "iam", Action="PutUserPolicy", UserName="agent", PolicyName="all",
         PolicyDocument=EVERYTHING)  # fmt: skip
    made = _ask(url, "iam", Action="CreateAccessKey", UserName="agent")
    keys = [re.findall(f"<{each}>(.+?)</", made)[0] for each in ("AccessKeyId", "SecretAccessKey")]
    _ask(f"{url}/{BUCKET}", "s3")
    return ObjectStorage(url, *keys)


def _ask(url: str, service: str, **form: str) -> str:
    """The answer of a service, without a valid signature."""
    signed = f"AWS4-HMAC-SHA256 Credential=none/20260101/us-east-1/{service}/aws4_request"
    data, method = (urlencode(form).encode(), "POST") if form else (None, "PUT")
    request = Request(url, data, {"Authorization": signed}, method=method)
    with build_opener(ProxyHandler({})).open(request, timeout=30) as answer:
        return answer.read().decode()

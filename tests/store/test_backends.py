"""Each engine that keeps a store passes the same checks."""

from pathlib import Path

import pytest

from context_compression.store.file_backend import FileBackend
from context_compression.testing.backends import CONTRACT, Check, name_of


@pytest.mark.parametrize("check", CONTRACT, ids=name_of)
def test_files(check: Check, tmp_path: Path) -> None:
    check(lambda: FileBackend(tmp_path / ".compression"))


def test_the_contract_has_every_check() -> None:
    from context_compression.testing import backends

    helpers = {"name_of", "said", "archived", "refused"}
    written = {
        name
        for name, value in vars(backends).items()
        if getattr(value, "__module__", "") == backends.__name__ and callable(value)
    }
    assert written - helpers == {check.__name__ for check in CONTRACT}

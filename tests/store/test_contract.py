"""The checks of `backend_contract` find engines that break a promise."""

from collections.abc import Callable, Collection, Generator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import Any

import backend_contract
import pytest
import shared_backends
from backend_contract import CONTRACT, Check

from context_compression.errors import StoreError, StoreUnreachable
from context_compression.store import FileBackend, SearchResult, SessionFiles
from context_compression.store.backend import Kind, Stats


class SummariesOldestFirst(FileBackend):
    def summaries(self, session: str | None = None) -> list[dict[str, Any]]:
        return super().summaries(session)[::-1]


class OtherSessions(FileBackend):
    of: type[SessionFiles]

    def session(self, id: str) -> SessionFiles:
        return self.of(self.folder, id)


class RefsNewestFirst(OtherSessions):
    class of(SessionFiles):
        def entries(self, digits: str = "") -> Sequence[tuple[str, Mapping[str, Any]]]:
            return super().entries(digits)[::-1]


class SearchWithoutLimit(FileBackend):
    def search(self, query: str, **more: Any) -> SearchResult:
        more["limit"] = 100
        return super().search(query, **more)


class SearchThatSkipsNothing(FileBackend):
    def search(self, query: str, **more: Any) -> SearchResult:
        more["skip"] = 0
        return super().search(query, **more)


class NoLock(FileBackend):
    def lock(self, name: str, busy: str, timeout: float = 0) -> AbstractContextManager[None]:
        return nullcontext()


class LockThatRaisesAnotherError(FileBackend):
    @contextmanager
    def lock(self, name: str, busy: str, timeout: float = 0) -> Generator[None]:
        try:
            with super().lock(name, busy, timeout):
                yield
        except StoreError as error:
            raise StoreUnreachable(str(error)) from error


class LockThatIsAlwaysWaitedFor(FileBackend):
    def lock(self, name: str, busy: str, timeout: float = 0) -> AbstractContextManager[None]:
        return super().lock(name, busy)


class TenantsInLowerCase(FileBackend):
    def of_tenant(self, tenant: str) -> FileBackend:
        return super().of_tenant(tenant.lower())


class NoProblems(OtherSessions):
    class of(SessionFiles):
        def verify(self) -> list[str]:
            return []


class NoSize(FileBackend):
    def size(self) -> int:
        return 0


class NoSizes(FileBackend):
    def stats(self, sessions: Collection[str]) -> Stats:
        return Stats(dict.fromkeys(sessions, 0))


class NoInstructions(FileBackend):
    def prompt(self, name: str) -> str | None:
        return None


class NothingForgotten(FileBackend):
    def forget(self, session: str) -> None:
        pass


class RowsOneByOne(OtherSessions):
    class of(SessionFiles):
        def append(
            self, kind: Kind, rows: Sequence[Mapping[str, Any]], created_at: str | None
        ) -> None:
            for row in rows:
                super().append(kind, [row], created_at)


class OriginalsOfAnotherTime(OtherSessions):
    class of(SessionFiles):
        def write_originals(self, name: str, messages: Sequence[Any], created_at: str) -> None:
            super().write_originals(name, messages, "2000-01-01T00:00:00Z")


class DeletionWhateverIsSaid(FileBackend):
    def remove(self, session: str, timeout: float, before: Callable[[], object]) -> None:
        super().remove(session, timeout, lambda: None)


WRONG: dict[type[FileBackend], Check] = {
    SummariesOldestFirst: shared_backends.summaries_come_back_the_newest_first,
    RefsNewestFirst: backend_contract.refs_come_oldest_first,
    SearchWithoutLimit: shared_backends.a_search_has_pages,
    SearchThatSkipsNothing: shared_backends.a_search_has_pages,
    NoLock: shared_backends.a_lock_is_held_by_one,
    LockThatRaisesAnotherError: shared_backends.a_lock_is_held_by_one,
    LockThatIsAlwaysWaitedFor: shared_backends.a_lock_is_held_by_one,
    TenantsInLowerCase: shared_backends.tenants_see_nothing_of_each_other,
    NoProblems: backend_contract.problems_are_told,
    NoSize: backend_contract.what_is_kept_has_a_size,
    NoSizes: backend_contract.what_is_kept_has_a_size,
    NoInstructions: backend_contract.instructions_of_the_user_are_read,
    NothingForgotten: backend_contract.what_was_forgotten_is_read_again,
    RowsOneByOne: backend_contract.what_is_no_json_value_is_refused_and_nothing_is_added,
    OriginalsOfAnotherTime: backend_contract.originals_are_written_once,
    DeletionWhateverIsSaid: shared_backends.a_deleted_session_is_gone,
}


@pytest.mark.parametrize("wrong", WRONG)
def test_an_engine_that_breaks_a_promise_is_found_out(
    wrong: type[FileBackend], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shared_backends, "PATIENCE", 0.2)
    check = WRONG[wrong]
    assert check in CONTRACT

    check(lambda: FileBackend(tmp_path / "right"))
    with pytest.raises((AssertionError, StoreError)):
        check(lambda: wrong(tmp_path / "wrong"))

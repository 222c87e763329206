"""Each id of a framework has a session of its own."""

import gc
from inspect import signature
from pathlib import Path
from typing import Any, Unpack
from weakref import ref

import pytest
from hypothesis import given
from hypothesis import strategies as st

from context_compression.errors import InvalidSettings
from context_compression.integrations.sessions import (
    MOST_OPEN,
    SessionOptions,
    Sessions,
    session_name,
)
from context_compression.store import FILE_NAME, FOLDER, PLACE, TENANT
from context_compression.testing import said_by_user

pytestmark = pytest.mark.slow


@given(st.text(), st.text())
def test_two_ids_never_share_a_session(first: str, second: str) -> None:
    names = [session_name("langchain", id) for id in (first, second)]

    assert (names[0] == names[1]) == (first == second)
    assert all(FILE_NAME.fullmatch(name) for name in names)


@pytest.mark.parametrize(("first", "second"), [("Thread-A", "thread-a"), ("a", "a."), ("É", "é")])
def test_ids_are_apart_where_the_system_does_not_tell_such_names_apart(
    first: str, second: str
) -> None:
    names = {session_name("langchain", id).casefold().rstrip(".") for id in (first, second)}

    assert len(names) == 2


def test_no_id_spells_the_name_of_another_one() -> None:
    hashed = session_name("langchain", "../secrets")

    assert session_name("langchain", hashed.removeprefix("langchain.")) != hashed


def test_the_options_of_every_adapter_are_the_keywords_of_its_sessions() -> None:
    keywords = [
        each.name
        for each in signature(Sessions).parameters.values()
        if each.kind is each.KEYWORD_ONLY
    ]

    assert keywords == [*SessionOptions.__annotations__]


def test_an_id_keeps_its_session_as_long_as_it_is_in_use(tmp_path: Path) -> None:
    sessions = Sessions("langchain", store=tmp_path)

    first = sessions["a"]
    assert sessions["a"] is first
    assert sessions["b"] is not first


def test_the_model_of_the_next_request_counts_where_the_program_named_none(tmp_path: Path) -> None:
    sessions = Sessions("langchain", store=tmp_path)

    first = sessions.open("a", model="claude-haiku-4-5", window=90_000)
    assert (first.model, first.settings.token_budget) == ("claude-haiku-4-5", 90_000)
    assert sessions["a"] is first
    assert sessions.open("a", model="claude-haiku-4-5", window=90_000) is first
    assert sessions.open("a", model="gpt-5", window=50_000).settings.token_budget == 50_000

    named = Sessions("b", store=tmp_path, model="gpt-5", settings={"token_budget": 7_000})
    session = named.open("a", model="claude-haiku-4-5", window=90_000)
    assert (session.model, session.settings.token_budget) == ("gpt-5", 7_000)


def test_without_a_store_an_adapter_takes_the_one_that_the_command_would_use(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = tmp_path / "project"
    (project / ".git").mkdir(parents=True)
    (project / "src").mkdir()
    monkeypatch.chdir(project / "src")
    for name in (PLACE, FOLDER, TENANT):
        monkeypatch.delenv(name, raising=False)

    assert Sessions("langchain").store.name == str(project / ".compression")
    monkeypatch.setenv(FOLDER, str(tmp_path / "folder"))
    assert Sessions("langchain").store.name == str(tmp_path / "folder")
    monkeypatch.setenv(PLACE, str(tmp_path / "place"))
    assert Sessions("langchain").store.name == str(tmp_path / "place")
    monkeypatch.setenv(TENANT, "acme")
    assert Sessions("langchain").store.name == str(tmp_path / "place" / "tenants" / "acme")
    assert Sessions("langchain", store=tmp_path / "passed").store.name == str(tmp_path / "passed")


class ContextCompression:
    """An adapter with an option of its own."""

    def __init__(self, *, conversation_id: str = "", **options: Unpack[SessionOptions]) -> None:
        self.conversation_id = conversation_id
        self.sessions = Sessions.of(self, "langchain", options)


@pytest.mark.parametrize(
    ("mistyped", "near"), [("stor", "store"), ("conversationid", "conversation_id")]
)
def test_a_mistyped_option_is_answered_with_the_class_and_the_nearest_name(
    mistyped: str, near: str
) -> None:
    wrong: Any = {mistyped: "x"}

    said = f"ContextCompression has no option '{mistyped}'; did you mean {near}[?] Options: conv"
    with pytest.raises(TypeError, match=said):
        ContextCompression(**wrong)


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"settings": {"token_bugdet": 1_000}}, "did you mean token_budget"),
        ({"settings": 60_000}, "settings is 60000; it must be a Settings, or a dict"),
        ({"settings": []}, r"settings is \[\]; it must be a Settings, or a dict"),
        ({"summarizer": "openai"}, "summarizer is 'openai'; it must be an object with the method"),
    ],
    ids=["name", "number", "list", "summarizer"],
)
def test_a_wrong_option_is_refused_before_the_first_request(
    tmp_path: Path, wrong: dict[str, Any], said: str
) -> None:
    with pytest.raises(InvalidSettings, match=said):
        Sessions("langchain", store=tmp_path, **wrong)


def test_only_so_many_sessions_stay_in_memory(tmp_path: Path) -> None:
    sessions = Sessions("langchain", store=tmp_path)

    first = sessions["a"]
    for number in range(MOST_OPEN):
        _ = sessions[number]

    assert sessions["a"] is not first
    assert sessions["a"].id == first.id


def test_a_session_that_is_not_open_any_more_takes_no_memory(tmp_path: Path) -> None:
    sessions, hello = Sessions("langchain", store=tmp_path), [said_by_user("Hello.", "openai")]
    first = sessions["first"]
    first.fit(hello)
    log = ref(first.log)
    del first

    for number in range(MOST_OPEN):
        _ = sessions[number]
    gc.collect()

    assert log() is None
    assert sessions["first"].view() == hello


def test_a_history_finds_a_session_although_the_store_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / "a file").write_text("no folder", "utf-8")
    sessions, hello = (
        Sessions("litellm", store=tmp_path / "a file"),
        [said_by_user("Hello.", "openai")],
    )

    assert sessions.of_history("a", hello).fit(hello) == hello


def test_a_history_that_begins_otherwise_has_a_session_of_its_own(tmp_path: Path) -> None:
    sessions = Sessions("langchain", store=tmp_path)
    asked, helper = ([{"role": "user", "content": text}] for text in ("Fix it.", "Read it."))
    answered = [*asked, {"role": "assistant", "content": "Done."}]

    sessions.of_history("a", asked).fit(asked)
    sessions.of_history("a", helper).fit(helper)

    assert sessions.of_history("a", answered) is sessions["a"]
    assert sessions.of_history("a", helper) is not sessions["a"]
    assert sessions["a"].state().recorded == asked

"""Plain HTTP: what is asked, what comes back, and the status of whatever is wrong."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from generated import DIALECTS
from jsonschema import Draft202012Validator, validate
from plain_http import Answered, asked

from context_compression import Session, count_tokens, errors, restore_tool
from context_compression.conversation import canonical, digest_of
from context_compression.mcp_server.rest import endpoint, operations
from context_compression.mcp_server.rest.openapi import STATUSES, document
from context_compression.mcp_server.web.refusals import PATHS
from context_compression.testing import Dialect, conversation
from context_compression.workspace import Workspace

HELLO = [{"role": "user", "content": "Why is the build red?"}]
TARGET = 9_000


def compressed(workspace: Workspace, talk: Any, **more: Any) -> dict[str, Any]:
    answered = asked(workspace, "/v1/compress", {"messages": talk, "target_tokens": TARGET, **more})
    assert answered.status == 200, answered.facts
    return answered.facts


def fits(answered: Answered, model: str) -> None:
    """Whether an answer is as the OpenAPI document says."""
    schema = {**document(), "$ref": f"#/components/schemas/{model}"}
    validate(answered.facts, schema, cls=Draft202012Validator)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_what_comes_out_is_in_the_format_that_came_in_and_every_ref_comes_back(
    workspace: Workspace, dialect: Dialect
) -> None:
    talk = conversation(12, dialect=dialect)

    answered = asked(workspace, "/v1/compress", {"messages": talk, "target_tokens": TARGET})

    facts = answered.facts
    fits(answered, "Compacted")
    assert facts["target_met"] and facts["changed"]
    assert facts["tokens_after"] == count_tokens(facts["messages"]) <= TARGET
    assert facts["tokens_before"] == count_tokens(talk)
    kept = [each for each in facts["messages"] if each in talk]
    assert kept and {*kept[0]} == {*talk[talk.index(kept[0])]}
    for ref, about in facts["refs"].items():
        back = asked(workspace, "/v1/restore", {"ref": ref}).facts
        assert (back["ref"], back["what"], back["session"]) == (
            ref,
            about["what"],
            facts["session"],
        )
        assert digest_of(back["text"]) == about["sha256"] or (
            canonical(json.loads(back["text"])) == back["text"]
        )
        if back["what"].startswith("message "):
            assert json.loads(back["text"]) == talk[about["messages"][0]]


def test_a_conversation_without_a_session_has_one_of_its_own(workspace: Workspace) -> None:
    first, second = conversation(20), conversation(20, seed=1)

    ids = {compressed(workspace, talk)["session"] for talk in (first, second, first)}

    assert len(ids) == 2
    assert {*workspace.store.sessions()} == ids


def test_the_same_request_has_the_same_answer(workspace: Workspace) -> None:
    talk = conversation(20)

    first, second = (compressed(workspace, talk) for _ in range(2))

    assert first["messages"] == second["messages"]


def test_a_session_that_is_named_keeps_the_originals(workspace: Workspace) -> None:
    facts = compressed(workspace, conversation(20), session="build-7")

    assert facts["session"] == "build-7"
    assert {*facts["refs"]} <= {*Session(workspace.store, "build-7").state().refs}


def test_what_is_not_changed_comes_back_as_it_came(workspace: Workspace) -> None:
    odd = [{"role": "user", "content": "a", "unknown": {"z": 1.5, "a": [None, True]}}]

    facts = asked(workspace, "/v1/compress", {"messages": odd}).facts

    assert (facts["messages"], facts["changed"]) == (odd, False)
    assert "session" not in facts
    assert workspace.store.sessions() == []


def test_a_system_prompt_and_tools_count_and_a_summary_of_the_prompt_comes_back(
    workspace: Workspace,
) -> None:
    body = {"messages": HELLO, "system": "Be brief. " * 100, "tools": [{"name": "a" * 400}]}

    alone = asked(workspace, "/v1/compress", {"messages": HELLO}).facts
    facts = asked(workspace, "/v1/compress", body).facts

    assert facts["tokens_before"] > alone["tokens_before"] + 200
    assert facts["system"] == body["system"]
    assert "system" not in alone


def test_fit_compresses_when_that_is_due_and_continues_what_it_sent(workspace: Workspace) -> None:
    workspace.store.update_config(lambda _: {"token_budget": 20_000})
    talk, sent, facts = conversation(14), list[Any](), dict[str, Any]()
    compressions = 0
    for end in range(1, len(talk) + 1):
        if end < len(talk) and talk[end]["role"] != "assistant":
            continue
        answered = asked(workspace, "/v1/fit", {"session": "s", "messages": talk[:end]})
        fits(answered, "Compacted")
        facts = answered.facts
        assert facts["target_met"], facts
        assert facts["tokens_after"] == count_tokens(facts["messages"])
        compressions += "report" in facts
        if "report" not in facts:
            assert facts["messages"][: len(sent)] == sent, "the prompt cache is lost"
        sent = facts["messages"]

    assert 0 < compressions < 14
    assert facts["changed"] and facts["tokens_before"] > 20_000
    status = asked(workspace, "/v1/status", session="s")
    fits(status, "SessionStatus")
    assert 0 < status.facts["compressions"] <= compressions  # one may take the place of others
    assert status.facts["used_tokens"] <= 20_000


def test_fit_previews_results_only_where_the_model_can_restore_them(workspace: Workspace) -> None:
    workspace.store.update_config(lambda _: {"token_budget": 30_000})
    output = "\n".join(f"{n} ok {n * 7919}" for n in range(9_000))
    talk = [
        *conversation(8),
        {"role": "user", "content": "List all."},
        {"role": "assistant", "content": [
            {"type": "tool_use", "id": "c1", "name": "Bash", "input": {"command": "make list"}}]},
        {"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": "c1", "content": output}]},
    ]  # fmt: skip
    tool = restore_tool(Session(workspace.store, "any")).anthropic
    bodies = {"with": {"tools": [tool]}, "without": {}}

    shown = {
        name: canonical(
            asked(workspace, "/v1/fit", {"session": name, "messages": talk} | body).facts[
                "messages"
            ]
        )
        for name, body in bodies.items()
    }

    assert "context_restore" in shown["with"]
    assert "context_restore" not in shown["without"]


def test_messages_that_nobody_knows_pass_through_fit_and_are_told(workspace: Workspace) -> None:
    talk = [*HELLO, {"kind": "event", "at": 7}]

    facts = asked(workspace, "/v1/fit", {"session": "s", "messages": talk}).facts

    assert facts["messages"] == talk
    assert "passed through" in " ".join(facts["warnings"])


def test_parts_of_an_original_are_restored(workspace: Workspace) -> None:
    rows = json.dumps([{"id": n, "ok": n % 3 > 0} for n in range(30)])
    session = Session(workspace.store, "s")
    lines, table = session.offload("a\nb\nc\nd"), session.offload(rows)

    def part(ref: str, **more: Any) -> dict[str, Any]:
        answered = asked(workspace, "/v1/restore", {"ref": ref, **more})
        fits(answered, "Restored")
        return answered.facts

    assert part(lines[:6])["ref"] == lines
    assert part(lines)["text"] == "a\nb\nc\nd"
    assert part(lines, lines="2-3")["text"] == "b\nc"
    assert part(lines, pattern="[bd]")["text"] == "2: b\n4: d"
    assert part(lines, pattern="[bd]", count=True)["counts"] == {"lines": 2, "of": 4}
    assert part(table, fields="[?ok==`false`].id")["values"] == {
        "[?ok==`false`].id": [*range(0, 30, 3)]
    }
    assert Session(workspace.store, "s").status().tokens_saved <= 0


def test_a_search_gives_hits_in_pages_and_words_for_a_model(workspace: Workspace) -> None:
    session = Session(workspace.store, "s")
    refs = {session.offload(f"rain barrel {n}\n{n}") for n in range(8)}
    Session(workspace.store, "other").offload("rain barrel of another session")

    first = asked(workspace, "/v1/restore", {"query": "rain barrel", "session": "s"})
    second = asked(
        workspace,
        "/v1/restore",
        {"query": "rain barrel", "session": "s", "cursor": first.facts["cursor"]},
    )

    fits(first, "Restored")
    hits = [*first.facts["hits"], *second.facts["hits"]]
    assert {hit["ref"] for hit in hits} == refs
    assert "cursor" not in second.facts
    assert first.facts["total"] == 8
    assert "quoted from the archive" in first.facts["text"]


def test_half_a_character_comes_back_as_it_came(workspace: Workspace) -> None:
    talk = [{"role": "user", "content": "cut \ud83d here"}, *conversation(10)[1:]]

    facts = compressed(workspace, talk)

    assert talk[0] in [
        json.loads(asked(workspace, "/v1/restore", {"ref": ref}).facts["text"])
        for ref, about in facts["refs"].items()
        if about["messages"] == [0] and about["what"].startswith("message")
    ]


def test_the_status_of_the_store_says_what_it_holds(workspace: Workspace) -> None:
    Session(workspace.store, "s").offload("a text")

    answered = asked(workspace, "/v1/status")

    fits(answered, "StoreStatus")
    assert answered.facts["newest_sessions"] == ["s"]
    assert answered.facts["bytes"] == workspace.store.size_of()


def test_names_in_camel_case_are_understood(workspace: Workspace) -> None:
    talk = conversation(20)
    body = {"messages": talk, "targetTokens": TARGET, "settings": {"keepRecent": 3}}

    answered = asked(workspace, "/v1/compress", body)

    spelled = compressed(workspace, talk, settings={"keep_recent": 3})
    assert answered.facts["messages"] == spelled["messages"]


RESERVED = {"messages": HELLO, "session": "offloaded"}
WRONG: dict[str, tuple[int, str, str, Any]] = {
    "no JSON": (400, "InvalidRequest", "/v1/compress", b"{"),
    "no object": (400, "InvalidRequest", "/v1/compress", b"[]"),
    "no UTF-8": (400, "InvalidRequest", "/v1/compress", b'{"messages": "\xff"}'),
    "no number": (400, "InvalidRequest", "/v1/compress", b'{"target_tokens": NaN}'),
    "a number too large": (400, "InvalidRequest", "/v1/compress", b'{"target_tokens": 1e999}'),
    "nested too deep": (400, "InvalidRequest", "/v1/compress", b"[" * 100_000),
    "nothing in it": (400, "InvalidRequest", "/v1/compress", {}),
    "an unknown argument": (400, "InvalidRequest", "/v1/fit", {"messages": HELLO, "sesion": "s"}),
    "no session": (400, "InvalidRequest", "/v1/fit", {"messages": HELLO}),
    "messages that are none": (400, "InvalidRequest", "/v1/fit", {"messages": 7, "session": "s"}),
    "an unknown strategy": (
        400, "InvalidRequest", "/v1/compress", {"messages": HELLO, "strategy": "best"},
    ),
    "an unknown path": (404, "NotFound", "/v1/compact", {}),
    "the root": (404, "NotFound", "/v1", {}),
    "an unknown ref": (404, "UnknownRef", "/v1/restore", {"ref": "0123456789ab"}),
    "a ref of no session": (
        404, "ConversationNotFound", "/v1/restore", {"ref": "0123456789ab", "session": "s"},
    ),
    "a search in no session": (
        404, "ConversationNotFound", "/v1/restore", {"query": "a", "session": "s"},
    ),
    "a reserved session": (409, "SessionTaken", "/v1/compress", RESERVED),
    "a reserved session of fit": (409, "SessionTaken", "/v1/fit", RESERVED),
    "the current session": (
        409, "SessionTaken", "/v1/fit", {"messages": HELLO, "session": "current"},
    ),
    "no conversation": (
        422, "InvalidConversation", "/v1/compress", {"messages": [{"role": "chorus"}]},
    ),
    "no target": (
        422, "InvalidTarget", "/v1/compress", {"messages": HELLO, "target_tokens": 0},
    ),
    "a target too small": (
        422, "BudgetTooSmall", "/v1/compress", {"messages": conversation(9), "target_tokens": 9},
    ),
    "an unknown setting": (
        422, "InvalidSettings", "/v1/compress", {"messages": HELLO, "settings": {"keep": "all"}},
    ),
    "a guarded setting": (
        422, "InvalidSettings", "/v1/compress",
        {"messages": HELLO, "settings": {"allowedPaths": ["/"]}},
    ),
    "a model that the user has not named": (
        422, "InvalidSettings", "/v1/compress",
        {"messages": HELLO, "settings": {"summary_model": "claude-opus-4-5"}},
    ),
    "no id": (422, "StoreError", "/v1/fit", {"messages": HELLO, "session": "../s"}),
    "neither ref nor query": (422, "StoreError", "/v1/restore", {}),
    "no pattern": (422, "StoreError", "/v1/restore", {"pattern": "("}),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_request_has_a_status_a_type_and_words(workspace: Workspace, name: str) -> None:
    status, kind, path, body = WRONG[name]

    answered = asked(workspace, path, body)

    assert (answered.status, answered.kind) == (status, kind), answered.facts
    fits(answered, "ErrorAnswer")
    assert answered.message.strip().endswith((".", "`", "?")) or "Candidates" in answered.message
    assert "Traceback" not in answered.message and "pydantic" not in answered.message
    assert not workspace.store.sessions(), "it left something"


def test_a_target_too_small_says_what_is_possible(workspace: Workspace) -> None:
    body = {"messages": conversation(9), "target_tokens": 9}
    least = asked(workspace, "/v1/compress", body).facts["error"]["floor_tokens"]

    assert asked(workspace, "/v1/compress", body | {"target_tokens": least}).facts["target_met"]


HEADERS: dict[str, tuple[int, str, Mapping[str, str]]] = {
    "a form": (415, "UnsupportedMediaType", {"content-type": "application/x-www-form-urlencoded"}),
    "no type": (415, "UnsupportedMediaType", {"content-type": ""}),
    "a charset": (
        415,
        "UnsupportedMediaType",
        {"content-type": "application/json; charset=latin-1"},
    ),
    "gzip": (415, "UnsupportedMediaType", {"content-encoding": "gzip"}),
    "another host": (421, "WrongHost", {"host": "evil.example"}),
    "another origin": (403, "WrongOrigin", {"origin": "https://evil.example"}),
}


@pytest.mark.parametrize("name", HEADERS)
def test_a_wrong_header_is_refused(workspace: Workspace, name: str) -> None:
    status, kind, headers = HEADERS[name]

    answered = asked(workspace, "/v1/compress", {"messages": HELLO}, headers=headers)

    assert (answered.status, answered.kind) == (status, kind), answered.facts


@pytest.mark.parametrize("type", ["application/json", 'Application/JSON; Charset="UTF-8"'])
def test_json_in_utf_8_is_read_however_it_is_named(workspace: Workspace, type: str) -> None:
    body = b"\xef\xbb\xbf" + json.dumps({"messages": HELLO}).encode()

    assert asked(workspace, "/v1/compress", body, headers={"content-type": type}).status == 200


@pytest.mark.parametrize("path", [path for path in PATHS if path != "/mcp"])
@pytest.mark.parametrize("method", ["GET", "POST", "PUT", "DELETE", "OPTIONS", "TRACE"])
def test_a_path_says_which_method_it_takes(workspace: Workspace, path: str, method: str) -> None:
    answered = asked(workspace, path, b"{}", method=method)

    takes = [each.upper() for each in document()["paths"][path]]
    assert (answered.status == 405) == (method not in takes)
    if answered.status == 405:
        assert takes[0] in answered.headers["allow"].split(", ")
        assert answered.kind == "MethodNotAllowed"


def test_arguments_of_a_post_are_in_its_body_and_those_of_a_get_are_given_once(
    workspace: Workspace,
) -> None:
    in_address = asked(workspace, "/v1/fit", {"messages": HELLO}, session="s")

    assert (in_address.status, in_address.kind) == (400, "InvalidRequest")
    assert asked(workspace, "/v1/status", sesion="s").status == 400
    assert asked(workspace, "/v1/status", session="s").status == 404


def test_a_body_over_the_limit_is_refused(workspace: Workspace) -> None:
    answered = asked(workspace, "/v1/compress", {"messages": HELLO}, most=20)

    assert (answered.status, answered.kind) == (413, "BodyTooLarge")
    assert "20 bytes" in answered.message


def test_a_store_that_cannot_be_written_is_told_and_the_program_has_its_history(
    workspace: Workspace, tmp_path: Path
) -> None:
    (tmp_path / "project" / ".compression").write_text("no folder can be here")

    for body in ({"messages": conversation(20), "target_tokens": TARGET}, {"messages": HELLO}):
        path = "/v1/compress" if "target_tokens" in body else "/v1/fit"
        answered = asked(workspace, path, body | {"session": "s"})
        assert (answered.status, answered.kind) == (503, "StoreUnwritable"), answered.facts
        assert answered.headers["retry-after"] == "1"


def test_another_process_that_goes_on_writing_is_a_conflict(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    def busy(*_: object, **options: object) -> None:
        raise errors.StoreBusy("Other processes go on recording in s.")

    monkeypatch.setattr(Session, "compress", busy)

    answered = asked(workspace, "/v1/compress", {"messages": HELLO})

    assert (answered.status, answered.kind) == (409, "StoreBusy")


def test_a_fault_of_ours_is_told_in_words(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object, **options: object) -> None:
        raise KeyError("ours")

    monkeypatch.setattr(Session, "compress", broken)

    answered = asked(workspace, "/v1/compress", {"messages": HELLO})

    assert (answered.status, answered.kind) == (500, "Unforeseen")


def test_every_error_of_ours_has_a_status_that_the_document_names() -> None:
    ours = [each for each in vars(errors).values() if isinstance(each, type)]

    for error in (each for each in ours if issubclass(each, errors.ContextCompressionError)):
        statuses = [endpoint.STATUS[each] for each in error.__mro__ if each in endpoint.STATUS]
        assert statuses[0] in STATUSES, error
    assert {*endpoint.STATUS.values()} <= {*STATUSES}


def test_the_document_names_every_path_and_argument(workspace: Workspace) -> None:
    answered = asked(workspace, "/openapi.json")

    assert answered.facts == json.loads(json.dumps(document()))
    assert {*answered.facts["paths"]} == {*PATHS} - {"/mcp"}
    assert [each.path for each in operations.OPERATIONS] == [*PATHS[1:-1]]
    schemas = answered.facts["components"]["schemas"]
    assert [*schemas["FitBody"]["properties"]] == [
        "messages", "system", "tools", "model", "session",
    ]  # fmt: skip
    assert schemas["FitBody"]["required"] == ["messages", "session"]
    assert all("description" in about for about in schemas["FitBody"]["properties"].values())


def test_what_is_wrong_is_said_once(workspace: Workspace) -> None:
    answered = asked(workspace, "/v1/fit", {"messages": HELLO, "session": "s", "tools": 5})

    assert answered.status == 400
    assert answered.facts["error"]["message"] == "tools must be a list, not 5."

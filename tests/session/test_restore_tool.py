"""`restore_tool`: our tool for any loop."""

import json
from pathlib import Path
from typing import Any

import pytest
from pydantic import TypeAdapter

from context_compression import Session, restore_tool
from context_compression.session import NO_LINE
from context_compression.session.restoring import Asked
from context_compression.strings import fenced

LOG = "\n".join(f"{n} compiled unit_{n}.o" for n in range(1_000)) + "\nERROR: undefined flush_7"


@pytest.fixture
def session(tmp_path: Path) -> Session:
    return Session(tmp_path, "s")


def test_the_model_restores_a_text_in_pages(session: Session):
    ref = session.offload(LOG)
    tool = restore_tool(session)

    first = tool.answer({"ref": ref})
    end = 1 + LOG.rindex("\n", 0, 8_000)
    second = tool.answer(json.dumps({"ref": ref[:8], "start": end}))

    header = first.partition("\n")[0]
    assert header.startswith(f"ref {ref} · text · characters 1-{end:,} of {len(LOG):,} · ")
    assert f" · goes on at start={end} · next page: cursor {end}-" in header
    assert "```text quoted from the archive\n0 compiled unit_0.o" in first
    assert LOG[end : end + 100] in second
    assert session.status().refs


@pytest.mark.anyio
async def test_an_event_loop_gets_the_same_answer(session: Session):
    ref = session.offload(LOG)
    tool = restore_tool(session)

    assert await tool.aanswer({"ref": ref}) == tool.answer({"ref": ref})


def test_the_model_asks_for_lines(session: Session):
    ref = session.offload(LOG)
    tool = restore_tool(session)

    assert "\n10 compiled unit_10.o\n```" in tool.answer({"ref": ref, "lines": "11", "query": ""})
    assert "1001: ERROR: undefined flush_7" in tool.answer({"ref": ref, "pattern": "ERROR"})


def test_the_model_searches_and_then_restores(session: Session):
    ref = session.offload(LOG, what="log of the build")
    tool = restore_tool(session)

    found = tool.answer({"query": "undefined flush_7"})

    assert f"ref {ref} · log of the build" in found
    assert "1001: ERROR: undefined flush_7" in found
    assert tool.answer({"query": "nowhere_to_be_found"}).startswith("No hits for")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({}, "Pass ref"),
        (None, "Pass ref"),
        ({"ref": "abcd1234"}, "Nothing is archived under 'abcd1234'"),
        ({"ref": ["abcd"]}, "ref must be of type string"),
        ({"ref": "abcd", "start": "x"}, "start must be of type integer"),
        ({"ref": "abcd", "start": True}, "start must be of type integer"),
        ({"ref": "abcd", "start": 7.5}, "start must be of type integer"),
        ({"ref": "abcd", "query": "flush", "pattern": "x"}, "pass query or pattern, not both"),
        ({"ref": "abcd", "query": "flush", "fields": "id"}, "pass fields or query, not both"),
        ({"query": "flush", "lines": "7"}, "lines goes only with ref"),
        ({"query": "flush", "start": 7}, "start goes only with ref"),
        ({"query": "flush", "fields": "id"}, "fields goes only with ref"),
        ({"query": "flush", "count": True}, "count goes only with ref"),
        ({"ref": "abcd", "count": "many"}, "count must be of type boolean"),
        ({"ref": "abcd", "fields": 7.5}, "fields must be of type string"),
        ({"reference": "abcd"}, "reference is no argument; allowed: ref, lines"),
        ({"ref": "abcd", "lines": "many"}, "lines must be a range as 10-40, or one number as 7"),
        ('{"ref": ', "not JSON"),
        ("[1]", "must be a JSON object"),
        ({"query": "   "}, "Pass ref"),
    ],
)
def test_an_error_is_a_text_that_tells_the_model_what_to_do(
    session: Session, arguments: Any, words: str
):
    answer = restore_tool(session).answer(arguments)

    assert answer.startswith("Error: ")
    assert words in answer


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"start": len(LOG)}, f"is past the end: there are {len(LOG):,} characters."),
        ({"lines": "1-2", "start": 99}, "start=99 is past the end: there are 39 characters."),
    ],
)
def test_a_page_that_is_not_there_is_an_error(session: Session, arguments: Any, words: str):
    answer = restore_tool(session).answer({"ref": session.offload(LOG), **arguments})

    assert answer.startswith("Error: ")
    assert answer.endswith(words)
    assert "restore" not in {event["type"] for event in session.log.events().items}


@pytest.mark.parametrize("arguments", [{"pattern": "WARNING"}, {"query": "okapi"}], ids=str)
def test_a_line_that_is_not_there_is_no_quote(session: Session, arguments: Any):
    answer = restore_tool(session).answer({"ref": session.offload(LOG), **arguments})

    assert answer.endswith(f" · {NO_LINE}")
    assert "```" not in answer
    assert "restore" not in {event["type"] for event in session.log.events().items}


def test_an_empty_text_and_a_text_in_our_words_are_quoted(session: Session):
    empty, ours = session.offload("a\n\nb"), session.offload(NO_LINE)
    tool = restore_tool(session)

    assert "all 0 characters · 0 tokens\n```" in tool.answer({"ref": empty, "lines": "2"})
    assert f"\n{NO_LINE}\n```" in tool.answer({"ref": ours})
    assert f"1: {NO_LINE}\n```" in tool.answer({"ref": ours, "pattern": "match"})


@pytest.mark.parametrize("start", [8_000, 8_000.0, "8000", "8,000"], ids=repr)
def test_a_number_may_come_as_a_float_or_in_words(session: Session, start: Any):
    """Arguments of Gemini are protobuf structs, whose numbers are all floats."""
    tool, ref = restore_tool(session), session.offload(LOG)
    begins = LOG.rindex("\n", 0, 8_000) + 1

    assert tool.answer({"ref": ref, "start": start}).startswith(
        f"ref {ref} · text · characters {begins + 1:,}-"
    )
    assert tool.answer({"ref": ref, "lines": 7.0}) == tool.answer({"ref": ref, "lines": "7"})


@pytest.mark.parametrize("form", ["ref {}", "[{}]", "'{}'", '"{}"', "`{}`", "ref: {}", " {}\n"])
def test_a_ref_may_come_with_what_stands_around_it(session: Session, form: str):
    tool, ref = restore_tool(session), session.offload(LOG)

    assert tool.answer({"ref": form.format(ref)}) == tool.answer({"ref": ref})
    assert tool.answer({"ref": form.format(ref[:6])}) == tool.answer({"ref": ref})


def test_with_a_ref_the_words_of_a_query_select_its_lines(session: Session):
    tool, ref = restore_tool(session), session.offload(LOG)

    answer = tool.answer({"ref": ref, "query": "FLUSH_7 unit_10"})

    assert "\n11: 10 compiled unit_10.o\n" in answer
    assert "\n1001: ERROR: undefined flush_7\n" in answer
    assert "unit_2.o" not in answer
    assert tool.answer({"ref": ref, "query": f"ref {ref}"}) == tool.answer({"ref": ref})


@pytest.mark.parametrize(
    "query",
    [["water butt", "rain barrel"], '["water butt", "rain barrel"]', "water butt | rain barrel"],
)
def test_wordings_of_a_query_may_come_as_a_list(session: Session, query: Any):
    session.offload("A rain barrel of 300 litres stands there.")

    assert "rain barrel of 300" in restore_tool(session).answer({"query": query})


@pytest.mark.parametrize("nested", ["[" * 2_000, "[" * 20_000 + " frob", '["a", ' * 9_000])
def test_a_query_of_brackets_is_a_query_like_any_other(session: Session, nested: str):
    session.offload("a frob b")

    answer = restore_tool(session).answer({"query": nested})

    assert Asked(query=nested).query == nested
    assert "1 original for" in answer or "has no words" in answer
    assert "are not JSON" in restore_tool(session).answer(nested)


def test_with_a_ref_the_words_of_a_query_select_its_lines_in_any_form(session: Session):
    ref = session.offload("一\n支付網關監聽 8443\n二")

    answer = restore_tool(session).answer({"ref": ref, "query": "超时 | 网关"})

    assert "2: 支付網關監聽 8443" in answer
    assert "一" not in answer


def test_a_pattern_without_a_ref_searches(session: Session):
    tool, ref = restore_tool(session), session.offload(LOG, what="log of the build")

    assert f"ref {ref} · log of the build" in tool.answer({"pattern": r"flush_\d$"})
    assert tool.answer({"pattern": "nowhere"}).startswith("No hits for 'nowhere'")


def test_the_definition_has_the_form_of_each_provider(session: Session):
    tool = restore_tool(session)

    chat = pytest.importorskip("openai.types.chat")
    responses = pytest.importorskip("openai.types.responses")
    anthropic = pytest.importorskip("anthropic.types")
    TypeAdapter(anthropic.ToolParam).validate_python(tool.anthropic)
    TypeAdapter(chat.ChatCompletionFunctionToolParam).validate_python(tool.openai)
    TypeAdapter(responses.FunctionToolParam).validate_python(tool.openai_responses)
    assert tool.gemini["parameters"]["type"] == "OBJECT"
    assert tool.gemini["parameters"]["properties"]["start"]["type"] == "INTEGER"
    names = {
        tool.name,
        tool.gemini["name"],
        tool.anthropic["name"],
        tool.openai["function"]["name"],
    }
    assert names == {"context_restore"}


def test_the_model_asks_how_many_lines_match_and_nothing_counts_as_restored(session: Session):
    ref = session.offload(LOG)

    answer = restore_tool(session).answer({"ref": ref, "pattern": "unit_7", "count": "true"})

    assert answer == f"ref {ref} · text · lines that match 'unit_7' · 111 of 1,001 lines"
    assert "restore" not in {event["type"] for event in session.log.events().items}


@pytest.mark.parametrize(
    "given", ["id, name", ["id", "name"], '["id", "name"]'], ids=["text", "list", "JSON"]
)
def test_the_fields_come_quoted_with_what_they_are_of_and_are_noted(session: Session, given: Any):
    ref = session.offload(ITEMS)

    answer = restore_tool(session).answer({"ref": ref, "fields": given, "lines": "1-2"})

    header, _, quote = answer.partition("\n")
    assert header.startswith(f"ref {ref} · text · lines 1-2 · id, name of 2 lines of JSON · all ")
    assert quote == fenced("id,name\n0,n0\n1,n1")
    [restored] = [e for e in session.log.events().items if e["type"] == "restore"]
    assert 0 < restored["share"] < 0.01


def test_fields_come_in_pages_whose_cursor_fits_only_them(session: Session):
    tool, ref = restore_tool(session), session.offload(ITEMS)

    first = tool.answer({"ref": ref, "fields": "name"})
    cursor = first.partition("\n")[0].rpartition("cursor ")[2]
    second = tool.answer({"ref": ref, "fields": "name", "cursor": cursor})
    other = tool.answer({"ref": ref, "fields": "id", "cursor": cursor})

    assert "\nn1999\n```" in second
    assert "does not belong to this text" in other


ITEMS = "\n".join(json.dumps({"id": n, "name": f"n{n}"}) for n in range(2_000))

"""Which pictures stay in a view: the newest that have room, and a text where one was."""

import json
import re
import struct
import zlib
from base64 import b64encode
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Literal, TypeAlias

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from provider import refused

from context_compression import BudgetTooSmall, Result, Session, compress, count_tokens
from context_compression.conversation import (
    Image,
    holds_excerpts,
    is_our_note,
    parse,
    ref_of,
    user_words,
)
from context_compression.strategies import measured
from context_compression.strategies.pictures import images_in
from context_compression.testing import Dialect

Messages: TypeAlias = list[dict[str, Any]]
Size: TypeAlias = tuple[int, int]
Where: TypeAlias = Literal["result", "user", "openai user", "openai result"]

SCREEN, PHOTO, ICON = (1280, 800), (800, 800), (40, 40)
WORDS = "what is to be seen on this one, and since when?"


@cache
def png(width: int, height: int, shade: int = 0) -> str:
    """A PNG in base64, of one colour."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        check = struct.pack(">I", zlib.crc32(kind + data))
        return struct.pack(">I", len(data)) + kind + data + check

    header = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    pixels = zlib.compress((b"\0" + bytes([shade]) * width) * height)
    data = chunk(b"IHDR", header) + chunk(b"IDAT", pixels) + chunk(b"IEND", b"")
    return b64encode(b"\x89PNG\r\n\x1a\n" + data).decode()


def picture(size: Size, shade: int = 0, dialect: Dialect = "anthropic") -> dict[str, Any]:
    data = png(*size, shade)
    if dialect == "openai":
        return {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{data}"}}
    source = {"type": "base64", "media_type": "image/png", "data": data}
    return {"type": "image", "source": source}


def text(said: str) -> dict[str, Any]:
    return {"type": "text", "text": said}


def said(role: str, *content: Any) -> dict[str, Any]:
    alone = len(content) == 1 and isinstance(content[0], str)
    return {"role": role, "content": content[0] if alone else [*content]}


def step(number: int, *content: Any, dialect: Dialect = "anthropic") -> Messages:
    """A click and what the tool answers."""
    given = {"action": "left_click", "coordinate": [number, 90]}
    if dialect == "openai":
        function = {"name": "computer", "arguments": json.dumps(given)}
        call = {"id": f"call{number}", "type": "function", "function": function}
        return [
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": f"call{number}", "content": [*content]},
        ]
    call = {"type": "tool_use", "id": f"call{number}", "name": "computer", "input": given}
    result = {"type": "tool_result", "tool_use_id": f"call{number}", "content": [*content]}
    return [said("assistant", call), said("user", result)]


def seen(where: Where, count: int = 14, size: Size = SCREEN, beside: str = "clicked") -> Messages:
    """A conversation with pictures, and a few words at its end."""
    dialect: Dialect = "openai" if where.startswith("openai") else "anthropic"
    messages = [said("user", "Port the importer to the new schema.")]
    for number in range(count):
        shown = text(f"{beside} {number}"), picture(size, number, dialect)
        if where.endswith("user"):
            messages += [said("user", *shown), said("assistant", f"A cat, number {number}.")]
        else:
            messages += step(number, *shown, dialect=dialect)
    return [*messages, said("assistant", "All is built."), said("user", "Now the release note.")]


def pictures_in(messages: Messages) -> Sequence[Any]:
    """The pictures of a conversation, each the very object that stands in a message."""
    parsed = parse(messages).messages
    return [image.source for message in parsed for image in images_in(message)]


def share_of(messages: Messages, share: float, **options: Any) -> Result:
    return compress(messages, target_tokens=int(count_tokens(messages) * share), **options)


def places(some: Sequence[Any], among: Sequence[Any]) -> list[int]:
    at = {id(each): place for place, each in enumerate(among)}
    return [at[id(each)] for each in some]


everywhere = pytest.mark.parametrize("where", ["result", "user", "openai user", "openai result"])
shares = pytest.mark.parametrize("share", [0.7, 0.5, 0.3])


@shares
@everywhere
def test_the_newest_pictures_stay_as_many_as_have_room(where: Where, share: float) -> None:
    messages = seen(where)
    before = pictures_in(messages)
    price = int(count_tokens([said("user", before[0])]))

    result = share_of(messages, share)

    after = pictures_in(result.messages)
    assert places(after, before) == [*range(14 - len(after), 14)]
    assert result.target_tokens is not None
    assert 0 <= result.target_tokens - result.tokens_after < price + 100
    assert result.tokens_after == count_tokens(result.messages)
    assert refused(result.messages, "openai" if where.startswith("openai") else "anthropic") == []


@everywhere
def test_a_text_stands_where_a_picture_was_and_tells_how_to_get_it_back(where: Where) -> None:
    messages = seen(where)

    result = share_of(messages, 0.4)

    shown = parse(result.messages).messages
    texts = [text for each in shown for text in (each.text, *(r.text for r in each.results))]
    left_out = re.findall(r"\[picture left out; ref (\w+)\]", "\n".join(texts))
    assert len(left_out) == 14 - len(pictures_in(result.messages)) > 0
    for ref in left_out:
        assert result.originals[ref] in messages
        assert len(pictures_in([result.originals[ref]])) == 1


@pytest.mark.parametrize("where", ["user", "openai user"])
def test_the_text_is_not_taken_for_the_users_words(where: Where) -> None:
    messages = seen(where)
    for message in messages[1:-2:2]:
        message["content"].reverse()  # as providers advise: what is said comes behind a picture

    result = share_of(messages, 0.4)

    edited = [m for m in result.messages if "left out" in str(m)]
    for message in parse(edited).messages:
        words, ours = message.text.split("\n")
        assert is_our_note(ours)
        assert words == user_words(message)
        assert not is_our_note(message.text)  # by how it begins a message is known
    assert len(edited) > 5


def test_pictures_side_by_side_share_one_text() -> None:
    many = [picture(PHOTO, number) for number in range(5)]
    shown = [text("before"), *many[:2], text("between"), *many[2:], text("behind")]
    messages = [said("user", *shown), said("assistant", "I see."), said("user", "Go on.")]

    result = compress(messages, target_tokens=400)

    first, *_ = parse(result.messages).messages
    assert [line.partition(";")[0] for line in first.text.split("\n")] == [
        "before", "[Compressed History] [2 pictures left out", "between",
        "[Compressed History] [3 pictures left out", "behind",
    ]  # fmt: skip


def test_a_picture_that_costs_less_than_the_text_stays() -> None:
    icon = picture(ICON)
    messages = [said("user", text("The icon:"), icon), *seen("result")[1:]]

    result = share_of(messages, 0.1)

    assert pictures_in(result.messages)[0] is icon


def test_small_pictures_stay_where_a_large_one_has_no_room() -> None:
    messages = [said("user", "Begin.")]
    for number in range(10):
        messages += step(number, text(f"icon {number}"), picture((400, 400), number))
    messages += step(10, text("screen"), picture((3000, 2000)))
    messages += [said("assistant", "Done."), said("user", "Go on.")]

    result = compress(messages, target_tokens=1_600)

    assert places(pictures_in(result.messages), pictures_in(messages))[-1] == 9
    assert result.target_met


def test_what_is_anchored_keeps_its_pictures() -> None:
    pinned, asked = picture(SCREEN, 1), picture(SCREEN, 2)
    messages = [
        said("user", text("A design."), pinned),
        *seen("result")[1:-1],
        said("user", text("And now?"), asked),
        *step(99, text("clicked"), picture(SCREEN, 99)),
    ]

    result = share_of(messages, 0.25, pins=[0])

    shown = pictures_in(result.messages)
    assert shown[0] is pinned
    assert [id(each) for each in shown[-2:]] == [id(each) for each in pictures_in(messages)[-2:]]


def test_what_the_user_showed_comes_before_old_pictures_of_tools() -> None:
    design = picture(PHOTO)
    messages = [said("user", text("Build this."), design), *seen("result", 20)[1:]]

    result = share_of(messages, 0.3)

    shown = places(pictures_in(result.messages), pictures_in(messages))
    assert shown[0] == 0
    assert shown[1:] == [*range(22 - len(shown), 21)]
    assert len(shown) > 4


def test_old_pictures_do_not_take_the_place_of_errors() -> None:
    routine = "\n".join(f"{n} handled a request of nobody in particular" for n in range(90))
    errors = [f"ERROR importer_{n}.py line {n}7: no such column in schema_{n}" for n in range(14)]
    messages = [said("user", "Find out why it fails.")]
    for number, error in enumerate(errors):
        output = f"{routine}\n{error}\n{routine}"
        messages += step(number, text(output), picture(SCREEN, number))
    messages += [said("assistant", "I looked at all."), said("user", "Which fail?")]

    result = share_of(messages, 0.15)

    view = json.dumps(result.messages)
    assert all(error in view for error in errors)
    shown = places(pictures_in(result.messages), pictures_in(messages))
    assert shown == [*range(14 - len(shown), 14)] != []


def test_a_step_comes_back_for_its_picture_where_texts_leave_room() -> None:
    messages = seen("result", 120)

    result = share_of(messages, 0.15)

    shown = places(pictures_in(result.messages), pictures_in(messages))
    assert shown == [*range(120 - len(shown), 120)]
    assert len(shown) > 5 + 5  # more than in the messages that stay in any case
    assert "Excerpts of earlier messages" in str(result.messages)


def test_quotes_of_the_user_tell_what_was_shown_beside_them() -> None:
    asked = [f"Is importer_{n}.py the one that loses row {n * 977} of it?" for n in range(40)]
    messages: Messages = []
    for number, question in enumerate(asked):
        shown = [picture(PHOTO, number)] if number % 3 == 0 else []
        messages += [said("user", text(question), *shown), said("assistant", f"{WORDS} " * 30)]

    result = compress([*messages, said("user", "Go on.")], target_tokens=180)

    note = next(m["content"] for m in result.messages if "Excerpts of" in str(m["content"]))
    assert f"[User] {asked[39]}\n[User] [picture left out; ref {ref_of(messages[78])}]" in note
    assert f"[User] {asked[37]}\n[User] {asked[38]}\n" in note


def test_reasons_tell_that_pictures_are_left_out() -> None:
    messages = seen("result")

    result = share_of(messages, 0.4)

    left_out = [place for place in range(2, 29, 2) if not pictures_in([result.messages[place]])]
    assert {place: result.reasons[place] for place in left_out} == dict.fromkeys(
        left_out, "extract: skeleton (1 picture left out)"
    )


def test_the_last_ones_go_back_where_a_view_turns_out_too_large(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(measured, "PICTURES_SHARE", 5.0)
    messages = seen("result")

    result = share_of(messages, 0.4)

    shown = places(pictures_in(result.messages), pictures_in(messages))
    assert shown == [*range(14 - len(shown), 14)] != []
    assert result.target_met


def test_a_message_that_was_nothing_but_a_picture_is_no_record_later() -> None:
    photos = [said("user", picture(PHOTO, number)) for number in range(44)]
    first = share_of([said("user", "Look at these."), *photos, *seen("user", 1)], 0.1)
    assert str(first.messages).count("[Compressed History] [picture left out") > 30
    work = "\n".join(f"{n} src/importer_{n}.py: {WORDS}" for n in range(60))

    again = compress([*first.messages, *seen("result", beside=work)], target_tokens=3_000)

    assert str(again.messages).count("[Compressed History] [picture left out") < 3
    assert "src/importer_59.py" in str(again.messages)


def test_texts_that_stand_for_pictures_are_not_quoted_later() -> None:
    screens = [message for n in range(60) for message in step(n, picture(SCREEN, n))]
    first = share_of([said("user", "Click."), *screens, *seen("user", 1)], 0.2)
    assert str(first.messages).count("[picture left out; ref") > 40

    again = compress([*first.messages, *seen("user", 14)], target_tokens=2_000)

    shown = [message.text for message in parse(again.messages).messages]
    assert any(map(holds_excerpts, shown))
    assert "left out" not in str([*filter(holds_excerpts, shown)])


def test_a_session_gives_back_the_message_of_a_picture(tmp_path: Path) -> None:
    session = Session(tmp_path, "s")
    messages = seen("result")
    session.record(*messages)
    result = session.compress(target_tokens=9_000)
    ref = str(result.messages).partition("picture left out; ref ")[2][:12]

    reopened = Session(tmp_path, "s")

    assert reopened.original(ref) == messages[2]
    assert pictures_in([messages[2]])[0]["source"]["data"] in reopened.restore(ref)
    assert reopened.undo() == messages


@st.composite
def with_pictures(draw: Callable[[st.SearchStrategy[Any]], Any]) -> Messages:
    """Conversations in which results and words of the user's have pictures of all sizes."""
    dialect: Dialect = draw(st.sampled_from(("anthropic", "openai")))
    sizes = st.sampled_from((ICON, (120, 120), PHOTO, SCREEN))
    words = st.integers(0, 60).map(lambda times: f"{WORDS} src/a_{times}.py\n" * times + "ok")

    def content() -> list[dict[str, Any]]:
        shown = [picture(draw(sizes), 0, dialect) for _ in range(draw(st.integers(0, 3)))]
        return draw(st.permutations([text(draw(words)), *shown]))

    messages = [said("user", *content())]
    for number in range(draw(st.integers(1, 12))):
        messages += step(number, *content(), dialect=dialect)
        if draw(st.booleans()):
            messages += [said("assistant", draw(words)), said("user", *content())]
    return messages


@pytest.mark.slow
@given(messages=with_pictures(), share=st.sampled_from((0.05, 0.2, 0.5, 0.9)))
@settings(max_examples=100)
def test_no_picture_is_edited_or_lost_and_every_target_is_met(
    messages: Messages, share: float
) -> None:
    target = int(count_tokens(messages) * share)
    try:
        result = compress(messages, target_tokens=target)
    except BudgetTooSmall as refusal:
        target = refusal.floor_tokens
        result = compress(messages, target_tokens=target)

    assert result.tokens_after == count_tokens(result.messages) <= target
    before = pictures_in(messages)
    shown = places(pictures_in(result.messages), before)  # fails for any other
    assert shown == sorted(shown)
    archived = pictures_in([m for m in result.originals.values() if not isinstance(m, str)])
    assert all(each in archived or at in shown for at, each in enumerate(before))
    assert json.dumps(compress(messages, target_tokens=target).messages) == json.dumps(
        result.messages
    )


def test_a_conversation_without_pictures_has_none() -> None:
    parsed = parse([said("user", "Hello."), *step(1, text("ok"))]).messages

    assert not any(map(images_in, parsed))
    assert images_in(parse([said("user", picture(ICON))]).messages[0]) == [Image(picture(ICON))]

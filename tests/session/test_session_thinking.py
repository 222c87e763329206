"""A session whose thinking is refused, because it is bound to another conversation."""

from pathlib import Path
from typing import Any

import pytest
from generated import Messages
from provider import blocks, refused
from written import ASK, MORE, TELL, reopened

from context_compression import Session
from context_compression.conversation import ref_of
from context_compression.errors import InvalidSettings
from context_compression.session import Event
from context_compression.testing import Run, tool_step
from context_compression.testing.messages_api import foreign_thinking, too_long

FOREIGN = foreign_thinking().body
SEALED = {"type": "redacted_thinking", "data": "c2VhbGVk" * 40}
SILENT = {"type": "thinking", "thinking": "", "signature": "c2lnbmVk" * 40}


def thinking() -> Messages:
    """Thinking of every kind: before calls, before words, sealed, without a text, and alone."""
    steps: Messages = []
    for n in range(3):
        run = Run(f"r{n}", "Bash", {"command": "make"}, f"out {n}")
        steps += tool_step([run], "anthropic", thought="Hm.")
    said = {"role": "assistant", "content": [SEALED, SILENT, {"type": "text", "text": "Half."}]}
    alone = {"role": "assistant", "content": [SILENT]}
    return [ASK, *steps, said, MORE, alone, MORE]


@pytest.fixture
def session(tmp_path: Path) -> Session:
    made = Session(tmp_path, "s")
    made.record(*thinking())
    return made


def kinds(messages: Messages) -> list[str]:
    """Of all blocks that are thinking."""
    found = [block["type"] for message in messages for block in blocks(message)]
    return [kind for kind in found if "thinking" in kind]


def test_the_view_to_retry_with_is_the_same_without_any_thinking(session: Session) -> None:
    view = session.recover(FOREIGN)

    assert view is not None
    assert kinds(thinking()) == ["thinking"] * 3 + ["redacted_thinking"] + ["thinking"] * 2
    assert kinds(view) == []
    assert refused(view, "anthropic") == []
    left = [[b for b in blocks(m) if "thinking" not in b["type"]] for m in thinking()]
    assert list(map(blocks, view)) == [content for content in left if content]
    assert session.view() == reopened(session).view() == view


def test_what_left_can_be_restored_and_the_repair_undone(session: Session) -> None:
    session.recover(FOREIGN)

    for message in thinking():
        if kinds([message]):
            assert session.original(ref_of(message)) == message
    session.record(TELL)
    *begins, _, more = thinking()
    assert session.undo() == [*begins, more, TELL], "what is alone is refused"
    assert session.state().view == [*thinking(), TELL]


def test_it_is_a_compression_in_the_log_that_says_what_it_was(session: Session) -> None:
    told: list[Event] = []
    session.on_event = told.append

    session.recover(FOREIGN)

    [event] = reopened(session).state().compressions
    assert event["strategy"] == "thinking"
    assert event["tokens_after"] < event["tokens_before"]
    assert [(e.kind, e.reason, e.will_retry) for e in told] == [
        ("start", "thinking", False),
        ("end", "thinking", True),
    ]


def test_it_is_done_where_compressing_is_switched_off_too(tmp_path: Path) -> None:
    session = Session(tmp_path, "s", settings={"auto_compress": False})
    session.record(*thinking())

    assert kinds(session.recover(FOREIGN) or thinking()) == []


def test_it_is_tried_once_until_the_model_answers(session: Session) -> None:
    assert session.recover(FOREIGN) is not None
    assert session.recover(FOREIGN) is None

    session.record(
        {"role": "assistant", "content": [SILENT, {"type": "text", "text": "So."}]}, MORE
    )

    assert kinds(session.view()) == ["thinking"]
    assert kinds(session.recover(FOREIGN) or thinking()) == []
    assert session.recover(FOREIGN) is None


def test_one_repair_does_not_use_up_the_other(tmp_path: Path) -> None:
    session = Session(tmp_path, "s", settings={"keep_recent_tokens": 100, "preserve_messages": 1})
    log = "\n".join(f"{n} compiled part {n * 31}" for n in range(2_000))
    session.record(*thinking(), *tool_step([Run("r9", "Bash", {}, log)], "anthropic"))

    assert session.recover(FOREIGN) is not None
    assert session.recover(too_long().body) is not None
    assert session.recover(too_long().body) is None


def test_without_thinking_there_is_nothing_to_retry(tmp_path: Path) -> None:
    session = Session(tmp_path, "s")
    session.record(ASK, TELL, MORE)

    assert session.recover(FOREIGN) is None
    assert session.state().compressions == []


def test_a_repair_does_not_put_off_the_next_compression(tmp_path: Path) -> None:
    """It is no try to save room, after which the view would have to grow first."""
    session = Session(tmp_path, "s")
    session.record(*thinking())
    session.recover(FOREIGN)
    used = session.usage().used_tokens
    session.settings = session.settings.changed({"token_budget": int(used / 0.8)})
    events: list[Event] = []
    session.on_event = events.append

    session.prepare()

    assert [event.reason for event in events] == ["threshold"] * 2


@pytest.mark.parametrize("way", ["compress", "preview"])
def test_nobody_can_choose_it_as_a_strategy(session: Session, way: str) -> None:
    compress: Any = getattr(session, way)

    with pytest.raises(InvalidSettings):
        compress(strategy="thinking", force=True)

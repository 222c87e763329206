"""Sessions of opencode 2: the tables `session_v2` and `session_message`."""

import base64
import json
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st
from inline_snapshot import snapshot
from opencode_database import (
    SECOND_TABLES,
    Host,
    SecondHost,
    answer,
    checkpoint,
    message_id,
    tool,
    user,
)
from transcripts import Row, line, shown

from context_compression import hosts
from context_compression.conversation import as_object, parse, user_words
from context_compression.errors import ConversationNotFound, TranscriptError
from context_compression.hosts import Readings
from context_compression.hosts.opencode import OPENCODE, sessions
from context_compression.hosts.opencode.context import OpencodeContext
from context_compression.hosts.opencode.database import title_of
from context_compression.hosts.opencode.second import as_stored

LISTED = {"status": "completed", "content": [{"type": "text", "text": "a.py"}]}
TALK = [
    user("List the folder."),
    answer("I look.", tool("c1", "shell", **LISTED)),
    answer("One file.", tokens=200),
    user("And of b?"),
    answer("None.", tokens=300),
]


def summed(summary: str, recent: str = "") -> str:
    """A compaction as the model sees it."""
    kept = f"<recent-context>\n{recent}\n</recent-context>\n" if recent else ""
    return (
        f"user | <conversation-checkpoint>\n<summary>\n{summary}\n</summary>\n{kept}"
        "</conversation-checkpoint>"
    )


def stages_of(path: Path) -> list[list[str]]:
    """The messages of each stage of a conversation."""
    stages = hosts.history(path).stages
    return [[line(message) for message in parse(stage.messages).messages] for stage in stages]


@pytest.fixture
def host(tmp_path: Path) -> Iterator[SecondHost]:
    host = SecondHost(tmp_path / "opencode.db")
    with closing(host.db):
        yield host


def test_a_session_is_read_as_the_model_saw_it(host: SecondHost):
    picture = base64.b64encode(b"png").decode()
    thought = {"type": "reasoning", "text": "Hm.", "state": {"signature": "c2ln"}}
    failed = tool("c2", "read", status="error", error={"type": "tool.error", "message": "no file"})
    seen = tool(
        "c3", "read", content=[
            {"type": "text", "text": "a picture"},
            {"type": "file", "uri": f"data:image/png;base64,{picture}", "mime": "image/png"},
        ],
    )  # fmt: skip
    path = host.keep(
        "ses_cafe",
        [
            ("model-switched", {"model": {"id": "m", "providerID": "p"}}),
            user("List the folder.", files=[{"mime": "image/png", "data": picture}]),
            answer(thought, "I look.", tool("c1", "shell", **LISTED), failed, seen),
            ("system", {"text": "The tools have changed."}),
            ("shell", {"command": "pwd", "status": "exited", "output": {"output": "/work"}}),
            ("skill", {"skill": "s", "name": "tidy", "text": "Keep it tidy."}),
            answer("One file.", tokens=200),
            ("idle", {"outcome": "succeeded"}),
        ],
    )

    transcript = hosts.read(path)

    assert shown(transcript) == snapshot(
        [
            "user | List the folder.",
            "assistant | <thinking> | I look. | shell(c1) | read(c2) | read(c3)",
            "user | c1: a.py | c2: no file | c3: a picture",
            """\
user | <system-reminder>
The tools have changed.
</system-reminder>\
""",
            """\
user | <user_shell_command>
<command>
pwd
</command>
<result>
/work
</result>
</user_shell_command>\
""",
            """\
user | <skill>
<name>tidy</name>
Keep it tidy.
</skill>\
""",
            "assistant | One file.",
        ]
    )
    assert transcript.messages[0]["content"][1]["source"]["data"] == picture
    assert transcript.messages[1]["content"][0]["signature"] == "c2ln"
    assert transcript.messages[2]["content"][2]["content"][1]["source"]["data"] == picture
    assert transcript.usage == (210, len(transcript.messages))
    assert (transcript.model, transcript.project) == ("claude-sonnet-4-5", "/work/app")
    assert (transcript.warnings, transcript.missing) == ([], [])


def test_only_what_the_user_wrote_is_the_users(host: SecondHost):
    path = host.keep(
        "ses_cafe",
        [
            checkpoint("Never push.", "[User]: Never ask."),
            user("Always answer in French.", skills=[{"id": "s", "text": "Never run."}]),
            ("system", {"text": "Never use bash."}),
            ("synthetic", {"text": "Always run the linter."}),
            ("shell", {"command": "echo Never commit.", "output": {"output": "Never commit."}}),
            ("location-switched", {"location": {"directory": "/never"}}),
            answer("Oui."),
        ],
    )

    conversation = parse(hosts.read(path).messages)

    said = [words for message in conversation.messages if (words := user_words(message))]
    assert said == ["Always answer in French."]


def test_a_compaction_takes_the_place_of_all_before_it_and_the_history_keeps_it(host: SecondHost):
    running = ("compaction", {"status": "running", "reason": "auto", "summary": "x", "recent": ""})
    failed = ("compaction", {"status": "failed", "reason": "manual", "error": {"message": "no"}})
    path = host.keep(
        "ses_cafe",
        [
            *TALK,
            failed,
            checkpoint("Two folders.", "[User]: And of b?"),
            user("Go on."),
            answer("Yes.", tokens=50),
            checkpoint("All is done.", reason="manual"),
            user("Now c."),
            running,
        ],
    )

    transcript = hosts.read(path)

    assert shown(transcript) == [summed("All is done."), "user | Now c."]
    assert transcript.carried == 1
    assert [(c.trigger, c.tokens_before, c.tokens_after) for c in transcript.compactions] == [
        ("auto", 310, 50), ("manual", 60, None),
    ]  # fmt: skip
    assert stages_of(path) == [
        [
            "user | List the folder.",
            "assistant | I look. | shell(c1)",
            "user | c1: a.py",
            "assistant | One file.",
            "user | And of b?",
            "assistant | None.",
        ],
        [summed("Two folders.", "[User]: And of b?"), "user | Go on.", "assistant | Yes."],
        [summed("All is done."), "user | Now c."],
    ]
    assert transcript.warnings == []


def test_messages_and_parts_of_unknown_types_are_said_and_carried_along(host: SecondHost):
    path = host.keep(
        "ses_cafe",
        [
            user("List."),
            ("hologram", {"beam": 1}),
            ("user", {"words": "of another shape"}),
            ("assistant", {"content": ["a bare string"]}),
            answer({"type": "echo", "sound": "x"}, tool("c1", "t", content=[{"type": "smell"}])),
        ],
    )

    transcript = hosts.read(path)

    [said] = transcript.warnings
    assert said.startswith("Parts of types we do not know are carried along as they are: 5 (")
    assert "hologram 1" in said and "echo 1" in said and "smell 1" in said
    carried = json.dumps(transcript.messages)
    assert "of another shape" in carried and "a bare string" in carried


def test_a_compaction_that_only_its_provider_can_read_is_said(host: SecondHost):
    path = host.keep("ses_cafe", [*TALK, checkpoint("", providerContext={"items": []}), user("c?")])

    transcript = hosts.read(path)

    assert len(transcript.messages) == 7
    assert any("only its provider can read" in said for said in transcript.warnings)


@pytest.mark.parametrize(
    ("state", "seen"),
    [
        ({"status": "completed", "content": [{"type": "text", "text": t} for t in "ab"]}, "a\nb"),
        ({"status": "completed", "content": [], "structured": {"n": 1}}, '{"n": 1}'),
        ({"status": "completed", "output": "old"}, "old"),
        ({"status": "completed", "content": "plain"}, "plain"),
        ({"status": "error", "error": "no", "content": [{"type": "text", "text": "b"}]}, "no\nb"),
        ({"status": "running"}, "[Tool execution was interrupted]"),
        ({"status": "streaming", "input": '{"command": "l'}, "[Tool execution was interrupted]"),
    ],
)  # fmt: skip
def test_a_result_is_read_in_each_state_of_a_call(state: Row, seen: str, host: SecondHost):
    path = host.keep("ses_cafe", [user("Go."), answer(tool("c1", "t", **state)), user("So?")])

    assert shown(hosts.read(path))[1:3] == ["assistant | t(c1)", f"user | c1: {seen}"]


def test_a_call_of_the_newest_answer_may_be_running(host: SecondHost):
    path = host.keep("ses_cafe", [user("Go."), answer(tool("c1", "t", status="running"))])

    assert shown(hosts.read(path))[-1] == "assistant | t(c1)"


@pytest.mark.parametrize(("kind", "left"), [("before", 3), ("through", 4)])
def test_a_fork_goes_on_from_the_copies_it_holds(kind: str, left: int, host: SecondHost):
    base = host.keep("ses_base", TALK)
    whole = shown(hosts.read(base))
    path = host.fork("ses_base", "ses_fork", kind, 3)
    host.write("ses_fork", 9, *user("And of c?"))
    host.write("ses_base", 7, *user("Only in the base."))

    fork = hosts.read(path)

    assert shown(fork) == [*whole[: left + 1], "user | And of c?"]
    assert fork.missing == []
    host.db.execute("DELETE FROM session_message WHERE session_id = 'ses_base'")
    host.db.execute("DELETE FROM session_v2 WHERE id = 'ses_base'")
    host.db.commit()
    assert shown(hosts.read(path)) == shown(fork)
    assert hosts.read(path).missing == []


def linked(
    host: SecondHost, base: str, session: str, kind: str, at: str, *rows: tuple[str, Row]
) -> Path:
    """A fork that holds only rows of its own."""
    boundary = json.dumps({"type": kind, "messageID": at})
    return host.keep(session, list(rows), start=20, fork_session_id=base, fork_boundary=boundary)


ROWS = st.lists(
    st.sampled_from([user("U."), answer("A."), *TALK, checkpoint("C.")]), min_size=1, max_size=15
)  # rows of forks begin at 20


@given(rows=ROWS, at=st.integers(0), kind=st.sampled_from(["before", "through"]))
def test_a_fork_with_copies_and_one_without_are_the_same_conversation(
    rows: list[tuple[str, Row]], at: int, kind: str
):
    with TemporaryDirectory() as folder:
        host = SecondHost(Path(folder) / "opencode.db")
        with closing(host.db):
            host.keep("ses_base", rows)
            at %= len(rows)
            copied = host.fork("ses_base", "ses_copied", kind, at)
            host.write("ses_copied", 20, *user("Go on."))
            alone = linked(
                host, "ses_base", "ses_alone", kind, message_id("ses_base", at), user("Go on.")
            )

            first, second = hosts.read(copied), hosts.read(alone)

            assert shown(first) == shown(second)
            assert first.compactions == second.compactions
            assert first.missing == second.missing == []


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(
        st.sampled_from(
            ["type", "text", "content", "state", "status", "id", "name", "files", "skills", "time",
             "summary", "tokens", "model", "error", "uri", "mime", "data", "source", "output"]
        ),
        inner,
        max_size=5,
    ),
)  # fmt: skip
KINDS = ["user", "assistant", "compaction", "shell", "system", "skill", "location-switched", "new"]


@given(kind=st.sampled_from(KINDS), data=JSON)
def test_a_message_of_any_shape_is_read_or_told(kind: str, data: object):
    stored = as_stored("msg_1", kind, as_object(data))

    assert stored is None or stored.parts or isinstance(as_object(data).get("text"), str) or (
        as_object(data).get("content") == []
    )  # fmt: skip
    if stored is not None:
        OpencodeContext().add(stored, newest=False)


def test_a_fork_of_a_fork_that_hold_no_copies_is_read_from_the_first_on(host: SecondHost):
    host.keep("ses_base", TALK)
    linked(
        host, "ses_base", "ses_one", "before", message_id("ses_base", 3),
        user("And of c?"), answer("Two.", tokens=250), user("Lost."),
    )  # fmt: skip
    two = linked(
        host, "ses_one", "ses_two", "through", message_id("ses_one", 21),
        checkpoint("Three files."), user("And of d?"),
    )  # fmt: skip
    early = linked(host, "ses_one", "ses_three", "through", message_id("ses_base", 0), user("E?"))

    assert shown(hosts.read(two)) == [summed("Three files."), "user | And of d?"]
    assert stages_of(two) == [
        [
            "user | List the folder.",
            "assistant | I look. | shell(c1)",
            "user | c1: a.py",
            "assistant | One file.",
            "user | And of c?",
            "assistant | Two.",
        ],
        [summed("Three files."), "user | And of d?"],
    ]
    assert hosts.read(two).compactions[0].tokens_before == 260
    assert shown(hosts.read(early)) == ["user | List the folder.", "user | E?"]


@pytest.mark.parametrize("boundary", [None, "{}", '{"type": "through", "messageID": "msg_gone"}'])
def test_what_is_missing_before_a_fork_is_said(boundary: str | None, host: SecondHost):
    path = host.keep(
        "ses_fork", [user("And of c?")], fork_session_id="ses_gone", fork_boundary=boundary
    )

    transcript = hosts.read(path)

    assert shown(transcript) == ["user | And of c?"]
    [said] = transcript.missing
    assert "was forked from ses_gone" in said and said in transcript.warnings


def test_forks_that_name_each_other_come_to_an_end(host: SecondHost):
    linked(host, "ses_b", "ses_a", "through", message_id("ses_b", 20), user("A."))
    path = linked(host, "ses_a", "ses_b", "through", message_id("ses_a", 20), user("B."))

    transcript = hosts.read(path)

    assert shown(transcript) == ["user | A.", "user | B."]
    assert transcript.missing


def test_a_boundary_of_an_unknown_form_is_said(host: SecondHost):
    host.keep("ses_base", TALK)
    at = message_id("ses_base", 0)
    path = host.keep("ses_f", [user("F.")], 20, fork_session_id="ses_base", fork_boundary=at)

    transcript = hosts.read(path)

    assert shown(transcript) == ["user | List the folder.", "user | F."]
    assert "not known here" in transcript.warnings[0]


def test_a_turn_that_was_taken_back_is_gone(host: SecondHost):
    revert = json.dumps({"messageID": message_id("ses_cafe", 3)})
    path = host.keep("ses_cafe", [*TALK, checkpoint("x")], revert=revert)

    transcript = hosts.read(path)

    assert shown(transcript)[-1] == "assistant | One file."
    assert transcript.compactions == []


def test_an_export_is_read_like_its_session(host: SecondHost, tmp_path: Path):
    rows = [*TALK, checkpoint("Two folders."), user("Go on."), answer("Yes."), user("No.")]
    held = [{"id": f"msg_{n}", "type": kind, **data} for n, (kind, data) in enumerate(rows)]
    about = {"id": "ses_cafe", "location": {"directory": "/work/app"}, "title": "Two folders"}
    file = tmp_path / "s.json"
    file.write_text(
        json.dumps({"info": {**about, "revert": {"messageID": "msg_8"}}, "messages": held})
    )

    transcript = hosts.read(file)

    assert shown(transcript) == shown(hosts.read(host.keep("ses_cafe", rows[:-1])))
    assert (transcript.project, transcript.title) == ("/work/app", "Two folders")
    assert len(stages_of(file)) == 2


def test_a_second_look_reads_only_what_changed(host: SecondHost):
    path = host.keep("ses_cafe", TALK)
    readings = Readings()
    first = readings.look(path)
    host.db.execute("UPDATE session_message SET data = '{}'")  # unseen: nothing says so

    host.write("ses_cafe", 4, *answer("Two."), updated=2)
    host.write("ses_cafe", 5, *user("Go on."))

    assert shown(readings.look(path)) == [*shown(first)[:-1], "assistant | Two.", "user | Go on."]


def test_a_session_of_a_newer_version_says_so(host: SecondHost):
    path = host.keep("ses_cafe", TALK, version="3.0.0")

    assert "is not known here" in hosts.read(path).missing[0]


def test_tables_of_a_newer_generation_beside_those_known_are_said(host: SecondHost):
    path = host.keep("ses_cafe", [user("List."), answer("One file.")])
    assert not hosts.read(path).missing
    host.db.execute("CREATE TABLE session_v3 (id text)")
    host.db.commit()

    [said] = hosts.read(path).missing

    assert "version 3, which is not known here" in said


def test_the_only_session_of_a_database_need_not_be_named(host: SecondHost):
    path = host.keep("ses_cafe", TALK)
    host.keep("ses_sub", TALK, parent_id="ses_cafe")

    assert shown(hosts.read(host.path)) == shown(hosts.read(path))
    assert title_of(host.path, "ses_cafe") == "Two folders"
    with pytest.raises(ConversationNotFound, match="no session 'ses_none'"):
        hosts.read(host.path / "ses_none")


def test_the_limit_of_a_file_holds_for_one_session_in_the_database(host: SecondHost):
    path = host.keep("ses_cafe", [*TALK, user("x" * 100_000)])

    with pytest.raises(TranscriptError, match="ses_cafe is too large"):
        hosts.read(path, max_bytes=100_000)


def test_the_session_with_the_newest_message_comes_first(host: SecondHost):
    host.keep("ses_quiet", TALK, time_updated=50_000)
    host.keep("ses_busy", TALK, time_updated=40_000)
    host.write("ses_busy", 4, *answer("Still at it."), updated=60_000)

    environ = {"XDG_DATA_HOME": str(host.path.parent.parent), "OPENCODE_DB": str(host.path)}
    listed = sessions(environ, host.path.parent)

    assert [(each.id, each.written_at) for each in listed] == [("ses_busy", 60), ("ses_quiet", 50)]


def test_each_session_is_listed_once_as_the_newer_tables_tell_it(tmp_path: Path):
    path = tmp_path / "opencode.db"
    first = Host(path)
    first.keep("session")
    first.keep("session", "ses_moved")
    first.keep("session", "ses_own")
    with closing(first.db):
        first.db.executescript(SECOND_TABLES)
    second = SecondHost(path, tables=False)
    with closing(second.db):
        second.keep("ses_cafe", TALK, title="Goes on", time_updated=99_000)
        second.keep("ses_moved", TALK, parent_id="ses_cafe", directory="/other")
        second.keep("ses_new", TALK, title="New", time_updated=98_000)

    environ = {"XDG_DATA_HOME": str(tmp_path.parent), "OPENCODE_DB": str(path)}
    listed = sessions(environ, tmp_path)

    assert [(each.id, each.about) for each in listed] == [
        ("ses_cafe", "Goes on"), ("ses_new", "New"), ("ses_own", "Two folders"),
    ]  # fmt: skip
    assert OPENCODE.stored.subagents(listed[0]) == 1
    assert shown(hosts.read(path / "ses_cafe"))[-1] == "assistant | None."
    assert shown(hosts.read(path / "ses_own"))[-1] == "assistant | One file in each."

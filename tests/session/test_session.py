"""One conversation on disk: recorded, compressed, restored, undone, shared, killed and reopened."""

import copy
import re
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from generated import Messages, conversations
from hypothesis import given, settings
from provider import refused
from written import ASK, LAST, LOG, MORE, TELL, files_in, reopened, talk, worked

from context_compression import BudgetTooSmall, Session, Settings, Store, compress, count_tokens
from context_compression.conversation import COMPRESSED, canonical, digest_of, parse, ref_of
from context_compression.errors import (
    InvalidConversation,
    NothingToUndo,
    StoreDamaged,
    StoreError,
    UnknownRef,
)
from context_compression.planning import RECEIPT
from context_compression.session import session_id_for
from context_compression.settings import StrategyName
from context_compression.testing import Run, conversation, tool_step
from context_compression.threads import before_writing

both_dialects = pytest.mark.parametrize("dialect", ["anthropic", "openai"])


@pytest.fixture
def session(tmp_path: Path) -> Session:
    """A session with 30 turns."""
    made = Session(tmp_path, "s")
    made.record(*talk(30))
    return made


def results_in(messages: Messages) -> list[str]:
    return [result.text for message in parse(messages).messages for result in message.results]


@given(conversations())
@settings(max_examples=15)
def test_what_is_recorded_is_the_view_after_a_restart_too(messages: Messages) -> None:
    with tempfile.TemporaryDirectory() as folder:
        session = Session(folder, "s")
        before = copy.deepcopy(messages)

        session.record(*messages)

        assert session.view() == Session(folder, "s").view() == before == messages


def test_what_is_no_message_is_not_recorded(session: Session) -> None:
    with pytest.raises(InvalidConversation):
        session.record(ASK, {"role": "narrator", "content": "once"})

    assert session.view() == talk(30)


def test_a_session_nobody_recorded_is_empty_and_leaves_no_trace(tmp_path: Path) -> None:
    session = Session(tmp_path / "store", "s")

    assert session.view() == []
    assert session.status().messages == 0
    assert not session.compress(force=True).changed
    assert not (tmp_path / "store" / "sessions").exists()


def test_an_id_that_is_no_file_name_is_refused(tmp_path: Path) -> None:
    with pytest.raises(StoreError):
        Session(tmp_path, "../elsewhere")


def test_a_preview_that_is_shortened_again_goes_on_naming_the_whole(tmp_path: Path) -> None:
    outputs = ["\n".join(f"{n} handle_{n}_{part} is here" for n in range(500)) for part in range(6)]
    steps = (
        tool_step([Run(f"call{n}", "Bash", {"command": f"make part{n}"}, output)], "anthropic")
        for n, output in enumerate(outputs)
    )
    session = Session(tmp_path, "s")
    session.record(ASK, *(message for step in steps for message in step), *talk(2))

    for _ in range(6):
        session.compress(target_tokens=int(count_tokens(session.view()) * 0.7))

    named = {*re.findall(r"ref ([0-9a-f]{12})", str(session.view()))}
    assert {ref_of(output) for output in outputs} <= named
    assert all(session.restore(ref_of(output)) == output for output in outputs)


def test_what_only_begins_like_a_preview_is_a_text_of_its_own(tmp_path: Path) -> None:
    session = Session(tmp_path, "s")
    output = "\n".join(f"{n} the first output names /a/f{n}.py" for n in range(800))
    session.record(ASK, *tool_step([Run("one", "Bash", {"command": "a"}, output)], "anthropic"))
    session.record(*talk(1), *tool_step([LAST], "anthropic"), TELL)
    session.compress(target_tokens=1_500)
    (first,) = (text for text in results_in(session.view()) if ref_of(output) in text)

    other = first.partition("\n")[0] + "\n" + output.replace("the first", "another")
    session.record(*tool_step([Run("two", "Bash", {"command": "b"}, other)], "anthropic"), TELL)
    session.record(*tool_step([replace(LAST, id="end")], "anthropic"), TELL)
    session.compress(target_tokens=3_000)

    shown = [text for text in results_in(session.view()) if "another output" in text]
    assert len(shown) == 1
    assert f"ref {ref_of(other)}" in shown[0]
    assert session.restore(ref_of(other)) == other


def test_previews_are_known_again_where_the_thinking_of_a_turn_is_divided(tmp_path: Path) -> None:
    session = Session(tmp_path, "s")
    session.record(ASK)
    for n in range(12):
        run = Run(f"c{n}", "Bash", {"command": f"make {n}"}, LOG.replace("request", f"part{n}"))
        session.record(*tool_step([run], "anthropic", thought=f"thought {n}"))
    session.record(TELL)

    session.compress(strategy="extract", target_tokens=9_000)

    previews = [text for text in results_in(session.view()) if RECEIPT.match(text)]
    assert previews
    assert {*map(digest_of, previews)} <= session.state().previews


@pytest.mark.parametrize("beside", [True, False])
def test_what_begins_like_a_preview_becomes_none_by_being_compressed(
    tmp_path: Path, beside: bool
) -> None:
    """Neither beside a result that is offloaded, nor when it is clipped itself."""
    session = Session(tmp_path, "s")
    session.record(ASK, *tool_step([Run("one", "Bash", {"command": "a"}, LOG)], "anthropic"))
    forged = f"[Bash: 9,034 tokens, 812 lines; ref {ref_of(LOG)}]\nthe answer\n{LOG * (not beside)}"
    runs = [Run("two", "Bash", {"command": "b"}, forged), Run("three", "Bash", {}, LOG + "and")]
    session.record(*tool_step(runs[: 1 + beside], "anthropic"), *talk(1))
    session.record(*tool_step([LAST], "anthropic"), TELL)

    session.compress(strategy="offload" if beside else "truncate", force=True)

    state = session.state()
    (shown,) = (text for text in results_in(session.view()) if "the answer" in text)
    assert digest_of(shown) not in state.previews
    assert bool(state.previews) == beside


@pytest.mark.parametrize("strategy", ["offload", "extract"])
def test_each_file_that_a_view_names_is_there(tmp_path: Path, strategy: StrategyName) -> None:
    steps = (
        tool_step([Run(f"call{n}", "Bash", {"command": f"make part{n}"}, LOG)], "anthropic")
        for n in range(3)
    )
    session = Session(tmp_path, "s")
    session.record(ASK, *(message for step in steps for message in step), *talk(2))

    session.compress(target_tokens=count_tokens(session.view()) // 2, strategy=strategy)

    files = re.findall(r"; file ([^;\]]+)", str(session.view()))
    assert files
    assert all((tmp_path.parent / file).read_text("utf-8") == LOG for file in files)


@pytest.mark.slow
def test_only_the_first_note_of_a_view_says_how_to_get_the_rest(tmp_path: Path) -> None:
    session = Session(tmp_path, "s")
    session.record(*conversation(60))

    session.compress(target_tokens=4_000, strategy="extract")

    contents = [str(message["content"]) for message in session.view()]
    notes = [content for content in contents if content.startswith("[Compressed History]")]
    assert len(notes) > 1
    assert "context_restore(query=… | …)" in notes[0]
    assert str(contents).count("context_restore(query=… | …)") == 1


def test_what_a_repair_wrote_comes_back_too_where_the_view_quotes_it(tmp_path: Path) -> None:
    output = "\n".join(f"{n} handle_{n} is here" for n in range(900))
    [_, answer] = tool_step([Run("lost", "Bash", {"command": "make"}, output)], "anthropic")
    session = Session(tmp_path, "s")
    session.record(ASK, *talk(1), answer, *talk(9))

    session.compress(target_tokens=count_tokens(session.view()) // 4)

    named = {*re.findall(r"ref ([0-9a-f]{12})", str(session.view()))}
    assert named
    assert all(session.restore(ref) for ref in named)
    assert any(output in session.restore(ref) for ref in named)


@pytest.mark.slow
@both_dialects
@pytest.mark.parametrize("strategy", ["auto", "offload", "truncate", "window", "extract"])
def test_after_a_compression_the_view_is_smaller_valid_and_survives_a_restart(
    tmp_path: Path, dialect: Any, strategy: StrategyName
) -> None:
    session = Session(tmp_path, "s")
    messages = conversation(20, seed=3, dialect=dialect)
    session.record(*messages)

    result = session.compress(target_tokens=count_tokens(messages) // 2, strategy=strategy)

    assert session.view() == result.messages == reopened(session).view()
    assert count_tokens(session.view()) < count_tokens(messages)
    assert refused(session.view(), dialect) == []


def test_the_originals_are_on_disk_as_they_came(session: Session) -> None:
    messages = session.view()

    result = session.compress(target_tokens=2_000)

    (name,) = [path.name for path in (session.store.folder / "sessions/s").glob("compact-*.json")]
    assert re.fullmatch(r"compact-\d{4}-\d\d-\d\dT\d\d-\d\d-\d\dZ-1\.json", name)
    assert session.store.session("s").read_originals(name) == [
        messages[index] for index in result.compressed
    ]
    assert session.store.verify() == []


def test_messages_recorded_after_a_compression_follow_its_view(session: Session) -> None:
    result = session.compress(target_tokens=2_000)

    session.record(MORE, TELL)

    assert session.view() == [*result.messages, MORE, TELL]
    again = session.compress(target_tokens=1_500)
    assert again.messages_in == result.messages_out + 2
    assert again.messages[-2:] == [MORE, TELL]


def test_messages_recorded_while_a_compression_runs_are_kept(session: Session) -> None:
    with before_writing(lambda: reopened(session).record(MORE, TELL)):
        result = session.compress(target_tokens=2_000)

    assert session.view() == [*result.messages, MORE, TELL]
    assert session.undo() == [*talk(30), MORE, TELL]


def test_what_stops_a_compression_before_it_writes_leaves_all_as_it_was(session: Session) -> None:
    def stop() -> None:
        raise KeyboardInterrupt

    before = files_in(session.store.folder)
    with pytest.raises(KeyboardInterrupt), before_writing(stop):
        session.compress(target_tokens=2_000)

    assert files_in(session.store.folder) == before
    assert session.compress(target_tokens=2_000).changed


def test_a_budget_that_is_too_small_changes_nothing_on_disk(session: Session) -> None:
    before = files_in(session.store.folder)

    with pytest.raises(BudgetTooSmall):
        session.compress(target_tokens=5)

    assert files_in(session.store.folder) == before


def test_a_preview_is_what_the_compression_will_be_and_writes_nothing(session: Session) -> None:
    before = files_in(session.store.folder)

    preview = session.preview(target_tokens=2_000)

    assert files_in(session.store.folder) == before
    result = session.compress(target_tokens=2_000)
    assert preview.messages == result.messages
    assert preview.tokens_after == result.tokens_after


def test_the_sessions_settings_count_and_a_call_may_change_some_of_them(tmp_path: Path) -> None:
    settings = Settings(token_budget=9_000, importance_threshold=0.9, keep_recent=3)
    session = Session(tmp_path, "s", settings=settings)
    session.record(*talk(30))
    assert len(session.preview(strategy="window").messages) == 7

    result = session.compress(strategy="window", settings={"keepRecent": 5})

    assert len(result.messages) == 11
    assert session.settings.keep_recent == 3


def test_auto_in_a_call_goes_before_another_strategy_of_the_session(tmp_path: Path) -> None:
    session = Session(tmp_path, "s", settings={"strategy": "window"})
    session.record(*talk(30))

    assert session.preview(target_tokens=2_000).strategy == "window"
    assert session.compress(target_tokens=2_000, strategy="auto").strategy == "extract"


def test_a_digest_can_be_looked_up_later(session: Session) -> None:
    result = session.compress(strategy="window", settings={"importance_threshold": 0.9})

    (summary,) = session.store.summaries(session="s")
    assert summary["content"] == result.messages[0]["content"]
    assert summary["content"].startswith(COMPRESSED)
    assert summary["messages"] == [0, 39]


@both_dialects
def test_in_a_loop_only_what_lies_before_it_is_compressed(tmp_path: Path, dialect: Any) -> None:
    loop = [ASK, *tool_step([Run("a", "Bash", {}, LOG)], dialect), *tool_step([LAST], dialect)]
    before = conversation(20, seed=5, dialect=dialect)
    session = Session(tmp_path, "s")
    session.record(*before, *loop)
    target = count_tokens(loop) + count_tokens(before) // 3

    result = session.compress_loop(len(before), target_tokens=target)

    assert result.changed
    assert result.target_met
    assert session.view()[-len(loop) :] == loop
    assert set(result.compressed) <= set(range(len(before)))


def test_a_loops_start_may_be_counted_from_the_end(session: Session) -> None:
    session.compress_loop(-10, target_tokens=3_000)
    assert session.view()[-10:] == talk(30)[-10:]

    session.compress_loop(len(session.view()) - 4, target_tokens=2_000)
    assert session.view()[-4:] == talk(30)[-4:]


def test_a_loop_that_alone_is_over_the_target_is_left_alone(tmp_path: Path) -> None:
    session = Session(tmp_path, "s")
    session.record(*talk(5), *worked(LOG, LOG))

    with pytest.raises(BudgetTooSmall, match="pinned messages"):
        session.compress_loop(10, target_tokens=3_000)

    assert session.view() == [*talk(5), *worked(LOG, LOG)]


@both_dialects
def test_a_ref_brings_back_a_text_byte_for_byte_after_a_restart(
    tmp_path: Path, dialect: Any
) -> None:
    odd = LOG + "\r\n\ttab\x00null \u2028 three \U0001f600 end\n"
    session = Session(tmp_path, "s")
    session.record(*worked(odd, dialect=dialect))

    session.compress(strategy="offload", force=True)

    assert reopened(session).restore(ref_of(odd)) == odd
    assert reopened(session).original(ref_of(odd)) == odd


def test_every_ref_of_every_compression_brings_back_what_it_says(tmp_path: Path) -> None:
    session = Session(tmp_path, "s")
    session.record(*conversation(20, seed=6))
    for share in (0.7, 0.5, 0.3):
        session.record(*conversation(4, seed=int(share * 100)))
        session.compress(target_tokens=int(count_tokens(session.view()) * share))
    again = reopened(session)

    refs = again.status().refs
    assert len(refs) > 20
    for ref in refs:
        assert ref_of(again.original(ref)) == ref
    assert [ref for ref, _, _ in again.archived()] == list(refs)


def test_a_message_comes_back_as_its_json(session: Session) -> None:
    first = session.compress(target_tokens=2_000).compressed[0]

    ref = ref_of(talk(30)[first])
    assert session.restore(ref) == canonical(talk(30)[first])
    assert session.original(ref) == talk(30)[first]


@pytest.fixture
def archived(tmp_path: Path) -> tuple[Session, str]:
    """A session and the ref of 500 archived lines."""
    session = Session(tmp_path, "s")
    session.record(*worked(LOG))
    session.compress(strategy="offload", force=True)
    return session, ref_of(LOG)


def test_some_lines_of_a_text_come_back(archived: tuple[Session, str]) -> None:
    session, ref = archived
    lines = LOG.split("\n")

    assert session.restore(ref, lines=(1, 2)) == "\n".join(lines[:2])
    assert session.restore(ref, lines=(499, 10_000)) == "\n".join(lines[498:])
    assert session.restore(ref, lines=(7, 7)) == lines[6]


@pytest.mark.parametrize(
    ("part", "why"),
    [
        *(({"lines": lines}, "this has lines 1-500") for lines in [(0, 3), (5, 4), (501, 502)]),
        ({"lines": (-3, -1)}, "this has lines 1-500"),
        *(({"pattern": each}, "is not a regular expression") for each in ["(", "[z-a]", "*"]),
    ],
)
def test_a_part_that_is_not_there_is_refused(
    archived: tuple[Session, str], part: dict[str, Any], why: str
) -> None:
    session, ref = archived

    with pytest.raises(StoreError, match=why):
        session.restore(ref, **part)


def test_lines_with_a_pattern_come_back_with_their_numbers(archived: tuple[Session, str]) -> None:
    session, ref = archived

    assert session.restore(ref, pattern=r"request 3(10|41) ") == (
        "11: 10 info handled request 310 三\n12: 11 info handled request 341 三"
    )
    assert session.restore(ref, pattern="request 310", lines=(1, 5)) == "no line matches"


def test_a_pattern_that_takes_too_long_is_given_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("context_compression.store.search.query.SECONDS", 0.1)
    session = Session(tmp_path, "s")
    ref = session.offload("\n".join(["a" * 60 + "!"] * 50))

    with pytest.raises(StoreError, match="takes too long; use a simpler pattern"):
        session.restore(ref, pattern=r"(a|aa)+$")


def test_the_first_four_digits_of_a_ref_suffice(archived: tuple[Session, str]) -> None:
    session, ref = archived

    assert session.restore(ref[:4]) == LOG
    assert session.restore(ref[:8].upper()) == LOG


def test_an_unknown_ref_is_refused_with_the_newest_ones(archived: tuple[Session, str]) -> None:
    session, ref = archived

    with pytest.raises(UnknownRef, match=f"under 'ffff00001111' here. The newest refs: .*{ref}"):
        session.restore("ffff00001111")
    with pytest.raises(UnknownRef, match="none yet"):
        Session(session.store, "other").restore("ffff00001111")


def test_an_archive_changed_by_hand_is_not_passed_off_as_the_original(
    archived: tuple[Session, str],
) -> None:
    session, ref = archived
    (path,) = (session.store.folder / "sessions/s").glob("compact-*.json")
    path.write_text(path.read_text(encoding="utf-8").replace("handled", "refused"), "utf-8")

    with pytest.raises(StoreDamaged, match=ref):
        reopened(session).restore(ref)


def test_what_was_restored_is_taken_off_what_was_saved(archived: tuple[Session, str]) -> None:
    session, ref = archived
    saved = session.status().tokens_saved

    session.restore(ref, lines=(1, 9), note=False)
    assert session.status().tokens_saved == saved
    session.restore(ref)

    assert session.status().tokens_saved == saved - count_tokens(LOG)


def test_a_text_of_ones_own_can_be_archived(session: Session) -> None:
    ref = session.offload(LOG, what="a log")

    assert ref == ref_of(LOG) == session.offload(LOG)
    assert reopened(session).restore(ref) == LOG
    assert session.status().refs == {ref: "a log"}
    assert (session.store.folder / f"sessions/s/offloaded/{ref}.txt").read_text("utf-8") == LOG
    assert session.view() == talk(30)


def test_what_was_archived_stays_archived_after_an_undo(archived: tuple[Session, str]) -> None:
    session, ref = archived

    session.undo()

    assert session.restore(ref) == LOG


def test_what_was_compressed_undone_and_compressed_otherwise_comes_back(tmp_path: Path) -> None:
    session = Session(tmp_path, "s")
    session.record(*talk(10), *worked(LOG))
    session.compress(strategy="offload", force=True)
    session.undo()

    session.compress(strategy="window", target_tokens=1_000)

    assert session.status().refs
    for ref in session.status().refs:
        assert ref_of(reopened(session).original(ref)) == ref


def test_two_compressions_are_undone_one_after_the_other(session: Session) -> None:
    first = session.compress(target_tokens=4_000).messages
    session.record(MORE)
    session.compress(target_tokens=1_500)
    session.record(TELL)

    names = sorted(path.name for path in (session.store.folder / "sessions/s").glob("compact-*"))
    assert [name[-7:] for name in names] == ["-1.json", "-2.json"]
    assert session.status().compressions == 2
    assert session.undo() == [*first, MORE, TELL]
    assert session.undo() == [*talk(30), MORE, TELL] == reopened(session).view()
    assert (session.status().compressions, session.status().tokens_saved) == (0, 0)
    with pytest.raises(NothingToUndo, match="s has no compression to undo"):
        session.undo()


def test_after_an_undo_it_can_be_compressed_again(session: Session) -> None:
    once = session.compress(target_tokens=2_000)
    session.undo()

    again = session.compress(target_tokens=2_000)

    assert again.messages == once.messages
    assert session.undo() == talk(30)


def test_following_the_same_conversation_writes_nothing(session: Session) -> None:
    before = files_in(session.store.folder)

    session.follow(talk(30))

    assert files_in(session.store.folder) == before


@pytest.mark.parametrize("history", [[*talk(30), MORE], [*talk(28), MORE]])
def test_what_is_new_in_a_history_is_recorded_and_what_is_gone_is_rewound(
    session: Session, history: Messages
) -> None:
    session.follow(history)

    assert session.view() == history
    assert session.status().messages_recorded == len(history)


@pytest.mark.parametrize("takes_over", [False, True])
def test_after_a_compression_the_original_or_our_view_is_followed(
    session: Session, takes_over: bool
) -> None:
    result = session.compress(target_tokens=2_000)

    session.follow([*(result.messages if takes_over else talk(30)), MORE, TELL])

    assert session.view() == [*result.messages, MORE, TELL]
    assert session.status().messages_recorded == 62


def test_a_rewind_behind_a_compression_leaves_it_in_place(session: Session) -> None:
    result = session.compress(target_tokens=2_000)
    session.record(MORE, TELL)

    session.follow([*talk(30), MORE, {"role": "assistant", "content": "Something else."}])

    assert session.view() == [
        *result.messages, MORE, {"role": "assistant", "content": "Something else."},
    ]  # fmt: skip
    assert session.undo()[:60] == talk(30)


def test_a_rewind_into_what_was_compressed_begins_anew_from_there(session: Session) -> None:
    last = session.compress(target_tokens=2_000).compressed[-1]

    session.follow([*talk(5), MORE])

    assert session.view() == [*talk(5), MORE]
    assert session.original(ref_of(talk(30)[last])) == talk(30)[last]
    with pytest.raises(NothingToUndo):
        session.undo()


def test_a_followed_conversation_can_be_recorded_with_its_compression(tmp_path: Path) -> None:
    session = Session(tmp_path, "s")

    result = session.compress(messages=talk(30), target_tokens=2_000)

    assert session.view() == result.messages
    assert session.undo() == talk(30)


def test_a_followed_conversation_gives_the_same_view_however_often_it_is_compressed(
    session: Session,
) -> None:
    once = session.compress(messages=talk(30), target_tokens=2_000)

    again = session.compress(messages=talk(30), target_tokens=2_000)

    assert again.messages == once.messages == session.view()


def test_the_status_counts_messages_tokens_and_refs(session: Session) -> None:
    before = session.status()
    result = session.compress(target_tokens=2_000)

    after = session.status()

    assert (before.messages, before.messages_recorded, before.messages_compressed) == (60, 60, 0)
    assert (before.compressions, before.tokens_saved, before.refs) == (0, 0, {})
    assert after.messages == result.messages_out
    assert after.messages_recorded == 60
    assert after.messages_compressed == result.messages_compressed
    assert after.compressions == 1
    assert after.tokens_saved == result.tokens_freed
    assert after.refs == {ref: about.what for ref, about in result.refs.items()}
    assert after.usage.used_tokens == count_tokens(session.view())
    assert sum(after.breakdown.values()) == after.usage.used_tokens
    assert after.warnings == []


def test_the_status_counts_a_message_once_however_often_it_was_compressed(session: Session) -> None:
    for target in (3_000, 2_000, 1_500):
        session.compress(target_tokens=target)
    status, there = session.status(), {*map(str, session.view())}

    assert status.compressions == 3
    assert status.messages_compressed == sum(str(message) not in there for message in talk(30))


def test_the_status_says_what_could_be_freed_and_changes_nothing(tmp_path: Path) -> None:
    session = Session(tmp_path, "s")
    session.record(*worked(LOG))
    before = files_in(tmp_path)

    status = session.status()

    assert files_in(tmp_path) == before
    assert status.could_free == session.compress(strategy="offload", force=True).tokens_freed > 0
    assert status.largest[0].what == "result of Bash"


def test_system_prompt_and_tools_count(tmp_path: Path) -> None:
    system = "Be brief. " * 100
    session = Session(tmp_path, "s", system=system)
    session.record(*talk(30))

    result = session.compress(target_tokens=2_000)

    assert result.tokens_after == count_tokens(session.view(), system=system) <= 2_000
    assert session.status().usage.used_tokens == result.tokens_after


def test_a_deleted_session_is_gone_with_its_originals(session: Session) -> None:
    result = session.compress(strategy="window", settings={"importance_threshold": 0.9})
    ref = next(iter(result.refs))

    session.delete()

    assert Session(session.store, "s").view() == []
    assert session.store.summaries() == []
    assert session.store.locate(ref) is None
    assert not list(session.store.folder.rglob("compact-*"))


def test_a_refused_compression_leaves_not_even_an_empty_folder(tmp_path: Path) -> None:
    messages = [{"role": "user", "content": "word " * 400}]
    session = Session(tmp_path / ".compression", "one")

    with pytest.raises(BudgetTooSmall):
        session.compress(messages=messages, target_tokens=5)

    assert list(tmp_path.iterdir()) == []


def test_two_surrogates_that_make_a_pair_come_back_as_the_one_character(tmp_path: Path) -> None:
    session = Session(tmp_path, "one")

    ref = session.offload("a\ud83d\ude00b\udc00")

    assert session.restore(ref) == "a\U0001f600b\udc00"
    assert ref == ref_of("a\U0001f600b\udc00")


@pytest.mark.parametrize("pattern", ["a{1000000000}", "(ab){100000000}", "(" * 900, "a" * 2_000])
def test_a_pattern_that_would_fill_the_memory_is_refused(pattern: str, tmp_path: Path) -> None:
    session = Session(tmp_path, "one")
    ref = session.offload("abc\n" * 10)

    with pytest.raises(StoreError, match=r"pattern|regular expression"):
        session.restore(ref, pattern=pattern)


def test_a_compression_that_only_mends_is_kept(tmp_path: Path) -> None:
    session = Session(tmp_path, "one")
    begun = {"role": "assistant", "content": "Part 1 is done. " * 9}
    session.record(begun, {"role": "user", "content": "Look into part 2."})

    result = session.compress(strategy="window", force=True)

    assert result.changed
    assert session.view() == result.messages
    assert session.store.summaries() == []


@pytest.mark.parametrize(
    "line",
    [
        "{}",
        '{"type": "message"}',
        '{"type": "undo"}',
        '{"type": "rewind"}',
        '{"type": "rewind", "to": 99}',
        '{"type": "offload", "refs": 5}',
        '{"type": "compression"}',
        '{"type": "restore"}',
        *(
            f'{{"type": "restore", "ref": "0011aabb", "tokens": 1, "share": {share}}}'
            for share in ('"x"', "null", "[1]", "-1", "NaN", "Infinity")
        ),
    ],
)
def test_an_event_that_makes_no_sense_is_passed_over_and_reported(
    line: str, tmp_path: Path
) -> None:
    session = Session(tmp_path, "one")
    session.record({"role": "user", "content": "hello"})
    log = tmp_path / "sessions" / "one" / "events.jsonl"
    log.write_text(log.read_text("utf-8") + line + "\n", encoding="utf-8")

    reopened = Session(tmp_path, "one")

    assert reopened.view() == [{"role": "user", "content": "hello"}]
    assert not reopened.state().restored
    assert any("makes no sense" in said for said in reopened.status().warnings)


def test_what_cannot_be_written_down_is_restored_all_the_same(
    archived: tuple[Session, str],
) -> None:
    session, ref = archived
    locks = session.store.folder / ".locks"
    for lock in locks.iterdir():
        lock.unlink()
    locks.rmdir()
    locks.write_text("no folder", encoding="utf-8")

    assert session.restore(ref) == LOG


def test_messages_that_json_writes_another_way_are_compressed_all_the_same(tmp_path: Path) -> None:
    pair = chr(0xD83D) + chr(0xDE00)
    messages = [
        {"role": "user", "content": ({"type": "text", "text": f"Task {pair} " + "word " * 300},)},
        {"role": "assistant", "content": "done " * 300},
        {"role": "user", "content": "Go on."},
    ]
    session = Session(tmp_path, "one")

    result = session.compress(messages=messages, target_tokens=300)

    assert result.changed


def test_conversations_that_begin_with_the_same_system_message_have_sessions_of_their_own(
    tmp_path: Path,
) -> None:
    store = Store(tmp_path)
    system, *messages = conversation(1, dialect="openai")
    asked = [{"role": "user", "content": f"Question {n}?"} for n in range(5)]

    names = {session_id_for([system, first, *messages], store) for first in asked}

    assert len(names) == 5


def gone_on(folder: Path, dialect: Any) -> tuple[Messages, Messages]:
    """A conversation that was compressed in a store, and its view with a message more."""
    messages = conversation(20, 3, dialect)
    result = compress(messages, store=folder, strategy="window", target_tokens=12_000)
    return messages, [*result.messages, {"role": "user", "content": "Go on."}]


@both_dialects
def test_a_view_whose_beginning_was_compressed_goes_on_in_its_session(
    tmp_path: Path, dialect: Any
) -> None:
    messages, view = gone_on(tmp_path, dialect)

    compress(view, store=tmp_path, target_tokens=4_000)

    assert view[0] != messages[0] or view[1] != messages[1]
    [id] = Store(tmp_path).sessions()
    assert len(Session(tmp_path, id).state().compressions) == 2


def compressed_twice(folder: Path) -> tuple[Session, Messages, Messages]:
    """A session, what its first compression was given, and what its second was."""
    session, messages = Session(folder, "s"), conversation(20)
    grown = [*session.compress(messages=messages, target_tokens=12_000).messages, MORE, TELL]
    session.compress(messages=grown, target_tokens=9_000)
    return session, messages, grown


def test_an_undo_by_messages_finds_what_they_belong_to_and_changes_nothing_else(
    tmp_path: Path,
) -> None:
    session, messages, grown = compressed_twice(tmp_path)
    second = session.view()

    with pytest.raises(NothingToUndo, match="Nothing was changed"):
        session.undo(talk(3))
    assert session.undo([*second, MORE]) == [*grown, MORE]
    assert session.undo([*grown, MORE]) == [*messages, MORE, TELL, MORE]
    with pytest.raises(NothingToUndo, match="has no compression"):
        session.undo(messages)


def test_an_undo_by_what_the_compression_was_given_takes_back_that_one(tmp_path: Path) -> None:
    session, messages, grown = compressed_twice(tmp_path)

    assert session.undo(grown) == grown
    assert session.undo(grown) == [*messages, MORE, TELL]


def test_where_a_smaller_view_of_the_same_conversation_goes_that_is_said(tmp_path: Path) -> None:
    session, messages = Session(tmp_path, "s"), conversation(20)

    small = session.compress(messages=messages, target_tokens=9_000)
    large = session.compress(messages=messages, target_tokens=20_000)
    again = session.compress(messages=messages, target_tokens=20_000)

    assert f"an earlier compacted context of {small.tokens_after:,} tokens" in large.notes[-1]
    assert not any("earlier compacted context" in note for note in again.notes)


@both_dialects
def test_a_view_is_found_however_many_conversations_were_compressed_since(
    tmp_path: Path, dialect: Any
) -> None:
    _, view = gone_on(tmp_path, dialect)
    [id] = Store(tmp_path).sessions()
    for n in range(30):
        Session(tmp_path, f"messages-{n}").record({"role": "user", "content": f"Question {n}?"})
    of_a_newer_version = (tmp_path / f"sessions/{id}/events.jsonl").read_bytes()
    (tmp_path / "sessions/messages-7/events.jsonl").write_bytes(
        of_a_newer_version.replace(b'"version":1', b'"version":99', 1)
    )

    name = session_id_for(view, Store(tmp_path))

    assert name == id


def test_an_undo_by_messages_whose_end_was_said_anew_takes_the_compression_back(
    tmp_path: Path,
) -> None:
    session, messages = Session(tmp_path, "s"), conversation(20)
    session.compress(messages=messages, target_tokens=9_000)
    session.follow([*messages, MORE])

    assert session.undo([*messages, TELL]) == [*messages, TELL]

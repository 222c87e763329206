"""Summaries in a session: chained without loss, kept on disk, cancelled and killed without harm."""

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import anyio
import pytest
from generated import Messages
from provider import refused
from written import files_in

from context_compression import Result, Session, count_tokens
from context_compression.conversation import COMPRESSED, parse, ref_of
from context_compression.errors import StoreDamaged
from context_compression.evidence import entries, from_json, merge
from context_compression.session import Event
from context_compression.summaries import SummaryReply, SummaryRequest
from context_compression.testing import Run, ScriptedSummarizer, tool_step

TARGET = 5_000
TOO_LONG = "prompt is too long: 210000 tokens > 200000 maximum"
SUMMARY = (
    "## Goal\nMove every module from src to lib, as each step says, and touch none of the tables."
    "\n\n## Progress\nThe answers say that each module is where it should be, and that part_40 is "
    "built.\n\n## Next Steps\nGo on with the next step: move its module, then make its part."
)
LOG = "\n".join(f"{n} info handled request {n * 31} 三" for n in range(150))
MOMENT = re.compile(
    r"\[User\]: (Step \d+)|calls\]: Bash\(.*\) (run\d+)|\] Bash run\d+: \d+ (part_\d+)"
    r"|: (Answer \d+)"
)
"""What a request shows of each message of `work`."""


def work(first: int, turns: int) -> Messages:
    """Turns of four messages, 300 tokens each; a rule of the user in every tenth."""
    messages: Messages = []
    for n in range(first, first + turns):
        rule = f" Never touch table_{n}." if n % 10 == 0 else ""
        messages.append({"role": "user", "content": f"Step {n}: move module_{n}.{rule}"})
        command = {"command": f"mv src/module_{n}.py lib/module_{n}.py && make part_{n}"}
        output = "\n".join(f"{k} part_{n} is being built" for k in range(40))
        messages += tool_step([Run(f"run{n}", "Bash", command, output)], "anthropic")
        messages.append({"role": "assistant", "content": f"Answer {n}. It is where it should be."})
    return messages


def moments(prompts: list[str]) -> list[str]:
    """Of each message of `work` that was shown to be summarised its name, in order."""
    records = (prompt.split("</conversation>")[0] for prompt in prompts)
    return ["".join(found) for record in records for found in MOMENT.findall(record)]


def text_of(message: dict[str, Any]) -> str:
    return parse([message]).messages[0].text


def events_of(session: Session, kind: str) -> list[dict[str, Any]]:
    log = session.store.session(session.id)
    return [event for event in log.events().items if event["type"] == kind]


def summarized(session: Session) -> Result:
    return session.compress(strategy="summarize", target_tokens=TARGET)


@pytest.fixture
def session(tmp_path: Path) -> Session:
    """A session with 40 turns of work and somebody who writes summaries."""
    made = Session(tmp_path, "s", summarizer=ScriptedSummarizer(SUMMARY))
    made.record(*work(0, 40))
    return made


@pytest.mark.parametrize("due", ["prepare", "recover"])
def test_a_session_that_nobody_writes_summaries_for_still_fits(tmp_path: Path, due: str) -> None:
    settings = {"token_budget": 10_000, "strategy": "summarize"}
    session = Session(tmp_path, "s", settings=settings)
    session.record(*work(0, 60))

    view = session.prepare() if due == "prepare" else session.recover(TOO_LONG)

    assert view is not None
    assert count_tokens(view) <= 5_000
    (made,) = events_of(session, "compression")
    assert made["strategy"] == "extract"


class Chain:
    """A conversation that is summarised five times."""

    def __init__(self, folder: Path) -> None:
        self.model = ScriptedSummarizer(*(f"{SUMMARY} Edition {'I' * n}." for n in range(1, 30)))
        self.session = Session(folder, "s", summarizer=self.model)
        self.recorded: Messages = []
        self.results: list[Result] = []

    def go_on(self) -> Result:
        """Twenty more turns, and a summary."""
        more = work(len(self.results) * 20, 20)
        self.session.record(*more)
        self.recorded += more
        result = summarized(self.session)
        assert result.strategy == "summarize"
        self.results.append(result)
        return result


@pytest.fixture
def chain(tmp_path: Path) -> Chain:
    return Chain(tmp_path)


def test_each_of_five_summaries_starts_where_the_earlier_one_stopped(chain: Chain) -> None:
    for _ in range(5):
        chain.go_on()

    shown = moments([request.prompt for request in chain.model.requests])
    named = (
        (f"Step {n}", f"run{n}", f"part_{n}", f"Answer {n}")
        for n in range(len(chain.recorded) // 4)
    )
    view = chain.session.view()
    assert view[2:] == chain.recorded[len(shown) :]
    assert shown == [name for names in named for name in names][: len(shown)]


def test_each_of_five_summaries_names_the_recorded_message_that_it_stops_before(
    chain: Chain,
) -> None:
    events: list[Event] = []
    chain.session.on_event = events.append

    for number in range(1, 6):
        result = chain.go_on()

        index = result.first_kept_index
        assert index is not None
        assert chain.session.view()[2:] == chain.recorded[index:]
        assert chain.session.log.events().items[-1]["first_kept_index"] == index
        assert events[-1].first_kept == index
        newest = chain.session.store.summaries(session="s", limit=1)[0]
        assert newest["messages"] == [0, index - 1]
        turns = sum(text_of(message).startswith("Step") for message in chain.recorded[:index])
        assert newest["turns"] == [1, turns]
        assert len(chain.session.store.summaries()) == number


def test_it_points_into_the_history_also_behind_shortened_results_and_after_an_undo(
    tmp_path: Path,
) -> None:
    session, _ = offloaded(tmp_path)
    recorded = [*session.state().recorded]

    result = summarized(session)
    index = result.first_kept_index
    session.undo()
    again = summarized(session)

    assert index == again.first_kept_index
    assert result.messages[2:] == recorded[index:]
    assert len(result.messages) < len(recorded)


def test_five_summaries_in_a_row_never_nest(chain: Chain) -> None:
    for number in range(1, 6):
        asked = len(chain.model.requests)
        chain.go_on()

        view = chain.session.view()
        shown = [m for m in map(text_of, view) if m.startswith(COMPRESSED)]
        assert [text.count("<summary>") for text in shown] == [1, 0], "a summary and excerpts"
        newest = chain.model.requests[asked:]
        assert all("<summary>" not in request.prompt for request in newest)
        updates = [request for request in newest if "<previous-summary>" in request.prompt]
        assert len(updates) == (number > 1)
        assert refused(view, "anthropic") == []


def test_over_five_summaries_the_ledger_on_disk_loses_no_entry(chain: Chain) -> None:
    before: list[dict[str, Any]] = []
    for _ in range(5):
        chain.go_on()

        ledger = chain.session.store.session("s").ledger()
        assert ledger[: len(before)] == before
        before = ledger
    kept = {(e.kind, e.text, e.detail) for e in merge((), [from_json(line) for line in before])}
    covered = chain.recorded[: len(chain.recorded) - len(chain.session.view()) + 1]
    found = entries(parse(covered).messages)
    assert len(found) > 150
    assert {(entry.kind, entry.text, entry.detail) for entry in found} <= kept


def test_the_view_carries_a_capped_part_of_the_ledger_and_the_users_rules_to_the_last(
    chain: Chain,
) -> None:
    for _ in range(5):
        chain.go_on()

    view = chain.session.view()
    ledger = text_of(view[0]).partition("<ledger>")[2]
    assert count_tokens(ledger) <= 0.2 * TARGET
    assert re.search(r"\[… \d+ more entries", ledger)
    covered = chain.recorded[: len(chain.recorded) - len(view) + 1]
    rules = re.findall(r"Never touch table_\d+\.", str(covered))
    assert len(rules) > 8
    assert all(f"- {rule}\n" in ledger for rule in rules)


def test_a_summary_is_kept_with_all_that_is_known_of_it(session: Session) -> None:
    reply = SummaryReply(
        SUMMARY, "somebody", input_tokens=1_200, output_tokens=80, cache_read_tokens=900,
        cache_write_tokens=100, cost=0.0042,
    )  # fmt: skip
    session.summarizer = ScriptedSummarizer(reply)

    result = summarized(session)

    (event,) = events_of(session, "compression")
    kept = work(0, 40)[event["first_kept_index"] :]
    assert session.view()[2:] == kept
    assert result.summary
    assert event["summary"] == result.summary.text
    assert event["summary"].startswith(SUMMARY)
    assert event["tokens_before"] == result.tokens_before == count_tokens(work(0, 40))
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", event["created_at"])
    calls = len(session.summarizer.requests)
    assert event["input_tokens"] == 1_200 * calls
    assert event["output_tokens"] == 80 * calls
    assert event["cache_read_tokens"] == 900 * calls
    assert event["cache_write_tokens"] == 100 * calls
    assert event["cost"] == pytest.approx(0.0042 * calls)
    assert "lib/module_0.py (renamed from src/module_0.py)" in event["details"]["modified_files"]
    assert event["details"]["read_files"] == []
    (entry,) = session.store.summaries(session="s")
    assert entry["content"] == event["summary"]
    assert entry["strategy"] == "summarize"
    assert entry["messages"] == [0, event["first_kept_index"] - 1]
    assert "Never touch table_0." in entry["key_points"]


def test_the_originals_are_on_disk_before_the_line_that_counts(session: Session) -> None:
    result = summarized(session)

    folder = session.store.folder / "sessions/s"
    (archive,) = folder.glob("compact-*.json")
    assert re.fullmatch(r"compact-\d{4}-\d\d-\d\dT\d\d-\d\d-\d\dZ-1\.json", archive.name)
    originals = json.loads(archive.read_text("utf-8"))
    assert originals == [work(0, 40)[index] for index in result.compressed]
    lines = (folder / "events.jsonl").read_text("utf-8").splitlines()
    assert [json.loads(line)["type"] for line in lines[-2:]] == ["originals", "compression"]


def test_files_are_those_of_the_whole_conversation_so_far(chain: Chain) -> None:
    chain.go_on()
    first = {*events_of(chain.session, "compression")[-1]["details"]["modified_files"]}

    chain.go_on()

    second = {*events_of(chain.session, "compression")[-1]["details"]["modified_files"]}
    assert first < second


def offloaded(folder: Path) -> tuple[Session, Path]:
    """A session with an offloaded result that the next summary takes in, and its file."""
    session = Session(folder, "s", summarizer=ScriptedSummarizer(SUMMARY))
    session.record({"role": "user", "content": "Step 0: build."})
    session.record(*tool_step([Run("long", "Bash", {"command": "make"}, LOG)], "anthropic"))
    session.record({"role": "assistant", "content": "It is built."}, *work(1, 9))
    session.compress(strategy="offload", force=True)
    session.record(*work(10, 30))
    path = folder / f"sessions/s/offloaded/{ref_of(LOG)}.txt"
    assert path.read_text("utf-8") == LOG
    return session, path


def test_an_offloaded_file_that_a_summary_took_in_goes_and_its_ref_still_restores(
    tmp_path: Path,
) -> None:
    session, path = offloaded(tmp_path)

    result = summarized(session)

    assert result.files_removed == (str(path),)
    assert not path.exists()
    assert session.restore(ref_of(LOG)) == LOG
    assert Session(tmp_path, "s").restore(ref_of(LOG)) == LOG


def test_what_only_an_offloaded_result_told_is_no_invention(tmp_path: Path) -> None:
    session, _ = offloaded(tmp_path)
    number = re.search(r"request (\d{4}) ", LOG[len(LOG) // 2 :])
    assert number
    assert number[1] not in str(session.view())
    session.summarizer = ScriptedSummarizer(f"{SUMMARY} Look into request {number[1]}.")

    result = summarized(session)

    assert result.summary
    assert result.summary.unverified == ()
    assert number[1] in str(session.view())


def test_an_offloaded_file_that_is_still_referred_to_stays(tmp_path: Path) -> None:
    session, path = offloaded(tmp_path)
    recent = LOG.replace("info", "note")
    run = Run("recent", "Bash", {"command": "make again"}, recent)
    last = Run("last", "Read", {"path": "a.py"}, "x = 1")
    session.record(*tool_step([run], "anthropic"), *tool_step([last], "anthropic"))
    session.compress(strategy="offload", force=True)

    summarized(session)

    still = path.with_name(f"{ref_of(recent)}.txt")
    assert not path.exists()
    assert still.read_text("utf-8") == recent
    assert still.name in str(session.view())


def test_an_offloaded_file_that_cannot_be_removed_is_a_warning(tmp_path: Path) -> None:
    session, path = offloaded(tmp_path)
    path.unlink()
    path.mkdir()

    result = summarized(session)

    assert result.changed
    assert result.files_removed == ()
    assert any(f"{path} could not be removed" in note for note in result.notes)
    assert session.restore(ref_of(LOG)) == LOG


def asked(session: Session) -> list[SummaryRequest]:
    assert isinstance(session.summarizer, ScriptedSummarizer)
    return session.summarizer.requests


def test_what_was_offloaded_is_shown_whole_to_who_summarises(tmp_path: Path) -> None:
    session, _ = offloaded(tmp_path)

    summarized(session)

    assert LOG.split("\n")[75] in asked(session)[0].prompt


def test_what_cannot_be_had_any_more_is_named(tmp_path: Path) -> None:
    session, _ = offloaded(tmp_path)
    (archive,) = (tmp_path / "sessions/s").glob("compact-*.json")
    archive.unlink()

    result = summarized(session)

    assert result.strategy == "summarize"
    missing = rf"\[Content unavailable: \S+/sessions/s/offloaded/{ref_of(LOG)}\.txt\]"
    assert re.search(missing, asked(session)[0].prompt)


def test_a_prompt_that_cannot_be_read_is_told_when_it_is_needed(session: Session) -> None:
    folder = session.store.folder / "prompts"
    folder.mkdir(parents=True)
    (folder / "notes.md").write_bytes(b"caf\xe9")
    (folder / "summary.md").write_bytes(b"caf\xe9")
    before = session.view()

    assert session.status().compressions == 0
    with pytest.raises(StoreDamaged, match=r"summary\.md is not UTF-8"):
        summarized(session)

    assert session.view() == before


def test_a_prompt_that_is_a_link_is_not_followed(session: Session, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("the customers", encoding="utf-8")
    folder = session.store.folder / "prompts"
    folder.mkdir(parents=True)
    (folder / "summary.md").symlink_to(secret)

    with pytest.raises(StoreDamaged, match="is a link"):
        summarized(session)


def test_the_users_own_prompts_replace_ours(session: Session) -> None:
    folder = session.store.folder / "prompts"
    folder.mkdir(parents=True)
    (folder / "summary.md").write_text("List the modules in {target_tokens} tokens.", "utf-8")
    (folder / "system.md").write_text("You are brief.\n", "utf-8")
    (folder / "update.md").write_text("Bring the list up to date.", "utf-8")

    summarized(session)
    session.record(*work(40, 20))
    summarized(session)

    first = asked(session)[0]
    (update,) = [r for r in asked(session) if "<previous-summary>" in r.prompt]
    assert first.system == update.system == "You are brief."
    assert re.fullmatch(r"List the modules in \d+ tokens\.", first.instructions)
    assert first.prompt.endswith(first.instructions)
    assert update.instructions == "Bring the list up to date."


class Stuck:
    """Answers some requests, and never the one after them."""

    def __init__(self, answered: int = 0) -> None:
        self.answered = answered
        self.reached = anyio.Event()

    async def summarize(self, request: SummaryRequest) -> SummaryReply:
        """The summary, or nothing for ever."""
        if self.answered:
            self.answered -= 1
            return SummaryReply(SUMMARY)
        self.reached.set()
        await anyio.sleep_forever()
        raise AssertionError


def long_turn(session: Session) -> None:
    """A turn that will be summarised in two requests."""
    session.record({"role": "user", "content": "Step 40: now build all parts."})
    for n in range(40, 80):
        run = Run(f"run{n}", "Bash", {"command": f"make part_{n}"}, f"part {n} is built\n" * 20)
        session.record(*tool_step([run], "anthropic"))


@pytest.mark.anyio
@pytest.mark.parametrize("answered", [0, 1])
async def test_a_summary_that_is_cancelled_leaves_no_trace(session: Session, answered: int) -> None:
    long_turn(session)
    before, view = files_in(session.store.folder), session.view()
    stuck = session.summarizer = Stuck(answered)

    async with anyio.create_task_group() as group:
        group.start_soon(lambda: session.acompress(strategy="summarize", target_tokens=TARGET))
        await stuck.reached.wait()
        group.cancel_scope.cancel()

    assert files_in(session.store.folder) == before
    assert session.view() == view
    session.summarizer = ScriptedSummarizer(SUMMARY)
    with anyio.fail_after(60):
        result = await session.acompress(strategy="summarize", target_tokens=TARGET)
    assert result.strategy == "summarize"
    assert session.undo() == view


@pytest.mark.anyio
async def test_a_compression_cancelled_while_it_waits_for_another_leaves_that_one_alone(
    session: Session,
) -> None:
    before, view = files_in(session.store.folder), session.view()

    with session.store.session("s").locked():
        with anyio.move_on_after(0.05) as waited:
            await session.acompress(target_tokens=TARGET)

    assert waited.cancelled_caught
    assert files_in(session.store.folder) == before
    assert session.view() == view
    assert (await session.acompress(target_tokens=TARGET)).changed


KILLED = """
import os, signal, sys
from context_compression import Session
from context_compression.store import SessionLog, Store
from context_compression.testing import ScriptedSummarizer

moment = sys.argv[2]

def die(*_, **__):
    os.kill(os.getpid(), signal.SIGKILL)

class Dying(ScriptedSummarizer):
    async def summarize(self, request):
        reply = await super().summarize(request)
        if moment == "while the model writes":
            die()
        return reply

def dying_at(name, owner, when, after=False):
    real = getattr(owner, name)
    def instead(*args, **kwargs):
        if when(*args) and not after:
            die()
        done = real(*args, **kwargs)
        if when(*args):
            die()
        return done
    setattr(owner, name, instead)

session = Session(sys.argv[1], "s", summarizer=Dying(sys.argv[3]))
counts = lambda log, *events: any(event["type"] == "compression" for event in events)
match moment:
    case "while the originals are written":
        dying_at("replace", os, lambda source, target: "compact-" in str(target))
    case "after the originals":
        dying_at("write_originals", SessionLog, lambda *args: True, after=True)
    case "after the ledger":
        dying_at("append_ledger", SessionLog, lambda *args: True, after=True)
    case "while the summary is noted":
        dying_at("replace", os, lambda source, target: "summaries" in str(target))
    case "before the line that counts":
        dying_at("append", SessionLog, counts)
    case "after the line that counts":
        dying_at("append", SessionLog, counts, after=True)
    case "while offloaded files are removed":
        dying_at("remove_offloaded", SessionLog, lambda *args: True)
session.compress(strategy="summarize", target_tokens=5_000)
"""
DONE = ("after the line that counts", "while offloaded files are removed")


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="Windows has no SIGKILL")
@pytest.mark.parametrize(
    "moment",
    [
        "while the model writes",
        "while the originals are written",
        "after the originals",
        "after the ledger",
        "while the summary is noted",
        "before the line that counts",
        *DONE,
    ],
)
def test_a_kill_while_a_summary_is_made_leaves_all_as_it_was_or_done(
    tmp_path: Path, moment: str
) -> None:
    session, _ = offloaded(tmp_path)
    before = session.view()
    whole = session.preview(
        strategy="summarize", target_tokens=TARGET, summarizer=ScriptedSummarizer(SUMMARY)
    ).summary
    assert whole

    killed = subprocess.run(
        [sys.executable, "-c", KILLED, str(tmp_path), moment, SUMMARY],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        capture_output=True, text=True, check=False,
    )  # fmt: skip

    assert killed.returncode == -signal.SIGKILL, killed.stderr
    again = Session(tmp_path, "s", summarizer=ScriptedSummarizer(SUMMARY))
    assert again.status().compressions == (2 if moment in DONE else 1)
    assert (again.undo() if moment in DONE else again.view()) == before
    noted = [entry["content"] for entry in again.store.summaries()]
    assert noted == ([whole.text] if moment in DONE else [])
    assert again.store.verify() == []
    result = summarized(again)
    assert result.strategy == "summarize"
    assert text_of(again.view()[0]).count(f"<summary>\n{whole.text}\n</summary>") == 1
    assert again.restore(ref_of(LOG)) == LOG
    assert len(again.store.summaries()) == (2 if moment in DONE else 1)
    for index in result.compressed:
        assert again.original(ref_of(before[index])) == before[index]
    assert again.undo() == before

"""Summaries from the command line: the real client, and a Messages API with a script."""

import json
import re
import subprocess

import pytest

from context_compression.testing.chat_api import ChatAPI
from context_compression.testing.messages_api import MessagesAPI, overloaded

from .conftest import COMMAND, Desk

SUMMARIZE = ("compress", "chat.json", "--strategy", "summarize", "--target-tokens", "6000")
SUMMARY = (
    "## Goal\nLook at all the parts. Leave src/part_0 and the others as they are.\n\n## Progress\n"
    "The files of each part were read, and each sets its first value to 0.\n\n## Next Steps\nnone"
)


def environ(api: MessagesAPI) -> dict[str, str]:
    return {"ANTHROPIC_API_KEY": "sk-secret", "ANTHROPIC_BASE_URL": api.base_url}


@pytest.mark.slow
@pytest.mark.parametrize("way", ["option", "environment"])
def test_a_model_the_user_named_writes_the_summary(desk: Desk, way: str):
    with MessagesAPI([SUMMARY]) as api:
        option = ("--summary-model", "claude-test-1", "--focus", "part 7")
        named = {"CONTEXT_COMPRESSION_SUMMARY_MODEL": "claude-test-1"}
        if way == "option":
            done = desk.does(*SUMMARIZE, *option, env=environ(api))
        else:
            done = desk.does(*SUMMARIZE, "--focus", "part 7", env=environ(api) | named)

    assert re.search(rb"written_by +claude-test-1\b", done.stderr)
    assert "Look at all the parts." in str(json.loads(done.stdout))
    assert "Additional focus: part 7" in api.requests[0].body["messages"][0]["content"]
    assert b"Look at all the parts." in desk.does("summaries").stdout
    assert b"sk-secret" not in done.stdout + done.stderr


def test_a_model_of_a_server_like_openais_writes_the_summary_without_a_key(desk: Desk):
    with ChatAPI([SUMMARY]) as api:
        done = desk.does(
            *SUMMARIZE, "--summarizer", "openai", "--summary-model", "qwen3:8b",
            env={"OPENAI_BASE_URL": api.base_url},
        )  # fmt: skip

    assert re.search(rb"written_by +qwen3:8b\b", done.stderr)
    assert "Look at all the parts." in str(json.loads(done.stdout))


@pytest.mark.slow
def test_a_failing_model_is_followed_by_extract_with_the_reason(desk: Desk):
    with MessagesAPI([overloaded()]) as api:
        done = desk.does(
            *SUMMARIZE, "--summary-model", "m", "--set", "summary_attempts=1", env=environ(api)
        )

    assert b"no summary: The provider is overloaded (529)." in done.stderr
    assert len(api.requests) == 1


def test_a_dry_run_asks_nobody_and_says_what_it_would_take(desk: Desk):
    with MessagesAPI() as api:
        done = desk.does(*SUMMARIZE, "--summary-model", "m", "--dry-run", env=environ(api))

    assert api.requests == []
    assert b"summary would take" in done.stderr
    assert b"prompt cache: with a prompt cache" in done.stderr
    assert not (desk.store / "sessions").exists()


def test_a_project_file_alone_asks_no_model(desk: Desk):
    desk.does("config", "summary_model=m", "summarizer=anthropic")
    with MessagesAPI() as api:
        refused = desk.run(*SUMMARIZE, env=environ(api))
        done = desk.does("compress", "chat.json", "--target-tokens", "6000", env=environ(api))

    assert api.requests == []
    assert refused.returncode == 2
    assert b"Name one with --summary-model" in refused.stderr
    assert b"store's settings alone" in done.stderr


def test_a_configured_summary_that_nobody_can_write_is_told_and_another_way_taken(desk: Desk):
    desk.does("config", "strategy=summarize")

    done = desk.does("compress", "chat.json", "--target-tokens", "6000")

    assert b"strategy: extract" in done.stderr
    assert b"no summary: nobody is there to write one" in done.stderr


BY_ME = (*SUMMARIZE, "--summarizer", "caller")


def plan_in(told: bytes) -> str:
    (found,) = re.findall(r"--plan-id (\w+) --summary", told.decode())
    return found


@pytest.mark.slow
def test_a_summary_in_two_runs_without_a_model(desk: Desk):
    asked = desk.does(*BY_ME, "--focus", "part 7", "--output", "request.txt")

    assert b"# Goal" in asked.stdout
    assert asked.stdout.endswith(b"Additional focus: part 7\n")
    assert b"Look at part 1" not in asked.stdout + asked.stderr
    request = (desk.folder / "request.txt").read_text("utf-8")
    assert request.startswith("<conversation>\n[User]: Look at part 0")
    assert request.endswith(asked.stdout.decode())
    assert desk.json("status")["sessions"][0]["compressions"] == 0

    (desk.folder / "summary.md").write_text(SUMMARY, "utf-8")
    answer = ("compress", "chat.json", "--plan-id", plan_in(asked.stderr), "--summary")
    done = desk.does(*answer, "summary.md")
    while plans := re.findall(rb"part \d of the summary", done.stderr):
        assert plans == [b"part 2 of the summary"], "of a turn that is too long to keep whole"
        done = desk.does(*answer, "summary.md")

    assert SUMMARY in json.loads(done.stdout)[0]["content"]
    assert re.search(rb"written_by +caller\b", done.stderr)
    assert b"Look at all the parts." in desk.does("summaries").stdout
    again = desk.run(*answer, "summary.md")
    assert again.returncode == 2
    assert b"has changed since" in again.stderr


@pytest.mark.slow
def test_the_second_run_reads_the_summary_from_stdin_and_asks_on_where_it_takes_parts(desk: Desk):
    chat = desk.json(*BY_ME)
    assert chat["changed"] is False
    assert chat["prompt"].endswith(chat["instructions"])
    answer = ["compress", "chat.json", "--plan-id", chat["plan_id"], "--summary", "-", "--json"]
    parts = 0
    while "plan_id" in chat:
        parts += 1
        assert chat["part"] == parts
        done = subprocess.run(
            [*COMMAND, *answer], cwd=desk.folder, env=desk.environ(), input=SUMMARY.encode(),
            capture_output=True, check=True,
        )  # fmt: skip
        chat = json.loads(done.stdout)

    assert json.dumps(chat["messages"]).count("Look at all the parts.") == parts
    assert chat["summary"]["written_by"] == "caller"
    assert desk.does("compress", "chat.json", "--undo").stderr.startswith(b"undone: ")


@pytest.mark.slow
def test_a_summary_that_cannot_be_used_leaves_the_plan_open(desk: Desk):
    plan = plan_in(desk.does(*BY_ME).stderr)
    (desk.folder / "empty.md").write_text(" \n", "utf-8")
    (desk.folder / "no.md").write_bytes(b"\xff\xfe\x00")
    (desk.folder / "summary.md").write_text(SUMMARY, "utf-8")
    answer = ("compress", "chat.json", "--plan-id", plan, "--summary")

    empty = desk.run(*answer, "empty.md")
    strange = desk.run(*answer, "no.md")
    missing = desk.run(*answer, "gone.md")

    assert empty.returncode == strange.returncode == missing.returncode == 2
    assert b"The summary is empty." in empty.stderr
    assert b"it is not UTF-8 text" in strange.stderr
    assert b"gone.md cannot be read: No such file" in missing.stderr
    desk.does(*answer, "summary.md")


def test_a_dry_run_foresees_what_the_caller_would_have_to_write(desk: Desk):
    done = desk.does(*BY_ME, "--dry-run")

    assert b"summary would take" in done.stderr
    assert not (desk.store / "sessions").exists()


def test_where_no_summary_is_due_the_caller_is_not_asked(desk: Desk):
    done = desk.does("compress", "chat.json", "--target-tokens", "13000", "--summarizer", "caller")

    assert isinstance(json.loads(done.stdout), list)

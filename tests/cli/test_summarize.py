"""Summaries from the command line: the real client, and a Messages API with a script."""

import json

import pytest

from context_compression.testing.messages_api import MessagesAPI, overloaded

from .conftest import Desk

SUMMARIZE = ("compress", "chat.json", "--strategy", "summarize", "--target-tokens", "6000")
SUMMARY = "## Goal\nLook at all the parts."


def environ(api: MessagesAPI) -> dict[str, str]:
    return {"ANTHROPIC_API_KEY": "sk-secret", "ANTHROPIC_BASE_URL": api.base_url}


@pytest.mark.parametrize("way", ["option", "environment"])
def test_a_model_the_user_named_writes_the_summary(desk: Desk, way: str):
    with MessagesAPI([SUMMARY]) as api:
        option = ("--summary-model", "claude-test-1", "--focus", "part 7")
        named = {"CONTEXT_COMPRESSION_SUMMARY_MODEL": "claude-test-1"}
        if way == "option":
            done = desk.does(*SUMMARIZE, *option, env=environ(api))
        else:
            done = desk.does(*SUMMARIZE, "--focus", "part 7", env=environ(api) | named)

    assert b"summary  by claude-test-1: " in done.stderr
    assert "Look at all the parts." in str(json.loads(done.stdout))
    assert "Additional focus: part 7" in api.requests[0].body["messages"][0]["content"]
    assert b"Look at all the parts." in desk.does("summaries").stdout
    assert b"sk-secret" not in done.stdout + done.stderr


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
    assert b"summary  would stand for " in done.stderr
    assert b"cache    with a prompt cache" in done.stderr
    assert not (desk.store / "sessions").exists()


def test_a_project_file_alone_asks_no_model(desk: Desk):
    desk.does("config", "summary_model=m", "summarizer=anthropic")
    with MessagesAPI() as api:
        refused = desk.run(*SUMMARIZE, env=environ(api))
        done = desk.does("compress", "chat.json", "--target-tokens", "6000", env=environ(api))

    assert api.requests == []
    assert refused.returncode == 2
    assert b"Name a model with --summary-model" in refused.stderr
    assert b"config.json alone" in done.stderr

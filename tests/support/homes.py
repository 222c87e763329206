"""Home folders in which hosts have recorded sessions."""

import re
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path

from opencode_database import Host
from transcripts import FIXTURES

HOSTS = ("claude-code", "codex", "gemini-cli", "opencode", "pi", "copilot-cli")
ID = "0000000{}-0000-4000-8000-000000000000"
ASKED = "List the two folders."
"""What the user says in each of the fixtures."""


def in_all_hosts(home: Path, project: Path, said: Callable[[str], str]) -> Host:
    """A session of each host in a project; the user says `said(host)`. The database stays open."""
    claude_session(home, project, said("claude-code"))
    codex = home / ".codex/sessions/2026/01/02"
    _recorded(
        codex / f"rollout-2026-01-02T03-04-05-{ID.format(2)}.jsonl",
        "codex/session.jsonl", project, said("codex"),
    )  # fmt: skip
    gemini = home / ".gemini/tmp" / sha256(str(project).encode()).hexdigest() / "chats"
    _recorded(
        gemini / "session-2026-01-02T03-04-0000abcd.jsonl",
        "gemini_cli/session.jsonl", project, said("gemini-cli"),
    )  # fmt: skip
    pi = home / f".pi/agent/sessions/--app--/2026_{ID.format(4)}.jsonl"
    _recorded(pi, "pi/session.jsonl", project, said("pi"))
    copilot = home / ".copilot/session-state" / ID.format(5) / "events.jsonl"
    _recorded(copilot, "copilot_cli/session.jsonl", project, said("copilot-cli"))
    data = home / ".local/share/opencode"
    data.mkdir(parents=True)
    host = Host(data / "opencode.db")
    host.keep("session")
    host.db.execute("UPDATE session SET directory = ?", (str(project),))
    host.db.execute("UPDATE part SET data = replace(data, ?, ?)", (ASKED, said("opencode")))
    host.db.commit()
    return host


def claude_session(home: Path, project: Path, said: str, id: str = ID.format(1)) -> Path:
    """A session of Claude Code in a project, in which the user says this."""
    folder = home / ".claude/projects" / re.sub(r"[^A-Za-z0-9]", "-", str(project))
    return _recorded(folder / f"{id}.jsonl", "claude_code/session.jsonl", project, said)


def _recorded(path: Path, fixture: str, project: Path, said: str) -> Path:
    """A fixture in a project, with other words of the user."""
    text = (FIXTURES / fixture).read_text(encoding="utf-8")
    path.parent.mkdir(parents=True, exist_ok=True)
    text = text.replace("/work/app", str(project)).replace(ASKED, said)
    if "claude" in fixture:
        text = text.replace('"isSidechain":', f'"cwd": "{project}", "isSidechain":')
    path.write_text(text, encoding="utf-8")
    return path

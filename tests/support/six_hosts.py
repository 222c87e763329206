"""A home folder with a session of each of six hosts, made of the fixtures."""

import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from opencode_database import Host
from transcripts import FIXTURES

PLACES: Mapping[str, tuple[str, str]] = {
    "claude-code": (
        "claude_code/session.jsonl",
        ".claude/projects/-work-app/3f1c0d52-0000-4000-8000-00000000cafe.jsonl",
    ),
    "codex": (
        "codex/session.jsonl",
        ".codex/sessions/2026/11/01/"
        "rollout-2026-11-01T10-00-00-019f0000-0000-7000-8000-00000000cafe.jsonl",
    ),
    "copilot-cli": (
        "copilot_cli/session.jsonl",
        ".copilot/session-state/a09d0000-0000-4000-8000-00000000cafe/events.jsonl",
    ),
    "gemini-cli": (
        "gemini_cli/session.jsonl",
        ".gemini/tmp/app/chats/session-2026-11-01T10-00-53ba0000.jsonl",
    ),
    "pi": (
        "pi/session.jsonl",
        ".pi/agent/sessions/--work-app--/"
        "2026-11-01T10-00-00-000Z_01a10000-0000-7000-8000-00000000cafe.jsonl",
    ),
}
"""By host: the fixture, and where the host keeps it below the home folder."""
IDS = {
    "claude-code": "3f1c0d52-0000-4000-8000-00000000cafe",
    "codex": "019f0000-0000-7000-8000-00000000cafe",
    "copilot-cli": "a09d0000-0000-4000-8000-00000000cafe",
    "gemini-cli": "53ba0000-0000-4000-8000-00000000cafe",
    "opencode": "ses_cafe",
    "pi": "01a10000-0000-7000-8000-00000000cafe",
}
"""By host: the id of its session."""
DATABASE = ".local/share/opencode/opencode.db"


@dataclass(frozen=True)
class SixHosts:
    """The home folder of somebody who works with six hosts."""

    home: Path

    @classmethod
    def in_home(cls, home: Path) -> "SixHosts":
        """Write all six sessions."""
        for fixture, place in PLACES.values():
            (home / place).parent.mkdir(parents=True)
            shutil.copyfile(FIXTURES / fixture, home / place)
        (home / DATABASE).parent.mkdir(parents=True)
        Host(home / DATABASE).keep("compacted")
        return cls(home)

    def transcript(self, host: str) -> Path:
        """The file of a host's session; of opencode, its database."""
        return self.home / (DATABASE if host == "opencode" else PLACES[host][1])

    def forget(self) -> dict[str, bytes]:
        """Delete all sessions, as hosts do; what was in the files, by host."""
        written = {host: self.transcript(host).read_bytes() for host in PLACES}
        for host in IDS:
            self.transcript(host).unlink()
        for ending in ("-wal", "-shm"):
            self.transcript("opencode").with_name(f"opencode.db{ending}").unlink(missing_ok=True)
        return written

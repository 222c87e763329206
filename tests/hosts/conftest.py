"""What tests of hosts may ask for."""

from pathlib import Path

import pytest
from real_hosts import CLAUDE_CODE, ClaudeCode, Desk


@pytest.fixture(scope="session")
def claude_command() -> Path:
    """Claude Code itself; tests that need it are skipped where it cannot be had."""
    return CLAUDE_CODE.installed()


@pytest.fixture
def claude(claude_command: Path, tmp_path: Path) -> ClaudeCode:
    """Claude Code in a home of its own, without our plugin."""
    return ClaudeCode(claude_command, Desk(tmp_path))

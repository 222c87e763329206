import gzip
import json
from pathlib import Path

import pytest
from door import Door
from talks import Talk, in_dialect

RECORDED = "claude-code-agentv-ce5dc297"
"""A session of 30 messages and 7,500 tokens."""


@pytest.fixture
def recorded(door: Door, data_folder: Path) -> Talk:
    """A recorded conversation, in a dialect that a door takes."""
    dialect = door.dialects[0]
    with gzip.open(data_folder / f"conversations/uniform/{RECORDED}.json.gz", "rt") as file:
        messages = json.load(file)["messages"]
    return dialect, messages if dialect == "anthropic" else in_dialect(messages, dialect)

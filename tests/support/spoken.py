"""What a person said in an agent's run: the same checks in the programs of every framework.

A rule is hidden among long logs. Then the session is compressed to a few percent of its size. What
the user said must still be in its view, and the loss report must count it.

This module runs in the environments of frameworks: it imports nothing but our package.
"""

import json
from typing import Any

from agent_runs import log

from context_compression import Session

RULE = "Fass die gemeinsame MySQL niemals an."
TASK = "Move the tables."
SETTINGS = {"token_budget": 60_000, "strategy": "extract"}
STEPS = 12
"""How many logs an agent reads before and after the person speaks."""

SMALL = 2_000
"""The size in tokens to which a session is compressed, of about 25,000."""


def logs(n: int) -> str:
    """The log of a build."""
    return log(n, 40)


def drop(table: str) -> str:
    """Drop a table."""
    return f"Dropped {table}. {RULE}"


def spoken(session: Session) -> dict[str, Any]:
    """What is left of what the user said, and what the loss report says of it."""
    result = session.compress(target_tokens=SMALL)
    rules = result.loss["constraints"]
    view = json.dumps(session.view(), ensure_ascii=False)
    return {"total": rules.total, "retained": rules.retained, "shown": RULE in view}


KEPT = {"total": 1, "retained": 1, "shown": True}
UNSAID = {"total": 0, "retained": 0}


def is_unsaid(found: dict[str, Any]) -> bool:
    """Whether the user is not taken to have said anything."""
    return (found["total"], found["retained"]) == (0, 0)

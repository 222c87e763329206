"""Sessions of this package: they contain no conversation, but texts archived without one."""

OFFLOADED = "offloaded"
"""The session of texts that belong to no conversation."""
CHECKPOINT = "checkpoint"
"""The session of summaries that belong to no conversation."""
KEPT_IN = {OFFLOADED: "offloaded texts", CHECKPOINT: "checkpoints"}
"""The content of each of these sessions, by its id."""


def is_own_session(id: str) -> bool:
    """Whether an id names such a session. Case is ignored, because some disks ignore it."""
    return id.lower() in KEPT_IN

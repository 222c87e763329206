"""Sessions of this package: they hold no conversation, but what is archived without one."""

OFFLOADED = "offloaded"
"""The session of texts that belong to no conversation."""
CHECKPOINT = "checkpoint"
"""The session of summaries that belong to no conversation."""
KEPT_IN = {OFFLOADED: "offloaded texts", CHECKPOINT: "checkpoints"}
"""What each of these sessions keeps, by its id."""


def is_own_session(id: str) -> bool:
    """Whether an id is that of such a session; on some disks, capitals are the same name."""
    return id.lower() in KEPT_IN

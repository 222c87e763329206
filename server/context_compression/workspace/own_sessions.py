"""Sessions that hold no conversation: what is archived without one, under names of ours."""

OFFLOADED = "offloaded"
"""The session of texts that belong to no conversation."""
CHECKPOINT = "checkpoint"
"""That of summaries which belong to none."""
KEPT_IN = {OFFLOADED: "offloaded texts", CHECKPOINT: "checkpoints"}
"""What each of them keeps, by its name."""


def is_ours(id: str) -> bool:
    """Whether a session is none of a conversation; some disks take capitals for the same name."""
    return id.lower() in KEPT_IN

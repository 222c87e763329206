"""One thing that was looked at in an installation: how it is, and what to do about it."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Finding:
    """One thing that was looked at.

    Attributes:
        check: what.
        ok: whether it is as it should be; `None`: good to know.
        says: how it is.
        mend: what to do, where something is wrong.
    """

    check: str
    ok: bool | None
    says: str
    mend: str = ""

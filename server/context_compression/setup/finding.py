"""One result of the doctor: what was checked, what it found, and what to do about it."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Finding:
    """One result of the doctor.

    Attributes:
        check: what was checked: `configuration`, `hooks`, `server`, ...
        ok: whether it is as it should be; `None` for information alone.
        says: what was found.
        mend: what to do, where something is wrong.
    """

    check: str
    ok: bool | None
    says: str
    mend: str = ""

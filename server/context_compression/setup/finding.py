"""One result of the doctor: the check, its outcome, and a remedy."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Finding:
    """One result of the doctor.

    Attributes:
        check: the subject of the check: `configuration`, `hooks`, `server`, ...
        ok: whether the subject is as it should be; `None` for information only.
        says: the outcome in words.
        mend: the remedy, if something is wrong.
    """

    check: str
    ok: bool | None
    says: str
    mend: str = ""

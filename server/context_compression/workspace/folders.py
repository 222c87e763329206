"""The folders a process starts from: its working directory, and the user's home folder."""

from pathlib import Path

from context_compression.errors import StoreError


def working_folder() -> Path:
    """The working directory.

    Raises:
        StoreError: it was deleted, or cannot be read.
    """
    try:
        return Path.cwd()
    except OSError as error:
        raise StoreError(
            f"The working directory cannot be had ({error.strerror}): it was deleted, or may not "
            "be read. Change to a folder that is there; ask again. Nothing was changed."
        ) from error


def home_folder() -> Path:
    """The home folder of the user.

    Raises:
        StoreError: no home folder is known.
    """
    try:
        return Path.home()
    except RuntimeError as error:
        raise StoreError(
            "No home folder is known: HOME is not set, and the system names none for this user. "
            "Set HOME to a folder that can be written; ask again. Nothing was changed."
        ) from error

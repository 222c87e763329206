"""Where a program starts: its folders, and its settings from where the server reads its own."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeAlias
from warnings import warn

from context_compression.errors import StoreError
from context_compression.settings import Settings
from context_compression.store import Store

Place: TypeAlias = Store | str | Path | None
"""A store, or its folder; `None` for the store of the working directory."""
NAMING = ("summarizer", "summary_model")
"""The settings that name a model."""


def load(place: Place, environ: Mapping[str, str] | None, values: Mapping[str, Any]) -> Settings:
    """The settings from `config.json`, the environment and `values`; see `Settings.load`.

    A model that `config.json` alone names is left out with a warning, as are all values of a file
    that another user wrote: neither may send a conversation anywhere.
    """
    environ = os.environ if environ is None else environ
    store = _store(place, environ)
    config = store.read_config()
    for doubt in store.doubts():
        warn(doubt, stacklevel=3)
    settings = Settings.layered(config, environ, values)
    named = Settings.layered(None, environ, values).provider
    if settings.provider in (None, named):
        return settings
    asks = f"through {settings.provider}, not {named}" if named else "by a model"
    name = "summarizer" if named else "summary_model"
    warn(
        f"{store.place_of_settings} asks for summaries {asks}; no file may do that alone. "
        f"That is left out. Pass {name}, or set CONTEXT_COMPRESSION_{name.upper()}.",
        stacklevel=3,
    )
    return Settings.layered({n: v for n, v in config.items() if n not in NAMING}, environ, values)


def _store(place: Place, environ: Mapping[str, str]) -> Store:
    if isinstance(place, Store):
        return place
    if place is not None:
        return Store(place)
    return Store.find(working_folder(), home=home_folder(), environ=environ)


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

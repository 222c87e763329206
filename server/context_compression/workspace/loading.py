"""`load`, which reads a program's settings from where the server reads its own."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeAlias
from warnings import warn

from context_compression.settings import Settings
from context_compression.store import Store
from context_compression.workspace.folders import home_folder, working_folder

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
    for doubt in store.doubts:
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

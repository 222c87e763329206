"""The settings of one call, and which of them a tool may set."""

from collections.abc import Mapping
from typing import Any

from context_compression.errors import InvalidSettings
from context_compression.setting_names import with_own_names
from context_compression.settings import GUARDED, Settings, setting_name
from context_compression.workspace import Workspace
from context_compression.workspace.loading import NAMING
from context_compression.workspace.summary_models import CREDENTIALS


def settings_for(workspace: Workspace, values: Mapping[str, Any]) -> Settings:
    """The settings of the workspace, with the values that a call passes.

    Raises:
        InvalidSettings: a name is unknown, a value is not allowed, or a tool may not set it.
    """
    values = without_empty(values)
    refuse_guarded(values)
    refuse_model_of_operator(workspace, values)
    settings = workspace.settings(values)
    _refuse_a_model(workspace, {setting_name(name): value for name, value in values.items()})
    return settings


def without_empty(values: Mapping[str, Any]) -> dict[str, Any]:
    """The settings that a call gives as an object, without those that are null or a blank text.

    An empty list is a value there, because clients do not fill the parts of an object. Names of
    other tools become our own, as in `config.json`: `{"compaction": {"enabled": false}}`.
    """
    given = {name: value for name, value in with_own_names(values).items() if value is not None}
    return {n: v for n, v in given.items() if not isinstance(v, str) or v.strip()}


def refuse_model_of_operator(workspace: Workspace, values: Mapping[str, Any]) -> None:
    """Raises `InvalidSettings` if a tenant chooses the model that the server's operator pays."""
    if workspace.tenant is None:
        return
    for name, value in values.items():
        named = setting_name(name)
        if named == "summary_model" or (named == "summarizer" and value in CREDENTIALS):
            raise InvalidSettings(
                f"{named} is chosen by the operator of this server, whose key pays the model. You "
                'can choose who else writes summaries: summarizer="caller" is you, "none" nobody, '
                'and "auto" whom the operator chose. Nothing was changed.'
            )


def refuse_guarded(values: Mapping[str, Any]) -> None:
    """Raises `InvalidSettings` if a call sets a setting that decides which files may be read."""
    for name in values:
        if (guarded := setting_name(name)) in GUARDED:
            raise InvalidSettings(
                f"{guarded} decides what may be read, so no tool can set it. The user can, with "
                f"the environment variable CONTEXT_COMPRESSION_{guarded.upper()} or on the command "
                "line. Nothing was changed."
            )


def _refuse_a_model(workspace: Workspace, values: Mapping[str, Any]) -> None:
    """Raises `InvalidSettings` if a call names a model or an API and the user has not."""
    provider = Settings.checked({n: v for n, v in values.items() if n in NAMING}).provider
    named = workspace.provider()
    if provider and not named:
        raise InvalidSettings(
            "summary_model and summarizer send the conversation to a model, so a tool can name one "
            "only after the user has: with the environment variable "
            "CONTEXT_COMPRESSION_SUMMARY_MODEL or on the command line. You can write the summary "
            'yourself: settings={"summarizer": "caller"}. Nothing was changed.'
        )
    if (api := values.get("summarizer")) in CREDENTIALS and api != named:
        raise InvalidSettings(
            f"summarizer={api} sends the conversation to another API than {named}, which the user "
            "named. Only the user can change that, with the environment variable "
            "CONTEXT_COMPRESSION_SUMMARIZER or on the command line. Nothing was changed."
        )

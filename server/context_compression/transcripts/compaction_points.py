"""Where each host compacts a conversation by itself, and the settings with which users move that.

Host          its own point, of the window            moved by
claude-code   `limits.of_claude_code` says            variables, settings.json
codex         90 % of what is 95 % in its rollouts    config.toml: model_auto_compact_token_limit
gemini-cli    50 %                                    settings.json: model.compressionThreshold
opencode      the window less the longest answer;     opencode.json: compaction, limits of models
              where a model names the longest
              input, that less 20,000
pi            the window less 16,384                  settings.json: compaction
copilot-cli   80 %: there it begins, beside the work  nothing that is known

Read from Codex 0.169.0, Gemini CLI 0.61.0, opencode 1.18.33 and Pi 0.87.1; for Copilot CLI, from
what its SDK documents. A host's server may change the point of Gemini CLI for some users; nothing
on disk says so.
"""

import tomllib
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from context_compression.conversation.messages import as_object, objects
from context_compression.transcripts.commented_json import object_in
from context_compression.transcripts.limits import (
    LARGEST_NUMBER,
    Limits,
    content_of,
    of_claude_code,
)

CODEX_POINT, CODEX_TELLS = 90, 95
"""Percent of a model's window: where Codex compacts, and what it records as the window."""
GEMINI_POINT = 0.5
COPILOT_POINT = 0.8
PI_RESERVE = 16_384
OPENCODE_RESERVE, OPENCODE_ANSWER = 20_000, 32_000
"""Tokens below a model's longest input at which opencode compacts; the longest answer it asks."""
OURS_COMES_FIRST = frozenset({"opencode", "pi"})
"""Hosts whose requests our plugin shortens: at our threshold, if that is below their own point."""
ON = ("1", "true")

Values = Mapping[str, Any]
NOTHING: tuple[Values] = ({},)


class HostRun(NamedTuple):
    """A host with a model, in a folder; see `limits_of`."""

    window: int
    environ: Mapping[str, str]
    home: Path
    model: str | None = None
    project: Path | None = None


def limits_of(
    host: str,
    window: int,
    environ: Mapping[str, str],
    home: Path,
    model: str | None = None,
    project: Path | None = None,
) -> Limits:
    """The limits of a host for a model with this window.

    Args:
        host: as in `Transcript`.
        window: tokens of the model's window, as far as it is known without the host's settings.
        environ: the environment variables.
        home: the user's home folder.
        model: the model's name.
        project: the folder in which the agent works; hosts read settings there, too.
    """
    run = HostRun(window, environ, home, model, project)
    return RULES.get(host, lambda run: Limits(run.window))(run)


def of_codex(run: HostRun) -> Limits:
    """Codex's rule; the window is the one it records, which is smaller than the model's."""
    folder = Path(run.environ.get("CODEX_HOME") or run.home / ".codex")
    told: Any = None
    with suppress(ValueError):
        config = tomllib.loads(content_of(folder / "config.toml").decode())
        told = config.get("model_auto_compact_token_limit")
    own = run.window * CODEX_POINT // CODEX_TELLS
    return Limits(run.window, min(own, _number(told) or own))


def of_gemini_cli(run: HostRun) -> Limits:
    """Gemini CLI's rule: a share of the window. The settings of the system count first."""
    system = run.environ.get("GEMINI_CLI_SYSTEM_SETTINGS_PATH") or "/etc/gemini-cli/settings.json"
    files = [Path(system)]
    files += [run.project / ".gemini" / "settings.json"] if run.project else []
    files += [Path(run.environ.get("GEMINI_CLI_HOME") or run.home) / ".gemini" / "settings.json"]
    told = (as_object(_in(file).get("model")).get("compressionThreshold") for file in files)
    shares = (n for n in told if isinstance(n, int | float) and n is not True and 0 < n <= 1)
    return Limits(run.window, int(run.window * next(shares, GEMINI_POINT)))


def of_pi(run: HostRun) -> Limits:
    """Pi's rule, with the user's own models."""
    window, model = run.window, run.model
    folder = Path(run.environ.get("PI_CODING_AGENT_DIR") or run.home / ".pi" / "agent")
    for provider in as_object(_in(folder / "models.json").get("providers")).values():
        for about in objects(as_object(provider).get("models")):
            if model and about.get("id") == model:
                window = _number(about.get("contextWindow")) or window
    files = [run.project / ".pi" / "settings.json"] if run.project else []
    told = [as_object(_in(file).get("compaction")) for file in (*files, folder / "settings.json")]
    if next((each["enabled"] for each in told if "enabled" in each), True) is False:
        return Limits(window)
    overrides = [as_object(each.get("modelOverrides")).items() for each in told]
    named = [
        as_object(about)
        for each in overrides
        for name, about in each
        if model and name.partition("/")[2] == model
    ]
    reserves = (_number(each.get("reserveTokens"), 0) for each in (*named, *told))
    reserve = next((tokens for tokens in reserves if tokens is not None), PI_RESERVE)
    return Limits(window, max(0, window - reserve))


def of_opencode(run: HostRun) -> Limits:
    """The rule of opencode; a model's answer may be the longest of all where none is known."""
    window, model, environ = run.window, run.model, run.environ
    configs = [*map(_in, _configs_of_opencode(run))]
    told = {
        name: v for c in reversed(configs) for name, v in as_object(c.get("compaction")).items()
    }
    chosen = [about for config in configs for about in _limits_in(config.get("provider"), model)]
    if chosen:
        window = _number(chosen[0].get("context")) or window
    if told.get("auto") is False or environ.get("OPENCODE_DISABLE_AUTOCOMPACT", "").lower() in ON:
        return Limits(window)
    cache = Path(environ.get("XDG_CACHE_HOME") or run.home / ".cache") / "opencode" / "models.json"
    known = chosen[:1] or [each for each in _known(cache, model) if each.get("context") == window]
    points = [_point_of_opencode(window, about, told) for about in known or NOTHING]
    return Limits(window, min(points))


RULES: Mapping[str, Callable[[HostRun], Limits]] = {
    "claude-code": lambda run: of_claude_code(*run),
    "codex": of_codex,
    "gemini-cli": of_gemini_cli,
    "opencode": of_opencode,
    "pi": of_pi,
    "copilot-cli": lambda run: Limits(run.window, int(run.window * COPILOT_POINT)),
}


def _point_of_opencode(window: int, limit: Values, told: Values) -> int:
    answer = min(_number(limit.get("output")) or OPENCODE_ANSWER, OPENCODE_ANSWER)
    if not (longest := _number(limit.get("input"))):
        return max(0, window - answer)
    reserved = _number(told.get("reserved"), 0)
    return max(0, longest - (min(OPENCODE_RESERVE, answer) if reserved is None else reserved))


def _configs_of_opencode(run: HostRun) -> Iterator[Path]:
    """Its files, the one that counts first before the others."""
    environ, project = run.environ, run.project
    names = ("opencode.jsonc", "opencode.json")
    folder = Path(environ.get("XDG_CONFIG_HOME") or run.home / ".config") / "opencode"
    own = environ.get("OPENCODE_CONFIG_DIR")
    folders = [Path(own)] if own else []
    folders += [project / ".opencode", project] if project else []
    yield from (each / name for each in folders for name in names)
    if file := environ.get("OPENCODE_CONFIG"):
        yield Path(file)
    yield from (folder / name for name in (*names, "config.json"))


def _limits_in(providers: Any, model: str | None) -> Iterator[Values]:
    """What the providers in a file say about the sizes of a model."""
    for provider in as_object(providers).values():
        models = as_object(as_object(provider).get("models"))
        if limit := as_object(as_object(models.get(model or "")).get("limit")):
            yield limit


def _known(cache: Path, model: str | None) -> list[Values]:
    """The sizes of a model in the list of all models, which opencode keeps."""
    with suppress(OSError):
        stat = cache.stat()
        return _known_in(cache, stat.st_mtime_ns, stat.st_size, model)
    return []


@lru_cache(maxsize=64)
def _known_in(cache: Path, _written: int, _size: int, model: str | None) -> list[Values]:
    return [*_limits_in(_in(cache), model)]


def _in(path: Path) -> Values:
    return object_in(content_of(path))


def _number(value: Any, least: int = 1) -> int | None:
    is_size = isinstance(value, int) and not isinstance(value, bool)
    return value if is_size and least <= value <= LARGEST_NUMBER else None

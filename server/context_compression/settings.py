"""Every setting, with its default, its unit and its meaning.

Settings come in layers, and a later layer overrides an earlier one: the defaults below,
`config.json`, the environment, the arguments of a call.

The sentence under a setting is its description in `context_config`, so it is short.
"""

import difflib
import json
import re
from collections.abc import Collection, Generator, Mapping
from contextlib import contextmanager
from fnmatch import fnmatchcase
from math import ceil
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from context_compression import plurals
from context_compression.errors import InvalidSettings
from context_compression.plurals import (
    PART,
    WHOLE,
    Limits,
    NotNegative,
    Paths,
    Positive,
    Share,
    Words,
)
from context_compression.setting_names import ALIASES, FOREIGN, own_name, with_own_names
from context_compression.strings import SHOWN_VALUE, one_line

if TYPE_CHECKING:
    from context_compression.workspace.loading import Place

StrategyName = Literal["auto", "offload", "truncate", "window", "extract", "summarize"]

IMPORTANT_KEYWORDS = (
    "important", "critical", "remember", "must", "never", "always", "decided", "decision", "error",
    "failed", "bug", "fix", "because", "todo",
    "重要", "关键", "记住", "必须", "不要", "决定", "错误", "失败", "修复", "因为", "注意", "务必",
)  # fmt: skip
RECORD_MARKERS = ("ARTIFACT_SAVED", "NODE_COMPLETE")

GUARDED = ("allowed_paths", "read_host_transcripts", "recall_projects")
"""Settings that widen what may be read: only the environment or the command line sets them."""


class Value(BaseModel):
    """Base of all values that come from or go to JSON: frozen, and unknown names are refused."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", use_attribute_docstrings=True, defer_build=True
    )


class Threshold(NamedTuple):
    """A number of tokens, and where it comes from: `80 % of 200,000`."""

    tokens: int
    reason: str


class Settings(Value):
    """How to compress, and when.

        Settings(token_budget=60_000, strategy="extract")

    Raises:
        InvalidSettings: a name is unknown or a value not allowed; names the nearest valid one.
    """

    if not TYPE_CHECKING:  # a checker reads the fields as the arguments

        def __init__(self, **values: Any) -> None:
            with _in_plain_words({}):
                super().__init__(**_named(values))

        # pydantic's mark of an `__init__` that `model_validate` does not need
        __init__.__pydantic_base_init__ = True

    token_budget: Positive = 200_000
    """tokens of the model's context window"""
    trigger_threshold: Share = 0.8
    """share of the budget at which compression is due"""
    target_usage: Share = 0.5
    """share of the budget to compress to"""
    manual_target_usage: Share = 0.2
    """share of the budget to compress to where the user asks a host to compact"""
    reserve_tokens: NotNegative = 16_384
    """tokens reserved for the answer"""
    auto_compress: bool = True
    """compress when due"""
    strategy: StrategyName = "auto"
    """how to compress"""
    summary_template: Literal["goal", "technical"] = "goal"
    """sections of a summary"""
    max_turns: Positive = 50
    """newest turns window considers"""
    keep_recent: Positive = 10
    """newest turns window keeps in full"""
    max_tool_output: Annotated[int, Field(ge=100, le=plurals.MOST), WHOLE] = 3_000
    """characters truncate keeps of a tool output"""
    summary_max_chars: Annotated[int, Field(ge=100, le=plurals.MOST), WHOLE] = 500
    """characters of a digest"""
    importance_threshold: Annotated[float, Field(ge=0, le=1), PART] = 0.3
    """0..1: window keeps messages from this score on"""
    min_recent_messages: NotNegative = 10
    """newest messages extract keeps, in half the target"""
    preserve_messages: NotNegative = 5
    """newest messages left out of summaries, in half the target"""
    fallback_turns: Positive = 4
    """newest turns kept if more do not fit"""
    keep_recent_tokens: NotNegative = 20_000
    """tokens of recent messages kept in full"""
    tail_retention_ratio: Share | None = None
    """share of the budget; replaces keep_recent_tokens"""
    compact_trigger_tokens: NotNegative = 15_000
    """summarize too if fewer tokens were freed"""
    summary_target_tokens: Positive = 8_000
    """target tokens of a summary"""
    max_summary_tokens: Positive | None = None
    """output limit of a summary call; default 0.8 x reserve_tokens"""
    summary_attempts: Annotated[int, Field(ge=1, le=10), WHOLE] = 3
    """most calls for a summary"""
    summary_seconds: plurals.Seconds | None = None
    """seconds for each request of a summary; unset: 25 in a tool call, else no limit"""
    on_summary_failure: Literal["extract", "skip"] = "extract"
    """if a summary fails"""
    summarizer: Literal["auto", "anthropic", "openai", "caller", "none"] = "auto"
    """who writes summaries"""
    summary_model: str | None = None
    """model for summaries"""
    summary_role: Literal["user", "system"] = "user"
    """role of a summary"""
    offload_min_tokens: Positive = 1_000
    """smallest tool result to offload, in tokens"""
    offload_preview_tokens: NotNegative = 200
    """tokens of their preview"""
    offload_at_source: Limits = ()
    """TOOL=TOKENS: from there on its new results come as previews; 0: never"""
    keep_tools: Words = ()
    """tools whose results stay whole: names, `*` for any letters"""
    thinking: Literal["auto", "bound", "keep"] = "auto"
    """signed thinking after a change: bound drops it"""
    alternate_roles: bool | None = None
    """user and assistant alternate; unset: by model"""
    important_keywords: Words = IMPORTANT_KEYWORDS
    """words that raise importance"""
    record_markers: Words = RECORD_MARKERS
    """extract keeps messages with these"""
    allowed_paths: Paths = ()
    """folders that may be read, besides the working directory and `.compression`"""
    read_host_transcripts: bool = True
    """whether `current` may read the host's live transcript"""
    recall_projects: Paths = ()
    """folders of other projects whose recorded sessions a search finds, too; `*` for all"""
    recall_at_start: bool = True
    """whether a host's new session is told of the earlier ones of its project"""

    def __repr__(self) -> str:
        """The settings that differ from the defaults."""
        changed = self.model_dump(exclude_defaults=True).items()
        values = ", ".join(f"{name}={value!r}" for name, value in changed)
        return f"Settings({one_line(values, SHOWN_VALUE - len('Settings()…'))})"

    __str__ = __repr__

    @property
    def reserve(self) -> int:
        """Tokens reserved for the answer: at most 0.2 of the budget."""
        return min(self.reserve_tokens, int(0.2 * self.token_budget))

    @property
    def recent_tokens(self) -> int:
        """Tokens of recent messages kept in full: at most 0.25 of the budget."""
        if self.tail_retention_ratio is not None:
            return int(self.tail_retention_ratio * self.token_budget)
        return min(self.keep_recent_tokens, int(0.25 * self.token_budget))

    @property
    def summary_tokens(self) -> int:
        """Target size of a summary in tokens: at most 0.1 of the budget."""
        return min(self.summary_target_tokens, max(1, int(0.1 * self.token_budget)))

    @property
    def summary_limit(self) -> int:
        """`max_tokens` of a summary call: room for a summary that is a fifth too long."""
        limit = self.max_summary_tokens or int(0.8 * self.reserve)
        return max(limit, int(1.2 * self.summary_tokens))

    @property
    def threshold(self) -> Threshold:
        """The number of tokens from which on a compression is due, and what decides it."""
        share = ceil(round(self.token_budget * self.trigger_threshold, 6))  # 0.29 of 100 is 29
        reserved = self.token_budget - self.reserve + 1
        if share <= reserved:
            return Threshold(
                share, f"{round(100 * self.trigger_threshold, 2):g} % of {self.token_budget:,}"
            )
        return Threshold(
            reserved, f"more than {self.token_budget:,} minus {self.reserve:,} of reserve_tokens"
        )

    @property
    def threshold_tokens(self) -> int:
        """Compression is due from this many tokens on."""
        return self.threshold.tokens

    @property
    def target_tokens(self) -> int:
        """The number of tokens that a compression aims at."""
        return int(self.token_budget * self.target_usage)

    def keeps(self, tool: str) -> bool:
        """Whether the results of a tool stay whole, by `keep_tools`."""
        return any(fnmatchcase(tool.lower(), name.lower()) for name in self.keep_tools)

    @property
    def provider(self) -> Literal["anthropic", "openai"] | None:
        """The API that is asked for summaries, if these settings name a model or an API."""
        if self.summarizer in ("anthropic", "openai"):
            return self.summarizer
        return "anthropic" if self.summarizer == "auto" and self.summary_model else None

    @classmethod
    def load(
        cls, store: "Place" = None, environ: Mapping[str, str] | None = None, **values: Any
    ) -> "Settings":
        """The settings of all layers, as the server and the command use them.

            result = compress(messages, settings=Settings.load(".compression", keep_recent=5))

        Args:
            store: the `Store` whose `config.json` counts, or its folder; by default, the store of
                the working directory.
            environ: the environment; by default, that of the process.
            values: settings by name, which override the other layers.

        Raises:
            InvalidSettings: a name is unknown or a value not allowed; names the nearest valid one.
            StoreError: `config.json` cannot be read.
        """
        from context_compression.workspace.loading import load  # above: only a program's start

        return load(store, environ, values)

    @classmethod
    def layered(
        cls,
        config: Mapping[str, Any] | None = None,
        environ: Mapping[str, str] | None = None,
        arguments: Mapping[str, Any] | None = None,
        origin: str = "config.json",
    ) -> Self:
        """Settings from their layers; a later layer overrides an earlier one.

        Args:
            config: the content of `config.json`; it may not set `GUARDED` settings.
            environ: the process environment; `CONTEXT_COMPRESSION_<NAME>` and `ALIASES` count.
            arguments: the settings of this call.
            origin: what errors call the place of `config`.

        Raises:
            InvalidSettings: a name is unknown or a value not allowed; names the nearest valid one.
        """
        values, given = _for_config(config or {}), _named(arguments or {})
        origins = dict.fromkeys(values, origin)
        for name, variable in variables(environ or {}).items():
            written = (environ or {})[variable]
            values[name] = (
                FOREIGN[ALIASES[variable]].value(written) if variable in ALIASES else written
            )
            as_written = f" = {written}" * (values[name] != written)
            origins[name] = f"the environment variable {variable}{as_written}"
        return cls.checked(values | given, {k: v for k, v in origins.items() if k not in given})

    @classmethod
    def checked(cls, values: Mapping[str, Any], origins: Mapping[str, str] | None = None) -> Self:
        """Settings from values of any origin; camelCase names are accepted.

        Args:
            values: the values by name.
            origins: where values come from that this call does not pass, by name; for errors.

        Raises:
            InvalidSettings: a name is unknown or a value not allowed; names the nearest valid one.
        """
        with _in_plain_words(origins or {}):
            return cls.model_validate(_named(values))

    def changed(self, values: Mapping[str, Any]) -> "Settings":
        """A copy with some values replaced; `model_fields_set` keeps the names set before."""
        return Settings.checked(self.model_dump(exclude_unset=True) | _named(values))


NAMES = tuple(Settings.model_fields)
USUAL = (
    "token_budget", "trigger_threshold", "target_usage", "auto_compress", "strategy",
    "keep_recent", "max_tool_output", "keep_recent_tokens", "summarizer", "summary_model",
    "offload_min_tokens", "offload_at_source",
)  # fmt: skip
"""The settings that people change; a list names the others only where they are set."""
SHOWN = 60  # characters of a wrong name or value
ALL = "all"
"""Instead of a name: reset all settings."""


def listed(settings: Settings) -> tuple[str, ...]:
    """The names that a list of settings shows: those in `USUAL`, and all that were set."""
    return tuple(name for name in NAMES if name in USUAL or name in settings.model_fields_set)


def setting_name(name: str) -> str:
    """The name of a setting in snake_case, for a name in camelCase or of another tool.

    Raises:
        InvalidSettings: no setting has this name; the message names the nearest ones, or all.
    """
    if (own := own_name(name)) in NAMES:
        return own
    theirs = [each for each in FOREIGN if "." not in each]
    near = difflib.get_close_matches(own, theirs, 1, 0.8)
    near = near or difflib.get_close_matches(own, NAMES, 2, 0.5)
    hint = f"; did you mean {' or '.join(near)}?" if near else f". Settings: {', '.join(NAMES)}."
    raise InvalidSettings(f"Unknown setting {name[:SHOWN]!r}{hint}")


@contextmanager
def _in_plain_words(origins: Mapping[str, str]) -> Generator[None]:
    """What pydantic refuses is refused with `InvalidSettings`; `origins` as in `checked`."""
    try:
        yield
    except ValidationError as problem:
        errors = problem.errors()
        details = "; ".join(_explain(error, origins) for error in errors)
        of_call = any(str(error["loc"][0]) not in origins for error in errors if error["loc"])
        raise InvalidSettings(f"{details}.{' Nothing was changed.' * of_call}") from None


def _named(values: Mapping[Any, Any]) -> dict[str, Any]:
    given: Any = values  # callers without a type checker may pass anything
    if not isinstance(given, Mapping):
        raise InvalidSettings(
            f"settings is {given!r:.80}; it must be a Settings, or a dict with some of its values, "
            'such as {"token_budget": 60_000}.'
        )
    for name in values:
        if not isinstance(name, str):
            raise InvalidSettings(f"Unknown setting {name!r:.60}. Settings: {', '.join(NAMES)}.")
    return {setting_name(name): value for name, value in with_own_names(values).items()}


def _for_config(values: Mapping[str, Any]) -> dict[str, Any]:
    named = _named(values)
    for name in (each for each in GUARDED if each in named):
        raise InvalidSettings(
            f"{name} cannot be set in the settings of a store. Set the environment variable "
            f"CONTEXT_COMPRESSION_{name.upper()} or use the command line."
        )
    return named


def changed_config(
    config: Mapping[str, Any], values: Mapping[str, Any], reset: Collection[str] = ()
) -> dict[str, Any]:
    """The new content of `config.json`: the settings that differ from the defaults.

    Args:
        config: the content so far.
        values: the new values, by name.
        reset: names to set back to their defaults, or `ALL`; an entry of the file that is not a
            setting can be reset too.

    Raises:
        InvalidSettings: a name is unknown or a value not allowed, in `values` or in `config`; or a
            setting is both set and reset.
    """
    if both := _named(values).keys() & {own_name(name) for name in reset}:
        raise InvalidSettings(
            f"Set or reset {', '.join(sorted(both))}, not both at once. Nothing was changed."
        )
    before: Mapping[str, Any] = {} if ALL in reset else config
    known = {name for name in reset if own_name(name) in NAMES}
    others = {name for name in reset if name in config} - known
    removed = {setting_name(name) for name in {*reset} - others - {ALL}}
    left = with_own_names({name: value for name, value in before.items() if name not in others})
    kept = {name: value for name, value in left.items() if own_name(name) not in removed}
    merged = _for_config(kept) | _for_config(values)
    checked = Settings.checked(merged).model_dump(mode="json")
    defaults = Settings().model_dump(mode="json")
    return {name: checked[name] for name in merged if checked[name] != defaults[name]}


def variables(environ: Mapping[str, str]) -> dict[str, str]:
    """For each setting that the environment sets, the variable; a blank variable sets nothing."""
    by_variable = {variable: FOREIGN[name].setting for variable, name in ALIASES.items()}
    by_variable |= {f"CONTEXT_COMPRESSION_{name.upper()}": name for name in NAMES}
    return {name: v for v, name in by_variable.items() if environ.get(v, "").strip()}


PLAIN = {
    "bool": "input should be true or false", "float": "input should be a number",
    "int": "input should be a whole number", "string": "input should be a text",
    "tuple": "input should be a list of texts",
}  # fmt: skip
"""What pydantic says in the words of Python, by the first word of the error's type."""


def _explain(error: Any, origins: Mapping[str, str]) -> str:
    """One pydantic error in plain words: the value, its origin, the nearest valid value."""
    name = ".".join(str(part) for part in error["loc"])
    given, bounds = error["input"], error.get("ctx", {})
    origin = origins.get(name.split(".")[0], "")
    value = one_line(json.dumps(given, ensure_ascii=False, default=str), SHOWN + 1)
    assignment = f"{name[:SHOWN]} = {value}{f' (from {origin})' * bool(origin)}"
    said = error["msg"]
    mistaken = re.fullmatch("([a-z]+)_(type|parsing|from_float)", error["type"])
    wanted = PLAIN.get(mistaken[1]) if mistaken else None
    message = f"{assignment}: {wanted or said[:1].lower() + said[1:]}"
    if "expected" in bounds:
        choices = re.findall(r"'([^']+)'", str(bounds["expected"]))
        near = difflib.get_close_matches(str(given), choices, 1, 0.5)
        return f"{message}; nearest valid: {near[0]}" if near else message
    if bounds.get("le") == 1 and (meant := plurals.meant_share(given)):
        return f"{message}; write {meant}"
    for bound in ("ge", "le"):
        if bound in bounds:
            return f"{message}; nearest valid: {bounds[bound]}"
    if "gt" in bounds:
        return f"{message}; for example {getattr(Settings(), name.split('.')[0])}"
    return f"{message}; default: {json.dumps(getattr(Settings(), name.split('.')[0], None))}"

"""Families of models, with the known ratio of each family's tokens to o200k's.

Claude's tokenizers are not public. `benchmarks/calibrate.py` fits a factor on o200k and constants
to the tokens that Claude Code was charged for 1,157 steps whose full text is known.
"""

import re
from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True)
class Family:
    """The conversion of o200k tokens, blocks and pictures into the tokens of one model family."""

    name: str
    factor: float
    """The family's tokens per o200k token of text."""
    upper: float
    """The factor on the estimate below which 95 of 100 conversations stay."""
    per_message: int
    per_call: int
    per_argument: int
    """For each argument of a tool call (Claude seems to write them as markup, not as JSON)."""
    per_result: int
    per_definition: int
    """For each tool definition, in addition to its JSON."""
    with_tools: int
    """Once, if there are tools."""
    image_tokens: int
    """The most a picture costs; also the count of a picture of unknown size."""
    image_edge: int
    """The pixels to which the longer side is scaled down."""
    image_tiles: bool = False
    """Whether pictures are charged by tiles of 512 pixels instead of patches of 28."""

    @property
    def method(self) -> str:
        """The method of a count, in words."""
        if self.name == "openai":
            return "o200k"
        if self.name == "other":
            return "o200k (no family known for this model)"
        factor = "" if self.factor == 1 else f" x {self.factor:g}"
        return f"o200k{factor} ({self.name})"


# benchmarks/calibrate.py fits factor and constants to 686 and 471 steps. Calls and results come in
# pairs, so only their sum is known; it is halved. `upper` is based on charged / counted over runs
# of 40 steps. It is between the 95th percentile (1.061 and 1.038) and the maximum (1.116 and
# 1.052), because the steps are from three repositories in English only. 346 is the documented
# system prompt of Claude 4 (Anthropic, "Tool use"); pictures: Anthropic, "Vision".
# `per_definition` is a guess.
CLAUDE_OLDER = Family(
    "claude, older", 1.15, 1.10, 6, 21, 11, 21, 12, 346, image_tokens=1_568, image_edge=1_568
)
ANY = replace(CLAUDE_OLDER, per_message=8, per_call=40, per_argument=0, per_result=40)
"""The family for a caller's own counter without a model, because such a counter counts only texts
and not the structure around them. The 80 tokens for a call and its result are those of
`benchmarks/estimate.py`. That is more than any family has for a call of up to three arguments; it
is safer to count too much than too little."""
CLAUDE_NEWER = Family(
    "claude, newer", 1.52, 1.06, 6, 14, 11, 14, 16, 346, image_tokens=4_784, image_edge=2_576
)
OPENAI = Family(
    "openai", 1.0, 1.03, 3, 8, 0, 6, 12, 12,
    image_tokens=1_445, image_edge=2_048, image_tiles=True,
)  # fmt: skip
# Other vocabularies of 100-260 thousand tokens: between 0.9 and 1.3 times o200k, by kind of text.
OTHER = Family("other", 1.0, 1.30, 4, 10, 0, 8, 12, 0, image_tokens=1_568, image_edge=1_568)

_CLAUDE = re.compile(r"claude|anthropic|\b(?:opus|sonnet|haiku|fable)\b")
# Matches 4-5, 4.6 and 5, but no date, which has more digits.
_VERSION = re.compile(r"(?<!\d)(\d{1,2})(?:[-.](\d{1,2}))?(?!\d)")
BINDING = (5, 1)
"""The first version of Claude whose thinking is bound to what comes before it."""
_OPENAI = re.compile(r"(?:^|[/:.])(?:chatgpt-4o|gpt-(?:4o|4\.[15]|[5-9]|oss)|o[1-9]\b|codex)")
_WINDOWS = tuple(
    (re.compile(rf"(?:^|[/:.])(?:{name})"), window)
    for name, window in (
        (r"(?:chat)?gpt-4o|gpt-4\.5|gpt-4-turbo|o1-(?:mini|preview)|gpt-5[\w.]*-chat", 128_000),
        (r"gpt-4\.1", 1_047_576),
        (r"gpt-5", 400_000),
        (r"o[1-9]\b|codex", 200_000),
        (r"gpt-oss", 131_072),
        (r"gemini", 1_048_576),
    )
)


def family_of(model: str | None) -> Family:
    """The family of a model by its name, with or without a provider's prefix.

    Without a name it is the older Claude family.
    """
    if model is None:
        return CLAUDE_OLDER
    name = model.lower()
    if _CLAUDE.search(name):
        version = _claude_version(name)
        # An unknown Claude counts as a newer one: it is safer to count too much than too little.
        return CLAUDE_OLDER if version and version < (4, 7) else CLAUDE_NEWER
    return OPENAI if _OPENAI.search(name) else OTHER


def window_of(model: str | None) -> int | None:
    """Tokens of the model's context window; `None` if they are not well known."""
    if model is None:
        return None
    name = model.lower()
    if _CLAUDE.search(name):
        # Version 5 takes a million (seen in use: 400,879 tokens). Claude Code requests a million
        # with `[1m]`.
        million = "[1m]" in name or (_claude_version(name) or (0, 0)) >= (5, 0)
        return 1_000_000 if million else 200_000
    return next((window for known, window in _WINDOWS if known.search(name)), None)


def binds_thinking(model: str | None) -> bool:
    """Whether the model accepts its thinking only if everything before it is unchanged.

    Claude checks that from version 5.1 on (Claude docs, "Prefix checks on thinking blocks"). Older
    models refuse the parameters of this check, so a name without a version counts as an older
    model.
    """
    version = _version_of_claude(model)
    return version is not None and version >= BINDING


def takes_thinking_anywhere(model: str | None) -> bool:
    """Whether the model is known to accept its thinking even if messages before it changed.

    Claude does before version 5.1. For an unknown model or version the answer is `False`.
    """
    version = _version_of_claude(model)
    return version is not None and version < BINDING


def _version_of_claude(model: str | None) -> tuple[int, int] | None:
    name = (model or "").lower()
    return _claude_version(name) if _CLAUDE.search(name) else None


def _claude_version(name: str) -> tuple[int, int] | None:
    version = _VERSION.search(name, max(name.find("claude"), 0))
    return (int(version[1]), int(version[2] or 0)) if version else None

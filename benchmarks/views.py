"""Runs in memory: conversations compressed by each strategy, and counted."""

import asyncio
import copy
import gzip
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

from digests import Parts, Runs, caught, of_count, of_error, of_result, of_usage, parts
from recordings import FOLDER, Block, Messages, load, paths

from context_compression import (
    ContextCompressionError,
    Settings,
    acompress,
    compress,
    count_tokens,
    should_compress,
    truncate_tool_output,
    usage,
)
from context_compression.testing import (
    Dialect,
    Run,
    ScriptedSummarizer,
    conversation,
    said_by_model,
    said_by_user,
    tool_step,
)

T = TypeVar("T")

FIELD = FOLDER.parents[1] / "field"
STRATEGIES = ("auto", "extract", "offload", "truncate", "window", "summarize")
SHARES = (0.5, 0.25, 0.1, 0.05, 0)
"""Of a conversation's tokens, as targets; the last lies below every floor."""
PAIRS = tuple((strategy, share) for strategy in STRATEGIES for share in SHARES)
MOST_TOKENS, FEWEST = 200_000, 3
"""Of one conversation in all its runs; of a long one there are so many runs all the same."""
MODELS = (
    None, "claude-opus-4-5", "claude-opus-5-1", "gpt-5", "gemini-2.5-pro", "deepseek-chat",
)  # fmt: skip
DIALECTS: tuple[Dialect, ...] = (
    "anthropic", "openai", "openai-legacy", "ollama", "responses", "gemini", "bedrock", "vercel",
)  # fmt: skip
ENDINGS = ("closed", "unseen", "partial", "open")
SYSTEM = "You are a careful engineer. Work in /srv/app and run `make check` before you commit."
TOOLS = [
    {
        "name": "bash",
        "description": "Runs a command.",
        "input_schema": {"type": "object", "properties": {"command": {"type": "string"}}},
    }
]
NAMED = re.compile(r"[\w./-]+\.(?:py|go|ts|md|json|rs)\b")
"""Files that a summary may name."""


def uniform(each: int) -> Runs:
    for at, path in enumerate(paths()[::each]):
        recording = load(path)
        yield from shrunk(recording.id, recording.messages, None, at)


def field(each: int) -> Runs:
    for at, (name, row) in enumerate(field_rows(each)):
        yield from shrunk(name, row["messages"], row.get("system"), at)


def field_rows(each: int) -> Iterator[tuple[str, dict[str, Any]]]:
    """A few conversations of each file."""
    for path in sorted(FIELD.glob("*.jsonl.gz")):
        with gzip.open(path, "rb") as file:
            rows = [json.loads(line) for line in file.read().split(b"\n") if line]
        for at in range(0, len(rows), max(1, len(rows) // (4 if each == 1 else 1))):
            yield f"{path.name.split('.')[0]}-{at}", rows[at]


def shrunk(name: str, messages: Messages, system: Any, at: int) -> Runs:
    """One conversation by strategies to targets: all pairs, or as many as there is time for."""
    tokens = count_tokens(messages, system=system)
    number = min(len(PAIRS), max(FEWEST, MOST_TOKENS // max(1, tokens)))
    first = at % len(SHARES)  # of `auto`, which every conversation has
    for strategy, share in dict.fromkeys([PAIRS[first], *picked(PAIRS, number - 1, at)]):
        run = partial(shrink, messages, tokens, strategy, share, system=system)
        yield f"{name} {strategy} {share:.0%}", caught(run)


def picked(things: Sequence[T], number: int, at: int) -> list[T]:
    """Some of them, others at each place, far from each other."""
    return [things[(7 * at + 11 * n) % len(things)] for n in range(number)]


def shrink(messages: Messages, tokens: int, strategy: str, share: float, **options: Any) -> Parts:
    """The parts of one compression to a share of the tokens."""
    scribe = Scribe() if strategy == "summarize" else None
    target = max(1, int(tokens * share))
    return made(messages, target_tokens=target, strategy=strategy, scribe=scribe, **options)


class Scribe(ScriptedSummarizer):
    """Writes a summary of which some is true: files that it was shown, and one that nobody has."""

    async def summarize(self, request: Any) -> Any:
        named = [*dict.fromkeys(NAMED.findall(request.prompt))][:6]
        said = [line for line in request.prompt.splitlines() if 40 < len(line) < 200][:3]
        self.script = (
            "## Goal\nMake the tests pass.\n\n## Progress\n### Done\n"
            + "".join(f"- Changed `{each}`\n" for each in [*named, "src/never/was/here.py"])
            + "\n## Key Decisions\n"
            + "".join(f"- {each}\n" for each in said)
            + f"\n## Critical Context\n{len(request.prompt) % 97} of 214 tests fail.\n",
        )
        return await super().summarize(request)


def made(messages: Any, *, scribe: Scribe | None = None, **options: Any) -> Parts:
    """The parts of one compression in memory."""
    result = compress(messages, summarizer=scribe, **options)
    return of_result(result, messages) | (parts(asked=scribe.requests) if scribe else {})


def counts(each: int) -> Runs:
    for path in paths()[::each]:
        recording = load(path)
        messages = recording.messages
        for model in MODELS:
            yield f"{recording.id} {model}", caught(partial(counted, messages, model))
        cut = [truncate_tool_output(text, max_chars=900) for text in results_in(messages)]
        yield f"{recording.id} truncate_tool_output", parts(view=cut)
    own = usage(conversation(6, 3), counter=len)
    yield "a counter of the caller's", parts(counts=of_usage(own))
    for text in ("", "登录 and 缓存", "a" * 9_000, "\ud83d half", "<|endoftext|>"):
        each_model = [of_count(count_tokens(text, model=model)) for model in MODELS]
        yield f"{text[:20]!r}", parts(counts=each_model)


def counted(messages: Messages, model: str | None) -> Parts:
    beside: dict[str, Any] = {"system": SYSTEM, "tools": TOOLS}
    return parts(
        counts=[
            of_count(count_tokens(messages, model=model)),
            of_count(count_tokens(messages, model=model, **beside)),
            of_usage(usage(messages, model=model)),
            of_usage(usage(messages, model=model, settings={"token_budget": 40_000}, **beside)),
            should_compress(messages, model=model, settings={"token_budget": 60_000}),
        ]
    )


def results_in(messages: Messages) -> Iterator[str]:
    """The texts of tool results."""
    for message in messages:
        for block in message["content"]:
            if block["type"] == "tool_result" and isinstance(block["content"], str):
                yield block["content"]


def dialects(each: int) -> Runs:
    for dialect in DIALECTS:
        for at, (name, messages) in enumerate(conversations_in(dialect, each)):
            yield f"{dialect} {name} counts", caught(partial(counted, messages, None))
            for broken, damaged in islice(damages(messages), 5 if each == 1 else 2):
                number = 10 if broken == "whole" else 2
                yield from in_dialect(f"{dialect} {name} {broken}", damaged, number, at)


def conversations_in(dialect: Dialect, each: int) -> Iterator[tuple[str, Messages]]:
    """Invented conversations with all that a dialect has, and recorded ones told in it."""
    for seed, ending in list(enumerate(ENDINGS))[:: min(each, 3)]:
        yield f"{seed} {ending}", conversation(6, seed, dialect, ending=ending)
    for path in told_paths()[: max(1, 4 // each)]:
        recording = load(path)
        yield recording.id, told(recording.messages[:60], dialect)


def told_paths() -> list[Path]:
    """Recordings of sessions with tools, from different hosts."""
    return [path for path in paths() if path.name.startswith(("opencode", "pi-", "tau"))][::4]


def told(messages: Messages, dialect: Dialect) -> Messages:
    """A recorded conversation as another dialect has it."""
    results = {
        block["tool_use_id"]: block
        for message in messages
        for block in message["content"]
        if block["type"] == "tool_result"
    }
    found: Messages = []
    for message in messages:
        blocks: list[Block] = message["content"]
        text = "\n".join(block["text"] for block in blocks if block["type"] == "text")
        calls = [block for block in blocks if block["type"] == "tool_use"]
        runs = [run_of(call, results[call["id"]]) for call in calls if call["id"] in results]
        if runs:
            found += tool_step(runs, dialect, says=text)
        elif text and message["role"] == "assistant":
            found += said_by_model(text, dialect)
        elif text:
            found.append(said_by_user(text, dialect))
    return found


def run_of(call: Block, result: Block) -> Run:
    content = result.get("content") or ""
    if not isinstance(content, str):
        content = "\n".join(part.get("text", "") for part in content)
    failed = bool(result.get("is_error"))
    return Run(call["id"], call["name"], call["input"], content, failed)


def damages(messages: Messages) -> Iterator[tuple[str, Messages]]:
    """The conversation whole, and as programs break them."""
    middle = len(messages) // 2
    yield "whole", messages
    yield "first gone", messages[1:]
    yield "middle gone", messages[:middle] + messages[middle + 1 :]
    yield "twice", messages[:middle] + copy.deepcopy(messages[middle - 2 :])
    yield "moved", [*messages[:3], messages[-1], *messages[3:-1]]


def in_dialect(name: str, messages: Messages, number: int, at: int) -> Runs:
    try:
        tokens = count_tokens(messages)
    except ContextCompressionError as error:
        yield name, of_error(error)
        return
    for strategy, share in picked(PAIRS, number, at + len(name)):
        run = partial(shrink, messages, tokens, strategy, share, force=True)
        yield f"{name} {strategy} {share:.0%}", caught(run)


OPTIONS: Mapping[str, dict[str, Any]] = {
    "nothing": {},
    "force": {"force": True},
    "due": {"settings": {"token_budget": 24_000}},
    "pins": {"pins": [3, -4, "test"], "share": 0.2},
    "a focus": {"focus": "the failing tests of src/config", "share": 0.1},
    "system and tools": {"system": SYSTEM, "tools": TOOLS, "share": 0.25},
    "a system of blocks": {"system": [{"type": "text", "text": SYSTEM}], "share": 0.25},
    "a counter": {"counter": len, "target_tokens": 30_000},
    "an older Claude": {"model": "claude-opus-4-5", "share": 0.2},
    "a newer Claude": {"model": "claude-opus-5-1", "share": 0.2},
    "OpenAI's": {"model": "gpt-5", "share": 0.2},
    "another model": {"model": "deepseek-chat", "share": 0.2},
    "a Settings": {"settings": Settings(keep_recent=2, max_tool_output=400), "share": 0.3},
    "window of few": {"settings": {"keepRecent": 1}, "strategy": "window", "share": 0.2},
    "window of important": {
        "settings": {"importance_threshold": 0.05, "important_keywords": ["test"]},
        "strategy": "window", "share": 0.3,
    },
    "offload of small": {
        "settings": {"offload_min_tokens": 60, "offload_preview_tokens": 40},
        "strategy": "offload", "share": 0.3,
    },
    "few recent": {"settings": {"keep_recent_tokens": 500, "min_recent_messages": 1}, "share": 0.1},
    "thinking bound": {"settings": {"thinking": "bound"}, "share": 0.3},
    "thinking kept": {"settings": {"thinking": "keep"}, "share": 0.3},
    "taking turns": {"settings": {"alternate_roles": True}, "share": 0.2},
    "a summary, auto": {"share": 0.1, "summarizer": True},
    "a technical summary": {
        "settings": {"summary_template": "technical"}, "strategy": "summarize", "share": 0.3,
        "summarizer": True,
    },
    "a summary in system": {
        "settings": {"summary_role": "system"}, "strategy": "summarize", "share": 0.3,
        "system": SYSTEM, "summarizer": True,
    },
    "a summary with focus": {
        "focus": "the release", "strategy": "summarize", "share": 0.2, "summarizer": True,
    },
    "no such strategy": {"strategy": "magic"},
    "no such setting": {"settings": {"keep_resent": 2}},
    "no target": {"target_tokens": 0},
    "no such pin": {"pins": [100_000, "nobody said this sentence"], "share": 0.3},
}  # fmt: skip
"""Arguments of `compress`; `share` is that of the tokens, and a summarizer is made for each."""


def options(each: int) -> Runs:
    chosen = paths()[:: 30 * each]
    for name, messages in [(path.name.split(".")[0], load(path).messages) for path in chosen]:
        for option, arguments in OPTIONS.items():
            yield f"{name} {option}", caught(partial(with_options, messages, arguments))
    for dialect in DIALECTS[:: min(each, 3)]:
        messages = conversation(8, 21, dialect)
        for option, arguments in OPTIONS.items():
            yield f"{dialect} {option}", caught(partial(with_options, messages, arguments))
        run = partial(compress_aside, messages)
        yield f"{dialect} acompress", caught(run)


def with_options(messages: Messages, arguments: Mapping[str, Any]) -> Parts:
    given = dict(arguments)
    if share := given.pop("share", None):
        given["target_tokens"] = max(1, int(count_tokens(messages) * share))
    scribe = Scribe() if given.pop("summarizer", False) else None
    return made(messages, scribe=scribe, **given)


def compress_aside(messages: Messages) -> Parts:
    target = count_tokens(messages) // 5
    return of_result(asyncio.run(acompress(messages, target_tokens=target)), messages)

"""Fakes and builders for tests: random conversations, a scripted summarizer; a Messages API server.

`conversation(turns=4, seed=7)` is always the same conversation: no clock, no global randomness.
"""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any, Literal, TypeAlias

from context_compression.summarizer import SummaryReply, SummaryRequest

Dialect: TypeAlias = Literal["anthropic", "openai"]
Ending: TypeAlias = Literal["closed", "unseen", "partial", "open"]
"""How it ends: the model has spoken; has not seen the results; lacks one of them; lacks all."""

PIXEL = "R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7"
"""A picture of one pixel, GIF in base64."""

REQUESTS = (
    "Please find out why tests/test_login.py fails and fix it. Never touch the migrations.",
    "The release 2.4.1 must keep the old config format. Can you check src/config/reader.py?",
    "请修复 src/登录.py 里的错误，不要修改数据库，因为明天要发布。",
    "Make sure that `parse_header` handles a missing Content-Length; see issue CORE-118.",
    "ok",
    "Show me the slowest query, then add an index. Always run `make check` before you commit.",
)
THOUGHTS = (
    "The failure comes from the session store. I should read it first.",
    "Two files could be wrong; run both greps at once.",
    "用户要求不要修改数据库，所以只看代码。",
)
ANSWERS = (
    "Done: the cause was an expired token in `SessionStore.refresh`, because the clock was local.",
    "I decided to keep the old reader and add a new one beside it, src/config/reader_v2.py.",
    "已经修复。原因是时区处理错误，改用 UTC。",
    "All 214 tests pass now.\n\n```python\ndef refresh(token):\n    return token.renew()\n```",
)
WORDS = (
    "connect", "session", "token", "cache", "index", "worker", "request", "handler", "config",
    "retry", "buffer", "query", "login", "timeout", "header", "schema", "缓存", "连接", "会话",
)  # fmt: skip


@dataclass(frozen=True)
class Run:
    """One tool call and what it answered."""

    id: str
    name: str
    arguments: dict[str, Any]
    output: str
    failed: bool = False
    picture: bool = False


def conversation(
    turns: int = 6, seed: int = 0, dialect: Dialect = "anthropic", *, ending: Ending = "closed"
) -> list[dict[str, Any]]:
    """A valid conversation of a coding agent, in the dicts of a dialect.

    It has parallel tool calls, thinking (Anthropic), images, errors, Chinese text, and system and
    developer messages (OpenAI). The last turn always has a tool step.
    """
    random = Random(f"{dialect} {seed}")
    openai = dialect == "openai"
    messages: list[dict[str, Any]] = []
    if openai:
        messages.append({"role": "system", "content": "You are a careful engineer. Be brief."})
    for turn in range(turns):
        last = turn == turns - 1
        messages.append(said_by_user(random.choice(REQUESTS), dialect, random.random() < 0.15))
        if openai and random.random() < 0.2:
            messages.append({"role": "developer", "content": "The user must never see secrets."})
        for step in range(max(random.randrange(4), 1 if last else 0), 0, -1):
            runs = [run(random) for _ in range(random.choice((1, 1, 2, 3)))]
            thought = random.choice(THOUGHTS) if turn % 2 else None
            answered = len(runs)
            if last and step == 1 and ending in ("partial", "open"):
                answered = len(runs) - 1 if ending == "partial" else 0
            messages += tool_step(runs, dialect, thought=thought, answered=answered)
        if not last or ending == "closed":
            messages.append({"role": "assistant", "content": random.choice(ANSWERS)})
    return messages


def run(random: Random) -> Run:
    """A random run of one of four tools."""
    name = random.choice(("Bash", "Read", "Grep", "Write"))
    path = f"src/{random.choice(WORDS)}/{random.choice(WORDS)}_{random.randrange(40)}.py"
    failed = name == "Bash" and random.random() < 0.4
    arguments: dict[str, Any] = {"path": path}
    if name == "Bash":
        arguments = {"command": f"pytest {path} -x --maxfail={random.randrange(9)}", "timeout": 60}
    elif name == "Write":
        arguments["content"] = log(random, random.randrange(30))
    output = log(random, int(2 ** random.uniform(0, 9)))
    if failed:
        output += f"\nE   AssertionError: {path}:{random.randrange(400)}: expected 3\nexit code: 1"
    call_id = f"call_{random.getrandbits(64):016x}"
    return Run(call_id, name, arguments, output, failed, random.random() < 0.05)


def log(random: Random, lines: int) -> str:
    """Lines as a tool prints them: numbers, names, paths, and now and then an error."""
    return "\n".join(
        f"{number:4} {'ERROR' if random.random() < 0.03 else 'info'} "
        f"{' '.join(random.choices(WORDS, k=6))} id={random.getrandbits(32):08x}"
        for number in range(1, lines + 1)
    )


def said_by_user(text: str, dialect: Dialect, picture: bool = False) -> dict[str, Any]:
    """A user message, with a picture where asked for."""
    if not picture:
        return {"role": "user", "content": text}
    return {"role": "user", "content": [{"type": "text", "text": text}, _picture(dialect)]}


def tool_step(
    runs: Sequence[Run],
    dialect: Dialect,
    *,
    thought: str | None = None,
    says: str = "",
    answered: int | None = None,
) -> list[dict[str, Any]]:
    """An assistant message that makes the calls, and the results of the first `answered` ones.

    A `thought` is left out in OpenAI's dialect, which has no place for it.
    """
    done = runs if answered is None else runs[:answered]
    if dialect == "openai":
        return [
            {"role": "assistant", "content": says or None, "tool_calls": list(map(_call, runs))},
            *({"role": "tool", "tool_call_id": r.id, "content": r.output} for r in done),
        ]
    content: list[dict[str, Any]] = []
    if thought:
        content.append({"type": "thinking", "thinking": thought, "signature": f"sig-{runs[0].id}"})
    if says:
        content.append({"type": "text", "text": says})
    for each in runs:
        call = {"type": "tool_use", "id": each.id, "name": each.name, "input": each.arguments}
        content.append(call)
    step: list[dict[str, Any]] = [{"role": "assistant", "content": content}]
    if done:
        step.append({"role": "user", "content": list(map(_result, done))})
    return step


def _call(run: Run) -> dict[str, Any]:
    function = {"name": run.name, "arguments": json.dumps(run.arguments)}
    return {"id": run.id, "type": "function", "function": function}


def _result(run: Run) -> dict[str, Any]:
    content: Any = run.output
    if run.picture:
        content = [{"type": "text", "text": run.output}, _picture("anthropic")]
    result = {"type": "tool_result", "tool_use_id": run.id, "content": content}
    return result | ({"is_error": True} if run.failed else {})


def _picture(dialect: Dialect) -> dict[str, Any]:
    if dialect == "openai":
        return {"type": "image_url", "image_url": {"url": f"data:image/gif;base64,{PIXEL}"}}
    source = {"type": "base64", "media_type": "image/gif", "data": PIXEL}
    return {"type": "image", "source": source}


class ScriptedSummarizer:
    """Answers each request with the next entry of a script, raising those that are exceptions.

    The last entry is repeated; `requests` holds what was asked.
    """

    def __init__(self, *script: str | SummaryReply | Exception) -> None:
        self.script: Iterable[str | SummaryReply | Exception] = script or ("## Goal\nAs before.",)
        self.requests: list[SummaryRequest] = []

    async def summarize(self, request: SummaryRequest) -> SummaryReply:
        """The next entry of the script."""
        self.requests.append(request)
        entries = list(self.script)
        entry = entries[min(len(self.requests), len(entries)) - 1]
        if isinstance(entry, Exception):
            raise entry
        return SummaryReply(entry) if isinstance(entry, str) else entry

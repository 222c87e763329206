"""Fakes and builders for tests: random conversations, a scripted summarizer, servers.

`conversation(turns=4, seed=7)` is always the same conversation: it uses no clock and no global
randomness. The other packages do not import this one.

    dialects.py      a step of the model, and what writes it in each dialect
    scripted_api.py  a server with a script, on loopback
    messages_api.py  Anthropic's Messages API with a script
    chat_api.py      OpenAI's `/chat/completions` with a script
    responses_api.py OpenAI's `/responses` with a script
"""

from collections.abc import Iterable, Sequence
from random import Random
from typing import Any, Literal, TypeAlias

from context_compression.summaries.summarizer import SummaryReply, SummaryRequest
from context_compression.testing.dialects import PIXEL, WRITERS, Dialect, ModelStep, Run

__all__ = [
    "PIXEL", "Dialect", "Ending", "Run", "ScriptedSummarizer", "conversation", "log", "run",
    "said_by_model", "said_by_user", "summary_about", "tool_step",
]  # fmt: skip

Ending: TypeAlias = Literal["closed", "unseen", "partial", "open"]
"""How a conversation ends: with an answer of the model; with results that the model has not seen;
with one result missing; with all results missing.
"""

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


BEGINNING_WORDS, BEGINNING_CHARS = 80, 800
"""How much of a record the default answer of `ScriptedSummarizer` tells."""


def conversation(
    turns: int = 6, seed: int = 0, dialect: Dialect = "anthropic", *, ending: Ending = "closed"
) -> list[dict[str, Any]]:
    """A valid conversation of a coding agent, in the dicts of a dialect.

    It has parallel tool calls, thinking, images, errors, Chinese text, and system and developer
    messages, as far as the dialect supports them. The last turn always has a tool step.
    """
    random = Random(f"{dialect} {seed}")
    roles = WRITERS[dialect].system_roles
    messages: list[dict[str, Any]] = []
    if "system" in roles:
        messages.append({"role": "system", "content": "You are a careful engineer. Be brief."})
    for turn in range(turns):
        last = turn == turns - 1
        messages.append(said_by_user(random.choice(REQUESTS), dialect, random.random() < 0.15))
        if "developer" in roles and random.random() < 0.2:
            messages.append({"role": "developer", "content": "The user must never see secrets."})
        for step in range(max(random.randrange(4), 1 if last else 0), 0, -1):
            runs = [run(random) for _ in range(random.choice((1, 1, 2, 3)))]
            thought = random.choice(THOUGHTS) if turn % 2 else None
            answered = len(runs)
            if last and step == 1 and ending in ("partial", "open"):
                answered = len(runs) - 1 if ending == "partial" else 0
            messages += tool_step(runs, dialect, thought=thought, answered=answered)
        if not last or ending == "closed":
            messages += said_by_model(random.choice(ANSWERS), dialect)
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
    """Lines as a tool prints them: numbers, names, paths, and an occasional error."""
    return "\n".join(
        f"{number:4} {'ERROR' if random.random() < 0.03 else 'info'} "
        f"{' '.join(random.choices(WORDS, k=6))} id={random.getrandbits(32):08x}"
        for number in range(1, lines + 1)
    )


def said_by_user(
    text: str, dialect: Dialect, picture: bool = False, document: bool = False
) -> dict[str, Any]:
    """A user message, with a picture or a text file if the flags are set."""
    return WRITERS[dialect].user(text, picture, document)


def said_by_model(
    text: str, dialect: Dialect, *, thought: str | None = None, redacted: bool = False, id: str = ""
) -> list[dict[str, Any]]:
    """The model's messages at the end of a turn; `id` is used in their ids and signatures."""
    return WRITERS[dialect].step(ModelStep((), text, thought, redacted, id=id))


def tool_step(
    runs: Sequence[Run],
    dialect: Dialect,
    *,
    thought: str | None = None,
    redacted: bool = False,
    says: str = "",
    answered: int | None = None,
) -> list[dict[str, Any]]:
    """An assistant message with the calls, and the results of the first `answered` calls.

    A `thought` is left out in OpenAI Chat, which does not support it. A `redacted` thought is
    included, but only the provider can read it.
    """
    return WRITERS[dialect].step(ModelStep(runs, says, thought, redacted, answered))


def summary_about(goal: str) -> str:
    """A summary of any `conversation`, as a model might write it."""
    return (
        f"## Goal\n{goal}\n\n## Progress\nThe connect, session, token, cache, index, worker, "
        "request, handler, config, retry, buffer, query, login, timeout, header and schema modules "
        "under src were read, and pytest saw an AssertionError in some.\n\n"
        "## Next Steps\nRun pytest on src/login and src/cache again."
    )


class ScriptedSummarizer:
    """Answers each request with the next entry of a script, or raises it if it is an exception.

    The last entry is repeated; `requests` holds all requests. Without a script, each answer is a
    summary that tells how its record begins.
    """

    def __init__(self, *script: str | SummaryReply | Exception) -> None:
        self.script: Iterable[str | SummaryReply | Exception] = script
        self.requests: list[SummaryRequest] = []

    async def summarize(self, request: SummaryRequest) -> SummaryReply:
        """The next entry of the script."""
        self.requests.append(request)
        entries = list(self.script) or [_beginning_of(request)]
        entry = entries[min(len(self.requests), len(entries)) - 1]
        if isinstance(entry, Exception):
            raise entry
        return SummaryReply(entry) if isinstance(entry, str) else entry


def _beginning_of(request: SummaryRequest) -> str:
    """A summary that tells how the record of a request begins."""
    record = request.prompt.partition("</conversation>")[0]
    words = " ".join(record.split()[1:BEGINNING_WORDS])
    return f"## Goal\nAs before.\n\n## Critical Context\n{words[:BEGINNING_CHARS]}"

"""Which rollout is the conversation of the Codex that started this process.

The call says it itself: `_meta.threadId` (seen in version 0.169) stands in the file's name. Codex
does not pass on CODEX_HOME; where it is set, our entry in config.toml needs
`env_vars = ["CODEX_HOME"]`.
"""

import re
from pathlib import Path

from context_compression.transcripts.caller import Caller, LiveHost, transcript_of_call, uncertain
from context_compression.transcripts.candidates import Candidate, files
from context_compression.transcripts.damaged import row_in
from context_compression.transcripts.lines import as_object, string

SEARCHED = 50  # rollouts, the newest ones, for those of this working directory


def rollouts_here(caller: Caller) -> list[Candidate]:
    """The threads of this working directory, the one written last first."""
    folder = caller.folder("CODEX_HOME", ".codex") / "sessions"
    newest = sorted(folder.glob("*/*/*/rollout-*.jsonl"), reverse=True)[:SEARCHED]  # by date
    return files(path for path in newest if _cwd(path) == str(caller.cwd))


def find_current(caller: Caller) -> Path:
    """The thread we are called from; a subagent's own, if it called.

    Raises:
        ConversationNotFound: not certain which one it is.
    """
    thread = caller.asking.meta.get("threadId") or caller.environ.get("CODEX_THREAD_ID")
    if not isinstance(thread, str) or not re.fullmatch(r"[A-Za-z0-9-]+", thread):
        return transcript_of_call(caller, rollouts_here)
    folder = caller.folder("CODEX_HOME", ".codex")
    if found := files(folder.glob(f"sessions/*/*/*/*-{thread}.jsonl")):
        return found[0].path
    raise uncertain(
        caller,
        f"There is no rollout of the thread {thread} below {folder}. If CODEX_HOME is set, Codex "
        'has to pass it on: env_vars = ["CODEX_HOME"] in the entry of this server',
        rollouts_here(caller),
    )


def _cwd(path: Path) -> str:
    try:
        with path.open("rb") as file:
            first = row_in(file.readline())
    except OSError:
        return ""
    return string(as_object(first.get("payload")), "cwd")


HOST = LiveHost(
    name="Codex",
    client="codex",
    mark="x-codex-turn-metadata",
    variable="CODEX_THREAD_ID",
    is_proved=False,
    find=find_current,
    here=rollouts_here,
)

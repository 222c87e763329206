"""Finds the rollout of the Codex conversation that calls us.

The call names its thread in `_meta.threadId` (seen in version 0.169), and the thread's id is part
of the names of its files; the call is in the one begun last. Codex does not pass on CODEX_HOME; if
the user sets it, our entry in config.toml needs `env_vars = ["CODEX_HOME"]`.
"""

import re
from pathlib import Path

from context_compression.hosts.codex.about import (
    NAME,
    THREAD_VARIABLE,
    TITLE,
    home_folder,
)
from context_compression.hosts.codex.rollouts import by_thread, meta, newest, rollouts
from context_compression.transcripts.caller import Caller
from context_compression.transcripts.candidates import CandidateConversation, files
from context_compression.transcripts.lines import string
from context_compression.transcripts.live_host import LiveHost, transcript_of_call, uncertain
from context_compression.transcripts.same_folder import is_same_folder

SEARCHED = 50  # the newest rollouts that are searched for those of this working directory


def rollouts_here(caller: Caller) -> list[CandidateConversation]:
    """The threads of this working directory; the one written last comes first."""
    folder = home_folder(caller.environ, caller.home)
    threads = by_thread(rollouts(folder)).values()
    latest = sorted(threads, key=lambda found: max(each.path.name for each in found), reverse=True)
    paths = (newest(found).path for found in latest[:SEARCHED])  # by date
    here = str(caller.cwd)
    return files(path for path in paths if is_same_folder(string(meta(path), "cwd"), here))


def find_current(caller: Caller) -> Path:
    """The rollout of the thread we are called from; a subagent's own if it called.

    Raises:
        ConversationNotFound: it is not certain which rollout is ours.
    """
    thread = caller.request.meta.get("threadId") or caller.environ.get(THREAD_VARIABLE)
    if not isinstance(thread, str) or not re.fullmatch(r"[A-Za-z0-9-]+", thread):
        return transcript_of_call(caller, rollouts_here)
    folder = home_folder(caller.environ, caller.home)
    named = [*rollouts(folder, thread)]
    if found := by_thread(named).get(thread):
        return newest(found).path
    if found := [each for each in named if each.id == thread]:  # a file of a thread
        return newest(found).path
    raise uncertain(
        caller,
        f"There is no rollout of the thread {thread} below {folder}. If CODEX_HOME is set, Codex "
        'has to pass it on: env_vars = ["CODEX_HOME"] in the entry of this server',
        rollouts_here(caller),
    )


HOST = LiveHost(
    name=TITLE,
    client=NAME,
    meta_key="x-codex-turn-metadata",
    variable=THREAD_VARIABLE,
    is_proved=False,
    find=find_current,
    here=rollouts_here,
)

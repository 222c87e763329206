"""Which session is the conversation of the Pi that started this process.

Pi writes a call down before it runs it (seen in version 0.87), so the session that makes the very
call being answered is ours.
"""

import re
from pathlib import Path

from context_compression.transcripts.caller import Caller, LiveHost, transcript_of_call
from context_compression.transcripts.candidates import Candidate, files
from context_compression.transcripts.damaged import row_in
from context_compression.transcripts.lines import string


def sessions_here(caller: Caller) -> list[Candidate]:
    """The sessions of this working directory, the one written last first."""
    name = re.sub(r"[/\\:]", "-", re.sub(r"^[/\\]", "", str(caller.cwd)))
    agent = caller.folder("PI_CODING_AGENT_DIR", ".pi", "agent")
    paths = list((agent / "sessions" / f"--{name}--").glob("*.jsonl"))
    if own := caller.environ.get("PI_CODING_AGENT_SESSION_DIR"):  # not by project
        paths += [path for path in Path(own).glob("*.jsonl") if _cwd(path) == str(caller.cwd)]
    return files(paths)


def find_current(caller: Caller) -> Path:
    """The session we are called from.

    Raises:
        ConversationNotFound: not certain which one it is.
    """
    return transcript_of_call(caller, sessions_here)


def _cwd(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return string(row_in(file.readline()), "cwd")
    except OSError:
        return ""


HOST = LiveHost(
    name="Pi",
    client="pi",
    mark="",
    variable="PI_CODING_AGENT",
    is_proved=True,
    find=find_current,
    here=sessions_here,
)

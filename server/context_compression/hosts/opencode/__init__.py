"""opencode: the database `~/.local/share/opencode/opencode.db`, or a session exported to JSON.

session   id, directory, title, parent_id (of a subagent), revert {messageID, partID}, time_updated
message   id, session_id, time_created, time_updated, data: {role, parentID, modelID, tokens, …}
part      id, message_id, session_id, time_updated, data: {type, …}

An export is `{"info": session, "messages": [{"info": …, "parts": […]}, …]}`. A session's path is
that of the database and its id: `…/opencode.db/ses_1fe1…`.

Parts: text, reasoning, tool {tool, callID, state {status, input, output, time.compacted}}, file
{mime, url}, compaction {tail_start_id}, subtask, step-start, step-finish, patch, snapshot, agent. A
compaction is a part of a user's message; the assistant's message that answers it (`summary`) holds
the summary. What stands before is gone, but for the messages from `tail_start_id` on. Seen in
versions 1.2 and 1.18; checked against the latter's own choice of messages.

    live.py        which messages are in the context now
    context.py     the messages they make, and their real usage
    transcript.py  both together; exports
    database.py    the database
    current.py     which session belongs to the host that started us
"""

from context_compression.hosts.opencode.database import SessionReading, database_of, title_of
from context_compression.hosts.opencode.transcript import NAME, is_export, read_document

__all__ = ["NAME", "SessionReading", "database_of", "is_export", "read_document", "title_of"]

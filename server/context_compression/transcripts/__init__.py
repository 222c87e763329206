"""What hosts' transcripts have in common: files of rows, read as a conversation, and written.

Here live the files, lines, rows and blocks that every host's reader uses. What one host writes, and
where, is known in `hosts/<host>/`.

    transcript.py         `Transcript`, and what a host's reader offers
    access.py             which files may be read
    reading.py            a file, read once, and later only what was added
    lines.py              a file as lines, and the errors for files that cannot be read
    rows.py               the JSON objects among the lines; damaged_lines.py: those in broken lines
    row_cache.py          rows in memory, as many as fit
    gzip_limit.py         how much a gzip file may hold
    blocks.py             content blocks from what hosts write in other shapes
    message_files.py      plain files of messages
    caller.py             the call being answered, and the process that answers it
    live_host.py          finding the transcript that the call comes from
    candidates.py         the conversations that may be meant
    exporter.py           what a host offers to have a new session written
    portable_messages.py  a view in terms that every host has
"""

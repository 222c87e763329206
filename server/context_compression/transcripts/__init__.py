"""Transcripts: the parts of reading and writing them that all hosts share.

This folder holds the files, lines, rows and blocks that every host's reader uses. The formats and
the places of one host's transcripts are in `hosts/<host>/`.

    transcript.py         `Transcript`, and the interface of a host's reader
    generations.py        the generations of a host's format, and those not seen
    shapes.py             the shapes of what a host's rows hold, and those not known
    history.py            `History`: a whole conversation, with what compactions took out
    stages.py             a history from the conversation before each compaction
    access.py             which files may be read
    reading.py            reads a file once, and later only the lines added to it
    ends.py               the first and last rows of a large file
    lines.py              a file as lines, and the errors for files that cannot be read
    rows.py               the JSON objects among the lines
    damaged_lines.py      the JSON objects in damaged lines
    row_cache.py          rows in memory, up to a size
    unpacking.py          packed files, and the limits for them
    later.py              sequences that are made when they are looked at
    times.py              times as hosts write them
    blocks.py             content blocks, made from hosts' formats
    message_files.py      plain files of messages
    caller.py             the tool call being answered, and the process that answers it
    live_host.py          finds the transcript that the tool call comes from
    candidates.py         the conversations that may be meant
    host_sessions.py      the interface of a host's module that finds its sessions
    exporter.py           the interface of a host's module that writes new sessions
    portable_messages.py  a view in blocks that every host supports
"""

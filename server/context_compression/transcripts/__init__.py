"""What hosts' transcripts have in common: files of rows, read as a conversation, and written.

Here live lines, rows, blocks and the file access that every host's reader uses. What one host
writes, and where, is known in `hosts/<host>/`.

    transcript.py      `Transcript`, and what a reader of one host offers
    access.py          which files may be read
    lines.py rows.py damaged.py packed.py shelf.py
                       files as lines, lines as rows; damaged and packed ones
    blocks.py          content blocks from what hosts write in other shapes
    message_files.py   plain files of messages
    caller.py          who asks for the current conversation
    candidates.py      conversations to choose from
    copy.py portable.py
                       a view as a new session of a host
"""

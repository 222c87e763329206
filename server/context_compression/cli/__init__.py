"""The command `context-compression`: serve agents, look at conversations, compress, restore.

    app.py        the command itself: its global options, and how it ends
    commands.py   what it can do, a function for each word
    compress.py   the largest of them, with export.py beside it
    restore.py    what was archived: printed, or found
    archive.py    what is archived, its size, and how it goes
    setup.py      into hosts and out again
    asked.py      a compression that both can be asked for
    two_calls.py  a summary that whoever runs the command writes
    arguments.py  what is typed, as values
    pages.py      what people read
    records.py    what programs read
    terminal.py   bytes, UTF-8, a sign of life

Answers go to stdout, everything about them to stderr, so that both can be piped. It ends with 0;
with 1 where no line has a pattern, or the doctor finds something wrong; with 2 when it was asked
for something it cannot do; with 130 on Ctrl-C.
"""

from context_compression.cli.app import main
from context_compression.cli.commands import COMMANDS

__all__ = ["main"]

for command in COMMANDS:
    main.add_command(command)

"""The command `context-compression`.

The commands:
    app.py                  the command itself: global options, errors, exit codes
    commands.py             the list of commands, each imported when it is used
    hook.py                 hook, statusline: called by hosts
    serve.py                serve: over stdio, or over HTTP
    status.py               status
    compress.py             compress
    export.py               export
    restore.py              restore: prints an original, or searches the archive
    sessions.py             sessions: the sessions of all hosts, with numbers
    summaries.py            summaries
    config.py               config
    demo.py                 demo
    archive.py              archive, archive delete, archive prune
    setup.py                install, uninstall, doctor
    trust.py                trust
    completion.py           completion: the script for a shell

Shared modules:
    compression_options.py  the options of compress and export, and the compression they describe
    summary_by_user.py      a summary that the user writes
    numbers.py              the numbers of sessions, which other commands take
    arguments.py            parses typed values
    text_output.py          the output for people
    json_output.py          the output for programs (--json)
    terminal.py             bytes, UTF-8, questions
    page.py                 pages: lines, facts, tables, gauges, and their layout
    console.py              the screen of a terminal: its size, styles
    meter.py                the bar that shows how much of long work is done
    help.py                 groups of commands, examples, the nearest name

The answer goes to stdout, and all messages about it go to stderr, so that each can be piped. Exit
codes: 0 for success; 1 if no line matches a pattern, the doctor finds a problem, or the user does
not trust a store; 2 for a command that cannot be carried out; 130 for Ctrl-C.

The package `doors` resolves a conversation's name; `mcp_server` serves agents.
"""

from context_compression.cli.app import main

__all__ = ["main"]

"""The command `context-compression`.

The commands:
    app.py          the command itself: its commands and their help, global options, exit codes
    hook.py         hook, statusline: called by hosts
    serve.py        serve: over stdio, or over HTTP
    status.py       status, summaries
    compress.py     compress: prints the compacted conversation on stdout and its report on stderr;
                    export
    restore.py      restore: prints an original, or searches the archive
    sessions.py     sessions: lists the sessions of all hosts and our own, each with a number
    report.py       report: as text, or as a page
    config.py       config, trust
    demo.py         demo: conversation.jsonl through all six tools
    archive.py      archive, archive delete, archive prune
    setup.py        install, uninstall, doctor
    completion.py   completion: the script for a shell, and what a shell may complete

Shared modules:
    arguments.py     parses typed values
    last_listing.py  the sessions that were listed last, by number
    output.py        facts of an answer, as pages
    terminal.py      output to a terminal or a pipe: styles, exact bytes, questions, and the bar of
                     a long work
    page.py          pages: lines, facts, tables, gauges, and their layout

The answer goes to stdout, and all messages about it go to stderr, so that each can be piped. Exit
codes: 0 for success; 1 if no line matches a pattern, the doctor finds a problem, or the user does
not trust a store; 2 for a command that cannot be carried out; 130 for Ctrl-C.

`hosts.conversations` resolves a conversation's name; `mcp_server` serves agents.
"""

from context_compression.cli.app import main

__all__ = ["main"]

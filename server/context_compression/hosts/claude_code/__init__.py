"""Claude Code. This imports nothing: the status line is a process that has to be quick.

host.py                 `CLAUDE_CODE`: the host as one value
about.py                its name, variables, folders
transcript/             its transcripts as conversations: rows.py, context.py, reader.py
sessions.py             its sessions: those on this machine, the live one, and new ones
hooks/                  answers to its hooks
hooks/outputs.py        outputs of Claude Code's tools as text and back, and a view as the rows of
                        its hooks
install_plugin.py       installation of our plugin through Claude Code's own commands, and of the
                        status line
plugin/                 the plugin: server, hooks, a command, a skill
status_line.py          a line about the context on its screen
"""

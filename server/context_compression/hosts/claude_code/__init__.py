"""Claude Code.

about.py                its name, variables, folders
transcript/rows.py      rows of a Claude Code transcript: their kinds, what each follows, the live
                        branch, the course
transcript/context.py   messages from live rows: what the model was sent, with compactions and what
                        the user said
host.py                 Claude Code as a host: its configuration, its sessions, the live one, and
                        new sessions
hooks/outputs.py        outputs of Claude Code's tools as text and back, and a view as the rows of
                        its hooks
hooks/compaction.py     compactions of Claude Code: answered with our view, or prepared for the
                        host's own
install_plugin.py       installation of our plugin through Claude Code's own commands, and of the
                        status line
plugin/                 the plugin: server, hooks, a command, a skill
status_line.py          a line about the context on its screen
"""

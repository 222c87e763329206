"""Claude Code.

about.py                 its name, variables, folders
transcript/              its transcripts
stored_sessions.py       the sessions that it keeps
current.py               finds the transcript of the conversation that calls us
hooks/                   our answers to its events
export.py                a view as a new session that it resumes
configuration.py         its configuration, and our entry in it
install_plugin.py        installs our plugin through Claude Code
plugin/                  the plugin: server, hooks, a command, a skill
status_line.py           a line about the context on its screen
status_line_setting.py   that line in its settings
"""

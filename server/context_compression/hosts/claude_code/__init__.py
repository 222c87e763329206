"""Claude Code: everything we know of it.

about.py            its name, variables, folders
transcript/         its transcripts
current.py          which session is the conversation that calls us
hooks/              its events, and our answers
export.py           a view as a new session that it resumes
configuration.py    its configuration, and our entry in it
install_plugin.py   has Claude Code install our plugin
plugin/             the plugin: server, hooks, a command, a skill
"""

from context_compression.moved import held_elsewhere

__getattr__ = held_elsewhere(__name__)

"""All that is known of Claude Code.

transcript/         its transcripts
current.py          which session belongs to the host that started us
hooks/              its events, and our answers
export.py           a view as a new session that it resumes
configuration.py    where its configuration is, and our entry in it
install_plugin.py   has Claude Code install our plugin
plugin/             what is installed into it
"""

from context_compression.moved import held_elsewhere

__getattr__ = held_elsewhere(__name__)

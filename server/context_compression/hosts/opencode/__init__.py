"""opencode.

context.py      opencode's names, and its messages as Anthropic messages: what the model was sent
transcript.py   its transcripts: a database, or exported sessions
database.py     reader for opencode's database. The host may write to the database meanwhile; we
                never do
second.py       sessions of opencode 2: their rows and messages as those of opencode 1
host.py         opencode as a host: its configuration, its sessions, the live one, hooks
plugin/         the plugin with our hooks
"""

"""Getting into hosts and out again: install, uninstall, doctor.

machine.py        the computer, and how our server is started on it
hosts.py          the table of hosts: where each keeps its configuration, our entry in it
jsonc.py          an entry in JSON with comments ...
toml.py           ... in TOML ...
yaml.py           ... in YAML, as text, so that all else stays byte for byte
files.py          others' files, replaced whole, with a backup
installing.py     putting the entry in and taking it out
claude_plugin.py  the plugin, which Claude Code registers itself
doctor.py         whether it works in a host, and how to mend it
trial.py          the server started as a host would, and asked
"""

"""Getting into hosts and out again: install, uninstall, doctor.

machine.py        the computer, and how our command is started on it
hosts.py          the table of hosts: where each keeps what, and what of ours goes there
pieces.py         what of ours goes into a file: an entry, hooks, a script
jsonc.py          values in JSON with comments ...
json_parts.py     (which is taken apart here)
toml.py           ... in TOML ...
yaml.py           ... in YAML, as text, so that all else stays byte for byte
files.py          others' files, replaced whole, with a backup
installing.py     putting pieces in and taking them out
claude_plugin.py  the plugin, which Claude Code registers itself
doctor.py         whether it works in a host, and how to mend it
switches.py       what keeps a host from using what is configured
findings.py       what the doctor says of an environment and a store
trial.py          the server started as a host would, and asked
"""

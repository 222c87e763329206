"""Changing a host's configuration, and undoing the change.

This folder holds file formats, backups and edits. `hosts/<host>/configuration.py` says where a host
keeps its configuration, and what we add to it.

    host.py            `Host`: where its configuration is, and what we add to it
    additions.py       what we add to a file: the server's entry, hooks, a script
    installing.py      adding them, and removing them again
    files.py           files of other programs: replaced atomically, with a backup
    jsonc.py           entries in JSON with comments (parsed in jsonc_parser.py)
    toml.py yaml.py    the same in TOML and in YAML
    config_values.py   reading values from a host's configuration
    machine.py         the user's computer, and the command that starts our server on it
    finding.py         one result of the doctor
"""

"""Changing a host's configuration, and undoing the change.

This folder holds file formats, backups and edits. The places of a host's configuration, and our
additions to it, are in `hosts/<host>/configuration.py`.

    host.py            `Host`: its configuration files, and our additions to them
    additions.py       additions to a file: the server's entry, hooks, a script
    installing.py      adding them, and removing them again
    files.py           files of other programs: replaced atomically, with a backup
    jsonc.py           entries in JSON with comments (parsed in jsonc_parser.py)
    toml.py yaml.py    the same in TOML and in YAML
    config_values.py   reading values from a host's configuration
    machine.py         the user's computer, and the command that starts our server on it
    mcp_package.py     whether the installed `mcp` is new enough for the server
    finding.py         one result of the doctor
"""

"""Changing a host's configuration, and undoing the change.

This folder holds file formats, backups and edits. The places of a host's configuration, and our
additions to it, are in its `Host`.

    installing.py   adding them, and removing them again
    files.py        configuration files of other programs: read, and replaced atomically after a
                    backup
    jsonc.py        edits of JSON files as text: values are added and removed, comments and layout
                    stay
    toml.py         yaml.py    the same in TOML and in YAML
    machine.py      the user's computer, the package `mcp` on it, and the command that starts our
                    server
"""

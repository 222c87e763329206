"""Changing a host's configuration, and changing it back.

Here live the formats, the backups and the edits. Where a host keeps its configuration, and what of
ours goes into it, is known in `hosts/<host>/configuration.py`.

    host.py            `Host`: where its configuration is, and what we add to it
    additions.py       what we add to a file: the server's entry, hooks, a script
    installing.py      adding them, and removing them again
    files.py           files of other programs: replaced atomically, with a backup
    jsonc.py           entries in JSON with comments (parsed in jsonc_parser.py)
    toml.py yaml.py    the same in TOML and in YAML
    config_values.py   reading what a host's configuration says
    machine.py         the user's computer, and the command that starts our server on it
    finding.py         one result of the doctor
"""

"""Old import paths: they still work, and warn with the new path.

This package holds the tables of moved modules and names, and the finder that reads them. The other
packages do not import anything by an old path.

    table.py    old path of a module -> new path
    names.py    old name of a class, function or value -> new name
    finder.py   makes `import` follow both
"""

from context_compression.moved.finder import follow_old_paths, held_elsewhere

__all__ = ["follow_old_paths", "held_elsewhere"]

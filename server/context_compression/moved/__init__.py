"""Old import paths: they still work, and warn with the new path.

This package holds the table of moved modules and the finder that reads it. The other packages do
not import anything by an old path.

    table.py    old path -> new path
    finder.py   makes `import` follow the table
"""

from context_compression.moved.finder import follow_old_paths, held_elsewhere

__all__ = ["follow_old_paths", "held_elsewhere"]

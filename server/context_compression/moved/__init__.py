"""Old import paths: they still work, and warn with the new one.

This room holds the table of moved modules and the finder that reads it. The package itself imports
nothing by an old path.

    table.py    old path -> new path
    finder.py   makes `import` follow it
"""

from context_compression.moved.finder import follow_old_paths, held_elsewhere

__all__ = ["follow_old_paths", "held_elsewhere"]

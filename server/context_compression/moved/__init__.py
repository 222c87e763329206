"""Old import paths: they still work, and warn with the new one.

Here lives the table of what was moved, and the finder that reads it. Nothing of the package
imports by an old path.

    table.py    old path -> new path
    finder.py   makes `import` follow it
"""

from context_compression.moved.finder import follow_old_paths, held_elsewhere

__all__ = ["follow_old_paths", "held_elsewhere"]

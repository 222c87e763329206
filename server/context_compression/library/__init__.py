"""The functions that programs call: `compress` and `acompress`, with and without a store.

Here lives what the package exports beyond the rooms' own classes.
"""

from context_compression.moved import held_elsewhere

__getattr__ = held_elsewhere(__name__)

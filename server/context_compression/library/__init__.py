"""The functions that programs call: `compress` and `acompress`, with and without a store.

Here lives the choice between a compression in memory and one through a session. The compression
itself lives in `compression`, what is kept on disk in `session` and `store`.

    functions.py    `compress` and `acompress`
"""

from context_compression.moved import held_elsewhere

__getattr__ = held_elsewhere(__name__)

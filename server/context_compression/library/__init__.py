"""The functions that programs call: `compress` and `acompress`, with and without a store.

This package chooses between a compression in memory and one through a session. The package
`compression` does the compression; `session` and `store` keep its originals on disk.

    functions.py    `compress` and `acompress`
"""

from context_compression.moved import held_elsewhere

__getattr__ = held_elsewhere(__name__)

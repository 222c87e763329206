"""The functions that programs call: `compress` and its like, with and without a store.

This package chooses between a compression in memory and one through a session. The package
`compression` does the compression; `session` and `store` keep its originals on disk.

    functions.py    `compress`, `acompress`, `should_compress`
    continuing.py   `compress` before each request: continues what the last call returned
"""

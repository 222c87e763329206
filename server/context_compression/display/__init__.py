"""How strings and numbers are shown to whoever reads them, an agent or a person.

Here live the pure functions that every text of ours goes through: one line from a string that
others wrote, fences that quoted text cannot close, look-alike letters, plurals. What is said in an
answer is decided in `mcp_server` and `cli`.

    strings.py      strings that others wrote: on one line, without control characters
    fences.py       fences around quoted text
    lookalikes.py   texts with look-alike letters replaced
    plurals.py      numbers of things, in words
"""

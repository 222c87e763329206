"""How strings and numbers are shown to an agent or a person.

This room holds pure functions that every text of this package goes through. The content of answers
is decided in `mcp_server` and `cli`.

    strings.py      strings that others wrote: on one line, without control characters
    fences.py       fences around quoted text
    lookalikes.py   texts with look-alike letters replaced
    plurals.py      numbers with nouns that agree with them
"""

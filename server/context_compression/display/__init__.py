"""How strings and numbers are shown to an agent or a person, and how numbers are read.

This package holds pure functions for all texts that are shown. The packages `mcp_server` and `cli`
decide the content of answers.

    strings.py      strings from outside: on one line, without control characters
    cells.py        the width of text on a terminal
    fences.py       fences around quoted text
    lookalikes.py   texts with look-alike letters replaced
    plurals.py      numbers with nouns that agree with them
    quantities.py   numbers as people write them: 50k, 80 %
"""

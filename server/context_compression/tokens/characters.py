"""Characters that surely cost tokens: a request with more of them than its usage allows was cut."""

import re

CHARACTERS_A_TOKEN = 10
"""No text has more of these characters per token."""
_RUN = re.compile(r"(.)\1{7,}")


def sure_characters(text: str) -> int:
    """How many characters of a text surely cost tokens.

    A token may hold a hundred blanks, newlines or `=`, so white space is left out, and so is a
    character that is repeated eight times or more.
    """
    return len(_RUN.sub("", "".join(text.split())))

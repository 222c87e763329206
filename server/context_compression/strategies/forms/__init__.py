"""The forms a message may take in a view: full, with previews, clipped, a skeleton, the least.

Each form shows some of the message's texts; spans that were chosen beyond that are shown in their
places, and every gap is marked with what is missing.

    forms.py       `Form`, and `Forms`, which puts the messages of a plan into their forms
    user_texts.py  texts in the user's role: the user's own stay, a host's notes are shortened
    calls.py       calls with short arguments
    results.py     results as one line, or with what the user demands in them
    parts.py       beginning and end of a text
"""

from context_compression.strategies.forms.forms import Form, Forms
from context_compression.strategies.forms.parts import outer_parts
from context_compression.strategies.forms.user_texts import is_instruction, is_users

__all__ = ["Form", "Forms", "is_instruction", "is_users", "outer_parts"]

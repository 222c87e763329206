"""The forms of a message in a view: full, with previews, clipped, as a skeleton, or the least.

Each form shows some of the message's texts. Further spans that were chosen are shown in their
places, and a mark for each gap says how much is missing.

    forms.py       `Form`, and `Forms`, which puts the messages of a plan into their forms
    user_texts.py  texts of role user: the user's own are kept, a host's notes are shortened
    calls.py       calls with short arguments
    results.py     results as one line, with the user's constraints in them
    unread.py      results that the model has not read, in their share of the room
    parts.py       the beginning and end of a text
"""

from context_compression.strategies.forms.forms import Form, Forms
from context_compression.strategies.forms.parts import outer_parts
from context_compression.strategies.forms.unread import unread_in
from context_compression.strategies.forms.user_texts import is_instruction, is_users

__all__ = ["Form", "Forms", "is_instruction", "is_users", "outer_parts", "unread_in"]

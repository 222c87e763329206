"""Who wrote a text: the user, the host, the assistant, or this package.

A text of role user may be the user's own, a note from the host or a note of this package. A tool
result may hold the user's words, which `Message.said` then has. A host's own texts are recognised
by their beginnings, which were taken from transcripts of those hosts.

    host_notes.py   notes, summaries and skills that hosts add with role user
    questions.py    tools that ask the user, and the words in their results
    rejections.py   the reasons of calls that the user rejected
    answers.py      marks the user's words in the results of a conversation
    first_words.py  what a conversation without a title is called
    speech.py       the user's words in messages, notes of this package, the author of a text
"""

from context_compression.conversation.authors.answers import BY_USER, with_answers
from context_compression.conversation.authors.first_words import first_words, is_no_request
from context_compression.conversation.authors.host_notes import (
    HOST_NOTES,
    is_command_output,
    is_host_note,
    is_host_summary,
    is_skill,
    opening_of,
    skill_of,
)
from context_compression.conversation.authors.questions import asks_user
from context_compression.conversation.authors.rejections import reason_in
from context_compression.conversation.authors.speech import (
    EXCERPTS,
    author_of,
    holds_excerpts,
    holds_user_words,
    is_bare_command,
    is_note,
    is_our_note,
    speech_spans,
    title_of,
    user_spans,
    user_words,
    words_of_user,
)

__all__ = [
    "BY_USER",
    "EXCERPTS",
    "HOST_NOTES",
    "asks_user",
    "author_of",
    "first_words",
    "holds_excerpts",
    "holds_user_words",
    "is_bare_command",
    "is_command_output",
    "is_host_note",
    "is_host_summary",
    "is_no_request",
    "is_note",
    "is_our_note",
    "is_skill",
    "opening_of",
    "reason_in",
    "skill_of",
    "speech_spans",
    "title_of",
    "user_spans",
    "user_words",
    "with_answers",
    "words_of_user",
]

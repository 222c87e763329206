"""Who wrote a text: the user, the host, the assistant, or this package.

A text of role user may be the user's own, a note from the host or a note of this package. A tool
result may hold the user's words, which `Message.said` then has. A host's own texts are recognised
by their beginnings, which were taken from transcripts of those hosts.

    speech.py    the user's words in messages, notes of hosts and of this package, and the author of
                 a text
    answers.py   the user's words in tool results: answers to questions, and reasons of rejected
                 calls
"""

from context_compression.conversation.authors.answers import (
    BY_USER,
    asks_user,
    reason_in,
    with_answers,
)
from context_compression.conversation.authors.speech import (
    EXCERPTS,
    HOST_NOTES,
    author_of,
    first_words,
    holds_excerpts,
    holds_user_words,
    is_bare_command,
    is_command_output,
    is_host_note,
    is_host_summary,
    is_no_request,
    is_note,
    is_our_note,
    is_skill,
    opening_of,
    skill_of,
    speech_spans,
    title_of,
    user_spans,
    user_words,
    words_of_user,
)

__all__ = [
    "BY_USER", "EXCERPTS", "HOST_NOTES", "asks_user", "author_of", "first_words", "holds_excerpts",
    "holds_user_words", "is_bare_command", "is_command_output", "is_host_note", "is_host_summary",
    "is_no_request", "is_note", "is_our_note", "is_skill", "opening_of", "reason_in", "skill_of",
    "speech_spans", "title_of", "user_spans", "user_words", "with_answers", "words_of_user",
]  # fmt: skip

"""Conversations: messages and blocks as values, and how each provider writes them.

This package holds values and the rules of providers. It does not count tokens (`tokens`) or choose
what to compress (`planning`). It does not read files (`transcripts`). Of hosts (`hosts`) it knows
only the wording of their notes.

    messages.py           `Message` and its blocks, as values
    arguments.py          the texts in the arguments of calls, and other texts in their place
    formats/parts.py      what the readers of dialects share: plain JSON, providers' rules, roles,
                          shapes, ids, calls
    formats/reading.py    `parse`, which recognises the dialect of dicts, checks them, and makes a
                          `Conversation`; formats that are recognised, by foreign.txt, but not
                          read, are refused by name
    validity/pairing.py   `Pairing`: pairs each tool call with exactly one result, turn by turn;
                          late ones are moved
    validity/repairs.py   repairs of messages: empty texts, wrong roles, lone reasoning, item ids,
                          neighbouring roles
    authors/speech.py     the user's words in messages, notes of hosts and of this package, and the
                          author of a text
    authors/answers.py    the user's words in tool results: answers to questions, and reasons of
                          rejected calls
    labels.py             what this package writes around quotes and beside messages: labels,
                          gaps, marks, digests
    text_protocol.py      commands and outputs that a harness wrote as texts, read as tool steps
    system_prompt.py      summaries in the system prompt
    refs.py               refs: short names of archived originals, from their SHA-256
"""

from context_compression.conversation.authors import (
    BY_USER,
    EXCERPTS,
    holds_excerpts,
    is_our_note,
    speech_spans,
    user_spans,
    user_words,
    words_of_user,
)
from context_compression.conversation.authors.speech import is_only_polite
from context_compression.conversation.formats import ROLES, parse
from context_compression.conversation.formats.parts import without_halves
from context_compression.conversation.formats.reading import refusal
from context_compression.conversation.labels import (
    label_of,
    label_quotes,
    no_speaker,
    quotes_of,
    render,
    said,
    without_labels,
    without_marks,
)
from context_compression.conversation.messages import (
    COMPRESSED,
    Document,
    Image,
    Message,
    Opaque,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    as_object,
    assistant,
    is_array,
    is_by_model,
    is_object,
    strings_in,
    system,
    texts_of,
    user,
)
from context_compression.conversation.refs import REF, Refs, canonical, digest_of, ref_of
from context_compression.conversation.system_prompt import summary_in, with_summary
from context_compression.conversation.validity import NO_START, problems, repair

__all__ = [
    "BY_USER", "COMPRESSED", "EXCERPTS", "NO_START", "REF", "ROLES", "Document", "Image", "Message",
    "Opaque", "Refs", "Text", "Thinking", "ToolCall", "ToolResult", "as_object", "assistant",
    "canonical", "digest_of", "holds_excerpts", "is_array", "is_by_model", "is_object",
    "is_only_polite", "is_our_note", "label_of", "label_quotes", "no_speaker", "parse", "problems",
    "quotes_of", "ref_of", "refusal", "render", "repair", "said", "speech_spans", "strings_in",
    "summary_in", "system", "texts_of", "user", "user_spans", "user_words", "with_summary",
    "without_halves", "without_labels", "without_marks", "words_of_user",
]  # fmt: skip

"""Conversations: messages and blocks as values, and how each provider writes them.

This room holds values and the rules of providers. It counts no tokens (`tokens`), chooses nothing
(`planning`), reads no files and knows no host (`transcripts`, `hosts`); it only knows the wording
of hosts' notes.

    messages.py         `Message` and its blocks, as values
    formats/            dialects: dicts in, dicts out, a module for each
    provider_rules.py   the rules in which providers differ
    validity/           what providers accept, and the repair of what they would refuse
    authors/            who wrote a text: the user, a host, or this package
    labels.py           labels in notes that quote messages
    rendering.py        shortened texts, with marks for what is missing
    positions.py        positions in JSON and diffs, for the marks of gaps
    system_prompt.py    a summary in the system prompt
    refs.py             refs: short names of archived originals, from their SHA-256
"""

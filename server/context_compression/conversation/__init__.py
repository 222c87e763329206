"""Conversations: messages and blocks as values, and how each provider writes them.

This package holds values and the rules of providers. It does not count tokens (`tokens`) or choose
what to compress (`planning`). It does not read files (`transcripts`). Of hosts (`hosts`) it knows
only the wording of their notes.

    messages.py         `Message` and its blocks, as values
    arguments.py        the texts in the arguments of calls, and other texts in their place
    formats/            the dialects: each is read from dicts and written back as dicts
    provider_rules.py   the rules in which providers differ
    validity/           the rules of providers, and the repair of conversations that break them
    authors/            who wrote a text: the user, a host, or this package
    labels.py           labels in notes that quote messages
    rendering.py        shortened texts, with marks for what is missing
    positions.py        positions in JSON and diffs, shown in the marks of gaps
    system_prompt.py    summaries in the system prompt
    refs.py             refs: short names of archived originals, from their SHA-256
"""

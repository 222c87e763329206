"""What a conversation is: messages and blocks, and how each provider writes them.

Here live values and the rules of providers. Nothing here counts, chooses, reads files or knows a
host: transcripts are read in `transcripts` and `hosts`, tokens are counted in `tokens`.

    messages.py         `Message` and its blocks, as values
    formats/            dialects: dicts in, dicts out, a module for each
    provider_rules.py   in what the providers differ
    validity/           what providers accept, and the repair of what they would refuse
    authors.py          who wrote a text: the user, a host, or this package
    labels.py           labels in notes that quote others
    rendering.py        a text of which only some parts are shown
    positions.py        positions in JSON and diffs, for the marks of gaps
    system_prompt.py    a summary in the system prompt
    refs.py             refs: short names from the SHA-256 of a text
"""

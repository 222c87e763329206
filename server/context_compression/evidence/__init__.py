"""What later work refers back to, found by code: no model is asked.

Here live the words, facts and rules that decide what matters in a conversation. Which of it is kept
in a view is chosen in `planning` and `strategies`.

    words.py         paths, URLs, symbols, numbers, ids and flags in a text
    facts.py         evidence by class: paths, commands, errors, decisions, constraints
    constraints.py   the user's standing constraints
    open_tasks.py    tasks that are still open, and the plan made last
    outdated.py      what was replaced since: older reads of a file, older lists of tasks
    ledger/          the evidence of everything compressed so far
    redaction/       secrets, replaced before a text goes to a model
    grounding.py     whether a summary says only what its source says
"""

from context_compression.moved import held_elsewhere

__getattr__ = held_elsewhere(__name__)

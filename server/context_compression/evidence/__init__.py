"""Evidence: what later work in a conversation refers back to, found by code without a model.

Evidence is of two sorts. Evidence words are paths, URLs, symbols, numbers, ids and flags: words by
which the agent finds something again. Facts are commands, error lines, test counts, decisions,
requests and constraints of the user, and open tasks. What is outdated is no evidence.

This room finds evidence. What of it a view keeps is chosen in `planning` and `strategies`.

    words.py            evidence words: how a word is classified
    lexicon.py          the evidence words of texts, and whether a text is prose
    numbering.py        numbers for the evidence words of a conversation
    facts.py            facts by class: commands, errors, decisions, constraints, requests
    constraints.py      the user's standing constraints
    open_tasks.py       tasks that are still open, and the plan made last
    outdated.py         outdated parts: older reads of a file, older lists of tasks
    file_history.py     what the calls changed in files
    replaced_lines.py   the lines of a text that later changes replaced
    ledger/             the evidence of everything compressed so far
    redaction/          secrets, replaced before a text goes to a model
    grounding.py        whether a summary says only what its source says
"""

from context_compression.moved import held_elsewhere

__getattr__ = held_elsewhere(__name__)

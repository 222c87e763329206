"""Evidence: the parts of a conversation that later work refers to, found by code without a model.

There are two kinds of evidence. Evidence words are paths, URLs, symbols, numbers, ids and flags,
with which the agent finds content again. Facts are commands, error lines, test counts, decisions,
open tasks, and the user's requests and constraints. Outdated content is not evidence.

This package only finds evidence. `planning` and `strategies` choose which evidence a view keeps.

    words.py            evidence words: how a word is classified
    lexicon.py          the evidence words of texts, and whether a text is prose
    numbering.py        numbers for the evidence words of a conversation
    facts.py            facts by class: commands, errors, decisions, constraints, requests
    constraints.py      the user's standing constraints
    rule_words/         the words with which languages state rules
    asides.py           sentences that stand apart in pasted texts
    open_tasks.py       open tasks in calls and checklists, and the headings of the last plan
    outdated.py         outdated parts: replaced lines of files, older lists of tasks
    file_history.py     the changes of files by the calls
    replaced_lines.py   the lines of a text that later changes replaced
    ledger/             the evidence of everything compressed so far
    host_cuts.py        what a host left out of a tool result
    redaction/          secrets, replaced before a text is sent to a model
    grounding.py        items of a summary that do not occur in its source
"""

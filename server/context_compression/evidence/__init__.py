"""Evidence: the parts of a conversation that later work refers to, found by code without a model.

There are two kinds of evidence. Evidence words are paths, URLs, symbols, numbers, ids and flags,
with which the agent finds content again. Facts are commands, error lines, test counts, decisions,
open tasks, and the user's requests and constraints. Outdated content is not evidence.

This package only finds evidence. `planning` and `strategies` choose which evidence a view keeps.

    names.py                 where names begin and end in a text of any script
    words.py                 words that are evidence by themselves, found in texts and numbered for
                             a conversation
    facts.py                 facts by class: commands, errors, decisions, constraints, requests
    constraints.py           the user's standing constraints: sentences with `must`, `never`,
                             `always` and their like
    rule_words.py            the words with which people state standing rules, in some eighty
                             languages, which are in rule_words.txt
    outcome_words.py         the words with which errors, decisions and outcomes are told, by
                             language, which are in outcome_words.txt
    sentences.py             where sentences end, and the words that point to other sentences
    open_tasks.py            what is open: tasks, questions of tool calls, and what was last
    files.py                 the changes of files by the calls of a conversation, and what they made
                             outdated
    ledger/entries.py        entries of the ledger: read from messages, merged, and the part that a
                             view shows
    ledger/actions.py        actions on files by tool calls, shell commands and git
    ledger/changes.py        changes: the texts that tool calls write into files, and which were
                             taken back later
    ledger/tasks.py          tasks in calls and checklists, and the outcomes in the output of tools
    redaction/               secrets, replaced before a text is sent to a model
    grounding.py             items of a summary that do not occur in its source
"""

from typing import TYPE_CHECKING

from context_compression.extras import on_demand

if TYPE_CHECKING:
    from context_compression.evidence.constraints import constraints_in
    from context_compression.evidence.ledger import entries, from_json, merge
    from context_compression.evidence.redaction import beginning, redact
    from context_compression.evidence.words import Lexicon

__all__ = [
    "Lexicon", "beginning", "constraints_in", "entries", "from_json", "merge", "redact",
]  # fmt: skip

__getattr__ = on_demand(  # a door that redacts needs no rules
    __name__,
    {
        "evidence.ledger": ("entries", "from_json", "merge"),
        "evidence.constraints": ("constraints_in",),
        "evidence.redaction": ("beginning", "redact"),
        "evidence.words": ("Lexicon",),
    },
)

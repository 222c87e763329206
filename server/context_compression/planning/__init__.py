"""Plans and edits: which parts of a conversation may change, and how a change is made.

The strategies in `strategies` read a plan and propose edits.

    plan.py       `Plan`: turns, tool steps, head and tail, and the places to cut
    counter.py    what it needs of a counter of tokens
    steps.py      tool steps: calls with their results
    pins.py       messages that the caller wants to keep
    staying.py    messages that always stay
    archive.py    `Archive`: the content of the conversation that is already archived
    edits.py      `Edit(start, stop, becomes)`, and `apply`, which makes the view
    cuts.py       texts cut into pieces, each with its evidence
    pieces/       pieces, chosen by the evidence they add for their tokens
    selection.py  clips, digests and receipts that strategies share
    measured.py   all numbers that were chosen or measured
"""

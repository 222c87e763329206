"""What may be changed in a conversation, and how a change is said and made.

Here live the plan, the edits and the pieces that strategies choose among. Strategies themselves
live in `strategies`.

    plan.py        `Plan`: turns, tool steps, head and tail, pins; where one may cut
    edits.py       `Edit(start, stop, becomes)`, and `apply`, which makes the view
    cuts.py        texts cut into pieces, each with its evidence
    pieces.py      pieces chosen by the evidence they add for their tokens
    selection.py   clips, digests and receipts that strategies share
"""

"""What may be changed in a conversation, and how a change is described and made.

Strategies read a plan and propose edits; they live in `strategies`.

    plan.py       `Plan`: turns, tool steps, head and tail; where one may cut
    steps.py      tool steps: calls with their results
    pins.py       messages that the caller wants to keep
    archive.py    `Archive`: what is archived of the conversation already
    edits.py      `Edit(start, stop, becomes)`, and `apply`, which makes the view
    cuts.py       texts cut into pieces, each with its evidence
    pieces/       pieces chosen by the evidence they add for their tokens
    selection.py  clips, digests and receipts that strategies share
    measured.py   all numbers that were chosen or measured
"""

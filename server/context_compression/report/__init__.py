"""The report of one session: what filled its context, what left it, and what that cost.

    model.py    the facts of a report

It only reads. A report is for people: as a page that needs no network, or as a short text.
"""

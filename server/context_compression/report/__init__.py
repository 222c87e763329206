"""The report of one session: what filled its context, what left it, and what that cost.

    building.py   `build_report`: the facts, from a history and our record of the session
    model.py      the facts of a report
    sampling.py   which part of a long session's texts is counted
    rough.py      the sizes of a long session's messages, by the characters of their texts
    measured.py   the stages of a history, with the size of each message
    course.py     the context in each request, and the compactions among them
    consumers.py  what put tokens into the context: tools, files, what came again and again
    costs.py      what the input cost, and what it would have cost
    evidence.py   where the evidence is now, by class
    archived.py   the originals that left the context, and the health of the store

    text.py       a report as a short plain text
    chart.py      a small chart of the context over time, in characters

    html.py       a report as a page
    page/         the parts of the page

It only reads. A report is for people: as a page that needs no network, or as a short text.
"""

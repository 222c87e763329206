"""The report of one session: what filled its context, what left it, and what that cost.

    facts.py       what every door tells of a compression and of a status, under the same names

    building.py    `build_report`: the facts of one session's report, from its history and our
                   records
    model.py       the facts of a report
    rough.py       the sizes of a long session's messages, by the characters of their texts
    course.py      the context in each request of a session, its compactions, and what it all cost
    consumers.py   what put tokens into the context: tools, files, what came again and again

    text.py   a report as a short plain text with a chart, for a terminal or a pipe

    layout.py    the picture of the window over time: where requests, compactions and levels are
    html.py      the report as a page: one HTML file that needs no network and runs no code but its
                 own; `page/` has its template, style and script

It only reads. A report is for people: as a page that needs no network, or as a short text.
"""

from typing import TYPE_CHECKING

from context_compression.extras import on_demand

if TYPE_CHECKING:
    from context_compression.report.building import report_of

__all__ = ["report_of"]

__getattr__ = on_demand(  # the doors tell facts without it
    __name__, {"report.building": ("report_of",)}
)

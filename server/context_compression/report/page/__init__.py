"""The parts of the page; `report.html` puts them together.

markup.py       HTML by functions, which escape every text
sections.py     sections, tables, numbers
heading.py      the head of the page and its key numbers
kinds.py        the kinds of content that have a colour
layout.py       where each request and compaction is drawn
window.py       the window over time, and the compactions
consumers.py    the largest consumers, and what was read again and again
originals.py    what left: a list to search, and the texts that the script shows
balance.py      money, evidence, the store, warnings
page.css        its looks, on a screen and on paper
page.js         the values of a request, the search, the texts side by side
"""

"""The gates: what the score Q cannot see, on recordings of other harnesses and of plain talk.

    conversations.py  the recordings, and where they are cut
    view.py           a compressed conversation, and its size in o200k tokens
    wanted.py         what must still be in a view, and whether it is
    words.py          sentences and the words in them that say something
    places.py         the gates: where a history is compressed, and what is asked of its view
    growing.py        the gate of a session that is compressed five times
    searching.py      the gate of questions to the archive
    methods.py        ours, plain rules and peers, with one interface
    scores.py         figures, their means, and tables of them

`gates.py` runs them.
"""

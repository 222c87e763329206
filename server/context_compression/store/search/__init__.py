"""Search over everything that the sessions of a store archived, from query to hits.

This package holds the query language, the index, a scan for stores without an index, and the
ranking of hits. It reads the plain files and never writes them. The index is a separate file made
from them.

    run              runs a search: candidates from a source, ranked, as hits

    lookup           finds candidates in the index
    scan             finds candidates without an index
    ranking          the order of candidates
    index_file       the file of the index: opened, rebuilt if damaged, removed

    fits             how well documents of the index fit a query or a question
    index            updates the index from the logs
    indexed_session  one session as stored in the index
    tables           the tables of the index, and their rows
    sources          the interface that `lookup` and `scan` share

    documents        the texts and messages of a session that a search can find
    spans            the place of a text in the plain files
    messages         recorded messages, as hits show them
    spellings        the ways a text can be written in JSON
    excerpt          the lines of a text that show why it was found
    patterns         regular expressions, limited in time
    query            words, names, and the limits of a query
    function_words   the words of a question that say little

A module imports only modules below it. The first search imports them, and `sqlite3`.
"""

"""Search over everything that the sessions of a store archived, from query to hits.

This package holds the query language, the index, a scan for stores without an index, and the
ranking of hits. It reads the plain files and never writes them. The index is a separate file made
from them. A database gives candidates of its own, which are ranked here, too.

    run          runs a search: candidates from a source, ranked, as hits; the scan
    lookup       finds candidates in the index
    ranking      the order of candidates
    index        the file of the index, its update from the logs, and one in memory
    tables       the tables of the index: texts, their words, what stands beside them
    candidates   the documents that may be hits, and the interface to what finds them
    documents    the texts and messages of a session that a search can find
    excerpt      messages and lines as hits show them; how well documents fit a query
    query        words, names, limits, patterns; the words of a question that say little
    letters      one form for letters that are written in several

A module imports only modules below it. The first search imports them, and `sqlite3`.
"""

"""Search over everything that the sessions of a store archived, from query to hits.

Here live the language of queries, the index, the scan for when there is no index, and the order of
hits. The plain files are read here, never written; the index is a file of its own, made from them.

    run              runs a search: candidates from a source, in order, as hits

    lookup           finds candidates in the index
    scan             finds candidates without an index
    ranking          the order of candidates
    index_file       the file of the index: opened, made again where damaged, removed

    index            brings the index up to date with the logs
    indexed_session  one session as the index knows it
    tables           the tables of the index, and their rows
    sources          what `lookup` and `scan` have in common

    documents        what can be found in a session
    spans            where a text stands in the plain files
    messages         recorded messages, as hits show them
    spellings        how a text may be written in JSON
    excerpt          the lines of a text that show why it was found
    patterns         regular expressions, limited in time
    query            words, names, and the limits of a query
    results          hits, and the messages next to them

A module imports only what stands below it. `sqlite3` is imported by the first search.
"""

from context_compression.moved import held_elsewhere
from context_compression.store.search.results import Hit, Neighbour, SearchResult
from context_compression.store.search.run import Archive, search

__all__ = ["Archive", "Hit", "Neighbour", "SearchResult", "search"]

__getattr__ = held_elsewhere(__name__)

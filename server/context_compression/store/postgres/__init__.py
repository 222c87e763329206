"""A store in PostgreSQL, for many workers on many machines: `PostgresBackend`.

    backend      the methods of `Backend`, over the modules below
    lookup       one search: candidates, their texts, what stands beside them
    matching     which texts fit a query, and how well
    scope        what a search looks through, shelf by shelf
    texts        the texts that a search can find, as they are written
    lexemes      the words of texts and queries, as the index has them
    conversations    where the messages of sessions are
    rows         events and ledgers, which only grow
    archives     the originals of compressions
    refs         which session archived a ref
    contents     archived messages, each once for a tenant; large ones as objects
    guards       whether the policies bind our role, and whether what is kept must be sealed
    coding       JSON as the tables keep it: as it is, or encrypted
    schema       the tables, made and changed by numbered migrations
    database     pools of connections, transactions that are retried, locks
    attempts     transactions that are made once, however often they are run
    connections  a connection for one tenant, which may hold locks
    address      the parts of `postgresql://…`, without the password where people see it

A module imports only modules below it. Only this package imports `psycopg`, which the extra
`postgres` brings.
"""

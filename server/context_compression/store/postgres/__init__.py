"""A store in PostgreSQL, for many workers on many machines: `PostgresBackend`.

    backend      `PostgresBackend`, the store of a tenant, and what one session has in it
    lookup       one search: candidates, their texts, what stands beside them
    texts        the texts that a search can find and their words, as they are written
    rows         events and ledgers, which only grow; originals; contents, large ones as objects
    coding       JSON as the tables keep it, as it is or encrypted, and whether it must be sealed
    database     the tables, transactions that are retried, locks
    connections  a connection for one tenant, its pools, its address without secrets

A module imports only modules below it. Only this package imports `psycopg`, which the extra
`postgres` brings.
"""

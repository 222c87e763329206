"""Code shared by the interfaces for agents and for people.

This package finds the conversation that a caller names. The packages `mcp_server` and `cli` decide
what to do with it.

    conversations.py   by id, by path, or `current`
    listing.py         lists the sessions of all hosts, and our own
"""

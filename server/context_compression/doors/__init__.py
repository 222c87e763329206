"""What the doors for agents and for people share.

Here lives the search for the conversation that a caller names. What is done with it is decided in
`mcp_server` and `cli`.

    conversations.py   by id, by path, or `current`
"""

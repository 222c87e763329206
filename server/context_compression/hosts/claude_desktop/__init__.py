"""Claude Desktop: everything we know of it.

configuration.py   its configuration, and our entry in it
"""

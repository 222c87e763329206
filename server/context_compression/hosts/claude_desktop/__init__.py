"""All that is known of Claude Desktop.

configuration.py    where its configuration is, and our entry in it
"""

"""All that is known of Goose.

configuration.py    where its configuration is, and our entry in it
"""

"""All that is known of Cursor.

configuration.py    where its configuration is, and our entry in it
"""

"""All that is known of Zed.

configuration.py    where its configuration is, and our entry in it
"""

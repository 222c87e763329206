"""All that is known of VS Code.

configuration.py    where its configuration is, and our entry in it
"""

"""VS Code.

configuration.py   its configuration, and our entry in it
"""

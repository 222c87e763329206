"""What the doors for agents and for people share.

conversations.py   which conversation is meant: by id, by path, or `current`
"""

"""Completion in the user's shell: quick answers while a command is typed.

completing.py      what can be completed: hosts, settings, conversations, refs
saved_command.py   the command without its modules, from a description that was saved
last_listing.py    the sessions that `sessions` listed last, by number
"""

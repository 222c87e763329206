"""What the user's shell asks for while a command is typed: quick answers, without heavy imports.

last_listing.py   the sessions that `sessions` listed last, by number
"""

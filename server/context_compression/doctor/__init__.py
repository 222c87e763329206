"""Whether our server works in a host: what is wrong, and what to do about it.

doctor.py   all findings about one host
checks.py   findings about the environment, the store, the search and the key
trial.py    our server, started as a host would start it
"""

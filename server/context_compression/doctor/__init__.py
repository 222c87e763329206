"""Whether our server works in a host: what is wrong, and how to mend it.

doctor.py     what there is to say of one host
findings.py   of the environment and the store
trial.py      our server, started as a host would start it
"""

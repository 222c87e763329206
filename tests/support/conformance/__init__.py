"""Our server with everything that the protocol's conformance suite asks a server for.

fixtures.py     tools, resources and prompts with the names and answers that the suite knows
asking.py       tools and a prompt that ask the client back, in the protocol of 2026
suite.py        the suite itself, and the results of its scenarios
"""

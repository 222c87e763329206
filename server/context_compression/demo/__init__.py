"""The demo: a recorded conversation runs through all six tools of a real server.

    conversation.jsonl  an agent adds a strategy to this project; `benchmarks/make_demo.py` made it
                        from real commands
    tour.py             calls the tools and checks their results
    board.py            prints the answers and the checks

Not here: anything that the server itself needs.
"""

from context_compression.hosts.setup.machine import unavailable

if error := unavailable():
    raise error

from context_compression.demo.tour import run

__all__ = ["run"]

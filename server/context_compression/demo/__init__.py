"""A recorded conversation taken through all six tools of a real server: see it, and check it.

conversation.jsonl   an agent adds a strategy to this very project; made by
`benchmarks/make_demo.py` from real commands
tour.py              what is done with it
board.py             what is shown of it, and whether all held
"""

from context_compression.demo.tour import run

__all__ = ["run"]

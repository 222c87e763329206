"""The adapter for LangChain: a middleware for `create_agent` and deepagents, and for LangGraph.

    agent = create_agent(model, tools, middleware=[ContextCompression()])

LangGraph keeps the whole history in its state; only what is sent to the model is compressed.

middleware.py  the middleware, and its tool `context_restore`
messages.py    LangChain's messages as dicts of the AI SDK's dialect, and back
"""

from context_compression.integrations.langchain.middleware import ContextCompression

__all__ = ["ContextCompression"]

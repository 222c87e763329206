"""Plain HTTP beside `/mcp`, for programs in any language.

bodies.py      what is asked, and what is answered: the models of the OpenAPI document
operations.py  compress, fit, restore, status
endpoint.py    the way of a request to an operation, and of its answer; the status of every error
openapi.py     the OpenAPI document
"""

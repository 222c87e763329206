"""Adapters for agent frameworks: one module for each, which alone imports its framework.

Each is an extra of the package: `pip install ".[langchain]"`. The framework keeps
its history; before each request of its model, `Session.fit` says what to send instead.

langchain.py         LangChain, LangGraph, deepagents: a middleware
pydantic_ai.py       Pydantic AI: a capability
openai_agents.py     OpenAI Agents SDK: an input filter, and a session
litellm.py           LiteLLM: a callback of its proxy
agent_framework.py   Microsoft Agent Framework: a context provider, and a compaction strategy
strands.py           Strands Agents: a conversation manager
google_adk.py        Google ADK: a plugin
claude_agent_sdk.py  Claude Agent SDK: our plugin for Claude Code, and its hooks
opentelemetry.py     OpenTelemetry: spans of compactions and of calls to models

sessions.py          the sessions of one adapter, by the ids of the framework
translation.py       a framework's messages, fitted by way of dicts that we read

langchain_messages.py, pydantic_ai_messages.py, agent_framework_messages.py
                     messages of these frameworks as such dicts
litellm_calls.py     the calls of our tool in the three APIs of LiteLLM
litellm_streams.py   its streams of Chat Completions that go on after such a call
"""

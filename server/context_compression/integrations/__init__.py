"""Adapters for agent frameworks: one module for each, which alone imports its framework.

Each is an extra of the package: `pip install ".[langchain]"`. The framework keeps
its history; before each request of its model, `Session.fit` says what to send instead.

langchain.py          LangChain, LangGraph, deepagents: a middleware
pydantic_ai.py        Pydantic AI: a capability
openai_agents.py      OpenAI Agents SDK: an input filter for runs, a session, and the tool that
                      restores
litellm.py            LiteLLM: a callback that fits each request of its proxy, and answers
                      `context_restore`
agent_framework.py    Microsoft Agent Framework: a context provider, and the compaction strategy
strands.py            Strands Agents: a conversation manager
google_adk.py         Google ADK: a plugin that changes what is sent, and leaves the events of the
                      session
claude_agent_sdk.py   Claude Agent SDK: our plugin for Claude Code, and its hooks
opentelemetry.py      OpenTelemetry: spans of compactions and of calls to models

apis.py          the APIs of providers: the messages of a request, the calls of our tool
sessions.py      the sessions of one adapter, by the ids of the framework
translation.py   a framework's own messages, fitted by way of dicts that we read, with what persons
                 said

langchain_messages.py, pydantic_ai_messages.py
                 messages of these frameworks as such dicts
"""

"""One sample of every shape of every foreign format, and of the supported dialects.

Each was written by the library in question, or after its documentation, and shortened.
"""

from typing import Any

CALL = {"name": "sh", "args": {"command": "ls"}, "id": "c1", "type": "tool_call"}
DUMP: dict[str, Any] = {"content": "hi", "additional_kwargs": {}, "type": "human", "id": None}
AI: dict[str, Any] = {**DUMP, "type": "ai", "tool_calls": [CALL], "invalid_tool_calls": []}
UI: dict[str, Any] = {"id": "m1", "role": "user", "parts": [{"type": "text", "text": "hi"}]}
CHAT: dict[str, Any] = {"role": "user", "content": "hi"}
GEMINI: dict[str, Any] = {"role": "user", "parts": [{"text": "hi"}]}
TURN = {"from": "human", "value": "hi"}
BATCH: dict[str, Any] = {"custom_id": "r1"}
FUNCTION: dict[str, Any] = {"type": "function_call", "id": "c1", "arguments": {}}

FOREIGN: list[tuple[str, Any]] = [
    # LangChain: model_dump, messages_to_dict, dumpd; the state of a graph, a thread, a checkpoint
    ("LangChain", [DUMP, AI]),
    ("LangChain", {"type": "system", "content": "be brief", "additional_kwargs": {}}),
    ("LangChain", {"type": "tool", "content": "ok", "tool_call_id": "c1", "status": "success"}),
    ("LangChain", {**AI, "type": "AIMessageChunk", "tool_call_chunks": []}),
    ("messages_to_dict", {"type": "human", "data": DUMP}),
    ("dumpd", {"lc": 1, "type": "constructor", "id": ["langchain"], "kwargs": DUMP}),
    ("LangGraph", {"messages": [DUMP, AI], "remaining_steps": 24}),
    ("LangGraph", {"values": {"messages": [DUMP]}, "next": []}),
    ("LangGraph", {"v": 4, "channel_values": {"messages": [AI]}}),
    ("LangChain", {"messages": [{"type": "human", "data": DUMP}]}),
    # AI SDK, Mastra
    ("UIMessage", [UI, {"role": "assistant", "parts": [{"type": "tool-sh", "toolCallId": "c1"}]}]),
    ("AI SDK", {"role": "assistant", "parts": [{"type": "step-start"}]}),
    ("AI SDK", {"role": "assistant", "content": "", "toolInvocations": [{"toolCallId": "c1"}]}),
    ("version 4", {"role": "assistant", "parts": [{"type": "tool-invocation"}]}),
    ("version 4", {**UI, "content": "hi"}),
    ("UIMessage", {"id": "chat", "messages": [UI], "trigger": "submit-message"}),
    ("Mastra", {**CHAT, "createdAt": "2026-01-01", "content": {"format": 2, "parts": UI["parts"]}}),
    # others with parts
    ("OpenTelemetry", {"role": "user", "parts": [{"type": "text", "content": "hi"}]}),
    ("OpenTelemetry", {"role": "tool", "parts": [{"type": "tool_call_response", "id": "c1"}]}),
    ("pydantic-ai", {"kind": "request", "parts": [{"part_kind": "user-prompt", "content": "hi"}]}),
    ("A2A", {"role": "user", "messageId": "m1", "kind": "message", "parts": [{"kind": "text"}]}),
    ("A2A", {"role": "ROLE_USER", "messageId": "m1", "parts": [{"text": "hi"}]}),
    ("A2A", {"role": "agent", "message_id": "m1", "parts": [{"text": "hi"}]}),
    ("A2A", {"role": "agent", "parts": [{"kind": "text", "text": "hi"}]}),
    ("opencode", {"info": {"id": "msg_1", "role": "user"}, "parts": [{"type": "text"}]}),
    # frameworks
    (
        "Agent Framework",
        {"type": "message", "role": "user", "contents": [{"type": "text", "text": "hi"}]},
    ),
    ("Agent Framework", {"role": "user", "contents": [{"$type": "text", "text": "hi"}]}),
    ("Semantic Kernel", {"role": "user", "items": [{"content_type": "text", "text": "hi"}]}),
    ("Semantic Kernel", {"messages": [{"role": "user", "items": [{"content_type": "text"}]}]}),
    (".NET", {"Role": {"Label": "user"}, "Items": [{"$type": "TextContent", "Text": "hi"}]}),
    (".NET", {"role": {"label": "user"}, "items": [{"$type": "TextContent", "text": "hi"}]}),
    ("Haystack", {"role": "user", "meta": {}, "name": None, "content": [{"text": "hi"}]}),
    ("Haystack", {"role": "tool", "meta": {}, "content": [{"tool_call_result": {"result": "ok"}}]}),
    ("Haystack", {"_role": "user", "_content": [{"text": "hi"}], "_meta": {}}),
    ("LlamaIndex", {"role": "user", "blocks": [{"block_type": "text", "text": "hi"}]}),
    ("LlamaIndex", {"role": "assistant", "content": "", "additional_kwargs": {"tool_calls": []}}),
    (
        "Inspect",
        {"role": "assistant", "content": "", "tool_calls": [{"id": "c1", "function": "bash"}]},
    ),
    ("smolagents", {"step_number": 1, "timing": {}, "model_output": "Thought: look"}),
    ("smolagents", {"plan": "1. look", "model_output_message": {"role": "assistant"}}),
    ("smolagents", {"task": "fix it", "task_images": None}),
    ("smolagents", {"role": "tool-response", "content": [], "token_usage": None}),
    ("AutoGen", {"source": "user", "type": "TextMessage", "content": "hi", "metadata": {}}),
    ("AutoGen", {"type": "FunctionExecutionResultMessage", "content": []}),
    ("AutoGen", {"type": "AssistantAgentState", "llm_context": {"messages": []}}),
    ("AutoGen", {"type": "RoundRobinManagerState", "message_thread": []}),
    ("AutoGen", {"type": "TeamState", "agent_states": {}}),
    ("AG2", {"role": "tool", "content": "a\nb", "tool_responses": [{"tool_call_id": "c1"}]}),
    ("Letta", {"id": "message-1", "message_type": "user_message", "content": "hi"}),
    ("openhands-sdk", {"kind": "MessageEvent", "source": "user", "llm_message": CHAT}),
    ("OpenHands", {"id": 1, "source": "agent", "action": "run", "args": {"command": "ls"}}),
    ("OpenHands", {"id": 2, "source": "agent", "observation": "run", "content": "ok"}),
    ("ADK", {"author": "user", "invocationId": "e-1", "content": GEMINI}),
    ("ADK", {"author": "root_agent", "invocation_id": "e-1", "content": GEMINI}),
    ("ADK", {"id": "s1", "appName": "app", "userId": "u", "events": []}),
    ("ADK", {"id": "s1", "app_name": "app", "user_id": "u", "events": []}),
    ("Interactions", [FUNCTION, {"type": "function_result", "call_id": "c1", "result": {}}]),
    ("Cohere", {"role": "CHATBOT", "message": "hello"}),
    ("Cohere", {"role": "TOOL", "tool_results": [{"call": {}, "outputs": []}]}),
    ("AG-UI", {"id": "m1", "role": "assistant", "toolCalls": [{"id": "c1", "function": {}}]}),
    ("AG-UI", {"id": "m2", "role": "tool", "toolCallId": "c1", "content": "ok"}),
    ("Goose", {"role": "user", "created": 1, "content": [{"type": "toolResponse", "id": "c1"}]}),
    ("LangChain4j", {"type": "AI", "text": "hello", "toolExecutionRequests": []}),
    ("Spring AI", {"messageType": "USER", "metadata": {}, "text": "hi"}),
    ("Mistral", {"object": "entry", "type": "message.input", "role": "user", "content": "hi"}),
    (
        "Assistants",
        {"object": "list", "data": [{"object": "thread.message", "role": "user", "content": []}]},
    ),
    # answers, whole and streamed
    ("streamed", {"object": "chat.completion.chunk", "choices": []}),
    ("streamed", {"choices": [{"index": 0, "delta": {"content": "h"}}]}),
    ("streamed", {"type": "content_block_delta", "index": 0, "delta": {"text": "h"}}),
    ("Chat Completions", {"object": "chat.completion", "choices": [{"message": CHAT}]}),
    ("Responses", {"object": "response", "id": "resp_1", "output": []}),
    ("Gemini", {"candidates": [{"content": GEMINI}], "usageMetadata": {}}),
    ("Converse", {"output": {"message": CHAT}, "stopReason": "end_turn"}),
    # batches, training data
    ("OpenAI batch", {**BATCH, "method": "POST", "url": "/v1/…", "body": {"messages": [CHAT]}}),
    ("Anthropic batch", {**BATCH, "params": {"messages": [CHAT]}}),
    ("batch", {**BATCH, "result": {"type": "succeeded", "message": CHAT}}),
    ("batch", {**BATCH, "id": "batch_req_1", "response": None, "error": {}}),
    ("Gemini batch", {"key": "r1", "request": {"contents": [GEMINI]}}),
    ("Bedrock batch", {"recordId": "r1", "modelInput": {"messages": [CHAT]}}),
    ("ShareGPT", [{"id": "1", "conversations": [TURN]}]),
    ("ShareGPT", {"conversation": [TURN]}),
    ("ShareGPT", [TURN]),
    ("training data", {"prompt": "2 + 2", "completion": "4"}),
    ("training data", {"prompt": "2 + 2", "chosen": "4", "rejected": "5"}),
    ("training data", {"input": {}, "preferred_output": [], "non_preferred_output": []}),
    ("training data", {"instruction": "add", "input": "2 + 2", "output": "4"}),
    # exports
    ("ChatGPT export", [{"title": "t", "mapping": {"n1": {}}, "current_node": "n1"}]),
    (
        "ChatGPT export",
        {"author": {"role": "user"}, "content": {"content_type": "text", "parts": ["hi"]}},
    ),
    (
        "ChatGPT export",
        {"id": "n1", "message": {"author": {"role": "user"}, "content": {"content_type": "text"}}},
    ),
    ("claude.ai", [{"uuid": "u", "name": "t", "chat_messages": []}]),
    ("claude.ai", {"uuid": "u", "sender": "human", "text": "hi", "content": []}),
    ("Open WebUI", [{"id": "1", "title": "t", "chat": {"messages": [CHAT]}}]),
    ("LibreChat", {"messages": [{"messageId": "1", "isCreatedByUser": True, "text": "hi"}]}),
    ("AI Studio", {"runSettings": {}, "chunkedPrompt": {"chunks": [{"role": "user"}]}}),
    ("VS Code", {"responderUsername": "GitHub Copilot", "requests": []}),
    ("Cline", [{"ts": 1, "type": "say", "say": "text", "text": "hi"}]),
    ("Cline", {"ts": 1, "type": "ask", "ask": "tool"}),
    ("SWE-agent", {"trajectory": [], "history": [CHAT], "info": {}}),
    ("Continue", {"sessionId": "s", "history": [{"message": CHAT, "contextItems": []}]}),
    ("Dify", {"data": [], "id": "m", "query": "hi", "answer": "hello"}),
    ("Rasa", {"event": "user", "text": "hi", "timestamp": 1}),
    ("Rasa", {"sender_id": "s", "events": [{"event": "action"}]}),
    ("Slack", {"type": "message", "user": "U1", "ts": "1.2", "text": "hi"}),
    # what is ours, with more around it
    ("list", {"object": "list", "data": [CHAT], "has_more": False}),
    ("Pass its messages", {"model": "gpt-5", "messages": [CHAT]}),
    ("Pass its messages", [{"messages": [CHAT]}, {"messages": [CHAT]}]),
    ("Pass its contents", {"contents": [GEMINI], "systemInstruction": GEMINI}),
    ("Pass its input", {"model": "gpt-5", "input": [CHAT], "instructions": "be brief"}),
    ("Pass its list of messages", {"conversation": [CHAT], "lang": "en"}),
    ("Pass its list of messages", {"conversations": [CHAT], "id": "1"}),
    ("Pass its list of messages", {"history": [GEMINI]}),
]

OURS: list[list[dict[str, Any]]] = [
    [
        {**CHAT, "message_type": "user_message", "source": "user", "action": "ask"},
        {"role": "assistant", "content": "hello", "name": "helper", "meta": {}, "ts": "1"},
        {"role": "assistant", "content": "hello", "additional_kwargs": {}, "type": "AIMessage"},
        {"role": "user", "content": [{"text": "hi"}], "meta": {"at": 1}},
    ],
    [
        {"role": "assistant", "content": None, "function_call": {"name": "f", "arguments": ""}},
        {"role": "function", "name": "f", "content": "ok"},
    ],
    [
        {"role": "assistant", "content": "", "tool_calls": [{"function": {"name": "sh"}}]},
        {"role": "tool", "tool_name": "sh", "content": "ok"},
    ],
    [
        {"role": "user", "content": [{"type": "input_text", "text": "hi"}]},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": ""}]},
        {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "x"},
        {"type": "function_call", "call_id": "c1", "name": "sh", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "c1", "output": [{"type": "input_text"}]},
        {"type": "custom_tool_call", "call_id": "c2", "name": "patch", "input": "x"},
        {"type": "local_shell_call", "call_id": "c3", "action": {"type": "exec"}},
        {"type": "web_search_call", "id": "ws_1", "action": {"query": "x"}, "status": "completed"},
        {"type": "mcp_call", "id": "m1", "name": "f", "arguments": "{}", "output": "x"},
        {"type": "code_interpreter_call", "id": "ci", "code": "1", "outputs": []},
        {"type": "item_reference", "id": "rs_1"},
        {"type": "compaction", "encrypted_content": "x"},
    ],
    [
        GEMINI,
        {"role": "model", "parts": [{"functionCall": {"name": "sh", "args": {}}}]},
        {"role": "user", "parts": [{"functionResponse": {"name": "sh", "response": {}}}]},
        {"role": "model", "parts": [{"text": "hm", "thought": True, "thoughtSignature": "x"}]},
        {"role": "model", "parts": [{"executableCode": {"code": "1"}}]},
        {"role": "user", "parts": [{"inline_data": {"mime_type": "image/png", "data": ""}}]},
        {"role": "user", "parts": [{"function_response": {"name": "sh"}}], "content": None},
        {"parts": [{"text": "no role"}]},
    ],
    [
        {"role": "user", "content": [{"text": "hi"}, {"cachePoint": {"type": "default"}}]},
        {"role": "assistant", "content": [{"toolUse": {"toolUseId": "c1", "name": "sh"}}]},
        {"role": "user", "content": [{"toolResult": {"toolUseId": "c1", "content": []}}]},
        {"role": "assistant", "content": [{"reasoningContent": {"reasoningText": {"text": ""}}}]},
        {"role": "user", "content": [{"document": {"format": "pdf", "name": "a"}}]},
        {"role": "user", "content": [{"image": {"format": "png", "source": {"bytes": ""}}}]},
    ],
    [
        {"role": "user", "content": [{"type": "image", "image": "x"}, {"type": "file"}]},
        {
            "role": "assistant",
            "content": [
                {"type": "reasoning", "text": "hm"},
                {"type": "tool-call", "toolCallId": "c1", "toolName": "sh", "input": {}},
                {"type": "tool-approval-request", "approvalId": "a1", "toolCallId": "c1"},
            ],
        },
        {
            "role": "tool",
            "content": [
                {"type": "tool-result", "toolCallId": "c1", "output": {"type": "text", "value": ""}}
            ],
        },
    ],
]
"""Samples of the supported dialects: OpenAI Chat, its legacy calls, Ollama, OpenAI Responses,
Gemini, Bedrock Converse, the AI SDK. Conversations of Anthropic and OpenAI are generated.
"""

"""Formats that this package recognises but does not read; it refuses them by name."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from context_compression.conversation.formats.parts import LOOKED_AT, Shape, fits
from context_compression.conversation.messages import is_array, is_object

TO_ROLE_AND_CONTENT = 'Convert each to {"role": …, "content": …}'
TO_OPENAI = "Convert each to a message of OpenAI's"
ONE_AT_A_TIME = "one conversation at a time"


@dataclass(frozen=True)
class ForeignFormat:
    """A format that is no dialect of this package.

    Attributes:
        description: a sentence without its full stop that names the format.
        advice: a sentence that says what to pass instead.
        shapes: the shapes of its values. The first key of each shape is its index. It must be a key
            that few messages have, because every message is checked.
        holds_messages: whether the value of that first key holds messages. If those are in a known
            foreign format, the error names that format instead.
        package: the library whose objects have this format, if they are not dicts.
    """

    description: str
    advice: str
    shapes: Sequence[dict[str, Any]]
    holds_messages: bool = False
    package: str = ""

    @property
    def sentence(self) -> str:
        """The text of the refusal: description and advice."""
        return f"{self.description}. {self.advice}"


STREAM_EVENTS = (
    "message_start", "message_delta", "message_stop", "content_block_start",
    "content_block_delta", "content_block_stop", "response.created", "response.in_progress",
    "response.output_item.added", "response.output_item.done", "response.output_text.delta",
    "response.completed",
)  # fmt: skip

ANSWERS: Sequence[ForeignFormat] = (
    ForeignFormat(
        "These are pieces of a streamed answer",
        "Pass the finished message instead of the pieces it came in.",
        [
            {"object": ("chat.completion.chunk",)},
            {"choices": [{"delta": dict}]},
            {"type": STREAM_EVENTS, "role": None},
        ],
    ),
    ForeignFormat(
        "This is a whole answer of Chat Completions",
        "Pass its choices[0].message as the last message, behind those of the request.",
        [{"choices": [{"message": dict}]}],
    ),
    ForeignFormat(
        "This is a whole answer of OpenAI Responses",
        "Pass its output, behind the input of the request.",
        [{"output": list, "object": ("response",)}],
    ),
    ForeignFormat(
        "This is a whole answer of Gemini",
        "Pass its candidates[0].content, behind the contents of the request.",
        [{"candidates": [{"content": dict}]}],
    ),
    ForeignFormat(
        "This is a whole answer of Bedrock Converse",
        "Pass its output.message as the last message, behind those of the request.",
        [{"output": {"message": dict}}],
    ),
)


CONTAINERS: Sequence[ForeignFormat] = (
    ForeignFormat(
        "This is a page of a list, as OpenAI's API answers",
        "Pass its data, the oldest first.",
        [{"data": list, "object": ("list",)}],
        holds_messages=True,
    ),
    ForeignFormat(
        "This is a whole request or conversation, not its messages",
        "Pass its messages; what it says of system prompt and tools goes beside them.",
        [{"messages": list, "role": None}],
        holds_messages=True,
    ),
    ForeignFormat(
        "This is a whole request of Gemini, not its contents",
        "Pass its contents; its system instruction and tools go beside them.",
        [{"contents": list, "role": None}],
        holds_messages=True,
    ),
    ForeignFormat(
        "This is a whole request of OpenAI Responses, not its input",
        "Pass its input; its instructions and tools go beside it.",
        [{"input": list, "role": None, "type": None}],
        holds_messages=True,
    ),
    ForeignFormat(
        "This holds a conversation, but is none",
        f"Pass its list of messages, {ONE_AT_A_TIME}.",
        [
            {"conversation": list, "role": None},
            {"conversations": list, "role": None},
            {"history": list, "role": None},
        ],
        holds_messages=True,
    ),
)


DATA_ROWS: Sequence[ForeignFormat] = (
    ForeignFormat(
        "This is a row of an OpenAI batch",
        f"Pass its body.messages or body.input, {ONE_AT_A_TIME}.",
        [{"custom_id": object, "body": dict}],
    ),
    ForeignFormat(
        "This is a row of an Anthropic batch",
        f"Pass its params.messages, {ONE_AT_A_TIME}.",
        [{"custom_id": object, "params": dict}],
    ),
    ForeignFormat(
        "This is a result of a batch",
        "Pass its message (result.message, or response.body.choices[0].message) behind those of "
        f"the request, {ONE_AT_A_TIME}.",
        [{"custom_id": object, "result": dict}, {"custom_id": object, "response": object}],
    ),
    ForeignFormat(
        "This is a row of a Gemini batch",
        f"Pass its request.contents, {ONE_AT_A_TIME}.",
        [{"request": {"contents": list}}],
    ),
    ForeignFormat(
        "This is a row of a Bedrock batch",
        f"Pass its modelInput.messages, {ONE_AT_A_TIME}.",
        [{"modelInput": {"messages": list}}],
    ),
    ForeignFormat(
        "This is a conversation of ShareGPT",
        'Convert each turn to {"role": …, "content": …}: from human is user, gpt assistant, its '
        "value the content.",
        [
            {"conversations": [{"from": str, "value": object}]},
            {"conversation": [{"from": str, "value": object}]},
            {"from": str, "value": object, "role": None},
        ],
    ),
    ForeignFormat(
        "This is training data, not a conversation",
        "Convert a row to the messages it stands for: what is asked has role user, what shall be "
        "answered role assistant.",
        [
            {"prompt": object, "completion": object},
            {"prompt": object, "chosen": object},
            {"preferred_output": object, "non_preferred_output": object},
            {"instruction": str, "output": str},
        ],
    ),
)


EXPORTS: Sequence[ForeignFormat] = (
    ForeignFormat(
        "This is a ChatGPT export",
        'Convert one conversation to a list of {"role": …, "content": …}: follow parent from '
        "current_node to the root, take author.role and content.parts of each message, and turn "
        "the list round.",
        [
            {"mapping": dict},
            {"author": {"role": str}, "content": {"content_type": str}},
            {"message": {"author": {"role": str}, "content": {"content_type": str}}},
        ],
    ),
    ForeignFormat(
        "This is an export of claude.ai",
        'Convert the chat_messages of one conversation to {"role": …, "content": …}: sender human '
        "is user, its text the content.",
        [{"chat_messages": list}, {"sender": ("human", "assistant"), "text": str, "role": None}],
    ),
    ForeignFormat(
        "This is an export of Open WebUI",
        f"Pass its chat.messages, {ONE_AT_A_TIME}.",
        [{"chat": {"messages": list}}],
    ),
    ForeignFormat(
        "This is an export of LibreChat",
        f"{TO_ROLE_AND_CONTENT}: isCreatedByUser means user, its text is the content.",
        [{"isCreatedByUser": object, "role": None}],
    ),
    ForeignFormat(
        "This is a prompt saved by Google AI Studio",
        'Convert its chunks to Gemini\'s contents: {"role": …, "parts": [{"text": …}]}.',
        [{"chunkedPrompt": {"chunks": list}}],
    ),
    ForeignFormat(
        "This is a chat exported from VS Code",
        "Convert each of its requests to two messages: message.text with role user, the values of "
        "response with role assistant.",
        [{"requests": list, "responderUsername": object}],
    ),
    ForeignFormat(
        "This is what Cline or Roo Code shows, not what the model was sent",
        "Pass the file api_conversation_history.json, which lies beside it.",
        [{"say": str, "ts": object, "role": None}, {"ask": str, "ts": object, "role": None}],
    ),
    ForeignFormat(
        "This is a trajectory of SWE-agent",
        "Pass its history.",
        [{"trajectory": list, "history": list}],
    ),
    ForeignFormat(
        "This is a session of Continue",
        "Pass the message of each entry of its history.",
        [{"history": [{"message": {"role": str}}]}],
    ),
    ForeignFormat(
        "These are messages of Dify",
        'Convert each to two: its query is {"role": "user", "content": …}, its answer '
        '{"role": "assistant", "content": …}.',
        [{"query": str, "answer": str, "role": None}],
    ),
    ForeignFormat(
        "These are events of Rasa",
        'Convert those of user and bot to {"role": …, "content": …}: bot is assistant, its text '
        "the content.",
        [{"event": ("user", "bot"), "text": object, "role": None}, {"events": [{"event": str}]}],
    ),
    ForeignFormat(
        "These are messages of Slack",
        f"{TO_ROLE_AND_CONTENT}: the bot is the assistant, its text the content.",
        [{"ts": str, "text": str, "role": None}],
    ),
)

CHUNK_TYPES = ("AIMessageChunk", "HumanMessageChunk", "SystemMessageChunk", "ToolMessageChunk")
LANGCHAIN_TYPES = ("human", "ai", "system", "tool", "function")
LANGCHAIN_MESSAGE: dict[str, Shape] = {
    "type": LANGCHAIN_TYPES,
    "content": object,
    "role": None,  # other formats have one
    "uuid": None,  # rows of Claude Code's transcripts have one
}
OPENHANDS_SOURCES = ("user", "agent", "environment")
AUTOGEN_TYPES = (
    "TextMessage", "MultiModalMessage", "StopMessage", "HandoffMessage", "StructuredMessage",
    "ToolCallSummaryMessage", "ToolCallRequestEvent", "ToolCallExecutionEvent", "ThoughtEvent",
    "MemoryQueryEvent", "UserInputRequestedEvent", "CodeGenerationEvent", "CodeExecutionEvent",
    "UserMessage", "AssistantMessage", "SystemMessage", "FunctionExecutionResultMessage",
)  # fmt: skip
OPENHANDS_EVENTS = (
    "MessageEvent", "ActionEvent", "ObservationEvent", "SystemPromptEvent", "AgentErrorEvent",
    "UserRejectObservation", "Condensation", "CondensationSummaryEvent",
    "ConversationStateUpdateEvent",
)  # fmt: skip
LETTA_TYPES = (
    "system_message", "user_message", "reasoning_message", "hidden_reasoning_message",
    "tool_call_message", "tool_return_message", "assistant_message", "approval_request_message",
    "approval_response_message", "summary_message", "event_message",
)  # fmt: skip
COHERE_ROLES = ("USER", "CHATBOT", "SYSTEM", "TOOL")


def _as_messages(*shapes: dict[str, Any]) -> list[dict[str, Any]]:
    """The shapes of objects that hold messages of these shapes: an agent's state, a checkpoint."""
    state: dict[str, Shape] = {"messages": list(shapes)}
    return [state, {"values": state}, {"channel_values": state}]


LIBRARIES: Sequence[ForeignFormat] = (
    ForeignFormat(
        "This is a LangGraph state, with LangChain messages in it",
        'Convert them with langchain_core.messages.convert_to_openai_messages(state["messages"]) '
        "and pass the result.",
        _as_messages(LANGCHAIN_MESSAGE),
    ),
    ForeignFormat(
        "These are LangChain messages",
        "Convert them with langchain_core.messages.convert_to_openai_messages(messages) and pass "
        "the result.",
        [LANGCHAIN_MESSAGE],
        package="langchain_core",
    ),
    ForeignFormat(
        "These are chunks of LangChain messages",
        'Change their type to that of whole messages ("AIMessageChunk" to "ai"), convert them '
        "with langchain_core.messages.convert_to_openai_messages(messages) and pass the result.",
        [{"type": CHUNK_TYPES, "content": object}],
    ),
    ForeignFormat(
        "These are LangChain messages as messages_to_dict writes them",
        "Convert them with convert_to_openai_messages(messages_from_dict(messages)) of "
        "langchain_core.messages and pass the result.",
        [{"data": {"content": object}, "type": LANGCHAIN_TYPES}],
    ),
    ForeignFormat(
        "These are LangChain messages as dumpd and dumps write them",
        "Load them with langchain_core.load.load(messages), convert what you get with "
        "langchain_core.messages.convert_to_openai_messages and pass the result.",
        [{"lc": object, "id": list}],
    ),
    ForeignFormat(
        "These are messages as Mastra stores them",
        "Convert them with convertMessages(messages).to('AIV5.Model') of @mastra/core/agent and "
        "pass the result.",
        [{"createdAt": object, "content": {"format": object, "parts": list}}],
    ),
    ForeignFormat(
        "These are messages of Pydantic AI (pydantic-ai)",
        f"That library has no one call for it. {TO_OPENAI}, part by part: a user-prompt has role "
        "user, text and tool-call role assistant, a tool-return role tool and its tool_call_id.",
        [{"parts": [{"part_kind": str}]}],
        package="pydantic_ai",
    ),
    ForeignFormat(
        "These are messages of a trace, as OpenTelemetry has them for GenAI",
        f"{TO_OPENAI}: the content of its text parts is its content, a tool_call one of its "
        "tool_calls, a tool_call_response a message with role tool.",
        [
            {"parts": [{"type": ("text", "reasoning"), "content": str}], "role": str},
            {"parts": [{"type": ("tool_call", "tool_call_response")}], "role": str},
        ],
    ),
    ForeignFormat(
        "These are messages of the A2A protocol",
        f"{TO_ROLE_AND_CONTENT}: the agent is the assistant, the texts of its parts are the "
        "content.",
        [
            {"messageId": object, "parts": list},
            {"message_id": object, "parts": list},
            {"parts": [{"kind": ("text", "file", "data")}], "role": str},
        ],
    ),
    ForeignFormat(
        "These are UIMessages of the AI SDK, version 4",
        "Convert them with convertToCoreMessages(messages) of that version of the package `ai` "
        "and pass the result.",
        [
            {"toolInvocations": list, "role": str},
            {"parts": [{"type": ("tool-invocation",)}], "role": str},
            {"parts": [{"type": str}], "content": str, "role": str},
        ],
    ),
    ForeignFormat(
        "These are UIMessages of the AI SDK (role and parts)",
        "Convert them with `await convertToModelMessages(messages)` of the package `ai` and pass "
        "the result.",
        [{"parts": [{"type": str}], "role": str}],
    ),
    ForeignFormat(
        "These are messages of opencode",
        "Pass the path of the file that `opencode export` writes.",
        [{"info": {"role": str}, "parts": list}],
    ),
    ForeignFormat(
        "These are messages of Microsoft's Agent Framework (role and contents)",
        f"{TO_OPENAI}: text contents are its content, a function_call one of its tool_calls, a "
        "function_result a message with role tool and its call_id as tool_call_id.",
        [{"contents": [{"type": str}, {"$type": str}], "role": str}],
        package="agent_framework",
    ),
    ForeignFormat(
        "These are messages of Semantic Kernel",
        "Pass the result of [message.to_dict() for message in chat_history.messages].",
        [{"items": [{"content_type": str}], "role": str}],
        package="semantic_kernel",
    ),
    ForeignFormat(
        "These are messages of Semantic Kernel for .NET",
        f"{TO_ROLE_AND_CONTENT}: the label of its role, and the texts of its items.",
        [
            {"Items": [{"$type": str}], "Role": object},
            {"items": [{"$type": str}], "role": object},
        ],
    ),
    ForeignFormat(
        "These are ChatMessages of Haystack",
        "Convert them with [ChatMessage.from_dict(m).to_openai_dict_format() for m in messages] "
        "of haystack.dataclasses and pass the result.",
        [
            {"meta": dict, "name": object, "content": [{"text": str, "type": None}]},
            {"meta": dict, "content": [{"tool_call": dict}, {"tool_call_result": dict}]},
            {"_content": list, "_role": str},
        ],
        package="haystack",
    ),
    ForeignFormat(
        "These are ChatMessages of LlamaIndex",
        "Convert the ChatMessage objects with to_openai_message_dicts(messages) of "
        "llama_index.llms.openai.utils and pass the result.",
        [
            {"blocks": [{"block_type": str}], "role": str},
            {"additional_kwargs": {"tool_calls": list}, "role": str},
        ],
        package="llama_index",
    ),
    ForeignFormat(
        "These are messages of Inspect",
        "Convert the ChatMessage objects with `await messages_to_openai(messages)` of "
        "inspect_ai.model and pass the result.",
        [{"tool_calls": [{"function": str}], "role": str}],
        package="inspect_ai",
    ),
    ForeignFormat(
        "These are steps or messages of smolagents",
        "Pass the result of get_clean_message_list(agent.write_memory_to_messages(), "
        "tool_role_conversions) of smolagents.models.",
        [
            {"step_number": object, "model_output": object},
            {"model_output_message": object, "plan": object},
            {"task_images": object, "task": str},
            {"token_usage": object, "role": ("tool-call", "tool-response")},
        ],
        package="smolagents",
    ),
    ForeignFormat(
        "These are messages of AutoGen",
        f"{TO_OPENAI}: source user is role user, any other source role assistant; a request to "
        "call tools is its tool_calls, each result a message with role tool.",
        [{"type": AUTOGEN_TYPES, "content": object, "role": None}],
        package="autogen_core",
    ),
    ForeignFormat(
        "This is the state of an AutoGen agent or team",
        "Convert the messages in it, llm_context.messages or message_thread, to those of OpenAI.",
        [{"llm_context": {"messages": list}}, {"message_thread": list}, {"agent_states": dict}],
    ),
    ForeignFormat(
        "These are messages of AutoGen 0.2 or AG2",
        "Pass the entries of tool_responses, each a message with role tool, instead of the "
        "message that holds them.",
        [{"tool_responses": list, "role": str}],
    ),
    ForeignFormat(
        "These are messages of Letta",
        f"{TO_OPENAI}: a user_message and an assistant_message keep their content, a "
        "tool_call_message is one of the tool_calls, a tool_return_message has role tool.",
        [{"message_type": LETTA_TYPES, "role": None}],
        package="letta_client",
    ),
    ForeignFormat(
        "These are events of OpenHands (openhands-sdk)",
        "Convert them with LLMConvertibleEvent.events_to_messages(events) and "
        "llm.format_messages_for_llm(messages) of openhands.sdk and pass the result.",
        [{"kind": OPENHANDS_EVENTS}],
        package="openhands",
    ),
    ForeignFormat(
        "These are events of OpenHands",
        f"{TO_ROLE_AND_CONTENT}: a message or observation from the user or the environment "
        "has role user, an action of the agent role assistant.",
        [
            {"action": str, "source": OPENHANDS_SOURCES, "role": None},
            {"observation": str, "source": OPENHANDS_SOURCES, "role": None},
        ],
    ),
    ForeignFormat(
        "These are events of Google's Agent Development Kit (ADK)",
        'Pass the content of each, [event["content"] for event in events if event.get("content")]: '
        "Gemini's contents are read.",
        [{"invocationId": object, "author": str}, {"invocation_id": object, "author": str}],
        package="google.adk",
    ),
    ForeignFormat(
        "This is a session of Google's Agent Development Kit (ADK)",
        "Pass the content of each of its events that has one: Gemini's contents are read.",
        [{"events": list, "appName": object}, {"events": list, "app_name": object}],
    ),
    ForeignFormat(
        "These are steps of Gemini's Interactions API",
        "Convert them to Gemini's contents: a user_input has role user, a model_output role model; "
        "function_call and function_result are parts of theirs.",
        [{"type": ("user_input", "model_output", "function_result"), "role": None}],
    ),
    ForeignFormat(
        "These are messages of Cohere's first API",
        f"{TO_ROLE_AND_CONTENT}: USER is user, CHATBOT assistant, its message the content.",
        [{"message": str, "role": COHERE_ROLES}, {"tool_results": list, "role": COHERE_ROLES}],
    ),
    ForeignFormat(
        "These are messages in camel case, as AG-UI has them",
        "Convert them to OpenAI's: rename toolCalls to tool_calls and toolCallId to tool_call_id.",
        [{"toolCalls": list, "role": ("assistant",)}, {"toolCallId": str, "role": ("tool",)}],
    ),
    ForeignFormat(
        "These are messages of Goose",
        f"{TO_OPENAI}: a toolRequest is one of its tool_calls, a toolResponse has role tool.",
        [{"created": object, "content": [{"type": ("toolRequest", "toolResponse")}]}],
    ),
    ForeignFormat(
        "These are messages of LangChain4j",
        f"{TO_OPENAI}: USER is user, AI assistant, its toolExecutionRequests are the tool_calls, a "
        "TOOL_EXECUTION_RESULT has role tool.",
        [{"type": ("USER", "AI", "SYSTEM", "TOOL_EXECUTION_RESULT"), "role": None}],
    ),
    ForeignFormat(
        "These are messages of Spring AI",
        f"{TO_ROLE_AND_CONTENT}: its messageType in small letters, and its text.",
        [{"messageType": ("USER", "ASSISTANT", "SYSTEM", "TOOL"), "role": None}],
    ),
    ForeignFormat(
        "These are entries of a Mistral conversation",
        f"{TO_OPENAI}: message.input and message.output keep role and content, a function.call is "
        "one of the tool_calls, a function.result has role tool.",
        [{"object": ("entry",), "type": str}],
    ),
    ForeignFormat(
        "These are messages of a thread of OpenAI's Assistants",
        f"{TO_ROLE_AND_CONTENT}, the oldest first: text.value of each part is the content.",
        [{"object": ("thread.message",)}],
    ),
)

FORMATS: Sequence[ForeignFormat] = (*LIBRARIES, *ANSWERS, *DATA_ROWS, *EXPORTS, *CONTAINERS)
"""All foreign formats. If a value fits several, the first one is named."""
DEEPEST = 4
"""How many nested levels of lists and request bodies are searched."""


def refusal(value: Any) -> str | None:
    """Which foreign format a value is in and what to pass instead; `None` if it is in none.

    `refusal({"chat_messages": []})` -> `"This is an export of claude.ai. Convert …"`

    Args:
        value: a message, a list of messages, or any value that the caller passed instead.
    """
    known = _format_of(value, DEEPEST)
    return known.sentence if known else None


def _format_of(value: Any, levels: int) -> ForeignFormat | None:
    if levels == 0:
        return None
    if is_object(value):
        return _format_of_object(value, levels)
    if is_array(value):
        formats = (_format_of(item, levels - 1) for item in islice(value, LOOKED_AT))
        return next(filter(None, formats), None)
    module = f"{getattr(value, '__module__', '')}."
    libraries = (known for known in FORMATS if known.package)
    return next((known for known in libraries if module.startswith(f"{known.package}.")), None)


def _format_of_object(value: Mapping[str, Any], levels: int) -> ForeignFormat | None:
    fitting = [
        (place, key)
        for key in value
        for place, shape in _SHAPES_BY_KEY.get(key, ())
        if fits(value, shape)
    ]
    if not fitting:
        return None
    place, key = min(fitting)
    outer = FORMATS[place]
    inner = _format_of(value[key], levels - 1) if outer.holds_messages else None
    return inner or outer


def _shapes_by_key() -> Mapping[str, Sequence[tuple[int, dict[str, Any]]]]:
    """By the first key of a shape: the position of its format in `FORMATS`, with the shape."""
    shapes: dict[str, list[tuple[int, dict[str, Any]]]] = {}
    for place, known in enumerate(FORMATS):
        for shape in known.shapes:
            shapes.setdefault(next(iter(shape)), []).append((place, shape))
    return shapes


_SHAPES_BY_KEY = _shapes_by_key()

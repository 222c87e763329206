"""What is no dialect of ours, but known: by which keys it is told, what it is, and what to do.

A conversation in it is refused with a sentence that names the format and says how to come by one
that we read. Shapes and conversions were looked up in each library's own source or documentation;
where a library has no call that converts, the sentence says what becomes what.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from context_compression.conversation.formats.shapes import LOOKED_AT, Shape, fits
from context_compression.conversation.messages import is_array, is_object

DEEPEST = 4
"""Lists and request bodies that may stand one inside the other before nobody looks any further."""
NAMED = 8
"""Keys of a message that an error names."""


@dataclass(frozen=True)
class Foreign:
    """A format that is no dialect of ours.

    Attributes:
        what: what somebody passed, as the beginning of a sentence.
        way: what to do about it, as a sentence.
        shapes: what it looks like; the first key of each is the one that tells, and no key that
            most messages have: every message is looked at.
        inside: whether the telling key holds messages; a format of theirs is named instead.
        package: the library whose objects these are, where they are not dicts.
    """

    what: str
    way: str
    shapes: Sequence[dict[str, Any]]
    inside: bool = False
    package: str = ""

    @property
    def sentence(self) -> str:
        """Both in plain words."""
        return f"{self.what}. {self.way}"


def refusal(value: Any) -> str | None:
    """What a value is, and what to pass instead of it; `None` when it is nothing known here.

    Args:
        value: a message, a list of messages, or whatever somebody passed in their place.
    """
    return _refusal(value, DEEPEST)


def nothing_seen(index: int, message: Mapping[str, Any]) -> str:
    """The error for a message that has a role, but nothing in which we know content to stand."""
    keys = [f'"{key!s:.40}"' for key in islice(message, NAMED)]
    keys += ["…"] if len(message) > NAMED else []
    its = f"its keys are {', '.join(keys)}" if len(keys) > 1 else f"its only key is {keys[0]}"
    return (
        f"Message {index} has no content that we can read; {its}. Pass the text as its "
        '"content", {"role": "user", "content": "…"}, or the message as Anthropic, OpenAI, Gemini, '
        "Bedrock Converse or the AI SDK have it."
    )


def _refusal(value: Any, levels: int) -> str | None:
    if levels == 0:
        return None
    if is_object(value):
        return _of_an_object(value, levels)
    if is_array(value):
        each = (_refusal(item, levels - 1) for item in islice(value, LOOKED_AT))
        return next(filter(None, each), None)
    module = f"{getattr(value, '__module__', '')}."
    made_by = (known for known in FORMATS if known.package)
    return next((f.sentence for f in made_by if module.startswith(f"{f.package}.")), None)


def _of_an_object(value: Mapping[str, Any], levels: int) -> str | None:
    fitting = [
        (place, key)
        for key in value
        for place, shape in _TOLD_BY.get(key, ())
        if fits(value, shape)
    ]
    if not fitting:
        return None
    place, key = min(fitting)
    inside = _refusal(value[key], levels - 1) if FORMATS[place].inside else None
    return inside or FORMATS[place].sentence


def _as_messages(*shapes: dict[str, Any]) -> list[dict[str, Any]]:
    """The shapes of what holds messages of these shapes: the state of an agent, or a checkpoint."""
    state: dict[str, Shape] = {"messages": list(shapes)}
    return [state, {"values": state}, {"channel_values": state}]


_CHUNKS = ("AIMessageChunk", "HumanMessageChunk", "SystemMessageChunk", "ToolMessageChunk")
_KINDS = ("human", "ai", "system", "tool", "function")
_LANGCHAIN: dict[str, Shape] = {
    "type": _KINDS,
    "content": object,
    "role": None,  # other formats have one
    "uuid": None,  # rows of Claude Code's transcripts have one
}
_SOURCES = ("user", "agent", "environment")
_AUTOGEN = (
    "TextMessage", "MultiModalMessage", "StopMessage", "HandoffMessage", "StructuredMessage",
    "ToolCallSummaryMessage", "ToolCallRequestEvent", "ToolCallExecutionEvent", "ThoughtEvent",
    "MemoryQueryEvent", "UserInputRequestedEvent", "CodeGenerationEvent", "CodeExecutionEvent",
    "UserMessage", "AssistantMessage", "SystemMessage", "FunctionExecutionResultMessage",
)  # fmt: skip
_OPENHANDS = (
    "MessageEvent", "ActionEvent", "ObservationEvent", "SystemPromptEvent", "AgentErrorEvent",
    "UserRejectObservation", "Condensation", "CondensationSummaryEvent",
    "ConversationStateUpdateEvent",
)  # fmt: skip
_LETTA = (
    "system_message", "user_message", "reasoning_message", "hidden_reasoning_message",
    "tool_call_message", "tool_return_message", "assistant_message", "approval_request_message",
    "approval_response_message", "summary_message", "event_message",
)  # fmt: skip
_STREAMED = (
    "message_start", "message_delta", "message_stop", "content_block_start",
    "content_block_delta", "content_block_stop", "response.created", "response.in_progress",
    "response.output_item.added", "response.output_item.done", "response.output_text.delta",
    "response.completed",
)  # fmt: skip
_LOUD = ("USER", "CHATBOT", "SYSTEM", "TOOL")
_PLAIN = 'Convert each to {"role": …, "content": …}'
_OPENAI = "Convert each to a message of OpenAI's"
_ONE = "one conversation at a time"

FORMATS: Sequence[Foreign] = (
    # messages of libraries
    Foreign(
        "This is a LangGraph state, with LangChain messages in it",
        'Convert them with langchain_core.messages.convert_to_openai_messages(state["messages"]) '
        "and pass the result.",
        _as_messages(_LANGCHAIN),
    ),
    Foreign(
        "These are LangChain messages",
        "Convert them with langchain_core.messages.convert_to_openai_messages(messages) and pass "
        "the result.",
        [_LANGCHAIN],
        package="langchain_core",
    ),
    Foreign(
        "These are chunks of LangChain messages",
        'Change their type to that of whole messages ("AIMessageChunk" to "ai"), convert them '
        "with langchain_core.messages.convert_to_openai_messages(messages) and pass the result.",
        [{"type": _CHUNKS, "content": object}],
    ),
    Foreign(
        "These are LangChain messages as messages_to_dict writes them",
        "Convert them with convert_to_openai_messages(messages_from_dict(messages)) of "
        "langchain_core.messages and pass the result.",
        [{"data": {"content": object}, "type": _KINDS}],
    ),
    Foreign(
        "These are LangChain messages as dumpd and dumps write them",
        "Load them with langchain_core.load.load(messages), convert what you get with "
        "langchain_core.messages.convert_to_openai_messages and pass the result.",
        [{"lc": object, "id": list}],
    ),
    Foreign(
        "These are messages as Mastra stores them",
        "Convert them with convertMessages(messages).to('AIV5.Model') of @mastra/core/agent and "
        "pass the result.",
        [{"createdAt": object, "content": {"format": object, "parts": list}}],
    ),
    Foreign(
        "These are messages of Pydantic AI (pydantic-ai)",
        f"That library has no one call for it. {_OPENAI}, part by part: a user-prompt has role "
        "user, text and tool-call role assistant, a tool-return role tool and its tool_call_id.",
        [{"parts": [{"part_kind": str}]}],
        package="pydantic_ai",
    ),
    Foreign(
        "These are messages of a trace, as OpenTelemetry has them for GenAI",
        f"{_OPENAI}: the content of its text parts is its content, a tool_call one of its "
        "tool_calls, a tool_call_response a message with role tool.",
        [
            {"parts": [{"type": ("text", "reasoning"), "content": str}], "role": str},
            {"parts": [{"type": ("tool_call", "tool_call_response")}], "role": str},
        ],
    ),
    Foreign(
        "These are messages of the A2A protocol",
        f"{_PLAIN}: the agent is the assistant, the texts of its parts are the content.",
        [
            {"messageId": object, "parts": list},
            {"message_id": object, "parts": list},
            {"parts": [{"kind": ("text", "file", "data")}], "role": str},
        ],
    ),
    Foreign(
        "These are UIMessages of the AI SDK, version 4",
        "Convert them with convertToCoreMessages(messages) of that version of the package `ai` "
        "and pass the result.",
        [
            {"toolInvocations": list, "role": str},
            {"parts": [{"type": ("tool-invocation",)}], "role": str},
            {"parts": [{"type": str}], "content": str, "role": str},
        ],
    ),
    Foreign(
        "These are UIMessages of the AI SDK (role and parts)",
        "Convert them with `await convertToModelMessages(messages)` of the package `ai` and pass "
        "the result.",
        [{"parts": [{"type": str}], "role": str}],
    ),
    Foreign(
        "These are messages of opencode",
        "Pass the path of the file that `opencode export` writes.",
        [{"info": {"role": str}, "parts": list}],
    ),
    Foreign(
        "These are messages of Microsoft's Agent Framework (role and contents)",
        f"{_OPENAI}: text contents are its content, a function_call one of its tool_calls, a "
        "function_result a message with role tool and its call_id as tool_call_id.",
        [{"contents": [{"type": str}, {"$type": str}], "role": str}],
        package="agent_framework",
    ),
    Foreign(
        "These are messages of Semantic Kernel",
        "Pass the result of [message.to_dict() for message in chat_history.messages].",
        [{"items": [{"content_type": str}], "role": str}],
        package="semantic_kernel",
    ),
    Foreign(
        "These are messages of Semantic Kernel for .NET",
        f"{_PLAIN}: the label of its role, and the texts of its items.",
        [
            {"Items": [{"$type": str}], "Role": object},
            {"items": [{"$type": str}], "role": object},
        ],
    ),
    Foreign(
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
    Foreign(
        "These are ChatMessages of LlamaIndex",
        "Convert the ChatMessage objects with to_openai_message_dicts(messages) of "
        "llama_index.llms.openai.utils and pass the result.",
        [
            {"blocks": [{"block_type": str}], "role": str},
            {"additional_kwargs": {"tool_calls": list}, "role": str},
        ],
        package="llama_index",
    ),
    Foreign(
        "These are messages of Inspect",
        "Convert the ChatMessage objects with `await messages_to_openai(messages)` of "
        "inspect_ai.model and pass the result.",
        [{"tool_calls": [{"function": str}], "role": str}],
        package="inspect_ai",
    ),
    Foreign(
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
    Foreign(
        "These are messages of AutoGen",
        f"{_OPENAI}: source user is role user, any other source role assistant; a request to call "
        "tools is its tool_calls, each result a message with role tool.",
        [{"type": _AUTOGEN, "content": object, "role": None}],
        package="autogen_core",
    ),
    Foreign(
        "This is the state of an AutoGen agent or team",
        "Convert the messages in it, llm_context.messages or message_thread, to those of OpenAI.",
        [{"llm_context": {"messages": list}}, {"message_thread": list}, {"agent_states": dict}],
    ),
    Foreign(
        "These are messages of AutoGen 0.2 or AG2",
        "Pass the entries of tool_responses, each a message with role tool, instead of the "
        "message that holds them.",
        [{"tool_responses": list, "role": str}],
    ),
    Foreign(
        "These are messages of Letta",
        f"{_OPENAI}: a user_message and an assistant_message keep their content, a "
        "tool_call_message is one of the tool_calls, a tool_return_message has role tool.",
        [{"message_type": _LETTA, "role": None}],
        package="letta_client",
    ),
    Foreign(
        "These are events of OpenHands (openhands-sdk)",
        "Convert them with LLMConvertibleEvent.events_to_messages(events) and "
        "llm.format_messages_for_llm(messages) of openhands.sdk and pass the result.",
        [{"kind": _OPENHANDS}],
        package="openhands",
    ),
    Foreign(
        "These are events of OpenHands",
        f"{_PLAIN}: a message or observation from the user or the environment has role user, an "
        "action of the agent role assistant.",
        [
            {"action": str, "source": _SOURCES, "role": None},
            {"observation": str, "source": _SOURCES, "role": None},
        ],
    ),
    Foreign(
        "These are events of Google's Agent Development Kit (ADK)",
        'Pass the content of each, [event["content"] for event in events if event.get("content")]: '
        "Gemini's contents are read.",
        [{"invocationId": object, "author": str}, {"invocation_id": object, "author": str}],
        package="google.adk",
    ),
    Foreign(
        "This is a session of Google's Agent Development Kit (ADK)",
        "Pass the content of each of its events that has one: Gemini's contents are read.",
        [{"events": list, "appName": object}, {"events": list, "app_name": object}],
    ),
    Foreign(
        "These are steps of Gemini's Interactions API",
        "Convert them to Gemini's contents: a user_input has role user, a model_output role model; "
        "function_call and function_result are parts of theirs.",
        [{"type": ("user_input", "model_output", "function_result"), "role": None}],
    ),
    Foreign(
        "These are messages of Cohere's first API",
        f"{_PLAIN}: USER is user, CHATBOT assistant, its message the content.",
        [{"message": str, "role": _LOUD}, {"tool_results": list, "role": _LOUD}],
    ),
    Foreign(
        "These are messages in camel case, as AG-UI has them",
        "Convert them to OpenAI's: rename toolCalls to tool_calls and toolCallId to tool_call_id.",
        [{"toolCalls": list, "role": ("assistant",)}, {"toolCallId": str, "role": ("tool",)}],
    ),
    Foreign(
        "These are messages of Goose",
        f"{_OPENAI}: a toolRequest is one of its tool_calls, a toolResponse has role tool.",
        [{"created": object, "content": [{"type": ("toolRequest", "toolResponse")}]}],
    ),
    Foreign(
        "These are messages of LangChain4j",
        f"{_OPENAI}: USER is user, AI assistant, its toolExecutionRequests are the tool_calls, a "
        "TOOL_EXECUTION_RESULT has role tool.",
        [{"type": ("USER", "AI", "SYSTEM", "TOOL_EXECUTION_RESULT"), "role": None}],
    ),
    Foreign(
        "These are messages of Spring AI",
        f"{_PLAIN}: its messageType in small letters, and its text.",
        [{"messageType": ("USER", "ASSISTANT", "SYSTEM", "TOOL"), "role": None}],
    ),
    Foreign(
        "These are entries of a Mistral conversation",
        f"{_OPENAI}: message.input and message.output keep role and content, a function.call is "
        "one of the tool_calls, a function.result has role tool.",
        [{"object": ("entry",), "type": str}],
    ),
    Foreign(
        "These are messages of a thread of OpenAI's Assistants",
        f"{_PLAIN}, the oldest first: text.value of each part is the content.",
        [{"object": ("thread.message",)}],
    ),
    # answers, whole and streamed
    Foreign(
        "These are pieces of a streamed answer",
        "Pass the finished message instead of the pieces it came in.",
        [
            {"object": ("chat.completion.chunk",)},
            {"choices": [{"delta": dict}]},
            {"type": _STREAMED, "role": None},
        ],
    ),
    Foreign(
        "This is a whole answer of Chat Completions",
        "Pass its choices[0].message as the last message, behind those of the request.",
        [{"choices": [{"message": dict}]}],
    ),
    Foreign(
        "This is a whole answer of OpenAI Responses",
        "Pass its output, behind the input of the request.",
        [{"output": list, "object": ("response",)}],
    ),
    Foreign(
        "This is a whole answer of Gemini",
        "Pass its candidates[0].content, behind the contents of the request.",
        [{"candidates": [{"content": dict}]}],
    ),
    Foreign(
        "This is a whole answer of Bedrock Converse",
        "Pass its output.message as the last message, behind those of the request.",
        [{"output": {"message": dict}}],
    ),
    # rows of batches and of training data
    Foreign(
        "This is a row of an OpenAI batch",
        f"Pass its body.messages or body.input, {_ONE}.",
        [{"custom_id": object, "body": dict}],
    ),
    Foreign(
        "This is a row of an Anthropic batch",
        f"Pass its params.messages, {_ONE}.",
        [{"custom_id": object, "params": dict}],
    ),
    Foreign(
        "This is a result of a batch",
        "Pass its message (result.message, or response.body.choices[0].message) behind those of "
        f"the request, {_ONE}.",
        [{"custom_id": object, "result": dict}, {"custom_id": object, "response": object}],
    ),
    Foreign(
        "This is a row of a Gemini batch",
        f"Pass its request.contents, {_ONE}.",
        [{"request": {"contents": list}}],
    ),
    Foreign(
        "This is a row of a Bedrock batch",
        f"Pass its modelInput.messages, {_ONE}.",
        [{"modelInput": {"messages": list}}],
    ),
    Foreign(
        "This is a conversation of ShareGPT",
        'Convert each turn to {"role": …, "content": …}: from human is user, gpt assistant, its '
        "value the content.",
        [
            {"conversations": [{"from": str, "value": object}]},
            {"conversation": [{"from": str, "value": object}]},
            {"from": str, "value": object, "role": None},
        ],
    ),
    Foreign(
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
    # what chat programs write and export
    Foreign(
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
    Foreign(
        "This is an export of claude.ai",
        'Convert the chat_messages of one conversation to {"role": …, "content": …}: sender human '
        "is user, its text the content.",
        [{"chat_messages": list}, {"sender": ("human", "assistant"), "text": str, "role": None}],
    ),
    Foreign(
        "This is an export of Open WebUI",
        f"Pass its chat.messages, {_ONE}.",
        [{"chat": {"messages": list}}],
    ),
    Foreign(
        "This is an export of LibreChat",
        f"{_PLAIN}: isCreatedByUser means user, its text is the content.",
        [{"isCreatedByUser": object, "role": None}],
    ),
    Foreign(
        "This is a prompt saved by Google AI Studio",
        'Convert its chunks to Gemini\'s contents: {"role": …, "parts": [{"text": …}]}.',
        [{"chunkedPrompt": {"chunks": list}}],
    ),
    Foreign(
        "This is a chat exported from VS Code",
        "Convert each of its requests to two messages: message.text with role user, the values of "
        "response with role assistant.",
        [{"requests": list, "responderUsername": object}],
    ),
    Foreign(
        "This is what Cline or Roo Code shows, not what the model was sent",
        "Pass the file api_conversation_history.json, which lies beside it.",
        [{"say": str, "ts": object, "role": None}, {"ask": str, "ts": object, "role": None}],
    ),
    Foreign(
        "This is a trajectory of SWE-agent",
        "Pass its history.",
        [{"trajectory": list, "history": list}],
    ),
    Foreign(
        "This is a session of Continue",
        "Pass the message of each entry of its history.",
        [{"history": [{"message": {"role": str}}]}],
    ),
    Foreign(
        "These are messages of Dify",
        'Convert each to two: its query is {"role": "user", "content": …}, its answer '
        '{"role": "assistant", "content": …}.',
        [{"query": str, "answer": str, "role": None}],
    ),
    Foreign(
        "These are events of Rasa",
        'Convert those of user and bot to {"role": …, "content": …}: bot is assistant, its text '
        "the content.",
        [{"event": ("user", "bot"), "text": object, "role": None}, {"events": [{"event": str}]}],
    ),
    Foreign(
        "These are messages of Slack",
        f"{_PLAIN}: the bot is the assistant, its text the content.",
        [{"ts": str, "text": str, "role": None}],
    ),
    # what is ours lies inside
    Foreign(
        "This is a page of a list, as OpenAI's API answers",
        "Pass its data, the oldest first.",
        [{"data": list, "object": ("list",)}],
        inside=True,
    ),
    Foreign(
        "This is a whole request or conversation, not its messages",
        "Pass its messages; what it says of system prompt and tools goes beside them.",
        [{"messages": list, "role": None}],
        inside=True,
    ),
    Foreign(
        "This is a whole request of Gemini, not its contents",
        "Pass its contents; its system instruction and tools go beside them.",
        [{"contents": list, "role": None}],
        inside=True,
    ),
    Foreign(
        "This is a whole request of OpenAI Responses, not its input",
        "Pass its input; its instructions and tools go beside it.",
        [{"input": list, "role": None, "type": None}],
        inside=True,
    ),
    Foreign(
        "This holds a conversation, but is none",
        f"Pass its list of messages, {_ONE}.",
        [
            {"conversation": list, "role": None},
            {"conversations": list, "role": None},
            {"history": list, "role": None},
        ],
        inside=True,
    ),
)
"""In the order they are asked."""


_TOLD_BY: dict[str, list[tuple[int, dict[str, Any]]]] = {}
"""By the key that tells of them: where formats stand, with the shape that has it."""
for _place, _format in enumerate(FORMATS):
    for _shape in _format.shapes:
        _TOLD_BY.setdefault(next(iter(_shape)), []).append((_place, _shape))

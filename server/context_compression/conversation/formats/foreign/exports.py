"""Files that chat programs store and export."""

from collections.abc import Sequence

from context_compression.conversation.formats.foreign.foreign_format import (
    ONE_AT_A_TIME,
    TO_ROLE_AND_CONTENT,
    ForeignFormat,
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

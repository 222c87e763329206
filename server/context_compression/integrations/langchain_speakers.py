# pyright: reportMissingImports=false, reportUnknownVariableType=false, reportUnknownMemberType=false
# pyright: reportUnknownArgumentType=false, reportUnknownParameterType=false
# LangChain is not installed where this is checked.
"""Who speaks in LangChain's messages, as far as LangChain knows.

A decision of a person about a call is marked by the middleware that asked for it. What a person
answers to an interrupt in a tool is only known while the tool runs, so our own mark keeps it. Both
marks are in `additional_kwargs`, which LangChain does not send.
"""

from collections.abc import Sequence
from typing import Any, Literal

from context_compression.conversation.authors import BY_USER
from context_compression.conversation.messages import as_object, strings_in
from context_compression.extras import extra

with extra("langchain"):
    from langchain_core.messages import HumanMessage, ToolMessage

SOURCE, DATA = "lc_source", "lc_data"
"""The keys with which LangChain marks messages that its own parts add."""
DECIDED = "hitl_interrupt_decision"
"""The source of a decision that a person made about a call."""
REASON = " with reason: "
"""What LangChain writes before the reason of a rejection."""
STANDS_FOR = ("summarization", "pinned_skill")
"""The sources of messages that are as good as the user's: earlier messages, and instructions."""


def is_by_user(message: HumanMessage) -> bool:
    """Whether no part of LangChain is known to have added a message, as with a task's result."""
    source = message.additional_kwargs.get(SOURCE)
    return not isinstance(source, str) or source in STANDS_FOR


def said_by_user(message: ToolMessage) -> str | Literal[False] | None:
    """The words of a person in a result; `False` if there are none, `None` if nobody knows."""
    about = message.additional_kwargs
    if about.get(SOURCE) != DECIDED:
        return about.get(BY_USER)
    if as_object(about.get(DATA)).get("decision") == "respond":
        return message.text
    _, _, reason = message.text.partition(REASON)
    return reason or False


def said_in(message: ToolMessage, answers: Sequence[Any]) -> ToolMessage:
    """A tool's message that knows which words in it a person answered to the tool's interrupts."""
    words = [text for text in strings_in(answers) if text.strip() and text in message.text]
    if not words or SOURCE in message.additional_kwargs:
        return message
    marked = {**message.additional_kwargs, BY_USER: "\n".join(words)}
    return message.model_copy(update={"additional_kwargs": marked})

"""The prompts that a user can pick from a host's menu: `compact` and `handoff`."""

from typing import Annotated

from mcp.server.mcpserver.prompts.base import Prompt
from pydantic import Field

from context_compression.display.strings import in_words

FOCUS = 1_000  # characters


def compact(
    focus: Annotated[str, Field(description="what the remaining work is about")] = "",
) -> str:
    """Compact this conversation and keep what the remaining work needs."""
    about = f', focus="{_quotable(focus)}"' if focus.strip() else ""
    return (
        f'Call context_compress(conversation="current", strategy="summarize"{about}). If it '
        "answers with instructions and a plan_id, write the summary by these instructions and pass "
        "it with the plan_id, as next_call shows. Then tell me in two sentences how many tokens "
        "were freed, what was removed and how it can be restored. If it says that this host's "
        "history is unchanged, tell me what I can do instead."
    )


def handoff() -> str:
    """Keep a checkpoint from which a new chat can continue."""
    return (
        "Write a summary of our work for a reader who knows nothing of this conversation: the "
        "goal; my rules and wishes, in my words; what is done, with the files and commands that "
        "matter; what is open, and what comes next; decisions with their reasons; errors and what "
        "solved them. At most 1,500 words, and only what was said or seen here. Keep it with "
        "context_compress(summary=<the text>), without a conversation. Then tell me to start a new "
        "chat with the words: Call context_summary and continue from the newest checkpoint."
    )


def _quotable(text: str) -> str:
    return in_words(text, FOCUS).replace('"', "'")


PROMPTS = (
    Prompt.from_function(compact, title="Compact this conversation"),
    Prompt.from_function(handoff, title="Hand over to a new chat"),
)

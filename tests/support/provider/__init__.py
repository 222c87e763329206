"""What the providers refuse, read off the dicts that would be sent; knows none of our code.

One module a dialect, its rules with their source. A conversation may end in the middle of a tool
step: the next thing to happen is the missing result. What depends on the input as well has its
own function: `unbound`, `undeclared`, `separated`, `signatures`; so have the rules that only some
models or servers have: `alternates`, `misplaced_system`.
"""

from collections.abc import Callable, Iterable, Mapping

from provider import anthropic, bedrock, gemini, ollama, openai_chat, responses, vercel
from provider.anthropic import misplaced_system, undeclared
from provider.gemini import signatures
from provider.openai_chat import alternates
from provider.reading import Messages, blocks, call_ids, half_characters, result_ids
from provider.responses import separated
from provider.thinking import unbound

__all__ = [
    "RULES", "Messages", "alternates", "blocks", "call_ids", "misplaced_system", "refused",
    "result_ids", "separated", "signatures", "unbound", "undeclared",
]  # fmt: skip

RULES: Mapping[str, Callable[[Messages], Iterable[str]]] = {
    "anthropic": anthropic.rules,
    "openai": openai_chat.rules,
    "openai-legacy": openai_chat.rules,
    "ollama": ollama.rules,
    "responses": responses.rules,
    "gemini": gemini.rules,
    "bedrock": bedrock.rules,
    "vercel": vercel.rules,
}
"""The rules of each dialect, by its name."""


def refused(messages: Messages, dialect: str) -> list[str]:
    """Why the provider would refuse the conversation; empty when it would not."""
    return [*half_characters(messages), *RULES[dialect](messages)]

"""The roles of messages, and the names that dialects have for them."""

from collections.abc import Mapping
from typing import Any

from context_compression.conversation.messages import Role

ROLES: Mapping[str, Role] = {
    "system": "system", "developer": "developer", "user": "user", "assistant": "assistant",
    "model": "assistant", "tool": "tool", "function": "tool",
}  # fmt: skip
"""Each role by the names that dialects have for it."""


def role_of(message: Mapping[str, Any]) -> Role:
    """The role of a message: `{"role": "model", …}` -> `"assistant"`."""
    return ROLES[message["role"]]

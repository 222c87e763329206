"""What the laws are tried on: conversations in every dialect, and settings that fit their size."""

from collections.abc import Sequence
from typing import TypeAlias

from generated import DIALECTS, Messages, broken, conversations, rarely, text_protocols
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

from context_compression.conversation import parse
from context_compression.testing import Dialect, Run, said_by_model, said_by_user, tool_step

SMALL = {
    "token_budget": 4_000, "min_recent_messages": 3, "keep_recent": 2, "offload_min_tokens": 60,
    "offload_preview_tokens": 30, "max_tool_output": 100,
}  # fmt: skip
"""Settings under which small conversations are long ones."""


Talk: TypeAlias = tuple[Dialect, Messages]
"""A conversation, with the dialect it is in."""


@st.composite
def talks(draw: DrawFn, dialects: Sequence[Dialect] = DIALECTS) -> Talk:
    """A valid conversation in any dialect, now and then one whose calls are texts."""
    dialect = draw(st.sampled_from(dialects))
    if draw(rarely(4)):
        return dialect, draw(text_protocols(dialect))
    return dialect, draw(conversations(st.just(dialect), spread=True))


@st.composite
def broken_talks(draw: DrawFn, dialects: Sequence[Dialect] = DIALECTS) -> Talk:
    """One with some damages."""
    dialect = draw(st.sampled_from(dialects))
    return dialect, draw(broken(st.just(dialect), spread=True, halves=True))


def in_dialect(messages: Messages, dialect: Dialect) -> Messages:
    """Anthropic messages in another dialect: their texts, and their calls with the results."""
    parsed = parse(messages).messages
    made: Messages = []
    outputs = {result.call_id: result for each in parsed for result in each.results}
    for message in parsed:
        runs = [
            Run(call.id, call.name, dict(call.arguments), outputs[call.id].text)
            for call in message.calls
            if call.id in outputs
        ]
        if runs:
            made += tool_step(runs, dialect, says=message.text)
        elif message.text.strip() and not message.results:
            by_user = message.role == "user"
            made += (
                [said_by_user(message.text, dialect)]
                if by_user
                else said_by_model(message.text, dialect, id=f"said{len(made)}")
            )
    return made


UNKNOWN = (
    "is no string", "text in a message of role", "is list", "system holds a",  # parts out of place
    "approval", "a program waits", "srvtoolu_", "by the provider",  # of the provider's own
)  # fmt: skip
"""What a provider says of things that we do not know: they are carried as they came."""

shares = st.sampled_from((0.02, 0.1, 0.3, 0.5, 0.8, 0.99))

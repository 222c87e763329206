"""Conversations of harnesses without tool blocks: commands and outputs are texts."""

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn
from text_harnesses import HARNESSES

from context_compression.testing import Dialect, said_by_model, said_by_user
from generated.talk import Messages, outputs, rarely, words

COMMANDS = ("pytest -q", "sed -n '1,40p' src/a.py", "cat > b.py <<'EOF'\nx = 1\nEOF", "git stash")


@st.composite
def text_protocols(draw: DrawFn, dialect: Dialect) -> Messages:
    """A task, and up to eight commands with their outputs; the last one may lack its output."""
    harness = draw(st.sampled_from([*HARNESSES.values()]))
    messages: Messages = [said_by_user(draw(words), dialect)]
    for _ in range(draw(st.integers(1, 8))):
        command = draw(st.one_of(st.sampled_from(COMMANDS), words))
        messages += said_by_model(harness.call(draw(words), command), dialect)
        messages.append(
            said_by_user(harness.result(draw(outputs()), draw(st.integers(0, 2))), dialect)
        )
        if draw(rarely(5)):
            messages += said_by_model(draw(words), dialect)
            messages.append(said_by_user(draw(words), dialect))
    return messages[: -1 if draw(rarely(4)) else None]

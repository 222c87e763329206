"""What the tests of `extract` may ask for."""

import pytest
from extract_sessions import LONG, Messages, session, step, text_message


@pytest.fixture
def worked() -> Messages:
    """Five turns of work, each with a long output, and a few words at the end."""
    turns = [
        session(
            text_message("user", f"Task {n}: look into module_{n}.py."),
            step(n, f"{LONG}\nERROR in module_{n}.py line 77: E{n}042\n{LONG}"),
            text_message(
                "assistant", f"I looked at it; the cause of {n} is the cache.\n\n" + LONG[:3000]
            ),
        )
        for n in range(5)
    ]
    return session(*turns, text_message("user", "Go on."))

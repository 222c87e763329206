"""Valid conversations: turns of the user and the model, in the shapes of a dialect."""

import json
from base64 import b64encode
from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from context_compression.testing import PIXEL, Dialect, said_by_model, said_by_user, tool_step
from context_compression.testing.dialects import WRITERS
from generated import of_anthropic, of_others
from generated.shapes import shaped
from generated.talk import Messages, dialects, new, rarely, runs, words

SCREEN = b64encode(b"GIF89a" + (1280).to_bytes(2, "little") + (800).to_bytes(2, "little")).decode()
"""The beginning of a picture as large as a screen: that is all that a counter looks at."""


@st.composite
def conversations(
    draw: DrawFn,
    dialect: SearchStrategy[Dialect] = dialects,
    max_turns: int = 5,
    spread: bool = False,
) -> Messages:
    """A valid conversation; it may be empty, and end in an open tool step."""
    kind = draw(dialect)
    messages: Messages = []
    taken: list[int] = []
    if "system" in WRITERS[kind].system_roles and draw(st.booleans()):
        messages.append({"role": "system", "content": draw(words)})
    for _ in range(draw(st.integers(0, max_turns))):
        messages += draw(_turns(kind, taken, spread))
    ending = draw(st.integers(0, 3))
    if messages and messages[-1].get("role") != "system" and ending:
        messages += draw(_endings(kind, taken, spread, ending))
    made = draw(shaped(kind, messages, spread))
    return json.loads(json.dumps(made).replace(PIXEL, SCREEN)) if draw(st.booleans()) else made


@st.composite
def _turns(draw: DrawFn, kind: Dialect, taken: list[int], spread: bool) -> Messages:
    """What the user asks, up to three steps, and most of the time an answer."""
    messages = [said_by_user(draw(words), kind, draw(rarely(10)), draw(rarely(10)))]
    if "developer" in WRITERS[kind].system_roles and draw(rarely(5)):
        messages.append({"role": "developer", "content": draw(words)})
    thought = draw(st.one_of(st.none(), words))
    for _ in range(draw(st.integers(0, 3))):
        messages += draw(_steps(kind, taken, spread, thought))
    if not draw(rarely(5)):
        messages += draw(_answers(kind, taken, thought))
    return messages


@st.composite
def _steps(
    draw: DrawFn, kind: Dialect, taken: list[int], spread: bool, thought: str | None
) -> Messages:
    """Calls with their results; now and then in a shape that only this dialect has."""
    if draw(rarely(4)):
        if kind == "anthropic" and spread:
            return draw(of_anthropic.spread_steps(taken, thought))
        if kind in of_others.STEPS:
            return draw(of_others.STEPS[kind](taken, thought))
    says = draw(st.one_of(st.just(""), words))
    redacted = thought is not None and draw(rarely(5))
    return tool_step(draw(runs(taken)), kind, thought=thought, redacted=redacted, says=says)


@st.composite
def _answers(draw: DrawFn, kind: Dialect, taken: list[int], thought: str | None) -> Messages:
    """What the model says at the end, sometimes in one of the shapes one rarely sees."""
    text = draw(words)
    extra = draw(st.one_of(*[st.just(dict[str, Any]())] * 2, of_others.answers(kind, text, taken)))
    if extra:
        return [{"role": "assistant", "content": text} | extra]
    thinks = thought if draw(st.booleans()) else None
    named = f"end{new(taken)}" if thinks or draw(st.booleans()) else ""
    return said_by_model(text, kind, thought=thinks, id=named)


@st.composite
def _endings(draw: DrawFn, kind: Dialect, taken: list[int], spread: bool, ending: int) -> Messages:
    """A step that lacks some of its results, or that the model has not seen the results of."""
    if ending == 1 and draw(rarely(3)):
        if kind == "anthropic" and spread:
            return draw(of_anthropic.open_steps(taken))
        if kind == "vercel":
            return draw(of_others.open_approvals(taken))
    thought = draw(st.one_of(st.none(), words))
    answered = draw(st.integers(0, 2)) if ending == 1 else 9
    return tool_step(draw(runs(taken)), kind, thought=thought, answered=answered)

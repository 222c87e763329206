"""Turns of a model in the three APIs, in which it restores what was left out."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from hypothesis import strategies as st
from streamed import Json, Style

Part: TypeAlias = tuple[str, str]
"""What a model does next: `("text" | "thinking", words)` or `("call", name of a tool)`."""

OURS = ("call", "context_restore")
APIS = ("messages", "chat", "responses")
STOPS = {"messages": ("end_turn", "tool_use"), "chat": ("stop", "tool_calls")}


@dataclass(frozen=True)
class Turn:
    """The responses of one turn: all but the last call nothing but `context_restore`."""

    api: str
    responses: Sequence[Json]


def response(api: str, parts: Sequence[Part], number: int = 0, **fields: Any) -> Json:
    """One response in its form without streaming; `fields` take the place of its own."""
    calls = any(kind == "call" for kind, _ in parts)
    make = {"messages": _message, "chat": _completion, "responses": _response}
    return {**make[api](parts, number, calls), **fields}


def _message(parts: Sequence[Part], number: int, calls: bool) -> Json:
    content: list[Json] = []
    for place, (kind, words) in enumerate(parts):
        if kind == "text":
            content.append({"type": "text", "text": words})
        elif kind == "thinking":
            signature = f"signed{number}{place}"
            content.append({"type": "thinking", "thinking": words, "signature": signature})
        else:
            id = f"toolu_{number}_{place}"
            content.append({"type": "tool_use", "id": id, "name": words, "input": {"ref": id}})
    return {
        "id": f"msg_{number}", "type": "message", "role": "assistant", "model": "m",
        "content": content, "stop_reason": STOPS["messages"][calls], "stop_sequence": None,
        "usage": {
            "input_tokens": 10 + number, "cache_read_input_tokens": 100, "output_tokens": 7,
            "server_tool_use": {"web_search_requests": number},
        },
    }  # fmt: skip


def _completion(parts: Sequence[Part], number: int, calls: bool) -> Json:
    def said(kind: str) -> str:
        return "".join(words for each, words in parts if each == kind)

    tool_calls = [
        {
            "id": f"call_{number}_{place}", "type": "function",
            "function": {"name": name, "arguments": json.dumps({"ref": f"{number}{place}"})},
        }
        for place, (kind, name) in enumerate(parts) if kind == "call"
    ]  # fmt: skip
    message: Json = {"role": "assistant", "content": said("text") or None}
    message |= {"reasoning_content": said("thinking")} if said("thinking") else {}
    message |= {"tool_calls": tool_calls} if tool_calls else {}
    reason = STOPS["chat"][calls]
    return {
        "id": f"chatcmpl-{number}", "object": "chat.completion", "created": 100 + number,
        "model": "m", "system_fingerprint": f"fp_{number}",
        "choices": [{"index": 0, "message": message, "finish_reason": reason}],
        "usage": {
            "prompt_tokens": 10 + number, "completion_tokens": 7, "total_tokens": 17 + number,
            "prompt_tokens_details": {"cached_tokens": 3},
        },
    }  # fmt: skip


def _response(parts: Sequence[Part], number: int, calls: bool) -> Json:
    output: list[Json] = []
    for place, (kind, words) in enumerate(parts):
        id = f"{kind}_{number}_{place}"
        if kind == "text":
            part: Json = {"type": "output_text", "text": words, "annotations": []}
            output.append({"type": "message", "id": id, "role": "assistant", "content": [part]})
        elif kind == "thinking":
            summary = [{"type": "summary_text", "text": words}]
            item = {"type": "reasoning", "id": id, "summary": summary}
            output.append({**item, "encrypted_content": f"sealed{number}{place}"})
        else:
            item = {"type": "function_call", "id": id, "call_id": f"call_{number}_{place}"}
            output.append({**item, "name": words, "arguments": json.dumps({"ref": id})})
    return {
        "id": f"resp_{number}", "object": "response", "created_at": 100 + number,
        "status": "completed", "model": "m", "output": output, "parallel_tool_calls": True,
        "tool_choice": "auto", "tools": [],
        "usage": {
            "input_tokens": 10 + number, "input_tokens_details": {"cached_tokens": 3},
            "output_tokens": 7, "total_tokens": 17 + number,
        },
    }  # fmt: skip


WORDS = st.one_of(
    st.sampled_from(['"index":7,', '{"tool_calls":[{', 'é😀"', "data: [DONE]\n\n", '\\"type":"x"']),
    st.text(min_size=1, max_size=12),
)
SAID = st.tuples(st.sampled_from(["text", "thinking"]), WORDS)
OTHERS = st.tuples(st.just("call"), st.sampled_from(["read", "context", "bash"]))


def _in_order(parts: Sequence[Part]) -> list[Part]:
    return sorted(parts, key=lambda part: part[0] == "call")


BETWEEN = st.tuples(st.lists(SAID, max_size=3), st.lists(st.just(OURS), min_size=1, max_size=2))
"""A response that calls nothing but our tool."""
LAST = st.lists(st.one_of(SAID, OTHERS, st.just(OURS)), min_size=1, max_size=4).map(_in_order)


@st.composite
def turns(draw: st.DrawFn, most: int = 3) -> Turn:
    """A turn in any of the APIs."""
    api = draw(st.sampled_from(APIS))
    rounds = [[*said, *calls] for said, calls in draw(st.lists(BETWEEN, max_size=most))]
    rounds.append(draw(LAST))
    return Turn(api, [response(api, parts, number) for number, parts in enumerate(rounds)])


STYLES = st.builds(
    Style,
    line_end=st.sampled_from(["\n", "\r\n", "\r"]),
    named=st.booleans(),
    spread=st.booleans(),
    space=st.sampled_from(["", " "]),
    comment=st.sampled_from(["", " ping", "data: {}"]),
    start=st.sampled_from(["", "\ufeff"]),
)

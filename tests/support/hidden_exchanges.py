"""A client that keeps its history as it likes, and a provider that sees what the client does not.

A `Talk` is one conversation in one API. Each `turn` asks the provider until the model calls no tool
of ours; `context_restore` is called alone, several times, or beside a tool of the client.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any

from context_compression.conversation import is_array
from context_compression.integrations.apis import CHAT, MESSAGES, RESPONSES, Api, Json

RESTORE = "context_restore"
APIS = (MESSAGES, CHAT, RESPONSES)
WORDS = ("the", "build", "is", "red", "because", "a", "version", "does", "not", "exist", "here")
Part = tuple[str, str, str]
"""Kind (`thinking`, `text`, `call`), id, and the text or the name of the tool."""


def response(api: Api, parts: Sequence[Part]) -> Json:
    """A response of the provider."""
    if api is MESSAGES:
        return {"role": "assistant", "content": [_block(part) for part in parts]}
    if api is RESPONSES:
        return {"output": [_item(part) for part in parts]}
    message: Json = {"role": "assistant", "content": _text(parts) or None}
    if calls := [_chat_call(part) for part in parts if part[0] == "call"]:
        message["tool_calls"] = calls
    return {"choices": [{"message": message}]}


def said(api: Api, parts: Sequence[Part]) -> list[Json]:
    """The messages of the model for what it said, in one or several responses."""
    if not parts:
        return []
    if api is RESPONSES:
        return [_item(part) for part in parts]
    whole = response(api, parts)
    return [whole["choices"][0]["message"] if api is CHAT else whole]


def results(api: Api, ids: Sequence[str], text: Callable[[str], str]) -> list[Json]:
    """The messages with the results of calls."""
    if not ids:
        return []
    if api is RESPONSES:
        return [{"type": "function_call_output", "call_id": id, "output": text(id)} for id in ids]
    if api is CHAT:
        return [{"role": "tool", "tool_call_id": id, "content": text(id)} for id in ids]
    blocks = [{"type": "tool_result", "tool_use_id": id, "content": text(id)} for id in ids]
    return [{"role": "user", "content": blocks}]


def by_user(api: Api, text: str) -> Json:
    """A message of the user."""
    del api
    return {"role": "user", "content": text}


def _text(parts: Sequence[Part]) -> str:
    return "".join(text for kind, _, text in parts if kind == "text")


def _block(part: Part) -> Json:
    match part:
        case ("thinking", id, text):
            return {"type": "thinking", "thinking": text, "signature": id}
        case ("text", _, text):
            return {"type": "text", "text": text}
        case (_, id, name):
            return {"type": "tool_use", "id": id, "name": name, "input": {"of": id}}


def _item(part: Part) -> Json:
    match part:
        case ("thinking", id, text):
            return {"type": "reasoning", "id": id, "summary": [], "encrypted_content": text}
        case ("text", _, text):
            block: Json = {"type": "output_text", "text": text, "annotations": []}
            return {"type": "message", "role": "assistant", "content": [block]}
        case (_, id, name):
            of = json.dumps({"of": id})
            return {"type": "function_call", "call_id": id, "name": name, "arguments": of}


def _chat_call(part: Part) -> Json:
    _, id, name = part
    called = {"name": name, "arguments": json.dumps({"of": id})}
    return {"id": id, "type": "function", "function": called}


Rewrite = Callable[[Api, list[Json], Random], list[Json]]
"""How a client writes the messages that it has; it does not change what they say."""


@dataclass
class Talk:
    """One conversation.

    Attributes:
        api: of the conversation.
        random: decides what is said and called.
        history: of the client.
        restores: whether the model may call our tool.
    """

    api: Api
    random: Random
    history: list[Json] = field(default_factory=list[Json])
    restores: bool = True
    made: int = 0

    def id(self, kind: str) -> str:
        self.made += 1
        return f"{kind}_{self.random.randrange(10**6)}_{self.made}"

    def words(self) -> str:
        return " ".join(self.random.choices(WORDS, k=self.random.randint(1, 6)))

    def says(self, *, restores: bool, works: bool) -> list[Part]:
        """What the model says in one response: it may think, speak, and call."""
        parts: list[Part] = []
        if self.random.random() < 0.5 and self.api is not CHAT:
            parts.append(("thinking", self.id("sig"), self.words()))
        if self.random.random() < 0.6 or not (restores or works):
            parts.append(("text", "", f"{self.words()} {self.id('n')}"))
        calls: list[Part] = []
        if restores:
            calls += [("call", self.id("r"), RESTORE) for _ in range(self.random.randint(1, 2))]
        if works:
            calls += [("call", self.id("x"), "Read") for _ in range(self.random.randint(1, 2))]
        self.random.shuffle(calls)
        return parts + calls

    def answer(self) -> list[list[Part]]:
        """The responses of one turn of the client: all but the last call our tool alone."""
        rounds = self.random.choice([0, 0, 0, 1, 1, 2, 3]) * self.restores
        first = [self.says(restores=True, works=False) for _ in range(rounds)]
        works, restores = self.random.random() < 0.6, self.random.random() < 0.4
        return [*first, self.says(restores=restores and works and self.restores, works=works)]


def shown(responses: Sequence[Sequence[Part]]) -> list[Part]:
    """What the client is shown of the responses of a turn."""
    return [part for parts in responses for part in parts if part[2] != RESTORE]


def calls_of(parts: Sequence[Part], *, ours: bool) -> list[str]:
    """The ids of the calls of our tool, or of others."""
    return [id for kind, id, name in parts if kind == "call" and (name == RESTORE) == ours]


def as_it_is(api: Api, history: list[Json], random: Random) -> list[Json]:
    return [*history]


def marked(api: Api, history: list[Json], random: Random) -> list[Json]:
    """Texts as blocks, the newest with a mark for a cache; keys of its own that say nothing."""
    written: list[Json] = []
    for message in history:
        content = message.get("content")
        if isinstance(content, str) and "role" in message and random.random() < 0.5:
            kind = {"user": "input_text", "assistant": "output_text"}
            type = kind.get(message["role"], "text") if api is RESPONSES else "text"
            message = {**message, "content": [{"type": type, "text": content}]}
        written.append(message)
    last = written[-1]
    if api is MESSAGES and is_array(last["content"]):
        *blocks, block = last["content"]
        mark = {"cache_control": {"type": "ephemeral"}}
        written[-1] = {**last, "content": [*blocks, {**block, **mark}]}
    return written


def joined_texts(api: Api, history: list[Json], random: Random) -> list[Json]:
    """The texts of a message that follow each other as one, with white space or without."""
    if api is not MESSAGES:
        return [*history]
    written: list[Json] = []
    for message in history:
        content: Any = message.get("content")
        if message["role"] != "assistant" or not is_array(content):
            written.append(message)
            continue
        blocks: list[Json] = []
        for each in content:
            block: Json = each
            if block["type"] == "text" and blocks and blocks[-1]["type"] == "text":
                before = blocks.pop()["text"]
                block = {**block, "text": f"{before}{between(before)}{block['text']}"}
            blocks.append(block)
        written.append({**message, "content": blocks})
    return written


def between(text: str) -> str:
    """What a client puts between texts that it joins: the same at each request."""
    return ("", "\n", "\n\n")[len(text) % 3]


def without_thinking(api: Api, history: list[Json], random: Random) -> list[Json]:
    """As clients write it that know no thinking."""
    if api is not MESSAGES:
        return [message for message in history if message.get("type") != "reasoning"]
    return [
        {**message, "content": _not_thinking(message["content"])}
        if is_array(message["content"]) else message
        for message in history
    ]  # fmt: skip


def _not_thinking(blocks: Any) -> Any:
    return [block for block in blocks if block["type"] != "thinking"] or "-"


REWRITES: tuple[Rewrite, ...] = (as_it_is, marked, joined_texts, without_thinking)

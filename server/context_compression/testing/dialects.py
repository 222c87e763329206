"""A step of the model, as values, and what writes it in each dialect: a class each, in `WRITERS`.

A step is the model's next move: it may think, write text and make calls, of which the first ones
are answered.
"""

import json
from base64 import b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol, TypeAlias

Dialect: TypeAlias = Literal[
    "anthropic", "openai", "openai-legacy", "ollama", "responses", "gemini", "bedrock", "vercel"
]
"""Anthropic Messages; OpenAI Chat, the same with `function_call`, and Ollama's form of it without
ids; OpenAI Responses items; Gemini contents; Bedrock Converse; the AI SDK's ModelMessage.
"""
Json: TypeAlias = dict[str, Any]

PIXEL = "R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7"
"""A picture of one pixel, GIF in base64."""
DOCUMENT_TEXT = "The old config format stays.\n"
"""A text file."""
DOCUMENT = b64encode(DOCUMENT_TEXT.encode()).decode()
"""The text file in base64."""


@dataclass(frozen=True)
class Run:
    """One tool call and its result."""

    id: str
    name: str
    arguments: dict[str, Any]
    output: str
    failed: bool = False
    picture: bool = False


@dataclass(frozen=True)
class ModelStep:
    """One step of the model; without runs it only writes text, as at the end of a turn.

    Attributes:
        runs: its tool calls.
        text: its text.
        thought: its thinking, or `None`.
        redacted: whether only the provider can read the thought.
        answered: how many runs have a result; `None` for all of them.
        id: names a step that has no runs.
    """

    runs: Sequence[Run] = ()
    text: str = ""
    thought: str | None = None
    redacted: bool = False
    answered: int | None = None
    id: str = ""

    @property
    def done(self) -> Sequence[Run]:
        """The runs that have a result."""
        return self.runs if self.answered is None else self.runs[: self.answered]

    @property
    def mark(self) -> str:
        """The ending of the ids and signatures of the step."""
        return self.id or (self.runs[0].id if self.runs else "")


class Writer(Protocol):
    """Writes one dialect; `system_roles` are the roles its system messages may have, if any."""

    system_roles: Sequence[str] = ()

    def user(self, text: str, picture: bool, document: bool) -> Json:
        """A user message, with a picture or a text file if the flags are set."""
        ...

    def step(self, step: ModelStep) -> list[Json]:
        """The model's messages of a step, and the messages with the results."""
        ...


def message_of(role: str, text: str, part: Json, more: Sequence[Json]) -> Json:
    """A message whose content is the text, or a list of parts if there are more."""
    return {"role": role, "content": [part, *more] if more else text}


def sealed(step: ModelStep) -> str:
    """A base64 text that only the provider can read or check; each step has its own."""
    return b64encode(f"sealed {step.mark}".encode()).decode()


def text_of(run: Run) -> list[Json]:
    """The output as a part with a type; none if it is empty, because providers refuse that."""
    return [{"type": "text", "text": run.output}] if run.output else []


def data_url(media_type: str, data: str) -> str:
    """`data:image/gif;base64,…`."""
    return f"data:{media_type};base64,{data}"


class OpenAI(Writer):
    """OpenAI Chat: calls in `tool_calls`, a message of role tool for each result, no thinking."""

    system_roles = ("system", "developer")

    def user(self, text: str, picture: bool, document: bool) -> Json:
        """A string, or parts if there is more than text."""
        more: list[Json] = []
        if picture:
            more.append({"type": "image_url", "image_url": {"url": data_url("image/gif", PIXEL)}})
        if document:
            document_part = {"filename": "notes.txt", "file_data": data_url("text/plain", DOCUMENT)}
            more.append({"type": "file", "file": document_part})
        return message_of("user", text, {"type": "text", "text": text}, more)

    def step(self, step: ModelStep) -> list[Json]:
        """An assistant message with all calls, then the results."""
        if not step.runs:
            return [{"role": "assistant", "content": step.text}]
        calls = [{"id": r.id, "type": "function", "function": _function_of(r)} for r in step.runs]
        return [
            {"role": "assistant", "content": step.text or None, "tool_calls": calls},
            *({"role": "tool", "tool_call_id": r.id, "content": r.output} for r in step.done),
        ]


class LegacyOpenAI(OpenAI):
    """OpenAI Chat before `tool_calls`: one `function_call` a message; results of role function."""

    system_roles = ("system",)

    def step(self, step: ModelStep) -> list[Json]:
        """One call after the other; a call without an answer is the last."""
        if not step.runs:
            return super().step(step)
        messages: list[Json] = []
        for number, run in enumerate(step.runs[: len(step.done) + 1]):
            text = step.text if number == 0 else ""
            call: Json = {"role": "assistant", "content": text or None}
            messages.append(call | {"function_call": _function_of(run)})
            if number < len(step.done):
                messages.append({"role": "function", "name": run.name, "content": run.output})
        return messages


class Ollama(Writer):
    """Ollama's chat: calls and results have no ids, arguments are an object, pictures a list."""

    system_roles = ("system",)

    def user(self, text: str, picture: bool, document: bool) -> Json:
        """A string; the dialect does not support documents."""
        return {"role": "user", "content": text} | ({"images": [PIXEL]} if picture else {})

    def step(self, step: ModelStep) -> list[Json]:
        """An assistant message with all calls, then the results in their order."""
        message: Json = {"role": "assistant", "content": step.text}
        if step.thought:
            message["thinking"] = step.thought
        if step.runs:
            functions = [{"name": run.name, "arguments": run.arguments} for run in step.runs]
            message["tool_calls"] = [{"function": function} for function in functions]
        results = ({"role": "tool", "tool_name": r.name, "content": r.output} for r in step.done)
        return [message, *results]


class Responses(Writer):
    """OpenAI Responses: a flat list of items; a reasoning item is before the items it led to."""

    system_roles = ("system", "developer")

    def user(self, text: str, picture: bool, document: bool) -> Json:
        """A string, or parts if there is more than text."""
        more: list[Json] = []
        if picture:
            url = data_url("image/gif", PIXEL)
            more.append({"type": "input_image", "image_url": url, "detail": "auto"})
        if document:
            document_part = data_url("text/plain", DOCUMENT)
            more.append({"type": "input_file", "filename": "notes.txt", "file_data": document_part})
        return message_of("user", text, {"type": "input_text", "text": text}, more)

    def step(self, step: ModelStep) -> list[Json]:
        """Reasoning, a message, the calls, the outputs.

        Items that the model made have ids; the text of a step without a mark is a plain message.
        """
        items: list[Json] = []
        if step.thought:
            summary = [] if step.redacted else [{"type": "summary_text", "text": step.thought}]
            reasoning = {"type": "reasoning", "id": f"rs_{step.mark}", "summary": summary}
            items.append(reasoning | {"encrypted_content": sealed(step)})
        if step.text and step.mark:
            part = {"type": "output_text", "text": step.text, "annotations": list[Json]()}
            message = {"type": "message", "id": f"msg_{step.mark}", "status": "completed"}
            items.append(message | {"role": "assistant", "content": [part]})
        elif step.text:
            items.append({"role": "assistant", "content": step.text})
        for run in step.runs:
            call = {"type": "function_call", "id": f"fc_{run.id}", "call_id": run.id}
            items.append(call | _function_of(run))
        return [*items, *map(self._output, step.done)]

    def _output(self, run: Run) -> Json:
        output: Any = run.output
        if run.picture:
            picture = {"type": "input_image", "image_url": data_url("image/gif", PIXEL)}
            output = [{"type": "input_text", "text": run.output}, picture]
        return {"type": "function_call_output", "call_id": run.id, "output": output}


def _function_of(run: Run) -> Json:
    """Name and arguments in OpenAI's form: the arguments are JSON text."""
    return {"name": run.name, "arguments": json.dumps(run.arguments)}


class Anthropic(Writer):
    """Anthropic Messages: blocks with a type; results are in a user message."""

    def user(self, text: str, picture: bool, document: bool) -> Json:
        """A string, or blocks if there is more than text."""
        more = [anthropic_picture()] * picture
        if document:
            document_part = {"type": "text", "media_type": "text/plain", "data": DOCUMENT_TEXT}
            more.append({"type": "document", "source": document_part})
        return message_of("user", text, {"type": "text", "text": text}, more)

    def step(self, step: ModelStep) -> list[Json]:
        """One assistant message, and one user message with the results."""
        content: list[Json] = []
        if step.thought and step.redacted:
            content.append({"type": "redacted_thinking", "data": sealed(step)})
        elif step.thought:
            signature = f"sig-{step.mark}"
            content.append({"type": "thinking", "thinking": step.thought, "signature": signature})
        if not step.runs and not content:
            return [{"role": "assistant", "content": step.text}]
        if step.text:
            content.append({"type": "text", "text": step.text})
        for run in step.runs:
            call = {"type": "tool_use", "id": run.id, "name": run.name, "input": run.arguments}
            content.append(call)
        results = [{"role": "user", "content": list(map(self._result, step.done))}]
        return [{"role": "assistant", "content": content}, *(results if step.done else ())]

    def _result(self, run: Run) -> Json:
        content: Any = run.output
        if run.picture:
            content = [*text_of(run), anthropic_picture()]
        result = {"type": "tool_result", "tool_use_id": run.id, "content": content}
        return result | ({"is_error": True} if run.failed else {})


class Gemini(Writer):
    """Gemini contents: roles user and model, parts identified by key; results are the user's."""

    def user(self, text: str, picture: bool, document: bool) -> Json:
        """A text part, and inline data for a picture or document."""
        parts: list[Json] = [{"text": text}]
        if picture:
            parts.append({"inlineData": {"mimeType": "image/gif", "data": PIXEL}})
        if document:
            parts.append({"inlineData": {"mimeType": "text/plain", "data": DOCUMENT}})
        return {"role": "user", "parts": parts}

    def step(self, step: ModelStep) -> list[Json]:
        """A model content; after a thought, its first call is signed, or else its last text."""
        parts: list[Json] = []
        if step.thought and not step.redacted:
            parts.append({"text": step.thought, "thought": True})
        if step.text:
            parts.append({"text": step.text})
        signed = len(parts) if step.runs else len(parts) - 1
        for run in step.runs:
            call = {"id": run.id, "name": run.name, "args": run.arguments}
            parts.append({"functionCall": call})
        if step.thought:
            parts[signed]["thoughtSignature"] = sealed(step)
        results = [{"role": "user", "parts": list(map(self._response, step.done))}]
        return [{"role": "model", "parts": parts}, *(results if step.done else ())]

    def _response(self, run: Run) -> Json:
        output = {"error" if run.failed else "output": run.output}
        response: Json = {"id": run.id, "name": run.name, "response": output}
        if run.picture:
            response["parts"] = [{"inlineData": {"mimeType": "image/gif", "data": PIXEL}}]
        return {"functionResponse": response}


class Bedrock(Writer):
    """Bedrock Converse: blocks identified by their key; results are in a user message."""

    def user(self, text: str, picture: bool, document: bool) -> Json:
        """A text block, and blocks for a picture or document."""
        content: list[Json] = [{"text": text}]
        if picture:
            content.append(bedrock_picture())
        if document:
            document_part = {"format": "txt", "name": "notes", "source": {"bytes": DOCUMENT}}
            content.append({"document": document_part})
        return {"role": "user", "content": content}

    def step(self, step: ModelStep) -> list[Json]:
        """One assistant message, and one user message with the results."""
        content: list[Json] = []
        if step.thought and step.redacted:
            content.append({"reasoningContent": {"redactedContent": sealed(step)}})
        elif step.thought:
            text = {"text": step.thought, "signature": sealed(step)}
            content.append({"reasoningContent": {"reasoningText": text}})
        if step.text:
            content.append({"text": step.text})
        for run in step.runs:
            call = {"toolUseId": run.id, "name": run.name, "input": run.arguments}
            content.append({"toolUse": call})
        results = [{"role": "user", "content": list(map(self._result, step.done))}]
        return [{"role": "assistant", "content": content}, *(results if step.done else ())]

    def _result(self, run: Run) -> Json:
        output = {"text": run.output} if run.output.strip() else {"json": {"output": run.output}}
        content: list[Json] = [output, *[bedrock_picture()] * run.picture]
        status = "error" if run.failed else "success"
        return {"toolResult": {"toolUseId": run.id, "content": content, "status": status}}


class Vercel(Writer):
    """The AI SDK's ModelMessage: parts with a type; results are in messages of role tool."""

    system_roles = ("system",)

    def user(self, text: str, picture: bool, document: bool) -> Json:
        """A string, or parts if there is more than text."""
        more: list[Json] = []
        if picture:
            more.append({"type": "image", "image": PIXEL, "mediaType": "image/gif"})
        if document:
            more.append({"type": "file", "data": DOCUMENT, "mediaType": "text/plain"})
        return message_of("user", text, {"type": "text", "text": text}, more)

    def step(self, step: ModelStep) -> list[Json]:
        """An assistant message with all calls, and one of role tool with the results."""
        content: list[Json] = []
        if step.thought:
            secret = {"redactedData" if step.redacted else "signature": sealed(step)}
            thought = "" if step.redacted else step.thought
            options = {"providerOptions": {"anthropic": secret}}
            content.append({"type": "reasoning", "text": thought} | options)
        if not step.runs and not content:
            return [{"role": "assistant", "content": step.text}]
        if step.text:
            content.append({"type": "text", "text": step.text})
        for run in step.runs:
            call = {"type": "tool-call", "toolCallId": run.id, "toolName": run.name}
            content.append(call | {"input": run.arguments})
        results = [{"role": "tool", "content": list(map(self._result, step.done))}]
        return [{"role": "assistant", "content": content}, *(results if step.done else ())]

    def _result(self, run: Run) -> Json:
        output: Json = {"type": "error-text" if run.failed else "text", "value": run.output}
        if run.picture:
            picture = {"type": "image-data", "data": PIXEL, "mediaType": "image/gif"}
            output = {"type": "content", "value": [*text_of(run), picture]}
        result = {"type": "tool-result", "toolCallId": run.id, "toolName": run.name}
        return result | {"output": output}


WRITERS: Mapping[Dialect, Writer] = {
    "anthropic": Anthropic(),
    "openai": OpenAI(),
    "openai-legacy": LegacyOpenAI(),
    "ollama": Ollama(),
    "responses": Responses(),
    "gemini": Gemini(),
    "bedrock": Bedrock(),
    "vercel": Vercel(),
}


def anthropic_picture() -> Json:
    """The picture of one pixel as Anthropic's block."""
    source = {"type": "base64", "media_type": "image/gif", "data": PIXEL}
    return {"type": "image", "source": source}


def bedrock_picture() -> Json:
    """The picture of one pixel as Bedrock's block."""
    return {"image": {"format": "gif", "source": {"bytes": PIXEL}}}

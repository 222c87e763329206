"""How each dialect writes the same talk down: what the user says, what the model does in a step.

One class for each; `WRITERS` has them by name. A step is the model's next move: it may think, speak
and make calls, of which the first ones are answered.
"""

import json
from base64 import b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol, TypeAlias

Dialect: TypeAlias = Literal[
    "anthropic", "openai", "openai-legacy", "ollama", "responses", "gemini", "bedrock", "vercel"
]
"""Anthropic Messages; OpenAI Chat, the same with `function_call`, and as Ollama has it, without
ids; OpenAI Responses items; Gemini contents; Bedrock Converse; the AI SDK's ModelMessage."""
Json: TypeAlias = dict[str, Any]

PIXEL = "R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7"
"""A picture of one pixel, GIF in base64."""
NOTES = "The old config format stays.\n"
"""A text file."""
PAPER = b64encode(NOTES.encode()).decode()
"""The same in base64."""


@dataclass(frozen=True)
class Run:
    """One tool call and what it answered."""

    id: str
    name: str
    arguments: dict[str, Any]
    output: str
    failed: bool = False
    picture: bool = False


@dataclass(frozen=True)
class Step:
    """What the model does at once; without runs it only speaks, as at the end of a turn."""

    runs: Sequence[Run] = ()
    says: str = ""
    thought: str | None = None
    redacted: bool = False
    """Whether the thought is there but only the provider can read it."""
    answered: int | None = None
    """How many runs have answered; all of them where it is not said."""
    id: str = ""

    @property
    def done(self) -> Sequence[Run]:
        """The runs that have answered."""
        return self.runs if self.answered is None else self.runs[: self.answered]

    @property
    def mark(self) -> str:
        """What the ids and signatures of the step end in."""
        return self.id or (self.runs[0].id if self.runs else "")


class Writer(Protocol):
    """Writes one dialect. `system_roles`: those a message of the system's may have, if any."""

    system_roles: Sequence[str] = ()

    def user(self, text: str, picture: bool, document: bool) -> Json:
        """What the user says, with a picture or a file where asked for."""
        ...

    def step(self, step: Step) -> list[Json]:
        """The model's messages of a step, and the results."""
        ...


class Anthropic(Writer):
    """Anthropic Messages: blocks with a type; results are the user's."""

    def user(self, text: str, picture: bool, document: bool) -> Json:
        """A string, or blocks where there is more than text."""
        more = [anthropic_picture()] * picture
        if document:
            paper = {"type": "text", "media_type": "text/plain", "data": NOTES}
            more.append({"type": "document", "source": paper})
        return said("user", text, {"type": "text", "text": text}, more)

    def step(self, step: Step) -> list[Json]:
        """One assistant message, and one of the user's with the results."""
        content: list[Json] = []
        if step.thought and step.redacted:
            content.append({"type": "redacted_thinking", "data": sealed(step)})
        elif step.thought:
            signature = f"sig-{step.mark}"
            content.append({"type": "thinking", "thinking": step.thought, "signature": signature})
        if not step.runs and not content:
            return [{"role": "assistant", "content": step.says}]
        if step.says:
            content.append({"type": "text", "text": step.says})
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


class OpenAI(Writer):
    """OpenAI Chat: calls in `tool_calls`, a message of role tool for each result, no thinking."""

    system_roles = ("system", "developer")

    def user(self, text: str, picture: bool, document: bool) -> Json:
        """A string, or parts where there is more than text."""
        more: list[Json] = []
        if picture:
            more.append({"type": "image_url", "image_url": {"url": data_url("image/gif", PIXEL)}})
        if document:
            paper = {"filename": "notes.txt", "file_data": data_url("text/plain", PAPER)}
            more.append({"type": "file", "file": paper})
        return said("user", text, {"type": "text", "text": text}, more)

    def step(self, step: Step) -> list[Json]:
        """An assistant message with all calls, then the results."""
        if not step.runs:
            return [{"role": "assistant", "content": step.says}]
        calls = [{"id": r.id, "type": "function", "function": function_of(r)} for r in step.runs]
        return [
            {"role": "assistant", "content": step.says or None, "tool_calls": calls},
            *({"role": "tool", "tool_call_id": r.id, "content": r.output} for r in step.done),
        ]


class LegacyOpenAI(OpenAI):
    """OpenAI Chat before `tool_calls`: one `function_call` a message, answered by role function."""

    system_roles = ("system",)

    def step(self, step: Step) -> list[Json]:
        """One call after the other; where one has no answer, the next is never made."""
        if not step.runs:
            return super().step(step)
        messages: list[Json] = []
        for number, run in enumerate(step.runs[: len(step.done) + 1]):
            says = step.says if number == 0 else ""
            call: Json = {"role": "assistant", "content": says or None}
            messages.append(call | {"function_call": function_of(run)})
            if number < len(step.done):
                messages.append({"role": "function", "name": run.name, "content": run.output})
        return messages


class Ollama(Writer):
    """Ollama's chat: calls and results have no ids, arguments are an object, pictures a list."""

    system_roles = ("system",)

    def user(self, text: str, picture: bool, document: bool) -> Json:
        """A string; it has no place for a document."""
        return {"role": "user", "content": text} | ({"images": [PIXEL]} if picture else {})

    def step(self, step: Step) -> list[Json]:
        """An assistant message with all calls, then the results in their order."""
        spoken: Json = {"role": "assistant", "content": step.says}
        if step.thought:
            spoken["thinking"] = step.thought
        if step.runs:
            functions = [{"name": run.name, "arguments": run.arguments} for run in step.runs]
            spoken["tool_calls"] = [{"function": function} for function in functions]
        results = ({"role": "tool", "tool_name": r.name, "content": r.output} for r in step.done)
        return [spoken, *results]


class Responses(Writer):
    """OpenAI Responses: a flat list of items; a reasoning item stands before what came of it."""

    system_roles = ("system", "developer")

    def user(self, text: str, picture: bool, document: bool) -> Json:
        """A string, or parts where there is more than text."""
        more: list[Json] = []
        if picture:
            url = data_url("image/gif", PIXEL)
            more.append({"type": "input_image", "image_url": url, "detail": "auto"})
        if document:
            paper = data_url("text/plain", PAPER)
            more.append({"type": "input_file", "filename": "notes.txt", "file_data": paper})
        return said("user", text, {"type": "input_text", "text": text}, more)

    def step(self, step: Step) -> list[Json]:
        """Reasoning, a message, the calls, the outputs.

        What the model made has its id; an answer that nobody gave one is a plain message.
        """
        items: list[Json] = []
        if step.thought:
            summary = [] if step.redacted else [{"type": "summary_text", "text": step.thought}]
            reasoning = {"type": "reasoning", "id": f"rs_{step.mark}", "summary": summary}
            items.append(reasoning | {"encrypted_content": sealed(step)})
        if step.says and step.mark:
            part = {"type": "output_text", "text": step.says, "annotations": list[Json]()}
            message = {"type": "message", "id": f"msg_{step.mark}", "status": "completed"}
            items.append(message | {"role": "assistant", "content": [part]})
        elif step.says:
            items.append({"role": "assistant", "content": step.says})
        for run in step.runs:
            call = {"type": "function_call", "id": f"fc_{run.id}", "call_id": run.id}
            items.append(call | function_of(run))
        return [*items, *map(self._output, step.done)]

    def _output(self, run: Run) -> Json:
        output: Any = run.output
        if run.picture:
            picture = {"type": "input_image", "image_url": data_url("image/gif", PIXEL)}
            output = [{"type": "input_text", "text": run.output}, picture]
        return {"type": "function_call_output", "call_id": run.id, "output": output}


class Gemini(Writer):
    """Gemini contents: roles user and model, parts known by their key; results are the user's."""

    def user(self, text: str, picture: bool, document: bool) -> Json:
        """A text part, and inline data where there is more."""
        parts: list[Json] = [{"text": text}]
        if picture:
            parts.append({"inlineData": {"mimeType": "image/gif", "data": PIXEL}})
        if document:
            parts.append({"inlineData": {"mimeType": "text/plain", "data": PAPER}})
        return {"role": "user", "parts": parts}

    def step(self, step: Step) -> list[Json]:
        """A model content; its first call, or else its last text, is signed where it thought."""
        parts: list[Json] = []
        if step.thought and not step.redacted:
            parts.append({"text": step.thought, "thought": True})
        if step.says:
            parts.append({"text": step.says})
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
    """Bedrock Converse: blocks known by their key; results are the user's."""

    def user(self, text: str, picture: bool, document: bool) -> Json:
        """A text block, and a picture or document where there is more."""
        content: list[Json] = [{"text": text}]
        if picture:
            content.append(bedrock_picture())
        if document:
            paper = {"format": "txt", "name": "notes", "source": {"bytes": PAPER}}
            content.append({"document": paper})
        return {"role": "user", "content": content}

    def step(self, step: Step) -> list[Json]:
        """One assistant message, and one of the user's with the results."""
        content: list[Json] = []
        if step.thought and step.redacted:
            content.append({"reasoningContent": {"redactedContent": sealed(step)}})
        elif step.thought:
            text = {"text": step.thought, "signature": sealed(step)}
            content.append({"reasoningContent": {"reasoningText": text}})
        if step.says:
            content.append({"text": step.says})
        for run in step.runs:
            call = {"toolUseId": run.id, "name": run.name, "input": run.arguments}
            content.append({"toolUse": call})
        results = [{"role": "user", "content": list(map(self._result, step.done))}]
        return [{"role": "assistant", "content": content}, *(results if step.done else ())]

    def _result(self, run: Run) -> Json:
        said = {"text": run.output} if run.output.strip() else {"json": {"output": run.output}}
        content: list[Json] = [said, *[bedrock_picture()] * run.picture]
        status = "error" if run.failed else "success"
        return {"toolResult": {"toolUseId": run.id, "content": content, "status": status}}


class Vercel(Writer):
    """The AI SDK's ModelMessage: parts with a type, results in messages of role tool."""

    system_roles = ("system",)

    def user(self, text: str, picture: bool, document: bool) -> Json:
        """A string, or parts where there is more than text."""
        more: list[Json] = []
        if picture:
            more.append({"type": "image", "image": PIXEL, "mediaType": "image/gif"})
        if document:
            more.append({"type": "file", "data": PAPER, "mediaType": "text/plain"})
        return said("user", text, {"type": "text", "text": text}, more)

    def step(self, step: Step) -> list[Json]:
        """An assistant message with all calls, and one of role tool with the results."""
        content: list[Json] = []
        if step.thought:
            secret = {"redactedData" if step.redacted else "signature": sealed(step)}
            thought = "" if step.redacted else step.thought
            options = {"providerOptions": {"anthropic": secret}}
            content.append({"type": "reasoning", "text": thought} | options)
        if not step.runs and not content:
            return [{"role": "assistant", "content": step.says}]
        if step.says:
            content.append({"type": "text", "text": step.says})
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


def said(role: str, text: str, part: Json, more: Sequence[Json]) -> Json:
    """A message that is a string as long as nothing else stands beside the text."""
    return {"role": role, "content": [part, *more] if more else text}


def function_of(run: Run) -> Json:
    """Name and arguments as OpenAI has them: the arguments as text."""
    return {"name": run.name, "arguments": json.dumps(run.arguments)}


def sealed(step: Step) -> str:
    """What only the provider can read or check, in base64; each step has its own."""
    return b64encode(f"sealed {step.mark}".encode()).decode()


def text_of(run: Run) -> list[Json]:
    """The output as a part with a type; none where it is empty, which providers refuse."""
    return [{"type": "text", "text": run.output}] if run.output else []


def data_url(media_type: str, data: str) -> str:
    """`data:image/gif;base64,…`."""
    return f"data:{media_type};base64,{data}"


def anthropic_picture() -> Json:
    """The pixel as Anthropic's block."""
    source = {"type": "base64", "media_type": "image/gif", "data": PIXEL}
    return {"type": "image", "source": source}


def bedrock_picture() -> Json:
    """The pixel as Bedrock's block."""
    return {"image": {"format": "gif", "source": {"bytes": PIXEL}}}

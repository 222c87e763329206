"""The dialects related to OpenAI's: Chat, Chat with `function_call`, Ollama, Responses."""

import json
from typing import Any

from context_compression.testing.steps import (
    DOCUMENT,
    PIXEL,
    Json,
    Run,
    Step,
    Writer,
    data_url,
    message_of,
    sealed,
)


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

    def step(self, step: Step) -> list[Json]:
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

    def step(self, step: Step) -> list[Json]:
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

    def step(self, step: Step) -> list[Json]:
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

    def step(self, step: Step) -> list[Json]:
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

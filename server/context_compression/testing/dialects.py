"""The writers of all dialects: one class each, by name in `WRITERS`."""

from collections.abc import Mapping
from typing import Any

from context_compression.testing.openai_dialects import LegacyOpenAI, Ollama, OpenAI, Responses
from context_compression.testing.steps import (
    DOCUMENT,
    DOCUMENT_TEXT,
    PIXEL,
    Dialect,
    Json,
    Run,
    Step,
    Writer,
    message_of,
    sealed,
    text_of,
)


class Anthropic(Writer):
    """Anthropic Messages: blocks with a type; results are in a user message."""

    def user(self, text: str, picture: bool, document: bool) -> Json:
        """A string, or blocks if there is more than text."""
        more = [anthropic_picture()] * picture
        if document:
            document_part = {"type": "text", "media_type": "text/plain", "data": DOCUMENT_TEXT}
            more.append({"type": "document", "source": document_part})
        return message_of("user", text, {"type": "text", "text": text}, more)

    def step(self, step: Step) -> list[Json]:
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

    def step(self, step: Step) -> list[Json]:
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

    def step(self, step: Step) -> list[Json]:
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

    def step(self, step: Step) -> list[Json]:
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

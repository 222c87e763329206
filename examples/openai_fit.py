"""A loop as tutorials of the `openai` client write it, with a session that keeps it small.

    OPENAI_API_KEY=… python examples/openai_fit.py

The program keeps its `messages` itself, in the types of its client. `session.fit` says what to send
instead of them, and `restore_tool` lets the model bring back what left.
"""

import json

from openai import OpenAI
from openai.types.chat import (
    ChatCompletionFunctionToolParam,
    ChatCompletionMessageFunctionToolCallParam,
    ChatCompletionMessageParam,
    ChatCompletionToolMessageParam,
)
from openai.types.chat.chat_completion_message_function_tool_call_param import Function

from context_compression import Session, restore_tool

MODEL = "gpt-5"
READ_LOG: ChatCompletionFunctionToolParam = {
    "type": "function",
    "function": {
        "name": "read_log",
        "description": "Reads the log of a build.",
        "parameters": {"type": "object", "properties": {"build": {"type": "integer"}}},
    },
}


def read_log(build: int) -> str:
    """A tool with a large output, some 3,000 tokens."""
    lines = [f"{n:4} build {build} compiled unit_{n * build % 977}.o in {n} ms" for n in range(200)]
    lines[120] = f"ERROR build {build}: undefined symbol `flush_{build}`"
    return "\n".join(lines)


def ask(client: OpenAI, session: Session, question: str) -> str:
    """The model's answer, after all tools that it calls."""
    restore = restore_tool(session)
    tools = [READ_LOG, restore.openai]
    messages: list[ChatCompletionMessageParam] = [{"role": "user", "content": question}]
    while True:
        answer = client.chat.completions.create(
            model=MODEL, tools=tools, messages=session.fit(messages, tools=tools)
        )
        message = answer.choices[0].message
        calls: list[ChatCompletionMessageFunctionToolCallParam] = []
        results: list[ChatCompletionToolMessageParam] = []
        for call in message.tool_calls or ():
            if call.type == "function":
                name, arguments = call.function.name, call.function.arguments
                function: Function = {"name": name, "arguments": arguments}
                calls.append({"id": call.id, "type": "function", "function": function})
                text = restore.answer(arguments) if name == restore.name else read(arguments)
                results.append({"role": "tool", "tool_call_id": call.id, "content": text})
        if not results:
            return message.content or ""
        messages.append({"role": "assistant", "content": message.content, "tool_calls": calls})
        messages += results


def read(arguments: str) -> str:
    """Runs the tool `read_log`."""
    return read_log(**json.loads(arguments))


if __name__ == "__main__":
    builds = Session(
        ".compression", "builds", model=MODEL,
        settings={"token_budget": 30_000, "keep_recent_tokens": 4_000},
    )  # fmt: skip
    print(ask(OpenAI(), builds, "Read the logs of all builds. What is wrong?"))

"""A loop over OpenAI's Responses, as its tutorials write it, with a session that keeps it small.

    OPENAI_API_KEY=… python examples/openai_responses_fit.py

The program keeps its `items` itself, in the types of its client. `session.fit` says what to send
instead of them, and `restore_tool` lets the model bring back what left.
"""

import json

from openai import OpenAI
from openai.types.responses import FunctionToolParam, ResponseInputItemParam

from context_compression import Session, restore_tool

MODEL = "gpt-5"
READ_LOG: FunctionToolParam = {
    "type": "function",
    "name": "read_log",
    "description": "Reads the log of a build.",
    "parameters": {"type": "object", "properties": {"build": {"type": "integer"}}},
    "strict": False,
}


def read_log(build: int) -> str:
    """A tool with a large output, some 3,000 tokens."""
    lines = [f"{n:4} build {build} compiled unit_{n * build % 977}.o in {n} ms" for n in range(200)]
    lines[120] = f"ERROR build {build}: undefined symbol `flush_{build}`"
    return "\n".join(lines)


def ask(client: OpenAI, session: Session, question: str) -> str:
    """The model's answer, after all tools that it calls."""
    restore = restore_tool(session)
    tools = [READ_LOG, restore.openai_responses]
    items: list[ResponseInputItemParam] = [{"role": "user", "content": question}]
    while True:
        answer = client.responses.create(
            model=MODEL, tools=tools, input=session.fit(items, tools=tools), store=False
        )
        results: list[ResponseInputItemParam] = []
        for item in answer.output:
            if item.type == "function_call":
                name, arguments, id = item.name, item.arguments, item.call_id
                text = restore.answer(arguments) if name == restore.name else read(arguments)
                items.append(
                    {"type": "function_call", "call_id": id, "name": name, "arguments": arguments}
                )
                results.append({"type": "function_call_output", "call_id": id, "output": text})
        if not results:
            return answer.output_text
        items += results


def read(arguments: str) -> str:
    """Runs the tool `read_log`."""
    return read_log(**json.loads(arguments))


if __name__ == "__main__":
    builds = Session(
        ".compression", "builds", model=MODEL,
        settings={"token_budget": 30_000, "keep_recent_tokens": 4_000},
    )  # fmt: skip
    print(ask(OpenAI(), builds, "Read the logs of all builds. What is wrong?"))

"""An agent's loop with LiteLLM, without its proxy, in a context that stays small.

    OPENAI_API_KEY=… python examples/litellm_agent.py

With the proxy, the agent needs no line of ours: see docs/frameworks/litellm.md.
"""

# pyright: basic, reportMissingImports=false
# The framework is an extra, and not installed where this is checked.

import json

import litellm

from context_compression import Session, restore_tool

MODEL = "openai/gpt-5"
READ_LOG = {
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


def ask(session: Session, question: str) -> str:
    """The model's answer, after all tools that it calls."""
    restore = restore_tool(session)
    tools = [READ_LOG, restore.openai]
    messages = [{"role": "user", "content": question}]
    while True:
        fitted = session.fit(messages, tools=tools)
        message = litellm.completion(MODEL, fitted, tools=tools).choices[0].message
        messages.append(message)
        if not message.tool_calls:
            return message.content or ""
        for call in message.tool_calls:
            given = call.function.arguments
            ours = call.function.name == restore.name
            text = restore.answer(given) if ours else read_log(**json.loads(given))
            messages.append({"role": "tool", "tool_call_id": call.id, "content": text})


if __name__ == "__main__":
    with_window = {"token_budget": 30_000, "keep_recent_tokens": 4_000}
    builds = Session(".compression", "builds", model=MODEL, settings=with_window)
    print(ask(builds, "Read the logs of builds 1 to 20. What is wrong?"))

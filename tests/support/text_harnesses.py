"""Harnesses whose models have no tool blocks: commands in texts, results in the user's role."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

Messages = list[dict[str, Any]]


@dataclass(frozen=True)
class Harness:
    """How a harness asks for a command, and how it returns the output.

    Attributes:
        call: the assistant's text with a remark and a command.
        result: the user's text with an output and an exit status.
    """

    call: Callable[[str, str], str]
    result: Callable[[str, int], str]


HARNESSES = {
    "fenced": Harness(
        lambda remark, command: f"THOUGHT: {remark}\n\n```bash\n{command}\n```",
        lambda output, status: f"<returncode>{status}</returncode>\n<output>\n{output}\n</output>",
    ),
    "ReAct": Harness(
        lambda remark, command: f"Thought: {remark}\nAction: terminal\nAction Input: {command}",
        lambda output, status: f"Observation: {output}\n(exit code {status})",
    ),
    "tags": Harness(
        lambda remark, command: (
            f"{remark}\n<execute_command>\n<command>{command}</command>\n</execute_command>"
        ),
        lambda output, status: (
            f"[execute_command for '…'] Result:\nExit code: {status}\nOutput:\n{output}"
        ),
    ),
    "function tags": Harness(
        lambda remark, command: (
            f"{remark}\n<function=run><parameter=cmd>{command}</parameter></function>"
        ),
        lambda output, status: (
            f"<tool_response>\n{output}\n[exit code: {status}]\n</tool_response>"
        ),
    ),
    "JSON": Harness(
        lambda remark, command: f'{remark}\n\n{{"tool": "shell", "input": {json.dumps(command)}}}',
        lambda output, status: f"Tool result:\n{output}\n(exit status {status})",
    ),
    "unknown": Harness(
        lambda remark, command: f"{remark}\n~~~sh\n{command}\n~~~",
        lambda output, status: f"<<shell says\n{output}\nstatus {status}\n>>",
    ),
    "unknown with a heading": Harness(
        lambda remark, command: f"{remark}\n<run>{command}</run>",
        lambda output, status: f"### What the sandbox printed\n{output}\n### status: {status}",
    ),
    "unknown with a label": Harness(
        lambda remark, command: f"{remark}\n\nCommand: {command}",
        lambda output, status: f"Sandbox reply:\n{output}\nleft with {status}",
    ),
}
"""Harnesses by name; nobody knows the wrappers of the last three."""
Run = tuple[str, str, int]
"""A command, its output, and its exit status."""


def worked(
    harness: Harness, task: str, runs: Sequence[Run], shape: str = "openai", last: str = ""
) -> Messages:
    """A task, and for each run a command with its result; `last` is the user's last request."""
    texts = [("user", task)]
    for number, (command, output, status) in enumerate(runs):
        texts.append(("assistant", harness.call(f"Step {number} comes next.", command)))
        texts.append(("user", harness.result(output, status)))
    if last:
        texts += [("assistant", "All of that is finished."), ("user", last)]
    return [said(role, text, shape) for role, text in texts]


def said(role: str, text: str, shape: str = "openai") -> dict[str, Any]:
    """A message in the shape of OpenAI (a string), or of Anthropic (blocks)."""
    return {
        "role": role,
        "content": text if shape == "openai" else [{"type": "text", "text": text}],
    }

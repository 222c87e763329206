"""Exported copies resumed by the real hosts: the next request holds just our view."""

import json
import subprocess
from pathlib import Path
from typing import Any

from other_hosts import CODEX, PI, SERVER, Codex, Pi, on_demand
from real_hosts import ClaudeCode, Desk
from scripted_model import ScriptedModel

from context_compression import hosts
from context_compression.conversation import Message, ToolCall, ToolResult, parse
from context_compression.store import to_json
from context_compression.testing.messages_api import MessagesAPI

TARGET = "4000"
PIXEL = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5Erk"
    "Jggg=="
)


def conversation() -> list[dict[str, Any]]:
    """Twelve turns in which an agent reads; about 20,000 tokens."""
    messages: list[dict[str, Any]] = []
    for n in range(12):
        first = {
            "type": "tool_use",
            "id": f"toolu_{n}a",
            "name": "Bash",
            "input": {"command": "ls"},
        }
        other = {"type": "tool_use", "id": f"toolu_{n}b", "name": "Read", "input": {"path": "a"}}
        text = "\n".join(f"src/part_{n}/file_{k}.py: value_{k} = {n * k}" for k in range(90))
        results = [
            {"type": "tool_result", "tool_use_id": f"toolu_{n}a", "content": text},
            {
                "type": "tool_result",
                "tool_use_id": f"toolu_{n}b",
                "content": [{"type": "text", "text": f"no file {n}"}],
                "is_error": True,
            },
        ]
        messages += [
            {"role": "user", "content": f"Look at part {n}. 不要改动 tests/."},
            {"role": "assistant", "content": [{"type": "text", "text": "I look."}, first, other]},
            {"role": "user", "content": results},
            {"role": "assistant", "content": f"Part {n} has ninety files."},
        ]
    source = {"type": "base64", "media_type": "image/png", "data": PIXEL}
    shown = [{"type": "text", "text": "And this?"}, {"type": "image", "source": source}]
    return [*messages, {"role": "user", "content": shown}, {"role": "assistant", "content": "Red."}]


def exported(desk: Desk, host: str) -> str:
    """What the command says, which is how to resume the copy it made."""
    (desk.project / "chat.json").write_bytes(to_json(conversation()))
    told = desk.run(*SERVER, "export", "chat.json", "--host", host, "--target-tokens", TARGET)
    assert told.code == 0, told.stderr
    return told.stdout.strip()


def view_in(path: Path) -> list[str]:
    """What a session file says, as our reader has it."""
    return lines(parse(hosts.read(path).messages).messages)


def lines(messages: tuple[Message, ...]) -> list[str]:
    """Blocks as lines; how they are shared out among messages is a provider's affair."""
    found: list[str] = []
    for message in messages:
        for block in message.blocks:
            match block:
                case ToolCall():
                    found.append(f"call {block.id} {block.name} {block.arguments_text}")
                case ToolResult():
                    found.append(f"result {block.call_id} {block.text}")
                case _:
                    role = "user" if message.role == "tool" else message.role
                    found.append(f"{role} {getattr(block, 'text', 'image')}".rstrip())
    return found


def test_claude_code_goes_on_from_our_view(claude: ClaudeCode):
    command = exported(claude.desk, "claude-code")

    with MessagesAPI(["done"]) as api:
        claude.ask(api, "Go on.", "--resume", command.split()[-1])

    [request] = api.requests
    [session] = claude.transcripts()  # the same file goes on
    messages = [m for m in request.body["messages"] if m["role"] != "system"]
    sent = lines(parse(messages).messages)
    ours = view_in(session)
    end = ours.index("user Go on.")
    assert len(ours) > 20
    assert sent[:end] == ours[:end]
    assert sent[-1] == "user Go on."


def test_codex_goes_on_from_our_view(tmp_path: Path):
    codex = Codex(CODEX.installed(), Desk(tmp_path))
    command = exported(codex.desk, "codex")
    [rollout] = codex.rollouts()
    ours = view_in(rollout)

    with ScriptedModel(["done"]) as model:
        codex.ask(model, "Go on.", session=command.split()[-1])

    [turn] = model.turns
    sent = [line for item in turn.body["input"] for line in _items(item)]
    assert len(ours) > 20
    assert sent[: len(ours)] == ours
    assert sent[-1] == "user Go on."
    assert codex.rollouts() == [rollout]


def test_pi_goes_on_from_our_view(tmp_path: Path):
    pi = Pi(on_demand(PI), Desk(tmp_path))
    exported(pi.desk, "pi")
    [session] = pi.sessions()
    ours = view_in(session)

    with ScriptedModel(["done"]) as model:
        pi.ask(model, "Go on.", "--session", session)

    [turn] = model.turns
    sent = lines(parse(turn.body["messages"][1:]).messages)
    images = [line for line in sent if "image omitted" in line]  # the model is said to know none
    assert [line for line in sent[:-1] if line not in images] == [
        line for line in ours if not line.endswith("image")
    ]
    assert sent[-1] == "user Go on."


def test_a_copy_is_found_in_a_folder_with_a_very_long_name(claude: ClaudeCode, tmp_path: Path):
    desk = Desk(tmp_path / ("long" * 30) / ("näme_𝒳" * 12))
    deep = ClaudeCode(claude.command, desk)
    command = exported(desk, "claude-code")

    with MessagesAPI(["done"]) as api:
        deep.ask(api, "Go on.", "--resume", command.split()[-1])

    assert deep.transcripts()[0].parent.name[:201].endswith("-")
    assert "Part 11 has ninety files." in str(api.requests[0].body)


def test_the_command_printed_is_the_one_that_resumes(claude: ClaudeCode):
    command = exported(claude.desk, "claude-code")
    path = f"{claude.command.parent}:/usr/bin:/bin"

    with MessagesAPI(["It goes on."]) as api:
        ended = subprocess.run(
            ["sh", "-c", f"{command} -p 'Go on.'"],
            env={"HOME": str(claude.desk.home), "PATH": path} | claude.speaking_to(api),
            capture_output=True,
            text=True,
            check=False,
        )

    assert ended.stdout.strip() == "It goes on."


def _items(item: dict[str, Any]) -> list[str]:
    """An item of the Responses API as lines; what Codex says to the model itself is none."""
    match item["type"]:
        case "function_call":
            return [f"call {item['call_id']} {item['name']} {_compact(item['arguments'])}"]
        case "function_call_output":
            output = item["output"]
            text = output if isinstance(output, str) else "\n".join(p["text"] for p in output)
            return [f"result {item['call_id']} {text}"]
        case _ if item["role"] == "developer":
            return []
        case _:
            return [f"{item['role']} {part.get('text', 'image')}" for part in item["content"]]


def _compact(arguments: str) -> str:
    return ToolCall("", "", json.loads(arguments)).arguments_text

"""What Claude Code's hooks are told, asked as the host asks: by the tool `context_hook`."""

import json
import re
from collections.abc import AsyncIterator
from pathlib import Path
from random import Random
from typing import Any, cast

import pytest
from mcp import Client, MCPError
from mcp_door import answer_of, everything_in, workspace_in, write_transcript

from context_compression import Session
from context_compression.conversation import is_object, parse, ref_of, user_words
from context_compression.hooks import instructions
from context_compression.hosts import read
from context_compression.mcp_server import create_server
from context_compression.testing import conversation, log, summary_about
from context_compression.testing.messages_api import MessagesAPI
from context_compression.workspace import Workspace

pytestmark = pytest.mark.anyio

SESSION = "11111111-2222-4333-8444-555555555555"
LONG = log(Random(7), 300)
"""A log of some 8,000 tokens."""
VERY_LONG = log(Random(8), 3_000)
FILE = {"filePath": "/p/a.py", "numLines": 3_000, "startLine": 1, "totalLines": 3_000}


def text_at(place: str) -> str:
    return Path(place).read_text("utf-8")


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return workspace_in(tmp_path)


@pytest.fixture
async def client(workspace: Workspace) -> AsyncIterator[Client]:
    async with Client(create_server(workspace, "claude-code")) as client:
        yield client


def written(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def transcript_in(workspace: Workspace) -> Path:
    return workspace.home / ".claude" / "projects" / "-project" / f"{SESSION}.jsonl"


def kept(workspace: Workspace, count: int = 40) -> list[dict[str, Any]]:
    """The messages of a conversation that the host keeps."""
    messages = conversation(count, seed=3)
    write_transcript(transcript_in(workspace), messages, session=SESSION)
    return messages


def event_of(workspace: Workspace, name: str, **more: Any) -> dict[str, Any]:
    """An event about it."""
    path = str(transcript_in(workspace))
    return {"hook_event_name": name, "session_id": SESSION, "transcript_path": path, **more}


async def answered(client: Client, event: dict[str, Any]) -> dict[str, Any]:
    """All that the host is told."""
    return json.loads(answer_of(await client.call_tool("context_hook", event)).text)


async def told(client: Client, event: dict[str, Any], **meta: Any) -> dict[str, Any]:
    """What the host is told, its own fields around it taken off."""
    asked: Any = meta or None
    answer = answer_of(await client.call_tool("context_hook", event, meta=asked))
    assert not answer.failed, answer.text
    return json.loads(answer.text).get("hookSpecificOutput", {})


async def becomes(
    client: Client, workspace: Workspace, tool: str, response: Any, **more: Any
) -> Any:
    """What becomes of a tool's result; itself where it is left alone."""
    event = {
        "hook_event_name": "PostToolUse",
        "session_id": SESSION,
        "transcript_path": str(transcript_in(workspace)),
        "cwd": str(workspace.cwd),
        "permission_mode": "default",
        "tool_name": tool,
        "tool_input": more.pop("tool_input", {"command": "make check"}),
        "tool_response": response,
        "tool_use_id": "toolu_1",
    } | more
    return (await told(client, event)).get("updatedToolOutput", response)


async def test_six_tools_are_as_they_are_without_hooks(workspace: Workspace) -> None:
    async with (
        Client(create_server(workspace)) as plain,
        Client(create_server(workspace, "claude-code")) as hooked,
    ):
        six = (await plain.list_tools()).tools
        seven = (await hooked.list_tools()).tools

        with pytest.raises(MCPError, match="Unknown tool 'context_hook'"):
            await plain.call_tool("context_hook", {})

    assert seven[:6] == six
    assert [tool.name for tool in seven[6:]] == ["context_hook"]
    assert seven[6].meta is not None
    assert seven[6].meta["ui"] == {"visibility": ["app"]}  # so hosts keep it from their models


SHAPES: dict[str, tuple[str, Any]] = {
    "Bash": ("Bash", {"stdout": LONG, "stderr": "", "interrupted": False, "isImage": False}),
    "Read": ("Read", {"type": "text", "file": {**FILE, "content": VERY_LONG}}),
    "Grep": (
        "Grep",
        {"mode": "content", "numFiles": 0, "filenames": [], "content": LONG, "numLines": 300},
    ),
    "Grep for files": (
        "Grep",
        {"mode": "files_with_matches", "numFiles": 300, "filenames": LONG.split("\n")},
    ),
    "Glob": ("Glob", {"filenames": LONG.split("\n"), "durationMs": 3, "truncated": True}),
    "WebFetch": (
        "WebFetch",
        {"bytes": 9, "code": 200, "result": VERY_LONG, "url": "https://a.example"},
    ),
    "Agent": (
        "Agent",
        {"status": "completed", "content": [{"type": "text", "text": VERY_LONG}], "totalTokens": 9},
    ),
    "MCP, text": ("mcp__ci__log", [{"type": "text", "text": LONG}]),
    "MCP, structure": ("mcp__ci__log", json.dumps({"log": LONG}, separators=(",", ":"))),
}


def text_in(tool: str, response: Any) -> str:
    """What the model is shown of a result."""
    match response:
        case str():
            return response
        case list():
            return "".join(block["text"] for block in cast("list[Any]", response))
        case {"file": {"content": str(text)}} | {"result": str(text)}:
            return text
        case {"stdout": str(text)}:
            return text
        case {"content": str(text)}:
            return text
        case {"content": [{"text": str(text)}]}:
            return text
        case {"filenames": [*names]}:
            return "\n".join(map(str, names))
        case _:
            raise AssertionError(tool)


@pytest.mark.slow
@pytest.mark.parametrize("name", SHAPES)
@pytest.mark.parametrize("as_json", [False, True], ids=["object", "in a string"])
async def test_a_large_result_becomes_its_preview_in_the_shape_of_its_tool(
    client: Client, workspace: Workspace, name: str, as_json: bool
) -> None:
    tool, response = SHAPES[name]
    said = json.dumps(response) if as_json and not isinstance(response, str) else response

    new = await becomes(client, workspace, tool, said)

    preview, original = text_in(tool, new), text_in(tool, response)
    assert preview.startswith(f"[{tool}: ")
    assert len(preview) < 1_200
    [ref] = Session(workspace.store, SESSION).state().refs
    assert f'context_restore(ref="{ref}")' in preview
    assert text_at(workspace.store.session(SESSION).offloaded_path(ref)) == original
    assert Session(workspace.store, SESSION).restore(ref) == original
    if is_object(response):
        kept = {key for key in response if new.get(key) == response[key]}
        assert new.keys() == response.keys()
        assert len(kept) == len(response) - 1


async def test_what_stands_beside_the_text_stays(client: Client, workspace: Workspace) -> None:
    picture = {"type": "image", "data": "R0lGOD", "mimeType": "image/gif"}
    texts = [{"type": "text", "text": LONG}, picture, {"type": "text", "text": "the end"}]

    new = await becomes(client, workspace, "mcp__ci__log", texts)

    assert [block["type"] for block in new] == ["text", "image"]
    assert new[1] == picture
    assert "the end" in new[0]["text"]


UNTOUCHED: dict[str, tuple[str, Any]] = {
    "short": ("Bash", {"stdout": "done", "stderr": "", "interrupted": False}),
    "a picture": ("Bash", {"stdout": LONG, "stderr": "", "isImage": True}),
    "a file that is read": ("Read", {"type": "text", "file": {**FILE, "content": LONG}}),
    "a picture that was read": ("Read", {"type": "image", "file": {"base64": LONG}}),
    "an edit": ("Edit", {"filePath": "a.py", "originalFile": LONG, "structuredPatch": []}),
    "a skill": ("Skill", {"success": True, "content": LONG}),
    "a report": ("Agent", {"status": "completed", "content": [{"type": "text", "text": LONG}]}),
    "an agent in the background": ("Agent", {"status": "async_launched", "prompt": LONG}),
    "a new tool": ("Telepathy", {"stdout": LONG, "stderr": ""}),
    "a shape we do not know": ("Bash", {"output": LONG}),
    "a shape that is no shape": ("Bash", LONG),
    "a block we do not know": ("mcp__ci__log", [{"type": "hologram", "text": LONG}]),
    "a text that is none": ("mcp__ci__log", [{"type": "text", "text": 7}]),
    "nothing": ("Bash", None),
    "our own tool": (
        "mcp__plugin_context-compression_context__context_restore",
        [{"type": "text", "text": LONG}],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", UNTOUCHED)
async def test_a_result_is_left_alone(client: Client, workspace: Workspace, name: str) -> None:
    tool, response = UNTOUCHED[name]
    given = {"prompt": "Where is it?"} if tool == "Agent" else {"command": "make check"}

    assert await becomes(client, workspace, tool, response, tool_input=given) == response

    assert everything_in(workspace.cwd) == {}


@pytest.mark.parametrize(
    "given",
    [
        {"file_path": "{store}/sessions/s/offloaded/0123456789ab.txt"},
        {"command": "cat .compression/sessions/s/offloaded/0123456789ab.txt | head"},
    ],
)
async def test_what_is_read_in_the_archive_was_asked_back_for(
    client: Client, workspace: Workspace, given: dict[str, str]
) -> None:
    given = {name: text.format(store=workspace.store.folder) for name, text in given.items()}
    tool = "Read" if "file_path" in given else "Bash"
    response = SHAPES[tool][1]

    assert await becomes(client, workspace, tool, response, tool_input=given) == response


async def test_what_was_restored_is_not_taken_away_again(
    client: Client, workspace: Workspace
) -> None:
    tool, response = SHAPES["Bash"]
    new = await becomes(client, workspace, tool, response)
    [ref] = Session(workspace.store, SESSION).state().refs
    await client.call_tool("context_restore", {"ref": ref})

    again = await becomes(client, workspace, tool, response)

    assert new != response == again


async def test_the_whole_output_is_archived_where_the_host_has_cut_it(
    client: Client, workspace: Workspace
) -> None:
    results = transcript_in(workspace).with_suffix("") / "tool-results"
    written(results / "b1.txt", VERY_LONG)
    cut = {
        **SHAPES["Bash"][1],
        "stdout": VERY_LONG[:30_000],
        "persistedOutputPath": str(results / "b1.txt"),
        "persistedOutputSize": len(VERY_LONG),
    }
    said = f"Error: result (9 lines) is long. Output has been saved to {results}/b1.txt."
    saved = f"{said}\n{log(Random(9), 20)}"

    new = await becomes(client, workspace, "Bash", cut)
    session = Session(workspace.store, SESSION)
    assert 0 < session.status().tokens_saved < 2_000  # the host would have shown 2,000 characters
    of_server = await becomes(client, workspace, "mcp__ci__log", saved)

    [ref] = session.state().refs
    assert session.restore(ref) == VERY_LONG
    assert "persistedOutputPath" not in new
    assert VERY_LONG.rpartition("\n")[2] in new["stdout"]
    assert ref in of_server


@pytest.mark.parametrize("path", ["{home}/.ssh/id_ed25519", "{home}/.claude/projects/-p/other/x"])
async def test_no_other_file_is_read_on_the_word_of_a_hook(
    client: Client, workspace: Workspace, path: str
) -> None:
    secret = written(Path(path.format(home=workspace.home)), LONG)
    cut = {**SHAPES["Bash"][1], "persistedOutputPath": str(secret)}

    assert await becomes(client, workspace, "Bash", cut) == cut

    beside = await becomes(client, workspace, "Bash", cut, transcript_path=f"{secret.parent}.jsonl")
    assert beside == cut


async def test_the_preview_prefers_what_the_conversation_is_about(
    client: Client, workspace: Workspace
) -> None:
    tool, response = SHAPES["Bash"]
    quiet = LONG.replace("ERROR", "info")
    line = quiet.split("\n")[150]
    word = line.rpartition("id=")[2]
    asked = {"role": "user", "content": f"Who wrote {word}?"}
    write_transcript(transcript_in(workspace), [asked], session=SESSION)

    new = await becomes(client, workspace, tool, {**response, "stdout": quiet})

    assert line in new["stdout"]


@pytest.mark.parametrize(
    ("limits", "offloaded"),
    [
        ("", True), ("Bash=0", False), ("Bash=20000", False), ("Bash=20k", False),
        ("mcp__*=0, B*=500", True),
    ],
)  # fmt: skip
async def test_limits_can_be_set_for_each_tool(
    tmp_path: Path, limits: str, offloaded: bool
) -> None:
    workspace = workspace_in(tmp_path, {"CONTEXT_COMPRESSION_OFFLOAD_AT_SOURCE": limits})
    tool, response = SHAPES["Bash"]

    async with Client(create_server(workspace, "claude-code")) as client:
        new = await becomes(client, workspace, tool, response)

    assert (new != response) is offloaded


async def test_settings_count(tmp_path: Path) -> None:
    environ = {
        "CONTEXT_COMPRESSION_OFFLOAD_MIN_TOKENS": "100000",
        "CONTEXT_COMPRESSION_READ_HOST_TRANSCRIPTS": "false",
    }
    workspace = workspace_in(tmp_path, environ)
    tool, response = SHAPES["Bash"]

    async with Client(create_server(workspace, "claude-code")) as client:
        assert await becomes(client, workspace, tool, response) == response


EVENTS: list[Any] = [
    {},
    {"hook_event_name": "PostToolUse"},
    {
        "hook_event_name": "PostToolUse",
        "session_id": "s",
        "tool_name": "Bash",
        "tool_response": "{",
    },
    {"hook_event_name": 7, "session_id": ["s"]},
    {"hook_event_name": "session.compact", "session_id": "s"},
    {"hook_event_name": "session.compact", "session_id": "s", "handles": ["h"], "window": "many"},
    {"hook_event_name": "session.compact", "transcript_path": "/etc/passwd", "handles": ["h"]},
    {"hook_event_name": "SessionStart", "session_id": "../..", "source": "compact"},
    {"hook_event_name": "SessionStart", "session_id": "s", "source": "startup"},
    {"hook_event_name": "Notification", "message": "hello"},
]


@pytest.mark.parametrize("event", EVENTS, ids=str)
async def test_nothing_unexpected_is_in_the_hosts_way(
    client: Client, workspace: Workspace, event: dict[str, Any]
) -> None:
    answer = answer_of(await client.call_tool("context_hook", event))

    assert (answer.failed, answer.text) == (False, "{}")
    assert everything_in(workspace.cwd) == {}


async def test_a_store_that_cannot_be_written_leaves_the_result_alone(
    client: Client, workspace: Workspace
) -> None:
    workspace.store.folder.write_text("in the way", encoding="utf-8")
    tool, response = SHAPES["Bash"]

    assert await becomes(client, workspace, tool, response) == response


async def test_a_model_that_calls_it_is_refused(client: Client) -> None:
    called: Any = {"claudecode/toolUseId": "toolu_01"}
    by_hook: Any = {"claudecode/toolUseId": "toolu_plugin_01"}

    refused = answer_of(await client.call_tool("context_hook", {}, meta=called))
    answered = answer_of(await client.call_tool("context_hook", {}, meta=by_hook))

    assert refused.failed
    assert "Only the host's hooks can call" in refused.text
    assert answered.text == "{}"


async def test_what_was_kept_out_is_counted_once_it_is_in_the_conversation(
    client: Client, workspace: Workspace
) -> None:
    tool, response = SHAPES["Bash"]
    new = await becomes(client, workspace, tool, response)
    session = Session(workspace.store, SESSION)
    before = session.status()
    call: Any = {"type": "tool_use", "id": "toolu_1", "name": tool, "input": {}}
    result = {"type": "tool_result", "tool_use_id": "toolu_1", "content": new["stdout"]}

    session.follow(
        [
            {"role": "user", "content": "Why does it fail?"},
            {"role": "assistant", "content": [call]},
            {"role": "user", "content": [result]},
            {"role": "assistant", "content": "I see."},
            {"role": "assistant", "content": "Mended."},
        ]
    )

    savings = session.status().savings
    assert before.tokens_saved > 5_000
    assert before.savings.kept_out == 0
    assert savings.per_request == before.tokens_saved
    assert savings.kept_out == 2 * before.tokens_saved


async def test_what_was_kept_out_goes_on_being_named_when_it_is_shortened_again(
    client: Client, workspace: Workspace
) -> None:
    tool, response = SHAPES["Bash"]
    shown = (await becomes(client, workspace, tool, response))["stdout"]
    session = Session(workspace.store, SESSION)
    (whole,) = session.state().refs
    call: Any = {"type": "tool_use", "id": "toolu_1", "name": tool, "input": {}}
    result = {"type": "tool_result", "tool_use_id": "toolu_1", "content": shown}
    session.follow(
        [
            {"role": "user", "content": "Why does it fail?"},
            {"role": "assistant", "content": [call]},
            {"role": "user", "content": [result]},
            *({"role": "assistant", "content": f"I see. {n}"} for n in range(9)),
            {"role": "user", "content": "Go on."},
        ]
    )

    session.compress(target_tokens=int(session.usage().used_tokens) - 100)

    view = json.dumps(session.view())
    assert whole in view
    assert shown[-200:] not in view
    assert ref_of(shown) not in view


def compaction(workspace: Workspace, **more: Any) -> dict[str, Any]:
    """A compaction of what stands in the transcript, as our function hook passes it on."""
    rows = [json.loads(line) for line in transcript_in(workspace).read_text().splitlines()]
    return {
        "hook_event_name": "session.compact",
        "session_id": SESSION,
        "transcript_path": str(transcript_in(workspace)),
        "agent_id": "",
        "trigger": "manual",
        "instructions": "",
        "window": 200_000,
        "handles": [row["uuid"] for row in rows],
    } | more


async def compacted(client: Client, event: dict[str, Any]) -> list[Any] | None:
    return (await answered(client, event)).get("messages")


async def test_a_compaction_is_answered_with_our_view(client: Client, workspace: Workspace) -> None:
    messages = kept(workspace)

    rows = await compacted(client, compaction(workspace))

    session = Session(workspace.store, SESSION)
    assert rows is not None
    assert session.status().compressions == 1
    assert len(rows) == len(session.view())
    for row, ours in zip(rows, session.view(), strict=True):
        if isinstance(row, int):
            assert ours == messages[row]
        else:
            assert row["role"] == ours["role"]
            assert {use["tool_use_id"] for use in row["toolUses"]} == ids_in(ours, "id")
            results = row.get("toolResults", ())
            assert {result["tool_use_id"] for result in results} == ids_in(ours, "tool_use_id")


@pytest.mark.parametrize("content", ["text", "blocks"])
async def test_what_a_command_of_the_host_printed_last_is_nobodys_prompt(
    client: Client, workspace: Workspace, content: str
) -> None:
    path, printed = (
        transcript_in(workspace),
        "## Context Usage\n" + "| tools | 9.9k | 5 % |\n" * 400,
    )
    messages = conversation(40, seed=3)
    write_transcript(path, messages, session=SESSION)
    rows = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    blocks = [{"type": "text", "text": printed}]
    shown = {"role": "user", "content": printed if content == "text" else blocks}
    local = {**rows[-1], "type": "user", "uuid": "l-1", "parentUuid": rows[-1]["uuid"],
             "isMeta": True, "rowSource": "local", "message": shown}  # fmt: skip
    path.write_text(path.read_text("utf-8") + f"{json.dumps(local)}\n", "utf-8")
    handles = [row["uuid"] for row in rows]  # the host has no handle for such a row

    given = await compacted(client, {**compaction(workspace), "handles": handles})

    read_messages = parse(read(path).messages).messages
    assert user_words(read_messages[-1]) == ""
    assert given
    text = json.dumps([messages[row] if isinstance(row, int) else row for row in given])
    asked = [words for m in read_messages if (words := user_words(m).strip())]
    assert json.dumps(asked[-1])[1:60] in text
    assert "Context Usage" not in text


def ids_in(message: dict[str, Any], key: str) -> set[str]:
    return {block[key] for block in message["content"] if isinstance(block, dict) and key in block}


async def test_the_same_compaction_gives_the_same_rows(
    client: Client, workspace: Workspace
) -> None:
    kept(workspace)

    first = await compacted(client, compaction(workspace))
    second = await compacted(client, compaction(workspace))

    assert first == second


@pytest.mark.slow
async def test_it_comes_down_to_a_share_of_the_hosts_window_or_of_the_budget_that_was_set(
    tmp_path: Path,
) -> None:
    async def left(window: int, **environ: str) -> int:
        folder = tmp_path / f"{window}{len(environ)}"
        workspace = workspace_in(folder, environ)
        kept(workspace)
        async with Client(create_server(workspace, "claude-code")) as client:
            await compacted(client, compaction(workspace, trigger="auto", window=window))
        [compression] = Session(workspace.store, SESSION).state().compressions
        return compression["tokens_after"]

    assert 30_000 < await left(100_000) <= 50_000
    assert 10_000 < await left(40_000) <= 20_000
    assert 10_000 < await left(200_000, CONTEXT_COMPRESSION_TOKEN_BUDGET="40000") <= 20_000


async def compacted_by_user(tmp_path: Path, words: str, **more: Any) -> tuple[Any, Session]:
    """The answer to `/compact WORDS`, and our session."""
    workspace = workspace_in(tmp_path, more.pop("environ", {}))
    messages = more.pop("messages", None) or conversation(40, seed=3)
    write_transcript(transcript_in(workspace), messages, session=SESSION)
    event = compaction(workspace, instructions=words) | more
    async with Client(create_server(workspace, "claude-code")) as client:
        answer = answer_of(await client.call_tool("context_hook", event))
    return json.loads(answer.text), Session(workspace.store, SESSION)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "target", "environ"),
    [
        ("", 0.2 * 100_000, {}),
        ("", 0.1 * 100_000, {"CONTEXT_COMPRESSION_MANUAL_TARGET_USAGE": "0.1"}),
        ("keep 30k, stress the tests", 30_000, {}),
        ("to 12,000 tokens", 12_000, {}),
    ],
)
async def test_a_compaction_that_the_user_asks_for_has_a_target_of_its_own(
    tmp_path: Path, words: str, target: int, environ: dict[str, str]
) -> None:
    answer, session = await compacted_by_user(tmp_path, words, window=100_000, environ=environ)

    [compression] = session.state().compressions
    assert answer["messages"]
    assert 0.8 * target < compression["tokens_after"] <= target


async def test_a_small_conversation_is_compacted_as_a_large_one_is(tmp_path: Path) -> None:
    messages = conversation(12, seed=3)[:10]
    answer, session = await compacted_by_user(tmp_path, "", messages=messages)

    [compression] = session.state().compressions
    assert answer["messages"]
    assert compression["tokens_after"] < 0.6 * compression["tokens_before"]


async def test_a_user_who_asks_for_more_than_there_is_is_told_so(tmp_path: Path) -> None:
    answer, session = await compacted_by_user(tmp_path, "keep 900k", window=1_000_000)

    assert re.fullmatch(r"the context has \d+K tokens, and 900K were asked for", answer["skip"])
    assert not session.state().compressions


async def test_a_conversation_that_cannot_get_smaller_is_left_alone_and_says_why(
    tmp_path: Path,
) -> None:
    messages = [{"role": "user", "content": "Hello."}]
    answer, session = await compacted_by_user(tmp_path, "", messages=messages)

    assert answer == {"skip": "the context has 9 tokens, and none of them can be freed"}
    assert not session.state().compressions


@pytest.mark.slow
async def test_the_user_sees_one_line_after_a_compaction(
    client: Client, workspace: Workspace
) -> None:
    kept(workspace)
    after = event_of(workspace, "SessionStart", source="compact")

    async def line() -> str:
        return (await answered(client, after))["systemMessage"]

    await compacted(client, compaction(workspace))
    ours = await line()
    unknown = compaction(workspace, handles=["of another kind"])  # so the host compacts
    await client.call_tool("context_hook", unknown)
    its_own = await line()

    assert re.fullmatch(r"\d+K -> \d+K tokens, \d+ originals restorable", ours)
    archived = r"what this summary replaces is archived, \d+ originals restorable"
    assert re.fullmatch(archived, its_own)


async def test_the_user_reads_why_a_size_was_not_reached(
    client: Client, workspace: Workspace
) -> None:
    messages = conversation(40, seed=3)
    path = write_transcript(transcript_in(workspace), messages, session=SESSION)
    rules = [{"type": "text", "text": "You are a coding agent. " * 6_000}]
    about = {"sessionId": SESSION, "version": "2.1.332"}
    shape = {"type": "api-request-shape", "shapeHash": "h", "shape": {"system": rules}} | about
    sent = {"type": "api-request", "id": "r", "shapeHash": "h"} | about
    event = compaction(workspace, instructions="keep 20k")
    lines = "".join(f"{json.dumps(row)}\n" for row in (shape, sent))
    path.write_text(path.read_text("utf-8") + lines, "utf-8")

    rows = await compacted(client, event)

    after = {"hook_event_name": "SessionStart", "source": "compact", "session_id": SESSION}
    said = await answered(client, after)
    assert re.fullmatch(
        r"\d+K -> 4\dK tokens, \d+ originals restorable; 20K could not be reached: Claude Code "
        r"itself adds [\d.]+K",
        said["systemMessage"],
    )
    assert rows
    view = json.dumps([messages[row] if isinstance(row, int) else row for row in rows])
    assert "context_restore" in view


async def test_all_is_archived_and_told_where_one_prompt_is_the_whole_session(
    client: Client, workspace: Workspace
) -> None:
    goal = "Let the importer of project Larch read Latin-1. Never touch deploy/keys.ini."
    messages: list[dict[str, Any]] = [{"role": "user", "content": goal}]
    for n in range(12):
        call = {"type": "tool_use", "id": f"toolu_{n}", "name": "Read", "input": {"file_path": "a"}}
        result = {"type": "tool_result", "tool_use_id": f"toolu_{n}", "content": f"line {n}\n" * 99}
        messages.append({"role": "assistant", "content": [call]})
        messages.append({"role": "user", "content": [result]})
    messages.append({"role": "assistant", "content": "RESULT: decode.py line 88."})
    write_transcript(transcript_in(workspace), messages, session=SESSION)
    after = event_of(workspace, "SessionStart", source="compact")

    text = (await told(client, after))["additionalContext"]

    session = Session(workspace.store, SESSION)
    assert "All that this compaction removed is archived" in text
    for kept in (goal, "- Never touch deploy/keys.ini.", "RESULT: decode.py line 88."):
        assert kept in text
    originals = [session.original(ref) for ref in session.state().refs]
    assert all(message in originals for message in messages)
    assert session.view() == messages


async def test_what_cannot_be_read_back_is_not_called_archived(
    client: Client, workspace: Workspace
) -> None:
    kept(workspace, 4)
    await client.call_tool("context_hook", event_of(workspace, "PreCompact"))
    folder = workspace.store.backend.folder
    assert folder
    [file] = folder.glob(f"sessions/{SESSION}/compact-*.json")
    originals = json.loads(file.read_bytes())
    originals[0] = {"role": "user", "content": "Something else."}
    file.write_text(json.dumps(originals), "utf-8")

    after = event_of(workspace, "SessionStart", source="compact")
    answer = await answered(client, after)

    assert "could not be archived" in answer["systemMessage"]
    assert "All that" not in answer["hookSpecificOutput"]["additionalContext"]


@pytest.mark.parametrize("agent", ["a1b2", "agent-a1b2"])
async def test_before_the_compaction_of_a_subagent_its_own_conversation_is_archived(
    client: Client, workspace: Workspace, agent: str
) -> None:
    main = transcript_in(workspace)
    kept(workspace, 4)
    own = main.with_suffix("") / "subagents" / "workflows" / "wf_1" / "agent-a1b2.jsonl"
    own.parent.mkdir(parents=True)
    write_transcript(own, conversation(6, seed=9), session=SESSION)
    lines = own.read_text("utf-8").splitlines()
    rows = [json.loads(line) | {"isSidechain": True, "agentId": "a1b2"} for line in lines]
    own.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")

    await client.call_tool("context_hook", event_of(workspace, "PreCompact", agent_id=agent))

    [id] = workspace.store.sessions()
    session = Session(workspace.store, id)
    originals = [session.original(ref) for ref in session.state().refs]
    assert id == f"{SESSION}-agent-a1b2"
    assert all(message in originals for message in read(own).messages)


async def test_all_is_not_said_where_the_transcript_lacks_a_part(
    client: Client, workspace: Workspace
) -> None:
    path = transcript_in(workspace)
    kept(workspace, 4)
    row = {"type": "fork-context-ref", "uuid": "h-1", "sessionId": SESSION}
    path.write_text(path.read_text("utf-8") + f"{json.dumps(row)}\n", "utf-8")
    [lacks] = read(path).missing
    await client.call_tool("context_hook", event_of(workspace, "PreCompact"))

    after = event_of(workspace, "SessionStart", source="compact")
    answer = await answered(client, after)

    notice = answer["hookSpecificOutput"]["additionalContext"]
    assert "All that" not in notice
    assert lacks in notice
    assert lacks in answer["systemMessage"]


@pytest.mark.parametrize("name", ["PreCompact", "session.compact"])
async def test_what_the_host_cleared_earlier_is_archived_with_the_rest(
    client: Client, workspace: Workspace, name: str
) -> None:
    path = transcript_in(workspace)
    kept(workspace, 12)
    rows = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    results = [b for r in rows for b in r["message"]["content"] if is_result(b)]
    boundary = {
        "type": "system", "subtype": "microcompact_boundary", "uuid": "m-1", "sessionId": SESSION,
        "parentUuid": rows[-1]["uuid"], "timestamp": rows[-1].get("timestamp"),
        "microcompactMetadata": {
            "trigger": "auto", "preTokens": 9_000, "tokensSaved": 4_000,
            "compactedToolIds": [result["tool_use_id"] for result in results],
        },
    }  # fmt: skip
    asked = {**rows[0], "uuid": "u-1", "parentUuid": "m-1"}
    later = "".join(f"{json.dumps(row)}\n" for row in (boundary, asked))
    path.write_text(path.read_text("utf-8") + later, "utf-8")

    of_host = event_of(workspace, name)
    asks = compaction(workspace, instructions="keep 3k") if name == "session.compact" else of_host
    await client.call_tool("context_hook", asks)

    session = Session(workspace.store, SESSION)
    originals = [session.original(ref) for ref in session.state().refs]
    archived = json.dumps(originals)
    shown = json.dumps(read(path).messages)
    cleared = [r["content"] for r in results if json.dumps(r["content"])[1:-1] not in shown]
    assert cleared
    lost = [
        content
        for content in cleared
        if json.dumps(content)[1:-1] not in archived
        and json.dumps(content, ensure_ascii=False) not in originals
    ]
    assert lost == []


async def test_an_output_that_the_host_saved_to_a_file_is_archived_with_the_rest(
    client: Client, workspace: Workspace
) -> None:
    path = transcript_in(workspace)
    saved = path.with_suffix("") / "tool-results" / "b1.txt"
    shown = f"<persisted-output>\nOutput too large (90KB). Full output saved to: {saved}\n\nline 1"
    call = {"type": "tool_use", "id": "toolu_1", "name": "Bash", "input": {"command": "cat log"}}
    result = {"type": "tool_result", "tool_use_id": "toolu_1", "content": shown}
    messages: list[dict[str, Any]] = [
        {"role": "user", "content": "Read the log."},
        {"role": "assistant", "content": [call]},
        {"role": "user", "content": [result]},
    ]
    write_transcript(path, messages, session=SESSION)
    saved.parent.mkdir(parents=True)
    saved.write_text("line 1\n" * 9_000, "utf-8")

    await client.call_tool("context_hook", event_of(workspace, "PreCompact"))

    session = Session(workspace.store, SESSION)
    assert session.restore(ref_of("line 1\n" * 9_000)) == "line 1\n" * 9_000


def is_result(block: Any) -> bool:
    return is_object(block) and block["type"] == "tool_result"


async def test_a_host_without_function_hooks_is_told_what_its_summary_must_keep(
    client: Client, workspace: Workspace
) -> None:
    kept(workspace)

    before = await answered(client, event_of(workspace, "PreCompact"))

    assert before == {"systemMessage": instructions(())}
    state = Session(workspace.store, SESSION).state()
    assert state.refs
    assert not state.compressions, "the view is the host's own"


async def test_rows_that_are_not_written_down_yet_stay(
    client: Client, workspace: Workspace
) -> None:
    kept(workspace)
    event = compaction(workspace)
    count = len(event["handles"])

    rows = await compacted(client, event | {"handles": [*event["handles"], "new 1", "new 2"]})

    assert rows is not None
    assert rows[-2:] == [count, count + 1]


@pytest.mark.parametrize(
    "changed",
    [
        {"handles": ["of another kind"]},
        {"handles": []},
        {"transcript_path": "/nowhere.jsonl"},
        {"agent_id": "unknown"},
    ],
    ids=str,
)
async def test_the_host_compacts_where_we_cannot_tell_what(
    client: Client, workspace: Workspace, changed: dict[str, Any]
) -> None:
    kept(workspace)

    assert await compacted(client, compaction(workspace) | changed) is None

    assert not Session(workspace.store, SESSION).state().compressions


async def test_automatic_compactions_are_the_hosts_where_ours_are_off(tmp_path: Path) -> None:
    workspace = workspace_in(tmp_path, {"CONTEXT_COMPRESSION_AUTO_COMPRESS": "false"})
    kept(workspace)

    async with Client(create_server(workspace, "claude-code")) as client:
        automatic = await compacted(client, compaction(workspace, trigger="auto"))
        by_hand = await compacted(client, compaction(workspace))

    assert automatic is None
    assert by_hand is not None


async def test_a_model_that_the_user_has_named_writes_the_summary(tmp_path: Path) -> None:
    with MessagesAPI([summary_about("Find out why the login fails.")]) as api:
        environ = {
            "CONTEXT_COMPRESSION_SUMMARY_MODEL": "claude-test-1",
            "CONTEXT_COMPRESSION_STRATEGY": "summarize",
            "ANTHROPIC_API_KEY": "sk-test",
            "ANTHROPIC_BASE_URL": api.base_url,
        }
        workspace = workspace_in(tmp_path, environ)
        kept(workspace)

        async with Client(create_server(workspace, "claude-code")) as client:
            rows = await compacted(client, compaction(workspace))

    assert rows is not None
    assert api.requests
    assert "Find out why the login fails." in json.dumps(rows)


async def test_before_a_compaction_of_the_host_all_is_archived_and_counts_as_nothing_saved(
    tmp_path: Path,
) -> None:
    workspace = workspace_in(tmp_path, {"CONTEXT_COMPRESSION_AUTO_COMPRESS": "false"})
    messages = kept(workspace)
    event = compaction(workspace, trigger="auto")

    async with Client(create_server(workspace, "claude-code")) as client:
        said = answer_of(await client.call_tool("context_hook", event)).text
        files = everything_in(workspace.cwd)
        again = answer_of(await client.call_tool("context_hook", event)).text

    session = Session(workspace.store, SESSION)
    assert said == again
    assert everything_in(workspace.cwd) == files  # the host announces some compactions twice
    assert "Keep refs" in json.loads(said)["instructions"]
    assert (session.status().compressions, session.status().tokens_saved) == (0, 0)
    assert session.view() == messages
    assert session.restore(next(iter(session.state().refs)))


async def test_after_it_the_ledger_and_the_refs_are_told(
    client: Client, workspace: Workspace
) -> None:
    kept(workspace)
    after = event_of(workspace, "SessionStart", source="compact")

    after_its_own = await told(client, after)
    rows = await compacted(client, compaction(workspace))
    after_ours = await told(client, after)

    text = after_its_own["additionalContext"]
    assert "Never touch the migrations." in text
    assert next(iter(reversed(Session(workspace.store, SESSION).state().refs))) in text
    assert "context_restore(query=… | …)" in text
    assert len(text) < 8_000
    assert rows is not None
    assert after_ours == {}


async def test_our_view_is_known_again_in_the_hosts_spelling(
    client: Client, workspace: Workspace
) -> None:
    messages = conversation(40, seed=3)
    path = write_transcript(transcript_in(workspace), messages, session=SESSION)
    rows = await compacted(client, compaction(workspace))
    assert rows is not None

    taken_over = [messages[row] if isinstance(row, int) else spelled(row) for row in rows]
    write_transcript(path, [*taken_over, {"role": "user", "content": "And now?"}], session=SESSION)

    session = Session(workspace.store, SESSION)
    assert session.status(read(path).messages).savings.per_request > 0
    assert len(session.view(read(path).messages)) == len(rows) + 1


def spelled(row: dict[str, Any]) -> dict[str, Any]:
    """A new row as the host writes it down."""
    content: list[dict[str, Any]] = []
    for result in row.get("toolResults", ()):
        about = {"tool_use_id": result["tool_use_id"], "is_error": result["isError"]}
        content.append({"type": "tool_result", "content": result["text"], **about})
    if row["text"]:
        content.append({"type": "text", "text": row["text"]})
    for use in row["toolUses"]:
        about = {"id": use["tool_use_id"], "name": use["tool"], "input": use["input"]}
        content.append({"type": "tool_use", **about})
    return {"role": row["role"], "content": content}

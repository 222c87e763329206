# pyright: basic, reportMissingImports=false, reportArgumentType=false
# The framework is installed in an environment of its own.
"""What the adapter for the OpenAI Agents SDK does beside a long run: items, ids, agents."""

import asyncio
import functools
import itertools
import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

from agent_runs import TASK, WINDOW, log
from agents import Agent, RunConfig, Runner, function_tool, handoff, set_tracing_disabled
from agents.run_config import CallModelData, ModelInputData
from agents.testing import ModelStep, ScriptedModel
from mcp.types import Tool
from openai.types.responses import (
    ResponseFunctionToolCall,
    ResponseOutputMessage,
    ResponseOutputText,
)

from context_compression import Store
from context_compression.errors import NotOurs, StoreError
from context_compression.integrations.openai_agents import ContextCompression, HistoryFile

set_tracing_disabled(True)
compression = ContextCompression(settings={"token_budget": WINDOW})
KINDS = [
    {"role": "user", "content": TASK},
    {"role": "user", "content": [{"type": "input_image", "image_url": "data:image/gif;base64,R0"}]},
    {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "sealed"},
    {"type": "web_search_call", "id": "ws_1", "status": "completed", "action": {"type": "search"}},
    {"type": "compaction", "id": "cmp_1", "encrypted_content": "sealed"},
    {"type": "program", "id": "prg_1", "call_id": "p1", "code": "1 + 1", "fingerprint": "f"},
    {"type": "program_output", "call_id": "p1", "result": "2"},
    {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed",
     "content": [{"type": "output_text", "text": "Two.", "annotations": []}]},
    {"role": "user", "content": "Go on."},
]  # fmt: skip


@function_tool
def logs(n: int) -> str:
    """The log of a build."""
    return log(n)


def called(name, **arguments):
    """A response that calls a tool."""
    id = f"c_{name}_{json.dumps(arguments)}"
    given = json.dumps(arguments)
    return [ResponseFunctionToolCall(type="function_call", call_id=id, name=name, arguments=given)]


def said(text):
    """A response that answers."""
    part = ResponseOutputText(type="output_text", text=text, annotations=[])
    about = {"id": f"m_{text}", "type": "message", "role": "assistant", "status": "completed"}
    return [ResponseOutputMessage(**about, content=[part])]


def agent(*script, name="Builder", **more):
    """An agent with a script; the steps are responses, or functions of the request."""
    steps = [ModelStep.respond(step) if callable(step) else step for step in script]
    more = {"tools": [logs, compression.tool], **more}
    return Agent(name=name, instructions="You fix builds.", model=ScriptedModel(steps), **more)


def config(id):
    return RunConfig(call_model_input_filter=compression.filter(id))


def sent(agent):
    """The items of all requests of an agent."""
    return [json.dumps(call.input) for call in agent.model.calls]


def result(run):
    """The text that the last tool call of a run returned."""
    return [item.output for item in run.new_items if item.type == "tool_call_output_item"][-1]


async def passed():
    """Which items come back as the very objects; what is told of those that are unknown."""
    ours = compression.filter("kinds")
    data = CallModelData(ModelInputData(list(KINDS), "Be brief."), agent(), None)
    view = (await ours(data)).input
    history = [*view, {"role": "user", "content": "More."}]
    again = (await ours(CallModelData(ModelInputData(history, None), agent(), None))).input
    return {
        "same": [a is b for a, b in zip(KINDS, view, strict=True)],
        "again": [a is b for a, b in zip(history, again, strict=True)],
        "warnings": ours.session_of().status().warnings,
    }


async def reading(id, how):
    """A run that reads 25 logs and restores the first; what was sent, and what came back."""

    def restoring(request):
        text = next(text for text in map(json.dumps, request.input) if "ref " in text)
        return called("context_restore", ref=text.split("ref ")[1][:12])

    reader = agent(*(called("logs", n=n) for n in range(25)), restoring, said("Done."))
    options = {"run_config": config(id), "max_turns": 40}
    if how == "sync":
        run = await asyncio.to_thread(Runner.run_sync, reader, TASK, **options)
    elif how == "streamed":
        run = Runner.run_streamed(reader, TASK, **options)
        async for _ in run.stream_events():
            pass
    else:
        run = await Runner.run(reader, TASK, **options)
    kept = sum(log(n) in item["output"] for n in range(25) for item in run.to_input_list()
               if item.get("type") == "function_call_output")  # fmt: skip
    return sent(reader), result(run), kept


async def helpers():
    """Agents that hand off share a session; one that runs as a tool has its own."""
    helper = agent(called("logs", n=1), said("Read."), name="Helper")
    second = agent(said("Done."), name="Second", handoffs=[helper])
    ask = helper.as_tool("ask", "Asks the helper.")
    first = agent(
        called("ask", input="Read log 1."), called("transfer_to_second"),
        tools=[ask, compression.tool], handoffs=[handoff(second)],
    )  # fmt: skip
    filter = compression.filter("helpers")
    run = await Runner.run(first, TASK, run_config=RunConfig(call_model_input_filter=filter))
    ids = {name: filter.session_of(name).id for name in ("Builder", "Second", "Helper")}
    return {"answer": run.final_output, "ids": ids}


async def restoring(ref, filter):
    """What an agent gets that restores a ref, with some filter."""
    asking = agent(called("context_restore", ref=ref), said("Done."))
    settings = RunConfig(call_model_input_filter=filter)
    return result(await Runner.run(asking, TASK, run_config=settings))


async def remembering():
    """A session of ours: limits, the last item, the end of it all."""
    session = compression.session("memory")
    reader = agent(*(called("logs", n=n) for n in range(25)), said("Done."))
    await Runner.run(reader, TASK, session=session, max_turns=40)  # the session alone, no filter
    fitted, whole = await session.get_items(), await session.get_items(limit=1000)
    popped, last = await session.pop_item(), await session.get_items(limit=1)
    store, id = compression.sessions.store, compression.filter("memory").session_of().id
    known = id in store.sessions()
    await session.clear_session()
    return {
        "whole": len(whole), "lost": sum(log(n) not in str([i.get("output") for i in whole])
                                         .encode().decode("unicode_escape") for n in range(25)),
        "fitted": len(json.dumps(fitted)) / len(json.dumps(whole)),
        "popped": popped["content"][0]["text"], "last": last[0]["type"], "known": known,
        "cleared": [await session.get_items(), id in store.sessions()],
    }  # fmt: skip


async def continuing():
    """Whether the second run with our session and our filter breaks the prefix of a prompt."""
    session, filter = compression.session("named"), compression.filter("named")
    for first, last in ((0, 25), (25, 29)):
        reader = agent(*(called("logs", n=n) for n in range(first, last)), said(f"Done {last}."))
        model, reader.model = reader.model, "gpt-4o"  # the name says the window
        settings = RunConfig(model=model, call_model_input_filter=filter)
        await Runner.run(reader, TASK, session=session, run_config=settings, max_turns=40)
    inputs = [call.input for call in model.calls]
    return [now[: len(before)] == before for before, now in itertools.pairwise(inputs)]


async def on_server():
    """The input of a run whose history OpenAI's server has."""
    items = [{"type": "function_call_output", "call_id": "c1", "output": log(1)}]
    data = CallModelData(ModelInputData(items, None), agent(), None)
    return (await compression.filter("server")(data)).input is items


async def with_server():
    """The tools that a server is known to have count: a request, after the SDK asked for them."""
    tool = Tool.model_validate({"name": "find", "inputSchema": {"type": "object"}})
    agent = Agent(name="A", mcp_servers=[SimpleNamespace(cached_tools=[tool])])
    input = ModelInputData(input=[KINDS[0]], instructions=None)
    ours = compression.filter("with-server")
    await ours(CallModelData(model_data=input, agent=agent, context=None))
    return ours.session_of("A").tools


async def history_of(way):
    """The history of a conversation without a run: its files, and what a deletion leaves of it."""
    session, text = compression.session(way), f"What {way} must not leave."
    items = [{"role": "user", "content": text}]
    await session.add_items(items)
    store, id = compression.sessions.store, compression.session_of(way).id
    folder = store.folder / "sessions" / id
    facts = {
        "modes": {path.name: f"{path.stat().st_mode & 0o777:o}" for path in folder.iterdir()},
        "problems": store.verify(),
        "before": [item["content"] for item in await session.history.get_items()],
    }
    later = time.time() + 1_000
    if way == "delete":
        command = [sys.executable, "-m", "context_compression", "archive", "delete", id, "--yes"]
        await asyncio.to_thread(subprocess.run, command, check=True, capture_output=True)
    elif way == "clear":
        await session.clear_session()
    elif way == "prune":
        store.prune(500, now=later)
    else:
        store.expire(500, now=later)
    files = [path for path in store.folder.rglob("*") if path.is_file()]
    left = [
        str(path) for path in files if text.encode() in path.read_bytes() or folder in path.parents
    ]
    after = await session.history.get_items()
    await session.add_items(items)
    again = [item["content"] for item in await session.history.get_items()]
    return {**facts, "left": left, "after": after, "begun_again": again}


async def not_ours():
    """What is said of a history in a store that came with a copy."""
    await compression.session("copied").add_items(KINDS[:1])
    shutil.copytree(compression.sessions.store.folder, "copy/.compression")
    store = Store.of_user("copy/.compression", Path.home())
    try:
        return await ContextCompression(store=store).session("copied").get_items()
    except NotOurs as error:
        return str(error)


def no_folder():
    """What is said where the store is a database."""
    store = Store(SimpleNamespace(folder=None, name="postgresql://db.example.com/archive"))
    try:
        return HistoryFile("thread-7", store, "openai-agents-thread-7").session_id
    except StoreError as error:
        return str(error)


async def main():
    os.umask(0o022)
    histories = {way: await history_of(way) for way in ("delete", "prune", "expire", "clear")}
    ways = ("async", "sync", "streamed")
    read = await asyncio.gather(*(reading(f"reading-{how}", how) for how in ways))
    runs = dict(zip(ways, read, strict=True))
    requests, answer, _ = runs["async"]
    ref = answer.split("ref ")[1][:12]

    @functools.wraps(ours := compression.filter("reading-async"))
    async def wrapping(data):
        return await ours(data)

    print(json.dumps({
        "histories": histories,
        "not_ours": await not_ours(),
        "no_folder": no_folder(),
        "session_of": compression.session_of("a") is compression.filter("a").session_of(),
        "passed": await passed(),
        "equal": [run[0] == [r.replace("reading-async", f"reading-{how}") for r in requests]
                  for how, run in runs.items()],
        "kept": [run[2] for run in runs.values()],
        "restored": [log(0) in run[1] for run in runs.values()],
        "other_thread": await restoring(ref, compression.filter("three")),
        "no_filter": await restoring(ref, None),
        "wrapped": log(0) in await restoring(ref, wrapping),
        "helpers": await helpers(),
        "memory": await remembering(),
        "continuing": await continuing(),
        "on_server": await on_server(),
        "with_server": await with_server(),
    }))  # fmt: skip


asyncio.run(main())

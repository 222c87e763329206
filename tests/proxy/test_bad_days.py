"""The proxy on bad days: killed, crowded, without a store, with a prompt that is too long."""

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path

import pytest
from checking_provider import CheckingProvider, assert_sound
from proxied import Proxied
from scripted_agent import AgentModel, task
from sdk_agents import AGENTS, with_anthropic, with_chat
from wires import CHAT, MESSAGES, Json

pytestmark = pytest.mark.slow

LASTING = {"first_after": 0, "each_after": 0.3}
"""Delivers an answer within seconds, so that there is time to break it off."""


def test_the_prompt_cache_stays_valid_over_100_tool_steps(tmp_path: Path) -> None:
    model = AgentModel(100, {45: "one", 60: "several", 75: "beside", 90: "search"}, pauses=(30,))

    with (
        CheckingProvider(MESSAGES, model, 60_000) as provider,
        Proxied(tmp_path, provider.url, 60_000) as proxy,
    ):
        history = asyncio.run(with_anthropic(proxy.url, "long", ["Go on."], stream=True))

    assert_sound(provider, ["long"], 100)
    assert provider.work("long").unbroken >= 0.95
    assert provider.work("long").prefix >= 0.95
    assert len(history) == 2 * 100 + 4


def test_fifty_clients_at_once_never_see_each_other(tmp_path: Path) -> None:
    names = [f"client{number}" for number in range(50)]
    steps, window = 8, 9_000
    model = AgentModel(steps, {5: "one", 6: "beside"}, thinks=True)

    async def crowd(url: str) -> list[list[Json]]:
        return await asyncio.gather(*(with_anthropic(url, n, stream=True) for n in names))

    with (
        CheckingProvider(MESSAGES, model) as provider,
        Proxied(tmp_path, provider.url, window) as proxy,
    ):
        histories = asyncio.run(crowd(proxy.url))
        memory = proxy.memory()

    assert_sound(provider, names, steps)
    assert len(provider.works) == 50
    assert all("context_restore" not in json.dumps(history) for history in histories)
    assert memory < 500


def test_the_same_conversation_four_times_at_once_is_four(tmp_path: Path) -> None:
    model = AgentModel(14, {10: "one", 12: "beside"})

    async def crowd(url: str) -> list[list[Json]]:
        return await asyncio.gather(*(with_chat(url, "same", stream=True) for _ in range(4)))

    with (
        CheckingProvider(CHAT, model, 16_000) as provider,
        Proxied(tmp_path, provider.url, 16_000) as proxy,
    ):
        histories = asyncio.run(crowd(proxy.of_sdk))

    assert (provider.refused, provider.work("same").faults) == ([], [])
    assert {len(history) for history in histories} == {1 + 2 * 14 + 1}
    assert "context_restore" not in json.dumps(histories)


@pytest.mark.parametrize("behind", [12, -16], ids=["an answer", "an answer behind a restore"])
def test_a_proxy_killed_within_a_stream_goes_on_where_it_was(behind: int, tmp_path: Path) -> None:
    steps = 22
    model = AgentModel(steps, {16: "several", 20: "one"})

    async def killed(provider: CheckingProvider, proxy: Proxied) -> list[Json]:
        provider.deliveries["killed", behind] = LASTING
        within = asyncio.Event()

        def heard(_: str) -> None:
            if ("killed", behind) not in provider.deliveries:
                within.set()

        work = asyncio.create_task(with_anthropic(proxy.url, "killed", stream=True, heard=heard))
        await within.wait()
        proxy.kill()
        seen = {*provider.work("killed").refs}
        await asyncio.to_thread(proxy.start)
        history = await work
        assert seen
        assert seen <= proxy.originals().keys()
        return history

    with (
        CheckingProvider(MESSAGES, model, 30_000) as provider,
        Proxied(tmp_path, provider.url, 30_000) as proxy,
    ):
        history = asyncio.run(killed(provider, proxy))

    assert_sound(provider, ["killed"], steps, retried=True)
    assert {*provider.work("killed").refs} <= proxy.originals().keys()
    assert "context_restore" not in json.dumps(history)
    assert MESSAGES.said(history) == list(dict.fromkeys(provider.work("killed").said))


@pytest.mark.parametrize("key", AGENTS)
def test_a_prompt_that_the_provider_finds_too_long_is_mended_and_sent_once_more(
    key: str, tmp_path: Path
) -> None:
    wire, agent = AGENTS[key]
    steps = 14

    with (
        CheckingProvider(wire, AgentModel(steps), window=22_000) as provider,
        Proxied(tmp_path, provider.url, token_budget=200_000) as proxy,
    ):
        asyncio.run(agent(proxy.of_sdk, "large", stream=key != "chat"))
        sent = len(provider.requests)

    work, too_long = provider.work("large"), len(provider.refused)
    assert 1 <= too_long <= 3
    assert sent == steps + 1 + too_long
    assert (work.files, work.faults) == (steps, [])


def test_without_a_store_requests_go_out_as_they_came(tmp_path: Path) -> None:
    (tmp_path / "proxy").mkdir()
    (tmp_path / "proxy" / ".compression").write_text("no folder can be here", "utf-8")
    model = AgentModel(4, thinks=False)

    with CheckingProvider(CHAT, model) as direct:
        asyncio.run(with_chat(direct.url, "plain", stream=True))
    with (
        CheckingProvider(CHAT, model) as provider,
        Proxied(tmp_path / "proxy", provider.url, 200_000) as proxy,
    ):
        history = asyncio.run(with_chat(proxy.of_sdk, "plain", stream=True))

    bodies = [[r.raw for r in each.requests] for each in (direct, provider)]
    assert len(bodies[0]) == len(bodies[1]) == 5
    assert all(map(is_inserted, *bodies))
    assert task("plain") in json.dumps(history)
    assert any("compression" in line for line in proxy.told[1:]), proxy.told


def test_a_store_that_goes_away_in_the_middle_stops_nobody(tmp_path: Path) -> None:
    steps = 20
    model = AgentModel(steps, {12: "one", 15: "beside"})
    store = tmp_path / ".compression"

    with (
        CheckingProvider(MESSAGES, model, 30_000) as provider,
        Proxied(tmp_path, provider.url, 30_000) as proxy,
    ):

        def heard(_: str) -> None:
            if provider.work("gone").files >= 11 and store.is_dir():
                store.rename(tmp_path / "gone")
                store.write_text("no folder can be here", "utf-8")

        history = asyncio.run(with_anthropic(proxy.url, "gone", stream=True, heard=heard))

    work = provider.work("gone")
    missed = [fault for fault in work.faults if not fault.startswith("restore_")]
    assert (provider.refused, missed, work.files) == ([], [], steps)
    assert "context_restore" not in json.dumps(history)
    assert any("cannot be there" in line for line in proxy.told), proxy.told


def test_a_request_that_is_not_due_goes_out_byte_for_byte(tmp_path: Path) -> None:
    model = AgentModel(3, thinks=False)  # a thought is bound to the tools
    for key, (wire, agent) in AGENTS.items():
        with CheckingProvider(wire, model) as direct:
            asyncio.run(agent(direct.url, "plain", stream=True))
        with (
            CheckingProvider(wire, model) as provider,
            Proxied(tmp_path / key, provider.url) as proxy,
        ):
            asyncio.run(agent(proxy.of_sdk, "plain", stream=True))

        bodies: Sequence[Sequence[bytes]] = [
            [r.raw for r in p.requests] for p in (direct, provider)
        ]
        assert len(bodies[0]) == len(bodies[1]) == 4
        assert all(map(is_inserted, *bodies))
        assert provider.work("plain").unoffered == 0


def is_inserted(before: bytes, after: bytes) -> bool:
    """Whether the one is the other with at most one piece more, as our tool is."""
    begins = alike(before, after)
    return begins + alike(before[begins:][::-1], after[begins:][::-1]) == len(before)


def alike(one: bytes, other: bytes) -> int:
    """How many bytes both begin with."""
    pairs = zip(one, other, strict=False)
    return next((n for n, (a, b) in enumerate(pairs) if a != b), min(len(one), len(other)))

"""A request finds the session of its conversation, and never that of another one."""

import json
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from shutil import rmtree
from tempfile import TemporaryDirectory
from threading import Barrier
from time import process_time
from typing import Any

import pytest
from hidden_exchanges import APIS, Talk, by_user, calls_of, marked, response, results, said, shown
from hypothesis import given
from hypothesis import strategies as st

from context_compression.integrations.apis import CHAT, MESSAGES, RESPONSES, Api, Json
from context_compression.proxy.sessions import ProxySessions
from context_compression.session import Session
from context_compression.workspace import Workspace

apis = st.sampled_from(APIS)
seeds = st.integers(0, 10**6)
MODEL = "claude-sonnet-5"


def proxy_in(folder: Path) -> ProxySessions:
    return ProxySessions(Workspace.here(environ={}, cwd=folder, home=folder))


@pytest.fixture
def sessions(tmp_path: Path) -> ProxySessions:
    return proxy_in(tmp_path)


@dataclass
class Asked:
    """What the proxy does with a request, before the provider answers."""

    session: Session
    sent: list[Any]


def ask(
    sessions: ProxySessions,
    history: Sequence[Json],
    *,
    api: Api = MESSAGES,
    headers: Mapping[str, str] | None = None,
    owner: str = "",
    **body: Any,
) -> Asked:
    asked = {"model": MODEL, api.messages: [*history], **body}
    session = sessions.of(api, headers or {}, asked, owner)
    assert session is not None
    return Asked(session, session.fit(sessions.unfolded(session, [*history], api)))


def id_of(sessions: ProxySessions, *texts: str, **options: Any) -> str:
    """The id of the session of a history, in which user and model speak by turns."""
    roles = ("user", "assistant")
    history: list[Json] = [
        {"role": roles[at % 2], "content": text} for at, text in enumerate(texts)
    ]
    return ask(sessions, history, **options).session.id


@dataclass
class Conversation:
    """A conversation whose requests go through the proxy, with exchanges with our tool."""

    talk: Talk
    expected: list[Json] = field(default_factory=list[Json])
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    ids: list[str] = field(default_factory=list[str])
    is_kept: bool = False

    @classmethod
    def begun(cls, api: Api, seed: int, first: str, **options: Any) -> "Conversation":
        asked = by_user(api, first)
        return cls(Talk(api, Random(seed), [asked]), [asked], **options)

    def turn(self, sessions: ProxySessions) -> None:
        """One request of the client, with all that the provider sees in it."""
        talk, api = self.talk, self.talk.api
        asked = ask(sessions, talk.history, api=api, headers=self.headers)
        assert asked.sent == self.expected
        session = asked.session
        self.ids.append(session.id)
        assert session.state().recorded == self.expected
        responses = talk.answer()
        for parts in responses[:-1]:
            answers = {id: f"original {id}" for id in calls_of(parts, ours=True)}
            exchange = api.exchange(response(api, parts), answers)
            asked.sent = session.fit([*asked.sent, *exchange])
            self.expected += exchange
        last = responses[-1]
        ours, others = calls_of(last, ours=True), calls_of(last, ours=False)
        self.is_kept = bool(ours)
        if ours:
            answers = {id: f"original {id}" for id in ours}
            sessions.keep(session, api, response(api, last), answers)
        self.expected += said(api, last)
        self.expected += results(api, [*ours, *others], "original {}".format)
        talk.history += said(api, shown(responses)) + results(api, others, "original {}".format)
        if not others:
            asked_next = by_user(api, talk.words())
            talk.history.append(asked_next)
            self.expected.append(asked_next)


@pytest.mark.slow
@given(apis, seeds, st.data())
def test_conversations_that_begin_alike_never_mix(api: Api, seed: int, data: st.DataObject) -> None:
    """Also after the first answers of the model were the same, and the proxy was started again."""
    with TemporaryDirectory() as folder:
        sessions = proxy_in(Path(folder))
        talks = [Conversation.begun(api, seed, "Why is the build red?") for _ in range(3)]
        for _ in range(data.draw(st.integers(0, 3))):  # the same seed says the same
            for talk in talks:
                talk.turn(sessions)
        for number, talk in enumerate(talks):
            talk.talk.random.seed(seed + number)
            talk.talk.restores = False  # until its history is another one
        alike = len(talks[0].ids)
        for _ in range(6):
            talk = data.draw(st.sampled_from(talks))
            talk.turn(sessions)
            talk.talk.restores = True

        own = [{*talk.ids[alike + 1 :]} for talk in talks]
        assert all(len(ids) <= 1 for ids in own), own
        assert not own[0] & own[1] and not own[0] & own[2] and not own[1] & own[2]


@pytest.mark.slow
@given(apis, seeds, st.sampled_from([{}, {"session-id": "s"}]))
def test_a_restart_between_requests_changes_nothing(
    api: Api, seed: int, headers: Mapping[str, str]
) -> None:
    with TemporaryDirectory() as folder:
        talk = Conversation.begun(api, seed, "Why is the build red?", headers=headers)
        sessions = proxy_in(Path(folder))
        for _ in range(8):
            talk.turn(sessions)
            if not talk.is_kept:
                sessions = proxy_in(Path(folder))

        assert len({*talk.ids}) == 1


def test_a_branch_has_its_own_session_and_so_has_its_branch(sessions: ProxySessions) -> None:
    talk = ("Fix it.", "It is pytest.", "Run it.", "It fails.", "Look.")
    main = id_of(sessions, *talk)
    branch = id_of(sessions, *talk[:2], "Stop.", "Yes.", "Go on.")
    of_branch = id_of(sessions, *talk[:2], "Stop.", "Yes.", "Undo it.")

    assert len({main, branch, of_branch}) == 3
    assert id_of(sessions, *talk, "I look.", "And?") == main
    assert id_of(sessions, *talk[:2], "Stop.", "Yes.", "Go on.", "I go.", "Go!") == branch
    assert id_of(sessions, *talk[:2], "Stop.", "Yes.", "Undo it.", "Done.", "So?") == of_branch


@pytest.mark.parametrize("api", APIS, ids=lambda api: api.name)
def test_a_branch_keeps_the_exchanges_before_it(sessions: ProxySessions, api: Api) -> None:
    """Thinking is bound to all that was before it."""
    talk = Conversation.begun(api, 7, "Why is the build red?")
    talk.talk.answer = lambda: [[("call", "r_1", "context_restore")], [("text", "", "It is.")]]
    talk.turn(sessions)
    branch = [*talk.talk.history[:-1], by_user(api, "Another question.")]
    talk.turn(sessions)

    asked = ask(sessions, branch, api=api)

    assert asked.session.id not in talk.ids
    assert asked.sent == [*asked.sent[:-1], branch[-1]]
    assert "original r_1" in json.dumps(asked.sent)


@pytest.mark.parametrize("headers", [{}, {"session-id": "s"}], ids=["without ids", "with ids"])
@pytest.mark.parametrize("api", APIS, ids=lambda api: api.name)
def test_a_retry_goes_on_where_the_stream_broke_off(
    tmp_path: Path, api: Api, headers: Mapping[str, str]
) -> None:
    """The model had restored something, and the proxy was killed before it answered."""
    history = [by_user(api, "Why is the build red?")]
    first = ask(proxy_in(tmp_path), history, api=api, headers=headers)
    restores = response(api, [("text", "", "I look."), ("call", "r_1", "context_restore")])
    first.session.fit([*first.sent, *api.exchange(restores, {"r_1": "original"})])

    again = ask(proxy_in(tmp_path), history, api=api, headers=headers)

    assert again.session.id == first.session.id
    assert again.sent == history


IDS: Mapping[str, Mapping[str, Any]] = {
    "claude code": {
        "headers": {"X-Claude-Code-Session-Id": "3b13"},
        "metadata": {"user_id": '{"device_id":"36","account_uuid":"","session_id":"3b13"}'},
    },
    "claude code, in the body": {"metadata": {"user_id": '{"session_id":"3b13"}'}},
    "claude code before": {"metadata": {"user_id": "user_36_account__session_3b13"}},
    "codex": {
        "headers": {"session-id": "01a2", "thread-id": "01a2"}, "prompt_cache_key": "01a2",
    },
    "opencode": {"headers": {"x-session-affinity": "ses_1"}},
    "openrouter": {"session_id": "s1"},
    "litellm": {"litellm_session_id": "s1"},
}  # fmt: skip


@pytest.mark.parametrize("client", IDS)
def test_side_calls_with_the_id_of_a_conversation_have_sessions_of_their_own(
    sessions: ProxySessions, client: str
) -> None:
    options = IDS[client]
    main = id_of(sessions, "Fix the build.", **options)
    title = id_of(sessions, "Write a title for: Fix the build.", **options)
    subagent = id_of(sessions, "Find the file.", "It is a.py.", "Read it.", **options)

    assert id_of(sessions, "Fix the build.", "I look.", "Do.", **options) == main
    assert id_of(sessions, "Find the file.", "It is a.py.", "Read it.", "x", "y", **options) == (
        subagent
    )
    assert len({main, title, subagent}) == 3
    assert id_of(sessions, "Fix the build.", "I look.", "Do.") != main  # without the id


@pytest.mark.parametrize("first", ["main", "title"])
def test_it_does_not_matter_which_call_comes_first(sessions: ProxySessions, first: str) -> None:
    options, title = IDS["codex"], ("Write a title.",)
    if first == "title":
        id_of(sessions, *title, **options)
    main = id_of(sessions, "Fix the build.", **options)

    assert id_of(sessions, *title, **options) != main
    assert id_of(sessions, "Fix the build.", "I look.", "Do.", **options) == main


def test_a_question_about_the_whole_history_is_taken_back(sessions: ProxySessions) -> None:
    """Claude Code 2.1 asks so for what the user may say next, and for a summary."""
    options = IDS["claude code"]
    main = id_of(sessions, "Fix the build.", **options)
    aside = id_of(sessions, "Fix the build.", "Done.", "What may the user say next?", **options)

    assert id_of(sessions, "Fix the build.", "Done.", "Thanks.", **options) == main == aside


def test_subagents_that_begin_alike_are_told_apart_by_their_ids(sessions: ProxySessions) -> None:
    def of_agent(id: str) -> str:
        headers = {**IDS["claude code"]["headers"], "x-claude-code-agent-id": id}
        return id_of(sessions, "Count the files.", headers=headers)

    assert of_agent("a1") == of_agent("a1") != of_agent("a2")


def test_a_host_that_compacted_or_cleared_its_history_goes_on(sessions: ProxySessions) -> None:
    options = IDS["claude code"]
    main = id_of(sessions, "Fix the build.", "I look.", "Do.", "Done.", "Go on.", **options)
    compacted = id_of(sessions, "This session is being continued. It was red.", **options)
    cleared = id_of(sessions, "Fix the build.", **options)
    after_clear = id_of(sessions, "Fix the build.", "I wait.", "Do.", **options)

    assert len({main, compacted, cleared, after_clear}) == 4
    assert compacted == id_of(
        sessions, "This session is being continued. It was red.", "Yes.", "So?", **options
    )
    assert after_clear == id_of(
        sessions, "Fix the build.", "I wait.", "Do.", "It is.", "So?", **options
    )


def test_one_key_for_the_cache_of_many_conversations_does_not_mix_them(
    sessions: ProxySessions,
) -> None:
    key = {"prompt_cache_key": "my-app"}
    ids = {id_of(sessions, "Hi.", "Hi!", f"Question {n}.", **key) for n in range(5)}

    assert len(ids) == 5
    assert id_of(sessions, "Hi.", "Hi!", "Question 3.", "Yes.", "So?", **key) in ids


def test_two_owners_never_share_a_session(sessions: ProxySessions) -> None:
    texts = ("Fix the build.", "I look.", "Do.")
    without_ids: Mapping[str, Any] = {}
    for options in (without_ids, IDS["claude code"]):
        ids = {id_of(sessions, *texts, owner=owner, **options) for owner in ("", "k1", "k2")}

        assert len(ids) == 3


def test_a_system_prompt_that_tells_the_time_is_the_same(sessions: ProxySessions) -> None:
    ids = [
        id_of(sessions, "Hi.", "Hi!", "So?", system=f"Be kind. It is 12:00:{second:02}.")
        for second in range(3)
    ]
    other = id_of(sessions, "Hi.", "Hi!", "So?", system="Write a title.")

    assert len({*ids}) == 1 and other not in ids


def test_fifty_clients_that_begin_alike_at_once_stay_apart(sessions: ProxySessions) -> None:
    at_once = Barrier(50)

    def client(number: int) -> list[str]:
        history = [by_user(MESSAGES, "Fix the build.")]
        ids: list[str] = []
        for step in range(4):
            at_once.wait()
            asked = ask(sessions, history)
            assert asked.sent == history
            ids.append(asked.session.id)
            history += said(MESSAGES, [("text", "", f"Answer {number}.{step}")])
            history.append(by_user(MESSAGES, f"Go on with {step}."))
        return ids

    with ThreadPoolExecutor(50) as pool:
        all_ids = [*pool.map(client, range(50))]

    own = [{*ids[1:]} for ids in all_ids]
    assert all(len(ids) == 1 for ids in own)
    assert len(set[str]().union(*own)) == 50


@pytest.mark.parametrize(
    ("api", "body"),
    [
        (RESPONSES, {"input": "Hi."}),
        (RESPONSES, {"input": [by_user(RESPONSES, "Hi.")], "previous_response_id": "resp_1"}),
        (RESPONSES, {"input": [by_user(RESPONSES, "Hi."), {"type": "item_reference", "id": "m"}]}),
        (RESPONSES, {"input": [{"id": "m"}, by_user(RESPONSES, "Hi.")]}),
        (RESPONSES, {"input": [by_user(RESPONSES, "Hi.")], "conversation": {"id": "conv_1"}}),
        (CHAT, {"messages": []}), (CHAT, {}), (MESSAGES, {"messages": {"0": "Hi."}}),
    ],
)  # fmt: skip
def test_a_request_whose_history_is_elsewhere_has_no_session(
    sessions: ProxySessions, api: Api, body: Json
) -> None:
    assert sessions.of(api, {}, body) is None


def test_messages_that_nobody_can_read_find_a_session(sessions: ProxySessions) -> None:
    for history in (
        [1],
        [None, {"role": "user"}],
        [{"role": ["x"], "content": {"a": 1}}],
        ["\ud800"],
    ):
        body: Json = {"messages": history, "system": 3, "metadata": 4, "model": 5, "tools": {}}

        session = sessions.of(CHAT, {}, body)

        assert session and session.fit(sessions.unfolded(session, history, CHAT)) == history


def test_a_store_that_is_away_does_not_stand_in_the_way(
    sessions: ProxySessions, tmp_path: Path
) -> None:
    history = [by_user(MESSAGES, "Fix the build.")]
    before = ask(sessions, history).session.id
    rmtree(tmp_path / ".compression")
    (tmp_path / ".compression").write_text("no folder")

    for talk in (history, [by_user(MESSAGES, "Another.")]):
        assert ask(sessions, talk).sent == talk
    assert ask(sessions, history).session.id == before


def test_a_log_tells_the_program_the_model_and_the_window(sessions: ProxySessions) -> None:
    tools = [{"name": "read", "description": "Reads a file.", "input_schema": {"type": "object"}}]
    session = ask(sessions, [by_user(MESSAGES, "Hi.")], system="Be kind.", tools=tools).session

    origin = session.state().origin
    assert origin["host"] == "proxy" and origin["model"] == MODEL
    assert origin["window"] == session.settings.token_budget
    assert origin["beside"] > 10


def test_a_beta_for_a_large_window_counts(sessions: ProxySessions) -> None:
    history, model = [by_user(MESSAGES, "Go")], "claude-sonnet-4-5"
    beta = {"anthropic-beta": "tools-2026-01-01,context-1m-2025-08-07"}

    small, large = (ask(sessions, history, headers=each, model=model) for each in ({}, beta))

    assert small.session.settings.token_budget == 200_000
    assert large.session.settings.token_budget == 1_000_000


def test_a_long_session_costs_little(sessions: ProxySessions) -> None:
    """Two comparisons with the record, beside reading the state of the log."""
    history = [by_user(MESSAGES, "Fix the build.")]
    for step in range(400):  # about 200K tokens
        call = ("call", f"x_{step}", "Read")
        history += said(MESSAGES, [("text", "", "I read."), call])
        history += results(MESSAGES, [f"x_{step}"], lambda id: f"{id} {'line of a file ' * 130}")
    ask(sessions, marked(MESSAGES, history, Random(1)))

    def seconds(history: Sequence[Json]) -> tuple[float, float]:
        body = {"model": MODEL, "messages": history}
        began = process_time()
        session = sessions.of(MESSAGES, {}, body)
        assert session
        sent = sessions.unfolded(session, history, MESSAGES)
        took = process_time() - began
        began = process_time()
        state = session.state()
        of_state = process_time() - began
        assert sent == history and len(state.recorded) == len(history)
        return took, of_state

    best = min(seconds(json.loads(json.dumps(history))) for _ in range(5))
    assert best[0] < 0.02 + 3 * best[1], best

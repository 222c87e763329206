"""Which session a request belongs to: by the ids that the client sends, and by its history.

A session has one history, which grows. A history that does not go on from the one that a session
has is a branch, with a session of its own: its id is made of that of the session and of the message
at which it parts. So a request finds its session by walking from branch to branch, and finds the
same one after a restart.
"""

import json
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from threading import Lock
from typing import Any, TypeVar

from context_compression.conversation.formats import plain
from context_compression.conversation.labels import without_marks
from context_compression.conversation.messages import as_object, is_array, is_by_model
from context_compression.conversation.refs import digest_of
from context_compression.errors import StoreError
from context_compression.integrations.apis import Answers, Api, Json, is_on_server
from context_compression.integrations.sessions import Sessions
from context_compression.proxy.folding import (
    Unfolded,
    kept_exchange,
    open_exchange,
    parts_of,
    text_of,
    unfold,
)
from context_compression.session import Session
from context_compression.session.events import timestamp
from context_compression.session.following import first_messages
from context_compression.tokens import Counter
from context_compression.transcripts.transcript import PROXY
from context_compression.workspace import Workspace

T = TypeVar("T")
HEADERS = (
    "x-claude-code-session-id",  # Claude Code 2.1
    "x-claude-code-agent-id",  # of its subagents
    "session-id", "thread-id",  # Codex 0.169; its subagents have threads of their own
    "session_id", "conversation_id",  # Codex before
    "x-opencode-session", "x-session-affinity",  # opencode, Pi
    "x-session-id",  # OpenRouter, and clients that are built for gateways
    "x-litellm-session-id", "helicone-session-id",  # clients of these gateways
    "x-openwebui-chat-id",  # Open WebUI
)  # fmt: skip
"""The headers in which clients send the id of a conversation, and of the agent that has it."""
FIELDS = (
    ("metadata", "user_id"),  # Claude Code: JSON with `session_id`, or `user_…_session_…`
    ("client_metadata", "thread_id"),  # Codex
    ("metadata", "session_id"), ("session_id",), ("litellm_session_id",),  # OpenRouter, LiteLLM
)  # fmt: skip
"""The fields of a request for the same."""
MILLION = "context-1m"
"""Begins the name of Anthropic's beta for windows of a million tokens."""
DIGITS = 16
IN_USER_ID = "_session_"
OF_MANY = ("prompt_cache_key",)
"""The fields that tell conversations apart, but may be the same in several."""
MOST_REMEMBERED = 256
"""For how many sessions it is remembered what their last request was, and what is kept for it."""
MOST_COMING = 32
"""How many messages of a request are compared with those of another one that comes at once."""
MOST_KEPT = 4
"""How many exchanges are kept for a session: as many conversations may be the same so far."""
MOST_BRANCHES = 64
"""From how many branches another one may part; behind that, each history has its own session."""


@dataclass(frozen=True)
class _Kept:
    """An exchange with our tool that is in no record, and that a request may go on from.

    Attributes:
        behind: how many messages were recorded before it.
        messages: what the model said, with all its calls, and the results of ours.
    """

    behind: int
    messages: Sequence[Mapping[str, Any]]


class ProxySessions:
    """The sessions of the proxy in the store of a workspace.

    Raises:
        InvalidSettings: a setting of the workspace is impossible.
        StoreError: its `config.json` cannot be read.
    """

    def __init__(self, workspace: Workspace) -> None:
        self._sessions = Sessions(PROXY, store=workspace.store, settings=workspace.settings())
        self._kept: OrderedDict[str, Sequence[_Kept]] = OrderedDict()
        self._before: OrderedDict[str, Sequence[str]] = OrderedDict()
        self._coming: OrderedDict[str, tuple[int, Sequence[str]]] = OrderedDict()
        self._lock = Lock()

    def of(
        self, api: Api, headers: Mapping[str, str], body: Mapping[str, Any], owner: str = ""
    ) -> Session | None:
        """The session of a request; `None` if its history is not in it, or is no list.

        Args:
            api: of the request.
            headers: of the request.
            body: of the request.
            owner: whose request it is; two owners never share a session.

        Raises:
            StoreError: the store must not be used. While it is away, `fit` does without it.
        """
        history = body.get(api.messages)
        if not is_array(history) or not history or is_on_server(body):
            return None
        own = [*_own_ids(headers, body)]
        shared = [str(id) for name in OF_MANY if (id := body.get(name))]
        begins = [] if own else [*_beginning(body.get(api.system or ""), history)]
        path = [owner, api.name, *own, *shared, *begins]
        before: Sequence[str] = ()
        with suppress(StoreError):
            while parting := self._parting(self._at(path), history, api, is_named=bool(own)):
                shared, mark = parting
                before = [_id_at(path), _id_at([*path, shared])]
                path += [mark] if len(path) < MOST_BRANCHES else [*map(_mark_of, history)]
        session = self._at(path, _model_of(headers, body))
        with self._lock:
            _remember(self._before, session.id, before)
        with suppress(StoreError):
            _describe(session, body.get(api.system or ""), body.get("tools"))
        return session

    def _at(self, path: Sequence[str], model: str | None = None) -> Session:
        return self._sessions.named(_id_at(path), model=model)

    def keep(self, session: Session, api: Api, response: Json, answers: Answers) -> None:
        """Keep an exchange with our tool until the client has answered the other calls in it.

        Args:
            session: of the request.
            api: of the request.
            response: calls our tool and others.
            answers: to our calls, by their ids.
        """
        kept = kept_exchange(api, response, answers)
        self._keep(session.id, _Kept(len(session.state().recorded), kept))

    def _keep(self, id: str, kept: _Kept) -> None:
        with self._lock:
            others = [each for each in self._kept.get(id, ()) if each != kept]
            _remember(self._kept, id, [*others, kept][-MOST_KEPT:])

    def unfolded(self, session: Session, history: Sequence[Any], api: Api) -> list[Any]:
        """The client's history as the provider saw it; what was not changed are its own objects."""
        with suppress(StoreError):  # without its record, the history stays as it is
            before = () if session.state().recorded else self._before.get(session.id, ())
            of_branch = [self._unfolded(self._sessions.named(id), history, api) for id in before]
            found = of_branch or [self._unfolded(session, history, api)]
            return max(found, key=lambda each: each.known).history
        return [*history]

    def _unfolded(self, session: Session, history: Sequence[Any], api: Api) -> Unfolded:
        """A history as far as a session's record has it, and what is kept."""
        found = unfold(session.state().recorded, history, api)
        for kept in sorted(self._kept.get(session.id, ()), key=lambda each: each.behind):
            if kept.behind != found.known:
                continue
            further = unfold(kept.messages, found.following, api)
            if further.known == len(kept.messages):
                known = found.known + further.known
                found = Unfolded([*found.before, *further.before], further.following, known)
        return found

    def _parting(
        self, session: Session, history: Sequence[Any], api: Api, *, is_named: bool
    ) -> tuple[str, str] | None:
        """Where a history parts from a session.

        What no request of the client has confirmed may be missing: an exchange with our tool at the
        end. If the client names the conversation, it may also take its last question back, as side
        calls that ask something about the whole history do. What the model has said since is never
        missing.

        Returns:
            How many messages it shares with the session, and the mark of the next one; `None` if it
            goes on.
        """
        for _ in range(2):
            recorded = session.state().recorded
            found = unfold(recorded, history, api)
            following, shared = found.following, str(len(history) - len(found.following))
            confirmed = recorded[found.known : open_exchange(recorded)]
            is_cut = found.known < len(recorded) and any(
                is_by_model(as_object(each)) for each in following[:1]
            )
            goes_on = not confirmed and not is_cut
            if is_named and found.known >= len(first_messages(recorded)):
                goes_on = goes_on or not any(map(is_by_model, confirmed))
            if not goes_on and recorded:
                return shared, _mark_of(following[0]) if following else shared
            marks = [*map(_mark_of, following[:MOST_COMING])]
            with self._lock:
                behind, coming = self._coming.get(session.id, (-1, ()))
                if behind > len(recorded):  # something was recorded meanwhile
                    continue
                if behind == len(recorded) == found.known:  # two at once go on from here
                    other = (mark for one, mark in zip(coming, marks, strict=False) if one != mark)
                    if parting := next(other, None):
                        return shared, parting
                _remember(self._coming, session.id, (len(recorded), marks))
            if not confirmed and (lost := recorded[found.known :]):
                self._keep(session.id, _Kept(found.known, lost))
            return None
        return None


def _describe(session: Session, system: Any, tools: Any) -> None:
    """Let the log of a session tell of which program, model and window it is."""

    def origin() -> dict[str, Any]:
        counter = Counter(session.model, session.counter)
        return {**about, "beside": counter.system(system) + counter.tools(tools)}

    about = {"host": PROXY, "model": session.model, "window": session.settings.token_budget}
    known = session.state().origin
    session.origin = origin
    if any(known.get(name) != value for name, value in about.items()):
        event = {"type": "origin", "created_at": timestamp(), "origin": origin()}
        session.log.append(event)


def _id_at(path: Sequence[str]) -> str:
    """The id of a session, from what tells it from others."""
    return f"{PROXY}-{digest_of(path)[:DIGITS]}"


def _remember(memory: OrderedDict[str, T], id: str, value: T) -> None:
    """Remember something of a session, and forget what is the oldest."""
    memory.pop(id, None)
    memory[id] = value
    if len(memory) > MOST_REMEMBERED:
        memory.popitem(last=False)


def _model_of(headers: Mapping[str, str], body: Mapping[str, Any]) -> str | None:
    """The model, with `[1m]` behind it if a beta gives it the large window."""
    model = body.get("model")
    if not isinstance(model, str):
        return None
    return f"{model}[1m]" if MILLION in headers.get("anthropic-beta", "") else model


def _own_ids(headers: Mapping[str, str], body: Mapping[str, Any]) -> Iterator[str]:
    """The ids by which a client names the conversation, and the agent that has it."""
    lower = {name.lower(): value for name, value in headers.items()}
    yield from (f"{name}={lower[name]}" for name in HEADERS if lower.get(name))
    for path in FIELDS:
        value: Any = body
        for key in path:
            value = as_object(value).get(key)
        if path[-1] == "user_id":
            value = _session_in(value)
        if isinstance(value, str | int) and value:
            yield f"{'.'.join(path)}={value}"


def _session_in(user_id: Any) -> Any:
    """The id of the session in the user's id, as Claude Code writes it; `None` without one."""
    if not isinstance(user_id, str):
        return None
    try:
        return as_object(json.loads(user_id)).get("session_id")
    except (ValueError, RecursionError):
        return user_id.partition(IN_USER_ID)[2]


def _beginning(system: Any, history: Sequence[Any]) -> Iterator[str]:
    """What tells a conversation from others, as far as it is there in the first request."""
    yield _mark_of({"role": "system", "content": system})
    yield from map(_mark_of, first_messages(history))


def _mark_of(message: Any) -> str:
    """The digits of a hash of a message, the same however a client writes it.

    Of system prompts only words without digits count: many tell the time.
    """
    message = as_object(plain([message])[0])
    role = message.get("role")
    text, others = "", list[Any]()
    for part in parts_of(message) or [message]:
        said = text_of(part)
        text += f" {said or ''}"
        others += [without_marks(part)] if said is None else []
    words = text.split()
    if role in ("system", "developer"):
        words = [word for word in words if not any(map(str.isdigit, word))]
    return digest_of([role, message.get("tool_call_id"), "".join(words), *others])[:DIGITS]

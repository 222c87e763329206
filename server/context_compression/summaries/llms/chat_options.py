"""The options of a request to `/chat/completions`, which not all servers and models know.

OpenAI's reasoning models refuse `max_tokens`, others know only that; some servers refuse
`stream_options`, streaming, or a system prompt. So the first request asks for all of it, and each
refusal that names an option leaves that option out.
"""

import re
from dataclasses import dataclass, replace
from typing import Any

from context_compression.conversation.messages import strings_in
from context_compression.summaries.summarizer import SummaryRequest

OLD, NEW = "max_tokens", "max_completion_tokens"
"""The two names of the limit of an answer."""
OF_OPENAI = re.compile(
    r"(?:.*\.)?openai\.(?:com|azure\.com)|.*\.cognitiveservices\.azure\.com", re.I
)
"""Hosts whose newest models refuse the old name of the limit."""
NOT_KNOWN = re.compile(
    r"unsupported|not supported|does(?: not|n't) support|not permitted|not allowed|forbidden"
    r"|unknown|unrecogni[sz]ed|unexpected|extra (?:inputs|fields)|must be verified",
    re.I,
)
"""Words of a refusal that is about an option itself, not about its value."""
LONGEST_TEXT = 4000
"""How many characters of a refusal are searched: servers may echo the request."""
NO_SYSTEM_ROLE = re.compile(r"system (?:role|messages?|prompts?)\b|['\"`]system['\"`]", re.I)


@dataclass(frozen=True)
class ChatOptions:
    """The options that a server and its model take, as far as is known.

    Attributes:
        limits: the names of the limit of an answer; the first is used.
        streamed: whether the answer is streamed, because proxies may time out before a long answer
            is complete.
        with_usage: whether a stream is asked for its usage.
        system_role: whether the system prompt is a message of its own.
    """

    limits: tuple[str, ...] = (OLD, NEW)
    streamed: bool = True
    with_usage: bool = True
    system_role: bool = True

    @classmethod
    def first_for(cls, host: str) -> "ChatOptions":
        """The options to begin with at a host: OpenAI knows the new limit, and all know the old."""
        return cls((NEW, OLD) if OF_OPENAI.fullmatch(host) else (OLD, NEW))

    def arguments(self, model: str, request: SummaryRequest) -> dict[str, Any]:
        """The arguments of `client.chat.completions.create`."""
        user, system = request.prompt, list[dict[str, str]]()
        if self.system_role:
            system = [{"role": "system", "content": request.system}]
        else:
            user = f"{request.system}\n\n{user}"
        asked: dict[str, Any] = {
            "model": model,
            "messages": [*system, {"role": "user", "content": user}],
            self.limits[0]: request.max_tokens,
        }
        if self.streamed:
            asked["stream"] = True
            if self.with_usage:
                asked["stream_options"] = {"include_usage": True}
        return asked

    def without_refused(self, error: Exception) -> "ChatOptions | None":
        """The options without the one that a server refused; `None` if it refused none of them."""
        if getattr(error, "status_code", 0) not in (400, 422):
            return None
        text = " ".join(strings_in(getattr(error, "body", None)))[:LONGEST_TEXT]
        if not NOT_KNOWN.search(text):
            return None
        named = {*re.findall(r"\w+", (getattr(error, "param", None) or text).lower())}
        if self.streamed and self.with_usage and named & {"stream_options", "include_usage"}:
            return replace(self, with_usage=False)
        if len(self.limits) > 1 and self.limits[0] in named:
            return replace(self, limits=self.limits[1:])
        if self.streamed and named & {"stream", "streaming"}:
            return replace(self, streamed=False)
        if self.system_role and NO_SYSTEM_ROLE.search(text):
            return replace(self, system_role=False)
        return None

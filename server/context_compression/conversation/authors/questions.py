"""Tools with which the model asks the user, and the user's words in their results."""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from context_compression.conversation.messages import is_array, is_object

WORDS_OF_NAME = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
NAMESPACE = re.compile(r".*(?:__|[./:#])", re.DOTALL)
"""What stands before the name of a tool: `mcp__server__`, `functions.`, `server/`."""
PERSON = "(?:the_)?(?:user|human|person|operator|customer|client)"
QUESTION_TOOL = re.compile(
    rf"(?:vscode_|system_|builtin_|adk_|tool_)?(?:"
    rf"(?:ask|prompt|query|question|consult|interview|elicit|confirm_with|check_with|clarify_with"
    rf"|wait_for|await|poll)_(?:question_to_|for_)?{PERSON}s?"
    rf"|(?:ask|request|get|read|collect|await|wait_for|prompt_for)_{PERSON}s?_"
    r"(?:for_)?(?:input|feedback|response|answer|reply|confirmation|approval|clarification|choice"
    r"|decision|help|assistance)"
    rf"|(?:hand_?off|escalate|defer|return_control)_to_{PERSON}"
    r"|(?:ask|request|get)_(?:for_)?(?:a_)?(?:follow_?up|clarif(?:y|ying|ication))"
    r"|ask_questions|questions?|clarif(?:y|ication)"
    rf"|(?:mcp_)?{PERSON}_(?:input|feedback|response|answer|reply|question|questions|approval|assistance"
    r"|confirmation|clarification|choice)|human(?:_in_the_loop)?|hitl"
    r"|(?:mcp_)?elicit(?:ation)?|request_(?:input|confirmation|approval|clarification)"
    r")(?:_(?:a_)?(?:questions?|input|for_input|approval|confirmation|clarification|choice|create"
    r"|request|response|feedback|tool|v?\d+))*"
)
"""Names of tools that ask the user, in snake case without a namespace; as a whole, because
`parse_user_input` asks nobody. `ask_question` alone may ask a search service. Any server may name
a tool so: such a name alone does not show that the user said what the tool returns."""
KNOWN = frozenset({
    "AskUserQuestion",  # Claude Code
    "request_user_input",  # Codex
    "ask_user",  # Gemini CLI, Copilot CLI
    "ask_user_question",  # Qwen Code, Windsurf
    "question",  # opencode
    "ask_followup_question",  # Cline, Roo Code
    "vscode_askQuestions",  # VS Code
    "clarify",  # Hermes
    "handoff_to_user",  # Strands
    "adk_request_input", "get_user_choice",  # Google ADK
    "human", "human_input",  # LangChain, CrewAI
    "get_user_input", "user_input",  # Agno, smolagents
    "elicitation",
})  # fmt: skip
"""The question tools of hosts and frameworks, exactly as these name them. Hosts put the name of a
server before the names of its tools, so that no server's tool is among them."""
ANSWERS = frozenset({
    "answer", "answers", "response", "responses", "reply", "replies", "user_response",
    "user_input", "user_answer", "user_reply", "user_message", "free_text", "freeform",
    "custom_answer", "custom", "other", "feedback",
})  # fmt: skip
"""Keys whose values are the user's words. Beside one of them, only `BESIDE` may hold more."""
BESIDE = frozenset({
    "notes", "note", "comment", "comments", "reason", "remarks", "details", "message", "text",
    "selected", "selection", "choice", "choices", "value", "content",
})  # fmt: skip
OF_HOSTS = frozenset({
    "id", "ids", "type", "kind", "status", "state", "action", "question", "questions", "prompt",
    "header", "title", "name", "role", "options", "description", "schema", "timestamp",
    "created_at", "updated_at", "time", "error", "code", "multi_select", "tool", "tool_name",
    "tool_call_id", "call_id", "session_id", "request_id", "question_id", "annotations",
    "preview", "instructions", "hint", "mode", "url", "model", "usage", "metadata", "meta",
})  # fmt: skip
"""Keys whose values are the host's or the model's, unless they lie under a key of the answer."""
PREFIX = re.compile(
    r"\s*(?:\[?(?:the )?(?:user|human)(?:'s|’s)?\]?(?: has)?"
    r"(?: (?:response|answer|answered|replied|replies|reply|said|says|input|feedback|message"
    r"|selected|chose|received|with|responded|your|questions?))*|answers?|response|reply)"
    r"\s*[:：]\s*",
    re.IGNORECASE,
)
"""What a host writes before an answer: `User response received: `."""
TAGS = ("answer", "user_message", "feedback", "user_response", "response")
PAIR = '"="'
"""Between question and answer in Claude Code and opencode: `"Which?"="This one", …`."""
GOES_ON = ('". You can now', '" user notes:')
ASKED = re.compile(r"\W{0,4}(?:q(?:uestion)?\s*\d{0,3}|asked)\W{0,3}[:：.]", re.IGNORECASE)
ANSWERED = re.compile(
    r"\W{0,4}(?:a(?:nswer)?\s*\d{0,3}|answered|user)\W{0,3}[:：.]\s*", re.IGNORECASE
)
UNANSWERED = re.compile(
    r"\W*(?:error\b|timed? ?out|\[?no (?:answer|response|reply)|cancell?ed\W*\Z|waiting for\b"
    r"|(?:question|request|message) (?:was )?(?:sent|delivered|shown|displayed|dismissed)"
    r"|(?:the )?user (?:did not|didn't|has not|hasn't|dismissed|cancell?ed|declined to|skipped))",
    re.IGNORECASE,
)
"""What a host says when nobody answered."""


def is_question_tool(tool: str) -> bool:
    """Whether a tool is the question tool of a host or framework itself."""
    return tool in KNOWN


def asks_user(tool: str) -> bool:
    """Whether the model probably asks the user with a tool, by its name.

    `asks_user("mcp__desk__AskUserQuestion")` -> `True`
    """
    prefix = NAMESPACE.match(tool)
    own = tool[prefix.end() :] if prefix and prefix.end() < len(tool) else tool
    name = "_".join(WORDS_OF_NAME.findall(own)).lower()
    return QUESTION_TOOL.fullmatch(name) is not None


def answer_in(text: str) -> str:
    """The user's words in the result of a question tool: a text, JSON, or questions with answers.

    `answer_in('{"question": "Which?", "answer": "Postgres"}')` -> `"Postgres"`
    """
    text = text.strip()
    if text[:1] in ("{", "[", '"'):
        try:
            value = json.loads(text)
        except (ValueError, RecursionError):
            pass
        else:
            return "\n".join(filter(None, map(str.strip, _answers(value))))
    if UNANSWERED.match(text):
        return ""
    if PAIR in text:
        return "\n".join(_paired(text))
    for tag in TAGS:
        if f"<{tag}>" in text:
            return "\n".join(_tagged(text, tag))
    prefix = PREFIX.match(text)
    return "\n".join(_without_questions(text[prefix.end() :] if prefix else text))


def _answers(value: Any, *, answered: bool = False) -> Iterator[str]:
    """The strings that the user wrote in the JSON of an answer.

    Args:
        value: parsed JSON.
        answered: whether it lies under a key of the answer, so that all of it is the user's.
    """
    if isinstance(value, str):
        yield value
    elif is_array(value):
        for item in value:
            yield from _answers(item, answered=answered)
    elif is_object(value):
        for key, item in _of_user(value, answered=answered):
            under = answered or key in ANSWERS
            if isinstance(item, str) and key not in ANSWERS and UNANSWERED.match(item):
                continue
            yield from _answers(item, answered=under)


def _of_user(value: Mapping[str, Any], *, answered: bool) -> list[tuple[str, Any]]:
    """The keys of an object, in snake case, that may hold words of the user, and their values."""
    pairs = [("_".join(WORDS_OF_NAME.findall(key)).lower(), item) for key, item in value.items()]
    if not answered:
        pairs = [(key, item) for key, item in pairs if key not in OF_HOSTS]
    elif any(key == "label" for key, _ in pairs):  # a chosen option, with its explanation
        pairs = [(key, item) for key, item in pairs if key not in ("description", "id", "preview")]
    if any(key in ANSWERS for key, _ in pairs):
        pairs = [(key, item) for key, item in pairs if key in ANSWERS or key in BESIDE]
    return pairs


def _paired(text: str) -> Iterator[str]:
    """The answers in `"Question"="answer", "Question"="answer". You can now …`."""
    _, *parts = text.split(PAIR)
    for number, part in enumerate(parts, 1):
        stop = part.rfind('", "') if number < len(parts) else part.rfind('"')
        if number == len(parts) and (at := part.find(GOES_ON[0])) >= 0:
            stop = at
        answer = part if stop < 0 else part[:stop]
        yield answer.replace(GOES_ON[1], "\n").strip()


def _tagged(text: str, tag: str) -> Iterator[str]:
    opening, closing = f"<{tag}>", f"</{tag}>"
    stop = 0
    while (at := text.find(opening, stop)) >= 0:
        start = at + len(opening)
        end = text.find(closing, start)
        stop = len(text) if end < 0 else end
        yield text[start:stop].strip()


def _without_questions(text: str) -> Iterator[str]:
    """The lines of a text, or of `Q: …` and `A: …` only what is answered."""
    lines = text.split("\n")
    if not any(map(ASKED.match, lines)):
        yield text
        return
    for line in lines:
        if not ASKED.match(line):
            answered = ANSWERED.match(line)
            yield line[answered.end() :] if answered else line

"""The user's words in tool results: answers to questions, and reasons of rejected calls.

The text of a result is written by a tool, and so by whoever wrote the page, the file or the server
behind it; a tool also decides whether its result is an error. So neither can show that the user
speaks. This is decided by what a tool cannot write:

    origin                                             the words are
    the mark of an adapter, or of the program itself   as it says: the user's, or nobody's
    (`BY_USER`)
    the reason in an answer to a request for approval  the user's
    (OpenAI's item, the AI SDK's parts)
    a question tool of a host or framework, by its     the user's
    exact name (`questions.KNOWN`)
    a tool that is named like one                      a claim
    the wording of a rejection, in a failed call or    a claim
    in a dialect that does not mark failed calls
    the wording of a rejection, in a call that the     a claim, which is unlikely
    dialect says to have succeeded
    everything else                                    nobody's

A claim is kept like words of the user, after what the user typed. It is never called the user's,
never part of the minimum size, and never pushes out what the user typed. Hosts that record who
rejected a call are read by `hosts`; `docs/hosts.md` has what each of them records.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from context_compression.conversation.labels import BY_USER
from context_compression.conversation.messages import (
    Block,
    Message,
    Opaque,
    Text,
    ToolResult,
    as_object,
    is_array,
    is_object,
)

SAYS = r"(?:reasons?|(?:the user )?said|says?|feedback|comments?|message|notes?|instructions?)"
DID = (
    r"(?:rejected|denied|declined|refused|cancell?ed|stopped|interrupted|aborted|blocked|disallowed"
    r"|disapproved|vetoed|did not (?:approve|allow|permit|accept)|didn't (?:approve|allow|accept)"
    r"|does not want|doesn't want|chose not to|not approved|not allowed|not permitted)"
)
WHAT = (
    r"(?:tool|call|use|execution|operation|action|permission|command|edit|change|request|function"
    r"|plan|write|approval)"
)
WHO = r"(?:(?:human|end)[ -])?(?:user|human|operator|reviewer|approver|person)"
END = r"[ \t]{0,4}[:：][\s\"'“]{0,8}"
IN_OTHER_LANGUAGES = (
    r"(?:[^\W\d_]{1,3}[ '’]){0,2}(?:benutzer|nutzer|anwender|utilisateur|usuario|usuário|utente"
    r"|пользовател|користувач|用户|使用者|ユーザー|사용자)[^\n:：]{0,120}?(?:abgelehnt|verweigert"
    r"|abgebrochen|refusé|rejeté|annulé|rechaz|deneg|cancel|rejeit|recus|negou|rifiutat|negat"
    r"|annullat|отклон|отказ|отмен|запрет|відхил|拒绝|拒絕|取消|否决|拒否|却下|거부|거절|취소)"
    rf"[^\n:：]{{0,120}}{END}"
)
"""The same as `REJECTED`, as agents' own loops word it in other languages: who, that it was
rejected, and a colon."""
REJECTED = re.compile(
    r"\s{0,20}[\[(*]{0,3}(?:error: ?)?(?:"
    rf"(?:the )?{WHO} (?:has )?{DID}\b(?=[^\n]{{0,200}}?\b{WHAT}s?\b)[^\n:：]{{0,400}}?{SAYS}"
    rf"[^\n:：]{{0,40}}{END}"
    rf"|(?:the )?{WHO} (?:has )?{DID}"
    rf"(?: (?:to )?(?:the|this|that|your|run|execute|permission)){{0,6}}(?: {WHAT}s?){{0,6}}{END}"
    rf"|(?:the |this |your )?(?:\S{{1,60}} )?(?:{WHAT}s? ){{0,6}}"
    rf"(?:to \w{{1,20}} (?:\S{{1,60}} )?)?(?:for (?:this )?(?:\S{{1,60}} )"
    rf"(?:{WHAT} ){{0,6}})?(?:(?:was|were|is|has been|not) ){{0,4}}{DID} by (?:the |a )?{WHO}\b"
    rf"[^\n:：]{{0,200}}(?:\n\s{{0,8}}{SAYS})?{END}(?:{SAYS}{END})?"
    rf"|(?:the |this |your )?(?:{WHAT}s? ){{1,4}}(?:(?:was|were|is|has been) ){{0,4}}{DID}\b"
    rf"[^\n:：]{{0,80}}?\b{SAYS}{END}"
    rf"|the {WHO} (?:denied|approved) this operation and provided the following "
    rf"(?:feedback|context){END}"
    r"|the user doesn't want to proceed with this tool use\.[^\n]{0,400}?the user said"
    rf"{END}|{IN_OTHER_LANGUAGES})",
    re.IGNORECASE,
)
"""The beginning of a result with the reason of a rejection, up to the user's words. Claude Code,
opencode, Cline, and the wordings that agents' own loops use. It needs who or what, that it was
rejected, and a colon."""
FEEDBACK = ("<feedback>", "</feedback>")
"""These tags enclose the user's words where a tool's output may follow them (Cline)."""
AFTER = re.compile(
    r"(?<=\n)[^\S\n]*(?:Note: The user's next message|<system-reminder>|\[Request interrupted)"
)
"""What a host adds after the user's words."""
BY_HOST = re.compile(
    r"(?:timed? ?out|no (?:response|reason|approval)|policy|sandbox|not provided|none|n/a|null"
    r"|user (?:denied|rejected|did not|cancell?ed)|denied|rejected)\b[^\n]{0,60}\Z",
    re.IGNORECASE,
)
"""A reason that no user typed."""


def reason_in(text: str) -> str:
    """The user's words in a result that says that the user rejected the call; `""` if none.

    `reason_in("User rejected the tool call. Reason: never touch it")` -> `"never touch it"`
    """
    beginning = REJECTED.match(text)
    if not beginning:
        return ""
    start, (opening, closing) = beginning.end(), FEEDBACK
    if text.startswith(opening, start):
        start += len(opening)
        stop = text.find(closing, start)
        return text[start : None if stop < 0 else stop].strip()
    after = AFTER.search(text, start)
    words = text[start : after.start() if after else None].strip()
    return "" if BY_HOST.match(words) else words


WORDS_OF_NAME = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
NAMESPACE = re.compile(r".*(?:__|[./:#])", re.DOTALL)
"""What stands before the name of a tool: `mcp__server__`, `functions.`, `server/`."""
WHOM = "(?:the_)?(?:user|human|person|operator|customer|client)"
QUESTION_TOOL = re.compile(
    rf"(?:vscode_|system_|builtin_|adk_|tool_)?(?:"
    rf"(?:ask|prompt|query|question|consult|interview|elicit|confirm_with|check_with|clarify_with"
    rf"|wait_for|await|poll)_(?:question_to_|for_)?{WHOM}s?"
    rf"|(?:ask|request|get|read|collect|await|wait_for|prompt_for)_{WHOM}s?_"
    r"(?:for_)?(?:input|feedback|response|answer|reply|confirmation|approval|clarification|choice"
    r"|decision|help|assistance)"
    rf"|(?:hand_?off|escalate|defer|return_control)_to_{WHOM}"
    r"|(?:ask|request|get)_(?:for_)?(?:a_)?(?:follow_?up|clarif(?:y|ying|ication))"
    r"|ask_questions|questions?|clarif(?:y|ication)"
    rf"|(?:mcp_)?{WHOM}_(?:input|feedback|response|answer|reply|question|questions|approval|assistance"
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


LONGEST_CLAIM = 1_500
"""The most characters of a result that may be a rejection by its wording alone."""


def with_answers(messages: Sequence[Message], *, flags_errors: bool) -> list[Message]:
    """The messages, in which results and approvals know what of them the user said.

    Args:
        messages: one conversation.
        flags_errors: whether its dialect marks a result of a call that did not succeed.
    """
    asked: dict[str, str] = {}
    marked: list[Message] = []
    for message in messages:
        asked.update((call.id, call.name) for call in message.calls)
        blocks = tuple(
            _marked(block, asked, flags_errors=flags_errors)
            if isinstance(block, ToolResult | Opaque | Text)
            else block
            for block in message.blocks
        )
        same = all(map(_is, blocks, message.blocks))
        marked.append(message if same else replace(message, blocks=blocks))
    return marked


def _is(one: object, other: object) -> bool:
    return one is other


def _marked(
    block: ToolResult | Opaque | Text, asked: Mapping[str, str], *, flags_errors: bool
) -> Block:
    if isinstance(block, Text):
        by_host = as_object(block.source).get(BY_USER)
        return replace(block, by_harness=True) if by_host is False else block
    if isinstance(block, Opaque):
        said = _reason_of(block.source)
        return replace(block, said=said) if said else block
    by_host = as_object(block.source).get(BY_USER)
    if block.said or by_host is False:
        return block
    if isinstance(by_host, str):
        said = _still_in("\n".join(_texts(block)), by_host)
        return replace(block, said=said) if said else block
    tool = asked.get(block.call_id, block.name)
    reason = "\n".join(filter(None, map(reason_in, _texts(block))))
    answers = by_host or (asks_user(tool) and not block.is_error)
    said = reason or ("\n".join(filter(None, map(answer_in, _texts(block)))) if answers else "")
    if not said or by_host or is_question_tool(tool):
        return replace(block, said=said) if said else block
    if answers:
        return replace(block, said=said, claim="unmarked")
    if len(block.text) > LONGEST_CLAIM:
        return block
    unlikely = flags_errors and not block.is_error
    return replace(block, said=said, claim="unlikely" if unlikely else "unmarked")


def _still_in(text: str, words: str) -> str:
    """The words if a text has them; else those of their lines that it has, as it may be shortened.

    A text that is JSON has them with escapes.
    """

    def stands(part: str) -> bool:
        return part in text or json.dumps(part, ensure_ascii=False)[1:-1] in text

    words = words.strip()
    if stands(words):
        return words
    return "\n".join(line for line in words.splitlines() if line.strip() and stands(line.strip()))


def _texts(result: ToolResult) -> Iterable[str]:
    """The texts of a result; those of unknown parts with JSON as their JSON."""
    for part in result.content:
        if isinstance(part, Text):
            yield part.text
        elif isinstance(part, Opaque) and is_object(part.source):
            inner = part.source.get("json", part.source.get("value"))
            if inner is not None:
                yield json.dumps(inner, ensure_ascii=False, default=str)


def _reason_of(block: Any) -> str:
    """The user's words in an answer to a request for approval: OpenAI's item, the AI SDK's part."""
    match block:
        case {"type": "mcp_approval_response" | "tool-approval-response", "reason": str(reason)}:
            return reason.strip()
        case _:
            return ""

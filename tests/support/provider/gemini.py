"""What Gemini's generateContent refuses in `contents`; keys in camelCase or snake_case.

Sources: the API reference (Content, Part, FunctionCall, FunctionResponse); the guides "Function
calling" and "Thought signatures"; texts of its 400 answers, quoted below.
"""

from collections.abc import Iterator

from provider.reading import Json, Messages, blocks, under

SIGNATURE = ("thoughtSignature", "thought_signature")


def rules(messages: Messages) -> Iterator[str]:
    """Every rule of this API."""
    if messages and messages[0].get("role") != "user":
        yield "the first content is not the user's"
    for number, content in enumerate(messages):
        yield from _shape(number, content)
    yield from _pairs(messages)


def _shape(number: int, content: Json) -> Iterator[str]:
    """Role user or model; parts that are there and hold something; calls by the model alone.

    "Please use a valid role: user, model", "must include at least one parts field", "it has an
    empty text parameter". A streamed signature may come with an empty text.
    """
    role = content.get("role")
    if role not in ("user", "model"):
        yield f"content {number} has role {role!r}"
    if "content" in content or not blocks(content):
        yield f"content {number} has no parts"
    for part in blocks(content):
        signed = any(name in part for name in SIGNATURE)
        if not part or (part.get("text") == "" and not signed):
            yield f"content {number} has an empty part"
    if role != "model" and _calls(content):
        yield f"content {number} of role {role} makes calls"
    if role == "model" and _answers(content):
        yield f"content {number} of role {role} answers"


def _pairs(contents: Messages) -> Iterator[str]:
    """Calls follow the user's content, and the next content answers them, as many in that order.

    "Please ensure that function call turn comes immediately after a user turn or after a function
    response turn"; "… that the number of function response parts is equal to the number of
    function call parts". Where the conversation ends, answers may still be missing.
    """
    waiting: list[Json] = []
    for number, content in enumerate(contents):
        answers, is_last = _answers(content), number == len(contents) - 1
        if waiting and not answers:
            yield f"content {number - 1}: function calls without responses"
        elif not _is_answered(waiting, answers, open_end=is_last):
            yield f"content {number}: {len(answers)} responses for {len(waiting)} calls"
        waiting = _calls(content)
        if waiting and (number == 0 or contents[number - 1].get("role") == "model"):
            yield f"content {number}: function calls do not follow the user's content"


def _is_answered(calls: list[Json], answers: list[Json], *, open_end: bool) -> bool:
    """By name and order; by id where both have one."""
    if len(answers) > len(calls) or (len(answers) < len(calls) and not open_end):
        return False
    return all(
        call.get("name") == answer.get("name")
        and answer.get("id", call.get("id")) == call.get("id", answer.get("id"))
        for call, answer in zip(calls, answers, strict=False)
    )


def signatures(given: Messages, view: Messages) -> list[str]:
    """Function calls of the current turn that lost their signature, or have another.

    Gemini 3 checks the turn that begins with the user's last content that is no response: the
    first call of each step has to bear the `thoughtSignature` that it came with (guide "Thought
    signatures"). Steps without one come from models that do not sign.
    """
    known = [_signed(content) for content in given if _calls(content)]
    return [
        f"content {number}: its calls do not bear their signatures"
        for number, content in enumerate(view)
        if number >= _current_turn(view) and _calls(content) and _signed(content) not in known
    ]


def _current_turn(contents: Messages) -> int:
    begins = (
        number
        for number, content in enumerate(contents)
        if content.get("role") == "user"
        and any(under(p, "functionResponse", "function_response") is None for p in blocks(content))
    )
    return max(begins, default=0)


def _signed(content: Json) -> list[tuple[object, object]]:
    """Name and signature of each call of a content."""
    parts = [part for part in blocks(content) if under(part, "functionCall", "function_call")]
    names = [(under(part, "functionCall", "function_call") or {}).get("name") for part in parts]
    signed = [next((part[s] for s in SIGNATURE if s in part), None) for part in parts]
    return [*zip(names, signed, strict=True)]


def _calls(content: Json) -> list[Json]:
    found = (under(part, "functionCall", "function_call") for part in blocks(content))
    return [call for call in found if call is not None]


def _answers(content: Json) -> list[Json]:
    found = (under(part, "functionResponse", "function_response") for part in blocks(content))
    return [answer for answer in found if answer is not None]

"""What OpenAI's Responses API refuses in `input`.

Sources: the API reference "Create a model response" (input items and their parts); the guide
"Conversation state"; texts of its 400 answers, quoted below.
"""

from collections.abc import Iterator
from itertools import pairwise

from provider.reading import Json, Messages, blocks, kind, twice

OF_MODEL = {
    "reasoning", "function_call", "custom_tool_call", "web_search_call", "file_search_call",
    "computer_call", "code_interpreter_call", "image_generation_call", "local_shell_call",
    "shell_call", "apply_patch_call", "tool_search_call", "mcp_call", "mcp_list_tools",
    "mcp_approval_request", "program",
}  # fmt: skip
"""Types of the items, beside messages, that come out of the model."""
NOT_OF_MODEL = {"compaction", "mcp_approval_response"}
"""Types of other items, beside messages and outputs, that do not come out of it."""
OUTPUT = "_output"
"""How the type of a result ends; before it stands the type of the call."""
TEXTS = ("input_text", "output_text", "refusal", "text")
PARTS = {
    "user": {"input_text", "input_image", "input_file", "input_audio"},
    "system": {"input_text", "input_image", "input_file"},
    "developer": {"input_text", "input_image", "input_file"},
    "assistant": {"output_text", "refusal"},
}
"""Parts that a message of each role may hold ("Invalid value: 'input_text'. Supported …")."""


def rules(messages: Messages) -> Iterator[str]:
    """Every rule of this API."""
    yield from _ids(messages)
    yield from _shapes(messages)
    yield from _pairs(messages)
    yield from _reasoning(messages)
    yield from _asked(messages)


def _ids(items: Messages) -> Iterator[str]:
    """Item ids and call ids are used once ("Duplicate item found with id", "Duplicate call_id")."""
    ids = [x["id"] for x in items if "id" in x and kind(x) != "item_reference"]
    yield from (f"duplicate item {item_id}" for item_id in twice(ids))
    yield from (
        f"a call id is used twice: {c}" for c in twice(map(_call_id, filter(_is_call, items)))
    )
    answered = map(_call_id, filter(_is_output, items))
    yield from (f"two outputs for call {call_id}" for call_id in twice(answered))


def _shapes(items: Messages) -> Iterator[str]:
    """A message has a known role, and the parts of that role; a string is legal in all."""
    for number, item in enumerate(items):
        if not _is_message(item):
            continue
        allowed = PARTS.get(str(item.get("role")))
        if allowed is None:
            yield f"item {number} has role {item.get('role')!r}"
        if not blocks(item):
            yield f"item {number} is empty"
        if isinstance(item.get("content"), list):
            for part in blocks(item):
                if kind(part) in TEXTS and kind(part) not in (allowed or ()):
                    yield f"item {number}: {kind(part)} in a message of role {item.get('role')}"


def _pairs(items: Messages) -> Iterator[str]:
    """A call has its output behind it, an output its call in front.

    "No tool output found for function call …", "No tool call found for function call output with
    call_id …". Outputs need not follow at once.
    """
    called: dict[str, str] = {}
    for item in items:
        if _is_call(item):
            called[_call_id(item)] = kind(item)
        elif _is_output(item):
            call = called.pop(_call_id(item), "")
            if not call or not call.startswith(kind(item).removesuffix(OUTPUT)):
                yield f"no tool call found for output {_call_id(item)}"
    last = items[_last_response(items) :]
    still_open = {_call_id(item) for item in last if _is_call(item)}
    yield from (f"no tool output for call {c}" for c in called if c not in still_open)


def _last_response(items: Messages) -> int:
    """Where the calls begin that may still be answered: nothing but outputs came after them.

    What the model says between its calls is of the same response, and what it says behind them, if
    the first outputs came after that.
    """
    begins = len(items)
    while begins and _is_output(items[begins - 1]):
        begins -= 1
    called = begins < len(items)
    while begins and (
        _may_be_of_model(items[begins - 1]) or (called and _is_of_model(items[begins - 1]))
    ):
        begins -= 1
        called = called or _is_call(items[begins])
    return begins


def _reasoning(items: Messages) -> Iterator[str]:
    """A reasoning item stands before what came of it ("… without its required following item").

    An item that only OpenAI has, or one of a new type, may have come of it.
    """
    for number, item in enumerate(items):
        led_to = (i for i in items[number + 1 : number + 2] if kind(i) not in NOT_OF_MODEL)
        follows = any(_is_of_model(i) or _may_be_of_model(i) for i in led_to)
        if kind(item) == "reasoning" and not follows:
            yield f"reasoning {item.get('id')} without its following item"


def _asked(items: Messages) -> Iterator[str]:
    """An approval names a request before it ("Approval request … not found")."""
    requests: set[object] = set()
    for item in items:
        if kind(item) == "mcp_approval_request":
            requests.add(item.get("id"))
        elif kind(item) == "mcp_approval_response":
            if item.get("approval_request_id") not in requests:
                yield f"nobody asked for {item.get('approval_request_id')}"
            requests.discard(item.get("approval_request_id"))


def separated(given: Messages, view: Messages) -> list[str]:
    """Items whose reasoning was taken away from in front of them.

    An item that the model made right after a reasoning item is refused without it, as long as the
    item bears its `id` ("… of type 'function_call' was provided without its required 'reasoning'
    item"); without an id the API takes it for the caller's own.
    """
    before = {
        item["id"]: reason
        for reason, item in pairwise(given)
        if kind(reason) == "reasoning" and item.get("id")
    }
    return [
        f"{item['id']} without its reasoning {before[item['id']].get('id')}"
        for number, item in enumerate(view)
        if item.get("id") in before and (number == 0 or view[number - 1] != before[item["id"]])
    ]


def _is_message(item: Json) -> bool:
    return kind(item) in ("", "message")


def _is_of_model(item: Json) -> bool:
    return kind(item) in OF_MODEL or (_is_message(item) and item.get("role") == "assistant")


def _may_be_of_model(item: Json) -> bool:
    """Whether it is no message and no output: an item of a type that is not known here may be."""
    return not _is_message(item) and not _is_output(item)


def _is_call(item: Json) -> bool:
    """Whether the caller answers it; what OpenAI runs itself has no `call_id`."""
    return bool(item.get("call_id")) and not kind(item).endswith(OUTPUT)


def _is_output(item: Json) -> bool:
    return bool(item.get("call_id")) and kind(item).endswith(OUTPUT)


def _call_id(item: Json) -> str:
    return str(item.get("call_id"))

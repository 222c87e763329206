"""The labels of quotes, which name the author of a text or the call it belongs to."""

from context_compression.conversation.authors import holds_user_words, is_host_note
from context_compression.conversation.labels import no_speaker
from context_compression.conversation.messages import (
    Block,
    Message,
    Opaque,
    Text,
    ToolCall,
    ToolResult,
)
from context_compression.planning.selection import ref_of_full
from context_compression.strategies.quoting.calls import call_of, without_line_breaks
from context_compression.strategies.quoting.outcomes import UNDONE
from context_compression.strategies.quoting.quoting import Quoting


def label(
    quoting: Quoting,
    message: Message,
    block: Block,
    key: str,
    above: str | None,
    *,
    begins: bool = False,
    whole: bool = False,
    ended: str = "",
) -> str:
    """The label of a quote: `User`, `Bash`, `Edit: a.py; old_string`, `Result of Bash: ls; ref …`.

    The label of a call that failed or returned nothing shows that: `Bash; exit 1`. That of an edit
    that was taken back says so: `Edit: a.py; undone later; new_string`.

    Args:
        quoting: the `Quoting` of the conversation.
        message: the quoted message.
        block: the quoted block.
        key: which text of a call is quoted.
        above: the id of the call that the line above names, which is not named again.
        begins: whether the quote includes the beginning of the text.
        whole: whether the quote is the whole text; then the label of a result needs no ref.
        ended: how the call ended, if its result is not quoted. The caller adds it to the call's
            line; other texts of the call have it in their label.
    """
    is_named = above is not None and above == call_of(block)
    match block:
        case ToolCall():
            outcome = _outcome_of(quoting, block, key, ended)
            return _label_of_call(quoting, block, key, outcome, is_named=is_named, begins=begins)
        case ToolResult():
            return _label_of_result(quoting, block, is_named=is_named, whole=whole)
        case Opaque(said=said) if said:
            return "User"
        case Text(text=text) if message.role == "user" and not holds_user_words(text):
            return "Host" if is_host_note(text) else "Earlier note"
        case _:
            return message.role.capitalize()


def _label_of_call(
    quoting: Quoting, block: ToolCall, key: str, outcome: str, *, is_named: bool, begins: bool
) -> str:
    call = quoting.calls[block.id]
    tool = no_speaker(without_line_breaks(block.name))
    if key == "line":
        return (tool if call.has_topic else no_speaker(call.label)) + outcome
    if len(call.long) == 1 and not call.line:
        return tool + outcome
    name, text = call.long[int(key)]
    if is_named:
        return no_speaker(name)
    about = call.label.removeprefix(f"{block.name}: ").partition("…")[0]
    says_so = begins and text.lstrip().startswith(about)
    return f"{tool if says_so else no_speaker(call.label)}; {name}{outcome}"


def _outcome_of(quoting: Quoting, call: ToolCall, key: str, ended: str) -> str:
    """The end of a call's label: how it ended, and whether it was taken back."""
    if ended:
        outcome = "" if key == "line" else f"; {ended}"
    else:
        outcome = quoting.outcomes[call.id].label if call.id in quoting.outcomes else ""
    return f"{outcome}; {UNDONE}" if call.id in quoting.plan.outdated.undone else outcome


def _label_of_result(quoting: Quoting, block: ToolResult, *, is_named: bool, whole: bool) -> str:
    ref = "" if whole else f"; ref {ref_of_full(block.text, quoting.plan.archive)}"
    answers = block.said and not block.claim
    details = f"{'; the user said' if answers else ''}{ref}"
    if is_named:
        return f"Result{details}"
    call = quoting.calls.get(block.call_id)
    return f"Result of {call.label if call else 'a tool'}{details}"

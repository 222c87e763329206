"""The rules of providers for conversations, and the repair of conversations that break them.

All providers share these rules. Each tool call has exactly one result, directly after the turn that
makes the call. Each result answers a call of the turn directly before it. Call ids are unique. The
call and the result of a server tool are never separated. Only the assistant has reasoning. No
message is empty. `ProviderRules` holds the rules in which providers differ.

Neighbouring assistant messages are one turn: the results of their calls follow the last of them. A
conversation is valid if there is nothing to repair.

    repairs.py   repairs of messages: empty texts, wrong roles, lone reasoning, item ids,
                 neighbouring roles
    pairing.py   `Pairing`: pairs each tool call with exactly one result, turn by turn; late ones
                 are moved
    growing.py   a conversation that grows from request to request, of which only the end is read
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

from context_compression.conversation.formats.parts import ProviderRules
from context_compression.conversation.messages import COMPRESSED, Message, user
from context_compression.conversation.validity.pairing import (
    NO_RESULT,
    ORPHAN,
    Pairing,
    with_late_results,
)
from context_compression.conversation.validity.repairs import (
    NOTHING,
    Before,
    drop_lone_reasoning,
    join_all,
    name_items_once,
    one_of,
    with_complete_units,
)

__all__ = [
    "NO_RESULT", "NO_START", "ORPHAN", "Repaired", "one_of", "problems", "repair",
]  # fmt: skip

NO_START = f"{COMPRESSED} The start of this conversation is not part of it."
PASSES = 3
"""How many passes follow a repair at most; one is enough unless several rules are broken."""
NO_HALVES: Mapping[int, Message] = MappingProxyType({})


@dataclass(frozen=True)
class Repaired:
    """A valid conversation, the origin of each message, and the repairs.

    Attributes:
        messages: the valid conversation.
        origins: for each message its index in the input, or `None` for a message that was added.
        repairs: a line in plain words for each repair.
    """

    messages: tuple[Message, ...]
    origins: tuple[int | None, ...]
    repairs: tuple[str, ...]


def problems(messages: Sequence[Message], rules: ProviderRules) -> tuple[str, ...]:
    """The problems a provider would refuse, a line in plain words for each.

    A valid conversation has none.
    """
    return repair(messages, rules).repairs


def repair(
    messages: Sequence[Message],
    rules: ProviderRules,
    without_halves: Mapping[int, Message] = NO_HALVES,
    before: Before = NOTHING,
    *,
    at_end: bool = True,
) -> Repaired:
    """Repair a conversation so that a provider accepts it; valid messages stay the same objects.

    Args:
        messages: the conversation.
        rules: the rules of the provider.
        without_halves: replacements for messages with a lone surrogate, by index.
        before: of the conversation, if `messages` continue a part that is valid already. All
            indices go on from it.
        at_end: whether the conversation ends here, so that calls may still be answered; else the
            assistant goes on.
    """
    result = _repaired(messages, rules, without_halves, before, at_end=at_end)
    for _ in range(PASSES if result.repairs else 0):
        next_pass = _repaired(
            result.messages, rules, NO_HALVES, replace(before, messages=0), at_end=at_end
        )
        if not next_pass.repairs:
            break
        origins = tuple(None if at is None else result.origins[at] for at in next_pass.origins)
        result = Repaired(next_pass.messages, origins, (*result.repairs, *next_pass.repairs))
    return result


def _repaired(
    messages: Sequence[Message],
    rules: ProviderRules,
    without_halves: Mapping[int, Message],
    before: Before,
    *,
    at_end: bool,
) -> Repaired:
    """One pass of repair; a second may be needed because moved blocks may break another rule."""
    pairing = Pairing(rules, before)
    for index in sorted(without_halves):
        at = before.messages + index
        pairing.repairs.append(f"message {at} held half of a character: U+FFFD stands for it")
    unbroken = [without_halves.get(index, message) for index, message in enumerate(messages)]
    complete = with_complete_units(unbroken, pairing.repairs, before)
    for index, message in with_late_results([*complete], rules, pairing.repairs):
        pairing.add(index, message)
    pairing.close(at_end=at_end)
    kept, origins, repairs = pairing.messages, pairing.origins, pairing.repairs
    if renamed := pairing.renamed:  # a host that numbers calls per prompt repeats all its ids
        more = f" and {len(renamed) - 2} more" if len(renamed) > 2 else ""
        repairs.append(f"call ids used before were renamed: {', '.join(renamed[:2])}{more}")
    if rules.reasoning_apart:
        name_items_once(kept, origins, repairs, before)
        drop_lone_reasoning(kept, origins, repairs)
    first = next((i for i, m in enumerate(kept) if m.role not in ("system", "developer")), None)
    begins = rules.user_first and not before.is_there
    if begins and first is not None and kept[first].role != "user":
        kept.insert(first, user(NO_START))
        origins.insert(first, None)
        repairs.append("the conversation did not begin with the user: a note was put first")
    if rules.join == "all":
        join_all(kept, origins, repairs)
    return Repaired(tuple(kept), tuple(origins), tuple(repairs))

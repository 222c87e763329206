"""What providers accept, and the repair of conversations that they would refuse.

All providers share these rules. A tool call is answered exactly once, behind it, before anything
else is said. A result answers a call just before it. Call ids are unique. The call and the result
of a server tool come together. Only the assistant thinks. No message is empty. `ProviderRules` says
in what providers differ.

Neighbouring messages of the assistant's are one turn: their calls are answered behind the last. A
conversation is valid when there is nothing to repair.

    contents.py   within one message: empty texts, blocks of the wrong role
    pairing.py    calls and results, turn by turn
    units.py      calls that the provider ran itself, and their results
    joining.py    neighbours of one role, joined
    items.py      ids and reasoning of OpenAI Responses
    new_ids.py    another id for a call whose id was used before
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from context_compression.conversation.messages import COMPRESSED, Message, user
from context_compression.conversation.provider_rules import ProviderRules
from context_compression.conversation.validity.items import drop_lone_reasoning, name_items_once
from context_compression.conversation.validity.joining import join_all, one_of
from context_compression.conversation.validity.pairing import NO_RESULT, ORPHAN, Pairing
from context_compression.conversation.validity.units import with_complete_units

__all__ = [
    "NO_RESULT",
    "NO_START",
    "ORPHAN",
    "Repaired",
    "one_of",
    "problems",
    "repair",
]

NO_START = f"{COMPRESSED} The start of this conversation is not part of it."
PASSES = 3
"""Further passes after a repair, at most: one is enough unless input is broken in several ways."""
NO_HALVES: Mapping[int, Message] = MappingProxyType({})


@dataclass(frozen=True)
class Repaired:
    """A valid conversation, where each message came from, and what was repaired.

    `origins[i]` is the index in the input of `messages[i]`, or `None` for one that was added.
    """

    messages: tuple[Message, ...]
    origins: tuple[int | None, ...]
    repairs: tuple[str, ...]


def problems(messages: Sequence[Message], rules: ProviderRules) -> tuple[str, ...]:
    """What a provider would refuse, a line in plain words for each; empty for a valid conversation.

    Args:
        messages: the conversation.
        rules: those of the provider.
    """
    return repair(messages, rules).repairs


def repair(
    messages: Sequence[Message],
    rules: ProviderRules,
    without_halves: Mapping[int, Message] = NO_HALVES,
) -> Repaired:
    """Repair what a provider would refuse; valid messages go through as the same objects.

    Args:
        messages: the conversation.
        rules: what the provider refuses.
        without_halves: by index, replacements for messages that hold half of a character.
    """
    result = _repaired(messages, rules, without_halves)
    for _ in range(PASSES if result.repairs else 0):
        next_pass = _repaired(result.messages, rules, NO_HALVES)
        if not next_pass.repairs:
            break
        origins = tuple(None if at is None else result.origins[at] for at in next_pass.origins)
        result = Repaired(next_pass.messages, origins, (*result.repairs, *next_pass.repairs))
    return result


def _repaired(
    messages: Sequence[Message], rules: ProviderRules, without_halves: Mapping[int, Message]
) -> Repaired:
    """One pass; moving blocks may uncover what else is broken."""
    pairing = Pairing(rules)
    for index in sorted(without_halves):
        pairing.repairs.append(f"message {index} held half of a character: U+FFFD stands for it")
    unbroken = [without_halves.get(index, message) for index, message in enumerate(messages)]
    for index, message in with_complete_units(unbroken, pairing.repairs):
        pairing.add(index, message)
    pairing.close(at_end=True)
    kept, origins, repairs = pairing.messages, pairing.origins, pairing.repairs
    if renamed := pairing.renamed:  # hosts that number calls per prompt repeat all ids
        more = f" and {len(renamed) - 2} more" if len(renamed) > 2 else ""
        repairs.append(f"call ids used before were renamed: {', '.join(renamed[:2])}{more}")
    if rules.reasoning_apart:
        name_items_once(kept, origins, repairs)
        drop_lone_reasoning(kept, origins, repairs)
    first = next((i for i, m in enumerate(kept) if m.role not in ("system", "developer")), None)
    if rules.user_first and first is not None and kept[first].role != "user":
        kept.insert(first, user(NO_START))
        origins.insert(first, None)
        repairs.append("the conversation did not begin with the user: a note was put first")
    if rules.join == "all":
        join_all(kept, origins, repairs)
    return Repaired(tuple(kept), tuple(origins), tuple(repairs))

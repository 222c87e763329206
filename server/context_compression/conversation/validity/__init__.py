"""What providers accept, and the repair of what they would not.

Rules that all share: a tool call is answered exactly once, behind it, before anything else is said;
a result answers a call just before it; call ids are unique; the halves of a server tool come
together; only the assistant thinks; no message is empty. `ProviderRules` says in what they differ.
Neighbouring messages of the assistant's are one turn: their calls are answered behind the last. A
conversation is valid when there is nothing to repair.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from context_compression.conversation.messages import COMPRESSED, Message, user
from context_compression.conversation.provider_rules import ProviderRules
from context_compression.conversation.validity.items import drop_lone_reasoning, name_items_once
from context_compression.conversation.validity.joining import join_all, one_of
from context_compression.conversation.validity.mending import NO_RESULT, ORPHAN, Mender
from context_compression.conversation.validity.units import with_whole_units

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
"""Times what was mended is looked at again: one is enough but for input broken in several ways."""
NO_HALVES: Mapping[int, Message] = MappingProxyType({})


@dataclass(frozen=True)
class Repaired:
    """A valid conversation, where each message came from, and what was mended.

    `origins[i]` is the index in the input of `messages[i]`, or `None` for one that was added.
    """

    messages: tuple[Message, ...]
    origins: tuple[int | None, ...]
    repairs: tuple[str, ...]


def problems(messages: Sequence[Message], rules: ProviderRules) -> tuple[str, ...]:
    """What a provider would refuse, in plain words; empty for a valid conversation."""
    return repair(messages, rules).repairs


def repair(
    messages: Sequence[Message],
    rules: ProviderRules,
    without_halves: Mapping[int, Message] = NO_HALVES,
) -> Repaired:
    """Mend what a provider would refuse; valid messages go through as the same objects.

    Args:
        messages: the conversation.
        rules: what the provider refuses.
        without_halves: by index, what stands for messages that hold half of a character.
    """
    done = _repaired(messages, rules, without_halves)
    for _ in range(PASSES if done.repairs else 0):
        again = _repaired(done.messages, rules, NO_HALVES)
        if not again.repairs:
            break
        origins = tuple(None if at is None else done.origins[at] for at in again.origins)
        done = Repaired(again.messages, origins, (*done.repairs, *again.repairs))
    return done


def _repaired(
    messages: Sequence[Message], rules: ProviderRules, without_halves: Mapping[int, Message]
) -> Repaired:
    """One pass; what it moves may show what else is broken."""
    mender = Mender(rules)
    for index in sorted(without_halves):
        mender.repairs.append(f"message {index} held half of a character: U+FFFD stands for it")
    whole = [without_halves.get(index, message) for index, message in enumerate(messages)]
    for index, message in with_whole_units(whole, mender.repairs):
        mender.add(index, message)
    mender.close(at_end=True)
    kept, origins, repairs = mender.messages, mender.origins, mender.repairs
    if renamed := mender.renamed:  # hosts that number calls anew for each prompt repeat all of them
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

"""The measurements of `speed.py`, each in a process of its own: seconds by name, as JSON.

    python benchmarks/timings.py KIND CLOCK CONVERSATION TARGET [PEER]

KIND is `library`, `growth`, `memory`, `session`, `search` or `peer`, TARGET a number of tokens.
CLOCK is `wall`, or `cpu` for CPU time, on a machine that other work keeps busy. The processes start
with nothing counted and no tokenizer loaded.
"""

import json
import re
import resource
import sys
import tempfile
import time
import tracemalloc
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from itertools import islice
from pathlib import Path
from statistics import median
from typing import Any

from recordings import Messages

TURN_TOKENS, TURNS = 5_000, 4
PART_TOKENS = 200_000
NEVER_DUE = 100_000_000  # tokens of a window that no conversation fills
RESTORED = SEARCHES = 20
CLOCKS = {"wall": time.perf_counter, "cpu": time.process_time}
clock = CLOCKS["wall"]


def library(text: str, target: int) -> dict[str, float]:
    """The library's functions, without a store."""
    from context_compression import BudgetTooSmall, compress, count_tokens

    def refused() -> None:
        """Plan an impossible compression: the minimum size is computed, then it is refused."""
        try:
            compress(messages, target_tokens=1)
        except BudgetTooSmall:
            return
        raise AssertionError("a view of one token")

    messages = json.loads(text)
    found = {"compress, cold": timed(partial(compress, messages, target_tokens=target))}
    messages = fresh(text, 1)
    found["count"] = timed(partial(count_tokens, messages))
    found["count again"] = timed(partial(count_tokens, messages))
    found["plan"] = timed(refused)
    messages = fresh(text, 2)
    found["compress, warm"] = timed(partial(compress, messages, target_tokens=target))
    found["compress again"] = timed(partial(compress, messages, target_tokens=target))
    return found


def growth(text: str, target: int) -> dict[str, float]:
    """The time for the complete text, in multiples of that for its parts of 200,000 tokens."""
    from lengths import parts

    from context_compression import compress, count_tokens

    *sizes, _ = [len(part) for part in parts(json.loads(text), PART_TOKENS)]
    works: dict[str, Callable[[Messages, int], object]] = {
        "count": lambda messages, tokens: count_tokens(messages),
        "compress": lambda messages, tokens: compress(messages, target_tokens=tokens // 4),
    }
    count_tokens([{"role": "user", "content": "Load the tokenizer."}])
    found: dict[str, float] = {}
    for mark, (name, work) in enumerate(works.items(), 1):
        rest = iter(fresh(text, -mark))
        pieces = [[*islice(rest, size)] for size in sizes]
        apart = sum(timed(partial(work, piece, PART_TOKENS)) for piece in pieces)
        whole = fresh(text, mark)[: sum(sizes)]
        found[f"growth, {name}"] = timed(partial(work, whole, PART_TOKENS * len(sizes))) / apart
    return found


def memory(text: str, target: int) -> dict[str, float]:
    """Peak memory of a compression beyond the loaded tokenizer, in sizes of the conversation."""
    from context_compression import compress, count_tokens

    messages = fresh(text, 1)
    size = deep_size(messages)
    count_tokens([{"role": "user", "content": "Load the tokenizer."}])
    before = forget_peak()
    compress(messages, target_tokens=target)
    resident = peak() - before
    messages = fresh(text, 2)
    tracemalloc.start()
    compress(messages, target_tokens=target)
    allocated = tracemalloc.get_traced_memory()[1]
    return {"memory, allocated": allocated / size, "memory, resident": resident / size}


def session(text: str, target: int) -> dict[str, float]:
    """A session on disk that grows by turns of 5,000 tokens, and calls to it after that."""
    from lengths import parts

    from context_compression import Session

    turns = [*parts(json.loads(text), TURN_TOKENS)]
    turns, earlier = turns[-TURNS:], [message for turn in turns[:-TURNS] for message in turn]
    with tempfile.TemporaryDirectory() as folder:
        whole = Session(folder, "whole", settings={"token_budget": NEVER_DUE})
        whole.record(*earlier)
        whole.prepare()
        recorded, prepared, again = list[float](), list[float](), list[float]()
        for turn in turns:
            recorded.append(timed(partial(whole.record, *turn)))
            prepared.append(timed(whole.prepare))
        fitted, history = list[float](), [*earlier]
        followed = Session(folder, "followed", settings={"token_budget": NEVER_DUE})
        followed.fit(history)
        for turn in turns:
            history += turn
            fitted.append(timed(partial(followed.fit, history)))
        smaller = Session(folder, "smaller", settings={"token_budget": NEVER_DUE})
        smaller.record(*earlier)
        first = timed(partial(smaller.compress, target_tokens=target))
        for turn in turns:
            smaller.record(*turn)
            again.append(timed(partial(smaller.compress, target_tokens=target)))
        status = timed(smaller.status)
        refs = [*smaller.status().refs]
        some = refs[:: max(1, len(refs) // RESTORED)]
        restored = [timed(partial(smaller.restore, ref)) for ref in some]
    return {
        "a turn more: record": median(recorded),
        "a turn more: prepare": median(prepared),
        "a turn more: fit": median(fitted),
        "compress, to disk": first,
        "compress after a turn": median(again),
        "status": status,
        "restore": median(restored),
    }


def searching(text: str, target: int) -> dict[str, float]:
    """Searches over a session's archive: for names in it, each with two words of its line."""
    from texts import identifiers_in

    from context_compression import Session

    with tempfile.TemporaryDirectory() as folder:
        session = Session(folder, "searched", settings={"token_budget": NEVER_DUE})
        session.record(*json.loads(text))
        session.compress(target_tokens=target)
        queries: list[str] = []
        refs = [*session.status().refs]
        for ref in refs[:: max(1, len(refs) // SEARCHES)]:
            lines = session.restore(ref, note=False).split("\n")
            named = ((line, next(identifiers_in(line), None)) for line in lines)
            line, found = next(((line, name) for line, name in named if name), ("", None))
            if found:
                queries.append(" ".join([found[0], *re.findall(r"[a-z]{4,}", line)[:2]]))
        first = timed(partial(session.store.search, queries[0]))
        later = [timed(partial(session.store.search, query)) for query in queries]
    return {"search, first": first, "search": median(later)}


def peer(text: str, target: int, name: str) -> dict[str, float]:
    """Another way to shorten it, without its import and the conversion of messages."""
    from peers import PEERS

    made = PEERS[name](None)
    found: dict[str, float] = {}
    for mark, when in enumerate(("cold", "warm")):
        messages = made.write(fresh(text, mark))
        found[when] = timed(partial(made.compress, messages, target))
    return found


KINDS: dict[str, Callable[..., dict[str, float]]] = {
    "library": library,
    "growth": growth,
    "memory": memory,
    "session": session,
    "search": searching,
    "peer": peer,
}


def fresh(text: str, mark: int) -> Messages:
    """The conversation in other words for every mark, so that no part of it is cached."""
    return json.loads(text.replace("the", f"th{chr(ord('e') + mark)}"))


def timed(work: Callable[[], object]) -> float:
    start = clock()
    work()
    return clock() - start


def deep_size(value: Any) -> int:
    """Bytes of parsed JSON in memory."""
    from context_compression.conversation import is_array, is_object

    size = sys.getsizeof(value)
    if is_object(value):
        return size + sum(map(deep_size, value.values()))
    if is_array(value):
        return size + sum(map(deep_size, value))
    return size


def forget_peak() -> int:
    """Reset the peak of this process's memory (on Linux); returns the current bytes."""
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    return peak()


def peak() -> int:
    """The peak memory of this process in bytes."""
    try:
        lines = Path("/proc/self/status").read_text(encoding="ascii").split("\n")
        return next(1024 * int(line.split()[1]) for line in lines if line.startswith("VmHWM"))
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def main(arguments: Sequence[str]) -> None:
    global clock
    what, which, path, target, *rest = arguments
    clock = CLOCKS[which]
    print(json.dumps(KINDS[what](Path(path).read_text(encoding="utf-8"), int(target), *rest)))


if __name__ == "__main__":
    main(sys.argv[1:])

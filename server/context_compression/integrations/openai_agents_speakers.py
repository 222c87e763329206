"""The reasons with which calls were rejected in runs of the OpenAI Agents SDK.

An item has only the output that the model is shown. The run's context has who rejected what, and a
tool is given that context before each call of the model. `passing` marks items with it.
"""

# The framework is an extra, and not installed where this is checked:
# pyright: reportMissingImports=false, reportUnknownVariableType=false
# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false
# pyright: reportUnknownParameterType=false

from collections.abc import Sequence
from threading import Lock
from typing import Any
from weakref import WeakSet

from context_compression.conversation.cache_marks import unmarked
from context_compression.conversation.formats.responses import CALLS
from context_compression.conversation.messages import is_by_model, is_object
from context_compression.extras import extra
from context_compression.integrations.speakers import Spoken
from context_compression.integrations.translation import Translation

with extra("openai-agents"):
    from agents import RunContextWrapper


class Rejections:
    """The reasons of rejected calls, as far as runs have told them."""

    def __init__(self) -> None:
        self._runs: WeakSet[RunContextWrapper[Any]] = WeakSet()
        self._reasons = Spoken()
        self._lock = Lock()

    def listen(self, run: RunContextWrapper[Any], agent: Any) -> bool:
        """Whether our tool is offered, which is always so; the SDK asks that in each turn."""
        with self._lock:
            self._runs.add(run)
        return True

    def passing(self, items: Sequence[Any], context: Any) -> Translation[Any]:
        """Marks the items of a request whose output is the reason of a rejection.

        Args:
            items: of the request.
            context: what the program gave to the run.
        """
        self._ask(items, context)
        return Translation(self._marked, unmarked)

    def _ask(self, items: Sequence[Any], context: Any) -> None:
        """Ask the runs with this context for the reasons of the newest outputs."""
        names = {item.get("call_id"): item.get("name") for item in items if _is_call(item)}
        start = len(items)
        while start and is_object(items[start - 1]) and not is_by_model(items[start - 1]):
            start -= 1
        with self._lock:
            runs = [run for run in self._runs if run.context is context]
        for item in items[start:]:
            id = item.get("call_id")
            if id is None or id not in names or id in self._reasons:
                continue
            asked = (run.get_rejection_message(names[id] or "", id) for run in runs)
            if reason := next(filter(None, asked), None):
                self._reasons.note(id, reason)

    def _marked(self, item: Any) -> Any:
        if not is_object(item):
            return None
        answers = str(item.get("type")).endswith("_output")
        answers = answers and str(item.get("call_id")) in self._reasons
        return self._reasons.marked(item, item["call_id"]) if answers else item


def _is_call(item: Any) -> bool:
    return is_object(item) and item.get("type") in CALLS

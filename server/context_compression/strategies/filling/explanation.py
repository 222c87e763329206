"""How each message that is not shown in full is shown: `quoted (2 of 9 parts, a failure)`."""

from collections import Counter
from collections.abc import Iterable, Mapping

from context_compression.conversation.messages import Message
from context_compression.display.plurals import how_many
from context_compression.planning.pieces import DUE, FAILURE, REASON, Pool
from context_compression.strategies.filling.kept import KeptMessages
from context_compression.strategies.filling.rules import Rule
from context_compression.strategies.forms import Form

NAMES_OF_FORMS: Mapping[Form, str] = {
    Form.RESULTS: "preview", Form.PREVIEW: "preview", Form.CLIPPED: "clipped",
    Form.SKELETON: "skeleton", Form.LEAST: "shortened", Form.ENDING: "shortened",
    Form.UNREAD: "shortened",
}  # fmt: skip
"""The names of forms in the report."""
NAMES_OF_SIGNS: Mapping[int, str] = {FAILURE: "a failure", REASON: "a decision", DUE: "a task"}
"""The names of signs in the report, for the parts that are shown."""


def explanation(
    base: KeptMessages,
    view: Mapping[int, Message],
    pool: Pool,
    chosen: Iterable[int],
    rules: Iterable[Rule],
) -> dict[int, str]:
    """By index, for each message that is not shown in full: its form, its parts and their signs.

    Args:
        base: the kept messages.
        view: the messages of the view, by index.
        pool: the pieces that competed.
        chosen: the pieces that are shown.
        rules: the constraints that are quoted.
    """
    parts, shown = Counter[int](), Counter[int]()
    contents: dict[int, list[str]] = {}
    for number, source in enumerate(pool.sources):
        parts[source.message] += pool.count(number)
    for rule in rules:
        contents[pool.sources[rule.place[0]].message] = ["a rule"]
    for piece in chosen:
        index = pool.sources[pool.source_of[piece]].message
        shown[index] += 1
        if signs := pool.signs[piece]:
            names = (name for sign, name in NAMES_OF_SIGNS.items() if signs & sign)
            contents.setdefault(index, []).extend(names)
    why: dict[int, str] = {}
    for index in range(base.plan.head, len(base.plan.messages)):
        form = base.kept.get(index)
        if form is Form.FULL:
            continue
        quoted = "quoted" if shown[index] or index in contents else "left out"
        of = [f"{shown[index]} of {parts[index]} parts"] if parts[index] else []
        missing = base.forms.pictures.missing(index, view[index]) if form else 0
        without = [f"{how_many(missing, 'picture')} left out"] if missing else []
        details = ", ".join([*of, *dict.fromkeys(contents.get(index, ())), *without])
        name = NAMES_OF_FORMS[form] if form else quoted
        why[index] = f"{name} ({details})" if details else name
    return why

"""Writes the tables of settings and of other tools' names into the pages, from the code itself.

    python docs/settings.py

A test holds the pages to it.
"""

import json
import re
from collections.abc import Collection
from pathlib import Path
from typing import Any

from context_compression.conversation.messages import is_array
from context_compression.setting_names import ALIASES, FOREIGN, NOT_TAKEN, camel_case, variable_of
from context_compression.settings import GUARDED, NAMES, USUAL, Settings

DOCS = Path(__file__).parent
LISTED = 3
"""How many values of a list are shown."""


def table(names: Collection[str]) -> str:
    """A table: each of these settings with its meaning, its default and its other names."""
    rows = [
        "| setting | meaning, with its unit | default | environment | names of other tools |",
        "|---|---|---|---|---|",
    ]
    for name, field in Settings.model_fields.items():
        if name not in names:
            continue
        variable = f"`CONTEXT_COMPRESSION_{name.upper()}`"
        others = [other for other in _as_variables() if FOREIGN[other].setting == name]
        choices = ", ".join(f"`{value}`" for value in _choices(name))
        kept_out = "; not in `config.json`" * (name in GUARDED)
        cells = [
            f"`{name}`",
            f"{field.description}{f': {choices}' * bool(choices)}{kept_out}",
            _shown(field.default),
            variable,
            ", ".join(map(_written, others)),
        ]
        rows.append(f"| {' | '.join(cells)} |")
    return "\n".join(rows) + "\n"


def settings() -> str:
    """Two tables: the settings that people change, and the others."""
    return f"{table(USUAL)}\n### The others\n\n{table({*NAMES} - {*USUAL})}"


def names() -> str:
    """The table: each name of another tool, its default there, and what it sets here."""
    rows = ["| name there | default there | sets here | default here |", "|---|---|---|---|"]
    names = _as_variables()
    for name in (each for each in names if each.removeprefix("synapse_") not in {*names} - {each}):
        setting, default, _ = FOREIGN[name]
        ours = _shown(Settings.model_fields[setting].default)
        rows.append(f"| {_written(name)} | {default} | `{setting}` | {ours} |")
    return "\n".join(rows) + "\n"


def not_taken() -> str:
    """The table: each variable that sets nothing here, and what does."""
    rows = ["| variable there | here |", "|---|---|"]
    for name, instead in NOT_TAKEN.items():
        marked = re.sub(r"\w+_\w+", r"`\g<0>`", instead)
        rows.append(f"| `{variable_of(name)}` | {marked} |")
    return "\n".join(rows) + "\n"


TABLES = {
    "reference/settings.md": {"settings": settings},
    "coming-from.md": {"names": names, "not taken": not_taken},
}
"""By page, the tables in it."""


def page(name: str) -> str:
    """The page with the tables of today."""
    text = (DOCS / name).read_text(encoding="utf-8")
    for title, made in TABLES[name].items():
        begin, end = f"<!-- table: {title} -->\n", f"<!-- end of table: {title} -->\n"
        before, _, rest = text.partition(begin)
        text = f"{before}{begin}\n{made()}\n{end}{rest.partition(end)[2]}"
    return text


def _as_variables() -> list[str]:
    """The names of other tools that are understood as variables, too."""
    return [name for name in FOREIGN if name in ALIASES.values()]


def _written(name: str) -> str:
    """A name in the spelling of the tool that has it: `compaction.reserveTokens`."""
    return f"`{camel_case(name) if '.' in name else variable_of(name)}`"


def _choices(name: str) -> list[str]:
    return Settings.model_json_schema()["properties"][name].get("enum", [])


def _shown(value: Any) -> str:
    if value is None:
        return "unset"
    if is_array(value):
        words = [f"`{word}`" for word in value[:LISTED]]
        more = ", …" * (len(value) > LISTED)
        return f"{', '.join(words)}{more}" if words else "none"
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    return f"`{json.dumps(value)}`" if isinstance(value, bool) else f"`{value}`"


if __name__ == "__main__":
    for each in TABLES:
        (DOCS / each).write_text(page(each), encoding="utf-8")

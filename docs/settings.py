"""Writes the table of settings in `docs/reference/settings.md` from the settings themselves.

    python docs/settings.py

A test holds the page to it.
"""

import json
import re
from pathlib import Path
from typing import Any

from context_compression.conversation.messages import is_array
from context_compression.setting_names import ALIASES, KEYS
from context_compression.settings import GUARDED, Settings

PAGE = Path(__file__).parent / "reference" / "settings.md"
BEGIN, END = "<!-- table: settings -->\n", "<!-- end of table: settings -->\n"
LISTED = 3
"""How many values of a list are shown."""


def table() -> str:
    """The table: each setting with its meaning, its default and its other names."""
    rows = [
        "| setting | meaning, with its unit | default | environment | names of other tools |",
        "|---|---|---|---|---|",
    ]
    for name, field in Settings.model_fields.items():
        variable = f"`CONTEXT_COMPRESSION_{name.upper()}`"
        others = [_as_written(other) for other, own in (ALIASES | KEYS).items() if own == name]
        choices = ", ".join(f"`{value}`" for value in _choices(name))
        kept_out = "; not in `config.json`" * (name in GUARDED)
        cells = [
            f"`{name}`",
            f"{field.description}{f': {choices}' * bool(choices)}{kept_out}",
            _shown(field.default),
            variable,
            ", ".join(f"`{alias}`" for alias in others),
        ]
        rows.append(f"| {' | '.join(cells)} |")
    return "\n".join(rows) + "\n"


def page() -> str:
    """The page with the table of today."""
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    return f"{before}{BEGIN}\n{table()}\n{END}{rest.partition(END)[2]}"


def _choices(name: str) -> list[str]:
    return Settings.model_json_schema()["properties"][name].get("enum", [])


def _as_written(alias: str) -> str:
    """A key in the spelling of the tool that has it: `compaction.reserveTokens`."""
    return re.sub(r"_([a-z])", lambda found: found[1].upper(), alias)


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
    PAGE.write_text(page(), encoding="utf-8")

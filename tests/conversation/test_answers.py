"""Who speaks in a result is told by its origin: the question tool, the host's mark of a rejection."""

import json
from typing import Any

import pytest

from context_compression import compress
from context_compression.conversation.formats import parse
from context_compression.testing import DIALECTS

RULES = {
    "en": "Never touch the shared MySQL.",
    "de": "Fass die gemeinsame MySQL niemals an.",
    "ru": "Никогда не трогай общую базу MySQL.",
    "ja": "共有の MySQL には絶対に触らないでください。",
    "es": "Nunca toques la base MySQL compartida.",
    "zh": "绝对不要动共享的 MySQL。",
    "fr": "Ne touche jamais à la base MySQL partagée.",
    "ko": "공유 MySQL은 절대 건드리지 마세요.",
}

"""The words with which people state standing rules, in some eighty languages.

Recognition works on forms: imperatives and prohibitions, and words such as "always", "never", "from
now on", "must" and "only". `language.py` says what the tables hold.

    language.py   `Language`: the words with which one language states standing rules, and its
                  script
    germanic.py, romance.py, slavic.py, european.py, western_asian.py, indian.py,
    southeast_asian.py, east_asian.py, african.py
                         the languages
    matching.py   the rule words of all languages in the sentences of one text
"""

from context_compression.evidence.rule_words.language import Script, folded, script_of, scripts_in
from context_compression.evidence.rule_words.matching import (
    LANGUAGES,
    RuleWords,
    index_of,
    is_known_language,
)

__all__ = [
    "LANGUAGES",
    "RuleWords",
    "Script",
    "folded",
    "index_of",
    "is_known_language",
    "script_of",
    "scripts_in",
]

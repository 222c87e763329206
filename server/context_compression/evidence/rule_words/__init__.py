"""The words with which people state standing rules, in some eighty languages.

Recognition works on forms: imperatives and prohibitions, and words such as "always", "never", "from
now on", "must" and "only". `language.py` says what the tables hold.

    language.py          what is known of one language
    germanic.py, romance.py, slavic.py, european.py, western_asian.py, indian.py,
    southeast_asian.py, east_asian.py, african.py
                         the languages
    scripts.py           scripts, and the form in which texts are compared
    index.py             the words of a script, by the word with which they begin
    matching.py          searching the sentences of a text for the words
"""

from context_compression.evidence.rule_words.matching import (
    LANGUAGES,
    RuleWords,
    index_of,
    is_known_language,
)
from context_compression.evidence.rule_words.scripts import Script, folded, script_of, scripts_in

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

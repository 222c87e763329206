"""All numbers that plans and pieces depend on: lengths, and the worth of evidence.

The weights were chosen with recorded sessions; `benchmarks/tune.py` tests them again. The worth of
a piece is compared with its tokens: one unit is about one ordinary word per token.
"""

from context_compression.evidence.words import Kind, ProseKind

# Plans

MENTIONED_TOKENS = 3_000
"""The most tokens of the user's words in a message that count as used. In a longer text, single
words are hardly ever meant."""
WRITTEN_CHARS = 1_500
"""The most characters of an argument whose words count as used; a longer one is the text of a
file."""
TEXT_WITH_REF_CHARS = 400
"""A text of more characters has a ref of its own in addition to the ref of its message."""

# How texts are cut into pieces

PIECE_CHARS, LONGEST_PIECE_CHARS = 80, 400
"""The usual and the largest length of a piece, which is a line or a few short lines."""
MOST_KEPT = 50_000
"""The most pieces, and the most words, of a cutter that is kept: about a million tokens."""
KEPT_CUTTERS = 4
"""How many cutters are kept, because several conversations may take turns."""
KNOWN_SHARE = 0.5
"""The share of a conversation's characters that a cutter must have cut to be reused for it."""

# The worth of evidence

USED = 6.0
"""The factor for a word that the user, the model or a tool call mentions."""
KIND_WEIGHT: dict[Kind, float] = {
    "path": 3.0, "symbol": 2.0, "id": 1.5, "url": 1.0, "flag": 3.0, "number": 0.15625,
}  # fmt: skip
"""The worth of a word by its kind. Each is a sum of few powers of two, so that the worth of a piece
does not depend on the order of its words."""
PROSE_WEIGHT: dict[ProseKind, float] = {"name": 16.0, "term": 4.0, "pair": 2.0}
"""The same in prose, where the author of a word and the number of its messages do not count,
because all speakers use the same words."""
MANY = 3
"""In how many messages a word counts; further messages make no difference."""
ERROR_BONUS = 1.0
"""The bonus of a piece that mentions failures, which code does, too."""
FAILED_BONUS = 9.0
"""The bonus of a piece with the reason why a call failed, or with numbers of passed or failed
tests."""
REASON_BONUS = 8.0
"""The bonus of a piece in which the user or the model states a decision or its reason."""
DUE_BONUS = 30.0
"""The bonus of a piece with an open task."""
FIRST_FAILURES = 3
"""How many pieces of a failed call's result get `FAILED_BONUS`: the first that mention failures.
The hundredth error of a build is of little use."""
OUTDATED_WEIGHT = 0.125
"""The factor for evidence in a replaced text, because the file has other content now (measured on
recorded sessions: 0.1 to 0.5 keep equally much, but more misleads)."""
REPEATED_WEIGHT = 0.25
"""The factor for the worth of a sentence that other texts repeat: it tells little of any one."""
FILLER = 0.0003
"""The worth of the newest piece per token without new evidence, so that room is not left empty."""

# How pieces are compared and taken

SMALLEST_PIECE_TOKENS = 5
"""The least room in tokens for which a piece is searched."""
SIDES_TOKENS = (12.0, 6.0, 2.0)
"""What a piece costs in addition to its text when pieces are compared: with no neighbour in view,
with one, and with two. An end of the text counts as a neighbour."""
MOST_WORTH = 2_000.0
"""The worth per token above which pieces are equal, because a rank has 64 bits."""
SORTED_AT_ONCE = 1 << 14
"""How many ranks are sorted at once."""

# Clips, digests and previews

LONGEST_PREVIEW_LINE_CHARS = 300
"""The most characters of a line in a preview."""
PREVIEW_MARK_CHARS = 8
"""About how many characters the mark of a gap in a preview takes."""
CHARS_PER_TOKEN = 3.3
"""Used only to choose; chosen texts are counted exactly afterwards."""
DIGEST_ITEMS = 8
"""The most items in a section of a digest, other than requests."""
DECISION_CHARS, COMMAND_CHARS, ERROR_CHARS = 120, 100, 120
"""The most characters of a decision, a command and an error line in a digest."""
EXCHANGE_CHARS = (320, 240, 160, 130)
"""The most characters of a request with its answer in a digest; the first with which all have room,
else the last."""
LEAST_PART_CHARS = 10
"""The fewest characters of a request or answer that can tell something."""
OTHERS_SHARE = 0.3
"""The share of a digest's room for its sections other than requests."""
LATER_WEIGHT, LATER_REQUEST_WEIGHT = 0.5, 0.7
"""The factors for the worth of a part of an answer, and of a request, that does not begin where
the text does: it may lean on what is before it."""
DECIDED_WEIGHTS = 3.0, 1.5
"""The factors for the worth of a request in which the user decides something, and of an answer that
does."""
CHAR_COST = 0.1
"""What a character of a part costs, so that no sentence is added that others say as well."""
ITEM_CHARS = 20
"""What an item of a digest costs in addition to its characters when items are compared."""
DIGESTED_CHARS = 8_000
"""How many characters of a request or answer are read for a digest."""

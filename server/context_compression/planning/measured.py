"""All numbers that plans and pieces depend on: lengths, and what evidence is worth.

The weights were chosen on recorded sessions; `benchmarks/tune.py` tries them again. What a piece is
worth is compared with the tokens that it takes: one unit is about an ordinary word per token.
"""

from context_compression.evidence.numbering import ProseKind
from context_compression.evidence.words import Kind

# Plans

MENTIONED_TOKENS = 3_000
"""Tokens of the user's words in a message up to which those count as used: with a long text nobody
means each."""
WRITTEN_CHARS = 1_500
"""Characters of an argument beyond which it is a text that is written: it refers to nothing."""
TEXT_WITH_REF_CHARS = 400
"""Characters from which on a text has a ref of its own besides that of its message."""

# How texts are cut into pieces

PIECE_CHARS, LONGEST_PIECE_CHARS = 80, 400
"""About how long a piece is, a line or a few short ones; and how long at most."""
MOST_KEPT = 50_000
"""Pieces, and words, up to which a cutter is kept for the next compression: a million tokens."""
KEPT_CUTTERS = 4
"""Cutters that are kept: several conversations may take turns."""
KNOWN_SHARE = 0.5
"""Share of a conversation's characters that a cutter must have met to be the one for it."""

# What evidence is worth

USED = 6.0
"""Times which a word is worth that the user, the model or a tool call mentions."""
KIND_WEIGHT: dict[Kind, float] = {
    "path": 3.0, "symbol": 2.0, "id": 1.5, "url": 1.0, "flag": 3.0, "number": 0.15625,
}  # fmt: skip
"""What a word of a kind is worth. Each is a sum of few powers of two, so that what a piece is worth
does not depend on the order of its words."""
PROSE_WEIGHT: dict[ProseKind, float] = {"name": 16.0, "term": 4.0, "pair": 0.5}
"""The same in prose, where it makes no difference who uses a word and how often: everybody says all
of them."""
MANY = 3
"""Messages a word is seen in from which on more make no difference."""
ERROR_BONUS = 1.0
"""What a piece is worth besides that speaks of failures, as code does, too."""
FAILED_BONUS = 9.0
"""What it is worth besides where it says why a call failed, or how many tests did."""
REASON_BONUS = 8.0
"""The same for a piece in which the user or the model says what was decided, or why."""
DUE_BONUS = 30.0
"""The same for a piece that says what is still to be done."""
FIRST_FAILURES = 3
"""Pieces that say why a call failed: the first of its result that speak of failures. The hundredth
error of a build says little."""
OUTDATED_WEIGHT = 0.5
"""Times which evidence counts in what was replaced: the file says something else now."""
FILLER = 0.0003
"""What a token is worth that holds no new evidence, if it is the newest: room is not left empty."""

# How pieces are compared and taken

SMALLEST_PIECE_TOKENS = 5
"""Tokens below which it is not worth while to look for a piece that fits."""
SIDES_TOKENS = (12.0, 6.0, 2.0)
"""What a piece costs besides its text when pieces are compared: alone, with one neighbour that is
in view (or an end of the text), between two."""
MOST_WORTH = 2_000.0
"""Worth per token above which pieces are equal: a rank has 64 bits."""
SORTED_AT_ONCE = 1 << 14
"""Ranks that are sorted at once."""

# Clips, digests and previews

LONGEST_PREVIEW_LINE_CHARS = 300
"""Characters of a line in a preview."""
PREVIEW_MARK_CHARS = 8
"""About what the mark of a gap in a preview takes."""
CHARS_PER_TOKEN = 3.3
"""Only for choosing; what was chosen is counted exactly afterwards."""
DIGEST_ITEMS = 8
"""Items of a section of a digest at most."""
REQUEST_CHARS, COMMAND_CHARS, ERROR_CHARS = 160, 100, 120
"""Characters of what the user asked, of a command and of an error line in a digest."""

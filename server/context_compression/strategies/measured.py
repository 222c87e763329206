"""All numbers that the strategies depend on: shares, tokens, characters, and what a piece is worth.

Where a comment says "measured on recorded sessions", other values were tried on them and kept less
evidence at the same size. `benchmarks/tune.py` tries the weights again. The other numbers are
prices of marks that are written here, or sizes beyond which a text counts as something else.

A name says its unit: `_TOKENS`, `_CHARS`; `_SHARE` is a part of 1, `_WORTH` and `_WEIGHT` are
on the scale of `planning.measured`.
"""

# What must stay: the levels of `extract`

MUST_KEEP_SHARE = 0.5
"""Share of the room that the must-keep set may take before it shrinks: pieces are worth more."""
QUOTED_SHARE = 0.25
"""The same where old tool steps are only quoted: the set then holds the newest messages alone."""
FEWEST_RECENT = 4
"""Messages to which the newest shrink before old turns go."""
FEWEST_SPARE = 0.1
"""Share of the room they must leave free: one long result shall not take the place of all else."""
PREVIEWS_SPARE = 0.4
"""Share of the room that an open tool step with previews and all that the user said must leave
free: what is chosen from the full conversation may be worth more (measured on recorded sessions:
0.3 to 0.5 do equally well)."""
UNSEEN_SHARE = 0.2
"""Share of the room up to which the open tool step stays unshortened at every level but the floor:
the model asked for it, has not seen it, and needs it next."""
SHORT_RECORD_CHARS = 2_000
"""Characters up to which a text with a record marker anywhere in it is a record."""
RIVAL_ROOM_TOKENS, RIVAL_TOTAL_TOKENS, RIVAL_GAIN = 8_000, 190_000, 1.05
"""Tokens of room, and of a conversation, up to which two views are made where only few of the
newest messages fit: one with them, and one for which they compete with all others. The second is
taken if it shows so many times the evidence (measured on recorded sessions: 1 to 1.1 do equally
well). It takes a third of the time once more. What the user's last words reply to is worth more
than evidence, and so is a picture: where one stays, there is one view."""

# How the room is filled

LEAST_ROOM_SHARE, LEAST_SHOWN_SHARE = 0.25, 0.4
"""Share of the room, and of what previews leave out: previews must leave one of the two free for
longer previews (measured on recorded sessions: below both, `extract` keeps more at the same size,
above either it does not)."""
FILLING_ROUNDS = 3
"""Times the room is filled again with what the estimates left over, and times that a view too large
is corrected by what the estimates say; after that it is corrected by more."""
SLACK_SHARE, LARGE_ROOM_TOKENS = 0.025, 12_500
"""Share of the room that may stay empty: to count a view once more takes time. And the tokens of
room from which on it is that much; a small view is soon counted."""
FREED_SHARE = 0.85
"""Share of what a piece costs that is sure to be free without it, its neighbours still there."""

# Marks of gaps

LEAST_FOR_REFS_TOKENS = 1_500
"""Tokens of room below which gaps between quotes have no ref, and gaps before and behind all quotes
of a note have no mark, but the one behind the last quote: evidence is worth more then (measured on
recorded sessions)."""
GAPS_SHARE = 0.03
"""Share of the room for refs of gaps of messages, the largest first; and as much again for notes in
place of other gaps of which nothing is quoted, one of them in any room."""
GAP_MARK_TOKENS = 20
"""What the mark of a gap of messages costs with its ref."""
BARE_NOTE_TOKENS = 22
"""What a note costs that gives nothing but how many messages are missing."""
NOTE_TOKENS = 40
"""What a note costs without its quotes."""

# The lines of files and of names

FILES_SHARE, NAMES_SHARE = 0.03, 0.06
"""Shares of the room for the line of the files that were worked on, where a view has one, and for
the line of names."""
SMALL_ROOM_TOKENS, LONG_CONVERSATION_TOKENS = range(1_500, 12_501), 40_000
"""Tokens of room in which a view has these lines, and of a conversation from which on. Elsewhere
the view names nearly all files anyway, and the others are worth less than what they push out
(measured on recorded sessions)."""
VERY_SMALL_SHARE = 0.045
"""Share of the conversation below which the room must be for the line of names: most names are lost
then."""
SURE_SHARE = 0.9
"""Share of what is left over at last that may go to more names, or more files."""
LONGEST_PATH_CHARS = 200
"""Characters from which on nobody reads a path: it is left out of the line."""
FOLDER_SHARE = 0.9
"""Share of all paths that must lie in the folder that is named once for them."""
LONGEST_NAME_CHARS = 100
"""Characters from which on nobody means a name by a word."""
OLDEST_NAME_WORTH = 0.3
"""What it counts that a name was used last in the first message; in the last it counts 1 more."""
NAME_CHARS_PER_TOKEN, TOKENS_BETWEEN_NAMES = 4, 1
"""About how many characters of names make a token, and tokens between two names."""
LEAST_NAME_TOKENS, MOST_NAMES, MOST_NAMES_TRIED = 2, 200, 2_000
"""Tokens that no name is shorter than, names of a line, and names that are tried: the time must not
depend on what a counter answers."""

# Pictures

PICTURES_SHARE = 0.25
"""Share of the room outside the must-keep set up to which the newest pictures of kept messages are
shown whatever else there is: a picture has no words by which it could compete. Beyond that pictures
take what all texts together could not fill."""
SINGLE_PICTURE_SHARE = 0.5
"""The same for a single picture, where none has room in `PICTURES_SHARE`."""
NEWEST_PICTURES_SHARE = 0.5
"""Share of the room that the must-keep set and the pictures of the newest messages may take
together: as much as where these messages stay unshortened."""

# What a piece is worth besides its evidence, by who says it

USER_WORTH, SKILL_WORTH, SUMMARY_WORTH = 40.0, 30.0, 4.0
"""What a piece of the user's words is worth; of a skill that the host loaded; of the host's
summary, which is all that is left of what the host compacted."""
ANSWER_WORTH, REMARK_WORTH = 8.0, 2.0
"""The same of what the model answers the user; of what it says with its calls. What the user's
last words reply to (`Go with the second.`) is worth as much as they are."""
LAST_WORTH = 100.0
"""The same of the model's last words, where nothing came after them: they say how things are, and
that work was done which must not be done again."""
REPORT_TOKENS = 400
"""Tokens up to which such a text has all of that worth; a longer one is worth no more in all."""
USER_WEIGHT = 1.5
"""Times which the evidence in the user's words counts."""
PRINTED_WEIGHT = 0.25
"""Times which the evidence counts in what the host's own commands printed."""
SHORT_TEXT_CHARS = 60
"""Characters below which a text is worth less, in proportion: `Yes.` says little."""
TYPED_TOKENS = 1_500
"""Tokens up to which a text of the user's counts as typed. A longer one is more likely pasted: its
evidence counts like that of a tool's output, and in all it is worth no more than a typed text."""
USER_PROSE_SHARE = 0.4
"""Share of the room up to which the user's words have all of their worth in prose."""
CHANGE_WORTH = 10.0
"""What the line of the call that changed a file last is worth: the file must not be forgotten."""
DONE_WORTH = 25.0
"""What the line of a call is worth that reaches others or commits something: it must not be made
again."""

# Standing constraints of the user

RULE_LABEL_TOKENS = 8
"""What the label of a quoted constraint costs."""
PASTED_RULES = 3
"""Constraints of a pasted text that count like typed ones."""
UNSURE_RULES_SHARE = 1 / 3
"""Share of what the kept messages leave for sentences that may be constraints or not; those beyond
it compete like all other pieces."""

# Labels and texts of quotes

ARGUMENT_CHARS = 240
"""Characters of a call's argument above which it is long: the call of an old step keeps no more."""
LABEL_CHARS = 80
"""Characters of a call's main argument in the labels of what belongs to the call."""
LABEL_TOKENS = 12
"""About what a label costs, without the call it names."""
LABEL_CHARS_PER_TOKEN = 4
"""About how many characters of the call in a label make a token."""
REF_TOKENS = 8
"""What a ref in the mark of a gap costs."""
SHOWN_CALL_TOKENS, SHOWN_TEXT_TOKENS = 6, 4
"""What it costs to show anything of what a form leaves out of an argument, of another text."""
FAILURE_CHARS = 4_000
"""Characters of a result in which the line is looked for that gives the reason of its failure."""
PAYLOAD_QUERY_CHARS = 80
"""Characters of the query that the mark of a provider's tool shows."""

# Forms of messages

HOST_NOTE_CHARS = 600
"""Characters up to which a note of a host stays unshortened; half of them of longer notes. Of what
a command of the host printed only the tag: the host tells the model to leave it alone."""
SKILL_CHARS = 6_000
"""Characters up to which a skill that the host loaded stays unshortened like the user's words."""
MOST_LOADS = 20
"""The last loads of a skill that are compared with earlier ones: time must grow linearly."""
TIMES_A_PREVIEW = 3
"""Times the size of a preview from which on a result becomes one where room is short."""
LEAST_CUT_CHARS = 40
"""Characters by which the line of a result must be shorter than the result, to take its place."""
LANDMARKS_SHARE = 0.6
"""Share of a preview that its outer lines and lines of errors may take."""
VERY_SHORT_CHARS = 20
"""Characters below which a message counts as very short for `window`."""

# Summaries

SUMMARY_SHARE, LEDGER_SHARE = 0.3, 0.1
"""Share of the room for the text of a summary at most, and for the ledger behind it."""
LEAST_SUMMARY_TOKENS = 1
"""Tokens that a summary is asked for at least."""
FOCUS_CHARS = 4_000
"""Characters of the focus, what the remaining work is about, that a prompt holds."""
LAST_REQUEST_CHARS = 4_000
"""Characters of the user's last request in the summarised messages that are repeated verbatim."""
SUMMARY_ROUNDS = 3
"""How often recent messages may be taken into a summary that turned out too long."""
RECORD_SHARE, LEAST_RECORD_TOKENS = 0.7, 500
"""Share of the token budget that a prompt with its answer may take, and the least of a record."""
RECORD_HALVINGS = 4
"""How often the record is cut into parts half as long where the model says it is too long."""

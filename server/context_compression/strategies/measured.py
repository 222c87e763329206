"""All numbers that the strategies depend on: shares, tokens, characters, and the worth of pieces.

"Measured on recorded sessions" means that other values were tried on them and kept less evidence at
the same size. `benchmarks/tune.py` tests the weights again. The other numbers are the costs of
marks that this package writes, or sizes beyond which a text counts as another kind of text.

A name shows its unit: `_TOKENS`, `_CHARS`; `_SHARE` is a part of 1. `_WORTH` and `_WEIGHT` are on
the scale of `planning.measured`.
"""

# The must-keep set of `extract`: the share of the room that the whole set may take after a stage

MUST_KEEP_SHARE = 0.5
"""With all unshortened messages; above it, pieces are worth more."""
ANCHORED_SHARE = 0.3
"""With previews in the open tool step."""
FEWEST_RECENT, FEWEST_SHARE = 3, 0.2
"""How many of the newest messages come before all others, clipped, and the share with them. Here
and below, the shares are measured on recorded sessions: 0.15 to 0.3 do equally well."""
ALWAYS_SHARE = 0.5
"""With the goal, records, and the user's messages of the last turns (0.4 to 0.6 do equally
well)."""
RECENT_SHARE, ALL_RECENT_SHARE = 0.15, 0.8
"""With `min_recent_messages`, clipped: above it they compete (0.1 to 0.15 do equally well; .01 of Q
is lost with 0.25). The second share holds where they are all messages of the conversation."""
SKELETONS_SHARE = 0.45
"""With the skeletons of all old tool steps, so that half of the size shows every call, and a
quarter of the demo's (with 0.5 .003 of Q is lost, with only some of the steps .03)."""
PROSE_NEWEST_SHARE, QUOTED_SHARE = 0.1, 0.25
"""With the newest messages of a chat or a talk, because old facts are worth as much there; and with
the last message alone."""
CHAT_RECENT = 10
"""How many of the newest messages of a chat stay if the user's messages do, whatever
`min_recent_messages` is. So a larger number cannot take the room of both."""
LONG_REQUEST_SHARE = 0.1
"""A last user message that takes more of the room does not count in these shares, or hardly any of
the messages after it would have room."""
PARTS_TRIED = (1.0, 0.5, 0.2, 0.0)
"""The parts of these shares that are tried where the user's rules have no room beside the set. With
0 the set is the smallest view, and what the model has not read."""
UNREAD_SHARE = 0.4
"""The share of the room that results may take that the model has not read: it requested them, and
needs them next. They are whole up to this share, and show their ends and errors beyond."""
SHORT_RECORD_CHARS = 2_000
"""The most characters of a text that is a record if it holds a record marker anywhere."""

# How the room is filled

LEAST_ROOM_SHARE, LEAST_SHOWN_SHARE = 0.25, 0.4
"""The share of the room, and the share of the content that previews leave out. Previews must leave
one of the two free for longer previews (measured on recorded sessions: below both, `extract` keeps
more at the same size, above either it does not)."""
FILLING_ROUNDS = 3
"""How often the room that estimates left over is filled again, and how often a view that is too
large is corrected by the estimates; after that it is corrected by more."""
SLACK_SHARE, LARGE_ROOM_TOKENS = 0.025, 12_500
"""The share of the room that may stay empty, because it takes time to count a view again; and the
tokens of room from which on it is that large. In a smaller room it is less, because a small view is
counted quickly."""
FREED_SHARE = 0.85
"""The share of a piece's cost that is certainly freed without the piece, even if its neighbours
stay."""

SAID_CELLS = 24
"""A narrower sentence is not compared with others: a mark in its place would be hardly shorter."""
OFTEN_SAID = 3
"""How many texts must hold a sentence before it counts as repeated."""
REPEATED_SHARE = 1 / 3
"""The least share of a line that its repeated sentences must have to be shown apart from the rest.
Where they are less, little is freed, and the rest is worth more in one."""

# Marks of gaps

LEAST_FOR_REFS_TOKENS = 1_500
"""With fewer tokens of room, gaps in notes with quotes have no mark. Evidence is worth more then
(measured on recorded sessions)."""
GAPS_SHARE = 0.015
"""The share of the room for refs of gaps between messages, the largest first. Notes for other gaps
without any quote have the same share; one of them fits any room."""
GAP_MARK_TOKENS = 20
"""The tokens of the mark of a gap of messages with its ref."""
BARE_NOTE_TOKENS = 22
"""The tokens of a note that only says how many messages are missing."""
NOTE_TOKENS = 40
"""The tokens of a note without its quotes."""

# The lines of files and of names

FILES_SHARE, NAMES_SHARE = 0.03, 0.06
"""The shares of the room for the line of the files that were worked on, if a view has one, and for
the line of names."""
SMALL_ROOM_TOKENS, LONG_CONVERSATION_TOKENS = range(1_500, 12_501), 40_000
"""The tokens of room with which a view has these lines, and the least tokens of the conversation.
Other views name nearly all files anyway, and the remaining files are worth less than the content
they would push out (measured on recorded sessions)."""
VERY_SMALL_SHARE = 0.045
"""The room must be below this share of the conversation for the line of names, because most names
are lost then."""
SURE_SHARE = 0.9
"""The share of the tokens left over in the end that may be used for more names, or more files."""
LONGEST_PATH_CHARS = 200
"""A path of this many characters or more is left out of the line, because nobody reads it."""
FOLDER_SHARE = 0.9
"""The share of all paths that must be in the folder that is named once for them."""
LONGEST_NAME_CHARS = 100
"""A word of this many characters or more is not a name."""
OLDEST_NAME_WORTH = 0.3
"""The factor for a name that was last used in the first message; for the last message it is 1
more."""
NAME_CHARS_PER_TOKEN, TOKENS_BETWEEN_NAMES = 4, 1
"""About how many characters of names make a token, and the tokens between two names."""
LEAST_NAME_TOKENS, MOST_NAMES, MOST_NAMES_TRIED = 2, 200, 2_000
"""The fewest tokens of a name, the most names of a line, and the most names that are tried, so that
the time does not depend on the counter."""

# The newest outcome

OUTCOME_ROOM_TOKENS, OUTCOME_SHARE = 3_000, 0.2
"""In a room of up to this many tokens, the line that tells how the last run ended comes before all
pieces, because an older outcome without it misleads; it may take this share of the room after the
kept messages. In a larger room it competes and mostly wins (measured on recorded sessions)."""

# Pictures

PICTURES_SHARE = 0.25
"""The share of the room outside the must-keep set in which the newest pictures of kept messages are
shown, whatever else competes, because a picture has no words with which it could compete. Beyond
that, pictures take the room that all texts together cannot fill."""
SINGLE_PICTURE_SHARE = 0.5
"""The same for a single picture, if no picture fits in `PICTURES_SHARE`."""
NEWEST_PICTURES_SHARE = 0.5
"""The share of the room that the must-keep set and the pictures of the newest messages may take
together. It is the same share as for unshortened newest messages."""

# The worth of a piece in addition to its evidence, by its author

USER_WORTH, SKILL_WORTH, SUMMARY_WORTH = 40.0, 30.0, 4.0
"""The worth of a piece of the user's words, of a skill that the host loaded, and of the host's
summary, which is all that is left of the messages that the host compacted."""
ANSWER_WORTH, REMARK_WORTH = 8.0, 2.0
"""The same for the model's answers to the user, and for its texts next to calls. The message that
the user's last words reply to (`Go with the second.`) is worth as much as these words."""
LAST_WORTH = 100.0
"""The same for the model's last words if nothing follows them. They state the current situation and
the finished work, which must not be repeated."""
REPORT_TOKENS = 400
"""The most tokens of such a text with its full worth; a longer text is worth no more in total."""
AT_HAND_CALLS, AT_HAND_AMONG, AT_HAND_SHARE, AT_HAND_WORTH = 2, 200, 0.2, 1.0
"""How many of the newest calls on files, among the last calls, are worth their lines verbatim; the
share of the room that their texts may take; the worth of each of their tokens (measured on recorded
sessions at 25, 10 and 5 %: .47, .26 and .15 of the lines that the next edits need are in context,
.41, .23 and .14 without it; with four calls and 0.3 of the room .47, .30 and .18, at a loss of .01
of Q)."""
TYPED_WORTH = 2.0
"""The worth of each token that the user typed, so that a long request is worth more than a short
one (measured on recorded sessions: 1 to 3 do equally well)."""
USER_WEIGHT = 1.5
"""The factor for the evidence in the user's words."""
PRINTED_WEIGHT = 0.25
"""The factor for the evidence in the output of the host's own commands."""
SHORT_TEXT_CHARS = 60
"""A text of fewer characters is worth less, in proportion, because a text such as `Yes.` says
little. Characters here and below are English ones (`english_length`)."""
TYPED_TOKENS = 1_500
"""The most tokens of a user's text that counts as typed. A longer text is probably pasted: its
evidence counts like that of a tool's output, and in total it is worth no more than a typed text."""
DONE_SHARE = 0.25
"""The share of the room up to which the words of the user's finished requests, those before the
last, have their full worth (measured on recorded chats: more than .25 hides answers). It is also
the share that the must-keep set may take with those of the last turns."""
TIME_WORTH, NUMBER_WORTH = 20.0, 30.0
"""The worth of a saying that tells when something happens, and of one with a number or a name in
quotation marks, in a talk of two people and for the user's words in a chat (measured on recorded
talks)."""
CHOSEN_WORTH = 20.0
"""The worth of a quote in a note of a chat or a talk: an earlier compression chose it among
many."""
QUESTION_WEIGHT, SELF_WEIGHT = 0.4, 1.5
"""The factors for the evidence in a question there, and in what speakers tell of themselves."""
PROSE_QUESTION_WEIGHT = 0.7
"""The factor for the evidence in a user's text with a question in prose (measured on recorded
chats: with it five compressions keep as much as one)."""
CHANGE_WORTH = 10.0
"""The worth of the line of the last call that changed a file, so that the file is not forgotten."""
UNDO_WORTH = 60.0
"""The worth of the line of the last call that undid changes, which says what is no longer true."""
DONE_WORTH = 25.0
"""The worth of the line of a call that reaches other people or commits work, so that it is not
repeated."""

# Standing constraints of the user

RULES_SHARE, LEAST_RULES_TOKENS = 0.05, 100
"""The share of the window, and of the conversation if that is smaller, up to which the user's sure
constraints belong to the minimum size; and the tokens that they may have in any conversation. They
do not depend on the target, so that the minimum size is the same for each target. A share of the
window alone refuses targets of recorded sessions that are short, with many pasted rules."""
RULE_LABEL_TOKENS = 8
"""The tokens of the label of a quoted constraint."""
PASTED_RULES = 3
"""How many constraints of a pasted text count like typed constraints."""
TALK_RULES_SHARE = 0.1
"""The share of that room for sentences with the form of a constraint in a talk of two people."""
TYPED_SHARE = 0.1
"""The share of the room after the kept messages up to which all that the user typed in dropped
messages stays, because a rule may have any words in any language."""
UNSURE_RULES_SHARE = 1 / 3
"""The share of the room after the kept messages for sentences that may be constraints. Further
sentences of this kind compete like all other pieces."""

# Shortened messages

SUCCESS_SHARE = 0.08
"""In a room of a smaller share of the conversation, a quoted call says only that it failed."""
GENERAL_RULES_CHARS, GENERAL_END_CHARS = 600, 360
"""The most characters of constraints that stay of a harness's general instructions, and about how
many characters at their end."""
ENDING_CHARS = 160
"""About how many characters of a shortened result tell how it ended."""

UNREAD_FALL, UNREAD_LEAST = 3, 0.25
"""Results larger than this room together take a smaller part of it: the share of them that fits, to
this power, but not less than this share (measured on recorded sessions)."""
UNREAD_ERRORS_SHARE = 0.25
"""The share of a result that the model has not read, and that is shown in part, for its first and
last lines and those with errors; its beginning and end take the rest."""
UNREAD_ROUNDS, UNREAD_FILLED = 4, 0.9
"""How often these parts are fitted to the room, and the share of it that is enough."""

# Labels and texts of quotes

ARGUMENT_CHARS = 240
"""An argument of more characters is long; the call of an old step keeps no more of it."""
ARGUMENT_SHARE = 0.5
"""The share of `max_tool_output` that `truncate` leaves of an argument."""
LABEL_CHARS = 80
"""The most characters of a call's main argument in labels."""
LABEL_TOKENS = 12
"""About how many tokens a label takes without the call that it names."""
LABEL_CHARS_PER_TOKEN = 4
"""About how many characters of the call in a label make a token."""
REF_TOKENS = 8
"""The tokens of a ref in the mark of a gap."""
SHOWN_CALL_TOKENS, SHOWN_TEXT_TOKENS = 6, 4
"""The tokens it costs to show any more of a shortened argument, and of another shortened text."""
FAILURE_CHARS = 4_000
"""How many characters of a result are searched for the line with the reason of its failure."""
PAYLOAD_QUERY_CHARS = 80
"""The most characters of the query in the mark of a provider's tool."""

# Forms of messages

HOST_NOTE_CHARS = 600
"""The most characters of a host's note that stays unshortened; a longer note keeps half of them. Of
the output of a host's command only the tag stays, because the host tells the model to ignore it."""
SKILL_CHARS = 6_000
"""The most characters of a loaded skill that stays unshortened like the user's words."""
MOST_LOADS = 20
"""How many of the last loads of a skill are compared with earlier ones, so that time grows
linearly."""
TIMES_A_PREVIEW = 3
"""If room is short, a result of this many times the size of a preview becomes a preview."""
LEAST_CUT_CHARS = 40
"""By how many characters the line of a result must be shorter than the result to replace it."""
LANDMARKS_SHARE = 0.6
"""The share of a preview that its first and last line and lines of errors may take."""
PROTECTED_SHARE = 0.5
"""The share of the room that earlier summaries and messages with rules may take in `window`."""
LEAST_FREED_SHARE = 0.05
"""The least share of the tokens that a digest of `window` frees where no size is to be met."""
DIGEST_SHARE = 0.3
"""The share of the room, which protected messages and the newest ones leave, that a digest may
take in `window`."""
IMPORTANCE_BASE = 0.1
"""The importance of a message to which no rule applies, for `window`. At the default threshold the
user's messages stay, and others only if two rules or an important keyword speak for them. Measured
on recorded conversations: a base of 0.2 leaves as much evidence per token, but removes hardly
anything if each message is a tool step; 0.3 and more removes next to nothing, and a base of 0
removes most of the user's messages."""
LONG_ANSWER_CHARS = 600
"""From how many characters on an answer of the model is long, and so has rich content. The longest
tenth of the answers in recorded sessions is."""
ANSWER_CHARS, ANSWER_FACTOR = 160, 2
"""About how many characters of an unimportant answer `window` shows beside its request, if it is
this many times longer."""
VERY_SHORT_CHARS = 20
"""A message of fewer characters is very short for `window`."""

# Summaries

SUMMARY_SHARE, LEDGER_SHARE = 0.3, 0.1
"""The largest share of the room for the text of a summary, and that for the ledger after it."""
LEAST_SUMMARY_TOKENS = 1
"""The smallest target of a summary in tokens."""
FOCUS_CHARS = 4_000
"""The most characters of the focus (the subject of the remaining work) in a prompt."""
LAST_REQUEST_CHARS = 4_000
"""The most characters of the user's last summarised request that are repeated verbatim."""
LEAST_FILLED_TOKENS = 200
"""The fewest tokens of room that a summary leaves which are filled with pieces."""
MOVED_TOKENS = 64
"""The tokens that a summary may need in addition where it is moved to the system prompt."""
SUMMARY_ROUNDS = 3
"""How often recent messages may be added to a summary that is too long."""
RECORD_SHARE, LEAST_RECORD_TOKENS = 0.7, 500
"""The share of the token budget that a prompt with its answer may take, and the fewest tokens of a
record."""
LEAST_PART_TOKENS, LEAST_NAMED_PART_TOKENS = 1_000, 200
"""The fewest tokens of a part of a record, if the model says that it is too long: by itself, and if
it names its window."""
ANSWER_OF_WINDOW, MARGIN_OF_WINDOW, MOST_MARGIN = 0.25, 1.1, 2.0
"""The share of a named window that the answer may take, and the factor by which the provider may
count more tokens than we do, if it does not name its count; and the largest such factor."""
SUMMARY_OF_ANSWER = 0.8
"""The share of the most tokens of an answer at which a summary aims."""

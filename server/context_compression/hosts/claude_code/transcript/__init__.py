"""Claude Code's transcripts: `~/.claude/projects/<folder of the project>/<session>.jsonl`.

Each line of a transcript is one row, a JSON object.

    reader.py    reads a transcript row by row, or the log of a run, and builds its conversation
    rows.py      rows of a Claude Code transcript: their kinds, what each follows, the live branch,
                 the course
    context.py   messages from live rows: what the model was sent, with compactions and what the
                 user said

The format is internal to Claude Code and changes. Unknown rows are skipped and reported.
"""

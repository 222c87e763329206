"""Ways to make a view smaller, one file each; each proposes edits, the core applies them.

    offload    tool results to files, previews in their place        no model
    truncate   long tool outputs to first and last half              no model
    window     the last turns, a digest, and what matters            no model
    extract    must-keep set, then pieces chosen by evidence         no model
    summarize  head, a summary of the middle, the recent messages    a model

What they are made of: `base` (what a strategy is), `floor` (the smallest view there is),
`tool_results` (shortening them one by one), `forms` (whole, preview, clipped, skeleton), `quoting`
(what is quoted of dropped messages), `rules` (the user's constraints, quoted first), `repeats`
(what is said again in the user's role), `worth` (what a piece is worth by who says it), `competing`
(which texts compete for the room), `filling` (the room that pieces fill), `files` and
`names` (a line of those worked on, and of those used), `gaps` (which of them a view tells of),
`keep` (from what stays to edits).

Beside them stands `thinking`, which nobody chooses: a session mends a refused request with it.
"""

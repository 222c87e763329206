"""Ways to make a view smaller: each proposes edits, and `planning.edits.apply` makes them.

    offload     tool results to files, previews in their place        no model
    truncate    long tool outputs to first and last half              no model
    window      the last turns, a digest, and what matters            no model
    extract     must-keep set, then pieces chosen by evidence         no model
    summarize/  head, a summary of the middle, the recent messages    a model

Read first `base` (what a strategy is), then `tool_results` (results shortened one by one) with
`truncate`, the shortest one. What `extract` is made of, in the order it is used:

    must_keep       what stays at each level, and in which form
    forms/          a message full, with previews, clipped, as a skeleton
    filling/        the room that is left, filled with pieces chosen by evidence
    quoting/        notes with quotes of messages that are left out
    pictures        which pictures stay
    payloads        what a provider's own tools returned, left out
    repeats         texts that a later message repeats
    files, names    a line of the files that were worked on, a line of names that were used

What several strategies need:

    measured        all numbers that were chosen or measured
    floor           the smallest view there is
    keep            the edits that leave just the messages that stay
    consequences    further edits, so that the provider accepts the view
    declared        declarations of tools that stay with their calls

Nobody chooses `thinking`: a session repairs a refused request with it.
"""

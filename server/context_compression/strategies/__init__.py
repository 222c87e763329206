"""The strategies, which make a view smaller: they propose edits, and `planning` makes them.

    offload     tool results moved to files, with previews            no model
    truncate    long tool outputs cut to beginning and end            no model
    window      the last turns, a digest, and important messages      no model
    extract     must-keep set, then pieces chosen by evidence         no model
    summarize/  head, a summary of the middle, the recent messages    a model

Read `base` (the protocol of a strategy) first, then `tool_results` (results shortened one by one)
with `truncate`, the shortest strategy. The modules of `extract`, in the order of their use:

    must_keep       the messages that stay at each level, and their forms
    forms/          a message in full, with previews, clipped, or as a skeleton
    filling/        pieces, chosen by evidence, for the remaining room
    quoting/        notes with quotes of messages that are left out
    pictures        the pictures that stay
    payloads        results of a provider's own tools, left out
    repeats         texts that a later message repeats
    files, names    a line of files that were worked on, a line of names that were used

The modules that several strategies use:

    measured        all numbers that were chosen or measured
    floor           the smallest view
    naming_refs     a ref in one of the notes, wherever messages left
    unread          the room of the results that the model has not read
    keep            the edits that leave only the messages that stay
    consequences    further edits, so that the provider accepts the view
    declared        declarations of tools, which stay with the calls of these tools

`thinking` is not for callers: a session repairs a refused request with it.
"""

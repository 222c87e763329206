"""One compression: from a request to a result, in memory.

This package holds the order of the work. `strategies` make a conversation smaller, `planning`
applies their edits, and `session` and `store` keep data on disk.

The path of one call, `compress(messages)`:

    library/functions.py    makes a `CompressionRequest` from the arguments
    compression/run.py      drives the steps, and asks a model if they need a summary
    compression/steps.py    runs strategies until the conversation fits
    strategies/<name>.py    proposes edits
    compression/prepared.py has the edits applied and counts the view
    planning/edits.py       applies the edits, which replaces messages
    compression/outcome.py  makes the `Result`

The modules of this package:

    request.py      `CompressionRequest`
    run.py          `compress` and `acompress`
    steps.py        the strategies, in their order
    own_strategy.py a strategy that the caller passes
    prepared.py     `PreparedConversation`: read, repaired and counted
    target.py       the target, whether a compression is due, and the plan for it
    what_stays.py   rules and a ref in each view that meets its target
    outcome.py      the result of edits
    continued.py    the result of a view that a session continues
    accounting.py   which messages were kept, edited or dropped, and their refs
    result.py       `Result`
    loss.py         the loss report: which evidence is still in the view
    forecast.py     the cost of a summary, and whether it pays
    thinking.py     a compression that drops only the model's thinking
"""

"""One compression: from a request to a result, in memory.

Here lives the order of the work. How a conversation is made smaller lives in `strategies`; how
edits are applied, in `planning`; what is kept on disk, in `session` and `store`.

The way of one call, `compress(messages)`:

    library/functions.py    makes a `CompressionRequest` of the arguments
    compression/run.py      drives the steps, and asks a model when they need a summary
    compression/steps.py    runs strategies until the conversation fits
    strategies/<name>.py    proposes edits
    compression/prepared.py has them applied, to count what is left
    planning/edits.py       applies them: here messages are replaced
    compression/outcome.py  makes the `Result`

The modules of this room:

    request.py      `CompressionRequest`
    run.py          `compress` and `acompress`
    steps.py        the strategies, in their order
    prepared.py     `PreparedConversation`: read, repaired and counted
    target.py       what to come down to, whether anything is due, and the plan for it
    outcome.py      edits, made into a result
    accounting.py   which messages were kept, edited or dropped, and their refs
    result.py       `Result`
    loss.py         the loss report: which evidence is still in the view
    forecast.py     what a summary would cost, and whether it pays
    thinking.py     a compression that drops the model's thinking alone
"""
